"""Which initialisers of an ONNX file learn.

Exporters store equal tensors once: a new batch norm's running mean and its bias are both zeros, and the second of them
is an `Identity` of the first. Tensors of one number that repeats are equal by chance, so each of them is an initialiser
of its own again; others are taken for one weight in two places.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from torch import Tensor

from strop.frontend.onnx.program import OnnxProgram

#: operators with inputs that are no weights: from which input on
_DESCRIBED_FROM = {
    "BatchNormalization": 3, "Resize": 1, "Upsample": 1, "Pad": 1, "Clip": 1, "QuantizeLinear": 1,
    "DequantizeLinear": 0, "DynamicQuantizeLinear": 0, "QLinearConv": 0, "QLinearMatMul": 0,
}  # fmt: skip


def taken_apart(program: OnnxProgram, initialisers: Iterable[str]) -> tuple[OnnxProgram, frozenset[str]]:
    """The program with an initialiser for each `Identity` of one whose elements are all equal, and all initialisers."""
    constants, found, steps = dict(program.constants), set(initialisers), []
    for step in program.steps:
        source = step.inputs[0] if step.op == "Identity" else ""
        if (
            source in found
            and source not in program.inputs
            and step.outputs[0] not in program.outputs
            and _repeats(constants[source])
        ):
            constants[step.outputs[0]] = constants[source].clone()
            found.add(step.outputs[0])
        else:
            steps.append(step)
    return replace(program, constants=constants, steps=tuple(steps)), frozenset(found)


def _repeats(value: Any) -> bool:
    return isinstance(value, Tensor) and value.numel() > 0 and bool((value == value.flatten()[0]).all())


def described(program: OnnxProgram) -> frozenset[str]:
    """Initialisers that do not learn: what operators take for statistics, scales and bounds."""
    found: set[str] = set()
    for step in program.steps:
        start = _DESCRIBED_FROM.get(step.op)
        if start is not None:
            found.update(step.inputs[start:])
    for step in reversed(program.steps):
        if step.op == "Identity" and step.outputs[0] in found:
            found.add(step.inputs[0])
    return frozenset(found)
