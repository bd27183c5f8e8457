"""Register tiles leave room for what the machine code keeps."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import torch
from torch import nn

from strop.core.journal import Journal
from strop.core.options import Options
from strop.driver.pipeline import assembly
from strop.graph import build
from strop.graph.ir import Graph
from strop.loops.calls import Call
from strop.loops.ir import Nest
from strop.loops.lower.graph import lower
from strop.runtime.cross_compile import CrossCompiled, cross_compile
from strop.schedule.default import schedule
from strop.schedule.tiles import Demand, Tile, best, candidates
from strop.session import Session
from strop.target import host
from strop.target.description import TARGETS, Target


@pytest.mark.parametrize("name", ["znver3", "znver4"])
@pytest.mark.parametrize("window", [3, 5, 7])
def test_a_sliding_window_and_its_accumulators_fit_the_registers(name, window):
    target = TARGETS[name]
    demand = Demand(56, 96, window * window, broadcast=0, paired=1, window=window)
    lanes = target.lanes("f32")
    for tile in candidates(demand, lanes, target):
        live = tile.vectors * (tile.rows + window + tile.rows + window - 1)
        assert live <= target.vector_registers


def test_rows_further_apart_than_the_window_share_nothing():
    assert Demand(8, 16, 9, window=3, slide=1).shared(4) == 6
    assert Demand(8, 16, 9, window=3, slide=2).shared(4) == 9
    assert Demand(8, 16, 9, window=3, slide=5).shared(4) == 12


def test_a_window_too_large_for_the_registers_still_has_a_tile():
    target = TARGETS["znver3"]
    tile = best(Demand(8, 64, 121, broadcast=0, paired=1, window=11), target.lanes("f32"), target)
    assert tile.rows >= 1 and tile.vectors >= 1


@pytest.mark.parametrize("target", ["znver3", "znver4"])
@pytest.mark.parametrize(("channels", "size", "kernel", "stride"), [(48, 14, 5, 1), (48, 9, 3, 1), (32, 17, 3, 2)])
def test_depthwise_convolutions_spill_nothing(channels, size, kernel, stride, target):
    """Channels last, as between other convolutions; alone, images are read where they lie (test_in_place.py)."""
    layer = nn.Conv2d(channels, channels, kernel, stride, kernel // 2, groups=channels)
    model = nn.Sequential(nn.Conv2d(channels, channels, 1), layer, nn.Conv2d(channels, channels, 1)).eval()
    options, x = Options(cache=False, target=target, strips=False), torch.randn(1, channels, size, size)
    text = assembly(nest_of(cross_compile(model, (x,), None, options, Journal()), "1.conv"), Target.find(target))
    assert not re.findall(r"[xyz]mm\d+, -?\d*\(%rsp\)", text)


def test_the_gates_of_an_lstm_are_computed_in_vectors():
    layer = nn.LSTM(8, 32, batch_first=True).eval()
    session = Session(layer, (torch.randn(1, 5, 8),), options=Options(cache=False), threads=1)
    gates = str(session.nests["lstm.0"]).split("sigmoid")[0].splitlines()[-2]
    assert "(vector)" in gates


def test_weights_that_l2_holds_are_applied_to_one_tile_of_many_rows_after_the_other():
    def order(rows):
        x, w = build.input(0, "f32", (rows, 256), "x"), build.param("w", "f32", (256, 256))
        (nest,) = lower(Graph((x,), (w,), (build.linear(x, w),))).nests
        text = str(schedule(nest, TARGETS["znver4"], 1).nest)
        return text.index(" n.o in ") - text.index(" m0.o in ")

    assert order(128) < 0 < order(20_000)


def test_panels_that_come_round_again_are_not_asked_for():
    def asks(rows):
        x, w = build.input(0, "f32", (rows, 512), "x"), build.param("w", "f32", (96, 512))
        (nest,) = lower(Graph((x,), (w,), (build.linear(x, w),))).nests
        return any("prefetchnext" in str(one) for one in schedule(nest, TARGETS["znver3"], 1).passes)

    assert asks(64) and not asks(2000)


def test_a_tile_does_not_wait_for_a_panel_that_comes_from_l2():
    """196 pixels are 25 vectors, five times five: two rows of these multiply faster than L2 gives them."""
    zen3 = Target.find("znver3")
    assert best(Demand(rows=256, lanes_extent=196, depth=64), 8, zen3) == Tile(2, 5)
    assert best(Demand(rows=256, lanes_extent=196, depth=1024), 8, zen3).vectors < 5


def nest_of(program: CrossCompiled, name: str) -> Nest:
    calls = [call for call in program.stages.plan.steps if isinstance(call, Call)]
    return next(call.nest for call in calls if call.name == name)


def one_by_one(channels, out, target, threads=1, size=(15, 13)):
    """A 1×1 convolution between two of 3×3, every tensor in blocks of channels; only planned where it can't run."""
    torch.manual_seed(channels)
    model = nn.Sequential(
        nn.Conv2d(3, channels, 3), nn.Conv2d(channels, out, 1), nn.ReLU6(), nn.Conv2d(out, out, 3, groups=out)
    ).eval()
    x = torch.randn(1, 3, *size)
    options = Options(cache=False, target=target, layouts="blocked", strips=False)
    if not Target.find(target).runs_on(host.described_host()):
        return str(nest_of(cross_compile(model, (x,), None, replace(options, threads=threads), Journal()), "1.conv"))
    session = Session(model, (x,), options=options, threads=threads)
    with torch.no_grad():
        torch.testing.assert_close(session.module(x), model(x), rtol=1e-4, atol=1e-5)
    return str(session.nests["1.conv"])


