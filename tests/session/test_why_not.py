"""Every producer and consumer that are two nests have a reason, and what it would take is a pass that can be applied."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import strop
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.session import Session

OPTIONS = strop.Options(cache=False, threads=1, target="znver3@host")


class Gated(nn.Module):
    """Convolutions, a gate per channel, a sum over rows, a sort, and a softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.gate, self.last = nn.Conv2d(8, 16, 3, padding=1), nn.Linear(16, 16), nn.Conv2d(16, 8, 1)
        self.norm = nn.BatchNorm2d(16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.first(x)).relu()
        gate = self.gate(y.mean((2, 3))).sigmoid()
        z = self.last(y * gate[:, :, None, None])
        return torch.softmax(torch.sort(z.flatten(2)).values, -1)


@pytest.fixture(scope="module")
def session() -> Session:
    torch.manual_seed(0)
    return Session(Gated().eval(), (torch.randn(1, 8, 12, 12),), options=OPTIONS)


def test_every_edge_of_every_level_has_an_answer(session: Session) -> None:
    for level in session.levels:
        for edge in session.edges(level):
            found = session.why_not(edge.producer, edge.consumer)
            assert found.reason and found.rule, edge
            assert found.fused or found.needs, edge
            assert found.to_json()["reason"] == found.reason


def test_edges_between_steps_of_the_plan_are_not_fused(session: Session) -> None:
    edges = session.edges("plan")
    assert edges and not any(session.why_not(edge.producer, edge.consumer).fused for edge in edges)


def test_what_was_fused_says_by_which_rule(session: Session) -> None:
    found = session.why_not("relu", "mean")
    assert found.fused and found.rule == "inline" and "`mean`" in found.reason
    names = [(one.producer, one.consumer, one.rule, one.nest) for one in session.fusions()]
    assert ("relu", "mean", "inline", "mean") in names


def test_a_library_call_is_named_as_the_reason(session: Session) -> None:
    call = next(node.name for node in session.view("plan").nodes if node.kind == "library")
    producer = next(edge.producer for edge in session.edges("plan") if edge.consumer == call)
    assert "library call" in session.why_not(producer, call).reason


def test_nests_that_share_no_tensor_are_told_so(session: Session) -> None:
    assert "reads nothing" in session.why_not("first.conv", "softmax").reason


def test_what_nobody_computes_is_a_mistake_unless_it_is_a_value(session: Session) -> None:
    with pytest.raises(Problem, match="no nest computes `nothing`"):
        session.why_not("nothing", "relu")
    assert session.why_not("first.weight", "first.conv").rule == "param"


def test_a_pass_that_would_enable_it_can_be_applied() -> None:
    torch.manual_seed(0)
    session = Session(Gated().eval(), (torch.randn(1, 8, 12, 12),), options=OPTIONS)
    session.keep_apart("first.conv", "relu")
    found = session.why_not("first.conv", "relu")
    assert not found.fused and "kept apart" in found.reason
    able = [one for e in session.edges("fused") if (one := session.why_not(e.producer, e.consumer)).enabled_by]
    assert able
    for one in able:
        verdict = session.why(*one.enabled_by)
        assert verdict, f"{one}: {verdict.why}"


def test_refusals_have_both_names_and_what_they_need(session: Session) -> None:
    known = {step.name for step in session.stages.programs["lower"].nests.nests}
    for one in session.refusals():
        assert {one.producer, one.consumer} <= known and one.reason and one.needs and one.rule in Pass.registry
