# breaks: none
# says: to_graph safe

import torch


class Scale:
    def __enter__(self):
        return 2

    def __exit__(self, *a):
        return False


def f(x):
    with Scale() as s:
        return x * s


def args():
    return (torch.rand(4),)


if __name__ == "__main__":
    f(*args())
