"""Runs the cases of one package in one tree: first what the original gives is stored, then the edited tree is compared.

    python record.py job.json        # `judge.py` writes the job and reads the rows

Every case gets the same random parameters and buffers in both trees (by name, so that the order of construction does
not matter) and runs in float32 and float64, in eval mode with and without gradients and in training, on two inputs.
Compared are all outputs, the gradients of all parameters and inputs, buffers after training, and the keys of the state.
Dropout draws are kept where both versions draw alike; where they do not, training without dropout decides.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from measure import Values, differences, kept
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

SECONDS = 60  #: of processor time, for one case in one tree; ten times as long by the clock


class TooLong(BaseException):
    """A case took longer than it may; nothing in a model catches this."""


class Widened(TorchFunctionMode):
    """What asks for float32 gets float64, so that formulas are compared to the last digits."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        func = torch.Tensor.double if func is torch.Tensor.float else func
        args = tuple(torch.float64 if one is torch.float32 else one for one in args)
        return func(*args, **{k: torch.float64 if v is torch.float32 else v for k, v in (kwargs or {}).items()})


def run(model: nn.Module, given: Any, *, training: bool, gradients: bool, seed: int) -> dict[str, Tensor]:
    """Everything that one call gives, by name."""
    model.train(training)
    given = leaves(given)
    for generator in (torch.manual_seed, random.seed, _numpy_seed):
        generator(seed)
    with nullcontext() if gradients else torch.no_grad():
        result = model(**given) if isinstance(given, dict) else model(*given)
    found = {f"output{path}": tensor for path, tensor in tensors_in(result)}
    total = scalar(found.values()) if gradients else None
    if total is not None:
        total.backward()
        found |= {f"gradient of {name}": p.grad for name, p in model.named_parameters() if p.grad is not None}
        found |= {f"gradient of input{path}": t.grad for path, t in tensors_in(given) if t.grad is not None}
    if training:
        found |= {f"buffer {name}": buffer for name, buffer in model.named_buffers()}
    return {name: tensor.detach() for name, tensor in found.items()}


#: what is run: precision, which inputs, mode; the first two are watched
FIRST = ((torch.float32, 0, "eval"), (torch.float32, 0, "train"))
PASSES = (
    *FIRST,
    (torch.float32, 0, "eval without gradients"),
    (torch.float32, 0, "train without dropout"),
    (torch.float32, 1, "eval"),
    (torch.float32, 1, "train without dropout"),
    (torch.float64, 0, "eval"),
    (torch.float64, 0, "train"),
    (torch.float64, 0, "train without dropout"),
    (torch.float64, 1, "eval"),
    (torch.float64, 1, "train without dropout"),
)


def results(case: Any, model: nn.Module, passes: Any) -> dict[str, Values]:
    """What a case gives, each time from a fresh copy of the model; a model that insists on float32 has no float64."""
    found: dict[str, Values] = {}
    for dtype, variant, mode in passes:
        torch.manual_seed(100 + variant)
        with as_default(dtype):
            fresh = copied(model).to(dtype)
            if mode == "train without dropout" and not without_dropout(fresh) and variant == 0:
                continue  # the same as training
            given = as_dtype(case.inputs(variant), dtype)
            training = mode.startswith("train")
            gradients = training or (mode == "eval" and case.eval_gradients)
            try:
                values = kept(run(fresh, given, training=training, gradients=gradients, seed=variant))
            except Exception:
                if dtype is torch.float32:
                    raise
                break
        found[f"{mode}, input {variant}, {str(dtype).removeprefix('torch.')}"] = values
    return found


