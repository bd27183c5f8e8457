"""Inputs of odd dtypes, strides, sizes and values, through both doors: the same results, or the same error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from frontend.beside import DOORS, Calls, check, eager

both_doors = pytest.mark.parametrize("door", DOORS)
randn = torch.randn
NAN, INF = float("nan"), float("inf")


def _arithmetic(x: Tensor) -> tuple[Tensor, ...]:
    return x + x, x.sum(), x.sum(1), x * 2, x.t() @ x, x == x[0], x.abs()


@both_doors
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8, torch.float64, torch.complex64])
def test_dtypes(dtype: torch.dtype, door: str) -> None:
    assert not eager(check(door, Calls(_arithmetic), ((randn(5, 6) * 3).to(dtype),)))


@both_doors
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_runs_eager_and_says_so(dtype: torch.dtype, door: str) -> None:
    (reason,) = eager(check(door, Calls(_arithmetic), ((randn(5, 6) * 3).to(dtype),)))
    assert str(dtype).removeprefix("torch.") in reason


@both_doors
def test_strides_expansions_and_overlaps(door: str) -> None:
    base = randn(20, 30)
    calls = (randn(6, 4).t(), base[::3, ::5], base[:4, 3:9], randn(1, 6).expand(4, 6), base.as_strided((4, 6), (2, 1)))
    check(door, nn.Sequential(nn.Linear(6, 5), nn.ReLU()).eval(), *((x,) for x in calls))


@both_doors
def test_empty_inputs(door: str) -> None:
    check(
        door, nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3)).eval(), (randn(0, 4),), (randn(2, 0, 4),), (randn(2, 4),)
    )


@both_doors
@pytest.mark.parametrize("largest", [Tensor.max, Tensor.min], ids=["max", "min"])
def test_the_largest_of_nothing_is_an_error(largest: Callable[[Tensor], Tensor], door: str) -> None:
    check(door, Calls(lambda x: largest(x)), (randn(2, 3),), (randn(0, 3),))


def _hostile(x: Tensor) -> list[Any]:
    return [
        x.relu(), x.sigmoid(), x.tanh(), x.exp(), x.log(), x.clamp(-1, 1), x.softmax(1), x.logsumexp(1), x.amax(1),
        x.argmax(1), x.max(1), x.cumsum(1), F.max_pool1d(x[None], 2), torch.maximum(x, x.flip(1)), x.std(1), x.sign(),
        F.hardswish(x), F.relu6(x), F.layer_norm(x, (5,)), x.nan_to_num(), x % 2, x.floor(), x.rsqrt(), x.nansum(1),
    ]  # fmt: skip


@both_doors
def test_nan_and_infinity_go_where_they_go_in_eager(door: str) -> None:
    x = randn(4, 5)
    x[0, 0], x[1, 1], x[2, 2], x[3, 3] = NAN, INF, -INF, 80.0
    check(door, Calls(_hostile), (x,))


@both_doors
def test_rows_of_an_attention_that_are_masked_whole(door: str) -> None:
    q, mask = randn(1, 2, 8, 16), torch.zeros(8, 8)
    mask[3] = -INF
    check(door, Calls(lambda q, m: F.scaled_dot_product_attention(q, q, q, m)), (q, mask))


@both_doors
def test_an_integer_divided_by_zero_is_an_error(door: str) -> None:
    model = Calls(lambda x, y: (x // y, x % y.clamp(min=1), x // 3))
    ones = torch.ones(2, dtype=torch.int64)
    check(door, model, (torch.tensor([1, 2]), ones), (torch.tensor([1, 2]), torch.tensor([1, 0])), (ones, ones))


@both_doors
def test_indices_out_of_range_are_errors_of_the_same_kind(door: str) -> None:
    table = nn.Embedding(10, 4)
    check(door, table, *((torch.tensor([[1, i]]),) for i in (9, 10, -1, 3)))
    for index in (lambda x, i: x[i], lambda x, i: x.gather(0, i[:, None]), lambda x, i: x.index_select(0, i)):
        check(door, Calls(index), *((randn(5, 6), torch.tensor([0, i])) for i in (4, 5, -1, -6)))


@both_doors
def test_arguments_that_share_memory(door: str) -> None:
    class Adds(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return x.add_(1) + y

    x = randn(4, 4)
    fast, _ = DOORS[door](Adds(), (randn(4, 4), randn(4, 4)), {})
    with torch.no_grad():
        for second in (lambda t: t, lambda t: t[:], lambda t: t.t()):
            mine, theirs = x.clone(), x.clone()
            torch.testing.assert_close(fast(mine, second(mine)), Adds()(theirs, second(theirs)))
            torch.testing.assert_close(mine, theirs)


def test_the_journal_says_why_a_node_is_a_library_call() -> None:
    journal = check("strop.compile", Calls(lambda x: x + x), (torch.arange(6, dtype=torch.int16),))
    assert "i16 has no native code" in journal.explain()
