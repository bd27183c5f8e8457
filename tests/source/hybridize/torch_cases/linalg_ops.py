# breaks: none
# says: to_graph safe

import torch


def f(x):
    u, s, v = torch.linalg.svd(x)
    return torch.linalg.inv(x) + torch.linalg.norm(x) + s.sum() + torch.det(x) + torch.linalg.qr(x)[0]


def args():
    return (torch.eye(3) + 0.1,)


if __name__ == "__main__":
    f(*args())
