"""Networks whose ReLUs and maxima decide in float32 as they do in float64.

A ReLU passes a gradient or not by the sign of a value that is rounded, and a maximum passes it to one place of its
window. Where two values are closer than rounding, float32 and float64 may decide differently, and whatever lies before
that place gets another gradient: eager's error there is chance, and Strop's is another chance. `decided` leaves the
network as it is but for a constant that is added in front of each such operator, zero nearly everywhere: it moves the
few values that lie closer than a margin to a decision away from it.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, fx, nn
from training_networks import Training

#: how far from a decision values are moved, beside the root mean square of their tensor: about a hundred times the
#: error that float32 leaves in front of the last ReLU of a MobileNetV2
MARGIN = 2e-3
#: moving the greatest value of a window may leave an overlapping window undecided
_ROUNDS = 20


@dataclass(frozen=True)
class Kink:
    """What is added to the input so that no value lies within a margin of a decision, and what is decided."""

    move: Callable[[Tensor, float], Tensor]
    decision: Callable[[Tensor], Tensor]


def decided(training: Training) -> Training:
    """The same network with constants in front of its kinks, made for its parameters and its batch."""
    traced = fx.symbolic_trace(copy.deepcopy(training.model))
    finder = _Finder(copy.deepcopy(traced).double())
    finder.run(*(x.double() if x.is_floating_point() else x for x in training.inputs))
    for node in list(traced.graph.nodes):
        if node.name in finder.moves:
            name = f"move_{node.name}"
            traced.register_buffer(name, finder.moves[node.name].float())
            with traced.graph.inserting_before(node):
                moved = traced.graph.call_function(operator.add, (node.args[0], traced.graph.get_attr(name)))
            node.args = (moved, *node.args[1:])
    traced.recompile()
    return Training(traced, training.inputs, training.loss)


def decisions(model: fx.GraphModule, inputs: Sequence[Tensor]) -> list[Tensor]:
    """What the kinks of a traced network decide."""
    watcher = _Watcher(copy.deepcopy(model))
    watcher.run(*inputs)
    return watcher.found


class _AtKinks(fx.Interpreter):
    """Runs a network; what its kinks read goes through `changed`."""

    def run_node(self, n: fx.Node) -> Any:
        called = self.fetch_attr(str(n.target)) if n.op == "call_module" else n.target
        kink = _kink_of(called, n)
        if kink is None:
            return super().run_node(n)
        x = self.changed(n, kink, self.env[n.args[0]])  # type: ignore[index]
        return called(x, *n.args[1:], **n.kwargs)

    def changed(self, node: fx.Node, kink: Kink, x: Tensor) -> Tensor:
        raise NotImplementedError


class _Finder(_AtKinks):
    def __init__(self, model: fx.GraphModule) -> None:
        super().__init__(model)
        self.moves: dict[str, Tensor] = {}

    def changed(self, node: fx.Node, kink: Kink, x: Tensor) -> Tensor:
        margin = MARGIN * x.detach().square().mean().sqrt().item()
        move = kink.move(x.detach(), margin).float().double()  # as the network in float32 has it
        self.moves[node.name] = move
        return x + move


class _Watcher(_AtKinks):
    def __init__(self, model: fx.GraphModule) -> None:
        super().__init__(model)
        self.found: list[Tensor] = []

    def changed(self, node: fx.Node, kink: Kink, x: Tensor) -> Tensor:
        self.found.append(kink.decision(x.detach()))
        return x


def _kink_of(called: Any, node: fx.Node) -> Kink | None:
    if isinstance(called, nn.ReLU) or called in (F.relu, torch.relu):
        return _thresholds(0.0)
    if isinstance(called, nn.ReLU6):
        return _thresholds(0.0, 6.0)
    if isinstance(called, nn.MaxPool2d):
        return _windows(called.kernel_size, called.stride, called.padding)
    if called is F.max_pool2d:
        size = node.args[1]
        return _windows(size, node.kwargs.get("stride") or size, node.kwargs.get("padding", 0))
    return None


def _thresholds(*points: float) -> Kink:
    """Of a function that has another slope on the other side of each point."""

    def move(x: Tensor, margin: float) -> Tensor:
        found = torch.zeros_like(x)
        for point in points:
            away = x - point
            side = torch.where(away >= 0, margin, -margin)
            found = torch.where(away.abs() < margin, side - away, found)
        return found

    return Kink(move, lambda x: torch.stack([x > point for point in points]))


def _windows(size: Any, stride: Any, padding: Any) -> Kink:
    """Of the greatest value of each window."""
    pool = partial(F.max_pool2d, kernel_size=size, stride=stride, padding=padding, return_indices=True)

    def move(x: Tensor, margin: float) -> Tensor:
        found = torch.zeros_like(x)
        for _ in range(_ROUNDS):
            around = F.pad(x + found, (padding,) * 4, value=-torch.inf)
            values = around.unfold(2, size, stride).unfold(3, size, stride).flatten(-2)
            first, second = values.topk(2).values.unbind(-1)
            close = (first - second < margin) & (first > second)  # zeros of a ReLU are the same everywhere
            if not close.any():
                break
            places = pool(x + found)[1].flatten(2)
            winners = torch.zeros_like(found).flatten(2).scatter_reduce(2, places, close.flatten(2).double(), "amax")
            found = found + margin * winners.view_as(found)
        return found

    def decision(x: Tensor) -> Tensor:
        greatest, places = pool(x)
        return torch.where(greatest > 0, places, -1)

    return Kink(move, decision)
