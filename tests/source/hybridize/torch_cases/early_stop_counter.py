# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156 STR170

import torch


class Stopper:
    def __init__(self):
        self.best = float("inf")
        self.bad = 0

    def __call__(self, loss):
        if loss.item() < self.best:
            self.best = loss.item()
            self.bad = 0
        else:
            self.bad += 1
        return self.bad > 3


stop = Stopper()


def f(x):
    return stop(x.mean())


def args():
    return (torch.randn(3),)


if __name__ == "__main__":
    f(*args())
