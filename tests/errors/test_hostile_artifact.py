"""Bytes that are no compiled program, by accident or by intent: a coded problem, and nothing of them is executed."""

from __future__ import annotations

import copy
import json
import re
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.artifacts import DIGEST, START, body_of, canonical, header_of, sealed, small
from strop.core.problem import Problem
from strop.driver.artifact_format import MAGIC, MOST_HEADER, VERSION, from_bytes, to_bytes

GOOD = to_bytes(small())
HEADER, BODY = header_of(GOOD), body_of(GOOD)
ENDS = (0, 4, 8, 12, START, START + 1, len(GOOD) - DIGEST - len(BODY), len(GOOD) - DIGEST, len(GOOD) - 1)


def refused(data: bytes) -> str:
    """What is said of bytes that must not be taken."""
    with pytest.raises(Problem) as caught:
        from_bytes(data)
    assert caught.value.code == "STR504" and caught.value.help
    return caught.value.message


def with_header(change: Callable[[dict[str, Any]], Any]) -> bytes:
    header = copy.deepcopy(HEADER)
    change(header)
    return sealed(canonical(header), BODY)


# by accident


@pytest.mark.parametrize("end", ENDS)
def test_cut_where_a_part_ends(end: int) -> None:
    wanted = "begin" if end < len(MAGIC) else "ends after" if end < START + DIGEST else "damaged"
    assert wanted in refused(GOOD[:end])


@given(st.integers(0, len(GOOD) - 1))
def test_cut_anywhere(end: int) -> None:
    refused(GOOD[:end])


