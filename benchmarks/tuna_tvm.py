"""TVM MetaSchedule on an operator or a network: its best code after so many CPU seconds, as libraries (see `tuna.py`).

    python benchmarks/tuna_tvm.py search linear --settings favoured --marks 60,300 --out DIR
    python benchmarks/tuna_tvm.py keep linear --settings favoured --marks 60,300 --out DIR
    python benchmarks/tuna_tvm.py search resnet18.onnx --settings stock --marks 60,300 --out DIR

Runs in an environment that has apache-tvm==0.27.0.post1 with apache-tvm-ffi==0.1.14.post1, xgboost, psutil,
cloudpickle, tornado and onnx; nothing of Strop is imported. CPU seconds are those of this process and of the processes
that build and measure for it, from before the first schedule is drawn. One search serves all marks: what it knew at a
mark is what it had measured by then. `keep` makes libraries of that.

`stock` are TVM's own search settings: batches of 64, a process that builds and one that measures, 100 ms per
measurement, a cost model that learns from the 100th schedule on. `favoured` builds in copies of this process, which
need not start, and gives up after a second of LLVM; measures in this process, 16 schedules per batch, a few
milliseconds each, and gives up at once on one that is three times slower than the best; evolves 128 candidates (stock:
512) in two generations (four); and lets the model learn from the 16th schedule on. In both the weights lie as the
schedule wants them (packed before the call, not counted), loops are not handed to threads, and the program is written
in the form that suits TVM best (`FORMS`), which pilot runs found.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["TVM_NUM_THREADS"] = "1"

import numpy as np
import psutil
import tvm
from tvm import relax, te, topi
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.meta_schedule.builder import local_builder
from tvm.target import Target

#: operator → tensors that it reads, as `tuna.py` has them; the second one is a parameter except in `batched`
SHAPES: dict[str, tuple[tuple[int, ...], ...]] = {
    "linear": ((128, 768), (3072, 768)),
    "conv3x3": ((1, 64, 56, 56), (64, 64, 3, 3)),
    "conv1x1": ((1, 512, 14, 14), (512, 512, 1, 1)),
    "depthwise": ((1, 192, 28, 28), (192, 1, 3, 3)),
    "batched": ((12, 128, 64), (12, 128, 64)),
}
BUILD_SECONDS = 1  #: of CPU, for a schedule in a favoured search; LLVM takes 42 s for some
KEPT = 3  #: libraries of an operator per mark: measurements during the search are short, the best is found when timing


class Enough(Exception):
    """The seconds are spent."""


# ---- what is searched ------------------------------------------------------------------------------------------------


def linear_rows(x: Any, w: Any) -> Any:
    k = te.reduce_axis((0, 768), "k")
    return te.compute((128, 3072), lambda i, j: te.sum(x[i, k] * w[j, k], axis=k), "y")


def batched_direct(x: Any, w: Any) -> Any:
    k = te.reduce_axis((0, 64), "k")
    return te.compute((12, 128, 128), lambda b, i, j: te.sum(x[b, i, k] * w[b, j, k], axis=k), "y")


def batched_turned(x: Any, w: Any) -> Any:
    """The second tensor is written turned into a buffer first, in blocks of 16 columns."""
    turned = te.compute((12, 8, 64, 16), lambda b, jo, k, ji: w[b, jo * 16 + ji, k], "turned")
    k = te.reduce_axis((0, 64), "k")
    return te.compute((12, 128, 128), lambda b, i, j: te.sum(x[b, i, k] * turned[b, j // 16, k, j % 16], axis=k), "y")


def conv_nchw(x: Any, w: Any) -> Any:
    return topi.nn.conv2d_nchw(x, w, 1, int(w.shape[2]) // 2, 1)


def conv_nhwc(x: Any, w: Any) -> Any:
    pad = int(w.shape[0]) // 2
    y = topi.nn.conv2d_nhwc(topi.transpose(x, (0, 2, 3, 1)), w, 1, pad, 1)
    return topi.transpose(y, (0, 3, 1, 2))


def conv1x1_product(x: Any, w: Any) -> Any:
    """A product of matrices: the pixels of a row of the result are one dimension."""
    c = te.reduce_axis((0, 512), "c")
    y = te.compute((512, 196), lambda o, p: te.sum(w[o, c, 0, 0] * x[0, c, p // 14, p % 14], axis=c), "y")
    return te.compute((1, 512, 14, 14), lambda n, o, h, q: y[o, h * 14 + q], "shaped")


def conv1x1_pixels(x: Any, w: Any) -> Any:
    """The same with channels innermost, turned at the end."""
    c = te.reduce_axis((0, 512), "c")
    y = te.compute((196, 512), lambda p, o: te.sum(w[o, c, 0, 0] * x[0, c, p // 14, p % 14], axis=c), "y")
    return te.compute((1, 512, 14, 14), lambda n, o, h, q: y[h * 14 + q, o], "shaped")


def depthwise_nchw(x: Any, w: Any) -> Any:
    return topi.nn.depthwise_conv2d_nchw(x, w, 1, 1, 1)


def depthwise_nhwc(x: Any, w: Any) -> Any:
    y = topi.nn.depthwise_conv2d_nhwc(topi.transpose(x, (0, 2, 3, 1)), w, 1, 1, 1)
    return topi.transpose(y, (0, 3, 1, 2))


#: a form → in which order it wants the dimensions of the weight
ORDER: dict[str, tuple[int, ...]] = {"conv_nhwc": (2, 3, 1, 0), "depthwise_nhwc": (2, 3, 0, 1)}
#: operator → ways to write it; the first is used
FORMS: dict[str, list[Callable[[Any, Any], Any]]] = {
    "linear": [linear_rows],
    "conv3x3": [conv_nhwc, conv_nchw],
    "conv1x1": [conv1x1_product, conv_nchw, conv1x1_pixels],
    "depthwise": [depthwise_nchw, depthwise_nhwc],
    "batched": [batched_turned, batched_direct],
}


def operator_module(name: str, form: str | None) -> tvm.IRModule:
    [write] = [one for one in FORMS[name] if form in (None, one.__name__)][:1]
    builder = relax.BlockBuilder()
    given, weight = SHAPES[name]
    weight = tuple(weight[i] for i in ORDER.get(write.__name__, range(len(weight))))
    x, w = (relax.Var(which, relax.TensorType(shape, "float32")) for which, shape in (("x", given), ("w", weight)))
    with builder.function("main", [x, w]):
        with builder.dataflow():
            y = builder.emit_output(builder.call_te(write, x, w, primfunc_name_hint="operator"))
        builder.emit_func_output(y)
    module = builder.get()
    module["main"] = module["main"].with_attr("num_input", 2 if name == "batched" else 1)
    return relax.transform.AttachAttrLayoutFreeBuffers()(module)


def network_module(file: Path) -> tvm.IRModule:
    """The network as TVM's own pipeline for static shapes prepares it, with convolutions in NHWC."""
    import onnx
    from tvm.relax.frontend.onnx import from_onnx, onnx_frontend

    model = onnx.load(str(file))
    values = {one.name: float(onnx.numpy_helper.to_array(one)) for one in model.graph.initializer if not one.dims}
    bounds = {tuple(values[name] for name in node.input[1:]) for node in model.graph.node if node.op_type == "Clip"}
    if bounds == {(0.0, 6.0)}:  # of which the importer makes four operators that test for NaN
        onnx_frontend.Clip._impl_v13 = classmethod(
            lambda cls, bb, inputs, *_: relax.op.minimum(relax.op.nn.relu(inputs[0]), relax.const(6.0, "float32"))
        )
    steps = [
        relax.transform.DecomposeOpsForInference(), relax.transform.CanonicalizeBindings(),
        relax.transform.ConvertLayout({"relax.nn.conv2d": ["NHWC", "HWIO"]}),
        relax.get_pipeline("zero"), relax.transform.AttachAttrLayoutFreeBuffers(),
    ]  # fmt: skip
    return tvm.transform.Sequential(steps)(from_onnx(model))


