"""The search for a better schedule of one nest, in rounds, by the static cost model alone.

A round draws schedules at random, and looks near the best ones so far: at every other number, order and pass that the
`space` of a pass lists. All are guessed; the best by their guess are estimated by their assembly, packing of what
changes from call to call included. What a round does depends on the nest, the machine and the rounds before it, not on
time, chance or where it runs. So a search that was interrupted goes on to the same end, on any machine.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.core.tuning_database import ESTIMATE, TuningKey, TuningRecord
from strop.cost.model import Cost, estimate, guess
from strop.loops.analysis import contraction
from strop.loops.calls import canonicalise
from strop.loops.ir import CONSTANT, Nest
from strop.loops.passes.blocking import Subtotal
from strop.loops.passes.loop_modes import Parallelise, ready
from strop.loops.passes.primitives import Reset, Serpentine
from strop.loops.passes.targeted import TargetedNest
from strop.schedule.builder import ScheduleBuilder
from strop.schedule.default import parallelise_outer
from strop.schedule.mutations import made, near
from strop.schedule.sampling import draw
from strop.schedule.scheduler import Scheduler
from strop.schedule.sums import shorten_sums
from strop.schedule.tuned import Passes, nest_digest, parsed, target_digest, tuning_version
from strop.target.description import Target

DRAWS = 120  # schedules that a round draws at random
ESTIMATED = 12  # of those that a round has guessed
BEAM = 6  # schedules that the next round looks near
ROUNDS, IDLE_ROUNDS = 12, 3  # a search ends after so many, or after so many in a row that found nothing better
BETTER = 0.995  # of the time of the best so far, from which a schedule counts as better
WORTH = 0.95  # of the default's time by the estimate, from which an estimate alone is believed
#: no schedule follows the first; of the second, whose two directions walk over different rows, the model counts as one
#: what both read: it called a copy five times as fast that was measured to be slower
LEFT_OUT = (Reset, Serpentine)
GIVEN_UP = 1.6  # times the best guess, from which a schedule is not estimated


@dataclass(frozen=True)
class TunedNest:
    """A nest with canonical names, and where it is to run."""

    nest: Nest
    target: Target
    threads: int
    pack: bool

    @property
    def key(self) -> TuningKey:
        return TuningKey(nest_digest(self.nest), target_digest(self.target), tuning_version(), self.threads, self.pack)

    @property
    def shape(self) -> str:
        """What people see of it: the tensors that it reads and writes."""
        read, written = (
            [f"{b.dtype}[{','.join(map(str, b.shape))}]" for b in bs] for bs in (self.nest.reads, self.nest.writes)
        )
        return f"({', '.join(read)}) → {', '.join(written)}"


@dataclass(frozen=True)
class Candidate:
    """A schedule as text, cycles by the estimate of the whole nest, and whether a round has looked near it."""

    passes: str
    cycles: float
    expanded: bool = False


@dataclass(frozen=True)
class SearchState:
    """A search after some rounds. `default` are cycles of the default schedule, `best` others from the best on."""

    rounds: int = 0
    idle: int = 0
    default: float = 0.0
    best: tuple[Candidate, ...] = ()
    guessed: int = 0
    estimated: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)  # why, and how many
    seen: tuple[str, ...] = ()  # digests of all that were estimated

    @property
    def ended(self) -> bool:
        return self.rounds >= ROUNDS or self.idle >= IDLE_ROUNDS

    @property
    def ratio(self) -> float:
        """Of the time of the best schedule to that of the default one."""
        return min(1.0, self.best[0].cycles / self.default) if self.best and self.default else 1.0

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> SearchState:
        data = json.loads(text)
        best = tuple(Candidate(**one) for one in data["best"])
        return SearchState(**{**data, "best": best, "seen": tuple(data["seen"])})

    def record(self, nest: TunedNest) -> TuningRecord:
        """What the database keeps: the best schedule, if the estimate is to be believed, and where to go on.

        Of contractions it is, where it is clearly better. Of rows and copies it is not: of those that it called a
        quarter faster, most were measured to be as fast as before or slower. They keep their default schedules until
        they are measured.
        """
        believed = contraction(nest.nest) is not None and self.ratio <= WORTH
        passes = self.best[0].passes if believed else ""
        ratio = self.ratio if passes else 1.0
        told = (nest.target.name, nest.shape, passes, ESTIMATE, ratio, self.rounds, self.to_json())
        key = nest.key
        return TuningRecord(key.nest, key.target, key.version, key.threads, key.pack, *told)


@dataclass(frozen=True)
class SearchTask:
    """A round of a search, for whoever has time. `version` is that of the process that asks."""

    nest: TunedNest
    state: SearchState
    version: str


def search_round(task: SearchTask) -> SearchState:
    """The state after one more round."""
    if task.version != tuning_version():
        raise Problem("STR506", f"a worker has another version of Strop ({tuning_version()}, not {task.version})",
                      help="install the same one on every node")  # fmt: skip
    return _Round(task.nest, task.state).run()


class _Round:
    def __init__(self, tuned: TunedNest, state: SearchState) -> None:
        self.tuned, self.state = tuned, state
        self.scheduler = Scheduler(tuned.target, tuned.threads, tuned.pack)
        self.default = self.scheduler.default(tuned.nest)
        cost = guess(self.default.nest, tuned.target, tuned.threads)
        self.default_guess, self.pieces = cost.cycles, len(cost.parts)
        self.rng = random.Random(f"{nest_digest(tuned.nest)} {state.rounds}")
        self.rejected: Counter[str] = Counter(state.rejected)

    def run(self) -> SearchState:
        state = self.state
        if not state.rounds:
            state = replace(state, default=self._cycles(self.default))
        seen, known = set(state.seen), {one.passes: replace(one, expanded=True) for one in state.best}
        found: dict[Nest, tuple[float, ScheduleBuilder]] = {}
        guessed = 0
        for recipe in self._candidates(state):
            if recipe.nest == self.default.nest or recipe.nest in found or _digest(recipe) in seen:
                continue
            guessed += 1
            found[recipe.nest] = (self._guessed(recipe), recipe)
        ranked = sorted(found.values(), key=lambda pair: pair[0])
        hopeful = [recipe for cycles, recipe in ranked[:ESTIMATED] if cycles <= GIVEN_UP * ranked[0][0]]
        self.rejected["slower by the guess"] += len(ranked) - len(hopeful)
        for recipe in hopeful:
            known[_text(recipe)] = Candidate(_text(recipe), self._cycles(recipe))
        best = tuple(sorted(known.values(), key=lambda one: (one.cycles, one.passes))[:BEAM])
        self.rejected["slower by the estimate"] += sum(
            known[_text(recipe)].cycles >= state.default for recipe in hopeful
        )
        before = min([state.default, *(one.cycles for one in state.best)])
        improved = bool(best) and best[0].cycles < BETTER * before
        return replace(
            state,
            rounds=state.rounds + 1,
            idle=0 if improved else state.idle + 1,
            best=best,
            guessed=state.guessed + guessed,
            estimated=state.estimated + len(hopeful),
            rejected={name: count for name, count in sorted(self.rejected.items()) if count},
            seen=tuple(sorted(seen | {_digest(recipe) for recipe in hopeful})),
        )

    # ---- candidates ----

    def _candidates(self, state: SearchState) -> Iterator[ScheduleBuilder]:
        start = [self.default] if not state.rounds else []
        new = (self._made(parsed(one.passes) or ()) for one in state.best if not one.expanded)
        for recipe in (*start, *new):
            if recipe is not None:
                yield from self._near(recipe)
        for _ in range(DRAWS):
            drawn = draw(self.tuned.nest, self.tuned.target, self.rng)
            if drawn is None:
                self.rejected["refused by a pass, or too long to compile"] += 1
            elif (recipe := self._made(drawn.passes)) is not None:
                yield recipe

    def _near(self, recipe: ScheduleBuilder) -> Iterator[ScheduleBuilder]:
        """Schedules with one other decision, and with one more pass of those that may follow."""
        for other in near(self.tuned.nest, recipe):
            if (found := self._made(other.passes)) is not None:
                yield found
        here = TargetedNest(recipe.nest, self.tuned.target.lanes("f32"), self.tuned.threads)
        for kind in (kind for kind in Pass.registry.values() if kind.level == "loops" and kind not in LEFT_OUT):
            for one in kind.space(here):
                if (found := self._made((*recipe.passes, one))) is not None:
                    yield found

    def _made(self, passes: Passes) -> ScheduleBuilder | None:
        """The schedule of some passes, its work shared among threads and its long sums in subtotals as the default's
        are: what a schedule computes is as exact as what the default one does."""
        free = tuple(one for one in passes if not isinstance(one, Parallelise | Subtotal))
        recipe = made(self.tuned.nest, free, self.default)
        if recipe is None:
            self.rejected["refused by a pass, or too long to compile"] += 1
            return None
        parallelise_outer(recipe, self.tuned.nest)
        shorten_sums(recipe)
        if not ready(recipe.nest):
            self.rejected["refused by a pass, or too long to compile"] += 1
            return None
        return recipe

    # ---- costs ----

    def _guessed(self, recipe: ScheduleBuilder) -> float:
        costs = [guess(one, self.tuned.target, self.tuned.threads) for one in self._nests(recipe)]
        return self._believable(costs, self.default_guess)

    def _cycles(self, recipe: ScheduleBuilder) -> float:
        costs = [estimate(one, self.tuned.target, self.tuned.threads) for one in self._nests(recipe)]
        return self._believable(costs, self.state.default)

    def _believable(self, costs: Sequence[Cost], default: float) -> float:
        """Cycles of all nests. Of a nest in more pieces than the default's, at least the default's: what one piece has
        fetched the model takes to be there for the others, which read other rows. Measuring may find it faster."""
        cycles = sum(cost.cycles for cost in costs)
        return cycles if len(costs[0].parts) <= self.pieces else max(cycles, default)

    def _nests(self, recipe: ScheduleBuilder) -> Iterator[Nest]:
        """All that runs at every call: the nest, and what packs operands that are no parameters."""
        yield recipe.nest
        for copy in recipe.copies:
            if copy.reads[0].space not in CONSTANT:
                yield self.scheduler.default(canonicalise(copy)[0]).nest


def _digest(recipe: ScheduleBuilder) -> str:
    return hashlib.sha256(_text(recipe).encode()).hexdigest()[:16]


def _text(recipe: ScheduleBuilder) -> str:
    return " ".join(map(str, recipe.passes))
