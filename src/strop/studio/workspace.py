"""What a studio works on: one session, its halves where it is a training step, and answers that were given before.

A studio answers before its model is compiled, so that the page can show how far that is and cancel it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from strop.core.journal import Journal
from strop.core.problem import Problem
from strop.session import Session
from strop.session.operations import OperationJournal, Operations
from strop.session.steering import Steering
from strop.session.views import SessionEvent

Made = TypeVar("Made")
Opening = Callable[[Journal], Session]
MOST_KEPT = 256  # answers that are kept until the program changes


class Workspace:
    """A session under a name, with answers that stay true until the next change."""

    def __init__(self, session: Session | None, name: str, opening: Opening | None = None) -> None:
        """Of a session that is there, or of one that `opening` makes when it is asked for."""
        self._session, self.name, self._opening = session, name, opening
        self._opener = Operations()
        self._kept: dict[Hashable, Any] = {}
        self._state: Hashable = None
        self._cancelled = threading.Event()

    @property
    def session(self) -> Session:
        if self._session is None:
            raise Problem("STR001", f"`{self.name}` is not open yet", help="ask for `open_model` first")
        return self._session

    @property
    def is_open(self) -> bool:
        return self._session is not None

    def open(self) -> None:
        """Compile the model, unless that was done; cancelled, it can be asked for again."""
        opening = self._opening
        if self._session is None and opening is not None:
            self._session, _ = self._opener.run("open", lambda told: opening(_heard_by(told)))

    @property
    def halves(self) -> Mapping[str, Steering]:
        """The programs of a training step by their names; none of other sessions."""
        return {str(name): half for name, half in self.session.halves.items()} if self.session.training else {}

    @property
    def programs(self) -> list[Steering]:
        """What can be looked at and steered: the session itself, or both halves; nothing before it is open."""
        if not self.is_open:
            return []
        return list(self.halves.values()) or [self.session]

    def half(self, name: str = "") -> Steering:
        """The program of this name: a half of a training step; without a name, the only one or the first."""
        if not name:
            return next(iter(self.halves.values()), self.session)
        if name not in self.halves:
            there = ", ".join(self.halves) or "none: this is no training step"
            raise Problem("STR001", f"there is no half `{name:.40}` of this program", help=f"there are: {there}")
        return self.halves[name]

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` answers, made once for each state of the programs."""
        state = tuple((one.digest, one.applied) for one in self.programs)
        if state != self._state or len(self._kept) >= MOST_KEPT:
            self._kept.clear()
            self._state = state
        if key not in self._kept:
            self._kept[key] = make()
        found: Made = self._kept[key]
        return found

    @contextmanager
    def heard(self, callback: Callable[[SessionEvent], None]) -> Iterator[None]:
        """Have a function called with what happens meanwhile."""
        with ExitStack() as ends:
            for one in self._active:
                ends.callback(one.subscribe(callback))
            yield

    @property
    def _active(self) -> list[Operations | Steering]:
        """Whatever may be doing something."""
        if not self.is_open:
            return [self._opener]
        return [*dict.fromkeys((self.session, *self.programs))]

    def begin(self) -> None:
        """A request is worked on from now on, which nobody has cancelled."""
        self._cancelled.clear()

    def checkpoint(self) -> None:
        """Between two operations of one request: no other begins once it was cancelled."""
        if self._cancelled.is_set():
            raise Problem("STR014", "the operation was cancelled", help="what came before it can be undone")

    def cancel(self) -> bool:
        """Stop what is being done; from any thread."""
        self._cancelled.set()
        return any(one.cancel() for one in self._active)


def _heard_by(told: OperationJournal) -> Journal:
    """A journal for a session to keep: its steps are told, and none begins once the opening was cancelled."""

    def step(name: str) -> None:
        told.checkpoint()
        told.progress(name)

    return Journal(on_step=step)
