"""Random weights that behave: seeded, nothing at its neutral value, activations of order one at any depth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_file: Path | None = None


@contextmanager
def stored(file: Path) -> Iterator[None]:
    """Networks that are built inside take their weights from a file that `torch.save` has written, if there is one.

    Making them up runs the network, which leaves code and caches of PyTorch's convolutions in the process: some 20 MB
    that nobody who loads trained weights would see.
    """
    global _file
    _file = file if file.exists() else None
    try:
        yield
    finally:
        _file = None


def randomize(model: nn.Module, inputs: tuple[Any, ...], *, seed: int = 0) -> nn.Module:
    """Fill every parameter and buffer of `model` and put it into eval mode.

    Ones and zeros hide mistakes (a batch norm that is dropped, a bias that is added twice), so scales, shifts and
    running statistics are all random. Weights are scaled by their fan-in, running statistics by what one forward pass
    over `inputs` sends into each batch norm, so that depth changes no magnitude. (By layer, not by channel: the pixels
    of one image agree so well that dividing by their variance lets rounding errors grow 100-fold in a ResNet-50.)
    """
    if _file is not None:
        model.load_state_dict(torch.load(_file, mmap=True))
        return model.eval().requires_grad_(False)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False):
                _fill(module, name, parameter, generator)
    model.eval()
    _calibrate(model, inputs, generator)
    return model.requires_grad_(False)


def _fill(module: nn.Module, name: str, parameter: torch.Tensor, generator: torch.Generator) -> None:
    if parameter.dim() >= 2:
        parameter.normal_(0.0, 1.0 / math.sqrt(_fan_in(module, parameter)), generator=generator)
    elif isinstance(module, nn.PReLU):
        parameter.uniform_(0.1, 0.4, generator=generator)
    elif name == "weight":
        parameter.uniform_(0.8, 1.2, generator=generator)
    else:
        parameter.normal_(0.0, 0.1, generator=generator)


def _fan_in(module: nn.Module, weight: torch.Tensor) -> int:
    if isinstance(module, (nn.ConvTranspose1d, nn.ConvTranspose2d)):
        taps = math.prod(kernel // stride for kernel, stride in zip(module.kernel_size, module.stride, strict=True))
        return weight.shape[0] // module.groups * max(taps, 1)
    if type(module).__name__ == "Conv1D":  # transformers' GPT-2 stores its linear weights as (in, out)
        return weight.shape[0]
    return math.prod(weight.shape[1:])


def _calibrate(model: nn.Module, inputs: tuple[Any, ...], generator: torch.Generator) -> None:
    norms = [module for module in model.modules() if isinstance(module, _BATCH_NORMS)]
    if not norms:
        return

    def observe(norm: Any, args: tuple[torch.Tensor, ...]) -> None:
        size = norm.num_features
        scale = args[0].square().mean().sqrt()
        shift = torch.empty(size).normal_(0.0, 0.2, generator=generator)
        spread = torch.empty(size).uniform_(0.8, 1.2, generator=generator)
        norm.running_mean.copy_(shift * scale)
        norm.running_var.copy_((spread * scale).square())

    hooks = [norm.register_forward_pre_hook(observe) for norm in norms]
    try:
        with torch.no_grad():
            model(*inputs)
    finally:
        for hook in hooks:
            hook.remove()


def noise(*shape: int, seed: int = 1) -> torch.Tensor:
    """A seeded standard normal tensor."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def indices(high: int, *shape: int, seed: int = 1) -> torch.Tensor:
    """A seeded tensor of integers in [0, high)."""
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))
