"""Compares what two runs of the same code gave: values, tensors, printed text, outcomes of tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|\b(?:nan|inf)\b")
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_MOST = 20


@dataclass(frozen=True)
class Difference:
    where: str
    message: str


class Seen(Protocol):
    """The part of a run that is compared."""

    answer: dict[str, Any]
    arrays: dict[str, Any]
    printed: str


def compare(one: Seen, two: Seen, tolerance: float) -> tuple[list[Difference], float]:
    """The first differences, and the largest error of a tensor relative to its scale."""
    errors = [0.0]
    found = [*_failures(one, two), *_tests(one, two)]
    before, after = one.answer.get("results", []), two.answer.get("results", [])
    for number, (a, b) in enumerate(zip(before, after), 1):
        found += _values(a, b, f"call {number}", one, two, tolerance, errors)
    found += _recorded(one, two, tolerance, errors)
    found += _printed(one.printed, two.printed)
    return found[:_MOST], max(errors)


def _failures(one: Seen, two: Seen) -> Iterator[Difference]:
    a, b = one.answer.get("error"), two.answer.get("error")
    if a != b:
        yield Difference("the run", f"eagerly {a or 'nothing is raised'}, as graphs {b or 'nothing is raised'}")


def _tests(one: Seen, two: Seen) -> Iterator[Difference]:
    before, after = one.answer.get("tests", {}), two.answer.get("tests", {})
    for name in sorted({*before, *after}):
        a, b = before.get(name, "not run"), after.get(name, "not run")
        if a != b:
            yield Difference(name, f"{a} eagerly, {b} as graphs")


def _recorded(one: Seen, two: Seen, tolerance: float, errors: list[float]) -> Iterator[Difference]:
    """The tensors of each test, by what they are. A graph hides what happens inside: then one list is part of both."""
    before, after = one.answer.get("recorded", {}), two.answer.get("recorded", {})
    for test in sorted({*before, *after}):
        lists = before.get(test, []), after.get(test, [])
        for what in dict.fromkeys(record["what"] for records in lists for record in records):
            a, b = ([record for record in records if record["what"] == what] for records in lists)
            if len(a) == len(b):
                for number, (old, new) in enumerate(zip(a, b), 1):
                    where = f"{test}: {what}" + (f", call {number}" if len(a) > 1 else "")
                    yield from _records(old, new, where, one, two, tolerance, errors)
                continue
            missing = _outside(a, b, one, two, tolerance) if len(a) < len(b) else _outside(b, a, two, one, tolerance)
            if missing:
                yield Difference(f"{test}: {what}", "a result of one run is none of the other's")


def _outside(few: list[Any], many: list[Any], one: Seen, two: Seen, tolerance: float) -> bool:
    """Whether some of a few records are not found among many, in order."""
    left = iter(many)
    return not all(any(not [*_records(a, b, "", one, two, tolerance, [])] for b in left) for a in few)


def _records(
    a: Any, b: Any, where: str, one: Seen, two: Seen, tolerance: float, errors: list[float]
) -> Iterator[Difference]:
    if a["shape"] != b["shape"]:
        yield Difference(where, f"shape {a['shape']} eagerly, {b['shape']} as graphs")
    else:
        yield from _tensors(one.arrays[a["at"]], two.arrays[b["at"]], where, tolerance, errors)


def _values(
    a: Any, b: Any, where: str, one: Seen, two: Seen, tolerance: float, errors: list[float]
) -> Iterator[Difference]:
    if a["kind"] == b["kind"] == "array":
        yield from _tensors(one.arrays[a["at"]], two.arrays[b["at"]], where, tolerance, errors)
        return
    if _kind(a) != _kind(b) or a.get("value") != b.get("value"):
        yield Difference(where, f"{_shown(a)} eagerly, {_shown(b)} as graphs")
        return
    inside, other = a.get("children", {}), b.get("children", {})
    if list(inside) != list(other):
        names = ", ".join(sorted({*inside} ^ {*other})[:3]) or "another order"
        yield Difference(where, f"what is inside differs: {names}")
        return
    for name in inside:
        yield from _values(inside[name], other[name], f"{where}.{name}", one, two, tolerance, errors)


def _kind(value: dict[str, Any]) -> str:
    """A compiled module is still that module."""
    return "module" if "children" in value and value["kind"] not in ("list", "tuple", "dict") else str(value["kind"])


def _tensors(a: Any, b: Any, where: str, tolerance: float, errors: list[float]) -> Iterator[Difference]:
    import numpy

    if a.shape != b.shape:
        yield Difference(where, f"shape {list(a.shape)} eagerly, {list(b.shape)} as graphs")
        return
    if a.dtype != b.dtype:
        yield Difference(where, f"{a.dtype} eagerly, {b.dtype} as graphs")
        return
    if a.size == 0:
        return
    if a.dtype.kind not in "fc":
        wrong = int((a != b).sum())
        if wrong:
            yield Difference(where, f"{wrong} of {a.size} values differ")
        return
    finite = numpy.isfinite(a)
    if not numpy.array_equal(finite, numpy.isfinite(b)) or not numpy.array_equal(
        a[~finite], b[~finite], equal_nan=True
    ):
        yield Difference(where, "infinite or undefined values are not in the same places")
        return
    if not finite.any():
        return
    kept, other = a[finite].astype(_wide(a)), b[finite].astype(_wide(a))
    scale = max(float(numpy.abs(kept).max()), 1e-6)
    error = float(numpy.abs(kept - other).max()) / scale
    errors.append(error)
    if error > tolerance:
        yield Difference(where, f"differs by {error:.2g} of its scale {scale:.3g}")


def _wide(array: Any) -> str:
    return "complex128" if array.dtype.kind == "c" else "float64"


def _printed(a: str, b: str) -> Iterator[Difference]:
    """Text must agree but for numbers (times, rounding) and addresses."""
    before, after = _lines(a), _lines(b)
    for number, (old, new) in enumerate(zip(before, after), 1):
        if old != new:
            yield Difference(f"printed line {number}", f"{old[:80]!r} eagerly, {new[:80]!r} as graphs")
            return
    if len(before) != len(after):
        yield Difference("printed text", f"{len(before)} lines eagerly, {len(after)} as graphs")


def _lines(text: str) -> list[str]:
    return [_NUMBER.sub("#", _ADDRESS.sub("@", line)).rstrip() for line in text.strip().split("\n")]


def _shown(value: dict[str, Any]) -> str:
    return repr(value["value"])[:60] if "value" in value else str(value["kind"])
