"""Native programs as the dispatcher calls them: results of their own, errors that leave nothing behind."""

from __future__ import annotations

import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import strop
from strop.runtime.module import CompiledModule
from strop.runtime.program import NativeProgram


def made(model: nn.Module, *args: Tensor) -> CompiledModule:
    fast = strop.compile(model, args)
    assert isinstance(fast, CompiledModule)
    with torch.no_grad():
        fast(*args)
    return fast


def short_way(fast: CompiledModule) -> Any:
    hot = fast._dispatcher.hot
    assert hot is not None
    return hot.run


class Table(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Embedding(5, 3)

    def forward(self, index: Tensor) -> Tensor:
        return self.rows(index) * 2


@torch.no_grad()
def test_an_index_out_of_range_raises_and_the_next_call_works() -> None:
    model = Table()
    fast = made(model, torch.tensor([1]))
    for _ in range(3):
        with pytest.raises(IndexError):
            fast(torch.tensor([7]))
        torch.testing.assert_close(fast(torch.tensor([4])), model(torch.tensor([4])))


@torch.no_grad()
def test_results_are_nobody_elses() -> None:
    model = nn.Linear(3, 2)
    fast = made(model, torch.ones(1, 3))
    given = torch.randn(8, 1, 3)
    results = [fast(x) for x in given]
    assert len({result.data_ptr() for result in results}) == len(results)
    torch.testing.assert_close(torch.stack(results), model(given))


class Shaped(nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def forward(self, x: Tensor) -> Any:
        results = {
            "0-d": lambda: x.sum(), "empty": lambda: x[:0] + 1, "flags": lambda: x > 0,
            "integers": lambda: x.long() + 1, "half": lambda: x.bfloat16() * 2, "two": lambda: (x + 1, x.sum(0)),
            "named": lambda: {"sum": x.sum(), "more": x + 1},
        }  # fmt: skip
        return results[self.kind]()


@pytest.mark.parametrize("kind", ["0-d", "empty", "flags", "integers", "half", "two", "named"])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_results_look_as_in_eager(kind: str, mode: Any) -> None:
    model = Shaped(kind)
    x = torch.randn(3, 4)
    fast = made(model, x)
    with mode():
        for _ in range(2):
            got, wanted = torch.utils._pytree.tree_leaves([fast(x)]), torch.utils._pytree.tree_leaves([model(x)])
            for one, other in zip(got, wanted, strict=True):
                torch.testing.assert_close(one, other)
                assert one.dtype == other.dtype and one.shape == other.shape and one.stride() == other.stride()
                assert one.is_inference() == other.is_inference() and not one.requires_grad


@torch.no_grad()
def test_the_short_way_outlives_its_program_and_does_not_hold_it() -> None:
    model = nn.Linear(3, 2)
    fast = made(model, torch.ones(1, 3))
    program = next(iter(next(iter(fast._dispatcher.variants._made.values()))._bound.values())).program
    assert isinstance(program, NativeProgram) and program.one is not None
    again = NativeProgram(program.compiled, fast._dispatcher.options)
    again.bind([model.weight, model.bias])
    one, held = again.one, weakref.ref(again)
    del again
    assert held() is None and one is not None
    x = torch.randn(1, 3)
    torch.testing.assert_close(one((x,)), model(x))


@torch.no_grad()
def test_parameters_bound_later_reach_the_short_way() -> None:
    model = nn.Linear(3, 2)
    fast = made(model, torch.ones(1, 3))
    x = torch.randn(1, 3)
    before = short_way(fast)
    model.weight.mul_(2)
    torch.testing.assert_close(fast(x), model(x))
    torch.testing.assert_close(before((x,)), model(x))


@torch.no_grad()
def test_threads_have_memory_of_their_own() -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    fast = made(model, torch.ones(4, 64))
    given = torch.randn(200, 4, 64)

    def call(x: Tensor) -> Tensor:
        with torch.no_grad():
            return fast(x)

    with ThreadPoolExecutor(4) as pool:
        got = torch.stack(list(pool.map(call, given)))
    torch.testing.assert_close(got, model(given))
