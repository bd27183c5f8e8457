"""Commands over a real session: what the page asks for, and what steering answers."""

from __future__ import annotations

import inspect
import json

import pytest
import torch
from torch import nn

import strop
from strop.core.problem import Problem
from strop.studio import commands, steering
from strop.studio.commands import COMMANDS
from strop.studio.drawings import PREPARED
from strop.studio.workspace import Workspace


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(24, 32), nn.Linear(24, 32)

    def forward(self, x):
        shared = torch.tanh(x)
        return self.first(shared) + self.second(shared.flip(0))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = Block(), Block()

    def forward(self, x):
        return self.left(x) * self.right(x + 1)


@pytest.fixture
def workspace():
    torch.manual_seed(0)
    return Workspace(strop.Session(Net(), (torch.randn(16, 24),), threads=1), "net")


@pytest.fixture(scope="module")
def training():
    torch.manual_seed(0)
    return Workspace(strop.Session(Net(), (torch.randn(16, 24),), threads=1, training=True), "net")


def as_sent(value):
    return json.loads(json.dumps(value, allow_nan=False))


def edge_to_fuse(workspace):
    for edge in workspace.session.edges("plan"):
        found = workspace.session.why_not(edge.producer, edge.consumer)
        if found.enabled_by:
            return edge, " ".join(map(str, found.enabled_by))
    raise AssertionError("nothing can be fused by hand")


def test_every_command_is_documented_and_takes_plain_data():
    for command in COMMANDS.values():
        assert inspect.getdoc(command.run), command.name
        assert set(map(str, command.takes.values())) <= {"<class 'str'>", "<class 'int'>", "list[str]"}, command.name


def test_every_level_is_drawn_with_groups_closed_and_open(workspace):
    for level in workspace.session.levels:
        groups = commands.modules(workspace, level)
        closed, opened = (as_sent(commands.graph(workspace, level, some)) for some in ([], groups))
        nodes = {node["name"] for node in commands.outline(workspace, level)["nodes"] if node["kind"] != "parameter"}
        assert {box["name"] for box in opened["boxes"] if box["kind"] != "group"} <= nodes
        assert len(closed["boxes"]) <= len(opened["boxes"])
        assert sorted(opened["open"]) == sorted(groups) and closed["open"] == []
        assert all(line["bytes"] == sum(e["bytes"] for e in line["edges"]) for line in opened["lines"])


def test_what_runs_when_parameters_change_is_apart(workspace):
    homes = {node["name"]: node["home"] for node in commands.outline(workspace, "plan")["nodes"]}
    prepared = set(workspace.session.preparation.names)
    assert prepared and all((homes[name] == PREPARED) == (name in prepared) for name in homes)


def test_a_nest_is_linked_to_its_code_and_its_source(workspace):
    name = workspace.session.nests.names[0]
    found = as_sent(commands.nest(workspace, name))
    assert found["assembly"] and found["mapped"] > 0.9
    used = [line["number"] for file in found["sources"] for line in file["lines"] if line["used"]]
    said = {number for one in found["statements"] for _, number in one["lines"]}
    assert used and set(used) <= said


def test_answers_stay_true_after_a_step(workspace):
    before = commands.outline(workspace, "plan")
    _, passes = edge_to_fuse(workspace)
    steering.apply(workspace, passes)
    assert commands.outline(workspace, "plan") != before
    steering.undo(workspace)
    assert commands.outline(workspace, "plan") == before


def test_a_preview_tells_the_bytes_that_applying_brings(workspace):
    _, passes = edge_to_fuse(workspace)
    told = as_sent(commands.preview(workspace, passes))
    done = as_sent(steering.apply(workspace, passes))
    assert done["state"]["bytes"] == told["after"]["bytes"] < told["before"]["bytes"]
    assert done["check"]["ok"]
    assert [one["name"] for one in as_sent(commands.step_diff(workspace, 0))]
    assert len(commands.timeline(workspace)) == 2


def test_apply_everywhere_takes_every_place_of_its_kind(workspace):
    _, passes = edge_to_fuse(workspace)
    kind = passes.partition("{")[0]
    done = steering.apply_everywhere(workspace, passes)
    assert done["check"]["ok"] and len(done["applied"]) >= 2
    assert all(one.startswith(kind) for one in done["applied"])
    assert done["state"]["edits"] == 1  # one step, which one undo takes back


