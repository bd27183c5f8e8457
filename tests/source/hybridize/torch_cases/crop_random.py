# breaks: Unsupported Tensor.item() call with capture_scalar_outputs=False
# says: keep unsafe STR156

import torch


def f(img, size: int = 2):
    h, w = img.shape[-2:]
    top = torch.randint(0, h - size + 1, (1,)).item()
    left = torch.randint(0, w - size + 1, (1,)).item()
    return img[..., top : top + size, left : left + size]


def args():
    return (torch.randn(3, 4, 4),)


if __name__ == "__main__":
    f(*args())
