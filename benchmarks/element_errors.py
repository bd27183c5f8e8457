"""Errors of gradients element by element, in units of what eager does there.

The unit of an element is the largest error that eager makes at that place in `RUNS` backwards, each from parameters and
inputs of which every element was moved by one unit in its last place or left alone, with the batch in another order,
against the gradient in float64 at that very point: what rounding alone does to this element. One eager backward would
be no unit, for its error at a place may be next to nothing by chance, or by the order of its sums. Half a unit in the
last place of the exact gradient is the least unit.

Strop's error at the point itself is told in these units beside eager's own at the same point, which no unit was taken
from. Eager's column is the control: how often an error is over four times the largest of as many others of its kind.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from training_networks import Training

RUNS = 32
#: of a unit, at most
WANTED = 4.0
UNIT = 2.0**-24
Gradients = dict[str, Tensor]


@dataclass(frozen=True)
class ElementErrors:
    """Of all elements of all gradients, in units: how many are over four, and the largest."""

    elements: int
    over: int
    largest: float


def moved(training: Training, seed: int) -> Training:
    """The same training with every parameter and input one unit in the last place away, or where it was, and the batch
    in another order, which the loss does not see."""
    generator = torch.Generator().manual_seed(seed)
    model = copy.deepcopy(training.model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(nudged(parameter, generator))
    order = torch.randperm(len(training.inputs[0]), generator=generator)
    inputs = tuple((nudged(x, generator) if x.is_floating_point() else x)[order] for x in training.inputs)
    return Training(model, inputs, lambda result: training.loss(result[order.argsort()]))


def nudged(x: Tensor, generator: torch.Generator) -> Tensor:
    towards = torch.randint(-1, 2, x.shape, generator=generator).to(x.dtype)
    return torch.where(towards == 0, x, torch.nextafter(x, towards * torch.inf))


def units(points: Iterator[tuple[Gradients, Gradients]], exact: Gradients) -> Gradients:
    """What eager's errors are, element by element, from exact gradients and eager's at several points."""
    found = {name: UNIT * right.abs() for name, right in exact.items()}
    for right, eager in points:
        for name, unit in found.items():
            torch.maximum(unit, (eager[name] - right[name]).abs(), out=unit)
    return found


def beside(found: Gradients, exact: Gradients, unit: Gradients) -> ElementErrors:
    over = elements = 0
    largest = 0.0
    for name, right in exact.items():
        error = (found[name] - right).abs()
        ratio = torch.where(error == 0, 0.0, error / unit[name])
        over += int((ratio > WANTED).sum())
        elements += ratio.numel()
        largest = max(largest, ratio.max().item() if ratio.numel() else 0.0)
    return ElementErrors(elements, over, largest)
