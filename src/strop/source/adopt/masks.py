"""Masks of attention: can a row be hidden completely?

Where every score of a row is −inf, a softmax gives NaN and `scaled_dot_product_attention` gives 0; where every score
was replaced by the same number, no gradient flows to the scores, and with an added mask it does. So a fused kernel is
equal only where something of each row stays visible, or where the mask is a finite number that is added, as before.
"""

from __future__ import annotations

import ast
import re

from strop.source.adopt.architecture import Definition, Node
from strop.source.adopt.ranks import elements
from strop.source.project.declarations import walk

_DEPTH = 24
#: what is finite if its operands are
_KEEPS = frozenset({
    "add", "sub", "mul", "neg", "clamp", "maximum", "minimum", "view", "flatten", "unflatten", "permute", "transpose",
    "transpose2", "squeeze", "unsqueeze", "expand", "repeat", "repeat_interleave", "contiguous", "clone", "detach",
    "cat", "stack", "chunk", "split", "unbind", "item", "slice", "index", "narrow", "pad", "roll", "tril", "triu",
    "gather", "phi", "abs", "sin", "cos", "tanh", "sigmoid", "softmax", "one_hot", "square", "matmul", "linear",
    "embedding", "layer_norm", "relu", "gelu", "silu", "tuple", "list", "element", "dropout",
})  # fmt: skip
_FINITE = frozenset({"parameter", "embedding", "linear", "compare", "not", "zeros", "ones", "arange", "layer"})
_VIEWS = frozenset({"view", "unsqueeze", "squeeze", "expand", "contiguous", "clone", "cast", "detach", "repeat"})


def is_finite(node: Node, depth: int = _DEPTH) -> bool:
    """Whether a value that is added to scores cannot be −inf: a learned bias, a product with a finite number."""
    if depth == 0:
        return False
    if node.kind == "const":
        return isinstance(node.value, (int, float)) and abs(node.value) < float("inf")
    if node.kind == "symbol":
        return "inf" not in node.text.replace("finfo", "") and re.fullmatch(r"[\w.]+", node.text) is None
    if node.kind == "parameter":
        return node.definition is None or node.definition.kind != "buffer"
    if node.kind in _FINITE:
        return True
    if node.kind == "cast":
        return bool(node.inputs) and is_finite(node.inputs[0], depth - 1)
    if node.kind in ("masked_fill", "full"):
        parts = [*node.inputs[::2], *([node.attributes["fill_value"]] if "fill_value" in node.attributes else [])]
        return all(is_finite(one, depth - 1) for one in parts)
    return node.kind in _KEEPS and bool(node.inputs) and all(is_finite(one, depth - 1) for one in node.inputs)


def shows_diagonal(node: Node, *, hides: bool) -> bool:
    """Whether a mask is a triangle that leaves the diagonal: each row sees at least itself.

    `hides` says what true (or not zero) means. The last two dimensions are cut alike, so that rows and columns count
    the same positions.
    """
    node = _without_views(node)
    if node.kind == "not":
        return shows_diagonal(node.inputs[0], hides=not hides)
    if node.kind == "compare" and _is_zero(node.inputs[1]) and node.text in ("Eq", "NotEq"):
        return shows_diagonal(node.inputs[0], hides=hides is (node.text == "NotEq"))
    if node.kind in ("index", "slice") and not _cut_alike(node):
        return False
    if node.kind in ("index", "slice"):
        return len(node.inputs) == 1 and shows_diagonal(node.inputs[0], hides=hides)
    if node.kind == "parameter":
        return node.definition is not None and _made_as_triangle(node.definition, hides)
    return _is_triangle(node.kind, node.attribute("diagonal", 0), hides) and _is_square(node.inputs[0])


def _without_views(node: Node) -> Node:
    while node.kind in _VIEWS and node.inputs:
        node = node.inputs[0]
    return node


def _is_triangle(kind: str, diagonal: object, hides: bool) -> bool:
    """`tril` shows what is not zero with its diagonal; `triu(…, 1)` hides everything above it."""
    if not isinstance(diagonal, int):
        return False
    return (kind == "triu" and diagonal >= 1) if hides else (kind == "tril" and diagonal >= 0)


def _is_square(node: Node) -> bool:
    shape = _without_views(node).attributes.get("shape") or _without_views(node).attributes.get("size")
    if shape is None:
        return False
    if isinstance(shape.value, tuple):
        return len(shape.value) >= 2 and shape.value[-1] == shape.value[-2]
    sizes = elements(shape.text)
    return len(sizes) >= 2 and sizes[-1] == sizes[-2]


def _made_as_triangle(definition: Definition, hides: bool) -> bool:
    """A buffer such as `torch.tril(torch.ones(n, n))`, by the call that makes it."""
    if definition.call is None or definition.kind != "buffer":
        return False
    calls = [node for node in walk([definition.call]) if isinstance(node, ast.Call)]
    if any(_name(call) in ("flip", "roll", "logical_not", "bitwise_not") for call in calls):
        return False
    if any(isinstance(node, (ast.UnaryOp, ast.BinOp, ast.Compare)) for node in walk([definition.call])):
        return False
    triangles = [call for call in calls if _name(call) in ("tril", "triu")]
    made = [call for call in calls if _name(call) in ("ones", "full")]
    if len(triangles) != 1 or len(made) != 1 or not _square_call(made[0]):
        return False
    return _is_triangle(_name(triangles[0]), _diagonal(triangles[0]), hides)


def _square_call(call: ast.Call) -> bool:
    sizes = call.args[0].elts if call.args and isinstance(call.args[0], (ast.Tuple, ast.List)) else call.args
    return len(sizes) >= 2 and ast.dump(sizes[-1]) == ast.dump(sizes[-2])


def _diagonal(call: ast.Call) -> object:
    given = [keyword.value for keyword in call.keywords if keyword.arg == "diagonal"]
    method = not (isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name))
    given += call.args[0 if method else 1 :]
    return given[0].value if given and isinstance(given[0], ast.Constant) else 0 if not given else None


def _cut_alike(node: Node) -> bool:
    """`mask[:, :, :n, :n]`: the last two dimensions are cut at the same place, from the beginning."""
    parts = [one.strip() for one in node.text.split(",")]
    last = parts[-2:]
    return node.kind == "index" and len(last) == 2 and last[0] == last[1] and re.fullmatch(r":\w+", last[0]) is not None


def _is_zero(node: Node) -> bool:
    return node.kind == "const" and node.value in (0, False)


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
