# breaks: Data-dependent branching
# says: keep unsafe STR155

import torch


def f(xs):
    out = 0
    for x in xs:
        if x.sum() < 0:
            continue
        out = out + x
    return out


def args():
    return ([torch.rand(3), torch.rand(3)],)


if __name__ == "__main__":
    f(*args())
