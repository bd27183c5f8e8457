"""Makes nodes: the values of the extraction, canonical forms of arithmetic, constants folded.

One computation has one form in the graph, whichever way it was written, so that patterns can be short:

    x * x, x.pow(2), x ** 2, torch.square(x)    square(x)
    x / sqrt(y), x * y ** -0.5                   mul(x, rsqrt(y))
    x / 8, 0.125 * x                             mul(x, 0.125)
    x - 1                                        add(x, -1)
    einsum("bhid,bhjd->bhij", q, k)              matmul(q, transpose(k))
    baddbmm(m, q, k, beta=b, alpha=a)            add(mul(m, b), mul(matmul(q, k), a))
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from strop.source.adopt.architecture import Definition, Graph, Node
from strop.source.adopt.names import Constant, Library
from strop.source.adopt.operations import ACTIVATIONS, function
from strop.source.project.declarations import Class, Code, Module

_FOLD: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": operator.pow,
    "floordiv": operator.floordiv, "mod": operator.mod, "neg": operator.neg, "sqrt": math.sqrt, "exp": math.exp,
    "log": math.log, "reciprocal": lambda x: 1 / x, "rsqrt": lambda x: 1 / math.sqrt(x), "square": lambda x: x * x,
    "tanh": math.tanh, "abs": abs, "not": operator.not_,
}  # fmt: skip
#: Kinds of which each one is a value of its own: random numbers, unknown calls, variables of loops, elements of lists.
_OWN = frozenset({"dropout", "dropout2d", "call", "module", "unknown", "loop", "phi", "element", "setitem", "empty"})
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "floordiv": "//", "mod": "%", "matmul": "@"}


@dataclass(eq=False)
class Many:
    """A tuple, list or dict whose elements are known; of an unknown length when `open` is set."""

    items: list[Value]
    kind: str = "tuple"
    keys: list[Any] = field(default_factory=list)  #: of a dict
    open: bool = False

    def put(self, value: Value) -> None:
        """One more element; what would hold itself is of an unknown length instead."""
        if _holds(value, self, set()):
            self.open = True
        else:
            self.items.append(value)

    def entry(self, key: object) -> Value | None:
        """The value of a dict's key; the last one, where it was assigned again."""
        if self.kind != "dict" or key is None or self.open:
            return None
        found = [item for known, item in zip(self.keys, self.items) if known == key and type(known) is type(key)]
        return found[-1] if found else None


@dataclass(frozen=True, eq=False)
class Self:
    """The object whose method is followed."""

    cls: Class


@dataclass(frozen=True, eq=False)
class Method:
    """A method with its object."""

    code: Code
    receiver: Self | None


@dataclass(frozen=True, eq=False)
class Parent:
    """`super()` inside a class."""

    receiver: Self
    after: Class


@dataclass(frozen=True, eq=False)
class Closure:
    """A function or lambda inside a function, with the variables around it."""

    code: Code
    frame: ExtractionFrame


@dataclass(frozen=True, eq=False)
class PartialCall:
    """`functools.partial(f, …)`."""

    function: Value
    arguments: tuple[Value, ...]
    keywords: dict[str, Value]


Value = Union[Node, Many, Self, Method, Parent, Closure, PartialCall, Library, Constant, Code, Class, Module]


def _holds(value: Value, inner: Many, seen: set[int]) -> bool:
    """Whether a container is another one, or holds it."""
    if not isinstance(value, Many) or id(value) in seen:
        return False
    seen.add(id(value))
    return value is inner or any(_holds(item, inner, seen) for item in value.items)


@dataclass(eq=False)
class ExtractionFrame:
    """A function that is being followed: its variables, and where it was called."""

    code: Code
    receiver: Self | None
    chain: tuple[tuple[Code, ast.Call], ...] = ()
    parent: ExtractionFrame | None = None
    env: dict[str, Value] = field(default_factory=dict)
    returned: list[tuple[Value, ast.stmt]] = field(default_factory=list)
    statement: ast.stmt | None = None
    branches: int = 0  #: how many branches and loops are around the current statement


class Arguments:
    """The evaluated arguments of a call."""

    __slots__ = ("keywords", "open", "positional")

    def __init__(self, positional: list[Value], keywords: dict[str, Value], open: bool = False) -> None:
        self.positional = positional
        self.keywords = keywords
        self.open = open  #: `*args` or `**kwargs` of unknown content were given

    def all(self) -> list[Value]:
        return [*self.positional, *self.keywords.values()]


