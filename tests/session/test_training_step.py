"""A session over a training step: both halves can be looked at and steered, and what is stored between them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

import strop
from strop.core.problem import Problem
from strop.session import Session


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.out = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Linear(8 * 36, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.conv(x)).relu()
        return self.out(nn.functional.gelu(y).flatten(1))


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    torch.manual_seed(0)
    yield Session(Net(), (torch.randn(2, 3, 6, 6),), options=strop.Options(cache=False, threads=1), training=True)
    torch._dynamo.reset()


def test_both_halves_are_there_and_can_be_looked_at(session: Session) -> None:
    assert set(session.halves) == {"forward", "backward"}
    for half in session.halves.values():
        assert half.nests and half.view("plan").edges and half.memory().steps
        for edge in half.edges():
            assert half.why_not(edge.producer, edge.consumer).reason
        for name in half.nests.names:
            code = half.code(name)
            assert code.mapped >= 0.99 and all(one.origins for one in code.statements)


def test_what_is_stored_and_what_is_computed_again_is_the_joint_graphs(session: Session) -> None:
    stored = session.stored()
    assert [one.name for one in stored if one.stored] == [node.name for node in session.joint.handed_over]
    assert any(one.stored for one in stored) and any(not one.stored for one in stored)
    assert sum(one.bytes for one in stored if one.stored) == session.joint.kept_bytes


def test_a_half_is_steered_and_gradients_stay_right(session: Session) -> None:
    backward = session.halves["backward"]
    before = backward.digest
    name = next(node.name for node in backward.view("plan").nodes if node.flop)
    seen = backward.preview(f"reset{{nest={name}}}")
    backward.apply(f"reset{{nest={name}}}")
    assert backward.digest != before and backward.preview().before == seen.after
    found = session.check()
    assert found.ok, found.told
    assert {one.output for one in found.outputs} >= {"output", "gradient of conv.weight", "gradient of out.bias"}
    backward.undo()
    assert backward.digest == before


def test_a_value_is_computed_again_when_asked(session: Session) -> None:
    one = next(one for one in session.stored() if one.stored and one.pass_to_change is not None)
    assert one.pass_to_change is not None
    before = session.joint.kept_bytes
    session.partition(one.pass_to_change)
    now = {value.name: value for value in session.stored()}
    assert not now[one.name].stored and session.joint.kept_bytes <= before
    assert session.check().ok


def test_halves_are_measured_nest_by_nest(session: Session) -> None:
    assert session.check().ok
    for half in session.halves.values():
        found = half.measure(rounds=2)
        timed = {row.name for row in found.rows}
        assert timed >= {step.name for step in half.plan.sequence} and found.whole > 0
        assert all(step.measured_us is not None for step in half.predicted_vs_measured().steps)
        last = half.timeline()[-1]
        assert last.measured_us == found.whole and last.check is not None and last.check.ok
    assert session.check().ok  # the step still has its own programs and buffers


def net() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    return Net(), (torch.randn(2, 3, 6, 6),)


def test_a_saved_training_step_is_the_same_step(tmp_path: Path) -> None:
    options = strop.Options(cache=False, threads=1, target="x86-64")
    session = Session(*net(), options=options, training=True, spec=f"{__file__}:net")
    one = next(one for one in session.stored() if one.stored and one.pass_to_change is not None)
    assert one.pass_to_change is not None
    session.partition(one.pass_to_change)
    backward = session.halves["backward"]
    backward.branch("plain")
    backward.apply(f"reset{{nest={backward.nests.names[0]}}}")
    session.save(tmp_path / "step.json")
    again = Session.load(tmp_path / "step.json", *net())
    assert again.digest == session.digest and again.training and again.stored() == session.stored()
    assert [one.name for one in again.halves["backward"].branches] == ["main", "plain"]
    assert again.check().ok
    (tmp_path / "step.py").write_text(session.script())
    made = subprocess.run([sys.executable, tmp_path / "step.py"], capture_output=True, text=True, check=True)
    assert made.stdout.split() == [session.digest]
    with pytest.raises(Problem, match="another model"):
        Session.load(tmp_path / "step.json", Net(), (torch.randn(3, 3, 6, 6),))


def test_dividing_a_step_again_is_cancelled_and_leaves_it_as_it_was(session: Session) -> None:
    halves, digest = dict(session.halves), session.digest
    one = next(one for one in session.stored() if one.pass_to_change is not None)
    unsubscribe = session.subscribe(lambda event: session.cancel() and None if event.kind == "progress" else None)
    with pytest.raises(Problem, match="STR014"):
        session.partition(str(one.pass_to_change))
    unsubscribe()
    assert session.halves == halves and session.digest == digest and session.check().ok


def test_what_cannot_be_done_says_why_and_changes_nothing(session: Session) -> None:
    halves = dict(session.halves)
    with pytest.raises(Problem, match="there is no value `gone`"):
        session.partition("keep{value=gone}")
    with pytest.raises(Problem, match="decide what a step stores"):
        session.partition("reset{nest=conv}")
    assert session.halves == halves
    with pytest.raises(Problem, match="has two programs"):
        session.nests
    with pytest.raises(Problem, match="has two programs"):
        session.measure()
    plain = Session(nn.ReLU(), (torch.randn(4),), options=strop.Options(cache=False, threads=1))
    with pytest.raises(Problem, match="not over a training step"):
        plain.stored()
