# breaks: none
# says: to_graph safe

import torch


def f(batch):
    out = {k: v * 2 for k, v in batch.items()}
    out.update(z=out["x"] + 1)
    return out.get("z"), out.pop("x"), list(out.keys()), dict(a=1), set([1])


def args():
    return ({"x": torch.randn(4)},)


if __name__ == "__main__":
    f(*args())
