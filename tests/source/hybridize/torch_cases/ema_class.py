# function: EMA.update
# breaks: none
# says: to_graph safe-if

import torch
from torch import nn


class EMA:
    def __init__(self, model, decay=0.9):
        self.shadow = {k: v.clone().detach() for k, v in model.state_dict().items()}
        self.decay = decay

    @torch.no_grad()
    def update(self, params):
        for k, v in params.items():
            self.shadow[k].mul_(self.decay).add_(v, alpha=1 - self.decay)


m = nn.Linear(2, 2)
ema = EMA(m)
f = ema.update


def args():
    return ({k: v.detach() for k, v in m.state_dict().items()},)
