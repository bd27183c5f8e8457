from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from strop.core.values import cached_property, changed
from strop.loops.index import Index, Var
from strop.loops.ir import Apply, Buffer, Const, Guard, Load, Loop, Nest, Store


@dataclass(frozen=True)
class Pair:
    first: int
    second: int = 2

    @cached_property
    def total(self) -> int:
        """Their sum."""
        COUNTED.append(self)
        return self.first + self.second


COUNTED: list[Pair] = []


def test_a_property_is_computed_once_and_makes_no_difference_to_equality():
    COUNTED.clear()
    one, other = Pair(1), Pair(1)
    assert (one.total, one.total, len(COUNTED)) == (3, 3, 1)
    assert one == other and Pair.total.__doc__ == "Their sum."


def test_a_changed_value_keeps_the_other_fields_and_derives_anew():
    one = Pair(1, 5)
    assert one.total == 6
    assert changed(one, first=2) == Pair(2, 5) and changed(one, first=2).total == 7
    with pytest.raises(TypeError, match="third"):
        changed(one, third=3)


X = Buffer("x", "f32", (8,))
AT = Index(((Var("i", 8), 1),))
READ = Load(X, (AT,))
STORE = Store(X, (AT,), Apply("neg", (READ,), "f32"))
VALUES = [X, AT, READ, Guard(AT, 4), Apply("add", (READ, Const(1.0, "f32")), "f32"), STORE, Loop(Var("i", 8)),
          Nest((Loop(Var("i", 8)),), (STORE,), name="k")]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_parts_of_nests_hold_what_they_were_given_and_cannot_be_changed(value):
    fields = type(value).__dataclass_fields__
    assert replace(value) == value == changed(value)
    assert hash(replace(value)) == hash(value)
    assert type(value)(*(getattr(value, name) for name in fields)) == value
    assert type(value)(**{name: getattr(value, name) for name in fields}) == value
    with pytest.raises(FrozenInstanceError):
        setattr(value, next(iter(fields)), None)
