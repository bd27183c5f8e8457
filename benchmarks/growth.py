"""How compile time and memory grow with a network's depth: repeated blocks, from ten to a thousand operators.

    python benchmarks/growth.py                     # the table of docs/notes/2026-11-compile-time.md
    python benchmarks/growth.py --only transformer --sizes 10,100,1000

Each size is compiled in a process of its own with an empty cache. Seconds are CPU seconds of that process, from the
module to its first result; memory is the process's largest resident size above what it held before compiling. The last
column is the exponent between neighbouring sizes: 1.0 is linear growth.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from strop.schedule.planners import PIPELINE

SIZES = (10, 30, 100, 300, 1000)
STEPS = ("capture", *(step.name for step in PIPELINE), "emit", "compile")


def convolutions(operators):
    """conv, batch norm, relu: three operators a block, widths in turns."""
    import torch
    from torch import nn

    blocks, width = [], 3
    for block in range(max(operators // 3, 1)):
        new = (16, 24, 32)[block % 3]
        blocks += [nn.Conv2d(width, new, 3, padding=1, bias=False), nn.BatchNorm2d(new), nn.ReLU()]
        width = new
    return nn.Sequential(*blocks).eval(), (torch.randn(1, 3, 20, 20),)


def transformer(operators):
    """Pre-norm blocks: two norms, four projections, attention, GELU, two additions; ten operators a block."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Block(nn.Module):
        def __init__(self, width=48, heads=3):
            super().__init__()
            self.heads = heads
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

        def forward(self, x):
            batch, length, width = x.shape
            split = self.qkv(self.first(x)).view(batch, length, 3, self.heads, width // self.heads)
            q, k, v = split.permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
            x = x + self.out(mixed)
            return x + self.down(functional.gelu(self.up(self.second(x))))

    return nn.Sequential(*(Block() for _ in range(max(operators // 10, 1)))).eval(), (torch.randn(1, 16, 48),)


NETWORKS = {"convolutions": convolutions, "transformer": transformer}


def measure(name, operators):
    """One compilation, in this process; a line of JSON."""
    import torch

    import strop

    torch.set_num_threads(1)
    warm = torch.nn.Linear(4, 4).eval()
    strop.compile(warm, (torch.randn(1, 4),))(torch.randn(1, 4))
    module, inputs = NETWORKS[name](operators)
    before, start = _resident(), time.process_time()
    with torch.no_grad():
        session = strop.Session(module, inputs, threads=1)
        session.module(*inputs)
    summary = session.summary()
    print(
        json.dumps({
            "seconds": time.process_time() - start,
            "megabytes": max(_peak() - before, 0.0),
            "nodes": summary["nodes"],
            "nests": summary["nests"],
            "functions": summary["functions"],
            "code_kb": summary["code_bytes"] / 1024,
            "steps": summary["step_seconds"],
        })
    )  # fmt: skip


def _resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def child(name, operators):
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, __file__, "--measure", name, str(operators)]
        done = subprocess.run(
            command, env={**os.environ, "STROP_CACHE": cache}, capture_output=True, text=True, check=True
        )
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=NETWORKS)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--steps", action="store_true", help="and the seconds of each step (wall clock)")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure[0], int(given.measure[1]))
        return
    print("| network | operators | nests | functions | seconds | ms per operator | MB | exponent |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in [given.only] if given.only else NETWORKS:
        last = None
        for size in map(int, given.sizes.split(",")):
            found = child(name, size)
            growth = math.log(found["seconds"] / last[1]) / math.log(size / last[0]) if last else None
            print(
                f"| {name} | {size} | {found['nests']} | {found['functions']} | {found['seconds']:.2f} | "
                f"{1e3 * found['seconds'] / size:.1f} | {found['megabytes']:.0f} | "
                f"{'' if growth is None else f'{growth:.2f}'} |",
                flush=True,
            )
            if given.steps:
                print("  " + ", ".join(f"{step} {seconds:.2f}" for step, seconds in found["steps"].items()), flush=True)
            last = size, found["seconds"]


if __name__ == "__main__":
    main()
