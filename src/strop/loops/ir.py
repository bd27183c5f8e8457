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
from dataclasses import dataclass, field, replace
from itertools import chain, count
from math import prod
from typing import Union

from strop.core.dtypes import SIZES
from strop.core.extents import Extent, Shape, Symbol, UnknownExtent, symbols
from strop.core.memoize import derived, remembered
from strop.draw.notebook import text_html
from strop.graph.ir import NOWHERE, Origin
from strop.loops.index import Index, IndexMap, Indirect, Quotient, Remainder, Var, flatten, index_of, indirect

#: spaces of what stays the same from call to call: parameters, what is computed from them, and constants
CONSTANT = ("param", "packed", "const")


@dataclass(frozen=True)
class Buffer:
    """A contiguous row-major array. `space` says who owns the memory:

    input, output, param: the caller; const: shipped with the code; arena: planned, one call long;
    packed: derived from parameters, kept until they change; scratch: inside one nest.
    """

    name: str
    dtype: str
    shape: Shape
    space: str = "arena"

    @property
    def size(self) -> Extent:
        return prod(self.shape)

    @property
    def bytes(self) -> Extent:
        return self.size * SIZES[self.dtype]

    @derived
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


@dataclass(frozen=True)
class Guard:
    """Holds where 0 ≤ index < extent."""

    index: Index
    extent: Extent

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


