"""Functions of libraries that are neither operations nor layers: einsum, partial, zip, checkpoint and the like."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from strop.source.adopt.architecture import Node
from strop.source.adopt.build import Arguments, Many, PartialCall, Value, text_of

if TYPE_CHECKING:
    from strop.source.adopt.calls import CallExtraction


def einsum(self: CallExtraction, arguments: Arguments, at: ast.Call) -> Value:
    first, *rest = arguments.positional or [self.const("", at)]
    operands = rest[0].items if len(rest) == 1 and isinstance(rest[0], Many) else rest
    nodes = [self.node(one, at) for one in operands]
    if isinstance(first, Node) and isinstance(first.value, str):
        return self.einsum(first.value, nodes, at)
    return self.make("einsum", nodes, at=at)


def baddbmm(self: CallExtraction, arguments: Arguments, at: ast.Call) -> Value:
    names = dict(zip(("x", "a", "b"), arguments.positional))
    renamed = {"input": "x", "batch1": "a", "batch2": "b", "mat1": "a", "mat2": "b"}
    names.update({renamed.get(key, key): value for key, value in arguments.keywords.items()})
    found = {key: self.node(value, at) for key, value in names.items()}
    return self.baddbmm(found, at) if {"x", "a", "b"} <= set(found) else self.make("call", found.values(), at=at)  # type: ignore[arg-type]


def partial_call(self: CallExtraction, arguments: Arguments, at: ast.Call) -> Value:
    if not arguments.positional:
        return self.unknown("partial", [], at)
    return PartialCall(arguments.positional[0], tuple(arguments.positional[1:]), arguments.keywords)


def first(self: CallExtraction, arguments: Arguments, at: ast.Call) -> Value:
    return arguments.positional[0] if arguments.positional else self.unknown("call", [], at)


def enumerate_call(self: CallExtraction, arguments: Arguments, at: ast.Call) -> Value:
    inner = arguments.positional[0] if arguments.positional else self.symbol("i", at)
    return Many([Many([self.symbol("i", at), self.element(self.listed(inner, at), at)])], "list", open=True)


def map_call(self: CallExtraction, arguments: Arguments, at: ast.Call) -> Value:
    function, *rest = arguments.positional or [self.symbol("?", at)]
    if len(rest) != 1 or not isinstance(rest[0], Many):
        element = [self.element(self.listed(one, at), at) for one in rest]
        return Many([self.apply(function, Arguments(element, {}), at)], "list", open=True)
    results = [self.apply(function, Arguments([item], {}), at) for item in rest[0].items]
    return Many(results, "list", open=rest[0].open)


def zip_call(self: CallExtraction, arguments: Arguments, at: ast.Call) -> Value:
    return Many([Many([self.element(self.listed(one, at), at) for one in arguments.positional])], "list", open=True)


def range_call(self: CallExtraction, arguments: Arguments, at: ast.Call) -> Value:
    return Many([self.symbol("i", at)], "list", open=True)


def list_call(self: CallExtraction, arguments: Arguments, at: ast.Call) -> Value:
    if not arguments.positional:
        return Many([], "list")
    inner = arguments.positional[0]
    return Many(list(inner.items), "list", open=inner.open) if isinstance(inner, Many) else inner


def reversed_call(self: CallExtraction, arguments: Arguments, at: ast.Call) -> Value:
    found = list_call(self, arguments, at)
    return Many(found.items[::-1], "list", open=found.open) if isinstance(found, Many) else self.unordered(found, at)


def sorted_call(self: CallExtraction, arguments: Arguments, at: ast.Call) -> Value:
    """In whichever order: each element may be any."""
    found = list_call(self, arguments, at)
    return Many(list(found.items), "list", open=True) if isinstance(found, Many) else self.unordered(found, at)


def dict_call(self: CallExtraction, arguments: Arguments, at: ast.Call) -> Value:
    return Many(list(arguments.keywords.values()), "dict", list(arguments.keywords), bool(arguments.positional))


def checkpoint(self: CallExtraction, arguments: Arguments, at: ast.Call) -> Value:
    if not arguments.positional:
        return self.unknown("checkpoint", [], at)
    return self.apply(arguments.positional[0], Arguments(arguments.positional[1:], {}), at)


def scalar_tensor(self: CallExtraction, arguments: Arguments, at: ast.Call) -> Value:
    """`torch.tensor(0.5)` behaves as the number that it holds."""
    inner = self.node(arguments.positional[0], at) if arguments.positional else self.unknown("tensor", [], at)
    return inner if inner.is_scalar else self.make("tensor", [inner], at=at)


def getattr_call(self: CallExtraction, arguments: Arguments, at: ast.Call) -> Value:
    base, *rest = arguments.positional or [self.symbol("?", at)]
    name = rest[0] if rest else None
    if isinstance(name, Node) and isinstance(name.value, str):
        return self.attribute(base, name.value, at)
    return self.symbol(f"{text_of(base)}.?", at)


FUNCTIONS: dict[str, Callable[[CallExtraction, Arguments, ast.Call], Value]] = {
    "torch.einsum": einsum,
    "numpy.einsum": einsum,
    "torch.functional.einsum": einsum,
    "torch.baddbmm": baddbmm,
    "torch.addmm": baddbmm,
    "functools.partial": partial_call,
    "typing.cast": lambda self, a, at: a.positional[-1] if a.positional else self.unknown("cast", [], at),
    "torch.tensor": scalar_tensor,
    "torch.as_tensor": scalar_tensor,
    "torch.scalar_tensor": scalar_tensor,
    "torch.utils.checkpoint.checkpoint": checkpoint,
    "torch.compile": first,
    "torch.jit.script": first,
    "builtins.enumerate": enumerate_call,
    "builtins.zip": zip_call,
    "builtins.map": map_call,
    "builtins.range": range_call,
    "builtins.list": list_call,
    "builtins.tuple": list_call,
    "builtins.reversed": reversed_call,
    "builtins.sorted": sorted_call,
    "builtins.iter": list_call,
    "builtins.dict": dict_call,
    "collections.OrderedDict": list_call,
    "builtins.getattr": getattr_call,
    "copy.deepcopy": first,
    "copy.copy": first,
}
