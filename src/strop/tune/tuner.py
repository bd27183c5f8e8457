"""Tuning models: searches of all their nests, a round at a time, on processes or a cluster, until time is up.

Each round that comes back is committed to the database before anything else happens. So whatever ends a run, Ctrl-C or
a power cut, costs the rounds that were on their way; the same command goes on with the next ones. Which nest comes next
depends on what it costs its models and on how far its search is. When it ends, every search has had its rounds, in
whatever order: the database is the same for any number of workers, on one machine or many.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from strop.core.problem import Problem
from strop.core.tasks import Done, TaskPool
from strop.core.tuning_database import MEASUREMENT, TuningDatabase, TuningRecord
from strop.schedule.tuned import tuning_version
from strop.tune.nests import NestGroup
from strop.tune.search import ROUNDS, SearchState, SearchTask

Progress = Callable[[str], None]

SEARCH = ("strop.tune.search", "search_round")  # what a pool for tuning calls


@dataclass
class NestSearch:
    """The search of one nest, as the database knows it."""

    group: NestGroup
    state: SearchState = field(default_factory=SearchState)
    record: TuningRecord | None = None
    failed: str = ""
    measured: bool = False  # in this run
    running: bool = False
    begun: float = 0.0

    @property
    def ended(self) -> bool:
        return self.state.ended or bool(self.failed)

    @property
    def urgency(self) -> float:
        return self.group.weight / (1 + self.state.rounds)


class Tuner:
    def __init__(
        self, groups: Sequence[NestGroup], database: TuningDatabase, progress: Progress = lambda text: None
    ) -> None:
        self.database, self.progress = database, progress
        self.searches = [_resumed(group, database) for group in groups]
        self.start = time.monotonic()
        self._rounds, self._busy = 0, 0.0

    def search(self, pool: TaskPool, seconds: float | None) -> None:
        """Rounds of every search that has not ended, while there is time."""
        ends = self.start + seconds if seconds is not None else None
        while True:
            while pool.free and not _over(ends) and (one := self._next()) is not None:
                one.running, one.begun = True, time.monotonic()
                pool.submit(SearchTask(one.group.tuned, one.state, tuning_version()))
            self.tell(pool, ends)
            if not pool.running or _over(ends):
                return
            done = pool.wait(None if ends is None else max(0.0, ends - time.monotonic()))
            if done is not None:
                self._take(done)

    def _next(self) -> NestSearch | None:
        waiting = [one for one in self.searches if not one.ended and not one.running]
        return max(waiting, key=lambda one: one.urgency, default=None)

    def _take(self, done: Done) -> None:
        one = next(one for one in self.searches if one.running and one.group.tuned == done.task.nest)
        one.running = False
        self._rounds += 1
        self._busy += time.monotonic() - one.begun
        if done.problem is not None:
            one.failed = done.problem.message if isinstance(done.problem, Problem) else str(done.problem)
            return
        one.state = done.result
        record, before = one.state.record(one.group.tuned), one.record
        if before is not None and before.source == MEASUREMENT:  # which stays, until it is measured again
            record = replace(record, passes=before.passes, source=MEASUREMENT, ratio=before.ratio)
        self.database.merge([record])  # another process may have come further with the same search
        one.record = record

    # ---- what people are told ----

    @property
    def gain(self) -> float:
        """The time of the models with the best schedules so far over that with default ones, by the estimate."""
        before = sum(one.group.weight for one in self.searches)
        after = sum(one.group.weight * (one.record.ratio if one.record is not None else 1.0) for one in self.searches)
        return after / before if before else 1.0

    def tell(self, pool: TaskPool, ends: float | None) -> None:
        ended = sum(one.ended for one in self.searches)
        rounds = sum(one.state.rounds for one in self.searches)
        told = f"tuning {ended} of {len(self.searches)} nests, {rounds} rounds, best so far {self.gain:.3f} of the time"
        left = self._seconds_left(pool)
        if ends is not None:
            left = min(left, ends - time.monotonic()) if left is not None else ends - time.monotonic()
        self.progress(told + (f", ends in about {max(0.0, left):.0f} s" if left is not None else ""))

    def _seconds_left(self, pool: TaskPool) -> float | None:
        """By what a round took so far; a search is taken to need all of its rounds."""
        if not self._rounds:
            return None
        rounds = sum(ROUNDS - one.state.rounds for one in self.searches if not one.ended)
        return rounds * self._busy / self._rounds / max(1, pool.running)


def _over(ends: float | None) -> bool:
    return ends is not None and time.monotonic() >= ends


def _resumed(group: NestGroup, database: TuningDatabase) -> NestSearch:
    """A search where an earlier run has left it."""
    record = database.get(group.tuned.key)
    if record is None:
        return NestSearch(group)
    try:
        return NestSearch(group, SearchState.from_json(record.state), record)
    except (ValueError, TypeError, KeyError, AttributeError):
        return NestSearch(group)  # of a stranger: the search starts anew
