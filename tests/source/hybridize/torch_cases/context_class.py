# breaks: Attempted to call function marked as skipped
# says: keep unsafe STR162

import torch


class Timer:
    def __enter__(self):
        import time

        self.t = time.time()
        return self

    def __exit__(self, *a):
        import time

        self.dt = time.time() - self.t


def f(x):
    with Timer() as t:
        y = x @ x
    return y


def args():
    return (torch.randn(3, 3),)