@dataclass(frozen=True)
class Load:
    """One element read. Where a guard fails nothing is read and the value is `other`.

    `prefetch`, set by scheduling, is the place of another element that is to be brought close meanwhile.
    """

    buffer: Buffer
    index: tuple[Index, ...]
    guards: tuple[Guard, ...] = ()
    other: float | int | bool = 0
    prefetch: Index | None = None

    @property
    def dtype(self) -> str:
        return self.buffer.dtype

    @derived
    def vars(self) -> frozenset[Var]:
        return frozenset().union(*(i.vars for i in self.index), *(g.index.vars for g in self.guards))

    @derived
    def offset(self) -> Index:
        return flatten(self.index, self.buffer.shape)

    @derived
    def is_indirect(self) -> bool:
        """Whether its place, or whether it is read at all, depends on data."""
        return any(i.is_data for i in self.index) or any(g.index.is_data for g in self.guards)

    @derived
    def _hash(self) -> int:
        return hash((self.buffer, self.index, self.guards, self.other, self.prefetch))

    def __hash__(self) -> int:
        return self._hash

    def substitute(self, new: Mapping[Var, Index]) -> Load:
        prefetch = self.prefetch.substitute(new) if self.prefetch is not None else None
        if prefetch == self.prefetch and not any(v in new for v in self.vars):
            return self
        guards = tuple(g.substitute(new) for g in self.guards)
        return replace(
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


@dataclass(frozen=True)
class Apply:
    """A pointwise function of values; `op` is a name of `strop.codegen.math.functions.FUNCTIONS`, `where` or `cast`.

    `watch` is its operand, and tells whoever called the program where that is NaN.
    """

    op: str
    args: tuple[Expr, ...]
    dtype: str

    @derived
    def vars(self) -> frozenset[Var]:
        return frozenset().union(*(a.vars for a in self.args))

    @derived
    def _hash(self) -> int:
        return hash((self.op, self.args, self.dtype))

    def __hash__(self) -> int:
        return self._hash

    @derived
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


@dataclass(frozen=True)
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

    @derived
    def offset(self) -> Index:
        return flatten(self.index, self.target.shape)

    @derived
    def moving(self) -> frozenset[Var]:
        """The variables that its place depends on."""
        return frozenset().union(*(i.vars for i in self.index))

    @derived
    def loads(self) -> tuple[Load, ...]:
        return (*loads(self.value), *(load for index in self.index for load in index_loads(index)))

    @derived
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
        return replace(self, index=index, value=value, guards=tuple(g for g in guards if not g.always))

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


@dataclass(frozen=True)
class Nest:
    """Loops around a body of statements and nests; `scratch` lives inside one iteration of the loops."""

    loops: tuple[Loop, ...]
    body: tuple[Store | Nest, ...]
    scratch: tuple[Buffer, ...] = ()
    name: str = ""
    origin: Origin = NOWHERE
    note: str = ""  # what it computes, for people: "conv + relu"

    @derived
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

    @derived
    def stores(self) -> tuple[Store, ...]:
        """Every statement, inner nests included, in order."""
        found: list[Store] = []
        for item in self.body:
            found.extend((item,) if isinstance(item, Store) else item.stores)
        return tuple(found)

    @derived
    def all_loops(self) -> tuple[Loop, ...]:
        inner = [loop for item in self.body if isinstance(item, Nest) for loop in item.all_loops]
        return (*self.loops, *inner)

    @derived
    def all_scratch(self) -> tuple[Buffer, ...]:
        inner = [s for item in self.body if isinstance(item, Nest) for s in item.all_scratch]
        return (*self.scratch, *inner)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of its loops and buffers, by name."""
        shapes = (buffer.shape for buffer in (*self.reads, *self.writes, *self.all_scratch))
        return symbols((*(loop.extent for loop in self.all_loops), *chain.from_iterable(shapes)))

    @derived
    def reads(self) -> tuple[Buffer, ...]:
        """Buffers read, scratch left out, in order of first use."""
        local = set(self.all_scratch)
        found = dict.fromkeys(load.buffer for store in self.stores for load in loads(store))
        return tuple(b for b in found if b not in local)

    @derived
    def writes(self) -> tuple[Buffer, ...]:
        local = set(self.all_scratch)
        return tuple(b for b in dict.fromkeys(store.target for store in self.stores) if b not in local)

    def substitute(self, new: Mapping[Var, Index]) -> Nest:
        body = tuple(item.substitute(new) for item in self.body)
        return self if all(a is b for a, b in zip(body, self.body)) else replace(self, body=body)

    def map_stores(self, change: Callable[[Store], Store]) -> Nest:
        body = tuple(change(i) if isinstance(i, Store) else i.map_stores(change) for i in self.body)
        return self if all(a is b for a, b in zip(body, self.body)) else replace(self, body=body)

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


def replace_loads(expr: Expr, change: Callable[[Load], Expr]) -> Expr:
    """The expression with every load replaced (loads inside data-dependent indices too)."""
    if isinstance(expr, Load):
        if expr.is_indirect:
            index = tuple(_replace_in_index(i, change) for i in expr.index)
            guards = tuple(Guard(_replace_in_index(g.index, change), g.extent) for g in expr.guards)
            return change(replace(expr, index=index, guards=guards))
        return change(expr)
    if isinstance(expr, Apply):
        args = tuple(replace_loads(a, change) for a in expr.args)
        return expr if all(a is b for a, b in zip(args, expr.args)) else Apply(expr.op, args, expr.dtype)
    if isinstance(expr, Number) and expr.index.is_data:
        return Number(_replace_in_index(expr.index, change), expr.dtype)
    return expr


def _replace_in_index(index: Index, change: Callable[[Load], Expr]) -> Index:
    if not index.is_data:
        return index
    result = Index(const=index.const)
    for atom, factor in index.terms:
        if isinstance(atom, Indirect):
            part = indirect(replace_loads(atom.value, change), atom.extent, sure=atom.sure)
        elif isinstance(atom, Quotient):
            part = _replace_in_index(atom.of, change) // atom.by
        elif isinstance(atom, Remainder):
            part = _replace_in_index(atom.of, change) % atom.by
        else:
            part = index_of(atom)
        result = result + part * factor
    return result


def rename(
    nest: Nest, new: Mapping[Buffer, Buffer], move: IndexMap = lambda index: index, *, number: bool = False
) -> Nest:
    """The nest over other buffers, where elements lie in the places that `move` tells. With `number`, its statements
    are numbered, and say no more which nodes they compute."""
    if not number and not any(b in new for b in (*nest.reads, *nest.writes)):
        return nest
    numbers = count()

    def read(load: Load) -> Load:
        return replace(load, buffer=new[load.buffer], index=move(load.index)) if load.buffer in new else load

    def change(store: Store) -> Store:
        index = Load(store.target, store.index)
        moved = replace_loads(index, read)
        assert isinstance(moved, Load)
        value = replace_loads(store.value, read)
        if number:
            store = replace(store, nodes=(), number=next(numbers))
        elif moved is index and value is store.value:
            return store
        return replace(store, target=moved.buffer, index=moved.index, value=value)

    return nest.map_stores(change)
