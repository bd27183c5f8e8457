"""Rules are recorded by family, and applied until none applies; a person applies one of them at one node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import strop
from strop import extend
from strop.core.problem import Problem
from strop.extend import P, PatternVar, Rule
from strop.session import Session

OPTIONS = strop.Options(cache=False, threads=1)
X = torch.linspace(-2, 2, 64).reshape(4, 16)


class Net(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(F.gelu(x).sum(1, keepdim=True) + x)


@pytest.fixture
def session() -> Iterator[Session]:
    """Two nodes that a rule by hand applies to."""
    with extend.temporarily():

        def make(root: extend.Node, x: extend.Node) -> extend.Node:
            return extend.build.make("gelu", (x,), {"approximate": "tanh"})

        def exact(root: extend.Node) -> bool:
            return bool(root.attrs["approximate"] == "none")

        extend.rule(Rule("gelu by tanh", P.op("gelu", PatternVar("x"), ...), make, exact), family="by hand")
        yield Session(Net(), (X,), options=OPTIONS)


def approximated(session: Session) -> list[str]:
    return [node.name for node in session.graph.nodes if node.attrs.get("approximate") == "tanh"]


def test_the_space_lists_a_rule_at_every_node_where_it_applies(session: Session) -> None:
    found = [one.change for one in session.space(levels=("graph",)) if one.verdict]
    assert [str(one) for one in found] == [
        'rewrite{rules="gelu by tanh" at=gelu}',
        'rewrite{rules="gelu by tanh" at=gelu_2}',
    ]


def test_one_of_them_is_applied_and_undone(session: Session) -> None:
    before = session.compiled.code
    first, second = (one for one in session.space(levels=("graph",)) if one.verdict)
    session.apply(*second.passes)
    assert len(approximated(session)) == 1 and second.change in session.history
    torch.testing.assert_close(session.module(X), Net()(X), rtol=1e-2, atol=1e-3)
    session.apply(*first.passes)
    assert len(approximated(session)) == 2
    session.undo()
    assert len(approximated(session)) == 1
    session.undo()
    assert session.compiled.code == before


def test_a_rule_that_does_not_match_there_says_so(session: Session) -> None:
    with pytest.raises(Problem, match="does not match there"):
        session.apply('rewrite{rules="gelu by tanh" at=add}')
    with pytest.raises(Problem, match="there is no node `nowhere`"):
        session.apply('rewrite{rules="gelu by tanh" at=nowhere}')
    assert not session.edits
