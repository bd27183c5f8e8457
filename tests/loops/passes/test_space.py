"""Every pass on loops lists instances that it allows, and what they make computes the same."""

from __future__ import annotations

import numpy as np
import pytest

from schedule.test_sampling import batch, evaluate, main_nest, norm, pointwise, product, softmax, window
from strop.core.passes import Pass
from strop.graph import build
from strop.graph.ir import Graph
from strop.loops.ir import Nest
from strop.loops.passes.targeted import TargetedNest
from strop.schedule import program
from strop.schedule.default import schedule
from strop.target.description import Target

#: passes that planners alone place, and why nobody else has a use for them
PLANNED = {
    "name": "every graph is named after it was simplified",
    "lower": "comes once, between two levels",
    "hoist": "comes once, after all that is done by hand to nests",
    "readpacked": "needs copies that other nests have packed, which `release` looks for",
}
X = build.input(0, "f32", (5, 21), "x")
GRAPHS = {
    "product": product(13, 24, 37),
    "window": window(5, 19, 7),
    "batch": batch(2, 7, 9, 18),
    "norm": norm(3, 37),
    "softmax": softmax(3, 37),
    "pointwise": pointwise(3, 7, 21),
    "activation": Graph((X,), (), (build.relu(X),)),
    "large product": product(50, 12, 100),
}
TARGET = Target.find("znver3")


def kinds() -> list[type[Pass]]:
    return [kind for kind in Pass.registry.values() if kind.level == "loops" and kind.__module__.startswith("strop.")]


def nests(name: str) -> list[Nest]:
    """A nest as it is lowered, and as it is scheduled."""
    source = main_nest(GRAPHS[name])
    return [source, schedule(source, TARGET, 1).nest]


def test_every_pass_lists_its_useful_instances() -> None:
    own = [kind for kind in Pass.registry.values() if kind.__module__ in {one.__name__ for one in program.PASSES}]
    assert {kind.title for kind in own if kind.space.__func__ is Pass.space.__func__} == set(PLANNED)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", GRAPHS)
def test_what_is_listed_is_allowed(name: str) -> None:
    for nest in nests(name):
        here = TargetedNest(nest, TARGET.lanes("f32"), 2)
        found = [one for kind in kinds() for one in kind.space(here)]
        assert found
        for one in found:
            verdict = one.check(nest)
            assert verdict, f"{one}: {verdict.why}"


@pytest.mark.parametrize("name", GRAPHS)
def test_what_is_listed_computes_the_same(name: str) -> None:
    source = main_nest(GRAPHS[name])
    wanted = evaluate([source], source)
    here = TargetedNest(source, TARGET.lanes("f32"))
    for one in (one for kind in kinds() for one in list(kind.space(here))[::5]):
        copies = [one.copy(source)] if one.title == "pack" else []  # type: ignore[attr-defined]
        for a, b in zip(wanted, evaluate([*copies, one.apply(source)], source)):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5, err_msg=str(one))


def test_each_kind_has_instances_somewhere() -> None:
    found: set[str] = set()
    for name in GRAPHS:
        for nest in nests(name):
            here = TargetedNest(nest, TARGET.lanes("f32"), 2)
            found |= {one.title for kind in kinds() for one in kind.space(here)}
    assert found == {kind.title for kind in kinds()} - set(PLANNED)
