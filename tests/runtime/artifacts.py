"""A small artifact by hand with every kind of step and place in it, and how to put other bytes into its form."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

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
)
from strop.driver.artifact_format import MAGIC, VERSION
from strop.graph.ir import Type

START, DIGEST = 20, 32
ROW = Type("f32", (2, 3))


def small() -> Artifact:
    """x, two weights of which one is packed, and what three steps make of them."""
    draw = {"target": "aten.dropout.default", "args": (("%", 0), 0.5, True), "kwargs": (), "why": "random"}
    clamp = {
        "target": "aten.clamp.Tensor",
        "args": (("%", 0), ("%", 1)),
        "kwargs": (("max", ("%", 2)),),
        "odd": (float("inf"), float("nan"), -0.0, 1j, None, -(2**63), "µ"),
    }
    return Artifact(
        code=(b"first object", b"second"),
        steps=(
            NativeStep("strop_run0"),
            LibraryStep("aten", draw, (ROW,), (Argument(ROW, InArena(64)),), (4,), True),
            LibraryStep(
                "aten",
                clamp,
                (ROW,),
                (
                    Argument(ROW, Slot(4)),
                    Argument(ROW, InPacked(6)),
                    Argument(ROW, ConstantValues.of([1.5] * 6, "f32")),
                ),
                (5,),
                False,
                (4,),
            ),
            LibraryStep("softmax", {"dim": -1}, (ROW,), (Argument(ROW, Slot(1)),), (3,), False),
        ),
        inputs=(0,),
        params=(1, 2),
        direct=(0,),
        outputs=(Output(3, ROW, True), Output(7, Type("i64", (2,)), False)),
        slots=9,
        arena_bytes=128,
        placed=(),
        packed=(PackedTensor(6, 64),),
        sections=(ParameterSection("a hash", (1,), (0,)),),
        temporary_bytes=256,
        scratch_bytes=32,
        threads=2,
        about=About(9, 3, 3, True, 192, False, {"aten.dropout.default": 1, "softmax": 1}),
    )


def header_of(data: bytes) -> dict[str, Any]:
    (length,) = struct.unpack_from("<Q", data, 12)
    found: dict[str, Any] = json.loads(data[START : START + length])
    return found


def body_of(data: bytes) -> bytes:
    (length,) = struct.unpack_from("<Q", data, 12)
    return data[START + length : -DIGEST]


def canonical(header: object) -> bytes:
    return json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sealed(header: bytes, body: bytes, *, version: int = VERSION, length: int | None = None) -> bytes:
    """Bytes with a digest that holds, whatever they say."""
    start = struct.pack("<8sIQ", MAGIC, version, len(header) if length is None else length)
    return start + header + body + hashlib.sha256(start + header + body).digest()
