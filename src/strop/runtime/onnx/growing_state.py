"""Bodies of loops whose states grow: a cache of keys that gets a row per round has another shape in every round.

No program is compiled for each length. Two rounds, run step by step, show which values change their shapes; the steps
that touch those (appending to the cache, attending to it) go on running one by one, and all the others, whose shapes
are the same in every round, run as compiled sections between them:

    compiled: q, k, v of the new token  →  step by step: Concat, MatMul, Softmax, MatMul  →  compiled: the rest

What depends on values around the loop alone is computed once, before the first round.

Where weights are multiplied with what grows (a decoder without a cache), there is no such part; as such loops run
through the same lengths again and again, each is compiled for when it has come before, one in a run of the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from strop.frontend.onnx.interpreter import ValueScope
from strop.frontend.onnx.program import OnnxProgram, OnnxStep
from strop.runtime.onnx.partitions import DATA_DEPENDENT, HEAVY, Host, Partitions, Values, is_extents, reads

#: lengths that a body is compiled for; the steps, and the bytes of weights, of all these programs together
MOST_LENGTHS, MOST_STEPS, MOST_BYTES = 64, 1536, 2**26


def recorded(host: Host, program: OnnxProgram, scope: ValueScope, inputs: Sequence[Any]) -> dict[str, Any]:
    """Every value of one round, run step by step."""
    values = {name: scope.values[name] for name in program.captured}
    values.update(program.constants)
    values.update(zip(program.inputs, inputs))
    own = ValueScope(values, scope.types)
    for step in program.steps:
        host.take(step, own)
    return values


def divided(host: Host, program: OnnxProgram, scope: ValueScope, first: Values, second: Values) -> Partitions:
    """A body divided by two recorded rounds whose inputs have different shapes."""
    ragged = {n for n, value in second.items() if not isinstance(value, Tensor) or not _alike(value, first.get(n))}
    touching = [program.steps[i] for i in _touching(program.steps, ragged, second)]
    held = {n for n in program.captured if isinstance(scope.values[n], nn.Parameter)}
    if any(step.op in HEAVY and held.intersection(step.inputs) for step in touching):
        size = sum(scope.values[n].numel() * scope.values[n].itemsize for n in held)
        forms = max(1, min(MOST_LENGTHS, MOST_STEPS // len(program.steps), MOST_BYTES // size))
        return Partitions(host, program, scope, second, _deciding, forms=forms)
    return Partitions(host, program, scope, second, lambda steps: _touching(steps, ragged, second))


def _deciding(steps: Sequence[OnnxStep]) -> set[int]:
    return {i for i, step in enumerate(steps) if step.op in DATA_DEPENDENT}


def _alike(a: Tensor, b: Any) -> bool:
    return isinstance(b, Tensor) and a.shape == b.shape and a.dtype == b.dtype


def _touching(steps: Sequence[OnnxStep], ragged: set[str], values: Values) -> set[int]:
    """The steps that read or make values of changing shapes, or extents that follow from them."""
    found = set()
    extents: set[str] = set()
    for index, step in enumerate(steps):
        read = set(reads(step))
        if read & ragged or read & extents or any(n in ragged for n in step.outputs):
            found.add(index)
            if read & extents or step.op in ("Shape", "Size"):
                extents.update(n for n in step.outputs if is_extents(values.get(n)))
    return found
