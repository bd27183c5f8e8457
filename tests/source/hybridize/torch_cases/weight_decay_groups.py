# breaks: none
# says: to_graph safe

from torch import nn

m = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))


def f():
    decay = [p for n, p in m.named_parameters() if p.ndim > 1 and not n.endswith("bias")]
    return sum(p.pow(2).sum() for p in decay)


def args():
    return ()
