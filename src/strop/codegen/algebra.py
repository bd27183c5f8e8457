"""A value in a register with Python's arithmetic, so that formulas read as formulas.

    x = Term(block, "%v3", "f32", 8)
    y = fma(x, x, 1.0) / abs(x)          # emits llvm.fma, llvm.fabs, fdiv on <8 x float>

Python numbers become constants of the other operand's type. Nothing is reordered or contracted behind one's back.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from strop.codegen.builder import CodeBlock, constant

#: float type → the integer type of its bits, stored mantissa bits, exponent bias
LAYOUT = {"f32": ("i32", 23, 127), "f64": ("i64", 52, 1023)}
WIDTH = {"f32": 32, "f64": 64, "i32": 32, "i64": 64, "bool": 1}


@dataclass(frozen=True, slots=True)
class RegisterTerm:
    b: CodeBlock
    name: str
    dtype: str
    lanes: int

    def make(self, name: str, dtype: str = "") -> RegisterTerm:
        return replace(self, name=name, dtype=dtype or self.dtype)

    def of(self, other: Operand) -> str:
        """The operand's text; a number becomes a constant of this value's type."""
        return other.name if isinstance(other, RegisterTerm) else constant(self.dtype, other, self.lanes)

    def lift(self, other: Operand) -> RegisterTerm:
        return other if isinstance(other, RegisterTerm) else self.make(self.of(other))

    def op(self, opcode: str, *others: Operand) -> RegisterTerm:
        return self.make(self.b.op(opcode, self.dtype, self.lanes, self.name, *map(self.of, others)))

    def call(self, intrinsic: str, *others: Operand, flags: str = "") -> RegisterTerm:
        return self.make(self.b.call(intrinsic, self.dtype, self.lanes, self.name, *map(self.of, others), flags=flags))

    def convert(self, opcode: str, dtype: str) -> RegisterTerm:
        return self.make(self.b.convert(opcode, self.name, self.dtype, dtype, self.lanes), dtype)

    @property
    def is_float(self) -> bool:
        return self.dtype in LAYOUT

    def __add__(self, other: Operand) -> RegisterTerm:
        return self.op("fadd" if self.is_float else "add", other)

    def __radd__(self, other: Operand) -> RegisterTerm:
        return self.lift(other) + self

    def __sub__(self, other: Operand) -> RegisterTerm:
        return self.op("fsub" if self.is_float else "sub", other)

    def __rsub__(self, other: Operand) -> RegisterTerm:
        return self.lift(other) - self

    def __mul__(self, other: Operand) -> RegisterTerm:
        return self.op("fmul" if self.is_float else "mul", other)

    def __rmul__(self, other: Operand) -> RegisterTerm:
        return self.lift(other) * self

    def __truediv__(self, other: Operand) -> RegisterTerm:
        return self.op("fdiv", other)

    def __rtruediv__(self, other: Operand) -> RegisterTerm:
        return self.lift(other) / self

    def __neg__(self) -> RegisterTerm:
        return self.op("fneg") if self.is_float else self.lift(0) - self

    def __abs__(self) -> RegisterTerm:
        if self.is_float:
            return self.call("llvm.fabs")
        return self.make(self.b.call("llvm.abs", self.dtype, self.lanes, self.name, extra=["i1 false"]))

    def __and__(self, other: Operand) -> RegisterTerm:
        return self.op("and", other)

    def __or__(self, other: Operand) -> RegisterTerm:
        return self.op("or", other)

    def __xor__(self, other: Operand) -> RegisterTerm:
        return self.op("xor", other)

    def __invert__(self) -> RegisterTerm:
        return self ^ (True if self.dtype == "bool" else -1)

    def __lshift__(self, other: Operand) -> RegisterTerm:
        return self.op("shl", other)

    def __rshift__(self, other: Operand) -> RegisterTerm:
        """The sign is shifted in."""
        return self.op("ashr", other)

    def compare(self, relation: str, other: Operand) -> RegisterTerm:
        """`relation` as LLVM writes it: olt, une, uno … on floats, slt, ult, eq … on the rest."""
        opcode = f"fcmp {relation}" if self.is_float else f"icmp {relation}"
        return self.make(self.op(opcode, other).name, "bool")

    def bits(self) -> RegisterTerm:
        return self.convert("bitcast", LAYOUT[self.dtype][0])

    def as_float(self) -> RegisterTerm:
        """The float whose bits this integer holds."""
        return self.convert("bitcast", {"i32": "f32", "i64": "f64"}[self.dtype])

    def copysign(self, sign: Operand) -> RegisterTerm:
        return self.call("llvm.copysign", sign)


Operand = RegisterTerm | float | int | bool


def fma(a: RegisterTerm, b: Operand, c: Operand) -> RegisterTerm:
    """a·b + c where the product has to be exact. Without an instruction for it, f32 is computed in f64, which holds
    the product exactly; in f64 the product is taken apart (Veltkamp, Dekker), and what its rounding lost is added."""
    if a.b.names.fused:
        return a.call("llvm.fma", b, c)
    if a.dtype == "f32":
        x, y, z = (one.convert("fpext", "f64") for one in (a, a.lift(b), a.lift(c)))
        return (x * y + z).convert("fptrunc", "f32")
    product = a * b
    high, low = _halves(a)
    other_high, other_low = _halves(a.lift(b))
    lost = ((high * other_high - product) + high * other_low + low * other_high) + low * other_low
    return (product + c) + lost


def mul_add(a: RegisterTerm, b: Operand, c: Operand) -> RegisterTerm:
    """a·b + c where a rounded product will do; one instruction where there is one."""
    return a.call("llvm.fma", b, c) if a.b.names.fused else a * b + c


def _halves(x: RegisterTerm) -> tuple[RegisterTerm, RegisterTerm]:
    """An f64 as two numbers of 26 bits, whose products are exact."""
    far = x * (2.0**27 + 1)
    high = far - (far - x)
    return high, x - high


def select(condition: RegisterTerm, a: RegisterTerm, b: Operand) -> RegisterTerm:
    return a.make(a.b.select(condition.name, a.name, a.of(b), a.dtype, a.lanes))


def at_most(x: RegisterTerm, bound: float) -> RegisterTerm:
    """min(x, bound) in which NaN survives; one instruction on x86."""
    limit = x.lift(bound)
    return select(limit.compare("olt", x), limit, x)


def at_least(x: RegisterTerm, bound: float) -> RegisterTerm:
    limit = x.lift(bound)
    return select(limit.compare("ogt", x), limit, x)


def polynomial(x: RegisterTerm, coefficients: tuple[float, ...]) -> RegisterTerm:
    """Horner's rule, coefficients from the lowest power on."""
    total = x.lift(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = mul_add(total, x, coefficient)
    return total


def float_bits(dtype: str, value: float) -> int:
    code, form = ("<f", "<i") if dtype == "f32" else ("<d", "<q")
    return int(struct.unpack(form, struct.pack(code, value))[0])
