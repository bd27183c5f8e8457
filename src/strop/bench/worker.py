"""A contender's own process: pinned, told over a pipe when it is its turn, answering with times.

One line of JSON in, one out: `prepare` (load, compile, write what it computes), `turn` (time calls), `exit`; and
for a process that is no contender: `peak` (measure the machine), `survey` (count and export the model), `import` (what
a model's code imports, for a process that shows what a contender starts from). Whatever libraries print goes to
standard error, never between the answers.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

from strop import zoo
from strop.bench.contenders import CONTENDERS, WEIGHTS, Task, export_onnx, load_model
from strop.bench.memory import weight_bytes
from strop.core.problem import Problem
from strop.core.process_memory import peak_rss_mb, resident_mb
from strop.verify import numeric

_PR_SET_PDEATHSIG = 1


def main() -> None:
    order = json.loads(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    _die_with_parent(order["parent"])
    _pin(order["threads"])
    serve(order, sys.stdin, answers)


def serve(order: dict[str, Any], requests: IO[str], answers: IO[str]) -> None:
    """Answer until `exit` or until the parent closes the pipe. A failure is an answer too."""
    call: Callable[[], Any] | None = None
    for line in requests:
        request = json.loads(line)
        if request["do"] == "exit":
            return
        try:
            match request["do"]:
                case "peak":
                    answer = _peak(order["threads"])
                case "survey":
                    answer = _survey(_task(order), export=request["export"])
                case "import":
                    answer = _import(request["modules"])
                case "prepare":
                    call, answer = _prepare(_task(order))
                case _:
                    assert call is not None, "a turn before `prepare`"
                    answer = _turn(call, request["seconds"], request["calls"])
        except Exception as failure:
            traceback.print_exc()
            answer = {"error": describe(failure)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def outputs_of(contender: str) -> str:
    """The file with a contender's outputs. The parent compares them: that takes memory, which is nobody's here."""
    return f"{contender}-outputs.npy"


def describe(failure: BaseException) -> str:
    """One line: the kind and the first words."""
    if isinstance(failure, Problem):
        return f"{failure.code}: {failure.message}"
    lines = str(failure).strip().splitlines() or [""]
    return f"{type(failure).__name__}: {lines[0]}"[:300]


def _task(order: dict[str, Any]) -> Task:
    return Task(order["model"], order["contender"], order["threads"], Path(order["folder"]))


def _peak(threads: int) -> dict[str, Any]:
    from strop.target.peak import measure_peak

    return {"peak_gflops": measure_peak(threads)}


def _survey(task: Task, *, export: bool) -> dict[str, Any]:
    """What is known of a model before anything is timed, in a process of its own: no contender's memory grows by it."""
    import torch

    from strop.bench.flops import count_flops

    before = set(sys.modules)
    model, args, kwargs = load_model(task)
    imported = [name for name in sys.modules if name not in before]
    answer: dict[str, Any] = {"gflop": count_flops(model, args, kwargs) / 1e9, "export_error": None}
    answer["imported"] = [name for name in imported if not name.startswith("strop.")]
    answer["weights_mb"] = weight_bytes(model) / 2**20
    if task.model in zoo.NAMES:
        torch.save(model.state_dict(), task.folder / WEIGHTS)
    if export:
        try:
            export_onnx(task)
        except Exception as failure:
            traceback.print_exc()
            answer["export_error"] = describe(failure)
    return answer


def _import(modules: Sequence[str]) -> dict[str, Any]:
    """Import what the code of a model imports; not every entry of `sys.modules` is the name of a module."""
    for name in modules:
        with suppress(Exception):
            import_module(name)
    return {}


def _prepare(task: Task) -> tuple[Callable[[], Any], dict[str, Any]]:
    contender = CONTENDERS[task.contender]
    if not contender.exported:
        _torch_threads(task.threads)
    compile_model = contender.prepare(task)
    begun = time.perf_counter()
    call = compile_model()
    outputs = call()
    seconds = time.perf_counter() - begun
    _write(outputs, task.folder / outputs_of(task.contender))
    return call, {"compile_s": 0.0 if task.contender == "eager" else seconds}


def _write(outputs: Any, file: Path) -> None:
    """Without copies of them: what those leave in the allocator would be counted as the contender's."""
    with file.open("wb") as stream:
        for array in numeric.held_arrays(outputs):
            np.save(stream, array)


def written_arrays(file: Path) -> list[np.ndarray[Any, Any]]:
    """The outputs that a contender has written."""
    found = []
    with file.open("rb") as stream:
        while stream.peek(1):
            found.append(np.load(stream))
    return found


def _turn(call: Callable[[], Any], seconds: float, calls: int) -> dict[str, Any]:
    """Back-to-back calls for at least `seconds` and `calls`, after one that brings caches and threads back."""
    call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < calls or time.perf_counter() < end:
        begun = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - begun))
    return {"times_ms": times, "peak_rss_mb": peak_rss_mb(), "steady_rss_mb": resident_mb()}


def _torch_threads(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)


def _pin(threads: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def _die_with_parent(parent: int) -> None:
    """A stopped child would outlive a killed parent for ever."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    main()
