"""Frozen data that becomes JSON: what sessions answer with, and reports are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

from strop.core.passes import Pass


class JsonData:
    """A dataclass that becomes JSON: its fields that take part in comparisons, and what it has `derived`."""

    derived: ClassVar[tuple[str, ...]] = ()

    def to_json(self) -> dict[str, Any]:
        names = [f.name for f in fields(self) if f.compare]  # type: ignore[arg-type]
        return {name: as_json(getattr(self, name)) for name in (*names, *self.derived)}


def as_json(value: Any) -> Any:
    """Plain data: what is neither a number, a string nor a container becomes its text."""
    if isinstance(value, JsonData):
        return value.to_json()
    if isinstance(value, Pass) or not (is_dataclass(value) or isinstance(value, Mapping | tuple | list | frozenset)):
        return value if value is None or isinstance(value, bool | int | float | str) else str(value)
    if isinstance(value, Mapping):
        return {str(key): as_json(one) for key, one in value.items()}
    if isinstance(value, tuple | list | frozenset):
        return [as_json(one) for one in value]
    return {f.name: as_json(getattr(value, f.name)) for f in fields(value)}
