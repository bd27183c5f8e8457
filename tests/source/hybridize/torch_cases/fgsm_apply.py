# breaks: none
# says: to_graph safe-if

import torch


def fgsm_attack(image, epsilon, data_grad):
    sign = data_grad.sign()
    return torch.clamp(image + epsilon * sign, 0, 1)


def f(image, grad):
    return fgsm_attack(image, 0.1, grad)


def args():
    return torch.rand(2, 4), torch.rand(2, 4)
