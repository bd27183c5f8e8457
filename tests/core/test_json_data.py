"""Data that becomes JSON: fields that take part in comparisons, what is derived, and text for all that is not plain."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from strop.core.json_data import JsonData, as_json


@dataclass(frozen=True)
class Inner(JsonData):
    x: int
    hidden: object = field(default=None, compare=False)

    @property
    def double(self) -> int:
        return 2 * self.x

    derived = ("double",)


@dataclass(frozen=True)
class Outer(JsonData):
    inner: tuple[Inner, ...]
    named: dict[str, Inner]
    path: Path


def test_data_inside_data_becomes_plain() -> None:
    made = Outer((Inner(1, object()),), {"a": Inner(2)}, Path("a/b")).to_json()
    assert made == {"inner": [{"x": 1, "double": 2}], "named": {"a": {"x": 2, "double": 4}}, "path": "a/b"}
    assert json.loads(json.dumps(made)) == made


def test_numbers_and_none_stay_what_they_are() -> None:
    assert as_json((1, 2.5, None, True, "x", {3: frozenset((4,))})) == [1, 2.5, None, True, "x", {"3": [4]}]
