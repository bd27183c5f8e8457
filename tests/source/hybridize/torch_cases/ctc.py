# breaks: Dynamic shape operator
# says: keep unsafe STR157

import torch


def f(logits, targets, in_len, tgt_len):
    return torch.nn.functional.ctc_loss(logits.log_softmax(2), targets, in_len, tgt_len)


def args():
    return torch.randn(5, 2, 4), torch.randint(1, 4, (2, 3)), torch.tensor([5, 5]), torch.tensor([3, 2])
