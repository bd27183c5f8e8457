"""Nests in strips compute, bit for bit, what they compute one after the other."""

from __future__ import annotations

from math import prod
from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from codegen.machines import runnable
from strop.core.dtypes import SIZES
from strop.core.options import Layouts, Options
from strop.loops.calls import Call
from strop.loops.interleaved import Move, Run
from strop.loops.ir import Buffer, Load, loads
from strop.schedule import sliding_window, window_chain
from strop.schedule.access_ranges import RangedLoop, ranged_loops
from strop.session import Session


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every tensor that is handed on counts as large, and waiting for it costs a lot: chains form, strips are thin."""
    force(monkeypatch)


def force(patch: pytest.MonkeyPatch, call: float = 0.0) -> None:
    patch.setattr(sliding_window, "LARGE", 0.0)
    patch.setattr(window_chain, "levels", lambda target, threads: (window_chain.CacheLevel(1e6, 1e9),))
    patch.setattr(window_chain, "WORTH", float("-inf"))
    patch.setattr(window_chain, "CALL_US", call)


def compiled(
    model: nn.Module, x: Tensor, threads: int, on: bool, layouts: Layouts = "joint", target: str | None = None
) -> Session:
    machine = runnable(target) if target else None
    options = Options(cache=False, strips=on, layouts=layouts, numerics="exact", check=True, target=machine)
    return Session(model, (x,), options=options, threads=threads)


def assert_same(
    model: nn.Module, x: Tensor, threads: int, layouts: Layouts = "joint", target: str | None = None
) -> Session:
    model.eval()
    with torch.no_grad():
        session = compiled(model, x, threads, True, layouts, target)
        apart = compiled(model, x, threads, False, layouts, target)
        for _ in range(2):  # windows hold the rows of the call before
            assert torch.equal(session.module(x), apart.module(x))
        torch.testing.assert_close(session.module(x), model(x), rtol=1e-4, atol=1e-4)
    replay(session)
    return session


def replay(session: Session) -> None:
    """Follow the turns of every group: what is read from a window was written there, and stayed."""
    for at, group in session.plan.strips.items():
        names = [next(loop.name for loop in call.nest.all_loops if loop.mode == "strip") for call in group.calls]
        steps = session.plan.steps[at : at + len(group.calls)]
        found = [next(walk for walk in ranged_loops(call) if walk.name == name) for call, name in zip(steps, names)]
        whole = group_windows(session, at)
        done = [[0] * walk.steps for walk in found]
        for part in group.parts:
            holds: dict[tuple[Buffer, int], int | None] = {}  # place in a window, in rows → the row that is there
            for turn in part:
                if isinstance(turn, Run):
                    done[turn.call][turn.low : turn.high] = [1] * (turn.high - turn.low)
                    follow(found[turn.call], turn, rings(group.calls[turn.call], whole), whole, holds)
                    continue
                row = row_bytes(whole[turn.buffer], rows_of(found, whole[turn.buffer]))
                if isinstance(turn, Move):
                    moved = [holds.get((turn.buffer, turn.source // row + i)) for i in range(turn.size // row)]
                    holds.update({(turn.buffer, turn.to // row + i): kept for i, kept in enumerate(moved)})
                else:
                    holds.update({(turn.buffer, turn.at // row + i): None for i in range(turn.size // row)})
        assert all(all(steps) for steps in done), "some rows are left out"


def group_windows(session: Session, at: int) -> dict[Buffer, Buffer]:
    """The windows of a group, and what each is a part of."""
    group = session.plan.strips[at]
    named = {b.name: b for step in session.plan.steps[at : at + len(group.calls)] for b in step.touched}
    return {w: named[w.name.removesuffix(".window")] for w in group.touched if w.name.endswith(".window")}


def row_bytes(buffer: Buffer, dimension: int) -> int:
    return prod(buffer.shape[dimension + 1 :]) * SIZES[buffer.dtype]


def rows_of(found: list[RangedLoop], buffer: Buffer) -> int:
    return next(w.writes[buffer].dimension for w in found if w.writes.get(buffer) is not None)


def rings(call: Call, whole: dict[Buffer, Buffer]) -> set[Buffer]:
    """Windows whose rows a call finds by itself: no index is past the last of them."""
    found = set()
    for store in call.nest.stores:
        for place in (*loads(store), Load(store.target, store.index)):
            window = call.actual.get(place.buffer)
            if window in whole and place.buffer.shape == window.shape[1:]:
                inside = zip(place.index, place.buffer.shape)
                if place.buffer.shape != whole[window].shape and all(i.bounds[1] < extent for i, extent in inside):
                    found.add(window)
    return found


def follow(
    walk: RangedLoop,
    run: Run,
    rings: set[Buffer],
    whole: dict[Buffer, Buffer],
    holds: dict[tuple[Buffer, int], int | None],
) -> None:
    for window, shift in run.shifts:
        buffer = whole[window]
        reach = walk.reads.get(buffer) or walk.writes[buffer]
        row, rows = row_bytes(buffer, reach.dimension), window.shape[reach.dimension + 1]
        planes = prod(buffer.shape[: reach.dimension])
        assert shift % row == 0
        for number in range(reach.low[run.low], reach.end[run.high - 1]):
            at = (number % rows if window in rings else number) + shift // row
            part = at // (planes * rows)
            assert at - part * planes * rows < rows, "outside of the window"
            for place in [(window, at + plane * rows) for plane in range(planes)]:
                if buffer in walk.reads:
                    assert holds[place] in (None, number), f"row {holds[place]} is where {number} should be"
                else:
                    holds[place] = number


def block(channels: int, wide: int, kernel: int, stride: int, dilation: int = 1) -> nn.Sequential:
    pad = dilation * (kernel // 2)
    depthwise = nn.Conv2d(wide, wide, kernel, stride, pad, dilation, groups=wide)
    return nn.Sequential(nn.Conv2d(channels, wide, 1), nn.ReLU6(), depthwise, nn.SiLU(), nn.Conv2d(wide, channels, 1))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("target", ["znver3", "znver4"])
def test_a_mobile_block(target: str, stride: int, threads: int) -> None:
    session = assert_same(block(16, 48, 3, stride), torch.randn(1, 16, 28, 56), threads, target=target)
    [group] = session.plan.strips.values()
    assert len(group.parts) == threads
    assert len(group.calls) == 3


@pytest.mark.parametrize("target", ["znver3", "znver4"])
@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_of_channels_have_a_window_each(threads: int, target: str) -> None:
    session = assert_same(block(32, 64, 3, 1), torch.randn(1, 32, 28, 30), threads, "blocked", target)
    windows = [b for group in session.plan.strips.values() for b in group.touched if b.name.endswith(".window")]
    assert any(len(b.shape) == 6 and b.shape[2] > 1 for b in windows)


@pytest.mark.parametrize(("target", "width"), [("znver3", 56), ("znver3", 50), ("znver4", 56)])
@pytest.mark.parametrize("stride", [1, 2])
def test_rows_stay_where_they_are(stride: int, target: str, width: int) -> None:
    """Each is found in a ring, by depthwise convolutions and by tiles of pixels that cross from row to row."""
    model = nn.Sequential(*block(16, 48, 3, stride), nn.ReLU(), *block(16, 24, 3, 1))
    session = assert_same(model, torch.randn(1, 16, 56, width), 1, "blocked", target)
    turns = [turn for group in session.plan.strips.values() for part in group.parts for turn in part]
    assert not any(isinstance(turn, Move) for turn in turns)
    assert any(rings(call, group_windows(session, at)) for at, g in session.plan.strips.items() for call in g.calls)


@pytest.mark.parametrize("stride", [1, 2])
def test_rows_move_where_a_ring_would_be_too_long(stride: int) -> None:
    """Tiles of 14 pixels, as 32 registers allow, end together with a row of 50 after seven rows only."""
    model = nn.Sequential(*block(16, 48, 3, stride), nn.ReLU(), *block(16, 24, 3, 1))
    session = assert_same(model, torch.randn(1, 16, 56, 50), 1, "blocked", "znver4")
    turns = [turn for group in session.plan.strips.values() for part in group.parts for turn in part]
    assert any(isinstance(turn, Move) for turn in turns)


@pytest.mark.parametrize("target", ["znver3", "znver4"])
def test_rows_move_where_an_inner_loop_tells_them(target: str) -> None:
    model = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 7, padding=3))
    session = assert_same(model, torch.randn(1, 16, 56, 56), 1, target=target)
    turns = [turn for group in session.plan.strips.values() for part in group.parts for turn in part]
    assert any(isinstance(turn, Move) for turn in turns)


@pytest.mark.parametrize("target", ["znver3", "znver4"])
def test_what_is_handed_on_takes_a_window_of_memory(target: str) -> None:
    model, x = block(16, 96, 3, 1).eval(), torch.randn(1, 16, 64, 32)
    with torch.no_grad():
        windows, whole = (compiled(model, x, 1, on, target=target).summary()["arena_bytes"] for on in (True, False))
    assert windows < whole / 3


@pytest.mark.parametrize("target", ["znver3", "znver4"])
def test_zeros_around_the_edge_are_left_to_the_window(target: str) -> None:
    model, x = block(16, 48, 5, 1).eval(), torch.randn(1, 16, 20, 20)
    with torch.no_grad():
        session = compiled(model, x, 1, True, target=target)
    assert not any("zeros" in step.source.note for step in session.plan.steps if "minimum" in step.name)


def test_a_tensor_that_is_needed_later_keeps_its_place() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c = (nn.Conv2d(16, 16, 3, padding=1) for _ in range(3))

        def forward(self, x: Tensor) -> Tensor:
            y = self.a(x).relu()
            return (self.c(self.b(y).relu()) + y).flip(2)

    assert_same(Twice(), torch.randn(1, 16, 40, 24), 1)


def test_several_readers_share_a_window() -> None:
    class Fork(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Conv2d(16, 32, 1)
            self.b, self.c = nn.Conv2d(32, 16, 3, padding=1), nn.Conv2d(32, 16, 5, padding=2)

        def forward(self, x: Tensor) -> Tensor:
            y = self.a(x).relu()
            return self.b(y).tanh() * self.c(y).sigmoid()

    assert_same(Fork(), torch.randn(1, 16, 40, 24), 2)


def test_rows_that_are_left_out_do_not_show_rows_of_before() -> None:
    """A transposed convolution writes between rows of zeros; a diagonal moves along as rows do."""

    class Holes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.mix = nn.ConvTranspose2d(8, 16, 2, stride=2), nn.Conv2d(16, 8, 3, padding=1)

        def forward(self, x: Tensor) -> Tensor:
            y = self.mix(self.up(x).relu())
            spread = torch.zeros(1, 8, 64, 64)
            spread[:, :, ::2, ::2] = y[:, :, :32, :32].relu()
            return self.mix(torch.cat([spread, torch.diag_embed(y[:, :, :, 0])[..., :64, :64]], 1)) + 1

    assert_same(Holes(), torch.randn(1, 8, 32, 32), 1)


def test_journal_says_what_takes_turns() -> None:
    model, x = block(16, 48, 3, 1).eval(), torch.randn(1, 16, 33, 29)
    with torch.no_grad():
        session = compiled(model, x, 1, True, target="znver3")
    told = [event.message for event in session.journal.events if "strips with" in event.message]
    assert told and "at a time" in told[0]


def test_switched_off() -> None:
    model, x = block(16, 48, 3, 1).eval(), torch.randn(1, 16, 33, 29)
    with torch.no_grad():
        assert not compiled(model, x, 1, False).plan.strips


@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_random_chains(data: st.DataObject) -> None:
    layers: list[nn.Module] = []
    channels = data.draw(st.sampled_from([3, 8, 16, 20]))
    first = channels
    for _ in range(data.draw(st.integers(2, 5))):
        kind = data.draw(st.sampled_from(["point", "depth", "full", "pool", "average", "up"]))
        kernel, stride = data.draw(st.sampled_from([2, 3, 5])), data.draw(st.integers(1, 2))
        dilation = data.draw(st.integers(1, 2))
        pad = data.draw(st.integers(0, kernel // 2))
        new = data.draw(st.sampled_from([8, 16, 24, 33]))
        if kind == "point":
            layers += [nn.Conv2d(channels, new, 1), nn.ReLU()]
        elif kind == "depth":
            layers += [nn.Conv2d(channels, channels, kernel, stride, pad, dilation, groups=channels), nn.SiLU()]
        elif kind == "full":
            layers += [nn.Conv2d(channels, new, kernel, stride, pad, dilation), nn.GELU()]
        elif kind == "pool":
            layers += [nn.MaxPool2d(kernel, stride, pad)]
        elif kind == "average":
            layers += [nn.AvgPool2d(kernel, stride, pad)]
        else:
            layers += [nn.Upsample(scale_factor=2)]
        channels = new if kind in ("point", "full") else channels
    torch.manual_seed(data.draw(st.integers(0, 99)))
    x = torch.randn(1, first, data.draw(st.integers(24, 60)), data.draw(st.integers(24, 40)))
    with pytest.MonkeyPatch.context() as patch:
        force(patch, data.draw(st.sampled_from([0.0, 1e4, 1e6])))
        layouts = data.draw(st.sampled_from(get_args(Layouts)))
        assert_same(nn.Sequential(*layers), x, data.draw(st.integers(1, 2)), layouts)


def test_channels_go_in_strips_where_a_map_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of channels is made, then read by the depthwise convolution: nothing is read twice, nothing moves."""
    monkeypatch.undo()
    model = nn.Sequential(
        nn.Conv2d(96, 576, 1), nn.ReLU6(), nn.Conv2d(576, 576, 3, padding=1, groups=576), nn.Conv2d(576, 96, 1)
    )
    options = Options(cache=False, target=runnable("znver3"))
    (group,) = Session(model.eval(), (torch.randn(1, 96, 14, 14),), options=options, threads=1).plan.strips.values()
    (window,) = {b for b in group.touched if b.name.endswith(".window")}
    assert window.bytes < 0.2 * 16 * 16 * 576 * 4
    assert not any(isinstance(turn, Move) for turn in group.parts[0])
    runs = [turn for turn in group.parts[0] if isinstance(turn, Run)]
    assert [run.call for run in runs] == [0, 1] * (len(runs) // 2)
