"""Tasks on several processes: a function of a module, called with values that can be pickled.

A pool takes a task when it has room (`free`), and `wait` returns the next one that is done. Nobody else keeps tasks, so
whoever submits them decides what comes next when it has seen what came before, and no more are on their way than there
are processes to run them, and one each to go on with.

    with LocalPool("strop.tune.search", "search_round", workers=2) as pool:
        while pool.free and (task := next(tasks, None)): pool.submit(task)
        done = pool.wait()

Processes that die are started anew, and what they did is tried again; a task that ended its process each time comes
back as failed, with the reason. What a task raises is its result: it would raise that again. `core/ray_tasks.py` is a
pool of the same kind on a Ray cluster.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Protocol, TypeVar

from strop.core.problem import Problem

ATTEMPTS = 3  # in a process that died meanwhile
WAITING = 1  # tasks that each process has to go on with, so that it does not wait for us
_END_SECONDS = 5.0

Task = TypeVar("Task")


@dataclass(frozen=True)
class Done:
    """A task that came back: with its result, or with why there is none."""

    task: Any
    result: Any = None
    problem: BaseException | None = None


class TaskPool(Protocol):
    """Where tasks run."""

    @property
    def free(self) -> bool: ...
    def submit(self, task: Any) -> None: ...
    def wait(self, timeout: float | None = None) -> Done | None: ...
    @property
    def running(self) -> int: ...
    def close(self) -> None: ...


def available_processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(pool: TaskPool, tasks: Iterable[Any]) -> Iterator[Done]:
    """Every task, as they come back; they are drawn as the pool has room for them."""
    waiting = iter(tasks)
    more = True
    while True:
        while more and pool.free:
            try:
                pool.submit(next(waiting))
            except StopIteration:
                more = False
        if not pool.running:
            return
        if (done := pool.wait()) is not None:
            yield done


class LocalPool:
    """Processes of this machine. They end with this one: a process whose pool is gone cannot tell what it found."""

    def __init__(self, module: str, function: str, workers: int) -> None:
        self._call, self._count = (module, function), workers
        self._workers: list[_Worker] = []
        self._waiting: deque[_Attempt] = deque()
        self._done: deque[Done] = deque()

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def running(self) -> int:
        """Tasks that were submitted and have not come back."""
        busy = sum(worker.attempt is not None for worker in self._workers)
        return len(self._waiting) + len(self._done) + busy

    @property
    def free(self) -> bool:
        return self.running < self._count * (1 + WAITING)

    def submit(self, task: Any) -> None:
        self._waiting.append(_Attempt(task))
        self._start_waiting()

    def wait(self, timeout: float | None = None) -> Done | None:
        """The next task that is done, in no particular order; None where none is before the time is over."""
        ends = None if timeout is None else time.monotonic() + timeout
        while not self._done:
            busy = {worker.connection: worker for worker in self._workers if worker.attempt is not None}
            if not busy:
                raise Problem("STR506", "nothing was submitted that could be waited for")
            found = wait(list(busy), None if ends is None else max(0.0, ends - time.monotonic()))
            if not found:
                return None
            for ready in found:
                self._take(busy[ready])  # type: ignore[index]
            self._start_waiting()
        return self._done.popleft()

    def close(self) -> None:
        for worker in self._workers:
            worker.end()
        self._workers.clear()
        self._waiting.clear()

    def _start_waiting(self) -> None:
        while self._waiting:
            worker = next((one for one in self._workers if one.attempt is None), None)
            if worker is None and len(self._workers) < self._count:
                worker = _Worker(*self._call)
                self._workers.append(worker)
            if worker is None:
                return
            attempt = self._waiting.popleft()
            try:
                worker.start(attempt)
            except (BrokenPipeError, ConnectionError):
                self._replace(worker, attempt)

    def _take(self, worker: _Worker) -> None:
        attempt, worker.attempt = worker.attempt, None
        assert attempt is not None
        try:
            result, problem = pickle.loads(worker.connection.recv_bytes())
        except (EOFError, OSError):
            self._replace(worker, attempt)
            return
        self._done.append(Done(attempt.task, result, problem))

    def _replace(self, worker: _Worker, attempt: _Attempt) -> None:
        """A worker died: leave it, and try again what it did, in another one."""
        why = worker.end()
        self._workers.remove(worker)
        if attempt.number < ATTEMPTS:
            self._waiting.appendleft(_Attempt(attempt.task, attempt.number + 1))
            return
        told = f"the process that ran it died, {attempt.number} times ({why})"
        self._done.append(Done(attempt.task, problem=Problem("STR506", told, help="other tasks are not concerned")))


@dataclass(frozen=True)
class _Attempt:
    task: Any
    number: int = 1


class _Worker:
    """A process that runs one task at a time. It starts from nothing, not as a copy: neither threads nor locks of this
    process are in it, and the user's script is not run again."""

    def __init__(self, module: str, function: str) -> None:
        ours, theirs = socket.socketpair()
        code = f"from strop.core.tasks import serve; serve({theirs.fileno()}, {module!r}, {function!r})"
        path = os.pathsep.join([one for one in sys.path if one] or ["."])
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], pass_fds=[theirs.fileno()], env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        theirs.close()
        self.connection = Connection(ours.detach())
        self.attempt: _Attempt | None = None

    def start(self, attempt: _Attempt) -> None:
        self.connection.send_bytes(pickle.dumps(attempt.task))
        self.attempt = attempt

    def end(self) -> str:
        """Stop it, if it runs, and say how it ended."""
        self.connection.close()
        self.process.terminate()
        try:
            code = self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def serve(descriptor: int, module: str, function: str) -> None:
    """What a worker does until its pool is gone: call a function with each task, and send back what came of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked, which ends this one
    connection = Connection(descriptor)
    try:
        call: Callable[[Any], Any] = getattr(import_module(module), function)
        while True:
            connection.send_bytes(answer(call, pickle.loads(connection.recv_bytes())))
    except (EOFError, OSError):
        return


def answer(call: Callable[[Any], Any], task: Any) -> bytes:
    """The result of a task or what it raised, as bytes."""
    try:
        return pickle.dumps((call(task), None))
    except Exception as error:
        problem = error if isinstance(error, Problem) else Problem("STR506", f"{type(error).__name__}: {error}")
        return pickle.dumps((None, problem))
