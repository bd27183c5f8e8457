"""Planning and code generation refuse symbolic extents: the problem names the symbols and says what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graph.evaluating import graph_of
from graph.symbolic import NODES
from strop.core.extents import symbol
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.driver import pipeline
from strop.graph import build
from strop.loops.lower.graph import lower
from strop.loops.passes.primitives import Split
from strop.schedule import planners
from strop.schedule.lowering import Lower
from strop.schedule.program import Program
from strop.target.description import Target

TARGET = Target.find("znver4")
n = symbol("batch", 1, 64)
x = build.input(0, "f32", (n, 3, 16, 16), "x")
CONV = replace(build.conv(x, build.param("w", "f32", (16, 3, 3, 3)), padding=1), name="conv")
GRAPH = graph_of(replace(build.relu(CONV), name="relu"))


def assert_refused(call) -> None:
    with pytest.raises(Problem) as caught:
        call()
    problem = caught.value
    assert problem.code == "STR307"
    assert "batch:1..64" in problem.message and "graph.bind({'batch': 64})" in problem.help


def test_compilation_is_refused():
    assert_refused(lambda: pipeline.compile_graph(GRAPH, Options(target="znver4", cache=False), Journal(), 1))


def test_the_pipeline_stops_after_lowering():
    assert_refused(lambda: pipeline.run_stages(GRAPH, TARGET, Options(), Journal(), 1))


def test_nests_without_a_graph_are_refused():
    assert_refused(lambda: pipeline.plan_nests(lower(GRAPH), TARGET, Options(), Journal(), 1))


def test_passes_by_hand_are_refused():
    program = Program.of(GRAPH, TARGET, 1, Options()).then(Lower(), check=True)
    assert "parallel n in batch" in str(program.nests)
    assert_refused(lambda: program.then(Split("conv", "n", 4)))


def test_code_for_a_nest_is_refused():
    nest = lower(GRAPH).nests[0]
    assert_refused(lambda: pipeline.assembly(nest, TARGET))


def test_what_the_help_says_works():
    bound = GRAPH.bind({"batch": 2})
    stages = pipeline.run_stages(bound, TARGET, Options(check=True), Journal(), 1)
    assert stages.plan.inputs[0].shape == (2, 3, 16, 16)


@pytest.mark.parametrize("name", NODES)
def test_every_operator_is_lowered_and_then_refused(name):
    with pytest.raises(Problem) as caught:
        pipeline.run_stages(graph_of(NODES[name]()), TARGET, Options(check=True), Journal(), 1)
    assert caught.value.code == "STR307", caught.value


def test_a_hook_sees_the_nests_before_they_are_refused():
    seen: list[str] = []
    hooks = planners.Hooks()
    hooks.before("fuse", lambda program: seen.extend(step.name for step in program.nests.nests))
    assert_refused(lambda: planners.planned(Program.of(GRAPH, TARGET, 1, Options()), Journal(), hooks=hooks))
    assert seen == ["conv", "relu"]
