"""How each contender of a benchmark turns a model into something that can be called, in a process of its own."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from strop.bench.memory import start_afresh
from strop.core.problem import Problem
from strop.runtime.onnx.spec import onnx_file

Call = Callable[[], Any]
WEIGHTS = "weights.pt"


@dataclass(frozen=True)
class Task:
    """What a child process is asked to run."""

    model: str  #: a name of the zoo or `package.module:factory`
    contender: str
    threads: int
    folder: Path  #: where exports, inputs and the reference outputs are exchanged


@dataclass(frozen=True)
class Contender:
    """`prepare` loads the model and returns the work to be timed as compilation, which returns the call to be timed."""

    prepare: Callable[[Task], Callable[[], Call]]
    packages: tuple[str, ...] = ()  #: what has to be installed
    exported: bool = False  #: runs the ONNX export instead of the module

    def missing(self) -> list[str]:
        return [name for name in self.packages if find_spec(name) is None]


def load_model(task: Task) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The module and its example arguments; the same in every process, since random generators start from zero."""
    import torch

    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    from strop.runtime.load_model import load
    from strop.zoo.weights import stored

    with stored(task.folder / WEIGHTS):
        model = load(task.model)
    start_afresh()
    return model.module, model.inputs, model.kwargs


def _torch_call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    import torch

    def call() -> Any:
        with torch.no_grad():
            return function(*args, **kwargs)

    return call


def _eager(task: Task) -> Callable[[], Call]:
    model, args, kwargs = load_model(task)
    return lambda: _torch_call(model, args, kwargs)


def _strop(**settings: Any) -> Callable[[Task], Callable[[], Call]]:
    def prepare(task: Task) -> Callable[[], Call]:
        import strop

        model, args, kwargs = load_model(task)
        return lambda: _torch_call(strop.compile(model, args, kwargs or None, **settings), args, kwargs)

    return prepare


def _dynamo(**options: Any) -> Callable[[Task], Callable[[], Call]]:
    def prepare(task: Task) -> Callable[[], Call]:
        import torch

        if onnx_file(task.model)[0]:
            raise Problem("STR001", "an ONNX file is no Python code that Dynamo could trace")
        model, args, kwargs = load_model(task)
        return lambda: _torch_call(torch.compile(model, **options), args, kwargs)

    return prepare


def _inductor_max(task: Task) -> Callable[[], Call]:
    config: Any = import_module("torch._inductor.config")
    config.freezing = True
    return _dynamo(mode="max-autotune")(task)


def export_onnx(task: Task) -> None:
    """Write the model's inputs, and the model by each of torch's two exporters that manages it.

    An ONNX file is its own export.
    """
    import torch

    model, args, kwargs = load_model(task)
    if onnx_file(task.model)[0]:
        from strop.frontend.onnx.element_types import as_numpy
        from strop.frontend.onnx.module import unbound

        arrays = [as_numpy(unbound(value), port.element_type) for value, port in zip(args, model.inputs)]
        np.savez(task.folder / "inputs.npz", *arrays)
        return
    given = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    np.savez(task.folder / "inputs.npz", *[tensor.detach().numpy() for tensor in given])
    failures = []
    for dynamo in (True, False):
        path = task.folder / f"{'dynamo' if dynamo else 'script'}.onnx"
        try:
            with torch.no_grad():
                torch.onnx.export(model, args, path, kwargs=kwargs, dynamo=dynamo, verbose=False)
        except Exception as failure:
            path.unlink(missing_ok=True)
            failures.append(f"{type(failure).__name__}: {str(failure).strip().splitlines()[0]}")
    if len(failures) == 2:
        raise Problem("STR101", f"the model cannot be exported to ONNX: {failures[0]}", where=task.model)


def _faster_export(task: Task, start: Callable[[Path, list[Any]], Call]) -> Callable[[], Call]:
    """A runtime takes whichever of the two exports it runs faster; neither exporter is always the better one."""
    stored = np.load(task.folder / "inputs.npz")
    inputs = [stored[key] for key in stored.files]
    timed = []
    given, _ = onnx_file(task.model)
    for path in [Path(given)] if given else sorted(task.folder.glob("*.onnx")):
        try:
            timed.append((_shortest(start(path, inputs)), path))
        except Exception as failure:
            refused = failure
    if not timed:
        raise refused
    best = min(timed)[1]
    start_afresh()
    return lambda: start(best, inputs)


def _shortest(call: Call) -> float:
    times = []
    for _ in range(4):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return min(times)


def _onnxruntime(task: Task) -> Callable[[], Call]:
    runtime: Any = import_module("onnxruntime")

    def start(path: Path, inputs: list[Any]) -> Call:
        options = runtime.SessionOptions()
        options.intra_op_num_threads = task.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        feed = {slot.name: value for slot, value in zip(session.get_inputs(), inputs, strict=True)}
        return lambda: session.run(None, feed)

    return _faster_export(task, start)


def _openvino(task: Task) -> Callable[[], Call]:
    openvino: Any = import_module("openvino")

    def start(path: Path, inputs: list[Any]) -> Call:
        settings = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": task.threads,
            "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "f32",
        }
        request = openvino.Core().compile_model(str(path), "CPU", settings).create_infer_request()
        feed = dict(enumerate(inputs))
        return lambda: list(request.infer(feed, share_inputs=True, share_outputs=True).values())

    return _faster_export(task, start)


CONTENDERS: dict[str, Contender] = {
    "strop": Contender(_strop()),
    "strop-exact": Contender(_strop(numerics="exact")),
    "strop-fast": Contender(_strop(numerics="fast")),
    "strop-dynamo": Contender(_dynamo(backend="strop")),
    "eager": Contender(_eager),
    "inductor": Contender(_dynamo()),
    "inductor-max": Contender(_inductor_max),
    "onnxruntime": Contender(_onnxruntime, ("onnxruntime", "onnx", "onnxscript"), exported=True),
    "openvino": Contender(_openvino, ("openvino", "onnx", "onnxscript"), exported=True),
}
#: What runs unless told otherwise: everything but the second way into Strop, which compiles the same program.
DEFAULT = tuple(name for name in CONTENDERS if name != "strop-dynamo")
