"""Joint against separate: the same networks with layouts and loops chosen in several ways, timed in turns.

python benchmarks/ablation.py [NETWORK …] [--threads 1] [--seconds 20] [--size PIXELS] [--json FILE]

A network is one of the zoo, an .onnx file or package.module:factory.

channels_last   every tensor channels last, then the loops
blocked         every tensor in blocks of a vector's worth of channels (N C/b H W b), then the loops
apart           every nest picks the layouts that it likes best alone; where neighbours disagree there is a copy
whole           layouts and loops together, but every nest on whole tensors: no strips
joint           layouts, loops and strips of the whole network together: what `strop.compile` does
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

import torch

from strop.core.options import Layouts, Options
from strop.runtime.load_model import load
from strop.session import Session

NETWORKS = ("resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0", "unet", "yolo", "tcn")
POLICIES = {policy: Options(cache=False, layouts=policy) for policy in get_args(Layouts) if policy != "joint"}
POLICIES["whole"] = Options(cache=False, strips=False)
POLICIES["joint"] = Options(cache=False)


def measure(name: str, threads: int, seconds: float, size: int | None) -> dict[str, float]:
    """Median milliseconds of each way."""
    loaded = load(name)
    model, inputs = loaded.module, loaded.inputs
    if size:
        inputs = (torch.randn(*inputs[0].shape[:2], size, size),)
    with torch.no_grad():
        programs = {
            policy: Session(model, inputs, options=options, threads=threads).module
            for policy, options in POLICIES.items()
        }
        expected = model(*inputs)
        for program in programs.values():
            error = (program(*inputs) - expected).abs().max() / expected.abs().max()
            assert error < 1e-4, f"{name} is off by {error:.1e} of its scale"
        times: dict[str, list[float]] = {policy: [] for policy in POLICIES}
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for policy, program in programs.items():
                start = time.perf_counter()
                program(*inputs)
                times[policy].append(time.perf_counter() - start)
    return {policy: statistics.median(taken) * 1e3 for policy, taken in times.items()}


def _row(name: str, cells: Sequence[str], measured: Sequence[Mapping[str, float]]) -> str:
    """A line of the table; its ratios are geometric means."""
    fixed, apart = (
        statistics.geometric_mean([min(times[way] for way in ways) / times["joint"] for times in measured])
        for ways in (("channels_last", "blocked"), ("apart",))
    )
    return f"| {name} | {' | '.join(cells)} | {fixed:.2f} | {apart:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--size", type=int, help="of images, instead of each network's own")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    found = {}
    print(f"| network | {' | '.join(f'{policy}, ms' for policy in POLICIES)} | joint × best fixed | joint × apart |")
    print(f"| --- |{' ---: |' * (len(POLICIES) + 2)}")
    for name in given.networks:
        found[name] = times = measure(name, given.threads, given.seconds, given.size)
        print(_row(name, [f"{times[policy]:.2f}" for policy in POLICIES], [times]), flush=True)
    print(_row("**geometric mean**", [""] * len(POLICIES), list(found.values())))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
