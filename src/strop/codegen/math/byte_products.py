"""Bytes, and sums of products of them: `dot4` on i32 that hold four each, unsigned on one side, signed on the other.

Machines with VNNI or Arm's `usdot` have one instruction for it; x86 before that multiplies pairs of 16 bits. Arm's
`sdot` takes signed bytes only: Σ x·y = Σ (x − 128)·y − Σ (−128)·y, where the second sum is that of a weight, which the
rows of a tile share. Elsewhere it is arithmetic. All of them are exact: sums wrap at 32 bits.
"""

from __future__ import annotations

from strop.codegen.algebra import RegisterTerm
from strop.codegen.frame import Frame

_VNNI = {4: "128", 8: "256", 16: "512"}
_DOTS = ("usdot", "sdot")
_BYTES = {2: 8, 4: 16}  # bytes of a vector of so many i32
_PAIRS = {4: "llvm.x86.sse2.pmadd.wd", 8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512"}


def narrowed(x: RegisterTerm, dtype: str) -> RegisterTerm:
    """The i32 that stands for the byte of x's lowest bits."""
    return x & 255 if dtype == "u8" else (x << 24) >> 24


def join(x: RegisterTerm, y: RegisterTerm, z: RegisterTerm) -> RegisterTerm:
    """The lowest bytes of three i32 as the high ones of another, the highest first.

    By shuffles within vectors: shifts leave more to the ports that multiply.
    """
    if not x.lanes:
        return (x << 24) | ((y & 255) << 16) | ((z & 255) << 8)
    high, middle, low = (_placed(one, place) for one, place in ((x, 3), (y, 2), (z, 1)))
    return high | middle | low


def _placed(x: RegisterTerm, place: int) -> RegisterTerm:
    """The lowest byte of each element as its byte at a place, zeros around it."""
    kind, count = f"<{4 * x.lanes} x i8>", 4 * x.lanes
    picks = [at - place if at % 4 == place else count for at in range(count)]
    whole = x.b.let(f"bitcast <{x.lanes} x i32> {x.name} to {kind}")
    moved = x.b.shuffle(kind, whole, "zeroinitializer", picks)
    return x.make(x.b.let(f"bitcast {kind} {moved} to <{x.lanes} x i32>"))


def dot4(x: RegisterTerm, y: RegisterTerm) -> RegisterTerm:
    """Σ of four products, by arithmetic on i32."""
    total = (x & 255) * ((y << 24) >> 24)
    for shift in (8, 16, 24):
        total = total + ((x.op("lshr", shift)) & 255) * ((y << (24 - shift)) >> 24)
    return total


def accumulate(frame: Frame, kind: str, a: str, b: str, total: str, lanes: int) -> str:
    """total + dot4(a, b) by the instructions that `kind` of machine has (`Target.byte_products`)."""
    code = frame.code
    vector = f"<{lanes} x i32>"
    if kind == "vnni" and lanes in _VNNI:
        name = f"@llvm.x86.avx512.vpdpbusd.{_VNNI[lanes]}"
        frame.names.declared[f"declare {vector} {name}({vector}, {vector}, {vector})"] = None
        return code.let(f"call {vector} {name}({vector} {total}, {vector} {a}, {vector} {b})")
    if kind in _DOTS and lanes in _BYTES:
        return _by_dot(frame, kind, a, b, total, lanes)
    if kind == "pairs" and lanes in _PAIRS:
        halves = f"<{2 * lanes} x i16>"
        name = f"@{_PAIRS[lanes]}"
        frame.names.declared[f"declare {vector} {name}({halves}, {halves})"] = None
        for x, y in zip(_split(frame, a, lanes, False), _split(frame, b, lanes, True)):
            product = code.let(f"call {vector} {name}({halves} {x}, {halves} {y})")
            total = code.let(f"add {vector} {total}, {product}")
        return total
    left, right, before = (RegisterTerm(code, name, "i32", lanes) for name in (a, b, total))
    return (before + dot4(left, right)).name


def _by_dot(frame: Frame, kind: str, a: str, b: str, total: str, lanes: int) -> str:
    """total + dot4(a, b) by Arm's instructions for four products."""
    code, count = frame.code, _BYTES[lanes]
    vector, kinds = f"<{lanes} x i32>", f"<{count} x i8>"
    name = f"@llvm.aarch64.neon.{kind}.v{lanes}i32.v{count}i8"
    frame.names.declared[f"declare {vector} {name}({vector}, {kinds}, {kinds})"] = None

    def as_bytes(value: str) -> str:
        return frame.once(("as bytes", value, lanes), lambda: code.let(f"bitcast {vector} {value} to {kinds}"))

    def dot(start: str, x: str, y: str) -> str:
        return code.let(f"call {vector} {name}({vector} {start}, {kinds} {x}, {kinds} {y})")

    x, y = as_bytes(a), as_bytes(b)
    if kind == "usdot":
        return dot(total, x, y)
    lowered = frame.once(("bytes less 128", x), lambda: code.let(f"xor {kinds} {x}, splat (i8 -128)"))
    rest = frame.once(("128 times bytes", y), lambda: dot("zeroinitializer", "splat (i8 -128)", y))
    return code.let(f"sub {vector} {dot(total, lowered, y)}, {rest}")


def _split(frame: Frame, x: str, lanes: int, signed: bool) -> tuple[str, str]:
    """Even and odd bytes, each widened to 16 bits."""
    key = ("bytes", x, lanes, signed)
    found = frame.find(key)
    if found is None:
        code, kind = frame.code, f"<{2 * lanes} x i16>"
        pairs = code.let(f"bitcast <{lanes} x i32> {x} to {kind}")
        if signed:
            up = code.let(f"shl {kind} {pairs}, splat (i16 8)")
            even, odd = (code.let(f"ashr {kind} {name}, splat (i16 8)") for name in (up, pairs))
        else:
            even, odd = (
                code.let(f"and {kind} {pairs}, splat (i16 255)"),
                code.let(f"lshr {kind} {pairs}, splat (i16 8)"),
            )
        found = frame.keep(key, f"{even} {odd}")
    even, odd = found.split()
    return even, odd
