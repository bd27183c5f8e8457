"""Tasks on a Ray cluster: the same kind of pool as `core/tasks.py` has for processes of this machine.

Ray starts processes anew that die and runs what a lost node did on another one. What it holds meanwhile is little:
tasks and results are small, at most twice as many as there are workers are on their way, and whoever waits for a result
stores it. So a driver that starts again loses nothing that was finished, and no object has to outlive its task.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import pickle
import socket
from collections.abc import Callable
from importlib import import_module
from types import TracebackType
from typing import Any

from strop.core.problem import Problem
from strop.core.tasks import ATTEMPTS, WAITING, Done, answer

_REACH_SECONDS = 10.0
LARGEST = 16 * 2**20  # bytes of a task or a result: with all that are on their way, far less than an object store holds


class RayPool:
    """Workers of a cluster that runs already: `address` as Ray writes it, or `auto` for the one that this machine is a
    node of. `workers` are CPUs to use; without it, all that the cluster has."""

    def __init__(self, address: str, module: str, function: str, workers: int | None = None) -> None:
        if importlib.util.find_spec("ray") is None:
            raise Problem("STR506", "Ray is not installed", help="pip install strop[scale]")
        self._ray: Any = import_module("ray")
        self._ours = not self._ray.is_initialized()
        if self._ours:
            try:
                _reach(address)
                self._ray.init(
                    address=address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False
                )
            except (OSError, RuntimeError, ValueError) as error:
                told = f"there is no Ray cluster at `{address}` ({_first_line(error)})"
                raise Problem("STR506", told, help="`ray start --head` starts one here") from error
        self._given, self._busy = workers, dict[Any, Any]()
        remote = self._ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1, retry_exceptions=False)(_answer)
        self._start: Callable[[bytes], Any] = lambda task: remote.remote(module, function, task)

    def __enter__(self) -> RayPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def workers(self) -> int:
        """CPUs as they are now: nodes come and go."""
        there = int(self._ray.cluster_resources().get("CPU", 0))
        return max(1, min(there, self._given) if self._given else there)

    @property
    def running(self) -> int:
        return len(self._busy)

    @property
    def free(self) -> bool:
        return self.running < self.workers * (1 + WAITING if self._given is None else 1)

    def submit(self, task: Any) -> None:
        data = pickle.dumps(task)
        if len(data) > LARGEST:
            raise Problem("STR506", f"a task of {len(data)} bytes is too large to be sent (the limit is {LARGEST})")
        self._busy[self._start(data)] = task

    def wait(self, timeout: float | None = None) -> Done | None:
        """The next task that is done; None where none is before the time is over. Whatever ended its workers too often
        comes back as failed."""
        found, _ = self._ray.wait(list(self._busy), num_returns=1, timeout=timeout)
        if not found:
            return None
        ready = found[0]
        task = self._busy.pop(ready)
        try:
            result, problem = pickle.loads(self._ray.get(ready))
        except self._ray.exceptions.RayError as error:
            told = f"its workers died or were lost, {ATTEMPTS} times ({_first_line(error)})"
            return Done(task, problem=Problem("STR506", told, help="other tasks are not concerned"))
        return Done(task, result, problem)

    def close(self) -> None:
        for one in self._busy:
            self._ray.cancel(one, force=True)
        self._busy.clear()
        if self._ours and self._ray.is_initialized():
            self._ray.shutdown()


def _answer(module: str, function: str, data: bytes) -> bytes:
    """Runs on a worker, on whose node Strop has to be installed."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    made = answer(getattr(import_module(module), function), pickle.loads(data))
    if len(made) > LARGEST:
        return pickle.dumps((None, Problem("STR506", f"a result of {len(made)} bytes is too large to be sent")))
    return made


def _reach(address: str) -> None:
    """Ray itself waits for an address for ever."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), _REACH_SECONDS).close()


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
