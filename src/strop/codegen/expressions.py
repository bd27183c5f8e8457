"""Expressions of a nest as SSA values: arithmetic, contraction to fused multiply-adds, reductions across lanes.

Elements of scratch that lives in registers are SSA values too; `cells` has the current one of each.
"""

from __future__ import annotations

from collections.abc import Collection

from strop.codegen.access import Access
from strop.codegen.builder import SSAValue, constant, literal, type_of
from strop.codegen.frame import Chunk
from strop.codegen.math.byte_products import accumulate
from strop.codegen.math.functions import FUNCTIONS, convert
from strop.loops.index import Index
from strop.loops.ir import REDUCTIONS, Apply, Buffer, Const, Expr, Load, Number, Store, neutral


class ExpressionEmitter:
    """The values of expressions in one function."""

    def __init__(self, access: Access, registers: frozenset[Buffer], byte_products: str) -> None:
        self.frame, self.access, self.indices = access.frame, access, access.indices
        self.registers = registers
        self.kind_of_byte_products = byte_products  # as in `Target.byte_products`
        self.cells: dict[tuple[Buffer, tuple[int, ...]], SSAValue] = {}

    def cell(self, buffer: Buffer, index: tuple[Index, ...]) -> tuple[Buffer, tuple[int, ...]]:
        """Which element of register scratch an index means."""
        return buffer, tuple(self.frame.settle(i).const for i in index)

    def forget(self, buffers: Collection[Buffer]) -> None:
        """Drop the elements of scratch that ends here."""
        self.cells = {key: cell for key, cell in self.cells.items() if key[0] not in buffers}

    def value(self, expr: Expr) -> SSAValue:
        """The value of an expression; a scalar where it is the same in every lane."""
        if isinstance(expr, Const):
            return SSAValue(literal(expr.dtype, expr.value), expr.dtype)
        if isinstance(expr, Load):
            if expr.buffer in self.registers:
                return self.cells[self.cell(expr.buffer, expr.index)]
            return self.access.load(expr)
        if isinstance(expr, Number):
            return self._number(expr)
        return self._apply(expr)

    def _number(self, expr: Number) -> SSAValue:
        frame, chunk = self.frame, self.frame.chunk
        index = self.indices.bind_in_index(expr.index)
        if chunk is not None and chunk.var in index.vars:
            value = SSAValue(self.indices.lanes_of(index), "i64", chunk.lanes)
        else:
            value = SSAValue(frame.scalar(frame.settle(index)), "i64")
        name = convert(frame.code, value.name, "i64", expr.dtype, value.lanes)
        return SSAValue(name, expr.dtype, value.lanes)

    def _apply(self, expr: Apply) -> SSAValue:
        if expr.op in ("add", "sub") and expr.dtype in ("f32", "f64"):
            contracted = self._contracted(expr)
            if contracted is not None:
                return contracted
        args = tuple(map(self.value, expr.args))
        if expr.op == "watch":
            self.indices.watch(args[0])
            return args[0]
        return self._call(expr.op, args, expr.dtype)

    def _contracted(self, expr: Apply) -> SSAValue | None:
        """A product that is added or subtracted, in one rounding; None where there is no product."""
        left, right = expr.args
        minus = expr.op == "sub"
        if isinstance(left, Apply) and is_product(left):
            a, b = map(self.value, left.args)
            other = self.value(right)
            return self.fma(a, b, self._negative(other) if minus else other)
        if isinstance(right, Apply) and is_product(right):
            a, b = map(self.value, right.args)
            return self.fma(self._negative(a) if minus else a, b, self.value(left))
        return None

    def _negative(self, value: SSAValue) -> SSAValue:
        return self._call("neg", (value,), value.dtype)

    def _call(self, op: str, args: tuple[SSAValue, ...], dtype: str) -> SSAValue:
        code = self.frame.code
        lanes = max(a.lanes for a in args)
        names = [self._broadcast(a, lanes) for a in args]
        key = ("apply", op, tuple(names), dtype, lanes)
        found = self.frame.scope.values.get(self.frame.number(key))
        if found is not None:
            return SSAValue(found, dtype, lanes)
        if op == "where":
            name = code.select(names[0], names[1], names[2], dtype, lanes)
        elif op == "cast":
            name = convert(code, names[0], args[0].dtype, dtype, lanes)
        else:
            name = FUNCTIONS[op](code, *names, args[-1].dtype, lanes)
        self.frame.keep(key, name)
        return SSAValue(name, dtype, lanes)

    def fma(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        lanes = max(a.lanes, b.lanes, c.lanes)
        names = [self._broadcast(v, lanes) for v in (a, b, c)]
        # rounded once where the machine has an instruction for it, and not by a call of fmaf where it has none
        return SSAValue(self.frame.code.call("llvm.fmuladd", a.dtype, lanes, *names), a.dtype, lanes)

    def byte_products(self, a: SSAValue, b: SSAValue, total: SSAValue) -> SSAValue:
        lanes = max(a.lanes, b.lanes, total.lanes)
        x, y, start = (self._broadcast(v, lanes) for v in (a, b, total))
        return SSAValue(accumulate(self.frame, self.kind_of_byte_products, x, y, start, lanes), "i32", lanes)

    def _broadcast(self, value: SSAValue, lanes: int) -> str:
        if value.lanes == lanes:
            return value.name
        if not value.name.startswith("%"):
            return f"splat ({type_of(value.dtype)} {value.name})"
        return self.indices.widen(value, lanes).name

    # ---- reductions ----

    def lanes_combined(self, store: Store, chunk: Chunk) -> SSAValue:
        """All active lanes of a value combined into a scalar."""
        assert store.reduce is not None
        dtype = store.value.dtype
        value = self.indices.widen(self.value(store.value), chunk.lanes)
        code = self.frame.code
        if chunk.partial:
            rest = constant(dtype, neutral(store.reduce, dtype), chunk.lanes)
            mask = self.indices.lane_mask(chunk)
            value = SSAValue(code.select(mask, value.name, rest, dtype, chunk.lanes), dtype, chunk.lanes)
        return self.across_lanes(store, value)

    def across_lanes(self, store: Store, value: SSAValue) -> SSAValue:
        """All lanes of a value combined into a scalar."""
        assert store.reduce is not None
        code, dtype, lanes = self.frame.code, value.dtype, value.lanes
        while lanes > 1:
            half = lanes // 2
            kind = type_of(dtype, lanes)
            halves = (range(half), range(half, lanes))
            a, b = (SSAValue(code.shuffle(kind, value.name, "poison", part), dtype, half) for part in halves)
            value = self.combine(store.reduce, a, b)
            lanes = half
        return SSAValue(code.let(f"extractelement <1 x {type_of(dtype)}> {value.name}, i64 0"), dtype, 0)

    def combine(self, reduce: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Two values of a reduction as one."""
        return self._call(REDUCTIONS[reduce], (a, b), a.dtype)


def is_product(expr: Expr) -> bool:
    return isinstance(expr, Apply) and expr.op == "mul"
