"""Code quality by the CPU seconds that it took to make: Strop, inductor and TVM MetaSchedule on single operators.

    python benchmarks/tuna.py prepare --work DIR [--seconds 60]      # compile and tune; TVM's part is `tuna_tvm.py`
    python benchmarks/tuna.py time --work DIR --json docs/tuna.json   # time all of them in turns, on a quiet machine
    python benchmarks/tuna.py plot --json docs/tuna.json --svg docs/tuna.svg

Contenders: `static` is a compilation as it comes, `direct` one with direct algorithms only (numerics="exact"), `tuned`
and `tuned direct` the same after `strop tune` with so many seconds, `inductor` is torch.compile(mode="max-autotune").
CPU seconds are those of all processes that took part. `tvm` are libraries that `tuna_tvm.py` has left in DIR/tvm; TVM
has to be importable: PYTHONPATH may name the site-packages of its environment.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

TURNS = 60
EXACT = {"STROP_NUMERICS": "exact"}


class Batched(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x @ y.transpose(1, 2)


def operators() -> dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]:
    """The same shapes as in `tuna_tvm.py`."""
    torch.manual_seed(0)
    image = {"conv3x3": (64, 56), "conv1x1": (512, 14), "depthwise": (192, 28)}
    inputs = {name: (torch.randn(1, channels, size, size),) for name, (channels, size) in image.items()}
    return {
        "linear": (nn.Linear(768, 3072, bias=False).eval(), (torch.randn(128, 768),)),
        "conv3x3": (nn.Conv2d(64, 64, 3, padding=1, bias=False).eval(), inputs["conv3x3"]),
        "conv1x1": (nn.Conv2d(512, 512, 1, bias=False).eval(), inputs["conv1x1"]),
        "depthwise": (nn.Conv2d(192, 192, 3, padding=1, groups=192, bias=False).eval(), inputs["depthwise"]),
        "batched": (Batched(), (torch.randn(12, 128, 64), torch.randn(12, 128, 64))),
    }


def make() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The factory that `strop tune` calls."""
    return operators()[os.environ["TUNA_OPERATOR"]]


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


# ---- contenders ------------------------------------------------------------------------------------------------------


def strop_program(name: str, tuned: bool, exact: bool, **options: Any) -> Callable[..., Any]:
    import strop

    module, inputs = operators()[name]
    numerics = {"numerics": "exact"} if exact else {}
    return strop.compile(module, inputs, threads=1, tuned=tuned, **numerics, **options)


def inductor_program(name: str) -> Callable[..., Any]:
    module, inputs = operators()[name]
    fast: Callable[..., Any] = torch.compile(module, mode="max-autotune")
    with torch.no_grad():
        fast(*inputs)
    return fast


def tvm_program(name: str, library: Path) -> Callable[..., Any]:
    import tvm

    module, inputs = operators()[name]
    tensors = [*inputs, *(p.detach() for p in module.parameters())]
    with torch.no_grad():
        out = torch.empty_like(module(*inputs))
    loaded = tvm.runtime.load_module(str(library))
    given = [tvm.runtime.from_dlpack(t.contiguous()) for t in (*tensors, out)]

    def call(*_: torch.Tensor) -> torch.Tensor:
        loaded["main"](*given)
        return out

    return call


# ---- steps -----------------------------------------------------------------------------------------------------------


