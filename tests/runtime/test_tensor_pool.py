"""Memory that stays between steps: handed out again when nobody holds it, and never before."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import Tensor

from strop.runtime import tensor_pool
from strop.runtime.tensor_pool import LEAST_BYTES, TensorPool

SHAPE = (LEAST_BYTES // 16, 8)
SIZE = SHAPE[0] * SHAPE[1] * 4


def take(pool: TensorPool) -> Tensor:
    return pool.empty(SHAPE, (SHAPE[1], 1), torch.float32, SIZE)


def test_memory_comes_back_once_nobody_holds_the_tensor() -> None:
    pool = TensorPool()
    first = take(pool)
    address = first.data_ptr()
    del first
    assert take(pool).data_ptr() == address and pool.bytes == SIZE


@pytest.mark.parametrize("hold", [lambda t: t, lambda t: t[1:].t(), lambda t: t.numpy(), lambda t: t.untyped_storage()])
def test_whoever_holds_a_tensor_or_a_view_of_it_keeps_its_memory(hold: object) -> None:
    pool = TensorPool()
    held = hold(take(pool))  # type: ignore[operator]
    assert take(pool).data_ptr() not in (getattr(held, "data_ptr", lambda: held.ctypes.data)(),)
    assert pool.bytes == 2 * SIZE


def test_a_storage_that_somebody_resized_or_shared_is_not_handed_out_again() -> None:
    pool = TensorPool()
    resized = take(pool)
    resized.untyped_storage().resize_(0)
    del resized
    shared = take(pool)
    shared.share_memory_()
    address = shared.data_ptr()
    del shared
    assert take(pool).untyped_storage().nbytes() == SIZE
    assert take(pool).data_ptr() != address


def test_small_tensors_come_from_malloc() -> None:
    pool = TensorPool()
    assert pool.empty((4, 4), (4, 1), torch.float32, 64).shape == (4, 4) and pool.bytes == 0


def test_what_is_not_needed_for_a_while_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_pool, "_IDLE_CALLS", 4)
    pool = TensorPool()
    held = take(pool)
    idle = take(pool)
    del idle
    for _ in range(8):
        pool.next_call()
    assert pool.bytes == SIZE and held.shape == SHAPE


def test_threads_never_get_the_same_memory() -> None:
    pool = TensorPool()
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(200):
            tensors = [take(pool).fill_(number) for _ in range(3)]
            wrong.extend(int(t[0, 0].item()) for t in tensors if t[0, 0].item() != number or t[-1, -1].item() != number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_pool_that_keeps_nothing_holds_nothing() -> None:
    pool = TensorPool()
    pool.keeps = False
    assert take(pool).shape == SHAPE and pool.bytes == 0
