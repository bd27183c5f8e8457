"""Index arithmetic: sums of loop variables with integer coefficients, floor division and remainder by constants.

An `Index` is kept in one canonical form, `const + Σ coefficient·atom`, and simplifies as it is built from the ranges
of its variables: `(6·o + i) // 6` with `0 ≤ i < 6` is `o`. Everything that layouts, views, tiling and code generation
know of where an element lives is written in this language.

Extents may be symbolic (`core/extents.py`), and so may coefficients, constants and divisors: `n·i + j` is the place of
an element in rows of `n`. Simplification asks questions about ranges; where the answer depends on the value of a
symbol, the expression stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, NamedTuple, Union

from strop.core.extents import Extent, Shape, SymbolicExtent, UnknownExtent, common_divisor
from strop.core.extents import bounds as extent_bounds
from strop.core.values import cached_property

if TYPE_CHECKING:
    from strop.loops.ir import Expr


Bounds = tuple[Extent, Extent]


class Var(NamedTuple):
    """A loop variable, 0 ≤ value < extent. Tables are full of them: a tuple's hash needs no Python code."""

    name: str
    extent: Extent

    @property
    def bounds(self) -> Bounds:
        return 0, self.extent - 1 if self.extent != 0 else 0

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Quotient:
    """⌊of / by⌋"""

    of: Index
    by: Extent

    @cached_property
    def bounds(self) -> Bounds:
        low, high = self.of.bounds
        try:
            return low // self.by, high // self.by
        except UnknownExtent:
            (low, _), (_, high), divisors = extent_bounds(low), extent_bounds(high), extent_bounds(self.by)
            return min(low // by for by in divisors), max(high // by for by in divisors)

    def __str__(self) -> str:
        return f"({self.of})//{_text(self.by)}"


@dataclass(frozen=True)
class Remainder:
    """of mod by, never negative"""

    of: Index
    by: Extent

    @property
    def bounds(self) -> Bounds:
        return 0, self.by - 1

    def __str__(self) -> str:
        return f"({self.of})%{_text(self.by)}"


@dataclass(frozen=True)
class Indirect:
    """An index that is data: the value of an integer expression, checked to be in 0 … extent-1 when it runs.

    `sure`: it comes from tables that were checked when they were made, and is not checked again.
    """

    value: Expr
    extent: Extent
    sure: bool = False

    @property
    def bounds(self) -> Bounds:
        return 0, self.extent - 1 if self.extent != 0 else 0

    def __str__(self) -> str:
        return f"<{self.value}>"


Atom = Union[Var, Quotient, Remainder, Indirect]


@dataclass(frozen=True, init=False)
class Index:
    """const + Σ coefficient·atom; no atom twice, no zero coefficient, atoms in a fixed order."""

    terms: tuple[tuple[Atom, Extent], ...]
    const: Extent

    def __init__(self, terms: tuple[tuple[Atom, Extent], ...] = (), const: Extent = 0) -> None:
        made = self.__dict__  # a frozen dataclass takes twice as long to set two fields, and most of loops are indices
        made["terms"], made["const"] = terms, const

    @cached_property
    def bounds(self) -> Bounds:
        """The smallest and largest value that the ranges of the variables allow."""
        low = high = self.const
        for atom, factor in self.terms:
            a, b = atom.bounds
            try:
                low += factor * (a if factor > 0 else b)
                high += factor * (b if factor > 0 else a)
            except UnknownExtent:
                ends = [x * y for x in extent_bounds(factor) for end in (a, b) for y in extent_bounds(end)]
                low, high = low + min(ends), high + max(ends)
        return low, high

    @cached_property
    def _hash(self) -> int:
        return hash((self.terms, self.const))

    def __hash__(self) -> int:
        return self._hash

    @property
    def is_const(self) -> bool:
        return not self.terms

    @cached_property
    def vars(self) -> frozenset[Var]:
        """Every loop variable that the value depends on."""
        return frozenset(_vars(self))

    @cached_property
    def is_data(self) -> bool:
        """Whether any part of the index is read from memory."""
        return any(isinstance(a, Indirect) or (not isinstance(a, Var) and a.of.is_data) for a, _ in self.terms)

    def coefficient(self, var: Var) -> Extent | None:
        """How far one step of `var` moves this index; None when it is not a fixed distance."""
        found = 0
        for atom, factor in self.terms:
            if atom == var:
                found = factor
            elif not isinstance(atom, Var) and var in index_of(atom).vars:
                return None
        return found

    def steps(self, var: Var, first: int, count: int) -> tuple[int, ...] | None:
        """How far each of `count` values of `var` from `first` on lies from the first; None when that is not fixed."""
        start = self.substitute({var: Index(const=first)})
        moved = [self.substitute({var: Index(const=first + i)}) - start for i in range(count)]
        return tuple(m.const for m in moved) if all(m.is_const for m in moved) else None

    def __add__(self, other: Index | Extent) -> Index:
        if not isinstance(other, Index):
            return Index(self.terms, self.const + other) if other != 0 else self
        if not other.terms:
            return Index(self.terms, self.const + other.const)
        sums = dict(self.terms)
        for atom, factor in other.terms:
            sums[atom] = sums.get(atom, 0) + factor
        return _canonical(sums, self.const + other.const)

    def __sub__(self, other: Index | Extent) -> Index:
        return self + (other * -1)

    def __mul__(self, by: Extent) -> Index:
        if by == 0:
            return Index()
        if by == 1:
            return self
        return Index(tuple((atom, factor * by) for atom, factor in self.terms), self.const * by)

    def __floordiv__(self, by: Extent) -> Index:
        if by <= 0:
            raise ValueError(f"division of an index by {by}")
        if by == 1:
            return self
        whole, rest = self.divide(by)
        return whole + _quotient(rest, by)

    def __mod__(self, by: Extent) -> Index:
        if by <= 0:
            raise ValueError(f"remainder of an index by {by}")
        _, rest = self.divide(by)
        low, high = rest.bounds
        try:
            if low // by == high // by:
                return rest - (low // by) * by
        except UnknownExtent:
            pass
        if len(rest.terms) == 1 and rest.const == 0:
            atom, factor = rest.terms[0]
            if isinstance(atom, Remainder) and factor == 1 and _divides(by, atom.by):
                return atom.of % by
        shared = _shared(by, rest)
        if shared != 1:
            inner = Index(tuple((a, f // shared) for a, f in rest.terms), rest.const // shared)
            return (inner % (by // shared)) * shared + rest.const % shared
        parts = _parts_by_magnitude(rest, by)
        if parts is not None:
            large, small = parts
            return large % by + small
        return Index(((Remainder(rest, by), 1),))

    def divide(self, by: Extent) -> tuple[Index, Index]:
        """self = whole·by + rest, moving every multiple of `by` into whole."""
        whole, rest = {}, {}
        try:
            for atom, factor in self.terms:
                if factor % by == 0:
                    whole[atom] = factor // by
                else:
                    rest[atom] = factor
            return _canonical(whole, self.const // by), _canonical(rest, self.const % by)
        except UnknownExtent:
            whole = {atom: factor // by for atom, factor in self.terms if _divides(by, factor)}
            rest = {atom: factor for atom, factor in self.terms if atom not in whole}
            const = self.const // by if _divides(by, self.const) else 0
            return _canonical(whole, const), _canonical(rest, self.const - const * by)

    def substitute(self, new: Mapping[Var, Index]) -> Index:
        """The index with variables replaced, simplified again."""
        if not any(v in new for v in self.vars):
            return self
        sums = dict[Atom, Extent]()
        const = self.const
        for atom, factor in self.terms:
            moved = new.get(atom, _ITSELF) if isinstance(atom, Var) else None
            if moved is None or any(isinstance(inner, Remainder) for inner, _ in moved.terms):  # may make one of two
                return self._substituted(new)
            if moved is _ITSELF:
                sums[atom] = sums.get(atom, 0) + factor
                continue
            const += moved.const * factor
            for inner, times in moved.terms:
                sums[inner] = sums.get(inner, 0) + times * factor
        return _canonical(sums, const)

    def _substituted(self, new: Mapping[Var, Index]) -> Index:
        result = Index(const=self.const)
        for atom, factor in self.terms:
            result = result + _substitute(atom, new) * factor
        return result

    def bind(self, values: Mapping[Var, int | str]) -> Index:
        """The index with those variables replaced that have a number (others may be bound to something else)."""
        const = self.const
        left = []
        for term in self.terms:
            atom, factor = term
            if type(atom) is not Var:
                known = {v: Index(const=n) for v in self.vars if isinstance(n := values.get(v), int)}
                return self.substitute(known) if known else self
            value = values.get(atom)
            if type(value) is int:
                const += factor * value
            else:
                left.append(term)
        return self if len(left) == len(self.terms) else Index(tuple(left), const)

    def evaluate(self, values: Mapping[Var, int]) -> int:
        """The number at one point (tests and constant tables)."""
        return self.substitute({var: Index(const=value) for var, value in values.items()}).const

    def __str__(self) -> str:
        parts = []
        for atom, factor in self.terms:
            text = str(atom)
            parts.append(text if factor == 1 else f"-{text}" if factor == -1 else f"{_text(factor)}*{text}")
        if self.const != 0 or not parts:
            parts.append(_text(self.const))
        return "+".join(parts).replace("+-", "-")


ZERO = Index()
_ITSELF = Index()  # stands for a variable that is not replaced


def index_of(value: Atom | Index | Extent) -> Index:
    if isinstance(value, Index):
        return value
    if isinstance(value, int | SymbolicExtent):
        return Index(const=value)
    if isinstance(value, Var):
        return Index(((value, 1),)) if value.extent != 1 else ZERO
    if isinstance(value, Indirect):
        return Index(tuple((v, 1) for v in sorted(value.value.vars, key=lambda v: v.name)))
    return value.of


def indirect(value: Expr, extent: Extent, *, sure: bool = False) -> Index:
    return Index(((Indirect(value, extent, sure), 1),))


def _quotient(rest: Index, by: Extent) -> Index:
    low, high = rest.bounds
    try:
        if low // by == high // by:
            return Index(const=low // by)
    except UnknownExtent:
        pass
    shared = _shared(by, rest)
    if shared != 1:
        inner = Index(tuple((a, f // shared) for a, f in rest.terms), rest.const // shared)
        return inner // (by // shared)
    if len(rest.terms) == 1 and rest.const == 0:
        atom, factor = rest.terms[0]
        if factor == 1 and isinstance(atom, Quotient):
            return atom.of // (atom.by * by)
        if factor == 1 and isinstance(atom, Remainder) and _divides(by, atom.by):
            return (atom.of // by) % (atom.by // by)
    parts = _parts_by_magnitude(rest, by)
    if parts is not None:
        return parts[0] // by
    return Index(((Quotient(rest, by), 1),))


def _divides(by: Extent, extent: Extent) -> bool:
    """Whether an extent is known to be a multiple of another."""
    try:
        return bool(extent % by == 0)
    except UnknownExtent:
        return False


def _shared(by: Extent, rest: Index) -> Extent:
    """What divides a divisor and all coefficients of an index."""
    try:
        return gcd(by, *(factor for _, factor in rest.terms))
    except UnknownExtent:
        shared = common_divisor((by, *(factor for _, factor in rest.terms)))
        return shared if _divides(shared, rest.const) else 1


def _parts_by_magnitude(rest: Index, by: Extent) -> tuple[Index, Index] | None:
    """large + small, where all of `large` moves in steps of some g that divides `by`, and 0 ≤ small < g."""
    try:
        factors = sorted({abs(f) for _, f in rest.terms}, reverse=True)
        for step in factors[:-1]:
            shared = gcd(by, *(f for _, f in rest.terms if abs(f) >= step))
            small = _canonical({a: f for a, f in rest.terms if f % shared}, rest.const % shared)
            low, high = small.bounds
            if shared > 1 and small.terms and low >= 0 and high < shared:
                large = {a: f for a, f in rest.terms if f % shared == 0}
                return _canonical(large, rest.const - rest.const % shared), small
    except UnknownExtent:
        pass
    return None


def _substitute(atom: Atom, new: Mapping[Var, Index]) -> Index:
    if isinstance(atom, Var):
        return new.get(atom, Index(((atom, 1),)))
    if isinstance(atom, Quotient):
        return atom.of.substitute(new) // atom.by
    if isinstance(atom, Remainder):
        return atom.of.substitute(new) % atom.by
    return indirect(atom.value.substitute(new), atom.extent, sure=atom.sure)


def _vars(index: Index) -> Iterator[Var]:
    for atom, _ in index.terms:
        if isinstance(atom, Var):
            yield atom
        elif isinstance(atom, Indirect):
            yield from atom.value.vars
        else:
            yield from _vars(atom.of)


def _order(atom: Atom) -> tuple[int, str]:
    return (0 if isinstance(atom, Var) else 1, str(atom))


def _canonical(sums: Mapping[Atom, Extent], const: Extent) -> Index:
    terms = {atom: factor for atom, factor in sums.items() if factor != 0}
    for atom in [a for a in terms if isinstance(a, Remainder)]:
        whole = atom.of // atom.by
        for other in [a for a in terms if terms[a] == terms[atom] * atom.by]:
            if whole == Index(((other, 1),)):  # x//a·a + x%a
                joined = atom.of
            elif isinstance(other, Remainder) and whole == other.of:  # (x//a)%b·a + x%a
                joined = atom.of % (atom.by * other.by)
            else:
                continue
            factor = terms.pop(atom)
            del terms[other]
            return _canonical(terms, const) + joined * factor
    if len(terms) < 2:
        return Index(tuple(terms.items()), const)
    return Index(tuple(sorted(terms.items(), key=lambda item: _order(item[0]))), const)


def _text(extent: Extent) -> str:
    """An extent among loop variables: symbols stand in braces, as `n` may be the name of both."""
    return f"{{{extent}}}" if isinstance(extent, SymbolicExtent) else str(extent)


def row_major(shape: Shape) -> Shape:
    """Strides, in elements, of a contiguous array."""
    strides = []
    step: Extent = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def flatten(index: tuple[Index, ...], shape: Shape) -> Index:
    """The offset of an element in a contiguous array."""
    if len(index) == 1 and len(shape) == 1:
        return index[0]
    sums: dict[Atom, Extent] = {}
    const: Extent = 0
    for part, stride in zip(index, row_major(shape)):
        const += part.const * stride
        for atom, factor in part.terms:
            if isinstance(atom, Remainder):  # may make one of two
                return _added_up(index, shape)
            sums[atom] = sums.get(atom, 0) + factor * stride
    return _canonical(sums, const)


def _added_up(index: tuple[Index, ...], shape: Shape) -> Index:
    offset = ZERO
    for part, stride in zip(index, row_major(shape)):
        offset = offset + part * stride
    return offset


def unflatten(offset: Index, shape: Shape) -> tuple[Index, ...]:
    """The inverse of `flatten`."""
    parts = []
    for position, (extent, stride) in enumerate(zip(shape, row_major(shape))):
        part = offset // stride
        parts.append(part % extent if position else part)
    return tuple(parts)


IndexMap = Callable[[tuple[Index, ...]], tuple[Index, ...]]
