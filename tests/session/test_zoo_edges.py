"""Networks of the zoo: every edge that is not fused has a reason, every statement a line, instructions their statement."""

from __future__ import annotations

import pytest
import torch

import strop
from strop import zoo
from strop.loops.calls import Call
from strop.session import Session

QUICK = ("lstm", "wide_deep")
ALL = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in zoo.NAMES]


@pytest.mark.parametrize("name", ALL)
def test_a_network_answers_for_all_of_itself(name: str) -> None:
    torch.manual_seed(0)
    session = Session.of(name, options=strop.Options(threads=1))
    answered = 0
    for level in session.levels:
        for edge in session.edges(level):
            found = session.why_not(edge.producer, edge.consumer)
            assert found.reason and (found.fused or found.needs), edge
            answered += 1
    plan = session.edges("plan")
    assert answered > len(plan) > 3
    assert not any(session.why_not(edge.producer, edge.consumer).fused for edge in plan)
    mapped = instructions = 0
    for call in (*session.plan.prepare, *session.plan.steps):
        if isinstance(call, Call):
            code = session.code(call.name)
            assert all(one.origins for one in code.statements), call.name
            mapped += sum(one.statement is not None for one in code.instructions)
            instructions += len(code.instructions)
    assert mapped >= 0.99 * instructions > 0
