"""A session in a person's hands: passes at every level, undo and redo, branches, constraints, files and scripts."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import strop
from strop.core.passes import LEVELS, Pass
from strop.core.problem import Problem
from strop.session import Session


class Block(nn.Module):
    """Convolutions that may lie in blocks, a residual, an activation."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(16, 32, 3, padding=1)
        self.deep = nn.Conv2d(32, 32, 3, padding=1, groups=32)
        self.last = nn.Conv2d(32, 32, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x).relu()
        return self.last(self.deep(y).sigmoid()) + y


def block() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    return Block().eval(), (torch.randn(1, 16, 20, 24),)


OPTIONS = strop.Options(cache=False, threads=1, target="znver3@host", check=True)


@pytest.fixture
def session() -> Session:
    model, inputs = block()
    return Session(model, inputs, options=OPTIONS, spec=f"{__file__}:block")


def agrees(session: Session) -> None:
    model, (x,) = block()
    with torch.no_grad():
        torch.testing.assert_close(session.module(x), model(x), rtol=1e-4, atol=1e-5)


def code(session: Session) -> object:
    return session.compiled.code


def fusion_of(session: Session, name: str) -> str:
    return next(str(one) for one in session.history if one.title in ("epilogue", "inline") and name in str(one))


def test_the_history_goes_through_the_levels_in_order(session: Session) -> None:
    levels = [LEVELS.index(one.level) for one in session.history]
    assert levels == sorted(levels) and session.history[-1].level == "memory"


def test_nests_that_are_to_be_kept_apart_are_not_fused(session: Session) -> None:
    fused = {str(one) for one in session.history}
    name = next(
        name for name in (step.name for step in session.stages.programs["lower"].nests.nests) if "sigmoid" in name
    )
    assert any(name in text for text in fused if text.startswith(("epilogue", "inline")))
    session.keep_apart(name, "deep.conv")
    session.keep_apart(name, "last.conv")
    assert name in session.nests.names
    agrees(session)


def test_a_layout_that_is_pinned_is_taken(session: Session) -> None:
    for layout in ("blocked", "channels_last"):
        session.pin("first.conv" if "first.conv" in session.plan.layouts else next(iter(session.plan.layouts)), layout)
        agrees(session)
    blocked = [one for one in session.history if one.title == "pin"]
    assert len(blocked) == 2


def test_a_tensor_that_windows_do_not_reach_is_not_pinned(session: Session) -> None:
    before = code(session)
    with pytest.raises(Problem, match="there is no tensor"):
        session.pin("nothing", "blocked")
    with pytest.raises(Problem, match="layouts are"):
        session.pin("first.conv", "diagonal")
    assert code(session) == before and session.edits == ()


