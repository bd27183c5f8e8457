"""Planner steps of extensions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from strop.core.extensions import Extension, described, put, refused, registry
from strop.core.journal import Journal
from strop.core.passes import Pass
from strop.schedule.planners import ADDED, PIPELINE, Planner, PlannerStep
from strop.schedule.program import Program

#: what an extension writes: which passes a program gets
Plan = Callable[[Program], Iterable[Pass] | None]
F = TypeVar("F", bound=Plan)


def step(name: str, planner: F | None = None, *, after: str, version: str = "") -> F | Callable[[F], F]:
    """A step of the compiler behind one of Strop's own. The planner looks at the program and returns the passes that it
    should get; each is checked and applied. Without a planner, a decorator.

    Steps behind the same one run in the order in which they were registered.
    """

    def register(planner: F) -> F:
        if not callable(planner):
            raise refused("planner step", name, "a planner is a function from a program to passes")
        if after not in [known.name for known in PIPELINE]:
            names = ", ".join(known.name for known in PIPELINE)
            raise refused(
                "planner step", name, f"there is no step `{after}` that it could follow", help=f"steps: {names}"
            )
        extension = described("planner step", name, (planner, after), version)
        added = (PlannerStep(name, _guarded(planner, extension)), after)
        registry.add(extension, lambda: put(ADDED, name, added), lambda: _owner(name))
        return planner

    return register if planner is None else register(planner)


def _owner(name: str) -> str:
    return "Strop" if name == "capture" or any(known.name == name for known in PIPELINE) else ""


def _guarded(planner: Plan, extension: Extension) -> Planner:
    def guarded(program: Program, journal: Journal, edits: Sequence[Pass] = ()) -> Program:
        with extension.blamed():
            found = planner(program)
            passes = () if found is None else (found,) if isinstance(found, str | Pass) else tuple(found)
        strange = next((one for one in passes if not isinstance(one, Pass)), None)
        if strange is not None:
            raise extension.problem(f"returned {strange!r:.60}: a planner returns passes")
        with extension.blamed():
            program = program.then(*passes, check=True)
        for one in passes:
            journal.add("choice", extension.name, str(one))
        return program

    return guarded
