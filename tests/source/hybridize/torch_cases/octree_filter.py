# breaks: Dynamic shape operator (not with fullgraph=True)
# says: keep unsafe STR157

import torch


def f(pts, thresh: float = 0.5):
    keep = pts.norm(dim=-1) < thresh
    pts = pts[keep]
    return pts.mean(0)


def args():
    return (torch.rand(5, 3),)
