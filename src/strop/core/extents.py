"""Extents that are not known yet: polynomials over symbols, each symbol with bounds.

    n, m = symbol("n", 1, 64), symbol("m", 2, 8)
    128 * (n + 1)        128*n+128
    n * m // m           n
    n < 65               True: the bounds decide it
    n < 32               raises `UnknownExtent` (STR203): they do not

An extent is an `int` or a `SymbolicExtent`. Equality is structural: `==` says that two extents are the same expression,
so they are equal for all values of the symbols; `!=` does not say that they differ for all of them. Order, truth and
division answer for all values at once or raise `UnknownExtent`, and so does whatever asks a symbolic extent for a
number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from math import gcd, prod
from operator import and_
from typing import Any, NoReturn, Union

from strop.core.problem import Problem

#: The second member is `SymbolicExtent`. It is declared as `Any` since layout, schedules and code generation refuse
#: symbolic programs as a whole (STR307) and compute with integers only; a precise union would ask each of their
#: functions to rule symbols out again.
Extent = Union[int, Any]
Shape = tuple[Extent, ...]


class UnknownExtent(Problem):
    """A question about symbolic extents whose answer depends on the values of the symbols."""

    def __init__(self, question: str, *extents: Extent, where: object = "") -> None:
        known = ", ".join(map(str, symbols(extents)))
        super().__init__(
            "STR203",
            f"{question} depends on the value of {known}",
            where=where,
            help="give the symbol bounds that decide it, or a number in its place",
        )

    def within(self, thing: str, where: object = "") -> UnknownExtent:
        """The same about a thing, at its place."""
        self.message, self.where = f"{thing}: {self.message}", where or self.where
        return self


@dataclass(frozen=True, order=True)
class Symbol:
    """An integer that is known when the program runs: low ≤ value ≤ high."""

    name: str
    low: int
    high: int

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise Problem("STR001", f"a symbol cannot be called {self.name!r}", help="choose a name such as `batch`")
        if not 0 <= self.low < self.high:
            raise Problem(
                "STR001",
                f"the bounds {self.low}..{self.high} of symbol `{self.name}` are not those of an extent",
                help="choose 0 ≤ low < high; an extent of one value is a number",
            )

    def __str__(self) -> str:
        return f"{self.name}:{self.low}..{self.high}"


Monomial = tuple[Symbol, ...]  # a product of symbols in order, a square as a symbol twice; () is the constant
_MOST_CORNERS = 8  # symbols of a polynomial whose range is found at the corners of theirs


@dataclass(frozen=True)
class SymbolicExtent:
    """Σ coefficient·monomial with at least one symbol: no monomial twice, no zero coefficient, high degrees first.

    Its text is the expression, `2*n`; its `repr`, which types print, adds the bounds: `2*n:2..128`.
    """

    terms: tuple[tuple[Monomial, int], ...]

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """Numbers between which the value lies: its smallest and largest one where no symbol is squared."""
        known = self.symbols
        if len(known) <= _MOST_CORNERS and all(len(set(monomial)) == len(monomial) for monomial, _ in self.terms):
            # linear in each symbol, so the extremes lie at corners
            corners = product(*((symbol.low, symbol.high) for symbol in known))
            values = [self._at(dict(zip(known, corner))) for corner in corners]
            return min(values), max(values)
        low = high = 0
        for monomial, factor in self.terms:
            ends = (factor * prod(s.low for s in monomial), factor * prod(s.high for s in monomial))
            low, high = low + min(ends), high + max(ends)
        return low, high

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        return tuple(sorted({symbol for monomial, _ in self.terms for symbol in monomial}))

    def evaluate(self, values: Mapping[str, int]) -> int:
        """The number where the symbols, by name, have these values."""
        return self._at({symbol: values[symbol.name] for symbol in self.symbols})

    def _at(self, values: Mapping[Symbol, int]) -> int:
        return sum(factor * prod(values[symbol] for symbol in monomial) for monomial, factor in self.terms)

    # ---- arithmetic ----

    def __add__(self, other: Extent) -> Extent:
        return _polynomial((*self.terms, *_terms(other, self)))

    __radd__ = __add__

    def __neg__(self) -> Extent:
        return self * -1

    def __sub__(self, other: Extent) -> Extent:
        return self + other * -1

    def __rsub__(self, other: Extent) -> Extent:
        return other + self * -1

    def __mul__(self, other: Extent) -> Extent:
        pairs = product(self.terms, _terms(other, self))
        return _polynomial((tuple(sorted((*a, *b))), x * y) for (a, x), (b, y) in pairs)

    __rmul__ = __mul__

    def __abs__(self) -> Extent:
        return self if self >= 0 else -self

    def __floordiv__(self, by: Extent) -> Extent:
        return _floor_divided(self, by)

    def __rfloordiv__(self, of: Extent) -> Extent:
        return _floor_divided(of, self)

    def __mod__(self, by: Extent) -> Extent:
        return self - self // by * by

    def __rmod__(self, of: Extent) -> Extent:
        return of - of // self * self

    # ---- questions that the bounds answer, or do not ----

    def __lt__(self, other: Extent) -> bool:
        return _is_positive(other - self, f"{self} < {other}")

    def __le__(self, other: Extent) -> bool:
        return not _is_positive(self - other, f"{self} <= {other}")

    def __gt__(self, other: Extent) -> bool:
        return _is_positive(self - other, f"{self} > {other}")

    def __ge__(self, other: Extent) -> bool:
        return not _is_positive(other - self, f"{self} >= {other}")

    def __bool__(self) -> bool:
        low, high = self.bounds
        if low <= 0 <= high:
            raise UnknownExtent(f"whether {self} is zero", self)
        return True

    # ---- where only a number will do ----

    def _no_number(self, *_: object) -> NoReturn:
        raise UnknownExtent(f"which number {self} is", self)

    __index__ = __int__ = __float__ = __round__ = __ceil__ = __floor__ = _no_number
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __lshift__ = __rshift__ = _no_number

    # ---- text ----

    def __str__(self) -> str:
        return "+".join(_term_text(factor, monomial) for monomial, factor in self.terms).replace("+-", "-")

    def __repr__(self) -> str:
        low, high = self.bounds
        return f"{self}:{low}..{high}"


def symbol(name: str, low: int, high: int) -> Extent:
    """An extent between two bounds; a number where both are the same."""
    return low if low == high else SymbolicExtent((((Symbol(name, low, high),), 1),))


def is_number(extent: Extent) -> bool:
    return not isinstance(extent, SymbolicExtent)


def symbols(extents: Iterable[Extent]) -> tuple[Symbol, ...]:
    """The symbols that occur in some extents, by name."""
    return tuple(sorted({s for extent in extents if isinstance(extent, SymbolicExtent) for s in extent.symbols}))


def bounds(extent: Extent) -> tuple[int, int]:
    """Numbers between which an extent lies."""
    return extent.bounds if isinstance(extent, SymbolicExtent) else (extent, extent)


def evaluate(extent: Extent, values: Mapping[str, int]) -> int:
    return extent.evaluate(values) if isinstance(extent, SymbolicExtent) else extent


def common_divisor(extents: Sequence[Extent]) -> Extent:
    """A number times a product of symbols that divides all of these without remainder."""
    terms = [term for extent in extents for term in _terms(extent)]
    if not terms:
        return 0
    shared = reduce(and_, (Counter(monomial) for monomial, _ in terms))
    return _polynomial([(tuple(sorted(shared.elements())), gcd(*(factor for _, factor in terms)))])


def ambiguity(found: Iterable[Symbol], known: dict[str, Symbol]) -> str:
    """Which name stands for two symbols, as an error tells it, or nothing; `known` collects the symbols by name."""
    for one in found:
        first = known.setdefault(one.name, one)
        if first != one:
            return f"symbol `{one.name}` has the bounds {one.low}..{one.high}, elsewhere {first.low}..{first.high}"
    return ""


def _terms(extent: Extent, beside: Extent = 0) -> Sequence[tuple[Monomial, int]]:
    if isinstance(extent, SymbolicExtent):
        return extent.terms
    if not isinstance(extent, int):
        raise UnknownExtent(f"which number {beside} is", beside)
    return (((), extent),) if extent else ()


def _polynomial(terms: Iterable[tuple[Monomial, int]]) -> Extent:
    sums: dict[Monomial, int] = {}
    for monomial, factor in terms:
        sums[monomial] = sums.get(monomial, 0) + factor
    kept = [(monomial, factor) for monomial, factor in sums.items() if factor]
    if all(not monomial for monomial, _ in kept):
        return sum(factor for _, factor in kept)
    return SymbolicExtent(tuple(sorted(kept, key=_order)))


def _order(term: tuple[Monomial, int]) -> tuple[int, Monomial]:
    return -len(term[0]), term[0]


def _term_text(factor: int, monomial: Monomial) -> str:
    text = "*".join(symbol.name for symbol in monomial)
    if not text:
        return str(factor)
    return text if factor == 1 else f"-{text}" if factor == -1 else f"{factor}*{text}"


def _is_positive(difference: Extent, question: str) -> bool:
    low, high = bounds(difference)
    if low > 0 or high <= 0:
        return low > 0
    raise UnknownExtent(f"whether {question}", difference)


def _floor_divided(of: Extent, by: Extent) -> Extent:
    """⌊of / by⌋ where it is one polynomial for all values of the symbols."""
    if by == 0:
        raise ZeroDivisionError(f"{of} // 0")
    if bounds(by)[0] > 0:
        whole, rest = _divided(of, by)
        low, high = bounds(rest)
        if is_number(by):
            if low // by == high // by:
                return whole + low // by
        elif low >= 0 and bounds(by - rest)[0] > 0:
            return whole
        elif high < 0 and bounds(by + rest)[0] >= 0:
            return whole - 1
    raise UnknownExtent(f"({of}) // ({by})", of, by)


def _divided(of: Extent, by: Extent) -> tuple[Extent, Extent]:
    """of = whole·by + rest, by long division of polynomials with integer coefficients."""
    leading, divisor = _terms(by)[0]
    whole: Extent = 0
    rest: Extent = 0
    while of != 0:
        monomial, factor = _terms(of)[0]
        first = _polynomial([(monomial, factor)])
        quotient = _without(monomial, leading)
        if quotient is not None and factor // divisor:
            step = _polynomial([(quotient, factor // divisor)])
            whole, of = whole + step, of - step * by
        else:
            rest, of = rest + first, of - first
    return whole, rest


def _without(monomial: Monomial, taken: Monomial) -> Monomial | None:
    """The product of symbols that is left when another is divided out; None where that does not divide it."""
    left = list(monomial)
    for symbol in taken:
        if symbol not in left:
            return None
        left.remove(symbol)
    return tuple(left)
