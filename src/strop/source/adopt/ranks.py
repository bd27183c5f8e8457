"""How many dimensions a value has, where the source tells: a view into named sizes, a permutation, `bmm`."""

from __future__ import annotations

import ast

from strop.source.adopt.architecture import Node

_SAME = frozenset({
    "cast", "contiguous", "clone", "detach", "dropout", "softmax", "log_softmax", "masked_fill", "transpose",
    "transpose2", "neg", "exp", "tanh", "sigmoid", "relu", "gelu", "silu", "clamp", "nan_to_num", "layer_norm",
    "rms_norm", "linear", "square", "sqrt", "rsqrt", "normalize",
})  # fmt: skip
_WIDEST = frozenset({"add", "sub", "mul", "div", "matmul", "where", "maximum", "minimum"})
_DEPTH = 16


def rank(node: Node, depth: int = _DEPTH) -> int | None:
    """The number of dimensions, or None where it is not known."""
    if depth == 0:
        return None
    if node.kind == "matmul" and (found := _of_product(node)) is not None:
        return found
    if node.kind == "permute" and "dims" in node.attributes:
        return _length(node.attributes["dims"])
    if node.kind in ("view", "zeros", "ones", "empty", "full"):
        shape = node.attributes.get("size" if node.kind == "full" else "shape")
        return _length(shape) if shape is not None else None
    if node.kind == "call":
        return _of_rearrange(node)
    if node.kind in _WIDEST:
        return _widest([rank(one, depth - 1) for one in node.inputs if not one.is_scalar])
    if node.kind == "phi":
        arms = {rank(one, depth - 1) for one in node.inputs}
        return arms.pop() if len(arms) == 1 else None
    if node.kind in ("item", "element") and node.inputs:
        return _of_part(node, depth)
    if node.kind in _SAME and node.inputs:
        return rank(node.inputs[0], depth - 1)
    if node.kind == "unsqueeze" and node.inputs:
        inner = rank(node.inputs[0], depth - 1)
        return None if inner is None else inner + 1
    return None


def _of_part(node: Node, depth: int) -> int | None:
    whole = node.inputs[0]
    inner = rank(whole.inputs[0], depth - 1) if whole.kind in ("chunk", "split", "unbind") and whole.inputs else None
    if inner is None:
        return None
    return inner - 1 if whole.kind == "unbind" else inner


def _of_product(node: Node) -> int | None:
    """`bmm` takes three dimensions; an equation names them."""
    call = node.expression
    if isinstance(call, ast.Call):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name in ("bmm", "baddbmm"):
            return 3
    equation = node.attribute("equation")
    if isinstance(equation, str) and "..." not in equation and "->" in equation:
        return len(equation.replace(" ", "").partition("->")[2])
    return None


def _of_rearrange(node: Node) -> int | None:
    """`rearrange(x, "b n (h d) -> b h n d", h=8)`"""
    if node.text not in ("einops.rearrange", "einops.repeat") or len(node.inputs) < 2:
        return None
    pattern = node.inputs[1].value
    if not isinstance(pattern, str) or "->" not in pattern or "..." in pattern:
        return None
    count, inside = 0, False
    for part in pattern.partition("->")[2].replace("(", " ( ").replace(")", " ) ").split():
        count += part == "(" or (part != ")" and not inside)
        inside = part == "(" or (inside and part != ")")
    return count


def _widest(ranks: list[int | None]) -> int | None:
    known = [one for one in ranks if one is not None]
    return max(known) if known and (len(known) == len(ranks) or max(known) >= 4) else None


def _length(sizes: Node) -> int | None:
    if isinstance(sizes.value, tuple):
        return len(sizes.value)
    if sizes.kind == "tuple":
        return len(sizes.inputs)
    if sizes.kind != "symbol" or not sizes.text.startswith("("):
        return None
    found = elements(sizes.text)
    return None if any(one.startswith("*") for one in found) else len(found)


def elements(text: str) -> list[str]:
    """The elements of a tuple in the words of symbols, which need not be Python."""
    depth, found = 0, [""]
    for sign in text.strip().removeprefix("(").removesuffix(")"):
        depth += sign in "([{"
        depth -= sign in ")]}"
        if sign == "," and depth == 0:
            found.append("")
        else:
            found[-1] += sign
    return [one.strip() for one in found if one.strip()]
