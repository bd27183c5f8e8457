"""Indices as values: one per lane of a vector, guards and masks over them, and indices that are read from data.

A data-dependent index is checked before it is used. One that is out of range becomes 0 and sets a byte of the status
word, which the caller reads after the call.
"""

from __future__ import annotations

from collections.abc import Callable

from strop.codegen.builder import SSAValue, constant, type_of
from strop.codegen.frame import Chunk, Frame
from strop.core.runtime_table import NOT_FINITE, OUT_OF_RANGE
from strop.loops.index import Index, Indirect, Quotient, Remainder, Var, index_of
from strop.loops.ir import Buffer, Expr, Guard, Load, loads


class LaneIndices:
    """Indices and guards of one function. `evaluate` gives data-dependent indices their value."""

    def __init__(self, frame: Frame, written: frozenset[Buffer], status: str) -> None:
        self.frame = frame
        self.written = written
        self.status = status
        self.evaluate: Callable[[Expr], SSAValue] | None = None
        self._reporting: dict[int, tuple[str, str]] = {}  # bytes of the status, each with one that nobody reads

    # ---- lanes ----

    def widen(self, value: SSAValue, lanes: int) -> SSAValue:
        """A scalar in every lane."""
        if value.lanes == lanes:
            return value
        frame = self.frame
        key = ("splat", value.name, lanes)
        found = frame.find(key)
        if found is None:
            found = frame.code.splat(value.name, value.dtype, lanes)
            frame.keep(key, found)
        return SSAValue(found, value.dtype, lanes)

    def lanes_of(self, index: Index) -> str:
        """An index as a vector of i64, one per lane of the current chunk."""
        frame, chunk = self.frame, self.frame.chunk
        assert chunk is not None
        lanes = chunk.lanes
        total = None
        fixed = Index(tuple(t for t in index.terms if chunk.var not in Index((t,)).vars), index.const)
        if fixed.terms or fixed.const:
            total = frame.code.splat(frame.scalar(frame.settle(fixed)), "i64", lanes)
        for atom, factor in index.terms:
            if chunk.var not in Index(((atom, 1),)).vars:
                continue
            part = self._lanes_of_atom(atom, chunk)
            if factor != 1:
                part = frame.code.let(f"mul <{lanes} x i64> {part}, {constant('i64', factor, lanes)}")
            total = part if total is None else frame.code.let(f"add <{lanes} x i64> {total}, {part}")
        return total if total is not None else constant("i64", 0, lanes)

    def _lanes_of_atom(self, atom: Var | Quotient | Remainder | Indirect, chunk: Chunk) -> str:
        frame, lanes = self.frame, chunk.lanes
        if isinstance(atom, Var):
            return "<" + ", ".join(f"i64 {chunk.first + lane}" for lane in range(lanes)) + ">"
        if isinstance(atom, Indirect):
            return self._checked(atom, chunk)
        inner = self.lanes_of(atom.of)
        by = constant("i64", atom.by, lanes)
        if atom.of.bounds[0] >= 0 and atom.of.bounds[1] < 2**31:
            narrow = frame.code.let(f"trunc <{lanes} x i64> {inner} to <{lanes} x i32>")
            opcode = "udiv" if isinstance(atom, Quotient) else "urem"
            result = frame.code.let(f"{opcode} <{lanes} x i32> {narrow}, {constant('i32', atom.by, lanes)}")
            return frame.code.let(f"zext <{lanes} x i32> {result} to <{lanes} x i64>")
        quotient = frame.code.let(f"sdiv <{lanes} x i64> {inner}, {by}")
        rest = frame.code.let(f"srem <{lanes} x i64> {inner}, {by}")
        negative = frame.code.let(f"icmp slt <{lanes} x i64> {rest}, {constant('i64', 0, lanes)}")
        if isinstance(atom, Quotient):
            carry = frame.code.let(f"sext <{lanes} x i1> {negative} to <{lanes} x i64>")
            return frame.code.let(f"add <{lanes} x i64> {quotient}, {carry}")
        lifted = frame.code.let(f"add <{lanes} x i64> {rest}, {by}")
        return frame.code.select(negative, lifted, rest, "i64", lanes)

    def lane_mask(self, chunk: Chunk) -> str:
        """The active lanes of a chunk."""
        return "<" + ", ".join(f"i1 {'true' if i < chunk.active else 'false'}" for i in range(chunk.lanes)) + ">"

    # ---- guards ----

    def open_guards(self, guards: tuple[Guard, ...]) -> tuple[Guard, ...]:
        """The guards that are still open, in some lane, once unrolled variables are numbers."""
        return tuple(Guard(self.frame.settle(g.index), g.extent) for g in guards if not self.always_holds(g))

    def always_holds(self, guard: Guard) -> bool:
        """Whether a guard holds here whatever the loops around do, in every lane."""
        index, chunk = guard.index, self.frame.chunk
        if chunk is not None and chunk.var in index.vars:
            index = index.substitute({chunk.var: index_of(Var(f"{chunk.var.name}.lane", chunk.active)) + chunk.first})
        return Guard(self.frame.settle(index), guard.extent).always

    def mask(self, guards: tuple[Guard, ...], chunk: Chunk) -> str:
        """Active lanes for which every guard holds."""
        frame, lanes = self.frame, chunk.lanes
        mask = self.lane_mask(chunk)
        for guard in guards:
            if chunk.var in guard.index.vars:
                inside = self._inside_lanes(self.lanes_of(guard.index), guard.extent, lanes)
            else:
                settled = Guard(frame.settle(guard.index), guard.extent)
                if settled.always:
                    continue
                inside = frame.code.splat(self._inside(settled), "bool", lanes)
            mask = frame.code.let(f"and <{lanes} x i1> {mask}, {inside}")
        return mask

    def _inside_lanes(self, index: str, extent: int, lanes: int) -> str:
        return self.frame.code.let(f"icmp ult <{lanes} x i64> {index}, {constant('i64', extent, lanes)}")

    def _inside(self, guard: Guard) -> str:
        frame = self.frame
        key = ("guard", guard)
        found = frame.find(key)
        if found is None:
            if guard.index.is_const:
                return "true" if 0 <= guard.index.const < guard.extent else "false"
            with frame.at(frame.depth_of(guard.index)):
                found = frame.code.let(f"icmp ult i64 {frame.scalar(guard.index)}, {guard.extent}")
                frame.keep(key, found)
        return found

    def conjunction(self, guards: tuple[Guard, ...]) -> str:
        """Whether all of some guards hold, which are the same in every lane."""
        held = self._inside(guards[0])
        for guard in guards[1:]:
            held = self.frame.code.let(f"and i1 {held}, {self._inside(guard)}")
        return held

    # ---- data-dependent indices ----

    def bind_in_load(self, load: Load) -> Load:
        """A load whose data-dependent indices are variables, where they are the same in every lane."""
        if not load.is_indirect:
            return load
        index = tuple(self.bind_in_index(i) for i in load.index)
        guards = tuple(Guard(self.bind_in_index(g.index), g.extent) for g in load.guards)
        return Load(load.buffer, index, guards, load.other)

    def bind_in_index(self, index: Index) -> Index:
        """Replace data-dependent atoms that are the same in every lane by variables that hold their checked value."""
        chunk = self.frame.chunk
        if not index.is_data:
            return index
        result = Index(const=index.const)
        for atom, factor in index.terms:
            if isinstance(atom, Quotient):
                part = self.bind_in_index(atom.of) // atom.by
            elif isinstance(atom, Remainder):
                part = self.bind_in_index(atom.of) % atom.by
            elif not isinstance(atom, Indirect) or (chunk is not None and chunk.var in atom.value.vars):
                part = Index(((atom, 1),))
            else:
                part = Index(((self._bound_variable(atom), 1),))
            result = result + part * factor
        return result

    def _bound_variable(self, atom: Indirect) -> Var:
        frame = self.frame
        settled = _settle_expr(frame, atom.value)
        key = ("indirect", settled, atom.extent)
        lasting = all(load.buffer not in self.written for load in loads(settled))
        found = frame.find(key) if lasting else None
        if found is None:
            found = self._checked(Indirect(settled, atom.extent, atom.sure), None)
            frame.keep(key, found)
        var = Var(f"@{found}", atom.extent)
        frame.bound[var] = found
        frame.home[var] = frame.scope.depth
        return var

    def _checked(self, atom: Indirect, chunk: Chunk | None) -> str:
        """The value of a data-dependent index as i64, 0 where it is out of range (and the status says so)."""
        frame, code = self.frame, self.frame.code
        held = frame.chunk
        frame.chunk = chunk
        assert self.evaluate is not None
        value = self.evaluate(atom.value)
        frame.chunk = held
        lanes = chunk.lanes if chunk else 0
        if lanes:
            value = self.widen(value, lanes)
        name = value.name
        if value.dtype != "i64":
            name = code.convert("zext" if atom.sure else "sext", name, value.dtype, "i64", lanes)
        if atom.sure:
            return name
        bad = code.let(f"icmp uge {type_of('i64', lanes)} {name}, {constant('i64', atom.extent, lanes)}")
        self.report(bad, lanes, chunk, OUT_OF_RANGE)
        return code.select(bad, constant("i64", 0, lanes), name, "i64", lanes)

    # ---- the status word ----

    def watch(self, value: SSAValue) -> None:
        """Let the status say so where an element is NaN."""
        chunk = self.frame.chunk if value.lanes else None
        kind = type_of(value.dtype, value.lanes)
        bad = self.frame.code.let(f"fcmp uno {kind} {value.name}, {value.name}")
        self.report(bad, value.lanes, chunk, NOT_FINITE)

    def report(self, bad: str, lanes: int, chunk: Chunk | None, byte: int) -> None:
        """Set a byte of the status where some element is bad; lanes of no element do not count."""
        frame, code = self.frame, self.frame.code
        if lanes:
            assert chunk is not None
            counted = code.let(f"and <{lanes} x i1> {bad}, {self.lane_mask(chunk)}")
            reduce_name = f"@llvm.vector.reduce.or.v{lanes}i1"
            frame.names.declared[f"declare i1 {reduce_name}(<{lanes} x i1>)"] = None
            bad = code.let(f"call i1 {reduce_name}(<{lanes} x i1> {counted})")
        outermost = frame.scopes[0]
        if byte not in self._reporting:
            place = outermost.hoist.let(f"getelementptr inbounds i8, ptr {self.status}, i64 {byte}")
            self._reporting[byte] = place, outermost.hoist.let("alloca i8, align 1")
        place, nowhere = self._reporting[byte]
        code.emit(f"store i8 1, ptr {code.let(f'select i1 {bad}, ptr {place}, ptr {nowhere}')}, align 1")


def _settle_expr(frame: Frame, expr: Expr) -> Expr:
    known = {v: Index(const=n) for v in expr.vars if isinstance(n := frame.bound.get(v), int)}
    return expr.substitute(known) if known else expr
