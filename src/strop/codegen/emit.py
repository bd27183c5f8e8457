"""A scheduled nest becomes one LLVM function.

The emitter follows the nest: serial loops become loops, unrolled and vector loops are expanded, the threads loop is
split over a parallel region. Scratch whose indices are all known when expanded lives in SSA values (phi nodes around
loops); other scratch is memory. No operator is known here, only loops, reads, expressions and writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from strop.codegen.access import Access
from strop.codegen.builder import CodeBlock, SSAValue, type_of
from strop.codegen.expressions import ExpressionEmitter, is_product
from strop.codegen.frame import Chunk, Expanded, Frame
from strop.codegen.lane_indices import LaneIndices
from strop.codegen.locations import Locations
from strop.codegen.registers import LONGEST_VECTOR, mode, register_scratch
from strop.codegen.thread_team import MEET, meeting
from strop.codegen.unroll_order import by_place, by_statement, multiplies_sums, summed_factors
from strop.core.runtime_table import SCRATCH, SCRATCH_STRIDE, STATUS, TABLE
from strop.loops.index import Var
from strop.loops.ir import Apply, Buffer, Load, Loop, Nest, Store, loads
from strop.loops.lowered import require_numbers
from strop.loops.passes.loop_modes import in_parts, step_parts
from strop.target.description import Target, narrowest

STACK_LIMIT = 8192  # bytes of scratch that may live on a thread's stack


@dataclass(frozen=True)
class Function:
    """One emitted nest: its text, the buffers it takes in order, and the scratch that each thread needs."""

    name: str
    text: str
    declarations: tuple[str, ...]
    buffers: tuple[Buffer, ...]
    scratch_bytes: int
    threaded: bool  # whether it is a job that threads share, which takes its arguments in a table
    together: bool  # whether they meet in it
    ranged: bool  # whether it takes the bounds of its strip loop too

    @property
    def kinds(self) -> list[str]:
        """Types of its arguments."""
        return ["ptr"] * (len(self.buffers) + 1) + ["i64"] * (2 * self.ranged)

    @property
    def declaration(self) -> str:
        if self.threaded:
            return f"declare void @{self.name}.job(ptr, i64, i64)"
        return f"declare void @{self.name}({', '.join(self.kinds)})"


def emit(nest: Nest, name: str, target: Target, locations: Locations | None = None) -> Function:
    """The LLVM function of a scheduled nest; with `locations`, its instructions say which statement they are of."""
    require_numbers(nest, nest.name)
    emitter = _Emitter(nest, name, target, locations)
    made = emitter.function()
    emitter.indices.evaluate = None  # breaks a reference cycle, so that no collection is needed to free it
    return made


class _Emitter:
    def __init__(self, nest: Nest, name: str, target: Target, locations: Locations | None) -> None:
        self.nest = nest
        self.locations = locations
        self.name = name
        self.target = target
        self.buffers = tuple(dict.fromkeys((*nest.reads, *nest.writes)))
        self.frame = Frame(target.has_fma)
        self.together = _taken_together(nest)
        self.registers = register_scratch(nest) - frozenset(nest.scratch if self.together else ())
        written = frozenset(store.target for store in nest.stores)
        self.indices = LaneIndices(self.frame, written, "%status")
        self.access = Access(self.indices, _looked_at(nest), written)
        self.access.hold_limit = target.vector_registers // 3
        self.access.has_masks = target.has_masks
        self.values = ExpressionEmitter(self.access, self.registers, target.byte_products)
        self.indices.evaluate = self.values.value
        if target.has_masks and not target.broadcasts_apart:
            self.access.apart = _summed_in_pairs(nest)
        self._places: dict[Nest, tuple[Store, Loop, list[Mapping[Var, int]]] | None] = {}
        self.scratch_bytes = 0
        self.lanes = target.lanes(vector_dtype(nest))
        self.threaded = self.together or _divided(nest)
        self.ranged = any(loop.mode == "strip" for loop in nest.all_loops)

    # ---- the function ----

    def function(self) -> Function:
        frame = self.frame
        self._locate(self.nest)
        head = frame.new_block()
        frame.open_scope()
        entry = frame.scopes[0].hoist
        table = [f"%table{i}" for i in range(TABLE)]
        for i, slot in enumerate(table):
            entry.emit(f"{slot} = getelementptr inbounds ptr, ptr %ctx, i64 {i}")
        entry.emit(f"%status = load ptr, ptr {table[STATUS]}, align 8")
        for i, buffer in enumerate(self.buffers):
            self.access.pointers[buffer] = f"%b{i}"
        guarded = any(load.guards for store in self.nest.stores for load in loads(store))
        if any(store.guards for store in self.nest.stores) or (self.ranged and guarded):
            entry.emit(f"%nowhere = alloca [{LONGEST_VECTOR} x i64], align 64")
        self._place_scratch(entry, table)
        self._nest(self.nest, self.nest.loops)
        frame.code.emit("ret void")
        self._locate(self.nest)
        where = self.locations.function if self.locations is not None else ""
        if self.threaded:
            head.lines.append(f"define void @{self.name}.job(ptr %pack, i64 %tid, i64 %team) #0{where} {{")
            head.lines.append("entry:")
            head.emit("%ctx = load ptr, ptr %pack, align 8")
            for i in range(len(self.buffers)):
                head.emit(f"%pack{i} = getelementptr inbounds ptr, ptr %pack, i64 {i + 1}")
                head.emit(f"%b{i} = load ptr, ptr %pack{i}, align 8")
        else:
            bounds = ["i64 %low", "i64 %high"] if self.ranged else []
            arguments = ", ".join(["ptr %ctx", *(f"ptr %b{i}" for i in range(len(self.buffers))), *bounds])
            head.lines.append(f"define void @{self.name}({arguments}) #0{where} {{")
            head.lines.append("entry:")
        lines = [line for block in frame.blocks for line in block.lines]
        text = "\n".join([*lines, "}"])
        declared = tuple(frame.names.declared) + (meeting(self.target) if self.together else ())
        about = self.scratch_bytes, self.threaded, self.together, self.ranged
        return Function(self.name, text, declared, self.buffers, *about)

    def _locate(self, item: Nest | Store) -> None:
        """What is emitted from now on belongs to a statement; what a loop does by itself, to the first one in it."""
        if self.locations is not None:
            store = item if isinstance(item, Store) else next(iter(item.stores), None)
            self.frame.names.location = self.locations.of(store.number if store is not None else None)

    def _bounds(self, loop: Loop) -> tuple[str, str]:
        """Where a loop starts and ends."""
        if loop.mode == "threads":
            return self._share(loop.extent)
        if loop.mode != "strip":
            return "0", str(loop.extent)
        code = self.frame.code
        for name in ("smax", "smin"):
            self.frame.names.declared[f"declare i64 @llvm.{name}.i64(i64, i64)"] = None
        counted = [code.let(f"sub i64 {end}, {loop.first}") for end in ("%low", "%high")]
        low, high = (code.let(f"call i64 @llvm.smax.i64(i64 {end}, i64 0)") for end in counted)
        return low, code.let(f"call i64 @llvm.smin.i64(i64 {high}, i64 {loop.extent})")

    def _share(self, extent: int) -> tuple[str, str]:
        """The part of a loop that this thread takes."""
        code = self.frame.code
        start = code.let(f"mul i64 %tid, {extent}")
        end = code.let(f"add i64 {start}, {extent}")
        return code.let(f"udiv i64 {start}, %team"), code.let(f"udiv i64 {end}, %team")

    def _place_scratch(self, entry: CodeBlock, table: list[str]) -> None:
        in_memory = [s for s in self.nest.all_scratch if s not in self.registers]
        shared = self.nest.scratch if self.together else ()
        for i, buffer in enumerate(in_memory):
            if buffer.bytes <= STACK_LIMIT and buffer not in shared:
                entry.emit(f"%stack{i} = alloca [{max(buffer.bytes, 1)} x i8], align 64")
                self.access.pointers[buffer] = f"%stack{i}"
                continue
            if not self.scratch_bytes:
                entry.emit(f"%scratch.base = load ptr, ptr {table[SCRATCH]}, align 8")
                if self.threaded:
                    entry.emit(f"%scratch.stride = load i64, ptr {table[SCRATCH_STRIDE]}, align 8")
                    entry.emit("%scratch.skip = mul i64 %tid, %scratch.stride")
                    entry.emit("%scratch = getelementptr inbounds i8, ptr %scratch.base, i64 %scratch.skip")
                else:
                    entry.emit("%scratch = getelementptr inbounds i8, ptr %scratch.base, i64 0")
            base = "%scratch.base" if buffer in shared else "%scratch"
            entry.emit(f"%room{i} = getelementptr inbounds i8, ptr {base}, i64 {self.scratch_bytes}")
            self.access.pointers[buffer] = f"%room{i}"
            self.scratch_bytes += (buffer.bytes + 63) // 64 * 64

    # ---- loops ----

    def _nest(self, nest: Nest, loops: tuple[Loop, ...]) -> None:
        if not loops:
            if self.together and nest is self.nest:
                for part in step_parts(nest):
                    self._together(part)
                return
            for item in nest.body:
                if isinstance(item, Store):
                    self._store(item)
                else:
                    self._nest(item, item.loops)
            if nest.scratch:
                self.values.forget(nest.scratch)
            return
        loop, rest = loops[0], loops[1:]
        frame = self.frame
        if not loop.extent:
            return
        if loops is nest.loops and (sorted_out := self._by_place(nest)) is not None:
            store, vector, order = sorted_out
            for at in order:
                frame.bound.update(at)
                self._take(vector, at[vector.var])
                self._store(store)
            frame.chunk = None
            return
        if loops == nest.loops and self.target.broadcasts_apart and (parts := by_statement(nest, self.registers)):
            for part in parts:
                self._nest(part, part.loops)
            return
        if mode(loop) == "unroll":
            frame.unrolled[loop.var] = Expanded(loop.extent, frame.scope.depth)
            for step in range(loop.extent):
                frame.bound[loop.var] = step
                self._nest(nest, rest)
            del frame.unrolled[loop.var]
            self.access.flush()
            return
        if loop.mode == "vector":
            self._vector_loop(nest, loop, rest)
            return
        self._loop(nest, loop, rest)

    def _by_place(self, nest: Nest) -> tuple[Store, Loop, list[Mapping[Var, int]]] | None:
        """What unrolled loops around come back to is looked at once."""
        if nest not in self._places:
            self._places[nest] = by_place(nest, self.registers, self.lanes)
        return self._places[nest]

    def _together(self, item: Store | Nest) -> None:
        """A part that is divided among the threads or done by the first; then they meet."""
        if isinstance(item, Nest) and _divided(item):
            self._nest(item, item.loops)
        else:
            self._by_first_thread(item)
        self.frame.code.emit(f"call void {MEET}(ptr %ctx, i64 %team)")

    def _by_first_thread(self, item: Store | Nest) -> None:
        frame = self.frame
        body, done = frame.names.label("first"), frame.names.label("done")
        first = frame.code.let("icmp eq i64 %tid, 0")
        frame.code.emit(f"br i1 {first}, label %{body}, label %{done}")
        frame.new_block().lines.append(f"{body}:")
        frame.label = body
        frame.open_scope()
        if isinstance(item, Store):
            self._store(item)
        else:
            self._nest(item, item.loops)
        frame.code.emit(f"br label %{done}")
        frame.close_scope()
        frame.code.lines.append(f"{done}:")
        frame.label = done

    def _vector_loop(self, nest: Nest, loop: Loop, rest: tuple[Loop, ...]) -> None:
        frame = self.frame
        if frame.chunk is not None:
            raise AssertionError(f"{nest.name}: vector loop {loop.name} inside vector loop {frame.chunk.var.name}")
        if not rest and loop.extent % self.lanes == 0 and _folds(nest, loop):
            self._fold(nest, loop)
            return
        for first in range(0, loop.extent, self.lanes):
            self._take(loop, first)
            self._nest(nest, rest)
        frame.chunk = None

    def _take(self, loop: Loop, first: int) -> None:
        """Bind the part of a vector loop that one instruction covers."""
        active = min(self.lanes, loop.extent - first)
        self.frame.bound[loop.var] = first
        self.frame.chunk = Chunk(loop.var, first, narrowest(active, self.lanes), active)

    def _fold(self, nest: Nest, loop: Loop) -> None:
        """Whole vectors that are combined into single elements: with each other first, then across their lanes."""
        for store in nest.stores:
            assert store.reduce is not None
            self._locate(store)
            found: list[SSAValue] = []
            for first in range(0, loop.extent, self.lanes):
                self._take(loop, first)
                found.append(self.indices.widen(self.values.value(store.value), self.lanes))
            while len(found) > 1:
                halves = zip(found[::2], found[1::2])
                found = [self.values.combine(store.reduce, *pair) for pair in halves] + found[len(found) // 2 * 2 :]
            current, value = self._current(store), self.values.across_lanes(store, found[0])
            self._write(store, self.values.combine(store.reduce, current, value))
        self.frame.chunk = None

    def _loop(self, nest: Nest, loop: Loop, rest: tuple[Loop, ...]) -> None:
        """A loop that stays a loop; register scratch that its body changes goes around in phi nodes."""
        frame = self.frame
        self._locate(nest)
        divided = loop.mode in ("threads", "strip")
        low, high = self._bounds(loop)
        body, done = frame.names.label("loop"), frame.names.label("done")
        before = frame.label
        if divided:
            some = frame.code.let(f"icmp ult i64 {low}, {high}")
            frame.code.emit(f"br i1 {some}, label %{body}, label %{done}")
        else:
            frame.code.emit(f"br label %{body}")
        changed = {s.target for s in nest.stores if s.target in self.registers}
        carried = [key for key in self.values.cells if key[0] in changed]
        known = frozenset(self.values.cells)
        head = frame.new_block()
        counter = frame.names.fresh("i")
        entering = {key: self.values.cells[key] for key in carried}
        for key in carried:
            old = self.values.cells[key]
            self.values.cells[key] = SSAValue(frame.names.fresh("p"), old.dtype, old.lanes)
        phis = {key: self.values.cells[key] for key in carried}
        frame.label = body
        frame.open_scope()
        frame.bound[loop.var] = counter
        frame.home[loop.var] = frame.scope.depth
        outside = frame.strip
        if loop.mode == "strip":
            frame.strip = frame.scope.depth
        self._nest(nest, rest)
        frame.strip = outside
        self._locate(nest)
        following = frame.code.let(f"add nuw nsw i64 {counter}, 1")
        more = frame.code.let(f"icmp ult i64 {following}, {high}")
        if loop.until:
            last_one = nest.stores[-1]
            stop = self.values.value(Load(last_one.target, last_one.index)).name
            more = frame.code.let(f"select i1 {stop}, i1 false, i1 {more}")
        last = frame.label
        frame.code.emit(f"br i1 {more}, label %{body}, label %{done}")
        head.lines.append(f"{body}:")
        head.emit(f"{counter} = phi i64 [ {low}, %{before} ], [ {following}, %{last} ]")
        for key in carried:
            start, now = entering[key], self.values.cells[key]
            kind = type_of(start.dtype, start.lanes)
            head.emit(f"{phis[key].name} = phi {kind} [ {start.name}, %{before} ], [ {now.name}, %{last} ]")
        self.values.cells = {key: cell for key, cell in self.values.cells.items() if key in known}
        frame.close_scope()
        frame.code.lines.append(f"{done}:")
        frame.label = done

    # ---- statements ----

    def _store(self, store: Store) -> None:
        self._locate(store)
        chunk = self.frame.chunk
        across = chunk is not None and chunk.var not in store.moving
        if across and store.reduce is None and chunk is not None and chunk.var in store.value.vars:
            raise AssertionError(f"{self.name}: `{store}` writes one element from every lane of {chunk.var.name}")
        if store.reduce is None:
            self._write(store, self.values.value(store.value))
            return
        if across and chunk is not None:
            value = self.values.lanes_combined(store, chunk)
            current = self._current(store)
            self._write(store, self.values.combine(store.reduce, current, value))
            return
        current = self._current(store)
        if store.reduce == "sum" and store.value.dtype in ("f32", "f64") and is_product(store.value):
            assert isinstance(store.value, Apply)
            a, b = map(self.values.value, store.value.args)
            self._write(store, self.values.fma(a, b, current))
            return
        if store.reduce == "sum" and isinstance(store.value, Apply) and store.value.op == "dot4":
            a, b = map(self.values.value, store.value.args)
            self._write(store, self.values.byte_products(a, b, current))
            return
        # the new value comes first: a maximum tests its first operand for NaN, and testing the one that was just loaded
        # from the destination would make LLVM use a masked store on x86
        self._write(store, self.values.combine(store.reduce, self.values.value(store.value), current))

    def _current(self, store: Store) -> SSAValue:
        if store.target in self.registers:
            return self.values.cells[self.values.cell(store.target, store.index)]
        return self.access.load(Load(store.target, store.index))

    def _write(self, store: Store, value: SSAValue) -> None:
        chunk = self.frame.chunk
        if store.target not in self.registers:
            self.access.store(store.target, store.offset, value, store.guards)
            return
        key = self.values.cell(store.target, store.index)
        if chunk is not None and chunk.var in store.moving:
            value = self.indices.widen(value, chunk.lanes)
            if chunk.partial and self._idle_lanes_matter(store, chunk) and key in self.values.cells:
                # the idle lanes are elements of their own: they keep what they hold
                mask, old = self.indices.lane_mask(chunk), self.values.cells[key].name
                value = SSAValue(
                    self.frame.code.select(mask, value.name, old, value.dtype, value.lanes), value.dtype, value.lanes
                )
        self.values.cells[key] = value

    def _idle_lanes_matter(self, store: Store, chunk: Chunk) -> bool:
        """Whether the lanes past the end of a partial chunk are elements of the target."""
        for part, extent in zip(store.index, store.target.shape):
            if chunk.var in part.vars:
                return self.frame.settle(part).const + chunk.active < extent
        return False


def _looked_at(nest: Nest) -> frozenset[Buffer]:
    """Buffers whose elements the nest itself may need again: what it writes to them cannot wait."""
    summed = (store.target for store in nest.stores if store.reduce)
    return frozenset((*nest.reads, *nest.all_scratch, *summed))


def _folds(nest: Nest, loop: Loop) -> bool:
    """Whether a nest does nothing but combine all elements along a loop, into places that do not move with it."""
    return all(
        isinstance(item, Store) and item.reduce and not item.guards and not any(loop.var in i.vars for i in item.index)
        for item in nest.body
    )


def _summed_in_pairs(nest: Nest) -> frozenset[Buffer]:
    """Scratch that products of pairs read, (a + b)·(c + d): their additions and multiply-adds leave no issue slots
    for separate loads."""
    factors = [factor for store in nest.stores if multiplies_sums(store) for factor in summed_factors(store)]
    terms = [term for factor in factors for term in factor.args if isinstance(term, Load)]
    return frozenset(term.buffer for term in terms if term.buffer.space == "scratch")


def _divided(nest: Nest) -> bool:
    """Whether threads share the iterations of a loop; one that runs once has nothing to share."""
    return any(loop.mode == "threads" and loop.extent > 1 for loop in nest.loops)


def _taken_together(nest: Nest) -> bool:
    """Whether threads take the parts of a nest together, each divided among them, and meet in between."""
    return in_parts(nest) and any(isinstance(item, Nest) and _divided(item) for item in step_parts(nest))


def vector_dtype(nest: Nest) -> str:
    """The element type that decides how many lanes a nest's vectors have; wider values take several registers."""
    found = {store.target.dtype for store in nest.stores}
    for store in nest.stores:
        found.add(store.value.dtype)
        found.update(load.dtype for load in loads(store))
    return "f64" if not found & {"f32", "i32"} and found & {"f64", "i64"} else "f32"
