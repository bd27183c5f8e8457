# breaks: none
# says: to_graph safe

import torch


def f(features):
    return torch.cat([features[name] for name in sorted(features)], dim=-1)


def args():
    return ({"z": torch.ones(2, 1), "a": torch.ones(2, 2)},)
