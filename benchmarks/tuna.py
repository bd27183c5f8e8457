"""Code quality by the CPU seconds that it took to make: Strop, inductor and TVM MetaSchedule on operators and networks.

    python benchmarks/tuna.py onnx --work DIR                         # the networks as files, for TVM
    python benchmarks/tuna_tvm.py search … --out DIR/tvm              # TVM's part, in its own environment
    python benchmarks/tuna.py prepare --work DIR                      # compile everything once, and `strop tune`
    python benchmarks/tuna.py measure --work DIR                      # `strop tune --measure`, on a quiet machine
    python benchmarks/tuna.py time --work DIR --json docs/tuna.json   # all of them in turns, on a quiet machine
    python benchmarks/tuna.py table --json docs/tuna.json --svg docs/tuna.svg

Contenders: `static` is a compilation as it comes; `fast` one with every algorithm (numerics="fast"); `direct` one with
direct algorithms only (numerics="exact"); `tuned 60` is `static` after `strop tune --measure` with sixty CPU seconds;
`inductor` is torch.compile(mode="max-autotune"). `favoured 60` and `stock 60` are what TVM knew after sixty CPU seconds
(`tuna_tvm.py`); of several schedules that it held to be the best the fastest counts. CPU seconds are those of all
processes that took part. TVM has to be importable: PYTHONPATH may name the site-packages of its environment.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

OPERATORS = ("linear", "conv3x3", "conv1x1", "depthwise", "batched")
NETWORKS = ("resnet18", "bert_small", "mobilenet_v2")
MARKS = (60, 300)  # CPU seconds
SEARCHING = 0.8  # of them; the rest is for measuring
SECONDS = 40.0  # of timing per program
TURNS = (15, 200)  # at least and at most

Program = Callable[..., Any]


class Batched(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x @ y.transpose(1, 2)


def model(name: str) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The same shapes as in `tuna_tvm.py`."""
    if name in NETWORKS:
        from strop import zoo

        module, inputs = zoo.load(name)
        return module.eval(), inputs
    torch.manual_seed(0)
    image = {"conv3x3": (64, 56), "conv1x1": (512, 14), "depthwise": (192, 28)}
    if name == "linear":
        return nn.Linear(768, 3072, bias=False).eval(), (torch.randn(128, 768),)
    if name == "batched":
        return Batched(), (torch.randn(12, 128, 64), torch.randn(12, 128, 64))
    channels, size = image[name]
    taps, groups = 1 if name == "conv1x1" else 3, channels if name == "depthwise" else 1
    layer = nn.Conv2d(channels, channels, taps, padding=taps // 2, groups=groups, bias=False)
    return layer.eval(), (torch.randn(1, channels, size, size),)


def make() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The factory that `strop tune` calls."""
    return model(os.environ["TUNA_PROGRAM"])


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


# ---- contenders ------------------------------------------------------------------------------------------------------


def strop_program(name: str, database: Path | None = None, **options: Any) -> Program:
    """Of an operator the code itself, with a result that is there already, as TVM's kernels are called."""
    import strop

    module, inputs = model(name)
    if database is not None:
        os.environ["STROP_TUNING"] = str(database)
    options = {"threads": 1, "tuned": database is not None, **options}
    session = strop.Session(module, inputs, options=strop.Options(**options))
    with torch.no_grad():
        out = session.module(*inputs)
    os.environ.pop("STROP_TUNING", None)
    if name in NETWORKS:
        return session.module
    native = session.program

    def call(*_: torch.Tensor) -> torch.Tensor:
        native.into(given, results)
        return held[-1]

    held = (*inputs, out)  # addresses are no references
    given, results = [one.data_ptr() for one in inputs], [out.data_ptr()]
    return call


def inductor_program(name: str) -> Program:
    module, inputs = model(name)
    fast: Program = torch.compile(module, mode="max-autotune")
    with torch.no_grad():
        fast(*inputs)
    return fast


def tvm_program(name: str, library: Path) -> Program:
    """Of an operator the kernel itself, with a result that is there already; of a network TVM's virtual machine."""
    import tvm
    from tvm import relax

    of_torch = tvm.runtime.from_dlpack
    module, inputs = model(name)
    loaded = tvm.runtime.load_module(str(library))
    machine = relax.VirtualMachine(loaded, tvm.cpu())
    given = [of_torch(one.contiguous()) for one in inputs]
    if name in NETWORKS:
        run = machine["main"]
        return lambda *_: torch.from_dlpack(run(*given))
    form = json.loads((library.parent / f"{library.stem.rsplit('-', 2)[0]}-form.json").read_text())
    weights = [one.detach().permute(form["order"] or tuple(range(one.dim()))) for one in module.parameters()]
    packed = machine["main_transform_params"]([of_torch(one.contiguous()) for one in weights]) if weights else []
    with torch.no_grad():
        out = torch.empty_like(module(*inputs))
    kernel = _kernel(loaded.imports[0])
    arguments = [*given, *packed, of_torch(out)]

    def call(*_: torch.Tensor) -> torch.Tensor:
        kernel(*arguments)
        return out

    return call


def _kernel(library: Any) -> Program:
    for name in ("operator1_prepacked", "operator_prepacked", "operator1", "operator"):
        if library.implements_function(name):
            return library[name]  # type: ignore[no-any-return]
    raise LookupError("the library has no kernel of the operator")


# ---- steps -----------------------------------------------------------------------------------------------------------


def onnx_files(work: Path) -> None:
    for name in NETWORKS:
        module, inputs = model(name)
        names = [f"in{i}" for i in range(len(inputs))]
        torch.onnx.export(
            module, inputs, str(work / f"{name}.onnx"), input_names=names, dynamo=True, external_data=False
        )


def prepare(work: Path, names: list[str], searched: bool) -> None:
    """Compile everything once, and note the CPU seconds; later processes find the results in caches."""
    strop_program("linear", cache=False)  # what is done once per process is not counted
    for name in names:
        spent = _spent(work, name)
        for told, numerics in (("static", "default"), ("fast", "fast"), ("direct", "exact")):
            before = cpu_seconds()
            strop_program(name, numerics=numerics, cache=False)
            spent[told] = cpu_seconds() - before
        before = cpu_seconds()
        try:
            inductor_program(name)
            spent["inductor"] = cpu_seconds() - before
        except Exception as error:
            print(f"{name}: inductor is left out: {type(error).__name__}: {error}", file=sys.stderr)
        if searched:
            spent.update(_search(work, name))
        print(name, {told: round(found, 1) for told, found in spent.items()}, flush=True)
        (work / f"{name}.json").write_text(json.dumps(spent, indent=1))


def _spent(work: Path, name: str) -> dict[str, float]:
    file = work / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def _search(work: Path, name: str) -> dict[str, float]:
    """`strop tune` up to each mark, in a database that is copied there. A process gets as many seconds of the clock as
    are left of the CPU's, and is started again while its searches have not ended."""
    database = work / f"{name}.sqlite"
    database.unlink(missing_ok=True)
    spent: dict[str, float] = {}
    used, ended = 0.0, False
    for mark in MARKS:
        while not ended and SEARCHING * mark - used > 3.0:
            before = cpu_seconds()
            told = _tune(name, database, "--seconds", f"{SEARCHING * mark - used:.0f}", "--workers", "1")
            used += cpu_seconds() - before
            ended = all(one["ended"] for one in told["nests"])
        shutil.copy(database, work / f"{name}-{mark}.sqlite")
        spent[f"tuned {mark}"] = used
    return spent


def _tune(name: str, database: Path, *options: str) -> Any:
    command = [sys.executable, "-m", "strop", "tune", f"{__file__}:make", "--threads", "1", "--json"]
    own = {**os.environ, "TUNA_PROGRAM": name}
    done = subprocess.run([*command, "--database", str(database), *options], env=own, check=True, capture_output=True)
    return json.loads(done.stdout)


def measure(work: Path, names: list[str]) -> None:
    """Time what the searches found, with what is left of the marks."""
    for name in names:
        spent = _spent(work, name)
        for mark in MARKS:
            before = cpu_seconds()
            seconds = max(mark - spent[f"tuned {mark}"], 10.0)
            _tune(name, work / f"{name}-{mark}.sqlite", "--seconds", f"{seconds:.0f}", "--measure", "--workers", "1")
            spent[f"tuned {mark}"] += cpu_seconds() - before
        (work / f"{name}.json").write_text(json.dumps(spent, indent=1))
        print(name, {told: round(found, 1) for told, found in spent.items()}, flush=True)


def contenders(work: Path, name: str) -> dict[str, list[Program]]:
    """Programs by what they are called; of several under one name the fastest counts."""
    programs: dict[str, list[Program]] = {
        "static": [strop_program(name)],
        "fast": [strop_program(name, numerics="fast")],
        "direct": [strop_program(name, numerics="exact")],
    }
    for mark in MARKS:
        if (database := work / f"{name}-{mark}.sqlite").exists():
            programs[f"tuned {mark}"] = [strop_program(name, database)]
    try:
        programs["inductor"] = [inductor_program(name)]
    except Exception as error:
        print(f"{name}: inductor is left out: {type(error).__name__}: {error}", file=sys.stderr)
    for settings in ("favoured", "stock"):
        for mark in MARKS:
            for library in sorted((work / "tvm").glob(f"{name}-{settings}*-{mark}-*.so")):
                programs.setdefault(f"{settings} {mark}", []).append(tvm_program(name, library))
    return programs


def seconds_per_call(programs: dict[Any, Program], inputs: tuple[torch.Tensor, ...], turns: int) -> dict[Any, float]:
    """The median of each, all in turns, each warmed up by a call before the one that counts."""
    taken: dict[Any, list[float]] = {told: [] for told in programs}
    for _ in range(turns):
        for told, program in programs.items():
            program(*inputs)
            start = time.perf_counter()
            program(*inputs)
            taken[told].append(time.perf_counter() - start)
    return {told: statistics.median(times) for told, times in taken.items()}


def time_all(work: Path, name: str) -> dict[str, Any]:
    """Every contender in turns; the CPU seconds that each took come from `prepare`, `measure` and TVM's marks."""
    module, inputs = model(name)
    every = contenders(work, name)
    flat = {(told, i): program for told, several in every.items() for i, program in enumerate(several)}
    spent = _spent(work, name)
    with torch.no_grad():
        wanted = module(*inputs)
        for (told, _), program in flat.items():
            error = float((program(*inputs) - wanted).abs().max() / wanted.abs().max())
            assert error < 1e-4, f"{name}: {told} differs from eager by {error:.1e}"
        first = seconds_per_call(flat, inputs, 5)
        fastest = {told: min(range(len(several)), key=lambda i: first[told, i]) for told, several in every.items()}
        chosen = {told: every[told][i] for told, i in fastest.items()}
        turns = int(SECONDS / (2 * sum(first[told, i] for told, i in fastest.items())))
        found = seconds_per_call(chosen, inputs, min(max(turns, TURNS[0]), TURNS[1]))
    return {
        told: {
            "us": 1e6 * seconds,
            "cpu_seconds": spent.get(told, float(told.rpartition(" ")[2]) if " " in told else 0.0),
        }
        for told, seconds in found.items()
    }


# ---- what people see -------------------------------------------------------------------------------------------------


def table(found: dict[str, Any]) -> str:
    """Microseconds with CPU seconds in brackets, and how much longer favoured TVM takes than three of ours."""
    columns = ["static", "fast", "direct", "tuned 60", "tuned 300", "inductor", "favoured 60", "favoured 300",
               "stock 60", "stock 300"]  # fmt: skip
    rows = [f"| | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]
    for name, all_of in found.items():
        cells = [f"{all_of[told]['us']:,.0f} ({all_of[told]['cpu_seconds']:.1f})" if told in all_of else "–"
                 for told in columns]  # fmt: skip
        rows.append(f"| {name} | {' | '.join(cells)} |")
    ours = ["fast", "direct", "tuned"]
    rows += ["", "| favoured TVM ÷ | " + " | ".join(f"{told} at {mark} s" for mark in MARKS for told in ours) + " |",
             "| --- |" + " ---: |" * (len(ours) * len(MARKS))]  # fmt: skip
    for name, all_of in found.items():
        cells = []
        for mark in MARKS:
            for told in ours:
                theirs, own = (
                    all_of.get(one) for one in (f"favoured {mark}", f"tuned {mark}" if told == "tuned" else told)
                )
                cells.append(f"{theirs['us'] / own['us']:.2f}×" if theirs and own else "–")
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def plot(found: dict[str, Any], file: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 4, figsize=(14, 6.4), sharey=True)
    for axis, (name, all_of) in zip(axes.flat, found.items()):
        best = min(one["us"] for one in all_of.values())
        for told, one in all_of.items():
            family = told.split(" ")[0]
            colour = f"C{('static', 'fast', 'direct', 'tuned', 'inductor', 'favoured', 'stock').index(family)}"
            axis.scatter(one["cpu_seconds"], best / one["us"], color=colour)
            axis.annotate(told, (one["cpu_seconds"], best / one["us"]), fontsize=6, color=colour)
        axis.set_xscale("log")
        axis.set_ylim(0, 1.08)
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("CPU seconds to make it")
    for axis in axes[:, 0]:
        axis.set_ylabel("speed, of the fastest")
    figure.tight_layout()
    figure.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(description="Code quality by the CPU seconds that it took to make.")
    parser.add_argument("step", choices=("onnx", "prepare", "measure", "time", "table"))
    parser.add_argument("--work", type=Path)
    parser.add_argument("--programs", default=",".join((*OPERATORS, *NETWORKS)))
    parser.add_argument("--no-search", action="store_true", help="prepare without `strop tune`")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--svg", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    names = given.programs.split(",")
    if given.step != "table":
        given.work.mkdir(parents=True, exist_ok=True)
        os.environ["STROP_CACHE"] = str(given.work / "cache")
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(given.work / "inductor")
        os.environ["TVM_NUM_THREADS"] = "1"
    if given.step == "onnx":
        onnx_files(given.work)
    elif given.step == "prepare":
        prepare(given.work, names, not given.no_search)
    elif given.step == "measure":
        measure(given.work, names)
    elif given.step == "time":
        known = json.loads(given.json.read_text()) if given.json and given.json.exists() else {}
        for name in names:
            known[name] = time_all(given.work, name)
            print(name, {told: round(one["us"], 1) for told, one in known[name].items()}, flush=True)
            if given.json:
                given.json.write_text(json.dumps(known, indent=1))
    else:
        found = json.loads(given.json.read_text())
        print(table(found))
        if given.svg:
            plot(found, given.svg)


if __name__ == "__main__":
    main()
