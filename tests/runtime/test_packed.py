"""Packed weights: programs of one module share them, and compute again only what changed."""

from __future__ import annotations

import ctypes
import gc
import os
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import strop
from strop.runtime import program as program_module
from strop.runtime.module import CompiledModule
from strop.runtime.packed import allocate, huge_bytes
from strop.runtime.program import NativeProgram


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 64), nn.LayerNorm(64), nn.Linear(64, 32)).eval()


def image_network() -> nn.Module:
    torch.manual_seed(0)
    parts = (nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 24, 1), nn.BatchNorm2d(24))
    return nn.Sequential(*parts).eval()


def compiled(model: nn.Module, *args: Tensor, **options: Any) -> CompiledModule:
    fast = strop.compile(model, args, threads=options.pop("threads", 1), **options)
    assert isinstance(fast, CompiledModule)
    return fast


def programs(fast: CompiledModule) -> list[NativeProgram]:
    variants = [made for made in fast._dispatcher.variants._made.values() if not isinstance(made, str)]
    found = [bound.program for variant in variants for bound in variant._bound.values()]
    assert all(isinstance(program, NativeProgram) for program in found)
    return found  # type: ignore[return-value]


def held_bytes(fast: CompiledModule) -> int:
    """The memory that all programs of a module hold for packed weights, each block counted once."""
    blocks: dict[int, int] = {}
    for program in programs(fast):
        assert program._memory.bound is not None
        blocks.update((one.held.data_ptr(), one.held.nbytes) for one in program._memory.bound.made)
    return sum(blocks.values())


def wanted_bytes(fast: CompiledModule) -> list[int]:
    """What each program reads."""
    return [program.compiled.packed_bytes for program in programs(fast)]


def distinct_bytes(fast: CompiledModule) -> int:
    """What is read altogether, with what is packed alike counted once, and room for the alignment of blocks."""
    sizes: dict[object, int] = {}
    for program in programs(fast):
        keys = [str(node) for node in program.compiled.params]
        for section in program.compiled.sections:
            size = sum(program.compiled.packed[i].bytes for i in section.makes)
            sizes[section.key, tuple(keys[i] for i in section.reads)] = size
    return sum(sizes.values()) + 128 * len(sizes)


@torch.no_grad()
def test_other_shapes_share_what_they_pack_alike() -> None:
    model = network()
    fast = compiled(model, torch.randn(32, 64))
    for rows in (256, 320, 384, 512, 576, 640, 768):
        x = torch.randn(rows, 64)
        torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
    assert len(wanted_bytes(fast)) == 8 and min(wanted_bytes(fast)) > 4 * 64 * 96
    assert held_bytes(fast) <= distinct_bytes(fast) < sum(wanted_bytes(fast)) / 2


@torch.no_grad()
def test_other_thread_counts_share_too() -> None:
    model, x = image_network(), torch.randn(1, 3, 32, 32)
    fast = compiled(model, x, threads=None)
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
    finally:
        torch.set_num_threads(before)
    assert len(wanted_bytes(fast)) >= 2
    assert held_bytes(fast) <= distinct_bytes(fast)


@torch.no_grad()
def test_results_are_the_same_bit_for_bit_whoever_packed(tmp_path: Path) -> None:
    shapes = [(1, 3, 32, 32), (2, 3, 24, 40)]
    inputs = [torch.randn(shape) for shape in shapes]
    model = image_network()
    alone = [compiled(model, x)(x) for x in inputs]
    fast = compiled(model, inputs[0])
    assert all(torch.equal(fast(x), wanted) for x, wanted in zip(inputs, alone))


