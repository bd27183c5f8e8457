"""Runs code twice, eagerly and as graphs, each in a process of its own, and compares what came out.

This is the one place of the source half that executes the user's code, and only when asked to. The processes get a
time limit and a memory cap, and take their whole family with them when they go. Nothing is called equal that was not
run: the first calls are compared (results, printed text, outcomes of tests), later calls are timed.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strop.core.problem import Problem
from strop.verify.compare import Difference, compare

_CHILD = Path(__file__).parent / "child" / "verify_child.py"
#: runs the child by its path, and keeps its folder, whose files have names of their own, out of `sys.path`
_START = "import sys; del sys.path[0]; import runpy; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
_POLL_SECONDS = 0.1
_SHOWN_LINES = 12
GIGABYTE = 2**30


@dataclass(frozen=True)
class Job:
    """What to run: `kind` is function, script or tests."""

    kind: str
    target: str  #: as the user wrote it
    file: str
    module: str = ""
    function: str = ""
    path: tuple[str, ...] = ()  #: put in front of `sys.path`
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Limits:
    timeout: float = 600.0
    memory: int = 8 * GIGABYTE
    rounds: int = 5  #: timed calls, at least
    seconds: float = 1.0  #: time that short calls are repeated for
    tolerance: float = 1e-3
    seed: int = 0


@dataclass
class Run:
    """What one process saw."""

    first_seconds: float
    seconds: float  #: median of later calls
    cpu_seconds: float  #: the same by the processor's clock, which a busy machine does not blur
    graphs: int
    breaks: list[tuple[str, int]]
    retraces: int
    peak_bytes: int
    printed: str
    answer: dict[str, Any] = field(repr=False)
    arrays: dict[str, Any] = field(repr=False)


@dataclass
class Verification:
    """Both runs, and how they differ; `deterministic` is False when eager mode does not agree with itself."""

    target: str
    eager: Run
    graph: Run
    differences: list[Difference]
    largest_error: float
    deterministic: bool = True

    @property
    def equal(self) -> bool:
        return not self.differences

    @property
    def tensors(self) -> tuple[int, int]:
        """How many tensors of how many tests were compared; outcomes say little of numbers."""
        both = [run.answer.get("recorded", {}) for run in (self.eager, self.graph)]
        counts = [min(len(both[0][test]), len(both[1].get(test, ()))) for test in both[0]]
        return sum(counts), sum(map(bool, counts))

    @property
    def speedup(self) -> float:
        return self.eager.seconds / self.graph.seconds if self.graph.seconds else 1.0

    @property
    def cpu_speedup(self) -> float:
        return self.eager.cpu_seconds / self.graph.cpu_seconds if self.graph.cpu_seconds else 1.0

    @property
    def pays_after(self) -> int | None:
        """The number of calls after which the time for making graphs is won back; None: never."""
        won = self.eager.seconds - self.graph.seconds
        spent = self.graph.first_seconds - self.eager.first_seconds
        if won <= 0:
            return None
        return max(1, round(spent / won) + 1)

    def to_json(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "equal": self.equal,
            "deterministic": self.deterministic,
            "differences": [vars(difference) for difference in self.differences],
            "largest_error": self.largest_error,
            "tensors_of_tests": self.tensors[0],
            "speedup": self.speedup,
            "cpu_speedup": self.cpu_speedup,
            "pays_after_calls": self.pays_after,
            "eager": _figures(self.eager),
            "graph": _figures(self.graph),
        }


def _figures(run: Run) -> dict[str, Any]:
    names = ("first_seconds", "seconds", "cpu_seconds", "graphs", "breaks", "retraces", "peak_bytes")
    return {name: getattr(run, name) for name in names}


def job_of(target: str, *, tests: bool = False, arguments: tuple[str, ...] = ()) -> Job:
    """`file.py:function`, `package.module:function`, `script.py`, or with `tests` a file or folder for pytest."""
    if tests:
        if not Path(target).exists():
            raise Problem("STR001", f"there is no file or folder `{target}`")
        return Job("tests", target, os.path.abspath(target), path=(os.getcwd(),), arguments=arguments)  # noqa: PTH100, PTH109
    where, _, function = target.rpartition(":")
    if not where and target.endswith(".py"):
        where, function = target, ""
    if where.endswith(".py"):
        if not Path(where).is_file():
            raise Problem("STR002", f"there is no file `{where}`")
        file = Path(where).resolve()
        if not function:
            return Job("script", target, str(file), path=(str(file.parent),), arguments=arguments)
        module, root = module_of(file)
        return Job("function", target, str(file), module, function, (root,), arguments)
    if not where or not function.isidentifier() or not all(part.isidentifier() for part in where.split(".")):
        help = "file.py:function, package.module:function, script.py, or --tests FOLDER"
        raise Problem("STR002", f"`{target}` names nothing to run", help=help)
    return Job("function", target, "", where, function, (os.getcwd(),), arguments)  # noqa: PTH109


def verify(
    job: Job, limits: Limits | None = None, *, python: str = sys.executable, hybridised: Job | None = None
) -> Verification:
    """Run a job eagerly and as graphs. `hybridised` is the same job in an edited copy of the project."""
    limits = limits or Limits()
    eager = _run(job, limits, python, eager=True)
    graph = _run(hybridised or job, limits, python, eager=False)
    differences, error = compare(eager, graph, limits.tolerance)
    found = Verification(job.target, eager, graph, differences, error)
    if differences:
        again, _ = compare(eager, _run(job, limits, python, eager=True), limits.tolerance)
        found.deterministic = not again
    return found


def module_of(file: Path) -> tuple[str, str]:
    parts, folder = [file.stem], file.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts), str(folder)


def _run(job: Job, limits: Limits, python: str, *, eager: bool) -> Run:
    side = "eagerly" if eager else "as graphs"
    with tempfile.TemporaryDirectory(prefix="strop-verify-") as folder:
        task = {
            **{k: getattr(job, k) for k in ("kind", "target", "file", "module", "function", "path", "arguments")},
            "eager": eager,
            "rounds": limits.rounds,
            "seconds": limits.seconds,
            "seed": limits.seed,
            "answer": folder,
        }
        task_file, printed_file = Path(folder) / "job.json", Path(folder) / "printed.txt"
        task_file.write_text(json.dumps(task), encoding="utf-8")
        errors_file = Path(folder) / "errors.txt"
        with printed_file.open("wb") as printed, errors_file.open("wb") as errors:
            command = [python, "-X", "utf8", "-c", _START, str(_CHILD), str(task_file)]
            code = watched(command, printed, errors, limits, job, side)
        answer_file = Path(folder) / "report.json"
        if not answer_file.exists():
            last = tail(errors_file)
            raise Problem("STR603", f"{job.target} ended with code {code} when it was run {side}", help=last)
        answer = json.loads(answer_file.read_text(encoding="utf-8"))
        if answer["error"] is not None and "results" not in answer and "tests" not in answer:
            raise Problem("STR603", f"{job.target} failed when it was run {side}: {answer['error']}")
        text = printed_file.read_bytes().decode("utf-8", "replace")
        return Run(
            answer["first_seconds"],
            statistics.median(answer["seconds"]),
            statistics.median(answer["cpu_seconds"]),
            answer["graphs"]["graphs"],
            [(reason, count) for reason, count in answer["graphs"]["breaks"]],
            answer["graphs"]["retraces"],
            answer["peak_bytes"],
            "" if job.kind == "tests" else text,
            answer,
            _arrays(Path(folder) / "arrays.npz"),
        )


def _arrays(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    import numpy

    with numpy.load(file, allow_pickle=False) as stored:
        return dict(stored)


def watched(command: list[str], printed: Any, errors: Any, limits: Limits, job: Job, side: str) -> int:
    """Run a command to its end, or end it and everything that it started when it goes beyond its limits."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=printed, stderr=errors, env=environment, start_new_session=True
        )
    except OSError as error:
        raise Problem("STR603", f"{command[0]} cannot be started: {error.strerror or error}") from None
    end = time.monotonic() + limits.timeout
    try:
        while True:
            try:
                return child.wait(_POLL_SECONDS)
            except subprocess.TimeoutExpired:
                pass
            if time.monotonic() > end:
                help = "`--timeout` gives it longer"
                raise Problem("STR603", f"{job.target} ran {side} for {limits.timeout:.0f} s and was ended", help=help)
            used = _family_bytes(child.pid)
            if used > limits.memory:
                size = f"{used / GIGABYTE:.1f} GB"
                help = "`--memory` allows it more"
                raise Problem("STR603", f"{job.target} took {size} of memory when run {side} and was ended", help=help)
    finally:
        if child.poll() is None:
            _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """The child leads a session of its own: the signal reaches what it started, and nothing else."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):
        child.kill()
    child.wait()


def _family_bytes(leader: int) -> int:
    """Resident memory of the session that a child leads, where the system tells it."""
    total, page = 0, os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return 0
    for number in numbers:
        try:
            if os.getsid(int(number)) == leader:
                total += int(Path(f"/proc/{number}/statm").read_text().split()[1]) * page
        except (OSError, ValueError, IndexError):
            continue
    return total


def tail(file: Path) -> str:
    lines = file.read_bytes().decode("utf-8", "replace").strip().split("\n")
    return "\n".join(lines[-_SHOWN_LINES:])
