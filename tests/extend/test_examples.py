"""The example of each kind of extension, run from a package directory of its own that an entry point declares."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import strop
from strop import extend
from strop.core.extensions import registry
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.passes import Pass
from strop.driver import pipeline
from strop.driver.artifact_format import from_bytes, to_bytes
from strop.schedule.program import Program
from strop.target.description import Target

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXAMPLE = Path(__file__).parents[2] / "examples" / "extension"


def install(into: Path) -> None:
    """What pip writes of the package, beside a path to its sources."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = into / f"strop_example-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = project["entry-points"]["strop.extensions"]
    (info / "entry_points.txt").write_text(
        "[strop.extensions]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
    )


@pytest.fixture(scope="module", autouse=True)
def _installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("site")
    install(folder)
    with registry.temporarily(), pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLE / "src"))
        patch.syspath_prepend(str(folder))
        patch.setattr(registry, "_loaded", False)
        registry.load()
        yield


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    with extend.temporarily():
        yield


class Activations(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        return torch.ops.strop_example.quick_gelu(x, 1.702) + y * torch.sigmoid(1.5 * y)


class Gelu(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(x * 3) + x


X = torch.linspace(-4, 4, 8 * 32).reshape(8, 32)


def close(a: torch.Tensor, b: torch.Tensor, error: float = 1e-6) -> bool:
    return bool((a - b).abs().max() <= error)


def test_all_kinds_are_registered_by_the_package():
    found = {(one.kind, one.owner) for one in extend.registered() if "example" in one.owner}
    kinds = ("rule", "operator", "pass", "planner step", "target", "ONNX operator")
    assert found == {(kind, "strop-example 1.0") for kind in kinds}


def test_a_graph_rule():
    session = strop.Session(Activations(), (X,), options=Options(check=True))
    slopes = {node.attrs["slope"] for node in session.graph.nodes if node.op == "quick_gelu"}
    assert slopes == {1.702, 1.5}
    assert close(session.module(X), Activations()(X))


def test_a_rule_can_be_applied_by_hand():
    extend.unregister("planner step", "approximate GELU")
    session = strop.Session(Gelu(), (X,), options=Options(check=True))
    assert "quick_gelu" not in str(session.graph)
    session.apply('rewrite{rules="x·sigmoid(c·x) → quick_gelu"}')
    assert close(session.module(X), Gelu()(X))


def test_an_operator_becomes_native_code():
    session = strop.Session(Activations(), (X,), options=Options(check=True))
    assert not session.compiled.about.library
    assert any("sigmoid((1.702 * " in str(nest) for nest in session.nests)


def test_an_operator_runs_by_its_reference_where_it_is_not_lowered():
    session = strop.Session(Activations(), (X,), options=Options(check=True))
    session.apply("library{node=quick_gelu}")
    assert session.compiled.about.library == {"quick_gelu": 1}
    assert close(session.module(X), Activations()(X))


def test_a_program_that_calls_an_operator_is_refused_where_nobody_has_registered_it():
    session = strop.Session(Activations(), (X,), options=Options(check=True))
    session.apply("library{node=quick_gelu}")
    written = to_bytes(session.compiled)
    assert from_bytes(written) == session.compiled
    extend.unregister("operator", "quick_gelu")
    with pytest.raises(strop.Problem, match=r"STR504.*unknown operator 'quick_gelu'"):
        from_bytes(written)


def test_an_operator_in_a_graph_of_dynamo():
    fast = torch.compile(Activations(), backend="strop")
    with torch.no_grad():
        assert close(fast(X), Activations()(X))
    torch._dynamo.reset()


def test_a_pass_is_applied_listed_and_undone():
    extend.unregister("planner step", "approximate GELU")
    session = strop.Session(Gelu(), (X,), options=Options(check=True))
    text = "approximategelu{node=gelu}"
    assert text in [str(one.change) for one in session.space(levels=("graph",))]
    assert str(Pass.parse(text)) == text
    session.apply(text)
    assert close(session.module(X), F.gelu(X * 3, approximate="tanh") + X)
    assert not session.why(text)
    session.undo()
    assert close(session.module(X), Gelu()(X))


def test_a_planner_step_leaves_its_passes_in_the_history():
    journal = Journal()
    session = strop.Session(Gelu(), (X,), options=Options(check=True), journal=journal)
    assert "approximategelu{node=gelu}" in map(str, session.history)
    assert any(event.kind == "step" and event.subject == "approximate GELU" for event in journal.events)
    assert close(session.module(X), F.gelu(X * 3, approximate="tanh") + X)


def test_a_history_with_passes_of_extensions_makes_the_same_code_again():
    session = strop.Session(Gelu(), (X,), options=Options(cache=False, threads=1))
    text = "\n".join(map(str, session.history))
    target = pipeline.target_for(session.options)
    program = Program.of(session._captured, target, 1, session.options).then(*Pass.parse_all(text))
    again = pipeline.generate(pipeline.Stages({"replayed": program}), target, Journal())
    assert again.code == session.compiled.code


def test_a_target():
    described = Target.find("example-cpu")
    assert (described.l2, described.vector_bits, described.cpu) == (2**20, 256, "znver3")
    fast = strop.compile(Gelu(), (X,), target="example-cpu@host")
    assert close(fast(X), F.gelu(X * 3, approximate="tanh") + X)


def test_an_onnx_operator():
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    port = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (8, 32)) for name in ("x", "y")]
    node = helper.make_node("QuickGelu", ["x"], ["y"], domain="strop.example", alpha=1.25)
    graph = helper.make_graph([node], "quick", port[:1], port[1:])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("strop.example", 1)]
    model = helper.make_model(graph, opset_imports=opsets)
    run = strop.compile(model)
    assert close(torch.as_tensor(run({"x": X.numpy()})["y"]), X * torch.sigmoid(1.25 * X))
    assert onnx.__version__


def test_code_that_was_made_with_an_extension_is_not_served_without_it():
    def compiled() -> tuple[bool, torch.Tensor]:
        session = strop.Session(Gelu(), (X + 0,), options=Options(threads=1, strips=False))
        return session.cache_hit, session.module(X)

    assert compiled()[0] is False
    hit, with_step = compiled()
    assert hit
    with extend.temporarily():
        extend.unregister("planner step", "approximate GELU")
        hit, without = compiled()
        assert not hit and not torch.equal(with_step, without)
    assert compiled()[0]


def test_entry_points_are_loaded_at_the_first_compilation_and_not_at_import(tmp_path: Path):
    install(tmp_path)
    program = """
import sys, torch, strop
assert not any(name.startswith("strop_example") for name in sys.modules)
model = torch.nn.GELU()
x = torch.linspace(-4, 4, 64)
strop.compile(model, (x,))
assert "strop_example" in sys.modules
print([str(one) for one in strop.extend.registered()])
"""
    path = os.pathsep.join((str(EXAMPLE / "src"), str(tmp_path), str(Path(strop.__file__).parents[1])))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    assert "the rule `x·sigmoid(c·x) → quick_gelu` of strop-example 1.0" in done.stdout
