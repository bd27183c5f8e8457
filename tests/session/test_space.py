"""`session.space`: what can be done, where, with which effect; and what can't, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

import strop
from strop.session import Session, preview

OPTIONS = strop.Options(cache=False, threads=1, target="znver3@host")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(48, 96), nn.Linear(96, 40)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.softmax(self.up(x), -1))


def network() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    return Net().eval(), (torch.randn(13, 48),)


@pytest.fixture(scope="module")
def session() -> Session:
    model, inputs = network()
    return Session(model, inputs, options=OPTIONS)


def test_a_nest_has_other_tiles_and_passes_that_may_follow(session: Session) -> None:
    found = session.space("up.linear", levels=("loops",))
    assert {one.change.nest for one in found} == {"up.linear"}  # type: ignore[attr-defined]
    alone = [one for one in found if one.instead is None and one.verdict]
    instead = [one for one in found if one.instead is not None and one.verdict]
    assert {"reset", "split", "prefetch"} <= {one.change.title for one in alone}
    assert any(one.change.title == one.instead.title == "split" for one in instead if one.instead)
    assert len(found) < 200


def test_what_can_be_applied_is_what_apply_takes(session: Session) -> None:
    for one in session.space("up.linear", levels=("loops",)):
        verdict = session.why(*one.passes)
        if one.verdict:
            assert verdict, f"{one.change}: {verdict.why}"
        else:
            assert one.verdict.why
    assert not session.edits


def test_a_preview_of_one_nest_is_that_of_the_whole_program(session: Session) -> None:
    able = [one for one in session.space("up.linear", levels=("loops",)) if one.verdict]
    for one in able[::7]:
        assert one.preview == session.preview(*one.passes)
    assert len({one.preview.after.cycles for one in able if one.preview}) > 5


def test_nothing_is_predicted_before_it_is_looked_at(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: object) -> None:
        raise AssertionError("nobody has asked")

    fresh = Session(*network(), options=OPTIONS)
    monkeypatch.setattr(preview, "guess", never)
    found = fresh.space("up.linear")
    with pytest.raises(AssertionError, match="nobody has asked"):
        next(one for one in found if one.verdict).preview


def test_another_tile_computes_the_same() -> None:
    model, (x,) = network()
    session = Session(model, (x,), options=OPTIONS)
    tiles = [one for one in session.space("down.linear", levels=("loops",)) if one.verdict and one.instead is not None]
    wanted = model(x)
    for one in tiles[::6]:
        session.apply(*one.passes)
        with torch.no_grad():
            torch.testing.assert_close(session.module(x), wanted, rtol=1e-4, atol=1e-5)
        while session.edits:
            session.undo()


def test_a_preview_is_of_the_session_as_it_was_when_it_was_asked() -> None:
    session = Session(*network(), options=OPTIONS)
    one = next(one for one in session.space("up.linear", levels=("lowering",)) if one.change.title == "library")
    session.apply("reset{nest=down.linear}")
    seen = one.preview
    session.undo()
    assert seen is not None and seen.before == session.preview().before


def test_nests_that_are_alike_are_looked_at_once() -> None:
    model = nn.Sequential(nn.Linear(32, 32), nn.Softmax(-1), nn.Linear(32, 32), nn.Softmax(-1), nn.Linear(32, 32))
    session = Session(model.eval(), (torch.randn(8, 32),), options=OPTIONS)
    seen = {one.change.nest for one in session.space(levels=("loops",))}  # type: ignore[attr-defined]
    assert 0 < len(seen) < len(session.nests)


def test_threads_share_a_loop_only_where_there_are_some() -> None:
    for threads in (1, 2):
        session = Session(*network(), options=replace(OPTIONS, threads=threads))
        titles = {one.change.title for one in session.space(levels=("loops",)) if one.verdict}
        assert ("parallelise" in titles) == (session.compiled.threads > 1)


def test_a_refusal_names_things_as_the_model_does(session: Session) -> None:
    for one in session.space("up.linear", levels=("loops",)):
        assert "`k." not in one.verdict.why and "`b1`" not in one.verdict.why
