"""What the replacements of the rules gain on a CPU: the written-out form and the edited one, forward and backward.

    python benchmarks/rule_gains.py               # a table: measured, and what the rule says
    python benchmarks/rule_gains.py --markdown    # as in docs/kernels.md

One thread, float32; the smallest processor time of many turns. A rule's `gain` is rounded down from what is measured
here at the larger of two sizes.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from strop import kernels
from strop.kernels import formulas

Run = Callable[[], Any]


def both(function: Callable[..., Tensor], *inputs: Tensor) -> Run:
    """Forward and backward."""
    gradient = torch.ones_like(function(*inputs))
    return lambda: function(*inputs).backward(gradient)  # type: ignore[no-untyped-call]


def tensors(*shape: int, count: int = 1) -> list[Tensor]:
    return [torch.randn(shape, requires_grad=True) for _ in range(count)]


def layer_norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    mean = x.mean(-1, keepdim=True)
    variance = (x - mean).pow(2).mean(-1, keepdim=True)
    return w * (x - mean) / torch.sqrt(variance + 1e-6) + b


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1) @ v


def gelu_tanh(x: Tensor) -> Tensor:
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def softmax(x: Tensor) -> Tensor:
    powers = torch.exp(x - x.amax(-1, keepdim=True))
    return powers / powers.sum(-1, keepdim=True)


def loss(x: Tensor, target: Tensor) -> Tensor:
    return F.nll_loss(F.log_softmax(x, dim=-1), target)


def updates(**settings: bool) -> Run:
    """Steps of AdamW on the parameters of six transformer layers."""
    sizes = [(256, 256), (256,), (256, 256), (256,), (1024, 256), (1024,), (256, 1024), (256,), (256,), (256,)] * 6
    parameters = [torch.randn(size, requires_grad=True) for size in sizes]
    for one in parameters:
        one.grad = torch.randn_like(one)
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, **settings)
    return lambda: optimizer.step()  # type: ignore[no-untyped-call]


def convolution() -> tuple[Run, Run]:
    conv, norm, x = nn.Conv2d(96, 96, 1, bias=False).eval(), nn.BatchNorm2d(96).eval(), torch.randn(4, 96, 28, 28)

    def run(function: Callable[[], Tensor]) -> Run:
        @torch.no_grad()
        def call() -> Tensor:
            return function()

        return call

    return run(lambda: norm(conv(x))), run(lambda: kernels.folded_norm(conv, norm, x))


def cases(rows: int, width: int) -> dict[str, tuple[Run, Run]]:
    """Rule → the code before and after it."""
    x, y, w, b = *tensors(rows, width, count=2), *tensors(width, count=2)
    q, k, v = tensors(2, 8, rows // 4, 64, count=3)
    cos, sin = torch.randn(1, 1, rows // 4, 64), torch.randn(1, 1, rows // 4, 64)
    target = torch.randint(0, width, (rows,))
    shape = (width,)
    wide = {"x": x, "w": w}
    return {
        "attention-written-out": (both(attention, q, k, v), both(F.scaled_dot_product_attention, q, k, v)),
        "rms-norm-written-out": (
            both(lambda x, w: formulas.rms_norm(x, w, 1e-6, 0.0), *wide.values()),
            both(kernels.rms_norm, x, w),
        ),
        "rms-norm-one-plus-weight": (
            both(lambda x, w: formulas.rms_norm(x, w, 1e-6, 1.0), x, w),
            both(lambda x, w: kernels.rms_norm(x, w, 1e-6, 1.0), x, w),
        ),
        "rms-norm-without-weight": (
            both(lambda x: formulas.rms_norm(x, None, 1e-6, 0.0), x),
            both(lambda x: kernels.rms_norm(x, None, 1e-6), x),
        ),
        "layer-norm-written-out": (
            both(layer_norm, x, w, b),
            both(lambda x, w, b: F.layer_norm(x, shape, w, b, 1e-6), x, w, b),
        ),
        "layer-norm-without-weight": (
            both(lambda x: (x - x.mean(-1, True)) * torch.rsqrt(x.var(-1, False, keepdim=True) + 1e-6), x),
            both(lambda x: F.layer_norm(x, shape, None, None, 1e-6), x),
        ),
        "gelu-written-out": (both(lambda x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0))), x), both(F.gelu, x)),
        "gelu-tanh-written-out": (both(gelu_tanh, x), both(lambda x: kernels.gelu(x, "tanh"), x)),
        "quick-gelu-written-out": (both(formulas.quick_gelu, x), both(kernels.quick_gelu, x)),
        "silu-written-out": (both(lambda x: x * torch.sigmoid(x), x), both(F.silu, x)),
        "softmax-written-out": (both(softmax, x), both(lambda x: torch.softmax(x, -1), x)),
        "swiglu": (both(lambda a, b: F.silu(a) * b, x, y), both(kernels.swiglu, x, y)),
        "geglu": (both(lambda a, b: F.gelu(a) * b, x, y), both(kernels.geglu, x, y)),
        "rotary-embedding": (
            both(lambda q: formulas.rotary(q, cos, sin), q),
            both(lambda q: kernels.rotary(q, cos, sin), q),
        ),
        "rotary-embedding-of-neighbours": (
            both(lambda q: formulas.rotary_pairs(q, cos, sin), q),
            both(lambda q: kernels.rotary_pairs(q, cos, sin), q),
        ),
        "log-of-softmax": (
            both(lambda x: torch.log(torch.softmax(x, -1)), x),
            both(lambda x: torch.log_softmax(x, -1), x),
        ),
        "cross-entropy-in-two-steps": (
            both(lambda x: loss(x, target), x),
            both(lambda x: F.cross_entropy(x, target), x),
        ),
        "conv-batch-norm": convolution(),
        "fused-optimizer": (updates(), updates(fused=True)),
        "optimizer-without-foreach": (updates(foreach=False), updates(fused=True)),
    }


def smallest(first: Run, second: Run, rounds: int) -> tuple[float, float]:
    """Microseconds of each, in turn."""
    best = [math.inf, math.inf]
    for turn in range(rounds + 1):
        for at, run in enumerate((first, second)):
            start = time.process_time()
            for _ in range(3):
                run()
            if turn:
                best[at] = min(best[at], (time.process_time() - start) / 3e-6)
    return best[0], best[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    from strop.source.adopt import rulebook

    torch.set_num_threads(1)
    torch.manual_seed(0)
    stated = {rule.name: rule.gain for rule in rulebook.load()}
    sizes = ((512, 256), (1024, 1024))
    tables = [cases(*size) for size in sizes]
    line = "| {} | {} | {} | {} |" if given.markdown else "{:32} {:>28} {:>28} {:>8}"
    print(line.format("rule", *(f"{rows}×{width}" for rows, width in sizes), "stated"))
    if given.markdown:
        print("| --- | --- | --- | --- |")
    for name in tables[0]:
        told = []
        for table in tables:
            before, after = smallest(*table[name], given.rounds)
            told.append(f"{before:.0f} → {after:.0f} µs ({before / after:.1f}×)")
        print(line.format(name, *told, f"{stated[name] or 1:g}×"), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