class Counted:
    """Counts the sections of parameter programs that run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sections: list[int] = []
        real = NativeProgram._pack

        def counting(program: NativeProgram, params: Any, missing: Any) -> Any:
            self.sections.append(len(missing))
            return real(program, params, missing)

        monkeypatch.setattr(NativeProgram, "_pack", counting)


@torch.no_grad()
def test_unchanged_weights_are_not_packed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    model = network()
    fast = compiled(model, torch.randn(32, 64))
    first = counted.sections.pop()
    assert first >= 3
    x = torch.randn(40, 64)
    model[4].weight.mul_(2)
    torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
    assert sum(counted.sections) <= first  # those of the new variant that differ, and what was written to
    counted.sections.clear()
    fast(torch.randn(32, 64))
    fast(x)
    assert sum(counted.sections) <= 1
    counted.sections.clear()
    model[3].eval()
    model[1].train().eval()
    fast(x)
    assert sum(counted.sections) == 0


@torch.no_grad()
def test_changed_weights_reach_every_variant() -> None:
    model = image_network()
    inputs = [torch.randn(1, 3, side, side) for side in (16, 24, 32)]
    fast = compiled(model, inputs[0])
    changes = [
        lambda: model[0].weight.mul_(1.5),
        lambda: model[1].running_mean.add_(0.3),
        lambda: model[3].load_state_dict({name: t * 0.7 for name, t in model[3].state_dict().items()}),
        lambda: setattr(model[0], "weight", nn.Parameter(model[0].weight * 2)),
        lambda: setattr(model[3].weight, "data", model[3].weight.data.clone() * 3),
    ]
    for change in changes:
        for x in inputs:
            torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-4)
        change()
    for x in reversed(inputs):
        torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_refresh_packs_again_what_was_written_unseen() -> None:
    model = network()
    inputs = [torch.randn(rows, 64) for rows in (32, 40)]
    fast = compiled(model, inputs[0])
    fast(inputs[1])
    model[0].weight.data.mul_(0.5)
    fast.refresh()
    for x in inputs:
        torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_a_value_that_comes_back_at_an_old_address_is_packed_anew() -> None:
    """A parameter whose memory is freed and given to another one looks as it did two changes before."""
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU()).eval()
    first, second = torch.randn(8, 64), torch.randn(9, 64)
    fast = compiled(model, first)
    fast(second)  # holds what was packed of the first value from here on
    address = model[0].weight.data_ptr()
    for scale in range(2, 12):
        model[0].weight = nn.Parameter(torch.randn(64, 64) * scale)
        torch.testing.assert_close(fast(first), model(first), rtol=1e-4, atol=1e-3)
        gc.collect()
        if model[0].weight.data_ptr() == address:
            break


@torch.no_grad()
def test_memory_of_old_weights_is_given_back() -> None:
    model = network()
    inputs = [torch.randn(rows, 64) for rows in (32, 40, 48)]
    fast = compiled(model, inputs[0])
    for _ in range(5):
        for parameter in model.parameters():
            parameter.mul_(1.01)
        for x in inputs:
            fast(x)
    gc.collect()
    assert held_bytes(fast) <= distinct_bytes(fast)


@torch.no_grad()
def test_several_python_threads_bind_at_once() -> None:
    model = network()
    inputs = [torch.randn(rows, 64) for rows in (32, 40, 48, 56)]
    fast = compiled(model, inputs[0])
    for x in inputs:
        fast(x)

    def call(x: Tensor) -> Tensor:
        with torch.no_grad():
            return fast(x)

    with ThreadPoolExecutor(4) as pool:
        for scale in (0.9, 1.1, 1.2):
            model[0].weight.mul_(scale)
            results = list(pool.map(call, inputs * 3))
            for x, y in zip(inputs * 3, results):
                torch.testing.assert_close(y, model(x), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_what_is_read_one_after_the_other_lies_side_by_side() -> None:
    (program,) = programs(compiled(network(), torch.randn(32, 64)))
    assert program._memory.bound is not None
    packed, at = program.compiled.packed, program._memory.bound.packed
    ends = [at[one.slot][1] + one.bytes for one in packed]
    assert len(packed) >= 3 and ends[:-1] == [at[one.slot][1] for one in packed[1:]]


@torch.no_grad()
def test_weights_in_another_order_are_copied_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that are not contiguous are copied to be packed, and no two copies are there at once."""
    model = nn.Sequential(*(nn.Conv2d(16, 16, 3, padding=1) for _ in range(6))).eval()
    model = model.to(memory_format=torch.channels_last)
    copies: list[weakref.ref[Any]] = []
    most = 0
    real = program_module.dense

    def noted(tensor: Tensor) -> Tensor:
        nonlocal most
        made = real(tensor)
        if made is not tensor:
            copies.append(weakref.ref(made.untyped_storage()))
            most = max(most, sum(copy() is not None for copy in copies))
        return made

    monkeypatch.setattr(program_module, "dense", noted)
    x = torch.randn(1, 16, 12, 12)
    fast = compiled(model, x)
    torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-4)
    assert len(copies) == 6 and most == 1


@pytest.mark.parametrize(
    ("kilobytes", "in_huge_pages"),
    [(0, 0), (1023, 0), (1024, 2048), (2048, 2048), (2304, 2048), (3072, 4096), (324 * 1024 + 100, 324 * 1024)],
)
def test_a_huge_page_is_asked_for_where_half_of_it_is_used(kilobytes: int, in_huge_pages: int) -> None:
    assert huge_bytes(kilobytes << 10) == in_huge_pages << 10


@pytest.mark.parametrize("size", [0, 1, 100, 1 << 20, (2 << 20) + 1, 5 << 20])
def test_a_block_is_aligned_and_lies_within_what_holds_it(size: int) -> None:
    held, address = allocate(size)
    assert address % (2 << 20 if huge_bytes(size) else 64) == 0
    assert held.data_ptr() <= address and address + max(size, huge_bytes(size)) <= held.data_ptr() + held.nbytes


def test_a_large_block_is_no_part_of_the_heap_and_goes_with_its_tensor() -> None:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("the system does not tell its mappings")

    def names() -> list[str]:
        spans = ((line.split()[0].split("-"), line) for line in maps.read_text().splitlines())
        return [line for (start, end), line in spans if int(start, 16) <= address < int(end, 16)]

    held, address = allocate(5 << 20)
    assert len(names()) == 1 and "[heap]" not in names()[0]
    del held
    assert not names()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_writes_to_a_copy_of_a_large_block() -> None:
    held, _ = allocate(5 << 20)
    held[0] = 1
    child = os.fork()
    if not child:
        ctypes.memset(held.data_ptr(), 2, 1)
        os._exit(0)
    os.waitpid(child, 0)
    assert held[0] == 1
