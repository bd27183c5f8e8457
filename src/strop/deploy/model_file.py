"""The format of model files, and reading one from bytes that anybody may have written.

    0       80      header: magic, version, numbers of what follows, bytes, CRC-32 of all tables
    80      80 each tensors: inputs, then outputs
    …       32 each variants: code for one target
    …       96 each programs of variants: the one that runs, then one of direct algorithms where it may need that
    …       24 each weights of programs
    …       4 each  numbers: features of variants, slots and external functions of programs
    …               names, each ended by a zero byte
    page            images of code (`link.Image`), each at a multiple of 64 KB
    page            weights, as the programs read them, at multiples of 64 bytes
    …               about: JSON, for people

Numbers are little-endian. Images and weights are mapped and never copied. Equal contents are stored once. `c/strop.c`
reads the same tables. Reading checks every number before it is used and evaluates nothing; the CRC finds damage, not
intent. Running a file runs its code: that is a matter of trust.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from strop.core.dtypes import SIZES
from strop.core.problem import Problem
from strop.deploy.link import EXTERNALS, PAGE

MAGIC = b"\x8bSTRPM\r\n"
VERSION = 1
HEADER = struct.Struct("<8s8I4QII")
TENSOR = struct.Struct("<4I8q")
VARIANT = struct.Struct("<8I")
PROGRAM = struct.Struct("<8Q8I")
WEIGHT = struct.Struct("<QQII")
DTYPES = ("f32", "f64", "i32", "i64", "bool", "u8", "i8")
MACHINES = ("x86_64", "aarch64")
MOST_DIMENSIONS = 8
MOST_BYTES = 1 << 47  # no process has more memory than this
MOST_THREADS = 1024
MOST_ROWS = 1 << 22  # of any table
WEIGHT_ALIGNMENT = 64


@dataclass(frozen=True)
class TensorInfo:
    """An input or an output."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return prod(self.shape) * SIZES[self.dtype]

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class StoredWeight:
    """What a program finds in a slot: bytes of the file."""

    slot: int
    offset: int
    bytes: int
    crc: int


@dataclass(frozen=True)
class StoredProgram:
    """One program of a variant. Places in its image are bytes from its start."""

    image: int  # where it is in the file
    image_bytes: int
    image_crc: int
    table: int  # of external functions
    entry: int
    worker: int  # of the pool of threads, and what ends it; 0 where threads share nothing
    end_workers: int
    arena_bytes: int
    scratch_bytes: int  # for each thread
    slots: int
    inputs: tuple[int, ...]  # slots
    outputs: tuple[int, ...]
    weights: tuple[StoredWeight, ...]
    externals: tuple[str, ...]


@dataclass(frozen=True)
class Variant:
    """Code for one target."""

    target: str
    machine: str
    threads: int
    features: tuple[str, ...]  # without which it must not run
    programs: tuple[StoredProgram, ...]  # the second one computes again what the first found not to be finite


