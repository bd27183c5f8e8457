# breaks: none
# says: to_graph safe

import torch


def f(batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    out = {k: v.float() for k, v in batch.items() if k != "id"}
    out["sum"] = sum(v.mean() for v in out.values())
    return out


def args():
    return ({"a": torch.ones(2), "id": torch.tensor([1])},)
