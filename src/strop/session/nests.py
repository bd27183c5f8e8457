"""The nests of a session as a sequence that prints, and finds them by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import overload

from strop.core.problem import Problem
from strop.draw.notebook import text_html
from strop.loops.calls import Call
from strop.loops.ir import Nest
from strop.loops.lowered import LibraryCall
from strop.schedule.program import as_step


@dataclass(frozen=True)
class Nests(Sequence["Nest | LibraryCall"]):
    """Steps of a program, by position or by name; printing shows all of them."""

    steps: tuple[Nest | LibraryCall, ...]
    recipes: Mapping[str, tuple[str, ...]]  # nest → the passes that brought it from the plainest form to this one

    @overload
    def __getitem__(self, which: int | str) -> Nest | LibraryCall: ...
    @overload
    def __getitem__(self, which: slice) -> Nests: ...
    def __getitem__(self, which: int | str | slice) -> Nest | LibraryCall | Nests:
        if isinstance(which, slice):
            return replace(self, steps=self.steps[which])
        if isinstance(which, int):
            return self.steps[which]
        found = next((step for step in self.steps if step.name == which), None)
        if found is None:
            raise Problem("STR304", f"there is no nest `{which}`", help=f"there are: {', '.join(self.names)}")
        return found

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Nest | LibraryCall]:
        return iter(self.steps)

    @property
    def names(self) -> list[str]:
        return [step.name for step in self.steps]

    def __str__(self) -> str:
        return "\n\n".join(self._text(step) for step in self.steps) or "no nests"

    def _repr_html_(self) -> str:
        """The nests as a notebook shows them."""
        return text_html(str(self))

    def _text(self, step: Nest | LibraryCall) -> str:
        return "\n".join([str(step), *(f"  # {one}" for one in self.recipes.get(step.name, ()))])


def readable(steps: Sequence[Call | LibraryCall]) -> Nests:
    """Scheduled nests under the names that the model gave."""
    recipes = {
        step.name: tuple(map(str, step.passes))
        for step in steps
        if isinstance(step, Call) and step.passes and step.name == step.source.name
    }
    return Nests(tuple(map(as_step, steps)), recipes)
