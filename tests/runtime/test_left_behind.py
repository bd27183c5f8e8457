"""What a compilation leaves behind in the process: nothing of its own but the program and what the journal tells."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator

import pytest
import torch
from torch import nn

import strop
from strop.codegen.builder import CodeBlock
from strop.core import garbage, memoize
from strop.core.journal import Event, Journal
from strop.core.options import Options
from strop.driver.pipeline import Stages, compile_graph
from strop.frontend.torch.export import capture
from strop.graph.ir import Graph
from strop.loops.index import Index
from strop.loops.ir import Buffer, Loop, Nest
from strop.runtime import compile_model
from strop.runtime.compile_model import default_build
from strop.runtime.specializations import RunnableProgram

INNER = (Nest, Loop, Buffer, Index, CodeBlock, Stages, Event)


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 8, 1)).eval()


def alive(*kinds: type) -> Counter[str]:
    return Counter(type(found).__name__ for found in gc.get_objects() if type(found) in kinds)


@pytest.fixture
def without_collections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only what no cycle holds is freed, and nothing is collected."""
    gc.collect()
    gc.disable()
    monkeypatch.setattr(garbage, "WORTH", 1e9)
    yield
    gc.enable()


def test_stages_are_gone_without_a_collection(without_collections: None) -> None:
    graph = capture(model(), (torch.randn(1, 3, 16, 16),)).graph
    before = alive(*INNER)
    compile_graph(graph, Options(cache=False), Journal(), 1)
    assert alive(*INNER) <= before


@torch.no_grad()
def test_a_compiled_module_holds_no_nests_and_nothing_of_the_export() -> None:
    made = (*INNER, torch.fx.Node, torch.fx.GraphModule, torch.export.ExportedProgram)
    gc.collect()
    before = alive(*made)
    x = torch.randn(1, 3, 16, 16)
    fast = strop.compile(model(), (x,), threads=1, cache=False)
    fast(x)
    gc.collect()
    assert alive(*made) <= before


def test_what_tracing_leaves_is_collected_before_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "WORTH", -1e9)
    gc.collect()
    before = alive(torch.fx.Node, torch.fx.GraphModule)
    found = []

    def build(graph: Graph, options: Options, journal: Journal, threads: int) -> RunnableProgram:
        found.append(alive(torch.fx.Node, torch.fx.GraphModule))
        return default_build(graph, options, journal, threads)

    compile_model.compile(model(), (torch.randn(1, 3, 16, 16),), options=Options(cache=False), build=build)
    assert len(found) == 1 and found[0] <= before


def test_what_is_remembered_is_forgotten_with_the_compilation() -> None:
    graph = capture(model(), (torch.randn(1, 3, 16, 16),)).graph
    compile_graph(graph, Options(cache=False), Journal(), 1)
    assert memoize._caches and not any(cached.cache_info().currsize for cached in memoize._caches)


def test_results_are_remembered_until_then() -> None:
    asked = []

    @memoize.remembered(maxsize=4)
    def twice(n: int) -> int:
        asked.append(n)
        return 2 * n

    try:
        assert (twice(1), twice(1)) == (2, 2) and asked == [1]
        memoize.forget()
        assert twice(1) == 2 and asked == [1, 1]
    finally:
        memoize._caches.pop()


def test_collections_of_a_compilation_leave_what_was_there_before_alone() -> None:
    with garbage.short_lived():
        assert gc.get_freeze_count() and not gc.isenabled()
    assert not gc.get_freeze_count() and gc.isenabled()


def test_whoever_does_without_collections_goes_on_without_them() -> None:
    gc.disable()
    try:
        with garbage.short_lived():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_the_user_has_frozen_stays_frozen() -> None:
    gc.freeze()
    try:
        with garbage.short_lived():
            pass
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()


def test_a_failed_compilation_leaves_nothing_frozen() -> None:
    with pytest.raises(ZeroDivisionError), garbage.short_lived():
        _ = 1 / 0
    assert not gc.get_freeze_count()


@pytest.mark.parametrize(("grown", "collected"), [(0.0, False), (20.0, True)])
def test_garbage_is_collected_where_the_process_has_grown(
    grown: float, collected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = iter([100.0, 100.0 + grown])
    monkeypatch.setattr(garbage, "resident_mb", lambda: next(sizes))
    full = []
    monkeypatch.setattr(garbage.gc, "collect", lambda: full.append(True))
    with garbage.short_lived():
        pass
    assert bool(full) is collected
