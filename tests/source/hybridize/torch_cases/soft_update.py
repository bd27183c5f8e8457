# breaks: torch.* op returned non-Tensor
# says: keep unsafe STR174

import torch
import torch.nn as nn

policy_net, target_net = nn.Linear(2, 2), nn.Linear(2, 2)


def f(tau):
    tsd = target_net.state_dict()
    psd = policy_net.state_dict()
    for key in psd:
        tsd[key] = psd[key] * tau + tsd[key] * (1 - tau)
    target_net.load_state_dict(tsd)


def args():
    return (0.1,)
