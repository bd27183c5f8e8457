"""Machine descriptions of extensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, fields, replace
from math import isfinite
from typing import Any

from strop.core.extensions import Undo, described, put, refused, registry
from strop.runtime import jit
from strop.target.description import TARGETS, Target

#: fields that are lists of numbers, and how many
_LISTS = {"bandwidth": 4, "latency": 3}
_TEXTS = ("name", "triple", "cpu", "features")
_WHOLE = ("vector_bits", "vector_registers", "l1", "l2", "l3", "line")
#: vectors that code of an architecture can have, and the features without which it has none of that width
_WIDTHS: Mapping[str, Mapping[int, tuple[str, ...]]] = {
    "x86_64": {128: (), 256: ("avx2", "fma"), 512: ("avx512f", "avx512vl")},
    "aarch64": {128: ()},
    "arm64": {128: ()},
}
_FASTEST_CLOCK = 10.0  # GHz
_LONGEST_LINE = 1024


def target(description: Target | Mapping[str, Any]) -> Target:
    """A machine that `Options(target=name)` can name: a `Target`, or a mapping of its fields, as a TOML file holds.

    In a mapping, `like` names the description from which fields that are left out are taken.
    """
    made = description if isinstance(description, Target) else _read(description)
    faults = list(_faults(made))
    if faults:
        raise refused("target", made.name, "; ".join(faults), help="docs/extending.md says what each number means")
    # the numbers themselves are its version: they are a part of every cache key
    extension = described("target", made.name, (), version=repr(asdict(made)))
    registry.add(extension, lambda: _install(made), lambda: "Strop" if made.name in TARGETS else "")
    return made


def _install(made: Target) -> Undo:
    take_out = put(TARGETS, made.name, made)
    jit.forget_host()

    def undo() -> None:
        take_out()
        jit.forget_host()

    return undo


def _read(description: object) -> Target:
    if not isinstance(description, Mapping):
        raise refused("target", str(description), f"it is a {type(description).__name__}",
                      help="extend.Target(…), or a mapping of its fields")  # fmt: skip
    given = dict(description)
    name = str(given.get("name", ""))
    known = {f.name: f for f in fields(Target)}
    like = given.pop("like", None)
    if like is not None and like not in TARGETS:
        raise refused("target", name, f"there is no description of `{like}`", help=f"known: {', '.join(TARGETS)}")
    unknown = [key for key in given if key not in known]
    if unknown:
        raise refused("target", name, f"there is no `{unknown[0]}`", help=f"fields: {', '.join(known)}")
    needed = [key for key, f in known.items() if f.default is MISSING and key not in given]
    missing = [key for key in needed if like is None or key == "name"]
    if missing:
        raise refused("target", name, f"{', '.join(missing)} missing", help='or say which one it is `like`: "znver3"')
    given |= {key: tuple(given[key]) for key in _LISTS if isinstance(given.get(key), list)}
    return replace(TARGETS[like], **given) if like is not None else Target(**given)


def _faults(target: Target) -> Iterator[str]:
    """What cannot be true of any machine, or is no number at all."""
    wrong = list(_wrong_kinds(target))
    if wrong:
        yield from wrong
        return
    for name in ("vector_registers", "fma_per_cycle", "l1", "l2", "l3", "ghz", "fork_join_us", "hopped", *_LISTS):
        value = getattr(target, name)
        if not all(number > 0 for number in (value if isinstance(value, tuple) else (value,))):
            yield f"{name} must be above zero, got {value}"
    if target.ghz > _FASTEST_CLOCK:
        yield f"ghz is the clock in GHz, got {target.ghz}"
    if target.l1 > target.l2:
        yield f"l1 ({target.l1} bytes) cannot be larger than l2 ({target.l2})"
    if not 0 < target.line <= _LONGEST_LINE or target.line & (target.line - 1):
        yield f"line must be a power of two, got {target.line}"
    if list(target.bandwidth) != sorted(target.bandwidth, reverse=True):
        yield f"bandwidth falls from L1 to memory, got {target.bandwidth}"
    if list(target.latency) != sorted(target.latency):
        yield f"latency grows from L2 to memory, got {target.latency}"
    yield from _wrong_vectors(target)


def _wrong_kinds(target: Target) -> Iterator[str]:
    for f in fields(target):
        value = getattr(target, f.name)
        if f.name in _TEXTS:
            if not isinstance(value, str) or (not value and f.name != "features"):
                yield f"{f.name} must be a text, got {value!r}"
        elif f.name in _LISTS:
            if not isinstance(value, tuple) or len(value) != _LISTS[f.name] or not all(map(_is_number, value)):
                yield f"{f.name} must be {_LISTS[f.name]} numbers, got {value!r}"
        elif not _is_number(value) or (f.name in _WHOLE and not isinstance(value, int)):
            kind = "a whole number" if f.name in _WHOLE else "a number"
            yield f"{f.name} must be {kind}, got {value!r}"


def _wrong_vectors(target: Target) -> Iterator[str]:
    architecture = target.triple.partition("-")[0]
    widths = _WIDTHS.get(architecture)
    if widths is None:
        yield f"triple must begin with one of {', '.join(_WIDTHS)}, got `{target.triple}`"
    elif target.vector_bits not in widths:
        yield f"vectors of {architecture} have {' or '.join(map(str, widths))} bits, got {target.vector_bits}"
    else:
        lacking = [feature for feature in widths[target.vector_bits] if not target.has(feature)]
        if lacking:
            told = "features" if target.features else f"cpu `{target.cpu}`"
            yield f"vectors of {target.vector_bits} bits need {' and '.join(lacking)}, which {told} does not say it has"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