# ---- the search ------------------------------------------------------------------------------------------------------


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


def link(output: str, objects: list[str], *_: Any, **__: Any) -> None:
    subprocess.run(["ld", "-shared", "-o", output, *objects], check=True)


link.output_format = "so"  # type: ignore[attr-defined]


@derived_object
class BuildForked(ms.builder.PyBuilder):  # type: ignore[misc]
    """Compiles in a copy of this process, which starts at once and is ended when LLVM takes too long."""

    def __init__(self, work: str) -> None:
        super().__init__()
        self.work, self.count = Path(work), 0

    def build(self, inputs: Any) -> list[Any]:
        return [self.built(one) for one in inputs]

    def built(self, one: Any) -> Any:
        self.count += 1
        file = self.work / f"built-{self.count}.so"
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (BUILD_SECONDS, BUILD_SECONDS))
            try:
                library = local_builder.default_build(one.mod, one.target, None)
                library.export_library(str(file), fcompile=link)
                os._exit(0)
            except BaseException:
                os._exit(1)
        os.waitpid(child, 0)
        made = (str(file), None) if file.exists() else (None, f"not built within {BUILD_SECONDS} s")
        return ms.builder.BuilderResult(*made)


@derived_object
class Found(ms.runner.PyRunnerFuture):  # type: ignore[misc]
    def __init__(self, seconds: list[float] | None, error: str | None) -> None:
        super().__init__()
        self.answer = ms.runner.RunnerResult(seconds, error)

    def done(self) -> bool:
        return True

    def result(self) -> Any:
        return self.answer


