# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    k = int(n)
    return x[:k]


def args():
    return torch.randn(4), torch.tensor(2)


if __name__ == "__main__":
    f(*args())
