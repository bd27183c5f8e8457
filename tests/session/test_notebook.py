"""Sessions, graphs, nests and profiles display themselves in a notebook: SVG and HTML that parse, without scripts."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
import torch
from torch import nn

import strop

SVG = "{http://www.w3.org/2000/svg}"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(24, 32), nn.Linear(32, 8)

    def forward(self, x):
        return torch.softmax(self.second(torch.relu(self.first(x))), -1)


@pytest.fixture(scope="module")
def session():
    return strop.Session(Net(), (torch.randn(4, 24),), threads=1)


def shown(thing):
    html = thing._repr_html_()
    assert "<script" not in html
    return ElementTree.fromstring(html)


def test_a_session_shows_its_numbers_and_its_plan(session):
    found = shown(session)
    text = " ".join(found.itertext())
    assert "Session of Net" in text and all(name in text for name in session.nests.names)
    assert len(list(found.iter(f"{SVG}path"))) >= 1


def test_graphs_at_every_level_show_their_nodes(session):
    for level in session.levels:
        view = session.view(level)
        text = " ".join(shown(view).itertext())
        assert all(node.name in text for node in view.nodes if node.kind in ("operator", "nest"))
    assert "linear" in " ".join(shown(session.graph).itertext())


def test_nests_show_their_text(session):
    name = session.nests.names[0]
    assert str(session.nests[name]) in "".join(shown(session.nests[name]).itertext())
    assert str(session.nests) in "".join(shown(session.nests).itertext())


def test_a_profile_shows_a_bar_for_every_step(session):
    profile = session.measure(3)
    found = shown(profile)
    text = " ".join(found.itertext())
    assert all(row.name in text for row in profile.rows)
    assert len(list(found.iter("span"))) == len(profile.rows)
