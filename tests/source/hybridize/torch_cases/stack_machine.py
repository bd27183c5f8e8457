# breaks: none
# says: to_graph safe

import torch

OPS = {"+": torch.add, "*": torch.mul}


def f(x, program: str):
    stack = []
    for c in program:
        if c in OPS:
            b, a = stack.pop(), stack.pop()
            stack.append(OPS[c](a, b))
        else:
            stack.append(x * int(c))
    return stack.pop()


def args():
    return torch.randn(2), "12+3*"


if __name__ == "__main__":
    f(*args())