@derived_object
class RunHere(ms.runner.PyRunner):  # type: ignore[misc]
    """Runs in this process: once, and only if that was not slow, three times two milliseconds."""

    def __init__(self) -> None:
        super().__init__()
        self.device = tvm.cpu()
        self.tensors: dict[str, list[Any]] = {}
        self.best: dict[str, float] = {}

    def run(self, inputs: Any) -> list[Any]:
        return [self.measured(one) for one in inputs]

    def measured(self, one: Any) -> Any:
        try:
            kinds = str([(info.dtype, [int(n) for n in info.shape]) for info in one.args_info])
            if kinds not in self.tensors:
                self.tensors[kinds] = [tensor_of(info) for info in one.args_info]
            program, given = tvm.runtime.load_module(str(one.artifact_path)), self.tensors[kinds]
            [took] = program.time_evaluator("main", self.device, number=1, repeat=1)(*given).results
            if took < 3 * self.best.get(kinds, float("inf")):
                runs = max(1, int(2e-3 / took))
                took = min(program.time_evaluator("main", self.device, number=runs, repeat=3)(*given).results)
                self.best[kinds] = min(took, self.best.get(kinds, took))
            Path(str(one.artifact_path)).unlink()
            return Found([took], None)
        except Exception as error:
            return Found(None, str(error))


def tensor_of(info: Any) -> Any:
    shape = [int(n) for n in info.shape]
    values = np.random.default_rng(0).standard_normal(shape) if "float" in info.dtype else np.ones(shape)
    return tvm.runtime.tensor(values.astype(info.dtype))


@derived_object
class Deadline(ms.measure_callback.PyMeasureCallback):  # type: ignore[misc]
    """Notes after every batch how many schedules are known, and ends the search when its CPU seconds are spent."""

    def __init__(self, seconds: float, database: Any, file: Path) -> None:
        super().__init__()
        self.seconds, self.database, self.file, self.began = seconds, database, file, cpu_seconds()
        self.rows: list[dict[str, float]] = []

    def apply(self, scheduler: Any, task: int, candidates: Any, builds: Any, results: Any) -> None:
        spent = cpu_seconds() - self.began
        times = [1e6 * min(map(float, r.run_secs)) for r in results if r.run_secs]
        known = len(self.database)
        failed = [str(r.error_msg) for r in (*builds, *results) if r.error_msg]
        self.rows.append({"cpu_seconds": spent, "task": task, "us": min(times, default=0.0), "trials": known})
        print(self.rows[-1], failed[0][-300:] if failed else "", flush=True)
        self.file.write_text(json.dumps(self.rows))
        if spent >= self.seconds:
            raise Enough


def space(favoured: bool) -> Any:
    """TVM's own rules for CPUs without the handing of loops to threads: one thread runs everything here."""
    steps = [0, 16, 64] if favoured else [0, 16, 64, 512]
    rules = [
        ms.schedule_rule.ParallelizeVectorizeUnroll(
            max_jobs_per_core=-1, max_vectorize_extent=64, unroll_max_steps=steps, unroll_explicit=True)
        if isinstance(rule, ms.schedule_rule.ParallelizeVectorizeUnroll) else rule
        for rule in ms.schedule_rule.ScheduleRule.create("llvm")
    ]  # fmt: skip
    return ms.space_generator.PostOrderApply(sch_rules=rules, postprocs="llvm", mutator_probs="llvm")


def search(
    tasks: list[Any], settings: str, seconds: float, population: int, database: Any, file: Path, work: str
) -> Deadline:
    favoured = settings == "favoured"
    deadline = Deadline(seconds, database, file)
    callbacks = [ms.measure_callback.AddToDatabase(), ms.measure_callback.RemoveBuildArtifact(),
                 ms.measure_callback.UpdateCostModel(), deadline]  # fmt: skip
    if favoured:
        builder, runner = BuildForked(work), RunHere()
        del callbacks[1]
    else:
        builder, runner = ms.builder.LocalBuilder(max_workers=1), ms.runner.LocalRunner()
    model = ms.cost_model.XGBModel(num_warmup_samples=16 if favoured else 100, num_tuning_cores=1)
    for strategy, batch, trials in phases(favoured, len(tasks), population):
        contexts, weights = ms.relax_integration.extracted_tasks_to_tune_contexts(
            tasks, work, space=space(favoured), strategy=strategy, num_threads=1, seed=1
        )
        try:
            ms.tune.tune_tasks(
                tasks=contexts, task_weights=weights, work_dir=work, max_trials_global=trials,
                num_trials_per_iter=batch, builder=builder, runner=runner, database=database,
                cost_model=model, measure_callbacks=callbacks,
            )  # fmt: skip
        except (Enough, Exception) as error:
            print(type(error).__name__, str(error)[-300:], flush=True)
            break
    return deadline


