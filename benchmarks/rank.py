"""How well the static cost model ranks schedules: random legal ones of nine nests, predicted and measured.

    python benchmarks/rank.py                     # all nests, 200 schedules each, 30 interleaved repeats, one thread
    python benchmarks/rank.py conv3x3 matmul --count 50 --repeats 10
    python benchmarks/rank.py --save timings.json # keep the measurements …
    python benchmarks/rank.py --load timings.json # … and rank them again without measuring
    python benchmarks/rank.py --load benchmarks/rank-znver4.json --target znver4  # on any machine

Schedules are drawn uniformly from `strop.schedule.sampling` with a committed seed and nothing pruned: tiles that spill,
gathers and scalar code are among them. Each is compiled, compared with the unscheduled nest, and timed in turns with
all others, after one call that is not timed. The columns: Kendall's τ over all and within the fastest quarter by
measurement, then how much slower than the best measured schedule are the best of the model's first five and its first.
Nests marked with * were not looked at while the model was built.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from strop.codegen import object_code
from strop.codegen.module import BufferPlaces, build_module
from strop.core.journal import Journal
from strop.cost.model import estimate
from strop.graph import build
from strop.graph.ir import Graph, Node
from strop.graph.passes.simplify import simplify
from strop.loops.ir import Buffer, Nest
from strop.loops.lower.graph import lower
from strop.loops.passes.fusion import Hoist
from strop.runtime import jit
from strop.schedule.fuse import fuse
from strop.schedule.layouts import choose_layouts
from strop.schedule.sampling import Schedule, sample
from strop.target import host
from strop.target.description import Target

SEED = 20240611
HELD_OUT = ("strided", "grouped")
TURN_SECONDS = 100e-6  # a turn lasts at least this long; short nests are called several times in it
NUMPY = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "bool": np.bool_}


# ---- the nests -------------------------------------------------------------------------------------------------------


def _input(*shape: int, index: int = 0) -> Node:
    return build.input(index, "f32", shape, f"x{index}")


def _conv(channels: int, out: int, size: int, kernel: int, **options: int) -> Graph:
    x = _input(1, channels, size, size)
    weight = build.param("w", "f32", (out, channels // options.get("groups", 1), kernel, kernel))
    bias = build.param("b", "f32", (out,))
    return Graph((x,), (weight, bias), (build.relu(build.conv(x, weight, bias, **options)),))


def _linear(rows: int, depth: int, columns: int) -> Graph:
    x, weight = _input(rows, depth), build.param("w", "f32", (columns, depth))
    bias = build.param("b", "f32", (columns,))
    return Graph((x,), (weight, bias), (build.relu(build.linear(x, weight, bias)),))


def _batched() -> Graph:
    a, b = _input(8, 96, 64), _input(8, 64, 96, index=1)
    return Graph((a, b), (), (build.matmul(a, b),))


def _softmax() -> Graph:
    x = _input(160, 397)
    return Graph((x,), (), (build.softmax(x),))


def _pointwise() -> Graph:
    x, scale, shift = _input(48, 96, 70), _input(96, 1, index=1), _input(48, 1, 70, index=2)
    return Graph((x, scale, shift), (), (build.relu(build.add(build.mul(x, scale), shift)),))


NESTS: Mapping[str, Callable[[], Graph]] = {
    "conv3x3": lambda: _conv(32, 64, 20, 3, padding=1),
    "conv1x1": lambda: _conv(96, 128, 28, 1),
    "strided": lambda: _conv(32, 48, 33, 5, padding=2, stride=2),
    "grouped": lambda: _conv(48, 96, 22, 3, padding=1, groups=3),
    "depthwise": lambda: _conv(96, 96, 34, 3, padding=1, groups=96),
    "matmul": lambda: _linear(72, 384, 1000),
    "batched": _batched,
    "softmax": _softmax,
    "pointwise": _pointwise,
}


def nest_of(name: str) -> Nest:
    """The nest that a graph comes down to, channels last: the one that computes most."""
    graph = NESTS[name]()
    lowered = Hoist()(fuse(lower(simplify(graph, Journal()), {}), Journal()))
    laid_out, _ = choose_layouts(lowered, 1, lambda nest: 0.0, "channels_last")
    nests = [step for step in laid_out.nests if isinstance(step, Nest) and "copy" not in step.note]
    return max(nests, key=lambda nest: sum(loop.extent for loop in nest.all_loops) * len(nest.reads))


# ---- measuring -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Call:
    nest: Nest
    actual: Mapping[Buffer, Buffer]


class Compiled:
    """One schedule as machine code over memory of its own for what is packed."""

    def __init__(self, schedule: Schedule, memory: Mapping[Buffer, np.ndarray], target: Target) -> None:
        copies, nest = schedule.copies, schedule.nest
        self.packed = {copy.writes[0]: _aligned(copy.writes[0])[0] for copy in copies}
        memory = {**memory, **self.packed}
        buffers = list(dict.fromkeys(b for n in (*copies, nest) for b in (*n.reads, *n.writes)))
        places = BufferPlaces({}, {}, {b: i for i, b in enumerate(buffers)}, {})
        calls = {"run": [_Call(nest, {b: b for b in buffers})]}
        if copies:
            calls["pack"] = [_Call(copy, {b: b for b in buffers}) for copy in copies]
        module = build_module(calls, places, target)
        self.library = jit.LoadedCode([object_code.compile_object(part, target) for part in module.parts], target)
        self.scratch = np.zeros(module.scratch_bytes + 64, np.uint8)
        start = -(-self.scratch.ctypes.data // 64) * 64
        self.status = ctypes.c_int64(0)
        self.table = (ctypes.c_void_p * 7)(ctypes.addressof(self.status), None, None, None, start, 1, 0)
        self.slots = (ctypes.c_void_p * len(buffers))(*(memory[b].ctypes.data for b in buffers))
        self.arguments = (ctypes.addressof(self.table), None, ctypes.addressof(self.slots))
        prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)
        self.run = prototype(self.library.address("run"))
        if copies:
            prototype(self.library.address("pack"))(*self.arguments)

    def __call__(self) -> None:
        self.run(*self.arguments)

    def seconds(self, times: int) -> float:
        """By the thread's own clock, which stands still while others have the core."""
        run, arguments = self.run, self.arguments
        start = time.thread_time_ns()
        for _ in range(times):
            run(*arguments)
        return (time.thread_time_ns() - start) / times / 1e9


