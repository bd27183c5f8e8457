# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(xs):
    return [x for x in xs if x.sum() > 0]


def args():
    return ([torch.rand(3)],)


if __name__ == "__main__":
    f(*args())
