"""`strop fix`: the edits of a scan's findings, round after round in memory, until nothing is left to apply.

An edit can uncover another (a function that has become a graph can get a signature), and of two that overlap one has to
wait. So each round looks at the project as if the edits of the last one were written; what is shown and what is written
is the end of it, and a second `strop fix` finds nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from strop.source.facts import Finding, Scan
from strop.source.fix.edit import Plan, Refused, plan
from strop.source.project.files import pretending

_ROUNDS = 10  # no rule needs more; a pair of rules that undo each other ends here


@dataclass
class Fixed:
    """What the edits come to: not written until `plan.write()`."""

    plan: Plan
    applied: list[Finding] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    left: Scan = field(default_factory=Scan)  #: what is found afterwards

    @property
    def files(self) -> list[str]:
        return self.plan.files


def wanted(scan: Scan, *, unsafe: bool) -> list[Finding]:
    """The findings whose edits may be applied; what is unsafe never is."""
    allowed = ("safe", "safe-if") if unsafe else ("safe",)
    return [finding for finding in scan.findings if finding.fixable and finding.safety in allowed]


def fix(
    look: Callable[[], Scan],
    *,
    unsafe: bool,
    accept: Callable[[Finding], bool] = lambda finding: True,
    first: Scan | None = None,
) -> Fixed:
    """Plan edits and look again until a round changes nothing; findings that `accept` turns down are left alone.

    `first` is what is found in the files as they are, where somebody has looked already.
    """
    done = Fixed(Plan(), left=look() if first is None else first)
    for _ in range(_ROUNDS):
        with pretending(_contents(done.plan)):
            planned = plan(filter(accept, wanted(done.left, unsafe=unsafe)))
        done.refused = planned.refused
        if not planned.files:
            break
        for file in planned.files:
            done.plan.before.setdefault(file, planned.before[file])
            done.plan.after[file] = planned.after[file]
        done.applied += planned.applied
        with pretending(_contents(done.plan)):
            done.left = look()
    return done


def _contents(made: Plan) -> dict[str, bytes]:
    return {file: made.before[file].encode(text) for file, text in made.after.items()}
