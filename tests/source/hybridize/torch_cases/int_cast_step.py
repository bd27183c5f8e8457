# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False (not with fullgraph=True)
# says: to_graph safe-if

import torch


def f(x, step):
    rate = 0.1 * (0.5 ** int(step // 10))
    return x * rate


def args():
    return (torch.randn(3), torch.tensor(25))
