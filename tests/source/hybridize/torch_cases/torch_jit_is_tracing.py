# breaks: none
# says: to_graph safe

import torch


def f(x):
    if torch.jit.is_tracing() or torch.jit.is_scripting() or torch.compiler.is_compiling():
        return x + 1
    return x


def args():
    return (torch.randn(4),)


if __name__ == "__main__":
    f(*args())
