"""Strop beside its peers on the same models, in one run: `strop bench`, `python -m strop.bench.harness`.

Every contender lives in a process of its own, pinned to the same cores, and they take turns in rounds: a slow minute
of the machine falls on all of them alike. While one has its turn the others are stopped by signal, thread pools and
all, so that nobody spins beside another and everybody keeps the waiting policy that it ships with.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from strop import zoo
from strop.bench.contenders import CONTENDERS, DEFAULT
from strop.bench.memory import ONE_LAYER
from strop.bench.report import BenchRow, Report
from strop.bench.worker import outputs_of, written_arrays
from strop.core.problem import Problem
from strop.runtime.onnx.spec import onnx_file
from strop.verify import numeric

TOLERANCE = 1e-4
_TURN_SECONDS = 0.02
_TURN_CALLS = 3
_FEWEST_ROUNDS = 3
_PACKAGES = ("strop", "torch", "numpy", "llvmlite", "onnxruntime", "openvino", "transformers")


class WorkerFailed(Exception):
    """A contender did not answer as it should; the text becomes its row's error."""


@dataclass
class Child:
    """The parent's end of a contender's process."""

    process: subprocess.Popen[str]
    timeout: float
    log: IO[str]
    resting: bool = False

    @classmethod
    def start(cls, contender: str, model: str, threads: int, folder: Path, timeout: float) -> Child:
        private = Path(tempfile.mkdtemp(prefix=f"{contender}-", dir=folder))
        order = {
            "model": model,
            "contender": contender,
            "threads": threads,
            "folder": str(folder),
            "parent": os.getpid(),
        }
        log = (private / "log").open("w+")
        process = subprocess.Popen(
            [sys.executable, "-m", "strop.bench.worker", json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=_environment(threads, private),
            start_new_session=True,
        )
        return cls(process, timeout, log)

    def ask(self, do: str, **details: Any) -> dict[str, Any]:
        """Wake the child, put the request, wait for the answer, let the child rest."""
        self.wake()
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps({"do": do, **details}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise WorkerFailed(self._death()) from None
        ready, _, _ = select.select([self.process.stdout], [], [], self.timeout)
        if not ready:
            raise WorkerFailed(f"no answer to `{do}` within {self.timeout:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            raise WorkerFailed(self._death())
        answer: dict[str, Any] = json.loads(line)
        if answer.get("error"):
            raise WorkerFailed(str(answer["error"]))
        self.rest()
        return answer

    def rest(self) -> None:
        self._signal(signal.SIGSTOP)
        self.resting = True

    def wake(self) -> None:
        if self.resting:
            self._signal(signal.SIGCONT)
            self.resting = False

    def close(self) -> None:
        self._signal(signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.log):
            if stream is not None:
                stream.close()

    def _signal(self, number: signal.Signals) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)

    def _death(self) -> str:
        code = self.process.wait()
        self.log.seek(0)
        lines = [line.strip() for line in self.log.read().splitlines() if line.strip()]
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"the process ended with {how}" + (f": {lines[-1][:200]}" if lines else "")


@dataclass
class Bench:
    """One run over some models: what was asked for."""

    threads: int = 1
    contenders: tuple[str, ...] = DEFAULT
    rounds: int = 10
    seconds: float = 30.0
    timeout: float = 900.0
    report: Report = field(default_factory=Report)
    _bases: dict[tuple[str, ...], float | None] = field(default_factory=dict)
    _imported: tuple[str, ...] = ()  # by the code of the model that is being measured

    def run(self, models: Sequence[str]) -> list[BenchRow]:
        with tempfile.TemporaryDirectory(prefix="strop-bench-") as folder, _interruptible():
            peak = self._peak(Path(folder))
            self.report.machine = machine(self.threads, peak)
            rows: list[BenchRow] = []
            for model in models:
                with tempfile.TemporaryDirectory(dir=folder) as place:
                    found = self._model(model, Path(place), peak)
                self.report.model(found)
                rows += found
            return rows

    def _peak(self, folder: Path) -> float:
        with ExitStack() as stack:
            child = self._start(stack, "peak", "", folder)
            return float(child.ask("peak")["peak_gflops"])

    def _model(self, model: str, folder: Path, peak: float) -> list[BenchRow]:
        rows = {name: BenchRow(model, self.threads, name) for name in self.contenders}
        with ExitStack() as stack:
            children = self._prepare(stack, rows, folder)
            self._rounds(children, rows)
        for row in rows.values():
            row.settle(peak)
        return list(rows.values())

    def _prepare(self, stack: ExitStack, rows: dict[str, BenchRow], folder: Path) -> dict[str, Child]:
        model = next(iter(rows.values())).model
        export_error = self._survey(rows, folder)
        children: dict[str, Child] = {}
        for name in sorted(rows, key=lambda name: name != "eager"):
            contender, row = CONTENDERS[name], rows[name]
            if missing := contender.missing():
                row.error = f"{', '.join(missing)} not installed: pip install 'strop[bench]'"
            elif contender.exported and export_error:
                row.error = export_error
            elif name != "eager" and rows["eager"].error:
                row.error = "nothing to compare with: eager failed"
            if row.error:
                continue
            self.report.progress(f"{model}: {name} loads and compiles")
            child = self._start(stack, name, model, folder)
            try:
                answer = child.ask("prepare")
            except WorkerFailed as failure:
                row.error = str(failure)
                child.close()
                continue
            row.compile_s = answer["compile_s"]
            row.max_rel_error = _difference(folder / outputs_of(name), folder / outputs_of("eager"))
            row.base_rss_mb = self._base(name, folder.parent)
            children[name] = child
        return children

    def _base(self, name: str, folder: Path) -> float | None:
        """What a contender's process holds with a model of one layer and the modules that the model's own code imports
        (`transformers`), which an exported model does without; measured once."""
        modules = () if CONTENDERS[name].exported else self._imported
        key = (name, *modules)
        if key not in self._bases:
            place = folder / "one-layer"
            with ExitStack() as stack:
                try:
                    if not place.exists():
                        place.mkdir()
                        eager = self._start(stack, "survey", ONE_LAYER, place)
                        eager.ask("survey", export=any(CONTENDERS[each].exported for each in self.contenders))
                        self._start(stack, "eager", ONE_LAYER, place).ask("prepare")
                    child = self._start(stack, name, ONE_LAYER, place)
                    child.ask("import", modules=modules)
                    child.ask("prepare")
                    self._bases[key] = child.ask("turn", seconds=0.0, calls=1)["steady_rss_mb"]
                except WorkerFailed:
                    self._bases[key] = None
        return self._bases[key]

    def _survey(self, rows: dict[str, BenchRow], folder: Path) -> str:
        """Fill in GFLOP and write the export; what kept the export from being written, if anything did."""
        model = next(iter(rows.values())).model
        self._imported = ()
        export = any(CONTENDERS[name].exported and not CONTENDERS[name].missing() for name in rows)
        self.report.progress(f"{model}: counting" + (" and exporting" if export else ""))
        with ExitStack() as stack:
            try:
                answer = self._start(stack, "survey", model, folder).ask("survey", export=export)
            except WorkerFailed as failure:
                return str(failure)
        self._imported = tuple(answer["imported"])
        for row in rows.values():
            row.gflop, row.weights_mb = answer["gflop"], answer["weights_mb"]
        return str(answer["export_error"] or "")

    def _rounds(self, children: dict[str, Child], rows: dict[str, BenchRow]) -> None:
        end = time.monotonic() + self.seconds
        for number in range(self.rounds):
            if number >= _FEWEST_ROUNDS and time.monotonic() > end:
                return
            order = list(children)
            for name in order[number % max(len(order), 1) :] + order[: number % max(len(order), 1)]:
                row = rows[name]
                self.report.progress(f"{row.model}: round {number + 1} of {self.rounds}, {name}")
                try:
                    answer = children[name].ask("turn", seconds=_TURN_SECONDS, calls=_TURN_CALLS)
                except WorkerFailed as failure:
                    row.error = str(failure)
                    children.pop(name).close()
                    continue
                row.rounds_ms.append(statistics.median(answer["times_ms"]))
                row.min_ms = min(row.min_ms or math.inf, *answer["times_ms"])
                row.peak_rss_mb, row.steady_rss_mb = answer["peak_rss_mb"], answer["steady_rss_mb"]

    def _start(self, stack: ExitStack, contender: str, model: str, folder: Path) -> Child:
        child = Child.start(contender, model, self.threads, folder, self.timeout)
        stack.callback(child.close)
        return child


def _difference(outputs: Path, reference: Path) -> float:
    return numeric.max_rel_error(written_arrays(outputs), written_arrays(reference))


def machine(threads: int, peak: float) -> dict[str, Any]:
    """What the numbers depend on."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "threads": threads,
        "peak_gflops": round(peak, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: found for name in _PACKAGES if (found := _version(name))},
    }


def _cpu() -> str:
    import llvmlite.binding as llvm

    return str(llvm.get_host_cpu_name())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _environment(threads: int, private: Path) -> dict[str, str]:
    """Cold caches of its own for each child, and the same number of threads for every pool."""
    count = str(threads)
    return {
        **os.environ,
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "STROP_THREADS": count,
        "STROP_CACHE": str(private / "strop"),
        "TORCHINDUCTOR_CACHE_DIR": str(private / "inductor"),
        "TRITON_CACHE_DIR": str(private / "triton"),
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path),
    }


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM leaves like Ctrl-C does: through the ends of the `with` blocks, which kill the children."""

    def leave(*_: object) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, leave)
    except ValueError:  # not the main thread: signals are somebody else's
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _chosen_models(models: Sequence[str]) -> list[str]:
    named = [model if ":" in model or onnx_file(model)[0] else zoo.canonical(model) for model in models]
    return named or list(zoo.NAMES)


def _chosen_contenders(names: Sequence[str] | None) -> tuple[str, ...]:
    if not names:
        return tuple(name for name in DEFAULT if not CONTENDERS[name].missing())
    unknown = [name for name in names if name not in CONTENDERS]
    if unknown:
        raise Problem("STR001", f"no contender called `{unknown[0]}`", help=f"choose from: {', '.join(CONTENDERS)}")
    return tuple(name for name in CONTENDERS if name in names or name == "eager")


def main(
    models: Sequence[str] = (),
    *,
    threads: int = 1,
    json_path: str | None = None,
    contenders: Sequence[str] | None = None,
    rounds: int = 10,
    seconds: float = 30.0,
    timeout: float = 900.0,
    quiet: bool = False,
) -> int:
    """Measure `models` (all of the zoo if none); 0 when Strop ran and agreed with eager everywhere, else 1.

    `json_path` is a file, or `-` for standard output (then tables go to standard error). Eager always takes part: it is
    what the others are compared with. `rounds` and `seconds` bound the measuring of one model, `timeout` one answer.
    """
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not 1 <= threads <= available:
        raise Problem(
            "STR001", f"--threads must lie between 1 and {available}, the cores of this process, got {threads}"
        )
    if rounds < 1:
        raise Problem("STR001", f"--rounds must be at least 1, got {rounds}")
    report = Report(quiet=quiet, to_stderr=json_path == "-", json_path=json_path)
    bench = Bench(threads, _chosen_contenders(contenders), rounds, seconds, timeout, report)
    with report:
        rows = bench.run(_chosen_models(models))
    ours = [row for row in rows if row.contender.startswith("strop")]
    agree = all(not row.error and (row.max_rel_error or 0.0) <= TOLERANCE for row in ours)
    return 0 if agree else 1


def _command_line() -> int:
    parser = argparse.ArgumentParser(prog="strop bench", description="Measure Strop beside its peers.")
    parser.add_argument(
        "models", nargs="*", help="networks of the zoo, or package.module:factory; all of the zoo if none"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--contenders", help=f"separated by commas, from: {', '.join(CONTENDERS)}")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=30.0, help="measuring time per model")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds until a contender is given up")
    parser.add_argument("--json", dest="json_path", help="a file, or - for standard output")
    parser.add_argument("--quiet", action="store_true")
    given = vars(parser.parse_args())
    given["contenders"] = given["contenders"].split(",") if given["contenders"] else None
    try:
        return main(given.pop("models"), **given)
    except Problem as problem:
        print(problem.render(color=sys.stderr.isatty()), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(_command_line())
