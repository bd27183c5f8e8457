"""What operators with graphs inside need to know of the capture that is under way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Maker:
    """Who compiles bodies, for the model that is captured: bodies made under another `key` are others."""

    key: str
    make: Callable[[Any], Callable[..., Any]]


_maker: ContextVar[Maker | None] = ContextVar("maker", default=None)
_keeper: ContextVar[dict[str, Any] | None] = ContextVar("keeper", default=None)
_deferring: ContextVar[bool] = ContextVar("deferring", default=False)


@contextmanager
def capturing(keeper: dict[str, Any], *, deferring: bool) -> Iterator[None]:
    """Inside, bodies that library nodes call are kept alive by `keeper`.

    With `deferring`, conditions that only data can tell become library nodes; without, they are reported, so that the
    caller may bind the inputs behind them and get a straight program.
    """
    kept, deferred = _keeper.set(keeper), _deferring.set(deferring)
    try:
        yield
    finally:
        _keeper.reset(kept)
        _deferring.reset(deferred)


@contextmanager
def making(maker: Maker) -> Iterator[None]:
    """Inside, this is who compiles the bodies that library nodes call."""
    before = _maker.set(maker)
    try:
        yield
    finally:
        _maker.reset(before)


def maker() -> Maker | None:
    return _maker.get()


def keep(key: str, body: Any) -> None:
    keeper = _keeper.get()
    if keeper is not None:
        keeper[key] = body


def deferring() -> bool:
    return _deferring.get()


def is_capturing() -> bool:
    """Whether constants are being folded: what runs now runs before anybody asked for a result."""
    return _keeper.get() is not None
