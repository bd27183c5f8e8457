"""Whether training through Strop is as exact as eager: gradients against float64, and losses over fifty steps.

    python benchmarks/training_judge.py gradients                # all networks
    python benchmarks/training_judge.py gradients resnet18 unet mobilenet_v2 --decided
    python benchmarks/training_judge.py losses mlp lstm --steps 50

*Gradients*: one backward in float64 is taken for exact. `error` is the largest error of an element beside the largest
element of its tensor, over all tensors; tensors whose exact gradient is zero up to eager's own error (a bias before a
batch norm, of the keys in attention) have no scale and count in the ratios alone. `ratio` is the largest error of a
tensor beside eager's largest error in the same tensor, `rms` the same of root mean squares; errors under ten units of
rounding of the tensor's scale are not told apart. `over 4` counts the elements whose error is over four times eager's
own at that element, which `element_errors.py` defines, and `largest` is the largest error in that unit.

A ReLU decides by the sign of a value that is rounded. Where float32 and float64 decide differently a gradient jumps, in
eager as in Strop, and where it does is chance. `--decided` moves the few values that lie that close away from it
(`decided_networks.py`), `--smooth` puts a SiLU for each ReLU and an average for each maximum.

*Losses*: eager and Strop start from the same parameters and draw the same random numbers. `apart` is the largest
difference of two losses beside the first loss; `eager apart` is the same for eager and other eager runs, whose
parameters start one unit in the last place away or where they were, the largest of `--near` runs: what rounding alone
does to this training. With ReLUs behind batch norms one run says little: it may decide all signs alike, or not.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from decided_networks import decided
from element_errors import RUNS, ElementErrors, Gradients, beside, moved, units
from torch import Tensor, nn
from training_networks import NETWORKS, Training, network

from strop.core.journal import Journal
from strop.core.options import Options
from strop.runtime.dynamo import Backend
from strop.runtime.trainer import allowing_recurrence

#: units of rounding of a tensor's scale under which errors are not told apart
FLOOR = 10 * 2.0**-24
#: of a tensor's scale
WANTED = 1e-4
OPTIMISERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=1e-2, momentum=0.9),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=1e-4),
}


@dataclass(frozen=True)
class GradientErrors:
    """Of the gradients of a network: eager's and Strop's errors against float64."""

    eager: float
    strop: float
    ratio: float
    rms: float
    eager_elements: ElementErrors
    strop_elements: ElementErrors
    reasons: str


def compiled(model: nn.Module, journal: Journal) -> Any:
    torch._dynamo.reset()
    return torch.compile(model, backend=Backend(Options.from_environment(), journal))


def gradients(model: nn.Module, forward: Any, inputs: Sequence[Tensor], loss_of: Callable[[Any], Tensor]) -> Gradients:
    with allowing_recurrence():
        loss_of(forward(*inputs)).backward()
    return {name: p.grad.double() for name, p in model.named_parameters() if p.grad is not None}


def judge_gradients(training: Training, runs: int = RUNS) -> GradientErrors:
    """Of one backward; random numbers would differ between float32 and float64, so that dropout is off."""
    training = without_dropout(training)
    journal = Journal()
    own = copy.deepcopy(training.model)
    exact, eager = exactly(training), eagerly(training)
    strop = gradients(own, compiled(own, journal), training.inputs, training.loss)
    rows = [_row(exact[name], eager[name], strop[name]) for name in exact]
    sound = [row for row in rows if row[0] is not None]
    unit = units(((exactly(near), eagerly(near)) for near in (moved(training, seed) for seed in range(runs))), exact)
    return GradientErrors(
        max(row[0] for row in sound if row[0] is not None),
        max(row[1] for row in sound),
        max(row[2] for row in rows),
        max(row[3] for row in rows),
        beside(eager, exact, unit),
        beside(strop, exact, unit),
        " ".join(event.message for event in journal.of("fallback") if "runs eager" in event.message),
    )


def without_dropout(training: Training) -> Training:
    model = copy.deepcopy(training.model)
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    return Training(model, training.inputs, training.loss)


def exactly(training: Training) -> Gradients:
    model = copy.deepcopy(training.model).double()
    return gradients(model, model, [x.double() if x.is_floating_point() else x for x in training.inputs], training.loss)


def eagerly(training: Training) -> Gradients:
    model = copy.deepcopy(training.model)
    return gradients(model, model, training.inputs, training.loss)


def _row(exact: Tensor, eager: Tensor, strop: Tensor) -> tuple[float | None, float, float, float]:
    """Errors beside the tensor's scale (None: it has none) of eager and Strop, and their ratios: largest, rms."""
    scale = exact.abs().max().item()
    theirs, ours = (eager - exact).abs(), (strop - exact).abs()
    largest = theirs.max().item()
    floor = FLOOR * scale
    ratio = ours.max().item() / max(largest, floor, 1e-300)
    rms = ours.square().mean().sqrt().item() / max(theirs.square().mean().sqrt().item(), floor, 1e-300)
    if scale <= largest:
        return None, 0.0, ratio, rms
    return largest / scale, ours.max().item() / scale, ratio, rms


