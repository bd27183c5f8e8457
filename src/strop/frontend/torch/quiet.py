"""Silence around torch.export: it tells of failures on standard error before it raises, and what it raises will do."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch.export import _trace

#: a traceback per failed meta kernel; a warning per number that depends on data; advice with links
_TALKERS = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes", "torch.export._trace")


@contextmanager
def quietly() -> Iterator[None]:
    """Nothing of torch's reaches standard error; what the user's own `forward` prints does."""
    loggers = [logging.getLogger(name) for name in _TALKERS]
    before = [logger.disabled for logger in loggers]
    names: dict[str, Any] = vars(_trace)
    names["print"] = _nothing  # it prints the half-traced graph
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        names.pop("print", None)
        for logger, disabled in zip(loggers, before):
            logger.disabled = disabled


def _nothing(*_: object, **__: object) -> None:
    return None
