"""A sub-computation that a recording executed, and where it is in the source."""

from __future__ import annotations

from dataclasses import dataclass

from oracle_flow import Place, parts_of, place_of
from oracle_record import Op


@dataclass(frozen=True)
class Found:
    """A sub-computation that was executed."""

    family: str
    variant: str
    place: Place
    parts: tuple[Place, ...]
    ops: tuple[str, ...]


def found_at(family: str, variant: str, ops: list[Op]) -> Found | None:
    place = place_of(ops)
    if place is None:
        return None
    return Found(family, variant, place, tuple(parts_of(ops)), tuple(op.name for op in ops))
