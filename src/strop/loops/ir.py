"""The nest IR: loops around statements that say exactly what is read, computed and written.

    nest conv1(x, w, b) -> y:                     # a nest is loops around a body
      parallel oh in 56, ow in 56, oc in 64:      # axes are parallel, reduce, or sequential with carried state
        acc[] = 0                                 # a statement writes one element
        reduce kh in 3, kw in 3, ic in 64:        # a body may hold nests of its own, under the shared outer loops,
          acc[] += x[oh+kh, ow+kw, ic] * w[…]     # with scratch that lives no longer than one outer iteration
        y[oh, ow, oc] = relu(acc[] + b[oc])

One notion serves everything: a matmul with its epilogue, a softmax row, attention, Winograd, an LSTM cell. Nothing here
knows an operator by name; `loops/lower` writes nests, `loops/primitives` reshapes them, `codegen/` emits them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from math import prod
from typing import Union

from strop.core.dtypes import SIZES
from strop.core.extents import Extent, Shape, Symbol, UnknownExtent, symbols
from strop.core.memoize import remembered
from strop.core.values import cached_property, changed
from strop.draw.notebook import text_html
from strop.graph.ir import NOWHERE, Origin
from strop.loops.index import Index, Indirect, Quotient, Remainder, Var, flatten, index_of

#: spaces of what stays the same from call to call: parameters, what is computed from them, and constants
CONSTANT = ("param", "packed", "const")


@dataclass(frozen=True, init=False)
class Buffer:
    """A contiguous row-major array. `space` says who owns the memory:

    input, output, param: the caller; const: shipped with the code; arena: planned, one call long;
    packed: derived from parameters, kept until they change; scratch: inside one nest.
    """

    name: str
    dtype: str
    shape: Shape
    space: str = "arena"

    def __init__(self, name: str, dtype: str, shape: Shape, space: str = "arena") -> None:
        held = self.__dict__
        held["name"], held["dtype"], held["shape"], held["space"] = name, dtype, shape, space

    @property
    def size(self) -> Extent:
        return prod(self.shape)

    @property
    def bytes(self) -> Extent:
        return self.size * SIZES[self.dtype]

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.dtype, self.shape, self.space))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{','.join(map(repr, self.shape))}]"


# ---- expressions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Const:
    value: float | int | bool
    dtype: str

    vars: frozenset[Var] = field(default=frozenset(), init=False, repr=False, compare=False)

    def substitute(self, new: Mapping[Var, Index]) -> Expr:
        return self

    def __str__(self) -> str:
        return f"{self.value:g}" if isinstance(self.value, float) else str(self.value)


@dataclass(frozen=True)
class Number:
    """An index used as a value."""

    index: Index
    dtype: str

    @property
    def vars(self) -> frozenset[Var]:
        return self.index.vars

    def substitute(self, new: Mapping[Var, Index]) -> Expr:
        return Number(self.index.substitute(new), self.dtype)

    def __str__(self) -> str:
        return str(self.index)


@dataclass(frozen=True, init=False)
class Guard:
    """Holds where 0 ≤ index < extent."""

    index: Index
    extent: Extent

    def __init__(self, index: Index, extent: Extent) -> None:
        held = self.__dict__
        held["index"], held["extent"] = index, extent

    def substitute(self, new: Mapping[Var, Index]) -> Guard:
        return Guard(self.index.substitute(new), self.extent)

    @property
    def always(self) -> bool:
        """Whether it is known to hold."""
        low, high = self.index.bounds
        try:
            return bool(low >= 0 and high < self.extent)
        except UnknownExtent:
            return False

    def __str__(self) -> str:
        return f"0<={self.index}<{index_of(self.extent)}"


@dataclass(frozen=True, init=False)
class Load:
    """One element read. Where a guard fails nothing is read and the value is `other`.

    `prefetch`, set by scheduling, is the place of another element that is to be brought close meanwhile.
    """

    buffer: Buffer
    index: tuple[Index, ...]
    guards: tuple[Guard, ...] = ()
    other: float | int | bool = 0
    prefetch: Index | None = None

    def __init__(
        self, buffer: Buffer, index: tuple[Index, ...], guards: tuple[Guard, ...] = (),
        other: float | int | bool = 0, prefetch: Index | None = None,
    ) -> None:  # fmt: skip
        self.__dict__.update(buffer=buffer, index=index, guards=guards, other=other, prefetch=prefetch)

    @property
    def dtype(self) -> str:
        return self.buffer.dtype

    @cached_property
    def vars(self) -> frozenset[Var]:
        return frozenset().union(*(i.vars for i in self.index), *(g.index.vars for g in self.guards))

    @cached_property
    def offset(self) -> Index:
        return flatten(self.index, self.buffer.shape)

    @cached_property
    def is_indirect(self) -> bool:
        """Whether its place, or whether it is read at all, depends on data."""
        return any(i.is_data for i in self.index) or any(g.index.is_data for g in self.guards)

    @cached_property
    def _hash(self) -> int:
        return hash((self.buffer, self.index, self.guards, self.other, self.prefetch))

    def __hash__(self) -> int:
        return self._hash

    def substitute(self, new: Mapping[Var, Index]) -> Load:
        prefetch = self.prefetch.substitute(new) if self.prefetch is not None else None
        if prefetch == self.prefetch and not any(v in new for v in self.vars):
            return self
        guards = tuple(g.substitute(new) for g in self.guards)
        return changed(
            self,
            index=tuple(i.substitute(new) for i in self.index),
            guards=tuple(g for g in guards if not g.always),
            prefetch=prefetch,
        )

    def __str__(self) -> str:
        text = f"{self.buffer.name}[{', '.join(map(str, self.index))}]"
        if self.prefetch is not None:
            text += f"^({self.prefetch})"
        if self.guards:
            text = f"({text} if {' and '.join(map(str, self.guards))} else {self.other})"
        return text


@dataclass(frozen=True, init=False)
class Apply:
    """A pointwise function of values; `op` is a name of `strop.codegen.math.functions.FUNCTIONS`, `where` or `cast`.

    `watch` is its operand, and tells whoever called the program where that is NaN.
    """

    op: str
    args: tuple[Expr, ...]
    dtype: str

    def __init__(self, op: str, args: tuple[Expr, ...], dtype: str) -> None:
        held = self.__dict__
        held["op"], held["args"], held["dtype"] = op, args, dtype

    @cached_property
    def vars(self) -> frozenset[Var]:
        return frozenset().union(*(a.vars for a in self.args))

    @cached_property
    def _hash(self) -> int:
        return hash((self.op, self.args, self.dtype))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        return tuple(load for arg in self.args for load in loads(arg))

    def substitute(self, new: Mapping[Var, Index]) -> Expr:
        if not any(v in new for v in self.vars):
            return self
        return Apply(self.op, tuple(a.substitute(new) for a in self.args), self.dtype)

    def __str__(self) -> str:
        symbol = _INFIX.get(self.op)
        if symbol and len(self.args) == 2:
            return f"({self.args[0]} {symbol} {self.args[1]})"
        name = self.dtype if self.op == "cast" else self.op
        return f"{name}({', '.join(map(str, self.args))})"


Expr = Union[Const, Number, Load, Apply]
_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
    "ne": "!=", "and": "&", "or": "|",
}  # fmt: skip

#: reduction → (the pointwise function that combines, the value to start from by kind of dtype)
REDUCTIONS: Mapping[str, str] = {
    "sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "any": "or", "all": "and",
}  # fmt: skip


def neutral(reduce: str, dtype: str) -> float | int | bool:
    """The value that a reduction starts from."""
    if reduce in ("sum", "prod"):
        start = 0 if reduce == "sum" else 1
        return float(start) if dtype in ("f32", "f64") else start
    if reduce in ("any", "all"):
        return reduce == "all"
    if dtype in ("f32", "f64"):
        return float("-inf") if reduce == "max" else float("inf")
    if dtype == "bool":
        return reduce == "min"
    bits = 8 * SIZES[dtype] - 1
    return -(1 << bits) if reduce == "max" else (1 << bits) - 1


# ---- statements ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, init=False)
class Store:
    """target[index] = value, or target[index] = combine(target[index], value) with a reduction.

    Where a guard fails nothing is written. `nodes` names what it computes of the graph. In a scheduled nest, `number`
    is that of the statement it was made from. Neither makes a difference to the code.
    """

    target: Buffer
    index: tuple[Index, ...]
    value: Expr
    reduce: str | None = None
    guards: tuple[Guard, ...] = ()
    nodes: tuple[str, ...] = field(default=(), compare=False, repr=False)
    number: int | None = field(default=None, compare=False, repr=False)

    def __init__(
        self, target: Buffer, index: tuple[Index, ...], value: Expr, reduce: str | None = None,
        guards: tuple[Guard, ...] = (), nodes: tuple[str, ...] = (), number: int | None = None,
    ) -> None:  # fmt: skip
        held = self.__dict__
        held.update(target=target, index=index, value=value, reduce=reduce, guards=guards, nodes=nodes, number=number)

    @cached_property
    def offset(self) -> Index:
        return flatten(self.index, self.target.shape)

    @cached_property
    def moving(self) -> frozenset[Var]:
        """The variables that its place depends on."""
        return frozenset().union(*(i.vars for i in self.index))

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        return (*loads(self.value), *(load for index in self.index for load in index_loads(index)))

    @cached_property
    def _hash(self) -> int:
        return hash((self.target, self.index, self.value, self.reduce, self.guards))

    def __hash__(self) -> int:
        return self._hash

    def substitute(self, new: Mapping[Var, Index]) -> Store:
        index = tuple(i.substitute(new) for i in self.index)
        value = self.value.substitute(new)
        guards = tuple(g.substitute(new) for g in self.guards)
        same = value is self.value and all(a is b for a, b in zip(index, self.index)) and guards == self.guards
        if same:
            return self
        return changed(self, index=index, value=value, guards=tuple(g for g in guards if not g.always))

    def __str__(self) -> str:
        sign = {None: "=", "sum": "+=", "prod": "*=", "max": "max=", "min": "min=", "any": "|=", "all": "&="}[
            self.reduce
        ]
        where = f" if {' and '.join(map(str, self.guards))}" if self.guards else ""
        return f"{self.target.name}[{', '.join(map(str, self.index))}] {sign} {self.value}{where}"


@dataclass(frozen=True)
class Loop:
    """kind: parallel (iterations are independent), reduce (they only meet in reductions) or sequential (in order).
    mode, set by scheduling: serial, threads, vector, unroll or strip (between bounds that the caller gives, who counts
    `first` other steps before this loop's). A sequential loop with `until`, innermost of its nest, ends early once the
    body's last statement has written true."""

    var: Var
    kind: str = "parallel"
    mode: str = "serial"
    first: int = 0
    until: bool = False

    @property
    def name(self) -> str:
        return self.var.name

    @property
    def extent(self) -> Extent:
        return self.var.extent


@dataclass(frozen=True, init=False)
class Nest:
    """Loops around a body of statements and nests; `scratch` lives inside one iteration of the loops."""

    loops: tuple[Loop, ...]
    body: tuple[Store | Nest, ...]
    scratch: tuple[Buffer, ...] = ()
    name: str = ""
    origin: Origin = NOWHERE
    note: str = ""  # what it computes, for people: "conv + relu"

    def __init__(
        self, loops: tuple[Loop, ...], body: tuple[Store | Nest, ...], scratch: tuple[Buffer, ...] = (),
        name: str = "", origin: Origin = NOWHERE, note: str = "",
    ) -> None:  # fmt: skip
        self.__dict__.update(loops=loops, body=body, scratch=scratch, name=name, origin=origin, note=note)

    @cached_property
    def _hash(self) -> int:
        return hash((self.loops, self.body, self.scratch, self.name))

    def __hash__(self) -> int:
        return self._hash

    @property
    def vars(self) -> tuple[Var, ...]:
        return tuple(loop.var for loop in self.loops)

    @property
    def iterations(self) -> Extent:
        return prod(loop.extent for loop in self.loops)

    @cached_property
    def stores(self) -> tuple[Store, ...]:
        """Every statement, inner nests included, in order."""
        found: list[Store] = []
        for item in self.body:
            found.extend((item,) if isinstance(item, Store) else item.stores)
        return tuple(found)

    @cached_property
    def all_loops(self) -> tuple[Loop, ...]:
        inner = [loop for item in self.body if isinstance(item, Nest) for loop in item.all_loops]
        return (*self.loops, *inner)

    @cached_property
    def all_scratch(self) -> tuple[Buffer, ...]:
        inner = [s for item in self.body if isinstance(item, Nest) for s in item.all_scratch]
        return (*self.scratch, *inner)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of its loops and buffers, by name."""
        shapes = (buffer.shape for buffer in (*self.reads, *self.writes, *self.all_scratch))
        return symbols((*(loop.extent for loop in self.all_loops), *chain.from_iterable(shapes)))

    @cached_property
    def reads(self) -> tuple[Buffer, ...]:
        """Buffers read, scratch left out, in order of first use."""
        local = set(self.all_scratch)
        found = dict.fromkeys(load.buffer for store in self.stores for load in loads(store))
        return tuple(b for b in found if b not in local)

    @cached_property
    def writes(self) -> tuple[Buffer, ...]:
        local = set(self.all_scratch)
        return tuple(b for b in dict.fromkeys(store.target for store in self.stores) if b not in local)

    def substitute(self, new: Mapping[Var, Index]) -> Nest:
        body = tuple(item.substitute(new) for item in self.body)
        return self if all(a is b for a, b in zip(body, self.body)) else changed(self, body=body)

    def map_stores(self, change: Callable[[Store], Store]) -> Nest:
        body = tuple(change(i) if isinstance(i, Store) else i.map_stores(change) for i in self.body)
        return self if all(a is b for a, b in zip(body, self.body)) else changed(self, body=body)

    def __str__(self) -> str:
        from strop.loops.text import nest_text

        return nest_text(self)

    def _repr_html_(self) -> str:
        """The nest as a notebook shows it."""
        return text_html(str(self))


def shared(nest: Nest) -> Nest:
    """One object for all nests that are equal and compute the same nodes: tables find it without comparing them."""
    return _first_of(nest, tuple(store.nodes for store in nest.stores))


@remembered(maxsize=16384)
def _first_of(nest: Nest, nodes: tuple[tuple[str, ...], ...]) -> Nest:
    return nest


def watches(nest: Nest) -> bool:
    """Whether it tells of values that are not finite."""
    return any(isinstance(store.value, Apply) and store.value.op == "watch" for store in nest.stores)


def loads(item: Store | Expr) -> tuple[Load, ...]:
    """Every read of a statement or expression, data-dependent indices included."""
    if isinstance(item, Store | Apply):
        return item.loads
    if isinstance(item, Load):
        return (item, *(load for index in item.index for load in index_loads(index)))
    return index_loads(item.index) if isinstance(item, Number) else ()


def index_loads(index: Index) -> tuple[Load, ...]:
    """The reads that a data-dependent index makes."""
    if not index.is_data:
        return ()
    found: list[Load] = []
    for atom, _ in index.terms:
        if isinstance(atom, Indirect):
            found += loads(atom.value)
        elif isinstance(atom, Quotient | Remainder):
            found += index_loads(atom.of)
    return tuple(found)
