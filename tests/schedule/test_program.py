"""A program's history is its truth: the printed list of passes, replayed on the captured graph, makes the same code."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest
import torch
from torch import nn

import onnx_models
import onnx_suite
from strop import zoo
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.passes import LEVELS, Pass
from strop.core.problem import Problem
from strop.driver import pipeline
from strop.driver.pipeline import Stages
from strop.graph.ir import Graph
from strop.runtime import compile_model
from strop.runtime.onnx.model import loaded
from strop.runtime.specializations import Specialization
from strop.schedule.program import Program
from strop.session.space import possibilities
from strop.target.description import Target

TARGETS = ("znver3", "znver4", "neoverse-n1")


def captured(module: nn.Module, *inputs: torch.Tensor) -> Graph:
    with torch.no_grad():
        traced = compile_model.default_trace(module.eval(), inputs, {})
    return Specialization(traced, lambda graph, threads: None).graph  # type: ignore[arg-type, return-value]


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(32, 32) for _ in range(3))
        self.norm = nn.LayerNorm(32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.scaled_dot_product_attention(self.q(x), self.k(x), self.v(x))
        return self.norm(x + y).topk(3).values + x.sort().values[..., :3]


def images() -> Graph:
    layers = (
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1, groups=32),
    )
    return captured(nn.Sequential(*layers, nn.SiLU(), nn.Conv2d(32, 16, 1)), torch.randn(1, 16, 96, 96))


def sequence() -> Graph:
    return captured(nn.LSTM(24, 32, 2), torch.randn(5, 1, 24))


GRAPHS: dict[str, Callable[[], Graph]] = {
    "attention": lambda: captured(Attention(), torch.randn(2, 9, 32)),
    "images": images,
    "sequence": sequence,
}


def replayed(stages: Stages) -> Program:
    """The captured graph and the printed history, nothing else."""
    first, last = stages.programs["capture"], stages.program
    text = "\n".join(map(str, last.history))
    return Program.of(first.graph, first.target, first.threads, first.options).then(*Pass.parse_all(text))


def code(program: Program) -> tuple[object, ...]:
    compiled = pipeline.generate(Stages({"place": program}), program.target, Journal())
    return compiled.code, compiled.steps, compiled.packed, compiled.sections, compiled.outputs


@pytest.mark.parametrize("numerics", ["default", "fast"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", GRAPHS)
def test_replaying_the_history_makes_the_same_object_code(name: str, target: str, threads: int, numerics: str) -> None:
    options = Options(cache=False, numerics=numerics)
    stages = pipeline.run_stages(GRAPHS[name](), Target.find(target), options, Journal(), threads)
    assert code(replayed(stages)) == code(stages.program)


@pytest.mark.parametrize("name", ["lstm", "dlrm", "bert_small", "mobilenet_v2"])
def test_replaying_the_history_of_a_network_makes_the_same_plan(name: str) -> None:
    stages = _network(name, "znver4", 2)
    assert replayed(stages).plan == stages.plan


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", zoo.NAMES)
def test_replaying_the_history_of_any_network_makes_the_same_object_code(name: str, target: str, threads: int) -> None:
    stages = _network(name, target, threads)
    assert code(replayed(stages)) == code(stages.program)


@pytest.mark.parametrize("target", TARGETS)
def test_replaying_the_history_of_an_onnx_model_makes_the_same_object_code(target: str) -> None:
    stages = _planned(_of_onnx(onnx_models.mlp()), target, 2)
    assert code(replayed(stages)) == code(stages.program)


@pytest.mark.slow
@pytest.mark.parametrize("name", zoo.NAMES)
def test_replaying_the_history_of_an_onnx_file_makes_the_same_object_code(name: str, tmp_path: Path) -> None:
    """Every network of the zoo as the file that PyTorch's exporter writes."""
    module, inputs = zoo.load(name)
    path = tmp_path / f"{name}.onnx"
    with torch.no_grad():
        torch.onnx.export(module, inputs, path, dynamo=True, verbose=False)
    graph = _of_onnx(str(path))
    for target in TARGETS:
        stages = _planned(graph, target, 2)
        assert code(replayed(stages)) == code(stages.program), target


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("target", TARGETS)
def test_replaying_the_history_of_every_onnx_operator_makes_the_same_code(target: str, threads: int) -> None:
    """ONNX's own node tests. Code generation sees nothing but the plan: where that is equal, so is the code."""
    other = []
    for name, graph in _node_tests().items():
        stages = _planned(graph, target, threads)
        again = replayed(stages)
        if again.plan != stages.plan and code(again) != code(stages.program):  # library calls hold nodes, alike or not
            other.append(name)
    assert not other
    assert len(_node_tests()) > 800