def phases(favoured: bool, tasks: int, population: int) -> list[tuple[Any, int, int]]:
    """Strategy, schedules per batch and schedules in all. A favoured search sees each task of a network soon."""
    if not favoured:
        return [("evolutionary", 64, 100_000)]
    evolve = ms.search_strategy.EvolutionarySearch
    first = (evolve(population_size=32, genetic_num_iters=1, init_min_unmeasured=16), 4, 4 * tasks)
    later = evolve(population_size=population, genetic_num_iters=2, init_min_unmeasured=population // 4, eps_greedy=0.1)
    rest = (later, 16, 100_000)
    return [first, rest] if tasks > 1 else [rest]


# ---- what it found ---------------------------------------------------------------------------------------------------


def known_at(rows: list[dict[str, float]], mark: float) -> int:
    """How many schedules were measured by a mark; a batch that ended a twentieth later counts as well."""
    return int(max((row["trials"] for row in rows if row["cpu_seconds"] <= 1.05 * mark), default=0))


def keep(module: tvm.IRModule, records: list[Any], target: Target, file: Path) -> None:
    """A library of the program under the best of `records`; a function of its own packs parameters that are inputs."""
    database = ms.database.MemoryDatabase()
    for record in records:
        database.commit_workload(record.workload.mod)
        database.commit_tuning_record(record)
    with target, database:
        steps = [relax.transform.MetaScheduleApplyDatabase(), relax.transform.SplitLayoutRewritePreproc(),
                 relax.transform.LiftTransformParams(), relax.transform.FoldConstant()]  # fmt: skip
        tvm.compile(tvm.transform.Sequential(steps)(module), target).export_library(str(file))


def keep_marks(module: tvm.IRModule, database: Any, rows: list[Any], target: Target, stem: Path, marks: str) -> None:
    """Libraries of what was best at each mark: for an operator some, as the search has measured in a hurry."""
    known = list(database.get_all_tuning_records())
    tasks = {row["task"] for row in rows}
    for mark in marks.split(","):
        records = [r for r in known[: known_at(rows, float(mark))] if r.run_secs and float(min(r.run_secs)) < 1e9]
        records.sort(key=lambda record: float(min(record.run_secs)))
        if not records:
            print(f"{stem.name}: nothing was measured within {mark} CPU seconds", flush=True)
        chosen = [[record] for record in records[:KEPT]] if len(tasks) == 1 else [records][: len(records)]
        for place, these in enumerate(chosen):
            keep(module, these, target, stem.with_name(f"{stem.name}-{mark}-{place}.so"))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("step", choices=("search", "keep"))
    parser.add_argument("program", help=f"an ONNX file, or one of {', '.join(SHAPES)}")
    parser.add_argument("--settings", choices=("stock", "favoured"), default="favoured")
    parser.add_argument("--marks", default="60,300", help="CPU seconds at which the best is kept")
    parser.add_argument("--cpu", required=True, help="LLVM's name of the CPU")
    parser.add_argument("--population", type=int, default=128, help="of a favoured search")
    parser.add_argument("--tag", default="", help="told after the settings in the names of files: of one search more")
    parser.add_argument("--form", help="of an operator: one of FORMS")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    stem = given.out / f"{Path(given.program).stem}-{given.settings}{given.tag}"
    rows = stem.with_name(f"{stem.name}.json")
    target = Target({"kind": "llvm", "mcpu": given.cpu, "mattr": ["-prefer-256-bit"], "num-cores": 1})
    with target:
        operator = given.program in SHAPES
        module = operator_module(given.program, given.form) if operator else network_module(Path(given.program))
    database = ms.database.JSONDatabase(f"{stem}-workload.json", f"{stem}-records.json")
    if given.step == "search":
        started = time.time()
        tasks = ms.relax_integration.extract_tasks(module, target)
        with tempfile.TemporaryDirectory() as work:
            seconds = float(given.marks.split(",")[-1])
            deadline = search(tasks, given.settings, seconds, given.population, database, rows, work)
        spent = cpu_seconds() - deadline.began
        print(f"{stem.name}: {spent:.0f} CPU seconds, {time.time() - started:.0f} s", flush=True)
    else:
        order = ORDER.get(given.form or FORMS[given.program][0].__name__) if operator else None
        stem.with_name(f"{stem.name}-form.json").write_text(json.dumps({"order": order}))
        keep_marks(module, database, json.loads(rows.read_text()), target, stem, given.marks)


if __name__ == "__main__":
    main()
