"""What a nest looks like to a scheduler: its kind, how each loop moves each access, what it costs to run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from strop.loops.index import Index, Var, index_of
from strop.loops.ir import Apply, Expr, Load, Loop, Nest, Store, loads

#: cycles per vector, roughly; everything else is one
CYCLES = {
    "exp": 10, "exp_nonpositive": 7, "exp2": 10, "expm1": 15, "log": 14, "log2": 14, "log10": 14, "log1p": 18,
    "tanh": 14, "sigmoid": 14, "silu": 12, "gelu": 12, "gelu_tanh": 14, "mish": 16, "softplus": 17, "erf": 15,
    "erfc": 30, "sin": 20, "cos": 20, "tan": 30, "div": 8, "sqrt": 10, "rsqrt": 14, "reciprocal": 8, "pow": 40,
}  # fmt: skip


@dataclass(frozen=True)
class Contraction:
    """A nest whose points each reduce over one inner nest: matmul, convolution, pooling, a plain reduction."""

    nest: Nest
    inner: Nest
    outputs: tuple[Store, ...]  # statements after the reduction that leave the nest
    operands: tuple[Load, ...]  # reads inside the reduction

    @property
    def accumulators(self) -> int:
        return len({(s.target, s.index) for s in self.inner.stores})

    @property
    def depth(self) -> int:
        return self.inner.iterations


def contraction(nest: Nest) -> Contraction | None:
    """The nest as a contraction: per point, scratch starts, a reduce nest of plain statements, finishing statements."""
    inner = [item for item in nest.body if isinstance(item, Nest)]
    if len(inner) != 1 or any(loop.kind != "parallel" for loop in nest.loops):
        return None
    reduce = inner[0]
    if any(isinstance(item, Nest) for item in reduce.body) or any(loop.kind != "reduce" for loop in reduce.loops):
        return None
    local = set(nest.scratch)
    if any(store.reduce is None or store.target not in local or store.target.shape for store in reduce.stores):
        return None
    finishing = nest.body[nest.body.index(reduce) + 1 :]
    outputs = tuple(s for s in finishing if isinstance(s, Store) and s.target not in local)
    operands = tuple(dict.fromkeys(load for s in reduce.stores for load in loads(s) if load.buffer not in local))
    if not outputs:
        return None
    return Contraction(nest, reduce, outputs, operands)


def stride_within(offset: Index, var: Var, tile: int) -> int | None:
    """How one step of `var` moves an offset inside a tile of `var` that starts at a multiple of the tile's size."""
    plain = offset.coefficient(var)
    if plain is not None or tile >= var.extent:
        return plain
    outer, inner = Var(f"{var.name}.o", -(-var.extent // tile)), Var(f"{var.name}.i", tile)
    return offset.substitute({var: index_of(outer) * tile + index_of(inner)}).coefficient(inner)


def shuffles_within(offset: Index, var: Var, lanes: int) -> bool:
    """Whether a vector of `var` that starts at a multiple of its lanes reads from one vector, always in one pattern."""
    if offset.is_data or lanes > var.extent:
        return False
    outer, inner = Var(f"{var.name}.o", -(-var.extent // lanes)), Var(f"{var.name}.i", lanes)
    steps = offset.substitute({var: index_of(outer) * lanes + index_of(inner)}).steps(inner, 0, lanes)
    return steps is not None and min(steps) == 0 and max(steps) < lanes


def accesses(nest: Nest) -> Iterator[Index]:
    """The offsets of every read and write that is not scratch."""
    local = set(nest.all_scratch)
    for store in nest.stores:
        if store.target not in local:
            yield store.offset
        for load in loads(store):
            if load.buffer not in local:
                yield load.offset


def fusable(nest: Nest, outer: Loop, inner: Loop) -> bool:
    """Whether two adjacent loops step through every access as one."""
    for store in nest.stores:
        guards = (*store.guards, *(g for load in loads(store) for g in load.guards))
        if any({outer.var, inner.var} & g.index.vars for g in guards):
            return False
    for offset in accesses(nest):
        a, b = offset.coefficient(outer.var), offset.coefficient(inner.var)
        if a is None or b is None or a != b * inner.extent:
            return False
    return not any({outer.var, inner.var} & part.vars for s in nest.stores for part in _scratch_parts(nest, s))


def _scratch_parts(nest: Nest, store: Store) -> Iterator[Index]:
    local = set(nest.all_scratch)
    if store.target in local:
        yield from store.index
    for load in loads(store):
        if load.buffer in local:
            yield from load.index


def work(nest: Nest) -> float:
    """Scalar operations of a nest, weighted by what they cost: decides whether threads pay."""
    total = 0.0
    for item in nest.body:
        total += work(item) if isinstance(item, Nest) else 1 + _operations(item.value)
    return total * nest.iterations


def _operations(expr: Expr) -> float:
    if isinstance(expr, Load):
        return 1
    if not isinstance(expr, Apply):
        return 0
    return CYCLES.get(expr.op, 1) + sum(map(_operations, expr.args))


def heavy(nest: Nest) -> bool:
    """Whether a pointwise body has more arithmetic than one vector at a time can hide."""
    return sum(_operations(s.value) for s in nest.stores) > 12
