"""The journal: what was done, where, why, why not, and how long it took, as structured events.

    with journal.step("fuse"):
        journal.add("fusion", "conv1", "relu1 became its epilogue", saved_bytes=802816)
        journal.add("refusal", "pool1", "its window overlaps between rows")

Every front end (command line, tests, a saved session) shows these events and computes nothing of its own.
"""

from __future__ import annotations

import io
import json
import logging
import pickle
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

Kind = Literal[
    "step", "rewrite", "fusion", "refusal", "choice", "fallback", "cache", "time", "check", "note"
]  # fmt: skip
KINDS: tuple[str, ...] = get_args(Kind)

_log = logging.getLogger("strop")
_said: set[tuple[str, str, str]] = set()
_said_lock = threading.Lock()


class StropWarning(UserWarning):
    """Something that the user should know though the program goes on: a fallback, a damaged cache entry."""


@dataclass(frozen=True)
class Event:
    """One thing that happened. `depth` is the number of steps it happened in."""

    kind: Kind
    subject: str
    message: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    depth: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind, "subject": self.subject, "message": self.message,
            "data": self.data, "seconds": self.seconds, "depth": self.depth,
        }  # fmt: skip


class Journal:
    """An append-only list of events. Several threads may write to one journal; steps nest per thread.

    Events outlive the compilation that they tell of. As objects of their own they would lie strewn among those that
    do not, and each would keep a page of Python's allocator (a megabyte) from being given back: they are held in one
    block of bytes, and read from it when somebody looks.

    `on_step` is told the name of each step as it begins, for whoever shows progress. Where nobody will read it, it
    does not `keep` its events, and what only tells may be left out.
    """

    def __init__(self, on_step: Callable[[str], None] | None = None, *, keep: bool = True) -> None:
        self.keeps = keep
        self._written = bytearray()  # see `_pickled`
        self._count = 0
        self._on_step = on_step
        self._lock = threading.Lock()
        self._local = threading.local()

    def add(
        self, kind: Kind, subject: object, message: str = "", *, seconds: float | None = None, **data: Any
    ) -> Event:
        """Record one event; `data` holds whatever a machine may want to read."""
        if kind not in KINDS:
            raise ValueError(f"unknown kind of event `{kind}`; known: {', '.join(KINDS)}")
        event = Event(kind, str(subject), message, data, seconds, self._depth)
        self._append(event)
        _log.debug("%s %s: %s", kind, subject, message)
        return event

    def warn(self, kind: Kind, subject: object, message: str, **data: Any) -> Event:
        """Record an event that the user must see too; the same words are shown once per process."""
        event = self.add(kind, subject, message, **data)
        with _said_lock:
            news = (kind, event.subject, message) not in _said
            _said.add((kind, event.subject, message))
        if news:
            warnings.warn(f"{subject}: {message}" if str(subject) else message, StropWarning, stacklevel=3)
        return event

    @contextmanager
    def step(self, name: str, **data: Any) -> Iterator[None]:
        """Time what happens inside; its event stands before those of the inside, even if an exception leaves it."""
        event = Event("step", name, "", data, None, self._depth)
        position = self._append(event)
        if self._on_step is not None:
            self._on_step(name)
        self._local.depth = event.depth + 1
        start = time.perf_counter()
        outcome = "failed"
        try:
            yield
            outcome = ""
        finally:
            self._local.depth = event.depth
            if self.keeps:
                done = replace(event, seconds=time.perf_counter() - start, message=outcome)
                with self._lock:
                    self._written += _pickled(done, position)

    def take(self, events: Iterable[Event]) -> None:
        """The events of another journal, behind those of this one."""
        for event in events:
            self._append(replace(event, depth=event.depth + self._depth))

    def _append(self, event: Event) -> int:
        if not self.keeps:
            return 0
        with self._lock:
            self._written += _pickled(event)
            self._count += 1
            return self._count - 1

    @property
    def events(self) -> list[Event]:
        """All events, in order."""
        with self._lock:
            stream = io.BytesIO(self._written)
        found: list[Event] = []
        size = len(stream.getbuffer())
        while stream.tell() < size:
            position, event = pickle.load(stream)
            if position is None:
                found.append(event)
            else:
                found[position] = event
        return found

    def progress(self, text: str) -> None:
        """Tell whoever shows progress how far the current step is; nothing is recorded."""
        if self._on_step is not None:
            self._on_step(text)

    def of(self, *kinds: Kind) -> list[Event]:
        """The events of these kinds, in order."""
        return [event for event in self.events if event.kind in kinds]

    def count(self) -> dict[str, int]:
        """How many events of each kind, in the order of `KINDS`."""
        found = Counter(event.kind for event in self.events)
        return {kind: found[kind] for kind in KINDS if found[kind]}  # type: ignore[index]

    def to_json(self, *, indent: int | None = None) -> str:
        """All events as a JSON list."""
        return json.dumps([event.to_json() for event in self.events], default=str, indent=indent)

    def explain(self, *, full: bool = False) -> str:
        """The events for people. Runs of events that say the same of many subjects share a line unless `full`."""
        if not self._count:
            return "nothing was recorded"
        lines = []
        for run in _runs(self.events, full):
            lines.append(_line(run))
        counts = ", ".join(f"{n} {_plural(kind, n)}" for kind, n in self.count().items())
        return "\n".join([*lines, "", counts])

    @property
    def _depth(self) -> int:
        return getattr(self._local, "depth", 0)


def _pickled(event: Event, position: int | None = None) -> bytes:
    """A new event, or what the event at some position has become. Data that cannot be pickled is told by its text."""
    try:
        return pickle.dumps((position, event))
    except (pickle.PicklingError, AttributeError, TypeError):
        return pickle.dumps((position, replace(event, data={name: str(value) for name, value in event.data.items()})))


def forget_warnings() -> None:
    """Let `Journal.warn` show again what it has shown before."""
    with _said_lock:
        _said.clear()


def _runs(events: list[Event], full: bool) -> Iterator[list[Event]]:
    run: list[Event] = []
    for event in events:
        same = run and (event.kind, event.message, event.depth) == (run[0].kind, run[0].message, run[0].depth)
        if run and (full or not same or event.kind == "step"):
            yield run
            run = []
        run.append(event)
    if run:
        yield run


def _line(run: list[Event]) -> str:
    event = run[0]
    indent = "  " * event.depth
    if event.kind == "step":
        label = indent + event.subject + (f"  ({event.message})" if event.message else "")
        return f"{label:<60}{_duration(event.seconds):>10}"
    subjects = ", ".join(e.subject for e in run[:3]) + (f" and {len(run) - 3} more" if len(run) > 3 else "")
    told = f"{indent}{event.kind:<9} {subjects}" + (f": {event.message}" if event.message else "")
    total = sum(e.seconds or 0.0 for e in run)
    return told + (f"  {_duration(total)}" if total else "")


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "…"
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _plural(word: str, count: int) -> str:
    if count == 1 or word == "cache":
        return word
    return word + "s"
