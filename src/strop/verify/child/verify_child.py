"""Runs the user's code in a process of its own, eagerly or as graphs, and writes down what it saw.

`strop verify` starts this file by its path with the project's own Python, which need not know Strop: it imports nothing
of Strop's, and torch or TensorFlow only if the code under test does. One argument: a JSON file with the job. The answer
goes to the folder that the job names: `report.json`, and `arrays.npz` with every tensor that came out.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import json
import os
import random
import runpy
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

_COMPARED = 3  #: calls whose results are kept
_TIMED_CALLS = 1000
_SHOWN = 20_000  #: characters of a text that is compared


def main(job_file: str) -> int:
    job: dict[str, Any] = json.loads(Path(job_file).read_text(encoding="utf-8"))
    answer: dict[str, Any] = {"error": None}
    arrays: dict[str, Any] = {}
    sys.path[:0] = job["path"]
    sys.argv = [job["target"], *job["arguments"]]
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    watch = _Watch(eager=job["eager"])
    sys.meta_path.insert(0, watch)
    try:
        if job["kind"] == "tests":
            _run_tests(job, answer, arrays, watch)
        else:
            {"function": _run_function, "script": _run_script}[job["kind"]](job, answer, arrays)
    except BaseException as error:
        if isinstance(error, SystemExit) and not error.code:
            pass
        else:
            answer["error"] = "".join(traceback.format_exception_only(type(error), error)).strip()[-2000:]
            answer["traceback"] = traceback.format_exc()[-8000:]
    sys.stdout.flush()
    answer["graphs"] = watch.counts()
    answer["peak_bytes"] = _peak()
    folder = Path(job["answer"])
    if arrays:
        import numpy

        numpy.savez(folder / "arrays.npz", **arrays)
    (folder / "report.json").write_text(json.dumps(answer), encoding="utf-8")
    return 0


def _run_function(job: dict[str, Any], answer: dict[str, Any], arrays: dict[str, Any]) -> None:
    began = time.perf_counter()
    function = getattr(importlib.import_module(job["module"]), job["function"], None)
    if not callable(function):
        raise AttributeError(f"{job['target']}: there is no function `{job['function']}`")
    answer["import_seconds"] = time.perf_counter() - began
    results, times = [], []
    for number in range(_COMPARED):
        _seed(job["seed"])
        result, taken = _called(function)
        times.append(taken)
        results.append(_plain(result, f"{number}", arrays, 0))
    answer["first_seconds"], answer["results"] = times[0][0], results
    sys.stdout.flush()
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        said, sys.stdout = sys.stdout, nowhere
        try:
            times = _timed(function, job["rounds"], job["seconds"], times)
        finally:
            sys.stdout = said
    answer["seconds"], answer["cpu_seconds"] = [wall for wall, _ in times], [cpu for _, cpu in times]


def _timed(
    function: Callable[[], Any], rounds: int, seconds: float, known: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    """Wall and processor times of later calls; those that were compared count when a call takes long."""
    times = list(known[1:])
    if sum(wall for wall, _ in times) >= seconds * rounds:
        return times
    times = times[-1:]
    while len(times) < rounds or (sum(wall for wall, _ in times) < seconds and len(times) < _TIMED_CALLS):
        _seed(0)
        times.append(_called(function)[1])
    return times


def _called(function: Callable[[], Any]) -> tuple[Any, tuple[float, float]]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()
    return result, (time.perf_counter() - wall, time.process_time() - cpu)


def _run_script(job: dict[str, Any], answer: dict[str, Any], arrays: dict[str, Any]) -> None:
    _seed(job["seed"])
    began = time.perf_counter()
    try:
        names = runpy.run_path(job["file"], run_name="__main__")
    finally:
        answer["first_seconds"] = time.perf_counter() - began
        answer["seconds"] = [answer["first_seconds"]]
        answer["cpu_seconds"] = [time.process_time()]
    kept = {name: value for name, value in names.items() if not name.startswith("_") and _is_data(value)}
    answer["results"] = [_plain(kept, "0", arrays, 0)]


def _run_tests(job: dict[str, Any], answer: dict[str, Any], arrays: dict[str, Any], watch: _Watch) -> None:
    try:
        import pytest
    except ModuleNotFoundError:
        raise ModuleNotFoundError("the tests are run by pytest, which is not installed for this Python") from None
    outcomes: dict[str, str] = {}
    times: dict[str, float] = {}
    tensors = _recorder()
    watch.record(tensors)

    class Outcomes:
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_setup(self, item: Any) -> None:
            _seed(job["seed"])
            tensors.begin(item.nodeid)

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.when == "call" or report.outcome != "passed":
                outcomes[report.nodeid] = report.outcome
            if report.when == "call":
                times[report.nodeid] = report.duration

    began = time.perf_counter()
    root = f"--rootdir={job['path'][0]}"  # tests of a copy have the names of the original's
    arguments = ["-q", root, "-p", "no:cacheprovider", "-p", "no:randomly", *job["arguments"], job["file"]]
    code = int(pytest.main(arguments, plugins=[Outcomes()]))
    answer["first_seconds"] = time.perf_counter() - began
    answer["seconds"], answer["cpu_seconds"] = [sum(times.values())], [time.process_time()]
    answer["tests"] = outcomes
    answer["recorded"] = tensors.seen
    arrays.update(tensors.arrays)
    if code not in (0, 1):
        raise RuntimeError(f"pytest ended with code {code}: nothing was collected, or it was called wrongly")


def _recorder() -> Any:
    """What keeps the tensors of tests, from the file beside this one."""
    sys.path.insert(0, str(Path(__file__).parent))
    module = importlib.import_module("verify_record")
    sys.path.pop(0)
    return module.Recorder(_array)


class _Watch(importlib.abc.MetaPathFinder):
    """Switches graphs off, or counts them, as soon as a framework has been imported."""

    def __init__(self, *, eager: bool) -> None:
        self.eager = eager
        self.busy = False
        self.traced: list[Any] = []
        self.after: dict[str, Callable[[Any], None]] = {
            "torch": self._torch,
            "torch._inductor.config": self._inductor,
            "tensorflow": self._tensorflow,
        }

    def record(self, tensors: Any) -> None:
        """Let a recorder see the frameworks as they are imported."""
        framework = self.after["torch"]

        def torch(module: Any) -> None:
            framework(module)
            tensors.torch(module)

        self.after |= {
            "torch": torch,
            "numpy.testing": tensors.numpy_testing,
            "keras.src.layers.layer": tensors.keras_layer,
        }

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        after = self.after.get(name)
        if after is None or self.busy:
            return None
        self.busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy = False
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def executed(module: ModuleType) -> None:
            execute(module)
            after(module)

        spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec

    def counts(self) -> dict[str, Any]:
        found: dict[str, Any] = {"graphs": 0, "breaks": [], "retraces": 0}
        if "torch" in sys.modules and not self.eager:
            _count_torch(found)
        for function in self.traced:
            count = int(function.experimental_get_tracing_count())
            found["graphs"] += count
            found["retraces"] += max(count - 1, 0)
        return found

    def _torch(self, torch: Any) -> None:
        if self.eager:
            torch.compiler.set_stance("force_eager")

    def _inductor(self, config: Any) -> None:
        """Random numbers in the order of eager mode, so that results can be compared."""
        config.fallback_random = True

    def _tensorflow(self, tensorflow: Any) -> None:
        if self.eager:
            tensorflow.config.run_functions_eagerly(True)
            return
        kind = type(tensorflow.function(lambda: None))
        make, traced = kind.__init__, self.traced

        def made(function: Any, *arguments: Any, **named: Any) -> None:
            make(function, *arguments, **named)
            traced.append(function)

        kind.__init__ = made


def _count_torch(found: dict[str, Any]) -> None:
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is None:
        return
    counters = dynamo.counters
    found["graphs"] += int(counters["stats"]["unique_graphs"])
    for reason, count in counters["graph_break"].items():
        found["breaks"].append([str(reason).strip().split("\n")[0][:300], int(count)])
    metrics: list[Any] = getattr(dynamo, "get_compilation_metrics", list)()
    found["retraces"] += sum(bool(getattr(one, "recompile_reason", None)) for one in metrics)


def _seed(seed: int) -> None:
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
    if "tensorflow" in sys.modules:
        sys.modules["tensorflow"].random.set_seed(seed)


def _is_data(value: Any) -> bool:
    return _array(value) is not None or isinstance(value, (bool, int, float, complex, str, list, tuple, dict))


def _plain(value: Any, path: str, arrays: dict[str, Any], depth: int) -> Any:
    """A value as JSON: arrays go aside under their path, models become their parameters."""
    if depth > 20:
        return {"kind": "deep"}
    array = _array(value)
    if array is not None:
        arrays[path] = array
        return {"kind": "array", "at": path}
    if value is None or isinstance(value, (bool, int, str)):
        return {"kind": "value", "value": value[:_SHOWN] if isinstance(value, str) else value}
    if isinstance(value, (float, complex)):
        import numpy

        arrays[path] = numpy.asarray(value)
        return {"kind": "array", "at": path}
    children = dict(_children(value))
    if children or isinstance(value, (list, tuple, dict)):
        inside = {name: _plain(child, f"{path}.{name}", arrays, depth + 1) for name, child in children.items()}
        return {"kind": type(value).__name__, "children": inside}
    return {"kind": type(value).__name__}


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((str(key), child) for key, child in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((str(at), child) for at, child in enumerate(value))
    elif hasattr(value, "state_dict") and callable(value.state_dict):
        yield from ((str(key).replace("_orig_mod.", ""), child) for key, child in value.state_dict().items())
    elif hasattr(value, "variables"):  # tf.Module, keras models, layers and optimisers
        yield from ((str(at), child) for at, child in enumerate(value.variables))
    elif hasattr(value, "__dataclass_fields__"):
        yield from ((name, getattr(value, name)) for name in value.__dataclass_fields__)


def _array(value: Any) -> Any:
    """The numbers of a tensor, variable or array; None for anything else."""
    kind = type(value).__module__.partition(".")[0]
    if kind not in ("torch", "tensorflow", "numpy", "keras", "jax", "jaxlib"):
        return None
    import numpy

    if kind == "torch":
        torch = sys.modules["torch"]
        if not isinstance(value, torch.Tensor):
            return None
        value = value.detach().cpu()
        value = value.to_dense() if value.layout is not torch.strided else value
        return (value.float() if value.dtype is torch.bfloat16 else value.resolve_conj().resolve_neg()).numpy()
    if hasattr(value, "numpy") and callable(value.numpy):
        value = value.numpy()
    if not isinstance(value, (numpy.ndarray, numpy.generic)):
        return None
    array = numpy.asarray(value)
    if array.dtype.kind in "OSU":
        return None
    return array.astype(numpy.float32) if array.dtype.kind == "V" or array.dtype.name == "bfloat16" else array


def _end_with(parent: int) -> None:
    """Leave when the process that wants the answer is gone."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _peak() -> int:
    try:
        import resource
    except ModuleNotFoundError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