@dataclass(frozen=True)
class ModelTables:
    """Everything of a model file but code and weights."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    variants: tuple[Variant, ...]
    about: tuple[int, int]  # offset and bytes
    bytes: int  # of the file

    @property
    def tensors(self) -> tuple[TensorInfo, ...]:
        return (*self.inputs, *self.outputs)


def not_a_model(why: str) -> Problem:
    return Problem("STR507", f"not a model file that can be used: {why}", help="compile the model again")


# ---- writing ---------------------------------------------------------------------------------------------------------


def table_bytes(tables: ModelTables) -> int:
    """Bytes of everything before the images; they depend on the numbers of things, not on where they lie."""
    return len(pack(tables))


def pack(tables: ModelTables) -> bytes:
    """The tables as they stand at the start of a file."""
    names = bytearray()
    numbers: list[int] = []
    places: dict[str, int] = {}

    def name(text: str) -> int:
        if text not in places:
            places[text] = len(names)
            names.extend(text.encode() + b"\0")
        return places[text]

    def listed(values: list[int]) -> int:
        numbers.extend(values)
        return len(numbers) - len(values)

    tensors = b"".join(_pack_tensor(one, name(one.name)) for one in tables.tensors)
    variants, programs, weights = bytearray(), bytearray(), bytearray()
    for variant in tables.variants:
        machine = MACHINES.index(variant.machine)
        features = listed([name(feature) for feature in variant.features])
        at = len(programs) // PROGRAM.size
        lists = (len(variant.features), features, len(variant.programs), at)
        variants += VARIANT.pack(name(variant.target), machine, variant.threads, *lists, 0)
        for one in variant.programs:
            first = len(weights) // WEIGHT.size
            for weight in one.weights:
                weights += WEIGHT.pack(weight.offset, weight.bytes, weight.slot, weight.crc)
            slots = listed([*one.inputs, *one.outputs])
            externals = listed([EXTERNALS.index(external) for external in one.externals])
            programs += PROGRAM.pack(
                *(one.image, one.image_bytes, one.table, one.entry, one.worker, one.end_workers, one.arena_bytes),
                *(one.scratch_bytes, one.slots, slots, first, len(one.weights), externals, len(one.externals)),
                *(one.image_crc, 0),
            )
    body = tensors + variants + programs + weights + struct.pack(f"<{len(numbers)}I", *numbers) + names
    counts = (
        len(tables.inputs), len(tables.outputs), len(tables.variants), len(programs) // PROGRAM.size,
        len(weights) // WEIGHT.size, len(numbers), len(names),
    )  # fmt: skip
    sizes = (HEADER.size + len(body), tables.bytes, *tables.about)
    blank = HEADER.pack(MAGIC, VERSION, *counts, *sizes, 0, 0)
    return HEADER.pack(MAGIC, VERSION, *counts, *sizes, zlib.crc32(body, zlib.crc32(blank)), 0) + body


def _pack_tensor(one: TensorInfo, name: int) -> bytes:
    shape = (*one.shape, *(0,) * (MOST_DIMENSIONS - len(one.shape)))
    return TENSOR.pack(name, DTYPES.index(one.dtype), len(one.shape), 0, *shape)


# ---- reading ---------------------------------------------------------------------------------------------------------


def unpack(data: Any, size: int) -> ModelTables:
    """The tables of a file of so many bytes, of which `data` holds the start or all; a problem where they do not hold
    together."""
    return _TableReader(data, size).tables()


def read_about(tables: ModelTables, data: Any) -> dict[str, Any]:
    """What the file tells people of itself. It is not checked beyond being an object."""
    offset, count = tables.about
    try:
        found = json.loads(bytes(data[offset : offset + count]).decode())
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise not_a_model(f"its description cannot be read ({error})") from None
    return found if isinstance(found, dict) else {}


class _TableReader:
    def __init__(self, data: Any, size: int) -> None:
        if len(data) < HEADER.size:
            raise not_a_model("it is too short")
        magic, version, *counts, table, file, about, about_bytes, crc, zero = HEADER.unpack_from(data, 0)
        if magic != MAGIC:
            raise not_a_model("it does not begin as one")
        if version != VERSION:
            raise not_a_model(f"it has version {version} of the format, this is version {VERSION}")
        if file != size:
            raise not_a_model(f"it has {size} bytes, not {file}: it was cut short, or something was added")
        if max(counts[:-1]) > MOST_ROWS or zero:
            raise not_a_model("its header makes no sense")
        inputs, outputs, variants, programs, weights, numbers, names = counts
        sizes = (
            (inputs + outputs) * TENSOR.size, variants * VARIANT.size, programs * PROGRAM.size, weights * WEIGHT.size,
            4 * numbers, names,
        )  # fmt: skip
        if table != HEADER.size + sum(sizes) or table > len(data) or table > size:
            raise not_a_model("its tables do not have the size that its header says")
        if about + about_bytes > size:
            raise not_a_model("its description lies outside of the file")
        blank = bytes(data[: HEADER.size - 8]) + bytes(8)
        if zlib.crc32(bytes(data[HEADER.size : table]), zlib.crc32(blank)) != crc:
            raise not_a_model("its tables are damaged (checksum)")
        at = HEADER.size
        parts = []
        for length in sizes:
            parts.append(bytes(data[at : at + length]))
            at += length
        self.size, self.about = size, (about, about_bytes)
        self.inputs, self.names = inputs, parts[5]
        if self.names and self.names[-1]:
            raise not_a_model("its last name has no end")
        self.tensor_rows, self.variant_rows = list(TENSOR.iter_unpack(parts[0])), list(VARIANT.iter_unpack(parts[1]))
        self.program_rows, self.weight_rows = list(PROGRAM.iter_unpack(parts[2])), list(WEIGHT.iter_unpack(parts[3]))
        self.numbers = struct.unpack(f"<{numbers}I", parts[4])

    def tables(self) -> ModelTables:
        tensors = [self._tensor(row, i) for i, row in enumerate(self.tensor_rows)]
        inputs, outputs = tuple(tensors[: self.inputs]), tuple(tensors[self.inputs :])
        if not self.variant_rows:
            raise not_a_model("it holds code for no target")
        variants = tuple(self._variant(row, inputs, outputs) for row in self.variant_rows)
        return ModelTables(inputs, outputs, variants, self.about, self.size)

    def _name(self, at: int) -> str:
        if at >= len(self.names):
            raise not_a_model("a name lies outside of its names")
        try:
            return self.names[at : self.names.index(b"\0", at)].decode()
        except UnicodeDecodeError:
            raise not_a_model("a name is no text") from None

    def _tensor(self, row: tuple[int, ...], i: int) -> TensorInfo:
        name, dtype, rank, zero, *shape = row
        if dtype >= len(DTYPES) or rank > MOST_DIMENSIONS or zero:
            raise not_a_model(f"tensor {i} has no known type")
        if any(extent < 0 for extent in shape) or any(shape[rank:]):
            raise not_a_model(f"tensor {i} has a shape that none has")
        if prod(max(extent, 1) for extent in shape[:rank]) * SIZES[DTYPES[dtype]] > MOST_BYTES:
            raise not_a_model(f"tensor {i} is larger than any memory")
        return TensorInfo(self._name(name), DTYPES[dtype], tuple(shape[:rank]))

    def _variant(
        self, row: tuple[int, ...], inputs: tuple[TensorInfo, ...], outputs: tuple[TensorInfo, ...]
    ) -> Variant:
        name, machine, threads, features, first_feature, programs, first, zero = row
        if machine >= len(MACHINES) or not 1 <= threads <= MOST_THREADS or programs not in (1, 2) or zero:
            raise not_a_model("a variant makes no sense")
        if first + programs > len(self.program_rows):
            raise not_a_model("a variant has programs that the file does not have")
        rows = self.program_rows[first : first + programs]
        return Variant(
            self._name(name),
            MACHINES[machine],
            threads,
            tuple(map(self._name, self._listed(first_feature, features))),
            tuple(self._program(one, threads, len(inputs), len(outputs)) for one in rows),
        )

    def _listed(self, first: int, count: int) -> tuple[int, ...]:
        if first + count > len(self.numbers):
            raise not_a_model("a list lies outside of its numbers")
        return self.numbers[first : first + count]

    def _program(self, row: tuple[int, ...], threads: int, inputs: int, outputs: int) -> StoredProgram:
        image, image_bytes, table, entry, worker, end, arena, scratch, *rest = row
        slots, first_slot, first_weight, weights, first_external, externals, crc, zero = rest
        if first_weight + weights > len(self.weight_rows):
            raise not_a_model("a program has weights that the file does not have")
        numbers = self._listed(first_external, externals)
        if any(number >= len(EXTERNALS) for number in numbers):
            raise not_a_model("a program calls an unknown function")
        places = self._listed(first_slot, inputs + outputs)
        rows = self.weight_rows[first_weight : first_weight + weights]
        held = tuple(StoredWeight(slot, offset, size, crc) for offset, size, slot, crc in rows)
        for fault in self._faults_of_code(image, image_bytes, table, externals, (entry, worker, end)):
            raise not_a_model(fault)
        if max(arena, scratch * threads) > MOST_BYTES or not 0 < slots <= MOST_ROWS or zero:
            raise not_a_model("a program needs more memory than any machine has")
        used = [*places, *(weight.slot for weight in held)]
        if len(set(used)) != len(used) or any(slot >= slots for slot in used):
            raise not_a_model("a slot of a program is used twice, or does not exist")
        for weight in held:
            if weight.offset % WEIGHT_ALIGNMENT or weight.offset + weight.bytes > self.size:
                raise not_a_model(f"the weight of slot {weight.slot} lies outside of the file")
        return StoredProgram(
            *(image, image_bytes, crc, table, entry, worker, end, arena, scratch, slots),
            *(places[:inputs], places[inputs:], held, tuple(EXTERNALS[number] for number in numbers)),
        )

    def _faults_of_code(
        self, image: int, size: int, table: int, externals: int, places: tuple[int, ...]
    ) -> Iterator[str]:
        if image % PAGE or not size or image + size > self.size:
            yield "code lies outside of the file"
        if table % PAGE or not size <= table < size + PAGE or externals > len(EXTERNALS):
            yield "the table of external functions is at no possible place"
        if any(place >= size for place in places):
            yield "a function lies outside of its code"
