# breaks: Data dependent operator
# says: keep unsafe STR162 STR175

import numpy as np
import torch


def f(img, length=2):
    h, w = img.size(1), img.size(2)
    mask = np.ones((h, w), np.float32)
    y = np.random.randint(h)
    x = np.random.randint(w)
    mask[max(0, y - length) : y + length, max(0, x - length) : x + length] = 0.0
    return img * torch.from_numpy(mask)


def args():
    return (torch.randn(3, 8, 8),)
