"""Run random graphs with every tensor between two pages that may not be touched: a stray access ends the process.

python -m native.guarded FIRST LAST
"""

from __future__ import annotations

import ctypes
import faulthandler
import math
import mmap
import sys
from typing import Any

import torch

from codegen.random_graphs import random_graph, values
from strop.core.journal import Journal
from strop.core.options import Options
from strop.runtime import program
from strop.schedule import default

PAGE = mmap.PAGESIZE
_held: list[mmap.mmap] = []


def fenced(shape: tuple[int, ...], dtype: torch.dtype, at_end: bool) -> torch.Tensor:
    """Memory for a tensor that ends (or begins) where a forbidden page begins (or ends)."""
    count = math.prod(shape)
    if not count:
        return torch.zeros(shape, dtype=dtype)
    size = count * dtype.itemsize
    room = -(-size // PAGE) * PAGE
    area = mmap.mmap(-1, room + 2 * PAGE)
    _held.append(area)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    for page in (start, start + PAGE + room):
        if ctypes.CDLL(None).mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), 0):
            raise OSError("mprotect failed")
    offset = PAGE + (room - size if at_end else 0)
    return torch.frombuffer(area, dtype=dtype, count=count, offset=offset).view(shape)


def run(seed: int, at_end: bool) -> None:
    graph = random_graph(seed, 12)
    generator = torch.Generator().manual_seed(1)

    def placed(node: Any) -> torch.Tensor:
        made = values(node, generator)
        return fenced(tuple(made.shape), made.dtype, at_end).copy_(made)

    inputs, params = [placed(n) for n in graph.inputs], [placed(n) for n in graph.params]
    native = program.build(graph, Options(cache=False), Journal(), 1 + seed % 2)

    def empty(shape: Any, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return fenced((shape,) if isinstance(shape, int) else tuple(shape), dtype, at_end)

    plain = torch.empty
    torch.empty = empty  # type: ignore[assignment]
    try:
        native.bind(params)
        native(inputs)
    finally:
        torch.empty = plain


def main(first: int, last: int) -> None:
    faulthandler.enable()
    default.PARALLEL_EFFORT = 0
    for seed in range(first, last):
        for at_end in (True, False):
            print(f"seed {seed} at {'end' if at_end else 'start'}", flush=True)
            run(seed, at_end)
            _held.clear()
    print("done")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
