"""Registering: names that collide, arguments that cannot be used, versions and cache keys, packages that fail."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from strop import extend
from strop.core.extensions import Registry, registry
from strop.core.journal import Journal, StropWarning
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.extend import P, PatternVar, Rule
from strop.graph.passes.rewrites import FAMILIES
from strop.loops.lower import LOWERINGS
from strop.schedule import planners
from strop.target.description import TARGETS


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    with extend.temporarily():
        yield


def double(x):
    return extend.build.mul(x, 2.0)


DOUBLE = Rule("x + x → 2·x of tests", P.add(PatternVar("x"), PatternVar("x")), double)


def nothing(program):
    return None


def like(x):
    return x


def identity(x):
    return x


def other(name: str):
    """A function of another module."""
    made = eval(f"lambda *x, **y: {name!r}")
    made.__module__ = "elsewhere"
    return made


# ---- names -----------------------------------------------------------------------------------------------------------


def registrations(function):
    """One of each kind, made of one function."""
    return {
        "rule": lambda name: extend.rule(Rule(name, P.add(PatternVar("x"), PatternVar("x")), function), version="1"),
        "operator": lambda name: extend.operator(name, infer=function, reference=function, version="1"),
        "planner step": lambda name: extend.step(name, function, after="fuse", version="1"),
        "ONNX operator": lambda name: extend.onnx_operator(name, function, version="1"),
    }


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("rule", next(iter(FAMILIES["tidy"])).name),
        ("rule", "recognise"),
        ("operator", "relu"),
        ("planner step", "fuse"),
        ("ONNX operator", "Gemm"),
        ("ONNX operator", "ai.onnx::Gemm"),
        ("ONNX operator", "com.microsoft::Gelu"),
    ],
)
def test_names_of_strop_are_taken(kind, name):
    before = registry.key()
    with pytest.raises(Problem, match="STR011") as caught:
        registrations(identity)[kind](name)
    assert f"the {kind} `{name}` cannot be registered: Strop has one of this name" in caught.value.message
    assert registry.key() == before


def test_a_target_of_strop_is_taken():
    with pytest.raises(Problem, match="STR011: the target `znver3` cannot be registered: Strop has one"):
        extend.target({"name": "znver3", "like": "znver3"})


@pytest.mark.parametrize("kind", ["rule", "operator", "planner step", "ONNX operator"])
def test_a_name_of_another_package_is_taken(kind):
    registrations(identity)[kind]("Mine")
    with pytest.raises(Problem, match="STR011") as caught:
        registrations(other("f"))[kind]("Mine")
    assert "tests has one" in caught.value.message or "test_registering.py" in caught.value.message
    registrations(identity)[kind]("Mine")  # what registers itself again takes its own place
    assert sum(one.name == "Mine" for one in extend.registered()) == 1


def test_a_torch_operator_has_one_rule():
    with pytest.raises(Problem, match=r"STR011.*a rule for `aten.relu.default` has one"):
        extend.operator("mine", infer=like, reference=identity, torch="aten::relu")


def test_a_pass_of_the_same_name_is_refused_and_the_first_one_stays():
    with pytest.raises(Problem, match="STR011: the pass `rewrite` cannot be registered"):

        class Rewrite(Pass):
            nest: str

    assert Pass.registry["rewrite"].__module__ == "strop.graph.passes.rewrites"


@pytest.mark.parametrize(
    ("register", "why"),
    [
        (lambda: extend.rule(DOUBLE, family="recognize"), "no family `recognize`"),
        (lambda: extend.rule("x + x"), "it is a str"),
        (lambda: extend.step("mine", nothing, after="fusion"), "no step `fusion`"),
        (lambda: extend.step("mine", 3, after="fuse"), "a planner is a function"),
        (lambda: extend.step("", nothing, after="fuse"), "a text that is not empty"),
        (lambda: extend.operator("two words", infer=like, reference=identity), "identifier"),
        (lambda: extend.operator("mine", infer=like, reference=None), "is not a function"),
        (lambda: extend.operator("mine", infer=like, reference=identity, torch="mylib.op"), "does not name a torch"),
        (lambda: extend.onnx_operator("my.domain::", identity), "it needs a name"),
        (lambda: extend.onnx_operator("my.domain::Op", identity, since=3, until=2), "opset 3 comes behind opset 2"),
        (lambda: extend.rule(DOUBLE, version=2), "a version is a text"),
        (lambda: extend.unregister("rule", "none of these"), "no rule `none of these` was registered"),
    ],
)
def test_what_cannot_be_registered_says_why(register, why):
    before = registry.key()
    with pytest.raises(Problem, match="STR011") as caught:
        register()
    assert why in caught.value.message
    assert registry.key() == before


def test_a_pass_on_loops_names_its_nest():
    with pytest.raises(Problem, match=r"STR011.*by a field `nest`"):

        @dataclass(frozen=True)
        class Blind(Pass):
            loop: str


def test_a_pass_of_no_level_is_refused():
    with pytest.raises(Problem, match=r"STR011.*no level `everything`"):

        @dataclass(frozen=True)
        class Lost(Pass):
            level = "everything"


# ---- machines --------------------------------------------------------------------------------------------------------

WHOLE = {
    "name": "mine", "triple": "x86_64-unknown-linux-gnu", "cpu": "x86-64-v3", "vector_bits": 256, "vector_registers": 16,
    "fma_per_cycle": 2, "l1": 32768, "l2": 524288, "l3": 2**24, "ghz": 3.0, "bandwidth": [64, 32, 16, 5],
}  # fmt: skip


def test_a_whole_description_needs_no_other_one():
    extend.target(WHOLE)
    assert TARGETS["mine"].bandwidth == (64, 32, 16, 5)
    assert TARGETS["mine"].has("avx2")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"l1": ...}, "l1 missing"),
        ({"name": ...}, "name missing"),
        ({"name": ""}, "name must be a text"),
        ({"like": "znver99"}, "no description of `znver99`"),
        ({"cpus": 8}, "there is no `cpus`"),
        ({"l1": 0}, "l1 must be above zero"),
        ({"l2": -1}, "l2 must be above zero"),
        ({"l1": 2**20}, "cannot be larger than l2"),
        ({"l1": "32 KB"}, "l1 must be a whole number"),
        ({"l1": 32768.5}, "l1 must be a whole number"),
        ({"ghz": 3000}, "ghz is the clock in GHz"),
        ({"ghz": float("nan")}, "ghz must be a number"),
        ({"ghz": True}, "ghz must be a number"),
        ({"fma_per_cycle": float("inf")}, "fma_per_cycle must be a number"),
        ({"bandwidth": [64, 32, 16]}, "bandwidth must be 4 numbers"),
        ({"bandwidth": 64}, "bandwidth must be 4 numbers"),
        ({"bandwidth": [5, 16, 32, 64]}, "bandwidth falls from L1 to memory"),
        ({"bandwidth": [64, 32, 16, 0]}, "bandwidth must be above zero"),
        ({"latency": [300, 50, 14]}, "latency grows"),
        ({"line": 48}, "power of two"),
        ({"vector_bits": 384}, "is 384, but vectors of x86_64 have 128 or 256 or 512 bits"),
        ({"vector_bits": 512}, "vectors of 512 bits need avx512f and avx512vl"),
        ({"features": "+sse2"}, "vectors of 256 bits need avx2 and fma, which features does not say it has"),
        ({"triple": "riscv64-unknown-linux-gnu"}, "triple must begin with"),
        ({"triple": "aarch64-unknown-linux-gnu"}, "vectors of aarch64 have 128 bits"),
    ],
)
def test_a_machine_that_cannot_be_is_refused(change, why):
    described = {key: value for key, value in {**WHOLE, **change}.items() if value is not ...}
    with pytest.raises(Problem, match="STR011") as caught:
        extend.target(described)
    assert why in caught.value.message
    assert "mine" not in TARGETS


def test_a_description_is_a_mapping():
    with pytest.raises(Problem, match="STR011"):
        extend.target(["znver3"])


# ---- versions and keys -----------------------------------------------------------------------------------------------


def test_the_key_tells_versions_apart_and_comes_back():
    empty = registry.key()
    extend.rule(DOUBLE, version="1")
    first = registry.key()
    extend.rule(DOUBLE, version="2")
    second = registry.key()
    extend.unregister("rule", DOUBLE.name)
    assert len({empty, first, second}) == 3
    assert registry.key() == empty


def test_the_key_covers_every_file_of_the_package(tmp_path, monkeypatch):
    package = tmp_path / "growing"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "far_away.py").write_text("FACTOR = 2.0\n")
    (package / "rule.py").write_text("def make(x):\n    return x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import growing.rule

    made = Rule("grown", P.neg(PatternVar("x")), growing.rule.make)
    extend.rule(made)
    before = registry.key()
    (package / "far_away.py").write_text("FACTOR = 3.0  # changed\n")
    extend.rule(made)
    assert registry.key() != before
    for name in ("growing", "growing.rule"):
        sys.modules.pop(name)


def test_the_key_covers_which_function_was_given_with_which_values():
    def by(factor):
        return lambda x: extend.build.mul(x, factor)

    keys = set()
    for factor in (2.0, 3.0):
        extend.rule(Rule("scaled", P.add(PatternVar("x"), PatternVar("x")), by(factor)))
        keys.add(registry.key())
        extend.rule(Rule("scaled", P.mul(PatternVar("x"), factor), by(2.0)))
        keys.add(registry.key())
    assert len(keys) == 4


def test_what_has_no_source_needs_a_version():
    names: dict[str, object] = {"__name__": "typed_by_hand"}
    code = "from strop import extend\ndef plan(program): ...\nextend.step('mine', plan, after='fuse'{})\n"
    with pytest.raises(Problem, match=r"STR011.*its source cannot be read") as caught:
        exec(code.format(""), names)
    assert 'give version="1"' in caught.value.help
    exec(code.format(", version='1'"), names)
    assert any(one.name == "mine" for one in extend.registered())


def test_what_is_registered_temporarily_is_gone_afterwards():
    key, tidy, steps = registry.key(), FAMILIES["tidy"].rules, planners.steps()
    with extend.temporarily():
        extend.rule(DOUBLE, family="tidy")
        extend.step("mine", nothing, after="fuse")
        extend.operator("mine", infer=like, reference=identity, lower=identity)
        extend.target(WHOLE)

        @dataclass(frozen=True)
        class Mine(Pass):
            nest: str

        assert {len(FAMILIES[name].rules) for name in ("tidy",)} == {len(tidy) + 1}
        assert [step.name for step in planners.steps()][3:5] == ["fuse", "mine"]
        assert "mine" in TARGETS and "mine" in LOWERINGS and "mine" in Pass.registry
    assert (registry.key(), FAMILIES["tidy"].rules, planners.steps()) == (key, tidy, steps)
    assert "mine" not in TARGETS and "mine" not in LOWERINGS and "mine" not in Pass.registry


def test_what_is_taken_out_temporarily_comes_back():
    extend.rule(DOUBLE, family="tidy")
    with extend.temporarily():
        extend.unregister("rule", DOUBLE.name)
        assert DOUBLE.name not in {rule.name for rule in FAMILIES["tidy"]}
    assert DOUBLE.name in {rule.name for rule in FAMILIES["tidy"]}


def test_a_rule_joins_the_families_that_include_its_own():
    extend.rule(DOUBLE, family="tidy")
    assert [n for n, family in FAMILIES.items() if any(r.name == DOUBLE.name for r in family)] == [
        "tidy",
        "recognise",
        "parameters",
    ]


# ---- packages --------------------------------------------------------------------------------------------------------


def package(folder: Path, name: str, source: str, value: str = "") -> None:
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(f"[strop.extensions]\nmain = {value or name}\n")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def loaded(journal: Journal) -> list[str]:
    """The packages' extensions, loaded as for the first time."""
    before = set(registry)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_loaded", False)
        patch.setattr(registry, "_failures", [])
        registry.load(journal)
        registry.load(journal)
    return [f"{one.kind} {one.name}" for one in registry if one not in before]


