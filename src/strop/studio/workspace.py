"""What a studio works on: one session, its halves where it is a training step, and drawings that were made of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from strop.core.problem import Problem
from strop.session import Session

Made = TypeVar("Made")
MOST_KEPT = 256  # answers that are kept until the program changes


class Workspace:
    """A session under a name, with answers that stay true until the next change."""

    def __init__(self, session: Session, name: str) -> None:
        self.session, self.name = session, name
        self._kept: dict[Hashable, Any] = {}
        self._state: Hashable = None

    def half(self, name: str = "") -> Session:
        """The session itself, or the forward or backward half of a training step."""
        if not name:
            return self.session
        raise Problem("STR001", f"there is no half `{name:.40}` of this program", help="it is no training step")

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` answers, made once for each state of the session."""
        state = (self.session.digest, self.session.applied)
        if state != self._state or len(self._kept) >= MOST_KEPT:
            self._kept.clear()
            self._state = state
        if key not in self._kept:
            self._kept[key] = make()
        found: Made = self._kept[key]
        return found

    def cancel(self) -> bool:
        """Stop what the session is doing; from any thread."""
        return self.session.cancel()
