"""A graph rule: x · sigmoid(slope · x), written out by hand, becomes the operator `quick_gelu`."""

from strop import extend
from strop.extend import P, PatternVar
from strop_example import operator  # the rule makes nodes of it

assert operator

x = PatternVar("x")


def make(x: extend.Node, slope: float) -> extend.Node:
    """The replacement. Parameters are named after what the pattern binds; it has the type of what it replaces."""
    return extend.build.make("quick_gelu", (x,), {"slope": float(slope)})


def when(match: extend.Match, x: extend.Node) -> extend.Verdict | bool:
    """A bool says whether the rule is meant at all; a verdict has a reason, which the journal keeps."""
    if x.dtype not in ("f32", "f64"):
        return False
    return match.alone()


extend.rule(
    extend.Rule("x·sigmoid(c·x) → quick_gelu", P.mul(x, P.sigmoid(P.mul(x, P.number("slope")))), make, when),
    family="recognise",
)