@pytest.mark.parametrize(("channels", "out"), [(16, 96), (24, 32), (8, 24)])
def test_a_core_that_multiplies_as_fast_as_it_loads_computes_blocks_of_channels_side_by_side(channels, out):
    nest = one_by_one(channels, out, "znver3")
    (abreast,) = set(re.findall(r"acc: f32\[\d+,(\d+),8\]", nest))
    assert int(abreast) > 1 and out // 8 % int(abreast) == 0


def test_the_next_blocks_of_weights_are_asked_for():
    assert "^(" in one_by_one(64, 192, "znver3")


def test_threads_share_blocks_evenly():
    """49 pixels make tiles of different sizes, so only channels can be shared: 20 blocks, but not as five times four."""
    (groups,) = re.findall(r"parallel \(threads\) oc\.o\.o in (\d+)", one_by_one(96, 160, "znver3", 2, (9, 9)))
    assert int(groups) % 2 == 0
    assert "oc.o.o in 5:" in one_by_one(96, 160, "znver3", 1, (9, 9))


def test_steps_of_many_sums_side_by_side_are_not_written_out_many_times():
    options = Options(cache=False, target="znver3", compact=True)
    session = Session(nn.Linear(1280, 1000).eval(), (torch.randn(1, 1280),), threads=1, options=options)
    nest = str(session.nests["linear"])
    products, blocks = 32, 8  # of 320 steps, which are added up in two blocks
    assert nest.count("] += ") == products + blocks and "k.i" not in nest


def test_one_block_after_the_other_where_products_take_longer_than_loads():
    nest = one_by_one(32, 64, "znver4")
    assert re.search(r"acc: f32\[\d+,16\]", nest)


@pytest.mark.parametrize("target", ["znver3", "znver4", "znver5"])
def test_a_panel_of_weights_that_every_tile_reads_again_fits_l2(target):
    """128 rows, 3072 terms, 768 columns: with 96 columns a panel is larger than L2, and Zen 5 waits for L3 (210 instead of
    250 GFLOP/s)."""
    machine = Target.find(target)
    lanes = machine.lanes("f32")
    tile = best(Demand(128, 768, 3072, rows_alias=True), lanes, machine)
    assert tile.vectors * lanes * 3072 * 4 <= machine.l2
