"""Tensors of whole numbers: sums of their products are exact, on which the roundings of quantised networks depend."""

from __future__ import annotations

from strop.graph.ir import Node

#: operators of which the results are whole numbers
ROUNDING = frozenset(("round", "floor", "ceil", "trunc"))
#: operators that keep whole numbers whole
KEEPING = frozenset((
    "add", "sub", "mul", "neg", "abs", "clamp", "minimum", "maximum", "relu", "where", "cast", "pad", "reshape",
    "permute", "expand", "slice", "select", "cat",
))  # fmt: skip
#: operators that are looked through, one behind the other
DEEPEST = 16


def is_whole(node: Node, steps: int = DEEPEST) -> bool:
    """Whether a tensor's values were rounded to whole numbers, as far as the operators before it tell."""
    if node.dtype not in ("f32", "f64", "f16", "bf16") or node.op in ROUNDING:
        return True
    if node.op == "full":
        return float(node.attrs["value"]).is_integer()
    if node.op == "constant":
        return all(map(_is_whole_number, _flat(node.attrs["values"])))
    return steps > 0 and node.op in KEEPING and all(is_whole(i, steps - 1) for i in node.inputs)


def _flat(values: object) -> list[object]:
    if isinstance(values, (tuple, list)):
        return [item for value in values for item in _flat(value)]
    return [values]


def _is_whole_number(value: object) -> bool:
    return isinstance(value, (int, float)) and float(value).is_integer()
