"""Which algorithms could compute the nodes of a nest, and which one does."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import strop
from strop.schedule.lowering import Library
from strop.session import Session


@pytest.fixture(scope="module")
def session() -> Session:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 8, 1)).eval()
    options = strop.Options(cache=False, threads=1, target="znver3@host")
    return Session(model, (torch.randn(1, 16, 20, 24),), options=options)


def test_a_nest_tells_how_its_nodes_are_computed_and_how_else_they_could_be(session: Session) -> None:
    (found,) = session.algorithms("0.conv")
    assert found.chosen not in found.others and {found.chosen, *found.others} >= {"direct", "winograd"}
    way = next(iter(found.others))
    session.apply(found.others[way])
    (now,) = session.algorithms("0.conv")
    assert now.chosen == way and found.chosen in now.others
    assert all(one.node == "0.conv" for nest in session.nests.names for one in session.algorithms(nest))
    session.undo()
    assert session.algorithms("0.conv") == (found,)


def test_what_is_computed_in_one_way_offers_no_other(session: Session) -> None:
    assert session.algorithms("1.relu") == session.algorithms("nothing") == ()


def test_what_the_library_computes_has_no_algorithm(session: Session) -> None:
    session.apply(Library("0.conv"))
    assert session.algorithms("0.conv") == ()
    session.undo()
