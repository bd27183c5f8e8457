# breaks: none
# says: to_graph safe STR171

import torch


def f(nodes, depth: int):
    if depth == 0 or len(nodes) == 1:
        return nodes[0]
    half = len(nodes) // 2
    return f(nodes[:half], depth - 1) + f(nodes[half:], depth - 1)


def args():
    return torch.randn(4, 2), 2


if __name__ == "__main__":
    f(*args())
