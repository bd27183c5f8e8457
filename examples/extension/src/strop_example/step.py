"""A planner step: every GELU by its tanh formula, behind the rewrites of the graph."""

from collections.abc import Iterable

from strop import extend
from strop_example.passes import ApproximateGelu


@extend.step("approximate GELU", after="simplify")
def approximate_gelus(program: extend.Program) -> Iterable[extend.Pass]:
    """The passes that a program should get. Strop checks and applies them; they are a part of its history."""
    return ApproximateGelu.space(program.graph)
