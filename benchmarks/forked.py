"""A pool of forked children: one job each, with a time and memory limit; a job that dies takes nothing else with it."""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import selectors
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

MEMORY = 6 << 30  #: address space of one child in bytes
Outcome = tuple[str, Any, str]  #: name, result or None, what went wrong


def run_forked(
    job: Callable[[str], Any], names: Iterable[str], *, workers: int = 2, seconds: float = 20.0, full: bool = False
) -> Iterator[Outcome]:
    """`job(name)` for every name, in the order in which they end; results travel as pickles."""
    waiting = list(names)[::-1]
    chosen = selectors.DefaultSelector()
    running: dict[int, tuple[str, int, float, bytearray]] = {}  # by file descriptor
    while waiting or running:
        while waiting and len(running) < workers:
            name = waiting.pop()
            descriptor, child = _start(job, name, full)
            running[descriptor] = (name, child, time.monotonic() + seconds, bytearray())
            chosen.register(descriptor, selectors.EVENT_READ)
        for key, _ in chosen.select(timeout=1.0):
            part = os.read(key.fd, 1 << 20)
            if part:
                running[key.fd][3].extend(part)
                continue
            chosen.unregister(key.fd)
            os.close(key.fd)
            name, child, _, received = running.pop(key.fd)
            os.waitpid(child, 0)
            yield _outcome(name, bytes(received))
        for descriptor, (name, child, deadline, _) in list(running.items()):
            if time.monotonic() < deadline:
                continue
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            chosen.unregister(descriptor)
            os.close(descriptor)
            del running[descriptor]
            yield name, None, f"took longer than {seconds:g} s"


def _start(job: Callable[[str], Any], name: str, full: bool) -> tuple[int, int]:
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return reading, child
    os.close(reading)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    try:
        message = pickle.dumps((job(name), ""))
    except BaseException as problem:  # a child reports everything, also an exit
        last = traceback.format_exc() if full else f"{type(problem).__name__}: {str(problem)[:300]}"
        message = pickle.dumps((None, last))
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(message)
    os._exit(0)


def _outcome(name: str, received: bytes) -> Outcome:
    if not received:
        return name, None, "the process died"
    result, problem = pickle.loads(received)
    return name, result, problem
