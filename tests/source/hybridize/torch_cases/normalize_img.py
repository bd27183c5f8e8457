# breaks: none
# says: to_graph safe

import torch

MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]


def f(img: torch.Tensor) -> torch.Tensor:
    mean = torch.tensor(MEAN, device=img.device).view(3, 1, 1)
    std = torch.as_tensor(STD, dtype=img.dtype).view(3, 1, 1)
    return img.float().div(255).sub(mean).div(std)


def args():
    return (torch.rand(3, 4, 4) * 255,)
