"""Level 2: operators become nests. One file per family, one small function per operator.

A lowering receives a `Context` (the node, how to read its inputs, where its results go) and returns the nests that
compute it, in the plainest form: one program per output point, no schedule. A view is not lowered at all: it is an
index map that readers compose. An operator without a lowering becomes a library node; `can_lower` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module

from strop.core.dtypes import BYTES, NATIVE, is_float
from strop.core.extents import Extent, is_number
from strop.core.passes import Verdict, no, yes
from strop.graph.ir import Node
from strop.graph.operators import MOVING
from strop.loops.index import Index, Var, index_of
from strop.loops.ir import Buffer, Const, Expr, Loop, Nest, Number, Store

Read = Callable[..., Expr]
Lowering = Callable[["Context"], Sequence[Nest]]
View = Callable[[Node, tuple[Index, ...]], tuple[Index, ...]]

LOWERINGS: dict[str, Lowering] = {}
VIEW_MAPS: dict[str, View] = {}
CHECKS: dict[str, Callable[[Node], Verdict]] = {}


def lowering(*ops: str, check: Callable[[Node], Verdict] | None = None) -> Callable[[Lowering], Lowering]:
    """Register the lowering of one or more operators; `check` may refuse a node with a reason."""

    def register(function: Lowering) -> Lowering:
        for op in ops:
            LOWERINGS[op] = function
            if check is not None:
                CHECKS[op] = check
        return function

    return register


def view(op: str) -> Callable[[View], View]:
    """Register an index map: where element `index` of the node lives in its input."""

    def register(function: View) -> View:
        VIEW_MAPS[op] = function
        return function

    return register


@dataclass
class Context:
    """What a lowering works with. Indices may be given as loops, variables, indices or ints."""

    node: Node
    reads: Sequence[Read]
    outs: Sequence[Buffer]
    extra: list[Buffer] = field(default_factory=list)
    constants: dict[Buffer, tuple[float | int, ...]] = field(default_factory=dict)

    @property
    def out(self) -> Buffer:
        return self.outs[0]

    @property
    def dtype(self) -> str:
        return self.node.types[0].dtype

    def attr(self, name: str) -> object:
        return self.node.attrs[name]

    def read(self, which: int, *index: Loop | Var | Index | int) -> Expr:
        """Element `index` of input `which`."""
        return self.reads[which](*map(as_index, index))

    def loops(self, prefix: str, shape: Sequence[Extent], kind: str = "parallel") -> tuple[Loop, ...]:
        """One loop per dimension: prefix0, prefix1 …"""
        return tuple(Loop(Var(f"{prefix}{i}", extent), kind) for i, extent in enumerate(shape))

    def scratch(self, name: str, dtype: str, shape: Sequence[Extent] = ()) -> Buffer:
        return Buffer(name, dtype, tuple(shape), "scratch")

    def temporary(self, name: str, dtype: str, shape: Sequence[Extent]) -> Buffer:
        """A buffer that carries values from one nest of this lowering to the next."""
        made = Buffer(f"{self.node.name}.{name}", dtype, tuple(shape), "arena")
        self.extra.append(made)
        return made

    def table(self, name: str, dtype: str, values: Sequence[float | int]) -> Buffer:
        """Numbers that are known now, for the nests of this lowering to read."""
        made = Buffer(f"{self.node.name}.{name}", dtype, (len(values),), "const")
        self.constants[made] = tuple(values)
        return made

    def nest(
        self, loops: Sequence[Loop], *body: Store | Nest, scratch: Sequence[Buffer] = (), suffix: str = ""
    ) -> Nest:
        """A top-level nest that carries the node's name and origin."""
        name = self.node.name + (f".{suffix}" if suffix else "")
        return Nest(tuple(loops), tuple(body), tuple(scratch), name, self.node.origin, self.node.op)


def as_index(value: Loop | Var | Index | int) -> Index:
    return index_of(value.var if isinstance(value, Loop) else value)


def store(target: Buffer, index: Sequence[Loop | Var | Index | int], value: Expr, reduce: str | None = None) -> Store:
    """target[index] = value (or combined by `reduce`)."""
    return Store(target, tuple(map(as_index, index)), value, reduce)


def can_lower(node: Node) -> Verdict:
    """Whether generated code can compute this node, and why not."""
    load_families()
    if node.op in VIEW_MAPS:
        return yes()
    if node.op not in LOWERINGS:
        return no(f"`{node.op}` has no lowering")
    for type_ in (*node.types, *(t for i in node.inputs for t in i.types)):
        if type_.dtype not in NATIVE and not (type_.dtype in BYTES and node.op in MOVING):
            return no(f"generated code does not compute with {type_.dtype}")
    check = CHECKS.get(node.op)
    return check(node) if check else yes()


def load_families() -> None:
    """Import every family so that its operators are registered."""
    for family in FAMILIES:
        import_module(f"strop.loops.lower.{family}")


FAMILIES = (
    "views", "pointwise", "reductions", "row_reductions", "contractions", "weight_gradients", "attention",
    "linear_cross_entropy", "windows", "resample", "sampling", "recurrent", "recurrence", "byte_recurrent", "indexing",
    "concat_pad", "trees",
)  # fmt: skip


def extent_value(extent: Extent, dtype: str) -> Expr:
    """An extent, or a number that was computed from extents, as a value to compute with."""
    if not is_number(extent):
        return Number(Index(const=extent), dtype)
    return Const(float(extent) if is_float(dtype) else int(extent), dtype)


def zero(dtype: str) -> Const:
    return Const(0.0 if dtype in ("f32", "f64") else False if dtype == "bool" else 0, dtype)