@contextmanager
def without_kinks() -> Iterator[None]:
    """Inside, SiLU is computed for ReLU, and averages for maxima."""

    def average(x: Tensor, size: int, stride: int | None = None, padding: int = 0, *_: Any, **__: Any) -> Tensor:
        return F.avg_pool2d(x, size, stride, padding)

    def bounded(x: Tensor, low: float, high: float, inplace: bool = False) -> Tensor:
        return F.silu(x)

    with patch.multiple(F, relu=F.silu, hardtanh=bounded, max_pool2d=average):
        yield


def judge_losses(
    training: Training, optimiser: str, steps: int, near: int = 1
) -> tuple[list[float], list[list[float]], list[float]]:
    """The losses of eager, of eager from parameters that are moved by a unit, several times, and of Strop."""
    own = copy.deepcopy(training.model)
    eager = losses(own, own, training, optimiser, steps)
    others = []
    for seed in range(near):
        model = moved(training, seed).model
        others.append(losses(model, model, training, optimiser, steps))
    model = copy.deepcopy(training.model)
    return eager, others, losses(model, compiled(model, Journal()), training, optimiser, steps)


def losses(model: nn.Module, forward: Any, training: Training, optimiser: str, steps: int) -> list[float]:
    update = OPTIMISERS[optimiser](model.parameters())
    found = []
    torch.manual_seed(1)
    for _ in range(steps):
        with allowing_recurrence():
            loss = training.loss(forward(*training.inputs))
        loss.backward()
        update.step()
        update.zero_grad()
        found.append(loss.item())
    return found


def apart(found: Sequence[float], wanted: Sequence[float]) -> float:
    """The largest difference at a step, beside the first loss: the last ones may be next to nothing."""
    return max(abs(mine - theirs) for mine, theirs in zip(found, wanted)) / abs(wanted[0])


def print_gradients(names: Sequence[str], form: str, runs: int) -> None:
    print("| network | error: eager | Strop | ratio | rms | elements | over 4: eager | Strop | most: eager | Strop |")
    print(10 * "| --- " + "|")
    for name in names:
        training = without_dropout(network(name))
        with without_kinks() if form == "smooth" else nullcontext():
            e = judge_gradients(decided(training) if form == "decided" else training, runs)
        a, b = e.eager_elements, e.strop_elements
        print(f"| {name} | {e.eager:.1e} | {e.strop:.1e} | {e.ratio:.2f} | {e.rms:.2f} | {b.elements:,} | "
              f"{a.over} | {b.over} | {a.largest:.1f} | {b.largest:.1f} |{e.reasons}", flush=True)  # fmt: skip


def print_losses(names: Sequence[str], steps: int, near: int) -> None:
    print("| network | optimizer | first loss | last loss, eager | Strop | apart | eager apart |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in names:
        for optimiser in OPTIMISERS:
            eager, others, strop = judge_losses(network(name), optimiser, steps, near)
            rounding = max(apart(other, eager) for other in others)
            print(f"| {name} | {optimiser} | {eager[0]:.4f} | {eager[-1]:.5f} | {strop[-1]:.5f} | "
                  f"{apart(strop, eager):.1e} | {rounding:.1e} |", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("gradients", "losses"))
    parser.add_argument("networks", nargs="*", default=[], help=f"of {', '.join(NETWORKS)}; all unless given")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--near", type=int, default=1, help="runs of eager from parameters one unit away")
    parser.add_argument("--smooth", dest="form", action="store_const", const="smooth", default="", help="no kinks")
    parser.add_argument("--decided", dest="form", action="store_const", const="decided", help="no value at a kink")
    parser.add_argument("--runs", type=int, default=RUNS, help="backwards of eager that units are taken from")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    names = given.networks or list(NETWORKS)
    if given.what == "gradients":
        print_gradients(names, given.form, given.runs)
    else:
        print_losses(names, given.steps, given.near)


if __name__ == "__main__":
    main()
