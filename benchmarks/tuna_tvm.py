"""TVM MetaSchedule on one operator: its best schedules after so many CPU seconds, as libraries (see `tuna.py`).

    python benchmarks/tuna_tvm.py linear --settings favoured --cpu-seconds 60 --out DIR

Runs in an environment that has apache-tvm==0.27.0.post1 with apache-tvm-ffi==0.1.14.post1, xgboost, psutil, cloudpickle
and tornado; nothing of Strop is imported. CPU seconds are those of this process and of the processes that build and
measure for it. `stock` are TVM's own settings. `favoured` builds in this process and not in one that starts for each
batch, measures after 16 schedules and not after 64, each for a tenth of the time, so that the search learns earlier.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import tvm
from tvm import te
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.meta_schedule.builder import local_builder
from tvm.target import Target
from tvm.topi import nn

#: operator → tensors that it reads, as `tuna.py` has them
SHAPES: dict[str, tuple[tuple[int, ...], ...]] = {
    "linear": ((128, 768), (3072, 768)),
    "conv3x3": ((1, 64, 56, 56), (64, 64, 3, 3)),
    "conv1x1": ((1, 512, 14, 14), (512, 512, 1, 1)),
    "depthwise": ((1, 192, 28, 28), (192, 1, 3, 3)),
    "batched": ((12, 128, 64), (12, 128, 64)),
}


class Enough(Exception):
    """The seconds are spent."""


def operator(name: str) -> Any:
    x, w = (te.placeholder(shape, name=which) for which, shape in zip("xw", SHAPES[name]))
    if name == "linear":
        k = te.reduce_axis((0, 768), "k")
        y = te.compute((128, 3072), lambda i, j: te.sum(x[i, k] * w[j, k], axis=k), "y")
    elif name == "batched":
        k = te.reduce_axis((0, 64), "k")
        y = te.compute((12, 128, 128), lambda b, i, j: te.sum(x[b, i, k] * w[b, j, k], axis=k), "y")
    elif name == "depthwise":
        y = nn.depthwise_conv2d_nchw(x, w, 1, 1, 1)
    else:
        y = nn.conv2d_nchw(x, w, 1, 1 if name == "conv3x3" else 0, 1)
    return tvm.IRModule({"main": te.create_prim_func([x, w, y]).with_attr("global_symbol", "main")})


def cpu_seconds() -> float:
    """Of this process and all that it started; those that ended meanwhile are in the first number."""
    own = psutil.Process()
    total = sum(own.cpu_times()[:4])
    for child in own.children(recursive=True):
        try:
            total += sum(child.cpu_times()[:4])
        except psutil.Error:
            continue
    return total


@derived_object
class BuildHere(ms.builder.PyBuilder):  # type: ignore[misc]
    """Builds in this process."""

    def build(self, inputs: Any) -> list[Any]:
        found = []
        for one in inputs:
            try:
                library = local_builder.default_build(one.mod, one.target, None)
                found.append(ms.builder.BuilderResult(local_builder.default_export(library), None))
            except Exception as error:
                found.append(ms.builder.BuilderResult(None, str(error)))
        return found


@derived_object
class Deadline(ms.measure_callback.PyMeasureCallback):  # type: ignore[misc]
    """Notes the best time after every batch, and ends the search when its CPU seconds are spent."""

    def __init__(self, seconds: float, database: Any, file: Path) -> None:
        super().__init__()
        self.seconds, self.database, self.file, self.began = seconds, database, file, cpu_seconds()
        self.rows: list[dict[str, float]] = []

    def apply(self, scheduler: Any, task: int, candidates: Any, builds: Any, results: Any) -> None:
        spent = cpu_seconds() - self.began
        times = [1e6 * min(map(float, r.run_secs)) for r in self.database.get_all_tuning_records() if r.run_secs]
        self.rows.append({"cpu_seconds": spent, "us": min(times, default=0.0), "trials": len(times)})
        print(self.rows[-1], flush=True)
        self.file.write_text(json.dumps(self.rows))
        if spent >= self.seconds:
            raise Enough


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("operator", choices=SHAPES)
    parser.add_argument("--settings", choices=("stock", "favoured"), default="favoured")
    parser.add_argument("--cpu-seconds", type=float, default=60.0)
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--cpu", default="znver4", help="LLVM's name of the CPU")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    name = f"{given.operator}-{given.settings}-{given.cpu_seconds:g}"
    target = Target({"kind": "llvm", "mcpu": given.cpu, "num-cores": 1})
    favoured = given.settings == "favoured"
    once = ms.runner.EvaluatorConfig(number=1, repeat=1, min_repeat_ms=10 if favoured else 100)
    builder = BuildHere() if favoured else ms.builder.LocalBuilder(max_workers=1)
    module = operator(given.operator)
    started = time.time()
    with tempfile.TemporaryDirectory() as work:
        database = ms.database.JSONDatabase(f"{work}/workload.json", f"{work}/records.json")
        deadline = Deadline(given.cpu_seconds, database, given.out / f"{name}.json")
        callbacks = [ms.measure_callback.AddToDatabase(), ms.measure_callback.RemoveBuildArtifact(),
                     ms.measure_callback.UpdateCostModel(), deadline]  # fmt: skip
        try:
            ms.tir_integration.tune_tir(
                module, target, work, given.trials, num_trials_per_iter=16 if favoured else 64, database=database,
                builder=builder, runner=ms.runner.LocalRunner(evaluator_config=once),
                measure_callbacks=callbacks, num_tuning_cores=1,
            )  # fmt: skip
        except (Enough, Exception) as error:
            print(type(error).__name__, str(error)[-300:], flush=True)
        schedule = ms.tir_integration.compile_tir(database, module, target)
        if schedule is None:
            print("nothing was found", flush=True)
            return
        library = tvm.compile(schedule.mod, target)
        library.export_library(str(given.out / f"{name}.so"))
    print(f"{name}: {cpu_seconds() - deadline.began:.0f} CPU seconds, {time.time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