def _aligned(*buffers: Buffer) -> list[np.ndarray]:
    """Buffers one after the other, each at the start of a line, as an arena would have them."""
    sizes = [-(-max(buffer.bytes, 1) // 64) * 64 for buffer in buffers]
    held = np.zeros(sum(sizes) + 64, np.uint8)
    start = -held.ctypes.data % 64
    made = []
    for buffer, size in zip(buffers, sizes):
        made.append(held[start : start + buffer.bytes].view(NUMPY[buffer.dtype]))
        start += size
    return made


def arena(nest: Nest) -> dict[Buffer, np.ndarray]:
    """Memory for what a nest reads and writes, the former filled with normally distributed numbers."""
    rng = np.random.default_rng(0)
    buffers = list(dict.fromkeys((*nest.reads, *nest.writes)))
    memory = dict(zip(buffers, _aligned(*buffers)))
    for buffer in nest.reads:
        memory[buffer][:] = rng.standard_normal(buffer.size)
    return memory


def measure(nest: Nest, schedules: Sequence[Schedule], repeats: int, target: Target) -> list[float]:
    """Seconds of each schedule: the lower quartile of its turns, since disturbance only ever slows. Every one is first
    checked against the unscheduled nest."""
    memory = arena(nest)
    Compiled(Schedule((), nest), memory, target)()
    wanted = {b: memory[b].copy() for b in nest.writes}
    made: list[Compiled] = []
    for schedule in schedules:
        one = Compiled(schedule, memory, target)
        for buffer in nest.writes:
            memory[buffer][:] = np.nan
        one()
        for buffer, values in wanted.items():
            np.testing.assert_allclose(memory[buffer], values, rtol=1e-3, atol=1e-4, err_msg=str(schedule))
        made.append(one)
    first = [one.seconds(1) for one in made]
    times = [max(1, min(50, int(TURN_SECONDS / max(one, 1e-7)))) for one in first]
    taken: list[list[float]] = [[] for _ in made]
    order = list(range(len(made)))
    shuffle = random.Random(0)
    for _ in range(repeats):
        shuffle.shuffle(order)
        for i in order:
            if first[i] < 3e-3:
                made[i]()
            taken[i].append(made[i].seconds(times[i]))
    return [statistics.quantiles(one, n=4)[0] if len(one) > 1 else one[0] for one in taken]


# ---- the table -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    name: str
    count: int
    fastest: float
    slowest: float
    tau: float
    tau_fastest_quarter: float
    five: float
    one: float

    def __str__(self) -> str:
        mark = "*" if self.name in HELD_OUT else " "
        spread = f"{self.fastest * 1e6:9.1f} {self.slowest * 1e6:10.1f}"
        taus = f"{self.tau:6.3f} {self.tau_fastest_quarter:8.3f}"
        return f"{self.name + mark:<12} {self.count:>5} {spread}   {taus}   {self.five:7.1%} {self.one:7.1%}"


TITLES = "nest         drawn   best µs   worst µs        τ    τ (¼)     top 5   top 1"


def kendall(a: Sequence[float], b: Sequence[float]) -> float:
    """τ-b: pairs in the same order less those in the opposite one, over the pairs that are not tied."""
    same = tied_a = tied_b = pairs = 0
    for i in range(len(a)):
        for j in range(i):
            x, y = (a[i] > a[j]) - (a[i] < a[j]), (b[i] > b[j]) - (b[i] < b[j])
            same += x * y
            tied_a += x == 0
            tied_b += y == 0
            pairs += 1
    scale = ((pairs - tied_a) * (pairs - tied_b)) ** 0.5
    return same / scale if scale else 0.0


def row(name: str, measured: Sequence[float], predicted: Sequence[float]) -> Row:
    best = min(measured)
    by_model = sorted(range(len(measured)), key=lambda i: predicted[i])
    quarter = sorted(range(len(measured)), key=lambda i: measured[i])[: max(2, len(measured) // 4)]
    return Row(
        name,
        len(measured),
        best,
        max(measured),
        kendall(measured, predicted),
        kendall([measured[i] for i in quarter], [predicted[i] for i in quarter]),
        min(measured[i] for i in by_model[:5]) / best - 1,
        measured[by_model[0]] / best - 1,
    )


def key_of(schedule: Schedule) -> str:
    """What a measurement is filed under."""
    return hashlib.sha256(str(schedule).encode()).hexdigest()[:16]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nests", nargs="*", metavar="nest", help=f"of {', '.join(NESTS)}")
    parser.add_argument("--count", type=int, default=200, help="schedules per nest")
    parser.add_argument("--repeats", type=int, default=30, help="turns that each schedule has")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--save", type=Path, help="write the measurements to this file")
    parser.add_argument("--load", type=Path, help="take measurements from this file, where it has them")
    parser.add_argument("--measure-only", action="store_true", help="stop after measuring")
    parser.add_argument("--target", help="the CPU that was measured, by name; without it, this one")
    given = parser.parse_args()
    target = Target.find(given.target) if given.target else host.host()
    names = given.nests or list(NESTS)
    stored: dict[str, dict[str, float]] = json.loads(given.load.read_text()) if given.load else {}
    if given.target and any(name not in stored for name in names):
        parser.error("only this machine can be measured: --target needs timings of every nest (--load)")
    for name in names:
        if name not in stored:
            nest = nest_of(name)
            schedules = sample(nest, target, given.count, given.seed)
            stored[name] = dict(zip(map(key_of, schedules), measure(nest, schedules, given.repeats, target)))
            if given.save:
                given.save.write_text(json.dumps(stored, indent=1))
    if given.measure_only:
        return 0
    print(TITLES, flush=True)
    for name in names:
        print(rank(name, stored[name], target, given.count, given.seed), flush=True)
    return 0


def rank(name: str, timings: Mapping[str, float], target: Target, count: int, seed: int) -> str:
    """A line of the table; what an estimate took is told beside it."""
    schedules = [one for one in sample(nest_of(name), target, count, seed) if key_of(one) in timings]
    started = time.thread_time()
    predicted = [estimate(one.nest, target).cycles for one in schedules]
    spent = (time.thread_time() - started) / max(len(schedules), 1)
    return f"{row(name, [timings[key_of(one)] for one in schedules], predicted)}   {spent * 1e3:.0f} ms an estimate"


if __name__ == "__main__":
    sys.exit(main())