def prepare(work: Path, seconds: float) -> None:
    """Compile and tune everything once, and note the CPU seconds; later processes find the results in caches."""
    spent: dict[str, dict[str, float]] = {}
    strop_program("linear", False, False, cache=False)  # what is done once per process is not counted
    for name in operators():
        spent[name] = {}
        for told, exact in (("static", False), ("direct", True)):
            before = cpu_seconds()
            strop_program(name, False, exact, cache=False)
            spent[name][told] = cpu_seconds() - before
        for told, env in (("tuned", {}), ("tuned direct", EXACT)):
            before = cpu_seconds()
            command = [sys.executable, "-m", "strop", "tune", f"{__file__}:make", "--threads", "1", "--quiet"]
            own = {**os.environ, **env, "TUNA_OPERATOR": name}
            subprocess.run([*command, "--seconds", str(seconds)], env=own, check=True)
            spent[name][told] = cpu_seconds() - before
        before = cpu_seconds()
        inductor_program(name)
        spent[name]["inductor"] = cpu_seconds() - before
        print(name, {told: round(found, 1) for told, found in spent[name].items()}, flush=True)
        (work / "seconds.json").write_text(json.dumps(spent, indent=1))


def time_all(work: Path, names: list[str]) -> dict[str, Any]:
    """Every contender of every operator, in turns; the CPU seconds that each took come from `prepare` and from TVM."""
    spent = json.loads((work / "seconds.json").read_text())
    found: dict[str, Any] = {}
    for name in names:
        module, inputs = operators()[name]
        programs: dict[str, Callable[..., Any]] = {
            "static": strop_program(name, False, False), "direct": strop_program(name, False, True),
            "tuned": strop_program(name, True, False), "tuned direct": strop_program(name, True, True),
        }  # fmt: skip
        for told, build in [("inductor", lambda name=name: inductor_program(name))]:
            try:
                programs[told] = build()
            except Exception as error:
                print(f"{name}: {told} is left out: {type(error).__name__}: {error}", file=sys.stderr)
        seconds = dict(spent[name])
        for library in sorted((work / "tvm").glob(f"{name}-*.so")):
            told = f"tvm {library.stem.removeprefix(name + '-')}"
            programs[told] = tvm_program(name, library)
            seconds[told] = json.loads(library.with_suffix(".json").read_text())[-1]["cpu_seconds"]
        with torch.no_grad():
            wanted = module(*inputs)
            for told, program in programs.items():
                got = program(*inputs)
                error = float((got - wanted).abs().max() / wanted.abs().max())
                assert error < 1e-4, f"{name}: {told} differs from eager by {error:.1e}"
            taken: dict[str, list[float]] = {told: [] for told in programs}
            for _ in range(TURNS):
                for told, program in programs.items():
                    program(*inputs)
                    start = time.perf_counter()
                    program(*inputs)
                    taken[told].append(time.perf_counter() - start)
        found[name] = {
            told: {"us": 1e6 * statistics.median(times), "cpu_seconds": seconds[told]} for told, times in taken.items()
        }
        print(name, {told: round(one["us"], 1) for told, one in found[name].items()}, flush=True)
    return found


def plot(found: dict[str, Any], file: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(found), figsize=(3.4 * len(found), 3.2), sharey=True)
    for axis, (name, contenders) in zip(axes, found.items()):
        best = min(one["us"] for one in contenders.values())
        for told, one in contenders.items():
            axis.scatter(one["cpu_seconds"], best / one["us"], label=told.split("-")[0])
            axis.annotate(told, (one["cpu_seconds"], best / one["us"]), fontsize=6)
        axis.set_xscale("log")
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("CPU seconds to make it")
    axes[0].set_ylabel("speed, of the fastest")
    figure.tight_layout()
    figure.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(description="Code quality by the CPU seconds that it took to make.")
    parser.add_argument("step", choices=("prepare", "time", "plot"))
    parser.add_argument("--work", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--operators", default="linear,conv3x3,conv1x1,depthwise,batched")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--svg", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.step != "plot":
        given.work.mkdir(parents=True, exist_ok=True)
        os.environ["STROP_CACHE"] = str(given.work / "cache")
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(given.work / "inductor")
    if given.step == "prepare":
        prepare(given.work, given.seconds)
    elif given.step == "time":
        found = time_all(given.work, given.operators.split(","))
        if given.json:
            given.json.write_text(json.dumps(found, indent=1))
    else:
        plot(json.loads(given.json.read_text()), given.svg)


if __name__ == "__main__":
    main()
