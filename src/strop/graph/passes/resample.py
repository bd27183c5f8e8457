"""Images of another size: a mean of neighbours and what is done to every pixel alike may change places.

    resize(x / 255)   →   resize(x) / 255

Pixels are read by several points of the result; so bytes are read as bytes, and what follows is done once per point.
"""

from __future__ import annotations

from strop.core.passes import Verdict, no, yes
from strop.core.patterns import Bind
from strop.core.rewrite import Rule, Rules
from strop.graph import build
from strop.graph.ir import Node
from strop.graph.parametric import is_parametric
from strop.graph.passes.language import P, x, y

#: feature maps are resized as they are: their factors belong to other operators
MOST_CHANNELS = 4
#: points per pixel, up to which work is better done on the result
MOST_POINTS = 2


def _is_image(change: Node, x: Node, y: Node, root: Node) -> Verdict | bool:
    if change.dtype not in ("f32", "f64") or x.shape != change.shape or root.shape[1] > MOST_CHANNELS:
        return False
    if not is_parametric(y) or not _same_everywhere(y, root) or (change is not root.inputs[0] and y.type.size != 1):
        return no("not every pixel is changed alike")
    if root.type.size > MOST_POINTS * x.type.size:
        return no("the result has more points than the image")
    return yes()


def _same_everywhere(y: Node, root: Node) -> bool:
    """Whether a value, broadcast, is one per image or channel."""
    space = len(root.attrs["scales"])
    return all(extent == 1 for extent in y.shape[max(len(y.shape) - space, 0) :]) and len(y.shape) <= len(root.shape)


def _resized_first(change: Node, x: Node, y: Node, root: Node) -> Node:
    image = build.reshape(x, root.inputs[0].shape)
    resized = build.make(root.op, (image,), root.attrs, types=root.types)
    factor = build.reshape(y, ()) if y.type.size == 1 else y
    operands = (resized, factor) if change.inputs[0] is x else (factor, resized)
    return build.make(change.op, operands, change.attrs, types=root.types)


_change = Bind("change", P.either(P.op(("mul", "div", "add", "sub"), x, y), P.op(("mul", "add", "sub"), y, x)))

rules = Rules(
    Rule("resize(f(x)) → f(resize(x))", P.upsample_linear(P.either(_change, P.reshape(_change))), _resized_first,
         _is_image),
)  # fmt: skip
