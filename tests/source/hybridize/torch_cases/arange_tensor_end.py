# breaks: Data dependent operator (not with fullgraph=True)
# says: keep unsafe STR156

import torch


def f(lengths):
    mask = torch.arange(lengths.max())[None, :] < lengths[:, None]
    return mask.float()


def args():
    return (torch.tensor([1, 3]),)