class Builder:
    """Nodes of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.frame: ExtractionFrame
        self.constants: list[ast.expr] = []  #: values of modules' variables that are being evaluated

    def make(
        self,
        kind: str,
        inputs: Sequence[Node] = (),
        attributes: Mapping[str, Node] | None = None,
        *,
        at: ast.AST | None,
        definition: Definition | None = None,
        text: str = "",
        value: Any = None,
    ) -> Node:
        frame = self.frame
        return Node(
            self.graph, kind, inputs, attributes, code=frame.code, expression=at, statement=frame.statement,
            chain=frame.chain, definition=definition, text=text, value=value,
        )  # fmt: skip

    def const(self, value: Any, at: ast.AST | None, text: str = "") -> Node:
        return self.make("const", at=at, value=value, text=text)

    def symbol(self, text: str, at: ast.AST | None) -> Node:
        return self.make("symbol", at=at, text=text)

    def unknown(self, text: str, inputs: Sequence[Node], at: ast.AST | None) -> Node:
        return self.make("unknown", inputs, at=at, text=text)

    def node(self, value: Value, at: ast.AST | None) -> Node:
        """Any value as a node."""
        if isinstance(value, Node):
            return value
        if isinstance(value, Many):
            inputs = [self.node(item, at) for item in value.items]
            if not value.open and all(one.is_scalar for one in inputs):
                if all(one.kind == "const" for one in inputs) and value.kind != "dict":
                    return self.const(tuple(one.value for one in inputs), at)
                return self.symbol(f"({', '.join(map(text_of, inputs))})", at)
            return self.make(value.kind, inputs, at=at)
        text = text_of(value)
        known = function(text) if isinstance(value, Library) else None
        if known is not None and known.kind in ACTIVATIONS:
            return self.make("activation", attributes={"name": self.const(known.kind, at)}, at=at, text=text)
        return self.symbol(text, at)

    # -- arithmetic ------------------------------------------------------------------------------------------------

    def operation(
        self, kind: str, inputs: Sequence[Node], attributes: Mapping[str, Node] | None, at: ast.AST | None
    ) -> Node:
        """A node in canonical form."""
        if inputs and all(one.is_scalar for one in inputs) and kind not in ("zeros", "ones", "full", "arange"):
            return self._scalar(kind, inputs, attributes, at)
        canonical = _CANONICAL.get(kind)
        found = canonical(self, inputs, attributes or {}, at) if canonical is not None else None
        return found or self.make(kind, inputs, attributes, at=at)

    def _scalar(
        self, kind: str, inputs: Sequence[Node], attributes: Mapping[str, Node] | None, at: ast.AST | None
    ) -> Node:
        if kind in _FOLD and all(one.kind == "const" for one in inputs):
            try:
                return self.const(_FOLD[kind](*[one.value for one in inputs]), at)
            except (ArithmeticError, TypeError, ValueError):
                pass
        texts = [text_of(one) for one in inputs]
        sign = _SIGNS.get(kind)
        if sign is not None and len(texts) == 2:
            return self.symbol(f"({texts[0]} {sign} {texts[1]})", at)
        return self.symbol(f"{kind}({', '.join(texts)})", at)

    def _mul(self, inputs: Sequence[Node], attributes: Mapping[str, Node], at: ast.AST | None) -> Node | None:
        if len(inputs) == 2 and same(inputs[0], inputs[1]):
            return self.make("square", inputs[:1], at=at)
        return None

    def _div(self, inputs: Sequence[Node], attributes: Mapping[str, Node], at: ast.AST | None) -> Node | None:
        if "rounding_mode" in attributes or len(inputs) != 2:
            return None
        over, under = inputs
        if _is_number(under) and under.value:
            return self.make("mul", [over, self.const(1 / under.value, at)], at=at)
        if under.kind == "sqrt":
            root = self.make("rsqrt", under.inputs, at=under.expression)
            return root if _is(over, 1) else self.make("mul", [over, root], at=at)
        return self.make("reciprocal", [under], at=at) if _is(over, 1) else None

    def _add(self, inputs: Sequence[Node], attributes: Mapping[str, Node], at: ast.AST | None) -> Node | None:
        """`x.add(y, alpha=a)` is x + a · y."""
        if "alpha" not in attributes or len(inputs) != 2 or _is(attributes["alpha"], 1):
            return None
        scaled = self.operation("mul", [inputs[1], attributes["alpha"]], None, at)
        return self.make("add", [inputs[0], scaled], at=at)

    def _sub(self, inputs: Sequence[Node], attributes: Mapping[str, Node], at: ast.AST | None) -> Node | None:
        if "alpha" in attributes and len(inputs) == 2 and not _is(attributes["alpha"], 1):
            return self.make(
                "sub", [inputs[0], self.operation("mul", [inputs[1], attributes["alpha"]], None, at)], at=at
            )
        if len(inputs) == 2 and _is_number(inputs[1]):
            return self.make("add", [inputs[0], self.const(-inputs[1].value, at)], at=at)
        return None

    def _pow(self, inputs: Sequence[Node], attributes: Mapping[str, Node], at: ast.AST | None) -> Node | None:
        if len(inputs) != 2 or not _is_number(inputs[1]):
            return None
        kinds = {2: "square", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}
        kind = kinds.get(inputs[1].value)
        return self.operation(kind, inputs[:1], None, at) if kind else None

    def _reciprocal(self, inputs: Sequence[Node], attributes: Mapping[str, Node], at: ast.AST | None) -> Node | None:
        return self.make("rsqrt", inputs[0].inputs, at=at) if inputs[0].kind == "sqrt" else None

    def _permute(self, inputs: Sequence[Node], attributes: Mapping[str, Node], at: ast.AST | None) -> Node | None:
        dims = attributes["dims"].value if "dims" in attributes else None
        if not isinstance(dims, tuple) or not all(isinstance(d, int) for d in dims):
            return None
        order = [d % len(dims) for d in dims]
        last = len(order) - 1
        if order[:-2] == list(range(last - 1)) and order[-2:] == [last, last - 1]:
            pair = {"dim0": self.const(-2, at), "dim1": self.const(-1, at)}
            return self.make("transpose", inputs, pair, at=at)
        return None

    def _transpose2(self, inputs: Sequence[Node], attributes: Mapping[str, Node], at: ast.AST | None) -> Node | None:
        pair = {"dim0": self.const(-2, at), "dim1": self.const(-1, at)}
        return self.make("transpose", inputs, pair, at=at)

    def _max(self, inputs: Sequence[Node], attributes: Mapping[str, Node], at: ast.AST | None) -> Node | None:
        """`torch.max(x, y)` of two tensors."""
        other = attributes.get("dim")
        if other is None or (other.is_scalar and other.kind != "symbol"):
            return None
        return None if other.is_scalar else self.make("maximum", [*inputs, other], at=at)

    def _where(self, inputs: Sequence[Node], attributes: Mapping[str, Node], at: ast.AST | None) -> Node | None:
        """`where(keep, x, -inf)` hides what `masked_fill(x, ~keep, -inf)` does."""
        if len(inputs) != 3:
            return None
        mask, a, b = inputs
        if _is_fill(b) and not _is_fill(a):
            return self.make("masked_fill", [a, mask, b], {"keep": self.const(True, at)}, at=at)
        return self.make("masked_fill", [b, mask, a], at=at) if _is_fill(a) and not _is_fill(b) else None

    def einsum(self, equation: str, operands: Sequence[Node], at: ast.AST | None) -> Node:
        """A contraction of two tensors as a matmul of their views, where it is one."""
        told = {"equation": self.const(equation, at)}
        views = _as_matmul(equation) if len(operands) == 2 else None
        if views is None:
            return self.make("einsum", operands, told, at=at)
        sides = []
        for operand, view in zip(operands, views[:2]):
            if view == "transpose":
                pair = {"dim0": self.const(-2, at), "dim1": self.const(-1, at), **told}
                operand = self.make("transpose", [operand], pair, at=operand.expression)
            elif view == "permute":
                operand = self.make("permute", [operand], told, at=operand.expression)
            sides.append(operand)
        product = self.make("matmul", sides, told, at=at)
        return product if views[2] == "same" else self.make("permute", [product], told, at=at)

    def baddbmm(self, arguments: Mapping[str, Node], at: ast.AST | None) -> Node:
        product = self.make("matmul", [arguments["a"], arguments["b"]], at=at)
        bias = arguments["x"]
        if "alpha" in arguments and not _is(arguments["alpha"], 1):
            product = self.operation("mul", [product, arguments["alpha"]], None, at)
        if "beta" in arguments and _is(arguments["beta"], 0):
            return product
        if "beta" in arguments and not _is(arguments["beta"], 1):
            bias = self.operation("mul", [bias, arguments["beta"]], None, at)
        return self.make("add", [product, bias], at=at)

    def merged(self, test: str, values: Sequence[Value], at: ast.AST | None) -> Value:
        """What a variable is after branches that leave different values in it."""
        first = values[0]
        if all(value is first or _equal_leaves(first, value) for value in values[1:]):
            return first
        if all(isinstance(value, Many) for value in values):
            rows = [value for value in values if isinstance(value, Many)]
            if len({(len(row.items), row.kind, row.open) for row in rows}) == 1:
                items = [self.merged(test, column, at) for column in zip(*[row.items for row in rows])]
                return Many(items, rows[0].kind, rows[0].keys, rows[0].open)
        flat: list[Node] = []
        for node in (self.node(value, at) for value in values):
            if not any(node is one for one in flat):
                flat.append(node)
        return flat[0] if len(flat) == 1 else self.make("phi", flat, at=at, text=test)


_CANONICAL: dict[str, Callable[[Builder, Sequence[Node], Mapping[str, Node], ast.AST | None], Node | None]] = {
    "add": Builder._add,
    "mul": Builder._mul,
    "div": Builder._div,
    "sub": Builder._sub,
    "pow": Builder._pow,
    "reciprocal": Builder._reciprocal,
    "permute": Builder._permute,
    "transpose2": Builder._transpose2,
    "where": Builder._where,
    "max": Builder._max,
}


def text_of(value: Value) -> str:
    """How a value is called in symbols."""
    if isinstance(value, Node):
        if value.text:
            return value.text
        return repr(value.value) if value.kind == "const" else f"%{value.number}"
    if isinstance(value, Library):
        return value.dotted
    if isinstance(value, (Code, Class, Module)):
        return value.name
    if isinstance(value, Method):
        return value.code.name
    if isinstance(value, Many):
        return f"({', '.join(text_of(item) for item in value.items)})"
    return type(value).__name__.lower()


def same(one: Node, other: Node, depth: int = 3) -> bool:
    """Two reads of one value, or the same operation on the same values."""
    if one is other:
        return True
    if one.kind != other.kind:
        return False
    if one.is_leaf:
        return _key(one) == _key(other)
    if depth == 0 or one.kind in _OWN or len(one.inputs) != len(other.inputs) or one.text != other.text:
        return False
    if one.definition is not other.definition or one.attributes.keys() != other.attributes.keys():
        return False
    pairs = [*zip(one.inputs, other.inputs), *((one.attributes[k], other.attributes[k]) for k in one.attributes)]
    return all(same(a, b, depth - 1) for a, b in pairs)


def _key(node: Node) -> object:
    if node.kind == "const":
        return type(node.value).__name__, repr(node.value)
    if node.kind in ("parameter", "layer"):
        return node.text or id(node)
    return node.text if node.kind == "symbol" else id(node)


def _equal_leaves(one: Value, other: Value) -> bool:
    return isinstance(one, Node) and isinstance(other, Node) and same(one, other)


def _is_fill(node: Node) -> bool:
    while node.kind == "cast" and node.inputs:
        node = node.inputs[0]
    return node.is_scalar or node.kind in ("full", "tensor") or node.number_held is not None


def _is_number(node: Node) -> bool:
    return node.kind == "const" and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)


def _is(node: Node, number: float) -> bool:
    return _is_number(node) and bool(node.value == number)


def _as_matmul(equation: str) -> tuple[str, str, str] | None:
    """How two operands and the result have to be viewed (`same`, `transpose`, `permute`) for it to be a matmul."""
    left, arrow, out = equation.replace(" ", "").replace("...", "").partition("->")
    one, comma, two = left.partition(",")
    if not arrow or not comma or "," in two or len(set(one)) < len(one) or len(set(two)) < len(two):
        return None
    summed = [c for c in one if c in two and c not in out]
    free = [c for c in one if c not in two], [c for c in two if c not in one]
    if not summed or not free[0] or not free[1] or any(c not in out for c in free[0] + free[1]):
        return None
    if len(summed) > 1 or len(free[0]) > 1 or len(free[1]) > 1:
        return "permute", "permute", "permute"
    batch = [c for c in out if c in one and c in two]
    wanted = batch + free[0] + summed, batch + summed + free[1], batch + free[0] + free[1]
    views = [_view(own, want) for own, want in zip((one, two, out), wanted)]
    return views[0], views[1], views[2]


def _view(own: str, wanted: list[str]) -> str:
    if list(own) == wanted:
        return "same"
    return "transpose" if list(own) == [*wanted[:-2], wanted[-1], wanted[-2]] else "permute"