@functools.cache
def _node_tests() -> dict[str, Graph]:
    found = {}
    for name, model in onnx_suite.models().items():
        torch.manual_seed(0)
        try:
            found[name] = _of_onnx(model)
        except Problem:
            continue  # its inputs are no tensors or of no known shape, or it is refused
    return found


def _of_onnx(model: object) -> Graph:
    module, inputs = loaded(model, {})  # type: ignore[arg-type]
    return captured(module, *inputs)


def _planned(graph: Graph, target: str, threads: int) -> Stages:
    return pipeline.run_stages(graph, Target.find(target), Options(cache=False), Journal(), threads)


def _network(name: str, target: str, threads: int) -> Stages:
    return _planned(captured(*_flat(zoo.load(name))), target, threads)


def _flat(loaded: tuple[nn.Module, tuple[torch.Tensor, ...]]) -> tuple[nn.Module, ...]:
    module, inputs = loaded
    return (module, *inputs)  # type: ignore[return-value]


def test_replaying_the_history_reads_the_same_packed_copies() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(640, 32)

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return self.table(tokens) @ self.table.weight.mT

    graph = captured(Tied(), torch.arange(6))
    stages = pipeline.run_stages(graph, Target.find("znver4"), Options(cache=False, release=True), Journal(), 1)
    assert any(one.title == "readpacked" for one in stages.program.history)
    assert code(replayed(stages)) == code(stages.program)


def test_one_pass_after_the_other_makes_what_all_together_make() -> None:
    """Passes of a kind share work when several are applied at once; with `check` each is asked and applied alone. Only
    the whole of a schedule can be emitted."""
    stages = pipeline.run_stages(images(), Target.find("znver3"), Options(cache=False), Journal(), 2)
    program = stages.programs["capture"]
    for level, group in groupby(stages.program.history, key=lambda one: one.level):
        for passes in [list(group)] if level == "loops" else [[one] for one in group]:
            program = program.then(*passes, check=True)
    assert program.plan == stages.plan


def test_every_level_has_passes_in_a_history() -> None:
    stages = pipeline.run_stages(images(), Target.find("znver3"), Options(cache=False), Journal(), 1)
    assert {one.level for one in stages.program.history} == set(LEVELS) - {"constraints", "partition"}


def test_a_pass_of_an_earlier_level_comes_too_late() -> None:
    program = pipeline.run_stages(images(), Target.find("znver3"), Options(cache=False), Journal(), 1).program
    for text in ("share{}", "library{node=conv}", "inline{nest=relu}", "unroll{nest=a loop=b}", "place{tensor=z at=0}"):
        one = Pass.parse(text)
        assert not program.check(one), text
        if one.level != "memory":
            with pytest.raises(Problem, match="already"):
                program.then(one)


def test_a_graph_that_was_not_lowered_has_no_nests() -> None:
    program = Program.of(images(), Target.find("znver3"), 1, Options(cache=False))
    assert "lower{} comes first" in program.check(Pass.parse("inline{nest=relu}")).why


STAGES = {
    "graph": "simplify",
    "lowering": "choose algorithms",
    "constraints": "lower",
    "nests": "fuse",
    "windows": "schedule",
}


def test_every_pass_of_the_space_may_be_applied() -> None:
    """What is listed as possible is legal where passes by hand of its level come."""
    stages = pipeline.run_stages(images(), Target.find("znver3"), Options(cache=False), Journal(), 1)
    seen = set()
    for found in possibilities(dict(stages.programs), tuple(STAGES)):
        if found.verdict:
            program = stages.programs[STAGES[found.change.level]]
            verdict = program.check(found.change)
            assert verdict, f"{found.change}: {verdict.why}"
            program.then(found.change, check=True)
            seen.add(found.change.title)
    assert {"algorithm", "library", "keepapart", "pin", "bordercopy"} <= seen