def test_branches_are_compared_and_switched(workspace):
    _, passes = edge_to_fuse(workspace)
    steering.branch(workspace, "other")
    steering.apply(workspace, passes)
    found = as_sent(commands.compare(workspace, "main", "other"))
    assert found["a"]["bytes"] > found["b"]["bytes"] and found["changed"]
    sides = commands.compare_assembly(workspace, "main", "other", found["changed"][0]["name"])["sides"]
    assert len(sides) == 2
    assert steering.switch(workspace, "main")["state"]["bytes"] == found["a"]["bytes"]


def test_every_looking_command_answers_json(workspace):
    name = workspace.session.nests.names[0]
    edge = workspace.session.edges("plan")[0]
    given = {
        "level": "plan", "open": [], "name": name, "kind": "nest", "a": edge.producer, "b": edge.consumer, "at": name,
        "levels": ["nests"], "index": -1, "passes": edge_to_fuse(workspace)[1], "nest": name,
    }  # fmt: skip
    for function in commands.LOOKING:
        if function.__name__ in ("step_diff", "compare", "compare_assembly"):
            continue  # of a step or a branch that is not there yet
        command = COMMANDS[function.__name__]
        as_sent(command.run(workspace, **{one: given[one] for one in command.required}))


@pytest.mark.parametrize("call", [
    lambda w: commands.graph(w, "nowhere", []), lambda w: commands.nest(w, "no such nest"),
    lambda w: commands.links(w, "planet", "x"), lambda w: steering.apply(w, "__import__('os').system('true')"),
    lambda w: steering.apply(w, "split{nest=nowhere loop=x by=2}"), lambda w: steering.measure(w, rounds=10**9),
    lambda w: commands.outline(w, "plan", half="sideways"), lambda w: steering.switch(w, "nowhere"),
    lambda w: steering.pin(w, "nothing", "blocked"), lambda w: steering.redo(w),
])  # fmt: skip
def test_what_cannot_be_done_is_a_problem_and_changes_nothing(workspace, call):
    before = workspace.session.digest
    with pytest.raises(Problem):
        call(workspace)
    assert workspace.session.digest == before and not workspace.session.applied


def test_a_training_step_shows_both_halves(training):
    shown = as_sent(commands.overview(training))
    assert shown["halves"] == ["forward", "backward"]
    for half in shown["halves"]:
        assert as_sent(commands.graph(training, "plan", [], half))["boxes"]
        assert as_sent(commands.memory(training, half))["steps"]
        state = as_sent(commands.overview(training, half))["state"]
        assert state["bytes"] > 0 and state["digest"] == training.session.digest


def test_what_a_training_step_stores_can_be_computed_again(training):
    stored = as_sent(commands.stored(training))
    assert stored
    change = next(one["pass_to_change"] for one in stored if one["pass_to_change"])
    name = next(one["name"] for one in stored if one["pass_to_change"])
    before = {one["name"]: one["stored"] for one in stored}
    done = steering.partition(training, change)
    assert done["check"]["ok"]
    after = {one["name"]: one["stored"] for one in commands.stored(training)}
    assert after.get(name) is not before[name]


def test_halves_of_a_training_step_are_measured_and_saved(training):
    for half in ("forward", "backward"):
        done = as_sent(steering.measure(training, rounds=2, half=half))
        assert done["state"]["measured_us"] > 0 and done["profile"]["steps"]
        assert all(step["measured_us"] is not None for step in as_sent(commands.prediction(training, half))["steps"])
    assert json.loads(steering.save(training)["text"])["training"]
    assert "training=True" in commands.script(training)["text"]


def test_nothing_more_is_done_once_a_request_is_cancelled(workspace):
    _, passes = edge_to_fuse(workspace)
    workspace.begin()
    workspace.cancel()
    with pytest.raises(Problem, match="STR014"):
        steering.apply_everywhere(workspace, passes)
    assert not workspace.session.applied
    workspace.begin()
    assert steering.apply_everywhere(workspace, passes)["state"]["edits"] == 1


def test_why_not_tells_what_its_pass_would_bring(workspace):
    edge, passes = edge_to_fuse(workspace)
    effect = as_sent(commands.why_not(workspace, edge.producer, edge.consumer))["effect"]
    told = as_sent(commands.preview(workspace, passes))
    assert effect["bytes_after"] == told["after"]["bytes"] and effect["bytes_before"] == told["before"]["bytes"]
    assert effect["worse"] == (told["after"]["cycles"] > told["before"]["cycles"])
    assert ("slower" in effect["told"]) == effect["worse"]
