"""An artifact as bytes, and back from bytes that anybody may have written.

    offset  bytes
    0       8       magic: not text, and damaged by whatever rewrites ends of lines
    8       4       version of the format
    12      8       bytes of the header
    20      …       header: JSON (UTF-8, sorted keys, no spaces), everything but the blobs
    …       …       blobs, one after the other: object code, then the values of constants
    end-32  32      SHA-256 of all before

Numbers are little-endian. Each artifact has one form: the same program gives the same bytes. In the header `blobs`
lists the lengths of the blobs, and `objects` says how many of them are code. An attribute of a library step is `null`,
a truth value, an integer, a string, an array (a tuple), `{"float": "0.1"}` or `{"complex": ["0.0", "1.0"]}`.

Reading evaluates nothing and imports nothing that the bytes name. It takes memory in proportion to what is there,
whatever numbers claim. The digest finds damage; against intent there are the checks, here of every value's kind and in
`Artifact.verify` of its range. Whoever runs an artifact runs its code, so only that is a matter of trust.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from strop.core.problem import Problem
from strop.driver.artifact import (
    About,
    Argument,
    Artifact,
    ConstantValues,
    InArena,
    InPacked,
    LibraryStep,
    NativeStep,
    Output,
    PackedTensor,
    ParameterSection,
    Slot,
    unusable,
)
from strop.graph.ir import Type

MAGIC = b"\x8bSTROP\r\n"
VERSION = 3
FORMAT = "strop program"
MOST_HEADER = 16 << 20  # bytes: parsed, they take some 30 times as much; a program of 1,000 library steps has 0.4 MB
MOST_DEPTH = 16  # of tuples in attributes

_START = struct.Struct("<8sIQ")
_DIGEST = hashlib.sha256().digest_size
_INTEGERS = range(-(2**63), 2**64)  # of attributes
_NUMBERS = ("slots", "arena_bytes", "temporary_bytes", "scratch_bytes", "threads")
_ENTRIES = (
    "format", "about", "blobs", "objects", "steps", "inputs", "params", "direct", "outputs", "placed", "packed",
    "sections", *_NUMBERS,
)  # fmt: skip
_ABOUT = tuple(one.name for one in fields(About))
T = TypeVar("T")


class _Malformed(ValueError):
    """A value of another kind than its place in the header asks for."""


# ---- writing ---------------------------------------------------------------------------------------------------------


def to_bytes(artifact: Artifact) -> bytes:
    """The one form of an artifact; a Problem where some attribute of a library step has none."""
    blobs: dict[bytes, int] = {}  # constants by their values, with their positions behind the code
    try:
        steps = [_step(step, blobs) for step in artifact.steps]
        header = _canonical({
            "format": FORMAT,
            "about": {name: getattr(artifact.about, name) for name in _ABOUT},
            "blobs": [len(blob) for blob in (*artifact.code, *blobs)],
            "objects": len(artifact.code),
            "steps": steps,
            "inputs": artifact.inputs,
            "params": artifact.params,
            "direct": artifact.direct,
            "outputs": [[one.slot, *_type(one.type), one.by_library] for one in artifact.outputs],
            "placed": artifact.placed,
            "packed": [[one.slot, one.bytes] for one in artifact.packed],
            "sections": [[one.key, one.reads, one.makes] for one in artifact.sections],
            **{name: getattr(artifact, name) for name in _NUMBERS},
        })  # fmt: skip
    except (TypeError, ValueError) as error:
        raise _unwritable(str(error)) from error
    if len(header) > MOST_HEADER:
        raise _unwritable(f"its header would have {len(header)} bytes")
    digest = hashlib.sha256()
    parts = (_START.pack(MAGIC, VERSION, len(header)), header, *artifact.code, *blobs)
    for part in parts:
        digest.update(part)
    return b"".join((*parts, digest.digest()))


def _unwritable(why: str) -> Problem:
    return Problem(
        "STR504",
        f"the compiled program has no form as bytes: {why}",
        help="attributes of operators are numbers, strings, tuples and None",
    )


def _canonical(header: Mapping[str, Any]) -> bytes:
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def _type(type: Type) -> tuple[str, Sequence[int]]:
    return type.dtype, type.shape


def _step(step: NativeStep | LibraryStep, blobs: dict[bytes, int]) -> dict[str, Any]:
    if isinstance(step, NativeStep):
        return {"native": step.entry}
    return {
        "library": step.op,
        "attrs": {name: _attribute(value, name) for name, value in step.attrs.items()},
        "types": [_type(one) for one in step.types],
        "inputs": [[*_type(one.type), *_place(one.place, blobs)] for one in step.inputs],
        "outputs": step.outputs,
        "views": step.views,
        "releases": step.releases,
    }


def _place(place: Slot | InArena | InPacked | ConstantValues, blobs: dict[bytes, int]) -> tuple[str, int]:
    if isinstance(place, Slot):
        return "slot", place.slot
    if isinstance(place, InArena):
        return "arena", place.offset
    if isinstance(place, InPacked):
        return "packed", place.slot
    return "constant", blobs.setdefault(place.data, len(blobs))


def _attribute(value: Any, name: str, depth: int = 0) -> Any:
    if value is None or isinstance(value, bool | str) or (isinstance(value, int) and int(value) in _INTEGERS):
        return value
    if isinstance(value, float):
        return {"float": repr(float(value))}
    if isinstance(value, complex):
        return {"complex": [repr(value.real), repr(value.imag)]}
    if isinstance(value, tuple) and depth < MOST_DEPTH:
        return [_attribute(one, name, depth + 1) for one in value]
    raise _Malformed(f"attribute `{name}` of a library step holds {value!r}, a {type(value).__name__}")


# ---- reading ---------------------------------------------------------------------------------------------------------


def from_bytes(data: bytes) -> Artifact:
    """The artifact that these bytes hold; a Problem that says what is wrong with them where they hold none."""
    header, body = _divided(data)
    try:
        artifact = _artifact(_parsed(header), body)
    except _Malformed as error:
        raise unusable(str(error)) from None
    artifact.verify()
    return artifact


def _divided(data: bytes) -> tuple[bytes, memoryview]:
    """The header's text and what comes after it, which are as they were written."""
    if data[: len(MAGIC)] != MAGIC:
        raise unusable("it does not begin as one")
    if len(data) < _START.size + _DIGEST:
        raise unusable(f"it ends after {len(data)} bytes")
    _, version, length = _START.unpack_from(data)
    if version != VERSION:
        raise unusable(f"it is in format {version}; this version of Strop reads format {VERSION}")
    view = memoryview(data)
    if hashlib.sha256(view[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise unusable("it is damaged: its bytes do not match their digest")
    body = view[_START.size : -_DIGEST]
    if length > min(len(body), MOST_HEADER):
        raise unusable(f"its header claims {length} bytes of {len(body)}; at most {MOST_HEADER} are read")
    return bytes(body[:length]), body[length:]


def _parsed(header: bytes) -> dict[str, Any]:
    try:
        found = json.loads(header.decode("utf-8"), parse_float=_refused, parse_constant=_refused)
        canonical = _canonical(found)
    except (ValueError, RecursionError) as error:
        raise _Malformed(f"its header is not the JSON that is expected ({error})") from None
    if canonical != header:
        raise _Malformed("its header is not in the form that is written")
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _Malformed(f"its header does not say that it is a `{FORMAT}`")
    return found


def _refused(text: str) -> None:
    raise _Malformed(f"{text[:20]} is not an integer")


def _artifact(header: dict[str, Any], body: memoryview) -> Artifact:
    _, about, lengths, objects, steps, inputs, params, direct, outputs, placed, packed, sections, *numbers = _entries(
        header, "its header", _ENTRIES
    )
    blobs = _blobs(_items(lengths, "blobs", _count), body)
    if _count(objects, "objects") > len(blobs):
        raise _Malformed(f"it has {len(blobs)} blobs, not {objects} objects")
    code, constants = blobs[:objects], tuple(map(ConstantValues, blobs[objects:]))
    return Artifact(
        code=code,
        steps=_items(steps, "steps", lambda value, where: _read_step(value, where, constants)),
        inputs=_items(inputs, "inputs", _count),
        params=_items(params, "params", _count),
        direct=_items(direct, "direct", _count),
        outputs=_items(outputs, "outputs", _read_output),
        placed=_items(placed, "placed", _read_placed),
        packed=_items(packed, "packed", _read_packed),
        sections=_items(sections, "sections", _read_section),
        about=_read_about(about),
        **{name: _count(value, name) for name, value in zip(_NUMBERS, numbers)},
    )


def _blobs(lengths: Sequence[int], body: memoryview) -> tuple[bytes, ...]:
    if sum(lengths) != len(body):
        raise _Malformed(f"its blobs claim {sum(lengths)} bytes; {len(body)} are there")
    return tuple(_cut(lengths, body))


def _cut(lengths: Sequence[int], body: memoryview) -> Iterator[bytes]:
    start = 0
    for length in lengths:
        yield bytes(body[start : start + length])
        start += length


def _read_step(value: Any, where: str, constants: Sequence[ConstantValues]) -> NativeStep | LibraryStep:
    if isinstance(value, dict) and "native" in value:
        (entry,) = _entries(value, where, ("native",))
        return NativeStep(_text(entry, where))
    names = ("library", "attrs", "types", "inputs", "outputs", "views", "releases")
    op, attrs, types, inputs, outputs, views, releases = _entries(value, where, names)
    if not isinstance(attrs, dict):
        raise _Malformed(f"{where}.attrs is no object")
    return LibraryStep(
        op=_text(op, where),
        attrs={name: _read_attribute(one, f"{where}.attrs.{name}") for name, one in attrs.items()},
        types=_items(types, f"{where}.types", lambda one, at: _read_type(_row(one, at, 2), at)),
        inputs=_items(inputs, f"{where}.inputs", lambda one, at: _read_argument(one, at, constants)),
        outputs=_items(outputs, f"{where}.outputs", _count),
        views=_truth(views, f"{where}.views"),
        releases=_items(releases, f"{where}.releases", _count),
    )


def _read_argument(value: Any, where: str, constants: Sequence[ConstantValues]) -> Argument:
    dtype, shape, kind, number = _row(value, where, 4)
    type, at = _read_type([dtype, shape], where), _count(number, where)
    if kind == "constant":
        if at >= len(constants):
            raise _Malformed(f"{where} is constant {at} of {len(constants)}")
        return Argument(type, constants[at])
    if kind not in ("slot", "arena", "packed"):
        raise _Malformed(f"{where} is in no known place")
    return Argument(type, Slot(at) if kind == "slot" else InArena(at) if kind == "arena" else InPacked(at))


def _read_attribute(value: Any, where: str, depth: int = 0) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int) and value in _INTEGERS:
        return value
    if isinstance(value, list) and depth < MOST_DEPTH:
        return tuple(_read_attribute(one, where, depth + 1) for one in value)
    if isinstance(value, dict) and value.keys() == {"float"}:
        return _float(value["float"], where)
    if isinstance(value, dict) and value.keys() == {"complex"}:
        real, imaginary = _row(value["complex"], where, 2)
        return complex(_float(real, where), _float(imaginary, where))
    raise _Malformed(f"{where} is no value of an attribute")


def _float(value: Any, where: str) -> float:
    try:
        found = float(_text(value, where))
    except ValueError:
        raise _Malformed(f"{where} is no number") from None
    if repr(found) != value:
        raise _Malformed(f"{where} is not written as numbers are")
    return found


def _read_type(row: Sequence[Any], where: str) -> Type:
    dtype, shape = row
    return Type(_text(dtype, where), _items(shape, where, _count))


def _read_output(value: Any, where: str) -> Output:
    slot, dtype, shape, by_library = _row(value, where, 4)
    return Output(_count(slot, where), _read_type([dtype, shape], where), _truth(by_library, where))


def _read_placed(value: Any, where: str) -> tuple[int, int]:
    slot, at = _row(value, where, 2)
    return _count(slot, where), _count(at, where)


def _read_packed(value: Any, where: str) -> PackedTensor:
    slot, size = _row(value, where, 2)
    return PackedTensor(_count(slot, where), _count(size, where))


def _read_section(value: Any, where: str) -> ParameterSection:
    key, reads, makes = _row(value, where, 3)
    return ParameterSection(_text(key, where), _items(reads, where, _count), _items(makes, where, _count))


def _read_about(value: Any) -> About:
    nodes, nests, functions, threaded, unshared, watches, library, sources = _entries(value, "about", _ABOUT)
    if not isinstance(library, dict):
        raise _Malformed("about.library is no object")
    return About(
        nodes=_count(nodes, "about.nodes"),
        nests=_count(nests, "about.nests"),
        functions=_count(functions, "about.functions"),
        threaded=_truth(threaded, "about.threaded"),
        unshared_bytes=_count(unshared, "about.unshared_bytes"),
        watches=_truth(watches, "about.watches"),
        library={name: _count(number, "about.library") for name, number in library.items()},
        sources=_items(sources, "about.sources", _text),
    )


# ---- values of one kind ----------------------------------------------------------------------------------------------


def _entries(value: Any, where: str, names: Sequence[str]) -> list[Any]:
    """The entries of an object that has these and no others, in this order."""
    if not isinstance(value, dict) or value.keys() != set(names):
        raise _Malformed(f"{where} does not have the entries {', '.join(names)}")
    return [value[name] for name in names]


def _row(value: Any, where: str, length: int) -> list[Any]:
    if not isinstance(value, list) or len(value) != length:
        raise _Malformed(f"{where} is no array of {length}")
    return value


def _items(value: Any, where: str, read: Callable[[Any, str], T]) -> tuple[T, ...]:
    if not isinstance(value, list):
        raise _Malformed(f"{where} is no array")
    return tuple(read(one, f"{where}[{i}]") for i, one in enumerate(value))


def _count(value: Any, where: str) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise _Malformed(f"{where} is no number of things or bytes")
    return value


def _truth(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise _Malformed(f"{where} is neither true nor false")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise _Malformed(f"{where} is no text")
    return value
