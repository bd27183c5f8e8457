"""Calls that take turns: each runs a part of one of its loops at a time, on pointers that may be moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from strop.loops.ir import Buffer, Nest


class Planned(Protocol):
    """What a module needs to know of a planned call."""

    @property
    def nest(self) -> Nest: ...
    @property
    def actual(self) -> Mapping[Buffer, Buffer]: ...


@dataclass(frozen=True)
class Run:
    """Steps `low` … `high`-1 of the strip loop of a call; `shifts` are bytes by which pointers are moved."""

    call: int
    low: int
    high: int
    shifts: tuple[tuple[Buffer, int], ...] = ()


@dataclass(frozen=True)
class Clear:
    """Bytes of a buffer become zeros."""

    buffer: Buffer
    at: int
    size: int


@dataclass(frozen=True)
class Move:
    """Bytes of a buffer go to another place in it; the two may overlap."""

    buffer: Buffer
    to: int
    source: int
    size: int


InterleavedStep = Run | Clear | Move


@dataclass(frozen=True)
class InterleavedNests:
    """Calls, and the turns that they take: a list for each part, which threads run independently of one another."""

    calls: Sequence[Planned]
    parts: tuple[tuple[InterleavedStep, ...], ...]
