"""Matrix products: every element within eager's error, whatever the scales of rows, columns and batches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from numerics.draws import Fill, cancelling, fills, within_range
from numerics.judge import Judge, Of

CONSTANT = Fill("constant")
SMALL = [(1, 7, 5), (3, 64, 32), (17, 100, 33), (2, 300, 48), (5, 1030, 8)]
BIG = [(128, 768, 768), (128, 3072, 256), (49, 4608, 128), (1, 4096, 512)]


def operands(rows: int, k: int, columns: int, x: Fill, w: Fill, cancel: bool) -> tuple[Tensor, Tensor]:
    a, b = x.tensor((rows, k)), w.tensor((columns, k))
    if cancel:
        a, b = cancelling(a, 1, -1), cancelling(b, 1, 1)
    return within_range(a, b, k), b


def check_linear(judge: Judge, shape: tuple[int, int, int], x: Fill, w: Fill, cancel: bool, threads: int = 1) -> None:
    rows, k, columns = shape
    a, b = operands(rows, k, columns, x, w, cancel)
    layer = partial(nn.Linear, k, columns, bias=False)
    equal = x.constant and w.constant
    judge.check("linear", f"linear {shape}", layer, (a,), {"weight": b}, count=k, threads=threads, equal=equal)


@pytest.mark.parametrize("shape", SMALL, ids=str)
@settings(max_examples=10)
@example(x=CONSTANT, w=CONSTANT, cancel=False)
@given(x=fills(), w=fills(), cancel=st.booleans())
def test_linear(judge: Judge, shape: tuple[int, int, int], x: Fill, w: Fill, cancel: bool) -> None:
    check_linear(judge, shape, x, w, cancel)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", BIG, ids=str)
@settings(max_examples=2)
@example(x=CONSTANT, w=CONSTANT, cancel=False)
@example(x=Fill("positive"), w=Fill("positive"), cancel=False)
@example(x=Fill(outliers=1e4), w=Fill(scale=1e-4), cancel=False)
@given(x=fills(), w=fills(), cancel=st.booleans())
def test_big_linear(judge: Judge, shape: tuple[int, int, int], threads: int, x: Fill, w: Fill, cancel: bool) -> None:
    check_linear(judge, shape, x, w, cancel, threads)


@settings(max_examples=8)
@given(x=fills(), w=fills(), b=fills())
def test_linear_with_bias(judge: Judge, x: Fill, w: Fill, b: Fill) -> None:
    a, weight = operands(6, 130, 24, x, w, False)
    bias = b.tensor((24,)).clamp(-1e30, 1e30)
    judge.check("linear", "bias", partial(nn.Linear, 130, 24), (a,), {"weight": weight, "bias": bias}, count=130)


@pytest.mark.parametrize("k", [16, 60, 256, 600])
def test_terms_below_the_last_digit_of_the_bias_add_up(judge: Judge, k: int) -> None:
    x, weight, bias = torch.full((4, k), 2.0**-24 * 0.99), torch.ones(32, k), torch.ones(32)
    judge.check("linear", f"bias of {k}", partial(nn.Linear, k, 32), (x,), {"weight": weight, "bias": bias}, count=k)


TWO: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], tuple[int, ...], tuple[int, ...]]] = {
    "matmul": (torch.matmul, (9, 70), (70, 40)),
    "matmul, long": (torch.matmul, (20, 2050), (2050, 17)),
    "matmul, a vector": (torch.matmul, (40, 1025), (1025,)),
    "matmul, a row": (torch.matmul, (1, 600), (600, 64)),
    "matmul, transposed": (lambda a, b: a @ b.mT, (12, 512), (31, 512)),
    "bmm": (torch.bmm, (3, 8, 65), (3, 65, 24)),
    "bmm, long": (torch.bmm, (2, 4, 900), (2, 900, 16)),
    "matmul of batches": (torch.matmul, (2, 3, 5, 33), (3, 33, 16)),
    "einsum bij,bjk": (lambda a, b: torch.einsum("bij,bjk->bik", a, b), (2, 6, 40), (2, 40, 9)),
    "einsum bhid,bhjd": (lambda a, b: torch.einsum("bhid,bhjd->bhij", a, b), (2, 2, 6, 64), (2, 2, 7, 64)),
    "einsum ij,ij": (lambda a, b: torch.einsum("ij,ij->i", a, b), (8, 700), (8, 700)),
    "einsum outer": (lambda a, b: torch.einsum("i,j->ij", a, b), (30,), (17,)),
    "einsum nchw,oc": (lambda a, b: torch.einsum("nchw,oc->nohw", a, b), (2, 48, 5, 5), (24, 48)),
}  # fmt: skip


@pytest.mark.parametrize("name", TWO)
@settings(max_examples=5)
@example(x=CONSTANT, y=CONSTANT)
@given(x=fills(), y=fills())
def test_products_of_two_inputs(judge: Judge, name: str, x: Fill, y: Fill) -> None:
    function, left, right = TWO[name]
    b = y.tensor(right)
    k = max(left[-1], right[-1])
    a = within_range(x.tensor(left), b, k)
    family = name.split(",")[0].split()[0]
    judge.check(family, name, lambda: Of(function), (a, b), count=k, equal=x.constant and y.constant)


@settings(max_examples=2)
@example(x=CONSTANT, y=CONSTANT)
@given(x=fills(), y=fills())
def test_big_product_of_two_inputs(judge: Judge, x: Fill, y: Fill) -> None:
    b = y.tensor((1536, 384))
    a = within_range(x.tensor((96, 1536)), b, 1536)
    judge.check("matmul", "big", lambda: Of(torch.matmul), (a, b), count=1536, equal=x.constant and y.constant)
