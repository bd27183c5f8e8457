# breaks: none
# says: to_graph safe-if

import torch


def f(output, target, topk=(1, 2)):
    maxk = max(topk)
    _, pred = output.topk(maxk, 1, True, True)
    correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
    res = []
    for k in topk:
        res.append(correct[:k].reshape(-1).float().sum(0) * 100.0 / target.size(0))
    return res


def args():
    return torch.randn(4, 5), torch.tensor([0, 1, 1, 2])
