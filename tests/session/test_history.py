"""Previews that come true, edits that are replaced, branches side by side, and numbers that are checked at each step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn

import strop
from strop.core.problem import Problem
from strop.schedule.constraints import Pin
from strop.session import Session

OPTIONS = strop.Options(cache=False, threads=1, target="znver3@host")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.deep = nn.Conv2d(16, 32, 3, padding=1), nn.Conv2d(32, 32, 3, padding=1, groups=32)
        self.last = nn.Conv2d(32, 32, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x).relu()
        return self.last(self.deep(y).sigmoid()) + y


def made() -> Session:
    torch.manual_seed(0)
    return Session(Net().eval(), (torch.randn(1, 16, 20, 24),), options=OPTIONS)


@pytest.fixture
def session() -> Session:
    return made()


EDITS = (
    "keepapart{a=first.conv b=relu}",
    "library{node=last.conv}",
    "algorithm{node=first.conv use=direct}",
    "pin{tensor=first.conv layout=blocked}",
    "reset{nest=last.conv}",
    "bordercopy{tensor=last.weight}",
)


def kept_apart(session: Session) -> str:
    """Keep an epilogue from its producer; its name."""
    one = next(one for one in session.fusions() if one.rule == "epilogue")
    session.keep_apart(one.producer, one.consumer)
    return one.consumer


@pytest.mark.parametrize("edit", EDITS)
def test_what_a_preview_predicts_is_what_applying_gives(session: Session, edit: str) -> None:
    if not (verdict := session.why(edit)):
        pytest.fail(f"{edit}: {verdict.why}")
    seen = session.preview(edit)
    session.apply(edit)
    after = session.preview()
    assert (after.before.bytes, after.before.cycles) == (seen.after.bytes, seen.after.cycles)
    assert session.timeline()[-1].bytes == seen.after.bytes
    assert {diff.name for diff in seen.diffs} == {*seen.changed, *seen.gone}
    assert session.check().ok


def test_possibilities_are_previewed_as_they_would_be_applied(session: Session) -> None:
    able = [one for one in session.space() if one.verdict and one.change.level != "memory"]
    for one in able[:: max(len(able) // 12, 1)]:
        if not session.why(*one.passes):
            continue
        seen = one.preview
        session.apply(*one.passes)
        assert seen is not None and session.preview().before == seen.after, one.change
        session.undo()


def test_a_preview_shows_the_text_of_what_changes(session: Session) -> None:
    (diff,) = [one for one in session.preview("reset{nest=last.conv}").diffs if one.name == "last.conv"]
    assert "(vector)" in diff.before and "(vector)" not in diff.after
    assert diff.unified.startswith("--- before") and diff.to_json()["unified"] == diff.unified


def test_a_layout_by_hand_shows_what_conversions_cost(session: Session) -> None:
    chosen = next(one for one in session.stages.programs["lay out"].history if "relayout{tensor=relu" in str(one))
    other = "blocked" if "split" not in str(chosen) else "channels_last"
    seen = session.preview(Pin("relu", other))
    told = seen.to_json()
    assert json.dumps(told) and {"conversions_before", "conversions"} <= told.keys()
    session.pin("relu", other)
    assert session.preview().before == seen.after and session.check().ok


def test_an_edit_is_replaced_and_those_after_it_stay(session: Session) -> None:
    session.apply("library{node=last.conv}")
    session.apply("reset{nest=first.conv}")
    wanted = made()
    wanted.apply("library{node=deep.conv}")
    wanted.apply("reset{nest=first.conv}")
    session.replace(0, "library{node=deep.conv}")
    assert session.edits == wanted.edits and session.digest == wanted.digest
    session.replace(0)
    assert [str(one) for one in session.edits] == ["reset{nest=first.conv}"]
    with pytest.raises(Problem, match="there is no 5"):
        session.replace(5, "reset{nest=first.conv}")


def test_two_branches_are_compared_in_bytes_time_and_code(session: Session) -> None:
    session.branch("apart")
    name = kept_apart(session)
    before = session.digest
    found = session.compare("main", "apart")
    assert found.a.bytes < found.b.bytes and found.b.digest == before == session.digest != found.a.digest
    names = {one.name for one in found.changed}
    assert name in names and found.to_json()["told"] == str(found)
    a, b = found.assembly(name)
    assert not a and "ret" in b
    with pytest.raises(Problem, match="there is no nest `gone`"):
        found.assembly("gone")


def test_the_timeline_has_the_gain_of_every_step(session: Session) -> None:
    kept_apart(session)
    session.check()
    session.apply("reset{nest=last.conv}")
    first, second, third = session.timeline()
    assert first.passes == () and first.bytes < second.bytes
    assert second.predicted_us < third.predicted_us and second.check is not None and third.check is None


def test_a_check_notices_wrong_numbers(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    assert session.check() and session.check().told.startswith("1 outputs agree")

    class Wrong(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return session.original(x) * 1.01  # type: ignore[no-any-return]

    monkeypatch.setattr(session, "module", Wrong())
    found = session.check()
    assert not found and "differs from eager" in found.told and not found.to_json()["ok"]


def test_a_check_leaves_buffers_and_random_numbers_alone() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count.add_(1)
            return nn.functional.dropout(x, 0.5, True) * self.count

    model = Counting()
    session = Session(model, (torch.randn(64),), options=OPTIONS)
    torch.manual_seed(7)
    before = torch.get_rng_state()
    assert session.check().ok
    assert model.count == 0 and torch.equal(torch.get_rng_state(), before)


def test_branches_are_saved_and_loaded(session: Session, tmp_path: Path) -> None:
    session.apply("library{node=last.conv}")
    session.branch("apart")
    session.keep_apart("first.conv", "relu")
    session.switch("main")
    session.save(tmp_path / "s.json")
    again = Session.load(tmp_path / "s.json", session.original, session.inputs)
    assert again.branches == session.branches and again.digest == session.digest
    again.switch("apart")
    session.switch("apart")
    assert again.digest == session.digest


def test_a_program_that_is_gone_back_to_has_the_parameters_of_now(session: Session) -> None:
    session.apply("reset{nest=last.conv}")
    x = session.inputs[0]
    with torch.no_grad():
        session.module(x)
        session.original.first.weight.mul_(2)  # type: ignore[union-attr,operator]
        for steer in (session.undo, session.redo, session.undo):
            steer()
            torch.testing.assert_close(session.module(x), session.original(x), rtol=1e-4, atol=1e-4)


def test_a_model_that_computes_nothing_says_so_wherever_it_is_asked() -> None:
    session = Session(nn.Identity(), (torch.ones(3),), options=OPTIONS)
    asked = (session.measure, session.timeline, session.space, session.memory, session.script, session.edges)
    for ask in (*asked, lambda: session.compare("main", "main"), lambda: session.apply("reset{nest=x}")):
        with pytest.raises(Problem, match="computes nothing"):
            ask()  # type: ignore[operator]
    assert session.check().ok
