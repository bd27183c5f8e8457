"""Work in a forked child, whose memory goes when it ends.

A compilation makes tens of megabytes of Python objects. Its result is small, but what it leaves strewn over the pages
of Python's allocator keeps them in the process for good. Where memory matters (`release=True`), the work is done in a
child: a fork shares everything with its parent, so nothing has to be sent there, and only bytes and events come back.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from typing import IO, NoReturn

from strop.core.journal import Event, Journal

_PR_SET_PDEATHSIG = 1


def made_in_child(make: Callable[[Journal], bytes], journal: Journal) -> bytes:
    """What `make` returns, made in a child; or here, where forking would not be safe or the child fails."""
    reason = _unsafe()
    if reason is None:
        data = _forked(make, journal)
        if data is not None:
            return data
        reason = "the child process ended without a result"
    journal.add("note", "memory", f"compiled in this process: {reason}")
    return make(journal)


def _unsafe() -> str | None:
    """Why a child might hang: it gets locks as they are, and not the threads that would release them."""
    if not hasattr(os, "fork"):
        return "this system cannot fork"
    if threading.active_count() > 1:
        return "other threads run in it"
    return None


def _forked(make: Callable[[Journal], bytes], journal: Journal) -> bytes | None:
    reading, writing = os.pipe()
    parent = os.getpid()
    with warnings.catch_warnings():
        # Python 3.12 warns of threads of libraries; the child calls none of those that have any
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        os.close(reading)
        _serve(make, writing, parent)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as stream:
            return _received(stream, journal)
    except BaseException:  # Ctrl-C, too: nothing goes on behind the caller's back
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.waitpid(child, 0)


def _serve(make: Callable[[Journal], bytes], writing: int, parent: int) -> NoReturn:
    """The child: its answer is a pickled tuple, after the names of the steps that it takes. When it fails it says
    nothing: the parent does the work itself, and has the exception as it is."""
    code = 1
    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            with os.fdopen(writing, "wb") as stream:
                _answer(make, stream)
            code = 0
    finally:
        os._exit(code)


def _answer(make: Callable[[Journal], bytes], stream: IO[bytes]) -> None:
    def tell(step: str) -> None:
        pickle.dump(step, stream)
        stream.flush()

    told = Journal(tell)
    data = make(told)
    pickle.dump((data, told.events), stream)


def _received(stream: IO[bytes], journal: Journal) -> bytes | None:
    """The result and what the journal is told on the way; None if the child ends before that."""
    try:
        while isinstance(answer := pickle.load(stream), str):
            journal.progress(answer)
    except (EOFError, pickle.UnpicklingError):
        return None
    data: bytes = answer[0]
    events: list[Event] = answer[1]
    journal.take(events)
    return data
