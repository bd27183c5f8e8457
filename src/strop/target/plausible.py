"""What cannot be true of any machine: checks of a description, whoever wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from math import isfinite

from strop.target.description import Target
from strop.target.ports import Ports

#: a field of a description, and what is wrong with it
Fault = tuple[str, str]

#: fields that are lists of numbers, and how many
LISTS = {"bandwidth": 4, "latency": 3}
_TEXTS = ("name", "triple", "cpu", "features")
_WHOLE = (
    "vector_bits", "vector_registers", "l1", "l2", "l3", "line", "l1_ways", "l2_ways", "l3_ways", "tlb", "page",
    "cores", "sve_bits",
)  # fmt: skip
_POSITIVE = (
    "vector_registers", "fma_per_cycle", "l1", "l2", "l3", "ghz", "fork_join_us", "hopped", "l1_ways", "l2_ways",
    "l3_ways", "tlb", "cores", "l3_share", *LISTS,
)  # fmt: skip
#: vectors that code of an architecture can have, and the features without which it has none of that width
_WIDTHS: Mapping[str, Mapping[int, tuple[str, ...]]] = {
    "x86_64": {128: (), 256: ("avx2", "fma"), 512: ("avx512f", "avx512vl")},
    "aarch64": {128: ()},
    "arm64": {128: ()},
}
_FASTEST_CLOCK = 10.0  # GHz
_LONGEST_LINE = 1024
_PAGES = range(4096, 65537)
_MOST_PORTS = 32


def faults(target: Target) -> Iterator[Fault]:
    """What cannot be true of any machine, or is no number at all."""
    wrong = list(_wrong_kinds(target))
    if wrong:
        yield from wrong
        return
    for name in _POSITIVE:
        value = getattr(target, name)
        if not all(number > 0 for number in (value if isinstance(value, tuple) else (value,))):
            yield name, f"must be above zero, got {value}"
    if target.ghz > _FASTEST_CLOCK:
        yield "ghz", f"is the clock in GHz, got {target.ghz}"
    if target.l1 > target.l2:
        yield "l1", f"({target.l1} bytes) cannot be larger than l2 ({target.l2})"
    if not 0 < target.line <= _LONGEST_LINE or target.line & (target.line - 1):
        yield "line", f"must be a power of two, got {target.line}"
    if target.page not in _PAGES or target.page & (target.page - 1):
        yield "page", f"must be a power of two from 4096 to 65536, got {target.page}"
    if target.l3_share > 1:
        yield "l3_share", f"is a share of L3, at most 1, got {target.l3_share}"
    if list(target.bandwidth) != sorted(target.bandwidth, reverse=True):
        yield "bandwidth", f"falls from L1 to memory, got {target.bandwidth}"
    if list(target.latency) != sorted(target.latency):
        yield "latency", f"grows from L2 to memory, got {target.latency}"
    if target.sve_bits % 128 or not 0 <= target.sve_bits <= 2048:
        yield "sve_bits", f"is 0 or a multiple of 128 up to 2048, got {target.sve_bits}"
    yield from _wrong_vectors(target)


def faults_of_ports(ports: Ports) -> Iterator[tuple[str, str]]:
    """The same of a core: a class of `uses` or the name of a number, and what is wrong with it."""
    for where, uses in (("uses", ports.uses), ("wide", ports.wide)):
        for kind, use in uses.items():
            if not use.ports or len(set(use.ports)) != len(use.ports):
                yield f"{where}.{kind}", f"ports names each port once, got {use.ports!r}"
            for name in ("latency", "cycles", "slots"):
                value = getattr(use, name)
                if not _is_number(value) or value < 0 or (name == "cycles" and value == 0):
                    yield f"{where}.{kind}", f"{name} cannot be {value!r}"
    named = {port for use in (*ports.uses.values(), *ports.wide.values()) for port in use.ports}
    if len(named) > _MOST_PORTS:
        yield "uses", f"{len(named)} ports: no core has more than {_MOST_PORTS}"
    if not set(ports.stale) <= named:
        yield "stale", f"names ports that no instruction uses: {ports.stale!r}"
    for name in ("width", "window", "pipe_bits", "load_bits", "store_bits", "fetch", "waiting", "renames", "stores"):
        if not getattr(ports, name) > 0:
            yield name, f"must be above zero, got {getattr(ports, name)}"


def _wrong_kinds(target: Target) -> Iterator[Fault]:
    for f in fields(target):
        value = getattr(target, f.name)
        if f.name in _TEXTS:
            if not isinstance(value, str) or (not value and f.name != "features"):
                yield f.name, f"must be a text, got {value!r}"
        elif f.name == "core":
            if value is not None and not isinstance(value, Ports):
                yield f.name, f"must be the ports of a core, got {value!r}"
        elif f.name in ("provides", "known_by"):
            if not isinstance(value, tuple) or not all(isinstance(one, str) for one in value):
                yield f.name, f"must be names of features, got {value!r}"
        elif f.name in LISTS:
            if not isinstance(value, tuple) or len(value) != LISTS[f.name] or not all(map(_is_number, value)):
                yield f.name, f"must be {LISTS[f.name]} numbers, got {value!r}"
        elif not _is_number(value) or (f.name in _WHOLE and not isinstance(value, int)):
            yield f.name, f"must be {'a whole number' if f.name in _WHOLE else 'a number'}, got {value!r}"


def _wrong_vectors(target: Target) -> Iterator[Fault]:
    architecture = target.triple.partition("-")[0]
    widths = _WIDTHS.get(architecture)
    if widths is None:
        yield "triple", f"must begin with one of {', '.join(_WIDTHS)}, got `{target.triple}`"
    elif target.vector_bits not in widths:
        allowed = " or ".join(map(str, widths))
        yield "vector_bits", f"is {target.vector_bits}, but vectors of {architecture} have {allowed} bits"
    else:
        lacking = [feature for feature in widths[target.vector_bits] if not target.has(feature)]
        if lacking:
            told = "features" if target.features else "provides" if target.provides else f"cpu `{target.cpu}`"
            why = f"{' and '.join(lacking)}, which {told} does not say it has"
            yield "vector_bits", f"is {target.vector_bits}: vectors of {target.vector_bits} bits need {why}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