@given(st.integers(0, 8 * len(GOOD) - 1))
def test_one_bit_is_another(bit: int) -> None:
    data = bytearray(GOOD)
    data[bit // 8] ^= 1 << bit % 8
    refused(bytes(data))


@given(st.binary(max_size=200))
def test_anything_else(data: bytes) -> None:
    refused(data)
    refused(MAGIC + data)
    refused(GOOD + data + b"x")


def test_text_with_other_ends_of_lines() -> None:
    assert "begin" in refused(GOOD.replace(b"\r\n", b"\n"))


@pytest.mark.parametrize("version", [0, VERSION + 1, 2**32 - 1])
def test_another_version_is_named(version: int) -> None:
    told = refused(sealed(canonical(HEADER), BODY, version=version))
    assert f"format {version};" in told and f"reads format {VERSION}" in told


# by intent: the digest is right


def test_the_bytes_that_the_tests_seal_are_taken() -> None:
    assert sealed(canonical(HEADER), BODY) == GOOD


@pytest.mark.parametrize("length", [2**64 - 1, 2**63, 2**31, len(canonical(HEADER)) + len(BODY) + 1])
def test_a_header_that_claims_more_than_there_is(length: int) -> None:
    assert "claims" in refused(sealed(canonical(HEADER), BODY, length=length))


@pytest.mark.parametrize("length", [0, 1, len(canonical(HEADER)) - 1, len(canonical(HEADER)) + 1])
def test_a_header_that_ends_elsewhere(length: int) -> None:
    assert "JSON" in refused(sealed(canonical(HEADER), BODY, length=length))


def test_a_header_that_is_too_long() -> None:
    long = canonical({**HEADER, "format": "x" * MOST_HEADER})
    assert "at most" in refused(sealed(long, BODY))


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"attrs":['])
@pytest.mark.parametrize("depth", [100, 5_000, 1_000_000])
def test_nested_without_end(opening: bytes, depth: int) -> None:
    refused(sealed(opening * depth, BODY))
    closing = opening.translate(bytes.maketrans(b"[{", b"]}"), b'"a:ttrs')[::-1]
    refused(sealed(opening * depth + b"1" + closing * depth, BODY))


def test_attributes_nested_without_end() -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    assert "attrs.args is no value" in refused(with_header(lambda h: h["steps"][1]["attrs"].update(args=deep)))


@pytest.mark.parametrize(
    "text",
    [
        b"", b"null", b"[]", b"{}", b"1", b'"strop program"', b"\xff\xfe", b'{"format":"strop program"}',
        b'{"format":"strop program","format":"strop program"}', canonical(HEADER) + b" ", b" " + canonical(HEADER),
        canonical(HEADER).replace(b'"threads":2', b'"threads":2.0'), canonical(HEADER).replace(b'"threads":2', b'"threads":NaN'),
        canonical(HEADER).replace(b'"threads":2', b'"threads":1e99'), canonical(HEADER).replace(b'"threads":2', b'"threads":2,"threads":2'),
        canonical(HEADER).replace(b'"threads":2', b'"threads":' + b"9" * 5000), canonical(HEADER).replace(b'"random"', b'"\\ud800"'),
        json.dumps(HEADER, indent=1).encode(), json.dumps(HEADER, separators=(",", ":")).encode(),
    ],
)  # fmt: skip
def test_headers_in_another_form(text: bytes) -> None:
    refused(sealed(text, BODY))


def changed(*path: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(header: dict[str, Any]) -> None:
        at: Any = header
        for one in path[:-1]:
            at = at[one]
        at[path[-1]] = to

    return change


FAULTS = {
    "an unknown format": (changed("format", to="other"), "does not say"),
    "an entry too many": (changed("more", to=1), "does not have the entries"),
    "an entry too few": (lambda h: h.pop("steps"), "does not have the entries"),
    "steps that are no array": (changed("steps", to={}), "steps is no array"),
    "a step of no kind": (changed("steps", 0, to={"python": "import os"}), "steps\\[0\\] does not have"),
    "a step of two kinds": (changed("steps", 0, "library", to="aten"), "steps\\[0\\] does not have"),
    "a count that is true": (changed("threads", to=True), "threads is no number"),
    "a negative size": (changed("arena_bytes", to=-1), "arena_bytes is no number"),
    "a size beyond all integers": (changed("scratch_bytes", to=2**70), "scratch_bytes is no number"),
    "no threads": (changed("threads", to=0), "0 threads"),
    "too many threads": (changed("threads", to=2**40), "threads"),
    "more memory than there is": (changed("arena_bytes", to=2**62), "more memory than any machine"),
    "scratch for every thread": (changed("scratch_bytes", to=2**47), "more memory than any machine"),
    "a table that is too small": (changed("slots", to=5), "do not fill"),
    "a table that is too large": (changed("slots", to=2**60), "do not fill"),
    "an input outside of the table": (changed("inputs", 0, to=8), "do not fill"),
    "an input in a parameter's slot": (changed("inputs", 0, to=1), "do not fill"),
    "an output outside of the table": (changed("outputs", 1, 0, to=99), "do not fill"),
    "an output that nobody makes": (changed("outputs", 1, 3, to=True), "output 1 is made by nobody"),
    "an output of an unknown type": (changed("outputs", 1, 1, to="f8"), "output 1 has the unknown dtype 'f8'"),
    "an output larger than memory": (changed("outputs", 1, 2, to=[2**40, 2**40]), "output 1 of shape .* is larger"),
    "an empty output that overflows": (changed("outputs", 1, 2, to=[0, 2**60, 2**60]), "larger than any memory"),
    "a negative extent": (changed("outputs", 1, 2, to=[-1]), "outputs\\[1\\]\\[0\\] is no number"),
    "a parameter that there is not": (changed("direct", 0, to=2), "a parameter that it does not have"),
    "a section's parameter that there is not": (changed("sections", 0, 1, to=[2]), "section 0 .* that there is not"),
    "a packed tensor that nobody makes": (changed("sections", 0, 2, to=[]), "every packed tensor once"),
    "a packed tensor that is made twice": (changed("sections", 0, 2, to=[0, 0]), "every packed tensor once"),
    "a packed tensor that there is not": (changed("sections", 0, 2, to=[0, 7]), "every packed tensor once"),
    "a function of the C library": (changed("steps", 0, "native", to="system"), "step 0 calls 'system'"),
    "a function of another step": (changed("steps", 0, "native", to="strop_run1"), "step 0 calls 'strop_run1'"),
    "an unknown operator": (changed("steps", 3, "library", to="eval"), "unknown operator 'eval'"),
    "an operator without its attribute": (changed("steps", 3, "attrs", to={}), "step 3 is no `softmax`"),
    "an attribute of another kind": (changed("steps", 3, "attrs", "dim", to="x"), "step 3 is no `softmax`"),
    "an attribute with an unknown tag": (
        changed("steps", 3, "attrs", "dim", to={"pickle": "x"}),
        "attrs.dim is no value",
    ),
    "a float that is none": (changed("steps", 3, "attrs", "dim", to={"float": "one"}), "attrs.dim is no number"),
    "a float in another form": (changed("steps", 3, "attrs", "dim", to={"float": "1_0"}), "not written as numbers"),
    "an integer beyond 64 bits": (changed("steps", 3, "attrs", "dim", to=2**64), "attrs.dim is no value"),
    "results of another type": (changed("steps", 3, "types", 0, 1, to=[3, 3]), "does not make what"),
    "a target that is no name": (changed("steps", 1, "attrs", "target", to="aten.x"), "no operator's name"),
    "a target with more in it": (changed("steps", 1, "attrs", "target", to="os.system.x('ls')"), "no operator's name"),
    "a target that does not exist": (
        changed("steps", 1, "attrs", "target", to="aten.nothing.default"),
        "does not have",
    ),
    "a target that is no operator": (
        changed("steps", 1, "attrs", "target", to="load_library.__self__.x"),
        "does not have",
    ),
    "a target that is missing": (lambda h: h["steps"][1]["attrs"].pop("target"), "no operator's name"),
    "arguments that are no tuple": (changed("steps", 1, "attrs", "args", to="x"), "without arguments"),
    "an argument that there is not": (changed("steps", 1, "attrs", "args", 0, to=["%", 3]), "argument 3 of 1"),
    "an argument before the first": (changed("steps", 1, "attrs", "args", 0, to=["%", -1]), "argument -1 of 1"),
    "keywords without names": (changed("steps", 2, "attrs", "kwargs", to=[[1, 2]]), "without names"),
    "more results than slots": (changed("steps", 1, "outputs", to=[]), "do not fill|slots for them"),
    "a slot that is empty": (changed("steps", 2, "inputs", 0, 3, to=5), "step 2, input 0 is in slot 5, which is empty"),
    "a slot of a packed parameter": (changed("steps", 3, "inputs", 0, 3, to=2), "slot 2, which is empty"),
    "a slot outside of the table": (changed("steps", 3, "inputs", 0, 3, to=2**40), "which is empty"),
    "past the end of the arena": (changed("steps", 1, "inputs", 0, 3, to=108), "ends 132 bytes into an arena of 128"),
    "between two elements": (changed("steps", 1, "inputs", 0, 3, to=6), "between two elements"),
    "a tensor that is not packed": (changed("steps", 2, "inputs", 1, 3, to=0), "no packed tensor of slot 0"),
    "a packed tensor that is too small": (changed("packed", 0, 1, to=8), "no packed tensor of slot 6"),
    "a constant that there is not": (changed("steps", 2, "inputs", 2, 3, to=1), "is constant 1 of 1"),
    "a constant of another size": (
        changed("steps", 2, "inputs", 2, 1, to=[2, 4]),
        "24 bytes of values where it takes 32",
    ),
    "truth values that are neither": (
        changed("steps", 2, "inputs", 2, slice(0, 2), to=["bool", [24]]),
        "neither 0 nor 1",
    ),
    "a place of no kind": (changed("steps", 2, "inputs", 2, 2, to="address"), "no known place"),
    "what is not there released": (changed("steps", 2, "releases", to=[5, 5, 0, 6]), "releases what is not there"),
    "a result released": (changed("steps", 3, "releases", to=[3]), "released before the end"),
    "blobs beyond the end": (changed("blobs", 0, to=2**62), "claim"),
    "blobs before the end": (changed("blobs", 0, to=0), "claim"),
    "more objects than blobs": (changed("objects", to=4), "3 blobs, not 4 objects"),
    "about something else": (changed("about", to=[]), "about does not have the entries"),
    "about a number that is text": (changed("about", "nodes", to="9"), "about.nodes is no number"),
    "about calls that are none": (changed("about", "library", to=3), "about.library is no object"),
}


@pytest.mark.parametrize(("change", "told"), FAULTS.values(), ids=FAULTS)
def test_values_that_contradict(change: Callable[[dict[str, Any]], Any], told: str) -> None:
    assert re.search(told, refused(with_header(change)))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a header that something else can be put into."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield from places(one, (*path, name))


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 10), st.integers(-(2**70), 2**70), st.text(max_size=4),
    st.sampled_from([[], {}, [[]], ["%", 0], {"float": "nan"}, {"complex": []}, "f32", "aten", "%", "native"]),
)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from([path for path in places(HEADER) if path]), ODD), min_size=1, max_size=3))
def test_other_values_anywhere_are_refused_or_fit(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    header = copy.deepcopy(HEADER)
    for path, value in changes:
        try:
            changed(*path, to=value)(header)
        except (IndexError, KeyError, TypeError):
            continue  # the first change took that place away
    data = sealed(canonical(header), BODY)
    try:
        again = from_bytes(data)
    except Problem as problem:
        assert problem.code == "STR504"
    else:
        assert from_bytes(to_bytes(again)).about == again.about


def test_what_numbers_claim_takes_no_memory() -> None:
    claims = [
        with_header(changed("slots", to=2**62)),
        with_header(changed("blobs", 0, to=2**62)),
        with_header(changed("objects", to=2**62)),
        with_header(changed("outputs", 1, 2, to=[2**62])),
        with_header(changed("steps", 2, "inputs", 2, 1, to=[2**62])),
        sealed(canonical(HEADER), BODY, length=2**62),
    ]
    tracemalloc.start()
    try:
        for data in claims:
            refused(data)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