@contextmanager
def as_default(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with Widened() if dtype is torch.float64 else nullcontext():
            yield
    finally:
        torch.set_default_dtype(before)


def build(case: Any) -> nn.Module:
    for generator in (torch.manual_seed, random.seed, _numpy_seed):
        generator(0)
    model = case.make()
    randomise(model)
    return model


def randomise(model: nn.Module) -> None:
    """Every parameter and floating buffer becomes random: ones and zeros hide mistakes."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.is_floating_point() and parameter.numel():
                shift = 0.7 if parameter.dim() <= 1 and "bias" not in name else 0.0
                spread = (parameter.shape[0] / parameter.numel()) ** 0.5 if parameter.dim() > 1 else 0.25
                parameter.copy_(_normal(name, parameter.shape) * spread + shift)
        for name, buffer in model.named_buffers():
            if buffer.is_floating_point() and buffer.numel() and "running_" in name:
                positive = "running_var" in name
                noise = _normal(name, buffer.shape)
                buffer.copy_(noise.abs() + 0.5 if positive else noise * 0.25)


def _normal(name: str, shape: Any) -> Tensor:
    seed = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)
    return torch.randn(tuple(shape), generator=torch.Generator().manual_seed(seed), dtype=torch.float32)


# ---- one tree --------------------------------------------------------------------------------------------------------


def store(case: Any, file: Path) -> dict[str, Any]:
    """The original: what it gives in every pass."""
    model = build(case)
    found = results(case, model, PASSES)
    torch.save({"keys": sorted(model.state_dict()), "found": found}, file)
    return {"float64": any("float64" in what for what in found)}


def compare(case: Any, file: Path, watch: Watch) -> dict[str, Any]:
    """The edited tree against what `store` kept; a model that reaches nothing that was edited is run in one precision."""
    before = torch.load(file, weights_only=False)
    model = build(case)
    found: list[str] = []
    keys = sorted(model.state_dict())
    if keys != before["keys"]:
        found.append(f"the keys of the state differ: {sorted(set(keys) ^ set(before['keys']))[:4]}")
    with watch:
        after = results(case, model, FIRST)
    expected = before["found"]
    if watch.seen:
        after |= results(case, model, PASSES[len(FIRST) :])
    else:
        expected = {what: values for what, values in expected.items() if what in after}
    texts, largest = differences(expected, after)
    return {"differences": [*found, *texts][:8], "largest": largest, "ran": sorted(watch.seen)}


class Watch:
    """Which functions of the edited files run, by file and dotted name."""

    def __init__(self, edited: dict[str, list[str]]) -> None:
        self.edited = {file: set(names) for file, names in edited.items()}
        self.seen: set[str] = set()

    def __enter__(self) -> Watch:
        self.seen = set()
        sys.setprofile(self._event)
        return self

    def __exit__(self, *unused: object) -> None:
        sys.setprofile(None)

    def _event(self, frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            names = self.edited.get(frame.f_code.co_filename)
            if names:
                name = frame.f_code.co_qualname.replace(".<locals>", "")
                if name in names:
                    self.seen.add(f"{frame.f_code.co_filename}:{name}")


# ---- inputs and outputs ----------------------------------------------------------------------------------------------


def tensors_in(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Tensor]]:
    """Every tensor of a nested result, by where it is."""
    if isinstance(value, Tensor):
        if not value.is_nested and value.layout is torch.strided:
            yield path, value
    elif depth < 8 and hasattr(value, "items"):
        for key, item in value.items():
            yield from tensors_in(item, f"{path}.{key}", depth + 1)
    elif depth < 8 and isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from tensors_in(item, f"{path}[{index}]", depth + 1)
    elif depth < 8 and hasattr(value, "__dataclass_fields__"):
        for key in value.__dataclass_fields__:
            yield from tensors_in(getattr(value, key, None), f"{path}.{key}", depth + 1)


def leaves(given: Any) -> Any:
    if isinstance(given, dict):
        return {key: leaves(value) for key, value in given.items()}
    if isinstance(given, (list, tuple)):
        return type(given)(leaves(value) for value in given)
    if isinstance(given, Tensor):
        fresh = given.detach().clone()
        return fresh.requires_grad_() if fresh.is_floating_point() else fresh
    return given


def as_dtype(given: Any, dtype: torch.dtype) -> Any:
    if isinstance(given, dict):
        return {key: as_dtype(value, dtype) for key, value in given.items()}
    if isinstance(given, (list, tuple)):
        return type(given)(as_dtype(value, dtype) for value in given)
    return given.to(dtype) if isinstance(given, Tensor) and given.is_floating_point() else given


def scalar(outputs: Any) -> Tensor | None:
    """One number that depends unevenly on every element, so that a gradient cannot hide in symmetry."""
    total: Tensor | None = None
    for tensor in outputs:
        if not tensor.is_floating_point() or not tensor.requires_grad or not tensor.numel():
            continue
        weights = torch.linspace(0.5, 1.5, tensor.numel(), dtype=torch.float64).to(tensor.dtype).view(tensor.shape)
        part = (torch.where(torch.isfinite(tensor), tensor, torch.zeros_like(tensor)) * weights).mean()
        total = part if total is None else total + part
    return total


def copied(model: nn.Module) -> nn.Module:
    fresh = copy.deepcopy(model)
    fresh.zero_grad(set_to_none=True)
    return fresh


def without_dropout(model: nn.Module) -> bool:
    """Set every dropout probability to 0; says whether there was one."""
    found = False
    for module in model.modules():
        for name, value in list(vars(module).items()):
            dropping = name == "p" and isinstance(module, nn.modules.dropout._DropoutNd)
            if isinstance(value, float) and value > 0 and (dropping or "drop" in name):
                setattr(module, name, 0.0)
                found = True
    return found


def _numpy_seed(number: int) -> None:
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(number)


# ---- the job ---------------------------------------------------------------------------------------------------------


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    def over(signal_number: int, frame: Any) -> None:
        raise TooLong

    signal.signal(signal.SIGPROF, over)
    signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(10 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def prepare(job: dict[str, Any]) -> None:
    """The tree before everything else, and graphs compiled by the backend that the job names."""
    torch.set_num_threads(1)
    sys.path[:0] = [job["tree"], *job["path"]]
    os.environ["HF_HUB_OFFLINE"] = "1"
    real = torch.compile

    def compile(model: Any = None, **given: Any) -> Any:
        given.pop("mode", None)
        given.pop("options", None)
        return real(model, **{**given, "backend": job["backend"]})

    torch.compile = compile  # type: ignore[assignment]
    if job.get("smallest"):
        from strop.kernels import autograd

        for name in autograd.SMALLEST:
            autograd.SMALLEST[name] = 1


def main(job_file: str) -> int:
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    prepare(job)
    from cases import cases_of

    cases = cases_of(job["package"])
    wanted = job["names"] or list(cases)
    watch = Watch(job.get("edited", {}))
    with Path(job["rows"]).open("a", encoding="utf-8") as rows:

        def tell(row: dict[str, Any]) -> None:
            rows.write(json.dumps(row) + "\n")
            rows.flush()

        if not job["names"]:
            tell({"all": list(cases)})
        for number, name in enumerate(wanted):
            if name in job["skip"]:
                continue
            tell({"began": name})
            file = Path(job["store"]) / f"{list(cases).index(name)}.pt"
            row: dict[str, Any] = {"name": name}
            started = time.process_time()
            try:
                with at_most(SECONDS):
                    row |= store(cases[name], file) if job["role"] == "before" else compare(cases[name], file, watch)
            except TooLong:
                row["problem"] = f"took longer than {SECONDS} s"
            except Exception as problem:
                row["problem"] = f"{type(problem).__name__}: {str(problem)[:300]}"
                row["trace"] = traceback.format_exc()[-3000:]
            finally:
                sys.setprofile(None)
            row["seconds"] = round(time.process_time() - started, 2)
            tell(row)
            if number % 16 == 0:
                torch._dynamo.reset()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
