# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x, n):
    for i in range(n.item()):
        x = x + i
    return x


def args():
    return torch.rand(4), torch.tensor(3)


if __name__ == "__main__":
    f(*args())
