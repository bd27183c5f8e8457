# breaks: none
# says: to_graph safe

import torch


def f(x, edge_index):
    src, dst = edge_index
    out = torch.zeros_like(x)
    out.index_add_(0, dst, x[src])
    deg = torch.zeros(x.size(0)).scatter_add_(0, dst, torch.ones(dst.size(0)))
    return out / deg.clamp(min=1).unsqueeze(1)


def args():
    return torch.randn(3, 2), torch.tensor([[0, 1, 2], [1, 2, 0]])


if __name__ == "__main__":
    f(*args())
