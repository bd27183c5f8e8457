"""Extensions that fail: each is named in a coded error that says what to do, and Strop is as it was before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import strop
from strop import extend
from strop.core.cache import Cache
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.passes import LEVELS, Pass
from strop.core.problem import Problem
from strop.extend import P, PatternVar, Rule, Type
from strop.loops.ir import Buffer, Load
from strop.schedule.memory import Lifetimes


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    with extend.temporarily():
        yield


class Net(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(x).sum(1) + 1


X = torch.linspace(-2, 2, 4 * 16).reshape(4, 16)
OPTIONS = Options(threads=1, check=False)
IN_SESSIONS = tuple(level for level in LEVELS if level != "partition")  # a session has no backward graph


@contextmanager
def blamed(kind: str, name: str, why: str, cause: type[BaseException] | None = None) -> Iterator[None]:
    """What happens inside is told as the fault of one extension."""
    with pytest.raises(Problem) as caught:
        yield
    problem = caught.value
    assert problem.code == "STR012"
    assert problem.message.startswith(f"the {kind} `{name}` of ")
    assert why in problem.message
    assert __file__ in str(problem.where), problem.where
    assert f'strop.extend.unregister("{kind}", "{name}")' in problem.help
    if cause is not None:
        assert isinstance(problem.__cause__, cause)


def raising(*args, **kwargs):
    raise ZeroDivisionError("by design")


# ---- passes ----------------------------------------------------------------------------------------------------------


class Recorded:
    """A session of which everything that can be seen has to stay as it is."""

    def __init__(self) -> None:
        self.session = strop.Session(Net(), (X,), options=OPTIONS)
        self.session.apply("library{node=gelu}")
        self.before = self.seen()

    def seen(self):
        session = self.session
        entries = [entry.key for entry in Cache().entries()]
        history = list(map(str, session.history))
        return session.edits, history, session.journal.to_json(), sorted(entries), session.module(X).tolist()

    def check(self) -> None:
        assert self.seen() == self.before
        self.session.undo()
        self.session.redo()


def graph_pass(**methods):
    """A pass on the graph that does nothing but what is given."""
    given = {"check": lambda self, ir: extend.yes(), "apply": lambda self, ir: ir, **methods, "__module__": __name__}
    return dataclass(frozen=True)(type("Strange", (extend.GraphPass,), given))


def broken(self, graph):
    """A graph that the verifier refuses: its output has another type than its operator yields."""
    node = graph.outputs[0]
    return graph.map({node: replace(node, types=(Type("f64", (3, 3)),))})


@pytest.mark.parametrize(
    ("methods", "why", "cause"),
    [
        ({"check": raising}, "raised ZeroDivisionError: by design", ZeroDivisionError),
        ({"check": lambda self, ir: None}, "answered nothing: `check` returns `yes()` or `no(reason)`", None),
        ({"check": lambda self, ir: True}, "answered True", None),
        ({"apply": raising}, "raised ZeroDivisionError: by design", ZeroDivisionError),
        ({"apply": lambda self, ir: None}, "returned nothing: `apply` returns a Graph", None),
        ({"apply": lambda self, ir: "a graph"}, "returned 'a graph': `apply` returns a Graph", None),
        ({"apply": lambda self, ir: ir.nodes}, "`apply` returns a Graph", None),
        ({"apply": broken}, "broke what it transforms: %", Problem),
    ],
)
def test_a_pass_that_fails_leaves_the_session_as_it_was(methods, why, cause):
    recorded = Recorded()
    strange = graph_pass(**methods)
    with blamed("pass", "strange", why, cause):
        recorded.session.apply(strange())
    with blamed("pass", "strange", why, cause):
        recorded.session.apply("strange{}")
    recorded.check()


def pass_of(level, **methods):
    """A pass of any level that does nothing but what is given."""
    nest = {"__annotations__": {"nest": str}} if level == "loops" else {}
    given = {"check": lambda self, ir: extend.yes(), **methods, "level": level, "__module__": __name__, **nest}
    return dataclass(frozen=True)(type("Strange", (Pass,), given))


@pytest.mark.parametrize("level", IN_SESSIONS)
@pytest.mark.parametrize(
    ("methods", "why"),
    [
        ({"check": raising}, "raised ZeroDivisionError: by design"),
        ({"check": lambda self, ir: 1}, "answered 1"),
        ({"apply": raising}, "raised ZeroDivisionError: by design"),
        ({"apply": lambda self, ir: None}, "returned nothing: `apply` returns a "),
        ({"apply": lambda self, ir: 7}, "returned 7: `apply` returns a "),
    ],
)
def test_a_pass_of_any_level_that_fails_leaves_the_session_as_it_was(level, methods, why):
    recorded = Recorded()
    strange = pass_of(level, **methods)
    given = (recorded.session.nests.names[-1],) if level == "loops" else ()
    with blamed("pass", "strange", why):
        recorded.session.apply(strange(*given))
    recorded.check()


@pytest.mark.parametrize("level", IN_SESSIONS)
def test_a_space_of_any_level_that_fails_is_named(level):
    recorded = Recorded()
    pass_of(level, space=classmethod(raising))
    with blamed("pass", "strange", "raised ZeroDivisionError"):
        recorded.session.space(levels=(level,))
    recorded.check()


def test_why_names_a_pass_that_fails_and_records_nothing():
    recorded = Recorded()
    verdict = recorded.session.why(graph_pass(apply=raising)())
    assert not verdict and "the pass `strange` of " in verdict.why
    recorded.check()


def test_a_refusal_of_a_pass_is_no_failure_of_it():
    recorded = Recorded()
    strange = graph_pass(check=lambda self, ir: extend.no("not on a Wednesday"))
    with pytest.raises(Problem, match=r"STR301: strange\{\}: not on a Wednesday"):
        recorded.session.apply(strange())
    recorded.check()


def test_a_pass_whose_fields_cannot_be_written():
    @dataclass(frozen=True)
    class Opaque(extend.GraphPass):
        what: object

        def check(self, ir):
            return extend.yes()

    recorded = Recorded()
    with blamed("pass", "opaque", "raised TypeError: a pass holds numbers", TypeError):
        recorded.session.apply(Opaque(object()))
    recorded.check()


@pytest.mark.parametrize(
    ("space", "why"), [(raising, "raised ZeroDivisionError"), (lambda cls, ir: [7], "has 7 in its `space`")]
)
def test_a_space_that_fails(space, why):
    recorded = Recorded()
    graph_pass(space=classmethod(space))
    with blamed("pass", "strange", why):
        recorded.session.space()
    recorded.check()


def test_a_pass_on_nests_that_loses_one():
    @dataclass(frozen=True)
    class Lose(extend.NestsPass):
        def check(self, ir):
            return extend.yes()

        def apply(self, ir):
            return replace(ir, nests=ir.nests[1:])

    session = strop.Session(nn.Sequential(nn.Linear(16, 8), nn.Softmax(1), nn.Linear(8, 4)), (X,), options=OPTIONS)
    with blamed("pass", "lose", "which nobody has written", Problem):
        session.apply("lose{}")
    assert session.edits == ()


def test_a_pass_on_loops_that_reads_past_the_end():
    @dataclass(frozen=True)
    class Shift(Pass):
        nest: str

        def check(self, ir):
            return extend.yes()

        def apply(self, ir):
            return ir.map_stores(lambda store: replace(store, index=tuple(i + 1000 for i in store.index)))

    recorded = Recorded()
    name = recorded.session.nests.names[-1]
    with blamed("pass", "shift", "broke what it transforms", Problem):
        recorded.session.apply(f"shift{{nest={name}}}")
    recorded.check()


def test_a_pass_on_memory_that_puts_two_tensors_into_one_place():
    @dataclass(frozen=True)
    class Heap(Pass):
        level = "memory"

        def check(self, ir):
            return extend.yes()

        def apply(self, ir: Lifetimes):
            return replace(ir, offsets=dict.fromkeys(ir.named, 0))

    model = nn.Sequential(nn.Linear(16, 8), nn.Softmax(1), nn.Linear(8, 4), nn.Softmax(1), nn.Linear(4, 4))
    session = strop.Session(model, (X,), options=OPTIONS)
    with blamed("pass", "heap", "lies there while it is alive", Problem):
        session.apply("heap{}")
    assert torch.allclose(session.module(X), model(X), atol=1e-5)


def test_an_unknown_pass_in_a_script():
    recorded = Recorded()
    with pytest.raises(Problem, match="STR302: there is no pass `strange`"):
        recorded.session.apply("strange{}")
    recorded.check()


# ---- compiling with an extension that fails --------------------------------------------------------------------------


class Compiling:
    """Compilations fail while the extension is there, and work again without it; nothing of it is in the cache."""

    def __init__(self, model: nn.Module | None = None) -> None:
        self.model = model or Net()
        self.entries = {entry.key for entry in Cache().entries()}

    def fails(self, kind: str, name: str, why: str, cause: type[BaseException] | None = None) -> None:
        for options in (OPTIONS, replace(OPTIONS, check=True)):
            with blamed(kind, name, why, cause):
                strop.compile(self.model, (X,), options=options)
        assert {entry.key for entry in Cache().entries()} == self.entries
        extend.unregister(kind, name)
        assert torch.allclose(strop.compile(self.model, (X,), options=OPTIONS)(X), self.model(X), atol=1e-5)


def wrong_node(root):
    """A node of the right type whose inputs are not those of its operator."""
    return extend.Node("softmax", (), {}, root.types)


@pytest.mark.parametrize(
    ("make", "why", "cause"),
    [
        (raising, "raised ZeroDivisionError: by design", ZeroDivisionError),
        (lambda root: 1.0, "made 1.0 of %gelu: its `make` returns a node, or None", None),
        (lambda x: extend.build.cast(x, "f64"), "made a value of type f64[4,16] of %gelu, which is f32[4,16]", None),
        (wrong_node, "made a wrong node of %gelu: ", None),
    ],
)
def test_a_rule_that_makes_nonsense(make, why, cause):
    extend.rule(Rule("strange", P.op("gelu", PatternVar("x"), ...), make))
    Compiling().fails("rule", "strange", why, cause)


@pytest.mark.parametrize(
    ("when", "why"), [(raising, "raised ZeroDivisionError"), (lambda x: None, "answered None: its `when` returns")]
)
def test_a_rule_whose_condition_fails(when, why):
    extend.rule(Rule("strange", P.op("gelu", PatternVar("x"), ...), lambda root: root, when))
    Compiling().fails("rule", "strange", why)


def test_a_rule_whose_pattern_fails():
    extend.rule(Rule("strange", P.op("gelu", PatternVar("x", raising), ...), lambda root: root))
    Compiling().fails("rule", "strange", "raised ZeroDivisionError", ZeroDivisionError)


def test_a_rule_that_never_comes_to_an_end_is_named():
    def again(root, x):
        return extend.build.make("gelu", (x,), root.attrs)

    extend.rule(Rule("strange", P.op("gelu", PatternVar("x"), ...), again))
    Compiling().fails("rule", "strange", "does not come to an end; the last rules that applied were strange")


@pytest.mark.parametrize(
    ("planner", "why", "cause"),
    [
        (raising, "raised ZeroDivisionError: by design", ZeroDivisionError),
        (lambda program: 7, "raised TypeError", TypeError),
        (lambda program: program, "raised TypeError", TypeError),
        (lambda program: [7], "returned 7: a planner returns passes", None),
        (lambda program: "hoist{}", "returned 'hoist{}': a planner returns passes", None),
        (lambda program: [Pass.parse("library{node=gelu}")], "failed: library{node=gelu}: ", Problem),
        (lambda program: [Pass.parse("inline{nest=nowhere}")], "there is no nest `nowhere`", Problem),
    ],
)
def test_a_planner_step_that_fails(planner, why, cause):
    extend.step("strange", planner, after="fuse")
    Compiling().fails("planner step", "strange", why, cause)


def test_a_planner_step_may_have_nothing_to_do():
    extend.step("idle", lambda program: None, after="schedule")
    assert torch.allclose(strop.compile(Net(), (X,), options=OPTIONS)(X), Net()(X), atol=1e-5)


# ---- operators -------------------------------------------------------------------------------------------------------


@torch.library.custom_op("strop_tests::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


class Twice(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.strop_tests.twice(x) + 1


def lowered(c: extend.Context, out: Buffer | None = None, op: str = "add", x: extend.Expr | None = None):
    loops = c.loops("i", c.node.shape)
    x = c.read(0, *loops) if x is None else x
    return c.nest(loops, extend.store(out or c.out, loops, extend.apply(op, x, x)))


def read_elsewhere(c: extend.Context):
    loops = c.loops("i", c.node.shape)
    elsewhere = Buffer("elsewhere", "f32", c.node.shape)
    return lowered(c, x=Load(elsewhere, tuple(extend.store(c.out, loops, extend.Const(0.0, "f32")).index)))


def past_the_end(c: extend.Context):
    loops = c.loops("i", (c.node.shape[0] + 1, c.node.shape[1]))
    return c.nest(loops, extend.store(c.out, loops, extend.Const(0.0, "f32")))


GOOD = {"infer": lambda x: x, "reference": lambda x: x * 2, "lower": lowered, "torch": "strop_tests::twice"}


def test_an_operator_that_is_right():
    extend.operator("twice", **GOOD)
    for options in (OPTIONS, replace(OPTIONS, check=True)):
        session = strop.Session(Twice(), (X,), options=options)
        assert not session.compiled.about.library
        assert torch.allclose(session.module(X), Twice()(X))


@pytest.mark.parametrize(
    ("parts", "why", "cause"),
    [
        ({"infer": raising}, "raised ZeroDivisionError", ZeroDivisionError),
        ({"infer": lambda x: None}, "answered None: `infer` returns a Type", None),
        ({"infer": lambda x: Type("f32", (2,))}, "has the type f32[2]; torch says", None),
        ({"infer": lambda x, slope: x}, "raised TypeError", TypeError),
        ({"convert": raising}, "raised ZeroDivisionError", ZeroDivisionError),
        ({"convert": lambda x: None}, "raised TypeError", TypeError),
        ({"convert": lambda x: ((x,), {"by": object()})}, "an attribute holds numbers", TypeError),
        ({"check": raising}, "raised ZeroDivisionError", ZeroDivisionError),
        ({"check": lambda node: None}, "answered None: `check` returns", None),
        ({"lower": raising}, "raised ZeroDivisionError", ZeroDivisionError),
        ({"lower": lambda c: None}, "raised TypeError", TypeError),
        ({"lower": lambda c: ["a nest"]}, "returned 'a nest': `lower` returns nests", None),
        ({"lower": lambda c: []}, "nothing writes twice: f32[4,16]", None),
        (
            {"lower": lambda c: lowered(c, Buffer("other", "f32", c.node.shape))},
            "writes other: f32[4,16]; it may",
            None,
        ),
        ({"lower": read_elsewhere}, "reads elsewhere: f32[4,16], which is none of its inputs", None),
        ({"lower": lambda c: lowered(c, op="frobnicate")}, "applies `frobnicate`", None),
        ({"lower": past_the_end}, "runs from 0 to 4, the dimension has 4", None),
    ],
)
def test_an_operator_that_fails(parts, why, cause):
    extend.operator("twice", **{**GOOD, **parts})
    Compiling(Twice()).fails("operator", "twice", why, cause)


@pytest.mark.parametrize(
    ("reference", "why"),
    [(raising, "raised ZeroDivisionError"), (lambda x: None, "returned None: `reference` returns")],
)
def test_a_reference_that_fails_does_so_when_it_is_called(reference, why):
    extend.operator("twice", **{**GOOD, "lower": None, "reference": reference})
    fast = strop.compile(Twice(), (X,), options=OPTIONS)
    with blamed("operator", "twice", why):
        fast(X)
    extend.unregister("operator", "twice")
    assert torch.allclose(strop.compile(Twice(), (X,), options=OPTIONS)(X), Twice()(X))


def test_what_an_operator_does_not_cover_is_left_to_torch():
    def convert(x):
        raise extend.Unfit("not today")

    extend.operator("twice", **{**GOOD, "convert": convert})
    session = strop.Session(Twice(), (X,), options=OPTIONS)
    assert session.compiled.about.library == {"strop_tests.twice.default": 1}
    assert torch.allclose(session.module(X), Twice()(X))


# ---- ONNX ------------------------------------------------------------------------------------------------------------


def onnx_model():
    helper = pytest.importorskip("onnx.helper")
    port = [helper.make_tensor_value_info(name, 1, (4, 16)) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Op", ["x"], ["y"], domain="my.domain")], "one", port[:1], port[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("my.domain", 1)])


@pytest.mark.parametrize(
    ("function", "why", "cause"),
    [
        (raising, "raised ZeroDivisionError: by design", ZeroDivisionError),
        (lambda x: None, "returned None: it returns a tensor", None),
        (lambda x: 3.0, "returned 3.0: it returns a tensor", None),
        (lambda: X, "raised TypeError", TypeError),
    ],
)
def test_an_onnx_operator_that_fails(function, why, cause):
    extend.onnx_operator("my.domain::Op", function)
    with blamed("ONNX operator", "my.domain::Op", why, cause):
        strop.compile(onnx_model(), options=OPTIONS)
    extend.onnx_operator("my.domain::Op", function)
    extend.unregister("ONNX operator", "my.domain::Op")
    with pytest.raises(Problem, match=r"STR123.*my.domain::Op"):
        strop.compile(onnx_model(), options=OPTIONS)


def test_a_form_that_an_onnx_operator_does_not_cover_is_no_failure_of_it():
    def op(x):
        raise extend.Unsupported("only on weekdays")

    extend.onnx_operator("my.domain::Op", op)
    with pytest.raises(Problem, match="STR123: only on weekdays"):
        strop.compile(onnx_model(), options=OPTIONS)


def test_an_onnx_operator_of_strop_still_reports_what_is_wrong_as_before():
    journal = Journal()
    assert strop.compile(Net(), (X,), options=OPTIONS, journal=journal) is not None
    assert not [event for event in journal.events if "extension" in event.message]
