# breaks: none
# says: to_graph safe

import torch


class EMA:
    def __init__(self, decay=0.9):
        self.decay = decay
        self.value = None

    def update(self, x):
        if self.value is None:
            self.value = x
        else:
            self.value = self.decay * self.value + (1 - self.decay) * x
        return self.value


ema = EMA()


def f(x):
    return ema.update(x.mean())


def args():
    return (torch.randn(3),)


if __name__ == "__main__":
    f(*args())
