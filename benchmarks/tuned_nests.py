"""Fifty nests, tuned and measured: does tuning keep anything that is slower than the default?

    python benchmarks/tuned_nests.py [--nests 50] [--seconds 1000] [--json FILE]
    python benchmarks/tuned_nests.py --database FILE --step search     # needs no quiet machine
    python benchmarks/tuned_nests.py --database FILE --step measure    # does
    python benchmarks/tuned_nests.py --database FILE --step compare    # does

Layers of the field's networks in random sizes, one model each, are tuned by the command line into a database of their
own: searched by the estimate, then measured. Then every model is compiled with and without the database, in another
process than the one that tuned it, and both programs are timed in turns. A nest counts as slower if its program takes
more than 1.02 times as long in the median of five runs of the comparison: so much two runs of one program differ by on
a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

SLOWER, RUNS, TURNS = 1.02, 5, 60
SEED = 27


def layer(number: int) -> tuple[nn.Module, tuple[torch.Tensor, ...], str]:
    """The model of one of the nests, its inputs, and what it is."""
    rng = random.Random(SEED * 1000 + number)
    torch.manual_seed(number)
    kind = KINDS[number % len(KINDS)]
    module, shape, told = kind(rng)
    return module.eval(), (torch.randn(shape),), told


def _linear(rng: random.Random) -> tuple[nn.Module, tuple[int, ...], str]:
    rows, k, n = rng.choice([1, 8, 49, 64, 128, 196, 384]), 64 * rng.randint(2, 16), 64 * rng.randint(2, 24)
    return nn.Linear(k, n), (rows, k), f"linear {rows}×{k}→{n}"


def _pointwise_convolution(rng: random.Random) -> tuple[nn.Module, tuple[int, ...], str]:
    size, channels, out = rng.choice([7, 14, 28]), 32 * rng.randint(2, 16), 32 * rng.randint(2, 16)
    return nn.Conv2d(channels, out, 1), (1, channels, size, size), f"conv 1×1 {channels}→{out} at {size}×{size}"


def _convolution(rng: random.Random) -> tuple[nn.Module, tuple[int, ...], str]:
    size, channels, out, stride = (
        rng.choice([14, 28, 56]),
        16 * rng.randint(1, 8),
        16 * rng.randint(1, 8),
        rng.choice([1, 2]),
    )
    made = nn.Conv2d(channels, out, 3, stride, 1)
    return made, (1, channels, size, size), f"conv 3×3 {channels}→{out} at {size}×{size}, stride {stride}"


def _depthwise(rng: random.Random) -> tuple[nn.Module, tuple[int, ...], str]:
    size, channels, taps = rng.choice([14, 28, 56]), 16 * rng.randint(2, 24), rng.choice([3, 5])
    made = nn.Conv2d(channels, channels, taps, 1, taps // 2, groups=channels)
    return made, (1, channels, size, size), f"depthwise {taps}×{taps} of {channels} at {size}×{size}"


def _rows(rng: random.Random) -> tuple[nn.Module, tuple[int, ...], str]:
    rows, width = rng.choice([64, 128, 197, 384]), 64 * rng.randint(3, 16)
    made: nn.Module = nn.LayerNorm(width) if rng.random() < 0.5 else nn.Softmax(-1)
    return made, (rows, width), f"{type(made).__name__} of {rows}×{width}"


KINDS: tuple[Callable[[random.Random], tuple[nn.Module, tuple[int, ...], str]], ...] = (
    _linear, _pointwise_convolution, _convolution, _depthwise, _rows,
)  # fmt: skip


def __getattr__(name: str) -> Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]:
    """`nest_7` is the factory of the seventh nest, for the command line."""
    kind, _, number = name.partition("nest_")
    if kind or not number.isdecimal():
        raise AttributeError(name)
    return lambda: layer(int(number))[:2]


def tune(numbers: range, seconds: float, measure: bool) -> None:
    """All of them by one command; what was searched before is not searched again."""
    models = [f"{__file__}:nest_{number}" for number in numbers]
    command = [sys.executable, "-m", "strop", "tune", *models, "--threads", "1", "--seconds", str(seconds), "--quiet"]
    subprocess.run([*command, *(["--measure"] if measure else [])], check=True)


def compare(number: int) -> float | None:
    """The time with the database over that without, as the median of several runs of paired turns; None where both
    programs are the same code."""
    import strop

    module, inputs, _ = layer(number)
    sessions = [strop.Session(module, inputs, options=strop.Options(threads=1, tuned=use)) for use in (False, True)]
    if sessions[0].compiled.code == sessions[1].compiled.code:
        return None
    plain, tuned = (session.module for session in sessions)
    found = []
    with torch.no_grad():
        torch.testing.assert_close(tuned(*inputs), module(*inputs), rtol=1e-3, atol=1e-4)
        start = time.perf_counter()
        plain(*inputs)
        calls = max(1, round(2e-4 / (time.perf_counter() - start)))
        for _ in range(RUNS):
            ratios = []
            for _ in range(TURNS):
                taken = []
                for module in (plain, tuned):
                    start = time.thread_time_ns()
                    for _ in range(calls):
                        module(*inputs)
                    taken.append(time.thread_time_ns() - start)
                ratios.append(taken[1] / taken[0])
            found.append(statistics.median(ratios))
    return statistics.median(found)


def main() -> int:
    parser = argparse.ArgumentParser(description="Does tuning keep anything that is slower than the default?")
    parser.add_argument("--nests", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1000.0, help="for tuning all of them")
    parser.add_argument("--static", action="store_true", help="by the estimate alone, without measuring")
    parser.add_argument("--database", help="keep the database here")
    parser.add_argument("--step", choices=("all", "search", "measure", "compare"), default="all")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    numbers = range(given.first, given.first + given.nests)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["STROP_TUNING"] = given.database or f"{folder}/tuning.sqlite"
        if given.step in ("all", "search"):
            tune(numbers, given.seconds, measure=False)
        if given.step in ("all", "measure") and not given.static:
            tune(numbers, given.seconds, measure=True)
        for number in numbers if given.step in ("all", "compare") else ():
            ratio, told = compare(number), layer(number)[2]
            rows.append({"nest": told, "ratio": ratio})
            print(f"{number:3} {'   same' if ratio is None else f'{ratio:7.3f}'}  {told}", flush=True)
    if rows:
        ratios = [row["ratio"] or 1.0 for row in rows]
        slower, faster = [r for r in ratios if r > SLOWER], [r for r in ratios if r < 1 / SLOWER]
        same = sum(row["ratio"] is None for row in rows)
        told = f"{len(faster)} faster, {len(slower)} slower, {same} kept their code"
        print(f"{len(rows)} nests: {told}; geometric mean {statistics.geometric_mean(ratios):.3f}")
        if given.json:
            given.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False))
        return 1 if slower else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
