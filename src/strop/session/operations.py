"""What a session is doing: one operation at a time, told step by step, cancelled from any thread.

An operation computes its result without touching the session, and the session takes the result when it is there. So a
cancelled operation leaves nothing behind: whoever waits for it goes on at once, and the thread that works on it ends at
its next step, because what it would have made is not wanted any more.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from strop.core.garbage import undisturbed
from strop.core.journal import Event, Journal, Kind
from strop.core.problem import Problem
from strop.session.views import EventKind, SessionEvent

T = TypeVar("T")
MOST_EVENTS = 10_000  # that are remembered
_POLL = 0.5  # seconds: signals are looked at in between


class OperationJournal(Journal):
    """The journal of one operation: each step of it is told as progress, and a cancelled one goes no further."""

    def __init__(self, on_step: Callable[[str], None], *, keep: bool = True) -> None:
        super().__init__(on_step, keep=keep)
        self.cancelled = threading.Event()
        self.news = threading.Event()  # it has ended, or was cancelled: whoever waits looks

    def cancel(self) -> None:
        self.cancelled.set()
        self.news.set()

    def checkpoint(self) -> None:
        if self.cancelled.is_set():
            raise Problem("STR014", "the operation was cancelled", help="the session is as it was")

    def add(
        self, kind: Kind, subject: object, message: str = "", *, seconds: float | None = None, **data: Any
    ) -> Event:
        self.checkpoint()
        return super().add(kind, subject, message, seconds=seconds, **data)

    @contextmanager
    def step(self, name: str, **data: Any) -> Iterator[None]:
        self.checkpoint()
        with super().step(name, **data):
            yield
        self.checkpoint()


class Operations:
    """The operations of a session, and who wants to hear of them."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._telling = threading.Lock()
        self._events: deque[SessionEvent] = deque(maxlen=MOST_EVENTS)
        self._count = 0
        self._listeners: list[Callable[[SessionEvent], None]] = []
        self._running: OperationJournal | None = None

    # ---- events ----

    def subscribe(self, callback: Callable[[SessionEvent], None]) -> Callable[[], None]:
        """Have a function called with every event from now on, in the thread where it happens; what is returned ends
        that. What the function raises is not heard."""
        with self._telling:
            self._listeners.append(callback)

        def unsubscribe() -> None:
            with self._telling:
                if callback in self._listeners:
                    self._listeners.remove(callback)

        return unsubscribe

    def events(self, after: int = 0) -> tuple[SessionEvent, ...]:
        """What happened after the event of this id, as far as it is remembered."""
        with self._telling:
            return tuple(event for event in self._events if event.id > after)

    def tell(self, kind: EventKind, subject: str, message: str = "", **data: Any) -> None:
        with self._telling:
            self._count += 1
            event = SessionEvent(self._count, kind, subject, message, data)
            self._events.append(event)
            listeners = tuple(self._listeners)
        for listener in listeners:
            try:
                listener(event)
            except Exception:  # a listener that fails must not fail the operation
                continue

    # ---- operations ----

    def cancel(self) -> bool:
        """Have the running operation raise STR014 where it was called; False where none is running."""
        running = self._running
        if running is None:
            return False
        running.cancel()
        return True

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One operation after the other."""
        with self._lock:
            yield

    @contextmanager
    def operation(self, name: str, *, keep: bool = True) -> Iterator[OperationJournal]:
        """An operation in the caller's own thread, which looks at its checkpoints."""
        with self._lock:
            outer = self._running
            journal = OperationJournal(lambda step: self.tell("progress", name, step), keep=keep)
            self._running = journal
            try:
                yield journal
            except Problem as problem:
                self.tell("cancelled" if problem.code == "STR014" else "failed", name, problem.message)
                raise
            finally:
                self._running = outer

    def run(self, name: str, work: Callable[[OperationJournal], T], *, keep: bool = True) -> tuple[T, OperationJournal]:
        """An operation in a thread of its own, so that whoever waits for it can go on when it is cancelled, wherever
        it is. What it makes and what it has written down, where that is to `keep`."""
        with self.operation(name, keep=keep) as journal:
            made: list[T] = []
            failed: list[BaseException] = []

            def worker() -> None:
                try:
                    with undisturbed():
                        made.append(work(journal))
                except BaseException as error:  # raised again where it is waited for
                    failed.append(error)
                finally:
                    journal.news.set()

            threading.Thread(target=worker, name=f"strop {name}", daemon=True).start()
            try:
                while not journal.news.wait(_POLL):
                    pass
            except BaseException:  # a signal
                journal.cancel()
                raise
            if not made and not failed:
                journal.checkpoint()
            if failed:
                raise failed[0]
            return made[0], journal
