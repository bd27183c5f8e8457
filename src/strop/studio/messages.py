"""What the page and the server say to each other over the WebSocket: JSON, checked before anything is done.

    {"id": 7, "do": "why_not", "with": {"a": "conv1", "b": "relu"}}      a request
    {"id": 7, "result": {...}}                                           its answer
    {"id": 7, "error": {"code": …, "message": …, "where": …, "help": …}} or its refusal
    {"id": 7, "progress": "schedule", "seconds": 0.7}                    while it takes longer than half a second

A request names one of the commands that the server knows, and gives text, numbers and lists of text. Nothing in it is
evaluated, imported or opened as a file.
"""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard, get_type_hints

from strop.core.problem import Problem

MOST_BYTES = 64 << 10  # of a request
MOST_TEXTS = 10_000  # in a list
MOST_ID = 2**53  # what a number of JavaScript counts exactly


@dataclass(frozen=True)
class Request:
    """A message of the page that has the right form."""

    id: int
    do: str
    given: Mapping[str, Any]


@dataclass(frozen=True)
class Command:
    """Something that the page can ask for: a function of the workspace, and what it takes by name."""

    name: str
    run: Callable[..., Any]
    takes: Mapping[str, Any]  # name → type: str, int, bool or list[str]
    required: frozenset[str]

    @staticmethod
    def of(function: Callable[..., Any]) -> Command:
        """The command that a function is: what it takes is what its parameters behind the first one say."""
        parameters = list(inspect.signature(function).parameters.values())[1:]
        hints = get_type_hints(function)
        takes = {one.name: hints[one.name] for one in parameters}
        required = frozenset(one.name for one in parameters if one.default is inspect.Parameter.empty)
        return Command(function.__name__, function, takes, required)

    def check(self, given: Mapping[str, Any]) -> None:
        """Raise where something is missing, unknown or of another kind."""
        for name in given:
            if name not in self.takes:
                raise refused(f"`{self.name}` does not take `{name:.40}`", f"it takes: {', '.join(self.takes)}")
        for name in sorted(self.required - given.keys()):
            raise refused(f"`{self.name}` needs `{name}`")
        for name, value in given.items():
            if not _fits(value, self.takes[name]):
                wanted = {str: "text", int: "a whole number", bool: "true or false"}.get(self.takes[name], "texts")
                raise refused(f"`{name}` of `{self.name}` has to be {wanted}")


def read(text: str) -> Request:
    """The request that a message holds; a Problem where it holds none."""
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise refused(f"the message has more than {MOST_BYTES >> 10} kB")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refused(f"the message is not JSON ({error.__class__.__name__})") from error
    if not isinstance(data, dict) or not data.keys() <= {"id", "do", "with"}:
        raise refused("the message is no request", 'a request is {"id": 1, "do": "overview", "with": {}}')
    number, do, given = data.get("id"), data.get("do"), data.get("with", {})
    if not _is_id(number):
        raise refused("`id` of a request has to be a whole number from 0 to 2⁵³")
    if not isinstance(do, str) or not isinstance(given, dict):
        raise refused("`do` of a request has to be text and `with` an object")
    return Request(number, do, given)


def number_in(text: str) -> int | None:
    """The id that a refused message carries, so that its answer can name it."""
    try:
        number = json.loads(text)["id"] if len(text) <= MOST_BYTES else None
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    return number if _is_id(number) else None


def refused(message: str, help: str = "") -> Problem:
    return Problem("STR020", message, help=help)


def _is_id(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_ID


def _fits(value: object, kind: Any) -> bool:
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < MOST_ID
    if kind in (str, bool):
        return isinstance(value, kind)
    return isinstance(value, list) and len(value) <= MOST_TEXTS and all(isinstance(one, str) for one in value)


class RateLimit:
    """So many messages per second, and as many at once after a pause of a few seconds."""

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = per_second, burst, clock
        self._left, self._last = float(burst), clock()

    def allows(self) -> bool:
        """Whether one more may come now."""
        now = self._clock()
        self._left = min(float(self._burst), self._left + (now - self._last) * self._rate)
        self._last = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
