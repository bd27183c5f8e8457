"""Reading and writing elements: vector loads and stores of every stride, behind guards and masks.

How a vector loop moves an access decides the instruction: stride 0 is a scalar, 1 a vector load, another constant a
handful of scalar loads (or, where an unrolled loop walks over the neighbours, a square that is turned in registers), a
pattern within one vector a shuffle, the rest a gather.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strop.codegen import deinterleave
from strop.codegen.addresses import Addresses
from strop.codegen.builder import CONVERTED, MEMORY, SSAValue, constant, stored, type_of
from strop.codegen.frame import Chunk
from strop.codegen.lane_indices import LaneIndices
from strop.codegen.transpose import columns
from strop.core.dtypes import SIZES
from strop.core.runtime_table import OUT_OF_RANGE
from strop.loops.index import Index, Var
from strop.loops.ir import Buffer, Guard, Load

FEWEST_TURNED = 4  # consecutive elements: from this many on, a square is loaded by rows and transposed in registers


@dataclass(frozen=True)
class _Square:
    """Strided stores of unrolled loops that are held back: elements of several of them may be neighbours in memory."""

    buffer: Buffer
    moving: Index
    stride: int
    lanes: int
    active: int
    depth: int


class Access(Addresses):
    """Loads and stores of one function."""

    def __init__(self, indices: LaneIndices, read: frozenset[Buffer], written: frozenset[Buffer]) -> None:
        super().__init__(indices.frame)
        self.indices = indices
        self.read = read
        self.written = written
        self.waiting: dict[_Square, dict[int, str]] = {}
        self.hold_limit = 8
        self.has_masks = True  # registers for them, so that part of a vector is stored as fast as all of it

    # ---- loads ----

    def load(self, load: Load) -> SSAValue:
        frame = self.frame
        chunk = frame.chunk
        if not load.buffer.size:
            return self._read_nothing(load)
        load = self.indices.bind_in_load(load)
        stride = self._stride(load.offset, chunk)
        offset = frame.settle(load.offset)
        guards = self.indices.open_guards(load.guards)
        moving_guards = chunk is not None and any(chunk.var in g.index.vars for g in load.guards)
        if chunk is None or (stride == 0 and not moving_guards):
            return self._scalar_load(load, offset, guards)
        lanes = chunk.lanes
        if stride == 1 and not load.guards:
            if load.prefetch is not None:
                self._prefetch(load.buffer, frame.settle(load.prefetch))
            return self._vector_load(load.buffer, offset, chunk)
        mask = self.indices.mask(load.guards, chunk)
        other = stored(load.dtype, load.other, lanes)
        if stride == 1:
            pointer = self.pointer(load.buffer, offset)
            return SSAValue(self._masked_load(load.buffer, pointer, mask, lanes, other), load.dtype, lanes)
        if stride is not None and not load.guards:
            return (
                self._interleaved_load(load.buffer, offset, stride, chunk)
                or self._turned_load(load, stride, chunk)
                or self._strided_load(load.buffer, offset, stride, chunk)
            )
        if stride is not None and (turned := self._turned_load(load, stride, chunk)) is not None:
            return turned
        if not load.guards and (found := self._shuffled_load(load.buffer, load.offset, chunk)) is not None:
            return found
        return SSAValue(self._gather(load.buffer, load.offset, mask, chunk, other), load.dtype, lanes)

    def _read_nothing(self, load: Load) -> SSAValue:
        """A read of an empty buffer: past its edge, or at a data-dependent index, which then is out of range."""
        if not load.guards:
            self.indices.report("true", 0, None, OUT_OF_RANGE)
        return SSAValue(constant(load.dtype, load.other), load.dtype)

    def _reusable(self, buffer: Buffer) -> bool:
        return self.origin(buffer) not in self.written

    def _scalar_load(self, load: Load, offset: Index, guards: tuple[Guard, ...]) -> SSAValue:
        frame, buffer = self.frame, self.own(load.buffer)
        key = ("load", buffer, offset, guards, load.other)
        if self._reusable(buffer):
            found = frame.find(key)
            if found is not None:
                return SSAValue(found, buffer.dtype)
        if guards:
            held = self.indices.conjunction(guards)
            pointer = self.pointer(buffer, offset)
            start = "%nowhere" if frame.strip else self.pointers[buffer]
            safe = frame.code.let(f"select i1 {held}, ptr {pointer}, ptr {start}")
            raw = self._read(buffer, safe, 0)
            name = frame.code.select(held, raw, constant(buffer.dtype, load.other), buffer.dtype, 0)
            if self._reusable(buffer):
                frame.keep(key, name)
            return SSAValue(name, buffer.dtype)
        return SSAValue(self._placed(buffer, offset, key, 0), buffer.dtype)

    def _vector_load(self, buffer: Buffer, offset: Index, chunk: Chunk) -> SSAValue:
        if chunk.partial and not self._whole_vector_fits(buffer, offset, chunk.lanes):
            mask = self.indices.lane_mask(chunk)
            pointer = self.pointer(buffer, offset)
            zeros = stored(buffer.dtype, 0, chunk.lanes)
            return SSAValue(self._masked_load(buffer, pointer, mask, chunk.lanes, zeros), buffer.dtype, chunk.lanes)
        key = ("vload", buffer, offset, chunk.lanes)
        if self._reusable(buffer):
            found = self.frame.find(key)
            if found is not None:
                return SSAValue(found, buffer.dtype, chunk.lanes)
        name = self._placed(buffer, offset, key, chunk.lanes)
        inner = buffer.space == "scratch" or (buffer.space == "arena" and self.has_masks)
        if chunk.partial and inner and buffer.dtype in ("f32", "f64"):
            # what nothing has written may be denormal: then an operation takes a hundred cycles on a core of Intel
            zeros = stored(buffer.dtype, 0, chunk.lanes)
            name = self.frame.code.select(self.indices.lane_mask(chunk), name, zeros, buffer.dtype, chunk.lanes)
        return SSAValue(name, buffer.dtype, chunk.lanes)

    def _placed(self, buffer: Buffer, offset: Index, key: tuple[object, ...], lanes: int) -> str:
        """Load here, or once in an outer scope when nothing inside changes it and registers allow."""
        frame = self.frame
        if not self._reusable(buffer):
            return self._read(buffer, self.pointer(buffer, offset), lanes)
        depth = frame.depth_of(offset)
        if buffer.space == "arena":
            depth = max(depth, frame.strip)
        if depth < frame.scope.depth:
            if frame.scopes[depth].held >= self.hold_limit:
                depth = frame.scope.depth
            else:
                frame.scopes[depth].held += 1
        with frame.at(depth):
            name = self._read(buffer, self.pointer(buffer, offset), lanes)
            frame.keep(key, name)
        return name

    def _read(self, buffer: Buffer, pointer: str, lanes: int) -> str:
        code = self.frame.code
        kind = f"<{lanes} x {MEMORY[buffer.dtype]}>" if lanes else MEMORY[buffer.dtype]
        raw = code.let(f"load {kind}, ptr {pointer}, align {SIZES[buffer.dtype]}")
        return self._from_memory(raw, buffer.dtype, lanes)

    def _from_memory(self, raw: str, dtype: str, lanes: int) -> str:
        if dtype not in CONVERTED:
            return raw
        kind = f"<{lanes} x i8>" if lanes else "i8"
        if dtype == "bool":
            return self.frame.code.let(f"icmp ne {kind} {raw}, {'zeroinitializer' if lanes else '0'}")
        return self.frame.code.let(f"{CONVERTED[dtype][0]} {kind} {raw} to {type_of(dtype, lanes)}")

    def _prefetch(self, buffer: Buffer, offset: Index) -> None:
        """Ask for a line; an address past the end does no harm."""
        frame = self.frame
        key = ("prefetch", buffer, offset)
        if frame.find(key) is None:
            frame.keep(key, "asked")
            pointer = self.pointer(buffer, offset)
            frame.names.declared["declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"] = None
            frame.code.emit(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 3, i32 1)")

    def _strided_load(self, buffer: Buffer, offset: Index, stride: int, chunk: Chunk) -> SSAValue:
        code = self.frame.code
        element, kind = MEMORY[buffer.dtype], f"<{chunk.lanes} x {MEMORY[buffer.dtype]}>"
        vector = "zeroinitializer"
        for lane in range(chunk.active):
            pointer = self.pointer(buffer, offset + lane * stride)
            one = code.let(f"load {element}, ptr {pointer}, align {SIZES[buffer.dtype]}")
            vector = code.let(f"insertelement {kind} {vector}, {element} {one}, i64 {lane}")
        return SSAValue(self._from_memory(vector, buffer.dtype, chunk.lanes), buffer.dtype, chunk.lanes)

    def _interleaved_load(self, buffer: Buffer, offset: Index, stride: int, chunk: Chunk) -> SSAValue | None:
        """One channel of pixels whose channels lie side by side: bytes are read whole and picked from each vector."""
        frame, lanes = self.frame, chunk.lanes
        if buffer.dtype not in CONVERTED or not 1 < stride <= deinterleave.MOST_CHANNELS or chunk.partial:
            return None
        key = ("interleaved", buffer, offset, stride, lanes)
        found = frame.find(key) if self._reusable(buffer) else None
        if found is None:
            pointers = [self.pointer(buffer, offset + start) for start in deinterleave.starts(stride, lanes)]
            vectors = [frame.code.let(f"load <{lanes} x i8>, ptr {pointer}, align 1") for pointer in pointers]
            found = self._from_memory(deinterleave.deinterleaved(frame.code, vectors, lanes), buffer.dtype, lanes)
            frame.keep(key, found)
        return SSAValue(found, buffer.dtype, lanes)

    def _turned_load(self, load: Load, stride: int, chunk: Chunk) -> SSAValue | None:
        """Strided lanes whose neighbours an unrolled loop reads next: one column of a square that is transposed in
        registers."""
        frame, buffer, lanes = self.frame, load.buffer, chunk.lanes
        across = next((v for v in frame.unrolled if load.offset.coefficient(v) == 1), None)
        if across is None or buffer.dtype == "bool" or not self._reusable(buffer):
            return None
        if load.guards and (frame.strip or buffer.size < lanes or any(across in g.index.vars for g in load.guards)):
            return None
        position = frame.bound[across]
        assert isinstance(position, int)
        column = position % lanes
        count = min(lanes, frame.unrolled[across].extent - position + column)
        if count < FEWEST_TURNED:
            return None
        corner = frame.settle(load.offset) - column
        key = ("turned", buffer, corner, stride, chunk.active, lanes, load.guards, load.other)
        if frame.find((*key, column)) is None:
            row = Chunk(chunk.var, 0, lanes, count)
            places = [corner + i * stride for i in range(chunk.active)]
            if load.guards:
                turned = self._guarded_square(load, places, row, chunk)
            else:
                turned = self._square(buffer, [self._vector_load(buffer, place, row).name for place in places], lanes)
            for i, name in enumerate(turned):
                frame.keep((*key, i), name)
        found = frame.find((*key, column))
        assert found is not None
        return SSAValue(found, buffer.dtype, lanes)

    def _square(self, buffer: Buffer, rows: list[str], lanes: int) -> list[str]:
        return columns(self.frame.code, [*rows, *("poison" for _ in range(lanes - len(rows)))], buffer.dtype)

    def _guarded_square(self, load: Load, places: list[Index], row: Chunk, chunk: Chunk) -> list[str]:
        """The columns of a square some of whose rows are not there: for those, others are read and left out."""
        code, buffer, lanes = self.frame.code, load.buffer, chunk.lanes
        held = self.indices.mask(load.guards, chunk)
        part = self.indices.lane_mask(row)
        nothing = stored(buffer.dtype, 0, lanes)
        rows = []
        for lane, place in enumerate(places):
            there = code.let(f"extractelement <{lanes} x i1> {held}, i64 {lane}")
            start = self.pointers[self.own(buffer)]
            pointer = code.let(f"select i1 {there}, ptr {self.pointer(buffer, place)}, ptr {start}")
            whole = row.active == lanes
            rows.append(
                self._read(buffer, pointer, lanes)
                if whole
                else self._masked_load(buffer, pointer, part, lanes, nothing)
            )
        other = constant(buffer.dtype, load.other, lanes)
        return [code.select(held, one, other, buffer.dtype, lanes) for one in self._square(buffer, rows, lanes)]

    def _shuffled_load(self, buffer: Buffer, offset: Index, chunk: Chunk) -> SSAValue | None:
        """Lanes that read here and there within one vector, always in the same pattern: load it whole and shuffle."""
        frame, lanes = self.frame, chunk.lanes
        steps = None if offset.is_data else offset.steps(chunk.var, chunk.first, chunk.active)
        if steps is None or min(steps) < 0 or max(steps) >= lanes or buffer.dtype == "bool":
            return None
        start = frame.settle(offset)
        # from a multiple of what is left over, so that neighbours share a line and the load does not cross one
        back = start.const % (lanes - max(steps))
        if start.bounds[0] < back:
            back = 0
        steps = tuple(step + back for step in steps)
        whole = self._vector_load(buffer, start - back, chunk._replace(active=max(steps) + 1))
        picks = (*steps, *(0 for _ in range(lanes - chunk.active)))
        mixed = frame.code.shuffle(type_of(buffer.dtype, lanes), whole.name, "poison", picks)
        return SSAValue(mixed, buffer.dtype, lanes)

    def _masked_load(self, buffer: Buffer, pointer: str, mask: str, lanes: int, other: str) -> str:
        frame, element = self.frame, MEMORY[buffer.dtype]
        kind, mask_kind = f"<{lanes} x {element}>", type_of("bool", lanes)
        name = f"@llvm.masked.load.v{lanes}{_suffix(buffer.dtype)}.p0"
        frame.names.declared[f"declare {kind} {name}(ptr, i32, {mask_kind}, {kind})"] = None
        raw = frame.code.let(
            f"call {kind} {name}(ptr {pointer}, i32 {SIZES[buffer.dtype]}, {mask_kind} {mask}, {kind} {other})"
        )
        return self._from_memory(raw, buffer.dtype, lanes)

    def _gather(self, buffer: Buffer, offset: Index, mask: str, chunk: Chunk, other: str) -> str:
        frame, lanes, element = self.frame, chunk.lanes, MEMORY[buffer.dtype]
        kind, mask_kind = f"<{lanes} x {element}>", type_of("bool", lanes)
        offsets = self.indices.lanes_of(offset)
        pointers = frame.code.let(f"getelementptr {element}, ptr {self.pointers[buffer]}, <{lanes} x i64> {offsets}")
        name = f"@llvm.masked.gather.v{lanes}{_suffix(buffer.dtype)}.v{lanes}p0"
        frame.names.declared[f"declare {kind} {name}(<{lanes} x ptr>, i32, {mask_kind}, {kind})"] = None
        raw = frame.code.let(
            f"call {kind} {name}(<{lanes} x ptr> {pointers}, i32 {SIZES[buffer.dtype]}, "
            f"{mask_kind} {mask}, {kind} {other})"
        )
        return self._from_memory(raw, buffer.dtype, lanes)

    # ---- stores ----

    def store(self, buffer: Buffer, offset_expr: Index, value: SSAValue, guards: tuple[Guard, ...] = ()) -> None:
        """One element or one per lane. Where a guard fails for all, what is stored goes to a slot that nobody reads."""
        frame, chunk = self.frame, self.frame.chunk
        offset_expr = self.indices.bind_in_index(offset_expr)
        stride = self._stride(offset_expr, chunk)
        offset = frame.settle(offset_expr)
        element, align = MEMORY[buffer.dtype], SIZES[buffer.dtype]
        if chunk is None or stride == 0:
            stored = self._to_memory(value)
            pointer = self.pointer(buffer, offset)
            if held := self.indices.open_guards(guards):
                pointer = self._or_nowhere(pointer, held)
            frame.code.emit(f"store {element} {stored}, ptr {pointer}, align {align}")
            return
        lanes = chunk.lanes
        value = self.indices.widen(value, lanes)
        stored = self._to_memory(value)
        kind = f"<{lanes} x {element}>"
        if stride == 1:
            pointer = self.pointer(buffer, offset)
            always = self.indices.always_holds
            moving = tuple(guard for guard in guards if chunk.var in guard.index.vars and not always(guard))
            if alike := self.indices.open_guards(tuple(guard for guard in guards if chunk.var not in guard.index.vars)):
                pointer = self._or_nowhere(pointer, alike)
            mask = self.indices.mask(moving, chunk) if moving else None
            self._vector_store(buffer, pointer, stored, chunk, mask)
            return
        if stride is not None and not self.indices.open_guards(guards) and self._waits(buffer, offset, stride, stored):
            return
        offsets = None if stride is not None else self.indices.lanes_of(offset_expr)
        mask = self.indices.mask(guards, chunk) if self.indices.open_guards(guards) else None
        for lane in range(chunk.active):
            one = frame.code.let(f"extractelement {kind} {stored}, i64 {lane}")
            if stride is not None:
                pointer = self.pointer(buffer, offset + lane * stride)
            else:
                where = frame.code.let(f"extractelement <{lanes} x i64> {offsets}, i64 {lane}")
                pointer = frame.code.let(f"getelementptr {element}, ptr {self.pointers[buffer]}, i64 {where}")
            if mask is not None:
                held_lane = frame.code.let(f"extractelement <{lanes} x i1> {mask}, i64 {lane}")
                pointer = frame.code.let(f"select i1 {held_lane}, ptr {pointer}, ptr %nowhere")
            frame.code.emit(f"store {element} {one}, ptr {pointer}, align {align}")

    def _or_nowhere(self, pointer: str, guards: tuple[Guard, ...]) -> str:
        """An address, or that of a slot that nobody reads: masks cost AVX2 cores of AMD many times as much."""
        return self.frame.code.let(f"select i1 {self.indices.conjunction(guards)}, ptr {pointer}, ptr %nowhere")

    def _waits(self, buffer: Buffer, offset: Index, stride: int, stored: str) -> bool:
        """Hold back a strided store until the unrolled loops end: by then its neighbours may be known (`flush`)."""
        frame, chunk = self.frame, self.frame.chunk
        assert chunk is not None
        inside = any(one.depth == frame.scope.depth and one.extent > 1 for one in frame.unrolled.values())
        if not inside or buffer in self.read or (buffer.dtype in CONVERTED and stride > deinterleave.MOST_CHANNELS):
            return False
        square = _Square(buffer, Index(offset.terms), stride, chunk.lanes, chunk.active, frame.scope.depth)
        self.waiting.setdefault(square, {})[offset.const] = stored
        return True

    def flush(self) -> None:
        """Write what waited for the unrolled loops of this scope to end: neighbours together."""
        depth = self.frame.scope.depth
        if any(one.depth == depth for one in self.frame.unrolled.values()):
            return
        for square in [square for square in self.waiting if square.depth == depth]:
            held = self.waiting.pop(square)
            places = sorted(held)
            while places:
                count = next((i for i in range(1, len(places)) if places[i] != places[0] + i), len(places))
                count = min(count, square.lanes)
                self._write_run(square, places[0], [held[place] for place in places[:count]])
                places = places[count:]

    def _write_run(self, square: _Square, first: int, vectors: Sequence[str]) -> None:
        """Vectors whose elements are neighbours of each other: turned, or one by one where they are few."""
        buffer, lanes, code = square.buffer, square.lanes, self.frame.code
        element, align = MEMORY[buffer.dtype], SIZES[buffer.dtype]
        start = Index(square.moving.terms, first)
        few = square.stride <= deinterleave.MOST_CHANNELS
        if few and len(vectors) == square.stride and square.active == lanes:
            for part, mixed in enumerate(deinterleave.interleaved(code, vectors, f"<{lanes} x {element}>", lanes)):
                pointer = self.pointer(buffer, start + part * lanes)
                code.emit(f"store <{lanes} x {element}> {mixed}, ptr {pointer}, align {align}")
            return
        turned = None
        row = Chunk(Var("", lanes), 0, lanes, len(vectors))
        if len(vectors) >= FEWEST_TURNED and buffer.dtype not in CONVERTED:
            turned = columns(code, [*vectors, *("poison" for _ in range(lanes - len(vectors)))], buffer.dtype)
        for lane in range(square.active):
            offset = start + lane * square.stride
            if turned is not None:
                self._vector_store(buffer, self.pointer(buffer, offset), turned[lane], row, None)
                continue
            for place, vector in enumerate(vectors):
                one = code.let(f"extractelement <{lanes} x {element}> {vector}, i64 {lane}")
                code.emit(f"store {element} {one}, ptr {self.pointer(buffer, offset + place)}, align {align}")

    def _vector_store(self, buffer: Buffer, pointer: str, stored: str, chunk: Chunk, mask: str | None) -> None:
        """The active lanes of a vector, or those of a mask."""
        frame, lanes, align = self.frame, chunk.lanes, SIZES[buffer.dtype]
        kind, mask_kind = f"<{lanes} x {MEMORY[buffer.dtype]}>", type_of("bool", lanes)
        if mask is None and not chunk.partial:
            frame.code.emit(f"store {kind} {stored}, ptr {pointer}, align {align}")
            return
        if mask is None and not self.has_masks:
            self._store_pieces(buffer, pointer, stored, chunk)
            return
        mask = mask or self.indices.lane_mask(chunk)
        name = f"@llvm.masked.store.v{lanes}{_suffix(buffer.dtype)}.p0"
        frame.names.declared[f"declare void {name}({kind}, ptr, i32, {mask_kind})"] = None
        frame.code.emit(f"call void {name}({kind} {stored}, ptr {pointer}, i32 {align}, {mask_kind} {mask})")

    def _store_pieces(self, buffer: Buffer, pointer: str, stored: str, chunk: Chunk) -> None:
        """The first lanes of a vector, four, two and one at a time: a masked store without mask registers takes a core
        as long as a dozen of these."""
        code, element, align = self.frame.code, MEMORY[buffer.dtype], SIZES[buffer.dtype]
        kind, first = f"<{chunk.lanes} x {element}>", 0
        while first < chunk.active:
            size = 1 << (chunk.active - first).bit_length() - 1
            if size == 1:
                kept, part = element, code.let(f"extractelement {kind} {stored}, i64 {first}")
            else:
                kept, part = f"<{size} x {element}>", code.shuffle(kind, stored, "poison", range(first, first + size))
            place = code.let(f"getelementptr {element}, ptr {pointer}, i64 {first}") if first else pointer
            code.emit(f"store {kept} {part}, ptr {place}, align {align}")
            first += size

    def _to_memory(self, value: SSAValue) -> str:
        if value.dtype not in CONVERTED:
            return value.name
        kind = f"<{value.lanes} x i8>" if value.lanes else "i8"
        narrowed = CONVERTED[value.dtype][1]
        return self.frame.code.let(f"{narrowed} {type_of(value.dtype, value.lanes)} {value.name} to {kind}")

    def _whole_vector_fits(self, buffer: Buffer, offset: Index, lanes: int) -> bool:
        """Whether reading all lanes stays inside the buffer wherever the loops are."""
        return offset.bounds[1] + lanes <= buffer.size

    def _stride(self, offset: Index, chunk: Chunk | None) -> int | None:
        return 0 if chunk is None else offset.coefficient(chunk.var)


def _suffix(dtype: str) -> str:
    return "i8" if dtype in CONVERTED else dtype
