"""Passes by hand: what each call of `apply` was given, and how a branch holds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from strop.core.passes import Pass
from strop.core.problem import Problem

Edits = tuple[tuple[Pass, ...], ...]  # what each call of `apply` was given


@dataclass(frozen=True)
class EditLine:
    """A branch: what was applied, and what was undone, the last one to be undone at its end."""

    edits: Edits = ()
    undone: Edits = ()


Change = tuple[EditLine, Callable[[], str]]  # what a branch becomes, and how that is told


def parsed(passes: Sequence[Pass | str]) -> tuple[Pass, ...]:
    """What a caller gave, if it is passes whose fields hold what they may."""
    found = [one for given in passes for one in (Pass.parse_all(given) if isinstance(given, str) else [given])]
    for one in found:
        if not isinstance(one, Pass):
            raise Problem("STR001", f"a pass or the text of passes is applied, got {one!r:.60}",
                          help="session.space() lists what can be")  # fmt: skip
        if not (verdict := one.well_formed()):
            raise Problem("STR301", f"{type(one).title}: {verdict.why}", help="docs/passes.md has every pass")
        if one.level == "partition":
            raise Problem("STR301", f"{one}: a session holds a forward graph, of which nothing is kept for backward",
                          help="Session(model, args, training=True).partition(…) divides a training step")  # fmt: skip
    return tuple(found)


def text_of(passes: Sequence[Pass]) -> str:
    return " ".join(map(str, passes))


def flat(edits: Edits) -> tuple[Pass, ...]:
    return tuple(one for passes in edits for one in passes)
