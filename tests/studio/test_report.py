"""A report holds every answer that its page asks for, loads nothing, and runs nothing but its own script."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re

import pytest
import torch
from torch import nn

import strop
from strop.core.problem import Problem
from strop.studio.report import SharedParts, answers, report, write_report
from strop.studio.workspace import Workspace


@pytest.fixture(scope="module")
def workspace():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 8))
    session = strop.Session(net, (torch.randn(4, 24),), threads=1)
    session.check()
    return Workspace(session, "</script><b>net")


@pytest.fixture(scope="module")
def text(workspace):
    return report(workspace)


def test_the_file_refers_to_nothing_else(text):
    assert re.findall(r'(?:src|href)="(?!data:)[^"]*"', text) == []
    assert re.findall(r"https?://[\w./]+", text.replace("http://www.w3.org/2000/svg", "")) == []


def test_its_policy_allows_its_own_script_and_style_only(text):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    script = re.search(r'<script type="module">(.*?)</script>', text, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    for kind, content in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy and "default-src 'none'" in policy


def test_names_of_the_model_cannot_leave_the_data(text):
    assert "</script><b>net" not in text
    packed = re.search(r'id="report-data">([^<]*)<', text)[1]
    held = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert "</script><b>net" in json.dumps(held["parts"])


def test_every_nest_and_every_edge_is_in_it(workspace):
    held = answers(workspace)
    for name in workspace.session.nests.names:
        for command in ("nest", "runners_up"):
            assert f'{command}|{{"half":"","name":"{name}"}}' in held["keys"]
    for edge in workspace.session.edges("plan"):
        assert f'why_not|{{"a":"{edge.producer}","b":"{edge.consumer}","half":""}}' in held["keys"]


def test_what_is_alike_is_written_once_and_nothing_is_lost():
    shared = SharedParts()
    line = {"words": [["k", "parallel"], ["", " i in 4:"]], "statement": None, "label": "a label that is long enough"}
    first, second = shared.kept([line, line]), shared.kept({"a": [line], "b": "x"})
    assert len(shared.parts) <= 3

    def whole(value):
        if isinstance(value, dict) and "part" in value:
            return whole(shared.parts[value["part"]])
        if isinstance(value, dict):
            return {name: whole(one) for name, one in value.items()}
        return [whole(one) for one in value] if isinstance(value, list) else value

    assert whole(first) == [line, line] and whole(second) == {"a": [line], "b": "x"}


def test_the_same_session_makes_the_same_report(workspace, text):
    assert report(workspace) == text


def test_a_place_that_cannot_be_written_is_a_problem(workspace, tmp_path):
    with pytest.raises(Problem, match="cannot be written"):
        write_report(workspace, tmp_path / "no" / "report.html")