STEP = "from strop import extend\ndef plan(program): ...\nextend.step('{}', plan, after='fuse')\n"


def test_a_package_that_fails_is_reported_and_left_out(folder):
    package(folder, "a_whole_one", STEP.format("first"))
    package(folder, "b_broken_one", STEP.format("second") + "raise RuntimeError('it needs a GPU')\n")
    package(folder, "c_whole_one", STEP.format("third"))
    journal = Journal()
    with pytest.warns(StropWarning, match="b_broken_one 0.1: its extension `b_broken_one` is left out: RuntimeError"):
        found = loaded(journal)
    assert found == ["planner step first", "planner step third"]
    told = [event for event in journal.of("note") if event.subject == "b_broken_one 0.1"]
    assert told and "it needs a GPU" in told[0].message and told[0].data["code"] == "STR013"


def test_a_function_of_a_package_is_called(folder):
    source = (
        "from strop import extend\ndef plan(program): ...\ndef main():\n    extend.step('called', plan, after='fuse')\n"
    )
    package(folder, "callable_one", source, "callable_one:main")
    assert loaded(Journal()) == ["planner step called"]


def test_two_packages_that_want_one_name(folder):
    package(folder, "a_first", STEP.format("mine"))
    package(folder, "b_second", STEP.format("mine"))
    with pytest.warns(StropWarning, match=r"b_second 0.1.*STR011.*a_first 0.1 .*has one of this name"):
        assert loaded(Journal()) == ["planner step mine"]


def test_a_module_that_is_missing(folder):
    package(folder, "present", "", "absent:main")
    with pytest.warns(StropWarning, match="`absent:main` is left out: ModuleNotFoundError"):
        assert loaded(Journal()) == []


def test_extensions_of_packages_can_be_switched_off(folder, monkeypatch):
    package(folder, "unwanted", STEP.format("unwanted"))
    monkeypatch.setenv("STROP_EXTENSIONS", "0")
    assert loaded(Journal()) == []


def test_a_switch_that_cannot_be_read_is_told(monkeypatch):
    monkeypatch.setenv("STROP_EXTENSIONS", "perhaps")
    with pytest.raises(Problem, match="STR005: STROP_EXTENSIONS='perhaps'"):
        Registry().load()


def test_the_pass_of_a_package_prints_and_parses(folder):
    source = "from dataclasses import dataclass\nfrom strop import extend\n@dataclass(frozen=True)\nclass Mark(extend.Pass):\n    nest: str\n"
    package(folder, "marking", source)
    assert loaded(Journal()) == ["pass mark"]
    assert str(Pass.parse("mark{nest=conv1}")) == "mark{nest=conv1}"
