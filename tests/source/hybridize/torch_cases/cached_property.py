# breaks: Unsupported context manager
# says: keep unsafe STR166

import functools

import torch


class O:
    @functools.cached_property
    def k(self):
        return 3


o = O()


def f(x):
    return x * o.k


def args():
    return (torch.rand(3),)


if __name__ == "__main__":
    f(*args())
