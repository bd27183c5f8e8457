"""Extending Strop from a script or a package, without touching its files.

    extend.rule(Rule("x + x → 2·x", P.add(x, x), lambda x: build.mul(x, 2.0)), family="tidy")
    extend.operator("hypot", infer=…, lower=…, reference=…, torch="mylib::hypot")
    class Halve(extend.Pass): …                     # a pass registers itself when its class is defined
    extend.step("halve", planner, after="schedule")
    extend.target({"name": "mycpu", "like": "znver3", "l2": 2 * 2**20})
    extend.onnx_operator("my.domain::Hypot", function)

A package declares an entry point, which is loaded once, at the first compilation or session:

    [project.entry-points."strop.extensions"]
    mine = "my_package.strop_extensions"            # a module, or a function without arguments: `module:register`

docs/extending.md explains each kind with an example. What an extension answers is checked; what fails in it is raised
as STR012 under its name, and leaves session, module and cache as they were.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from strop.core.extensions import Extension, Kind, registry
from strop.core.passes import Pass, Verdict, no, yes
from strop.core.patterns import PatternVar
from strop.core.rewrite import Match, Rule
from strop.extend.onnx import onnx_operator
from strop.extend.operators import operator
from strop.extend.rules import rule
from strop.extend.steps import step
from strop.extend.targets import target
from strop.frontend.onnx.ops import Unsupported
from strop.frontend.torch.registry import Unfit
from strop.graph import build
from strop.graph.ir import Graph, Node, Type
from strop.graph.passes.language import P
from strop.graph.passes.rewrites import GraphPass
from strop.loops.ir import Const, Expr, Loop, Nest
from strop.loops.lower import Context, store
from strop.loops.lower.pointwise import apply
from strop.loops.passes.layouts import NestsPass
from strop.schedule.program import Program
from strop.target.description import Target

__all__ = [
    "Const",
    "Context",
    "Expr",
    "Extension",
    "Graph",
    "GraphPass",
    "Loop",
    "Match",
    "Nest",
    "NestsPass",
    "Node",
    "P",
    "Pass",
    "PatternVar",
    "Program",
    "Rule",
    "Target",
    "Type",
    "Unfit",
    "Unsupported",
    "Verdict",
    "apply",
    "build",
    "no",
    "onnx_operator",
    "operator",
    "registered",
    "rule",
    "step",
    "store",
    "target",
    "temporarily",
    "unregister",
    "yes",
]


def registered() -> tuple[Extension, ...]:
    """Everything that was registered, in order; packages are loaded for that."""
    registry.load()
    return tuple(registry)


def unregister(kind: Kind, name: str) -> None:
    """Take something out again. Modules that were compiled with it stay as they are."""
    registry.remove(kind, name)


def temporarily() -> AbstractContextManager[None]:
    """`with temporarily():` what is registered (or taken out) inside is as before afterwards."""
    return registry.temporarily()
