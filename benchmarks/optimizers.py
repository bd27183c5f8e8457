"""A step of a fused optimizer beside PyTorch's own with `fused=True`, for the parameters of a small BERT.

    taskset -c 1 python benchmarks/optimizers.py --markdown

CPU time, since others may work on the machine; both take turns, the least counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import torch
from torch.nn.utils import clip_grad_norm_

import strop

Make = Callable[..., torch.optim.Optimizer]
Step = Callable[[], object]
KINDS = {
    "AdamW": partial(torch.optim.AdamW, lr=1e-3),
    "Adam": partial(torch.optim.Adam, lr=1e-3),
    "SGD, momentum": partial(torch.optim.SGD, lr=1e-2, momentum=0.9),
    "SGD": partial(torch.optim.SGD, lr=1e-2),
}
LIMIT = 1.0


def parameters(width: int) -> list[torch.nn.Parameter]:
    """Embeddings and four layers, with gradients."""
    matrix, vector = (width, width), (width,)
    layer = [matrix, vector] * 4 + [vector] * 4 + [(4 * width, width), (4 * width,), (width, 4 * width), vector]
    shapes = [(60 * width, width), matrix, vector, vector, *layer * 4]
    made = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
    for p in made:
        p.grad = torch.randn_like(p)
    return made


def plain(kind: Make, width: int) -> tuple[Step, Step]:
    theirs = kind(parameters(width), fused=True)
    return theirs.step, strop.fuse_optimizer(kind(parameters(width))).step


def clipped(
    kind: Callable[..., torch.optim.Optimizer], width: int
) -> tuple[Callable[[], object], Callable[[], object]]:
    params = parameters(width)
    theirs = kind(params, fused=True)

    def step() -> None:
        clip_grad_norm_(params, LIMIT)
        theirs.step()

    return step, strop.fuse_optimizer(kind(parameters(width)), clip_grad_norm=LIMIT).step


def zeroed(kind: Make, width: int) -> tuple[Step, Step]:
    params = parameters(width)
    theirs = kind(params, fused=True)

    def step() -> None:
        clip_grad_norm_(params, LIMIT)
        theirs.step()
        theirs.zero_grad(set_to_none=False)

    return step, strop.fuse_optimizer(kind(parameters(width)), clip_grad_norm=LIMIT, zero_grad="keep").step


def least(steps: tuple[Step, ...], rounds: int) -> list[float]:
    best = [float("inf")] * len(steps)
    for step in steps:
        step()
    for _ in range(rounds):
        for i, step in enumerate(steps):
            start = time.process_time()
            step()
            best[i] = min(best[i], time.process_time() - start)
    return best


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--markdown", action="store_true")
    options.add_argument("--threads", type=int, default=1)
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    head = ("optimizer", "parameters", "update", "clipped", "clipped, zeroed")
    print("| " + " | ".join(head) + " |\n" + "| --- " * len(head) + "|" if given.markdown else head)
    for width, rounds in ((512, 10), (64, 100)):
        count = sum(p.numel() for p in parameters(width))
        for name, kind in KINDS.items():
            cells = []
            for work in (plain, clipped, zeroed):
                theirs, ours = least(work(kind, width), rounds)
                cells.append(f"{theirs * 1e3:.2f} → {ours * 1e3:.2f} ms ({theirs / ours:.2f}×)")
            row = (name, f"{count / 1e6:.1f} M", *cells)
            print("| " + " | ".join(row) + " |" if given.markdown else row, flush=True)


if __name__ == "__main__":
    main()