class Pooled(nn.Module):
    """A convolution whose result is averaged."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv, self.last = nn.Conv2d(16, channels, 3, padding=1), nn.Conv2d(channels, 16, 3, padding=1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.conv(x).relu()
        return self.last(y), y.mean((2, 3))


@pytest.mark.parametrize(("channels", "why"), [(32, "added up"), (12, "no whole blocks")])
def test_a_tensor_that_cannot_lie_in_blocks_says_why(channels: int, why: str) -> None:
    made = Session(Pooled(channels).eval(), (torch.randn(1, 16, 20, 24),), options=OPTIONS)
    with pytest.raises(Problem, match=why):
        made.pin("relu", "blocked")


def test_an_algorithm_is_chosen_by_name(session: Session) -> None:
    session.algorithm("first.conv", "winograd")
    agrees(session)
    assert any(str(one) == "algorithm{node=first.conv use=winograd}" for one in session.history)
    session.algorithm("first.conv", "direct")
    agrees(session)
    with pytest.raises(Problem, match="does not compute this node"):
        session.algorithm("last.conv", "recurrent")


def test_a_node_can_be_left_to_the_library(session: Session) -> None:
    session.apply("library{node=first.conv}")
    agrees(session)
    assert session.summary()["library_nodes"] == {"conv": 1}


def test_what_was_undone_can_be_redone(session: Session) -> None:
    before = code(session)
    name = session.nests.names[0]
    session.apply(f"reset{{nest={name}}}")
    after = code(session)
    session.undo()
    undone = code(session)
    session.redo()
    assert code(session) == after and code(session) != undone and before != after
    session.undo()
    assert code(session) == undone
    session.apply(f"reset{{nest={name}}}")
    with pytest.raises(Problem, match="nothing was undone"):
        session.redo()


def test_a_branch_goes_its_own_way(session: Session) -> None:
    session.algorithm("first.conv", "direct")
    before, edits = code(session), session.edits
    session.branch("library")
    assert session.edits == edits and code(session) == before
    session.apply("library{node=last.conv}")
    changed = code(session)
    assert changed != before
    agrees(session)
    session.switch("main")
    assert session.edits == edits and code(session) == before
    agrees(session)
    session.switch("library")
    assert code(session) == changed and [one.name for one in session.branches if one.current] == ["library"]
    with pytest.raises(Problem, match="there is one already"):
        session.branch("main")
    with pytest.raises(Problem, match="there is no branch `nowhere`"):
        session.switch("nowhere")


def test_a_preview_says_what_applying_makes_true(session: Session) -> None:
    events, before = len(session.journal.events), code(session)
    seen = session.preview("library{node=last.conv}")
    assert len(session.journal.events) == events and code(session) == before
    assert "last.conv" in seen.gone and seen.after != seen.before
    session.apply("library{node=last.conv}")
    again = session.preview()
    assert again.before == seen.after and again.changed == again.gone == ()


def test_the_space_lists_what_can_be_done_and_why_not(session: Session) -> None:
    found = session.space()
    assert {one.change.title for one in found if one.verdict} >= {"algorithm", "library", "bordercopy", "place"}
    refused = [one for one in found if not one.verdict]
    assert refused and all(one.verdict.why for one in refused)
    here = session.space("first.conv", levels=("lowering",))
    assert here and all(one.preview is not None for one in here if one.verdict)


def test_two_nests_are_fused_by_whatever_is_legal(session: Session) -> None:
    with pytest.raises(Problem, match="cannot be fused"):
        session.fuse("first.conv", "last.conv")
    assert session.edits == ()


def test_hooks_see_every_step_and_may_add_passes(session: Session) -> None:
    seen: list[str] = []
    session.hooks.before("fuse", lambda program: seen.append(f"{len(program.nests.nests)} nests"))  # type: ignore[func-returns-value]
    session.hooks.after("choose algorithms", lambda program: [Pass.parse("library{node=last.conv}")])
    session.apply("reset{nest=first.conv}")
    assert seen and session.summary()["library_nodes"] == {"conv": 1}
    with pytest.raises(Problem, match="there is no step `nothing`"):
        session.hooks.after("nothing", lambda program: None)


def test_a_saved_session_is_the_same_session(session: Session, tmp_path: Path) -> None:
    session.algorithm("first.conv", "direct")
    session.apply("library{node=last.conv}")
    session.save(tmp_path / "s.json")
    assert sorted(tmp_path.iterdir()) == [tmp_path / "s.json"]
    with pytest.raises(Problem, match="names code, which loading it would run"):
        Session.load(tmp_path / "s.json")
    again = Session.load(tmp_path / "s.json", trust=True)
    assert again.edits == session.edits and code(again) == code(session)
    given = Session.load(tmp_path / "s.json", *block())
    assert code(given) == code(session)


def test_a_script_makes_the_same_code_in_another_process(tmp_path: Path) -> None:
    """For a named CPU: the other process may describe this one otherwise, where a test run has it stand in for another."""
    model, inputs = block()
    session = Session(model, inputs, options=replace(OPTIONS, target="x86-64"), spec=f"{__file__}:block")
    session.algorithm("first.conv", "direct")
    script = session.script()
    assert "x86-64" in script and "session.apply('algorithm{node=first.conv use=direct}')" in script
    (tmp_path / "s.py").write_text(script)
    out = subprocess.run([sys.executable, tmp_path / "s.py"], capture_output=True, text=True, check=True).stdout
    assert out.split() == [session.digest]


def with_program(data: dict[str, Any], **new: Any) -> str:
    """A saved session whose program is another."""
    return json.dumps({**data, "programs": {"program": {**data["programs"]["program"], **new}}})


MUTATIONS = {
    "empty": lambda data: "",
    "no JSON": lambda data: "{",
    "another format": lambda data: json.dumps({**data, "format": "x"}),
    "a later version": lambda data: json.dumps({**data, "version": 99}),
    "another model": lambda data: with_program(data, graph="0" * 64),
    "an unknown pass": lambda data: with_program(data, branches={"main": ["explode{}"]}),
    "a nest that is not there": lambda data: with_program(data, branches={"main": ["reset{nest=nothing}"]}),
    "an unknown option": lambda data: json.dumps({**data, "options": {"warp": 9}}),
    "edits of another kind": lambda data: with_program(data, branches={"main": [7]}),
    "a branch that is not there": lambda data: with_program(data, branch="nowhere"),
    "no program": lambda data: json.dumps({**data, "programs": {}}),
    "the half of another session": lambda data: json.dumps(
        {**data, "programs": {"forward": data["programs"]["program"]}}
    ),
    "training of another kind": lambda data: json.dumps({**data, "training": 1}),
    "threads of another kind": lambda data: json.dumps({**data, "threads": "2"}),
    "something more": lambda data: json.dumps({**data, "run": "import os"}),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_file_that_was_changed_gets_a_coded_problem(session: Session, tmp_path: Path, name: str) -> None:
    session.save(tmp_path / "s.json")
    text = MUTATIONS[name](json.loads((tmp_path / "s.json").read_text()))
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(Problem) as caught:
        Session.load(tmp_path / "s.json", *block())
    assert caught.value.code in ("STR301", "STR302", "STR304", "STR306")
    agrees(session)


def test_what_training_keeps_is_no_business_of_a_session(session):
    before = session.history
    with pytest.raises(Problem, match=r"STR301.*a session holds a forward graph"):
        session.apply("keep{value=relu}")
    assert not session.why("recompute{value=relu}") and session.history == before
