"""How far gradients are from those in float64: eager, eager channels last, and Strop with and without Winograd.

    python benchmarks/training_errors.py resnet18 unet          # weights of three seeds each
    python benchmarks/training_errors.py unet --smooth          # SiLU in the place of ReLU: no mask flips

For each tensor the error is ‖g - g64‖ / ‖g64‖. The table has the median of the tensors, and the median and the largest
of its ratios to eager's. With ReLU, one activation whose sign flips may decide all of it.
"""

from __future__ import annotations

import argparse
import copy
import statistics
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
from torch import nn
from training_networks import Training, network

from strop.core.journal import Journal
from strop.core.options import Options
from strop.runtime.dynamo import Backend

Gradients = list[torch.Tensor]


def gradients(training: Training, forward: Callable[[nn.Module], Any], dtype: torch.dtype = torch.float32) -> Gradients:
    model = copy.deepcopy(training.model).to(dtype)
    inputs = (x.to(dtype) for x in training.inputs)
    training.loss(forward(model)(*inputs)).backward()
    return [parameter.grad.double() for parameter in model.parameters() if parameter.grad is not None]


def channels_last(model: nn.Module) -> nn.Module:
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def compiled(**options: Any) -> Callable[[nn.Module], Any]:
    def forward(model: nn.Module) -> Any:
        torch._dynamo.reset()
        return torch.compile(model, backend=Backend(Options.from_environment(**options), Journal()))

    return forward


CONTENDERS: dict[str, Callable[[nn.Module], Any]] = {
    "eager": lambda model: model,
    "channels last": channels_last,
    "strop": compiled(),
    "strop direct": compiled(winograd=False),
}


def seeded(name: str, seed: int) -> Training:
    training = network(name)
    torch.manual_seed(seed)
    for module in training.model.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()
    return Training(training.model, tuple(map(torch.randn_like, training.inputs)), training.loss)


def smooth(model: nn.Module) -> nn.Module:
    for name, child in model.named_children():
        setattr(model, name, nn.SiLU() if isinstance(child, nn.ReLU) else smooth(child))
    return model


def compare(name: str, seed: int, *, is_smooth: bool) -> None:
    training = seeded(name, seed)
    if is_smooth:
        smooth(training.model)
    exact = gradients(training, lambda model: model, torch.float64)
    base: list[float] = []
    for kind, forward in CONTENDERS.items():
        found = gradients(training, forward)
        errors = [((g - true).norm() / true.norm()).item() for g, true in zip(found, exact)]
        base = base or errors
        ratios = [error / eager for error, eager in zip(errors, base)]
        told = f"{statistics.median(errors):9.1e} {statistics.median(ratios):9.2f} {max(ratios):9.2f}"
        print(f"{name:<16} {seed} {kind:<14} {told}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--smooth", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'network, seed':<33} {'median':>9} {'ratio':>9} {'largest':>9}")
    for name in given.networks:
        for seed in range(given.seeds):
            with mock.patch("torch.nn.functional.relu", nn.functional.silu if given.smooth else nn.functional.relu):
                compare(name, seed, is_smooth=given.smooth)


if __name__ == "__main__":
    main()
