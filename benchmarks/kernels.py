"""Strop's kernels for PyTorch against what they replace, forward and forward + backward, on one thread.

    python benchmarks/kernels.py               # a table
    python benchmarks/kernels.py --markdown    # as in docs/kernels.md

Times are the smallest of many, of the processor; both sides are timed in turn.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from strop import kernels
from strop.kernels import formulas

_REPEATS = 5
Function = Callable[..., Tensor]


def written_gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def written_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.shape[-1]) + mask
    return torch.matmul(F.dropout(F.softmax(scores, dim=-1), 0.1), v)


def cases() -> list[tuple[str, str, Function, Function, Function | None, list[Tensor]]]:
    """Name, sizes, the kernel, what people write, PyTorch's own operator where there is one, inputs."""
    found: list[tuple[str, str, Function, Function, Function | None, list[Tensor]]] = []
    for rows, width in ((512, 256), (1024, 1024)):
        x, y = (torch.randn(rows, width, requires_grad=True) for _ in range(2))
        w = torch.randn(width, requires_grad=True)
        size = f"{rows}×{width}"
        norm: Function = lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-6)  # noqa: E731
        written: Function = lambda x, w: formulas.rms_norm(x, w, 1e-6, 0.0)  # noqa: E731
        found.append(("rms_norm", size, lambda x, w: kernels.rms_norm(x, w, 1e-6), written, norm, [x, w]))
        tanh: Function = lambda x: F.gelu(x, approximate="tanh")  # noqa: E731
        found.append(("gelu, tanh", size, lambda x: kernels.gelu(x, "tanh"), written_gelu, tanh, [x]))
        found.append(("quick_gelu", size, kernels.quick_gelu, formulas.quick_gelu, None, [x]))
        found.append(("swiglu", size, kernels.swiglu, lambda a, b: F.silu(a) * b, None, [x, y]))
        found.append(("geglu", size, kernels.geglu, lambda a, b: F.gelu(a) * b, None, [x, y]))
    for batch, heads, length, head in ((4, 4, 128, 64), (2, 12, 256, 64)):
        size = f"{batch}×{heads}×{length}×{head}"
        q = torch.randn(batch, length, heads, head, requires_grad=True)
        cos, sin = torch.randn(1, 1, length, head), torch.randn(1, 1, length, head)
        turn: Function = lambda q, c=cos, s=sin: kernels.rotary(q.transpose(1, 2), c, s)  # noqa: E731
        plain: Function = lambda q, c=cos, s=sin: formulas.rotary(q.transpose(1, 2), c, s)  # noqa: E731
        found.append(("rotary", size, turn, plain, None, [q]))
        three = [torch.randn(batch, heads, length, head, requires_grad=True) for _ in range(3)]
        mask = torch.randn(batch, 1, 1, length)
        drop: Function = lambda q, k, v, m=mask: kernels.attention(q, k, v, m, dropout_p=0.1)  # noqa: E731
        by_hand: Function = lambda q, k, v, m=mask: written_attention(q, k, v, m)  # noqa: E731
        torch_: Function = lambda q, k, v, m=mask: F.scaled_dot_product_attention(q, k, v, m, 0.1)  # noqa: E731
        found.append(("attention, dropout", size, drop, by_hand, torch_, three))
    return found


def timed(functions: Sequence[Function | None], given: list[Tensor], rounds: int) -> list[tuple[float, float]]:
    """(forward, forward + backward) of each in microseconds."""
    best: list[list[float]] = [[math.inf, math.inf] for _ in functions]
    for _ in range(rounds):
        for at, function in enumerate(functions):
            if function is None:
                continue
            for tensor in given:
                tensor.grad = None
            with torch.no_grad():
                function(*given)
                start = time.process_time()
                for _ in range(_REPEATS):
                    function(*given)
            forward = (time.process_time() - start) / _REPEATS
            gradient = torch.ones_like(function(*given))
            start = time.process_time()
            for _ in range(_REPEATS):
                function(*given).backward(gradient)  # type: ignore[no-untyped-call]
            both = (time.process_time() - start) / _REPEATS
            best[at] = [min(best[at][0], forward), min(best[at][1], both)]
    return [(forward * 1e6, both * 1e6) for forward, both in best]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--rounds", type=int, default=12)
    given = parser.parse_args()
    torch.set_num_threads(1)
    head = (
        "kernel",
        "size",
        "forward",
        "written out",
        "torch.nn.functional",
        "fwd + bwd",
        "written out",
        "torch.nn.functional",
    )
    rows: list[Sequence[Any]] = []
    for name, size, kernel, written, own, inputs in cases():
        kernel(*inputs)
        (mine, both), (old, old_both), (torch_, torch_both) = timed((kernel, written, own), inputs, given.rounds)
        told = (_against(torch_, mine), _against(torch_both, both)) if own is not None else ("–", "–")
        rows.append(
            (
                name,
                size,
                f"{mine:.0f} µs",
                _against(old, mine),
                told[0],
                f"{both:.0f} µs",
                _against(old_both, both),
                told[1],
            )
        )
    if given.markdown:
        print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
        print("\n".join(f"| {' | '.join(row)} |" for row in rows))
        return 0
    for row in [head, *rows]:
        print(f"{row[0]:20} {row[1]:14} {row[2]:>9} {row[3]:>16} {row[4]:>22} {row[5]:>10} {row[6]:>16} {row[7]:>22}")
    return 0


def _against(other: float, mine: float) -> str:
    return f"{other:.0f} µs ({other / mine:.1f}×)"


if __name__ == "__main__":
    sys.exit(main())
