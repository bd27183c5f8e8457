# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(A, thresh=0.1):
    U, S, V = torch.linalg.svd(A)
    r = int((S > thresh).sum())
    return U[:, :r] @ torch.diag(S[:r]) @ V[:r]


def args():
    return (torch.randn(3, 3),)
