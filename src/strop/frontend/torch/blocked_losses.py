"""Cross-entropies of linear layers in a joint FX graph: where they are, and the same with logits in blocks of rows.

    x ─► mm ─► view ─► _log_softmax ─► nll_loss_forward ─► loss
                            ╰──► nll_loss_backward ─► _log_softmax_backward_data ─► view ─► g
    dx = mm(g, weight)    dweight = mm(t(g), x)    dbias = sum(g)

The loss and everything up to the gradients becomes `strop.linear_cross_entropy` (`aten/losses.py`). Views between the
product and the loss only choose and order rows (shifted labels), so the same views are taken of `x` instead, and those
of their gradient of that of `x`. Where anything else reads the logits, they have to exist, and the reason is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import getitem
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.fx import Node as FxNode
from torch.fx.node import map_arg

from strop.frontend.torch.aten import losses  # noqa: F401  (registers torch.ops.strop.linear_cross_entropy)
from strop.graph.joint import LinearLoss, LossBlocks

_aten = torch.ops.aten
#: operators that only choose and order rows, where they leave the last dimension alone
_VIEWS = (_aten.view.default, _aten._unsafe_view.default, _aten.reshape.default)
_ROWS = (*_VIEWS, _aten.clone.default, _aten.slice.Tensor, _aten.slice_backward.default)
_SAME = (_aten.detach.default, _aten.alias.default)
_TRANSPOSES = (_aten.t.default, _aten.numpy_T.default)
_forward_op = torch.ops.strop.linear_cross_entropy.default
_backward_op = torch.ops.strop.linear_cross_entropy_backward.default
#: what a node's metadata tell of where it comes from
_ORIGIN = ("nn_module_stack", "stack_trace", "source_fn_stack")
_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}
#: columns from which a product that is returned counts as logits
MANY_WORDS = 8192
_BESIDE = "they are returned beside the loss; a function that returns the loss alone can do without them"
_OUTSIDE = "they are returned, and a loss outside reads them all; a function that returns the loss can do without them"


class _Refused(Exception):
    """Why the logits of a loss have to exist."""


@dataclass(frozen=True)
class FxLoss:
    """The nodes of one cross-entropy, from the product that makes its logits to those that read their gradient."""

    product: FxNode  # mm(x, weight) or addmm(bias, x, weight); the loss itself where there is no such product
    why: str = ""  # the logits have to exist
    x: FxNode | None = None
    weight: FxNode | None = None
    turned: bool = False  # the weight is [K, N]
    bias: FxNode | None = None
    views: tuple[FxNode, ...] = ()  # from the product to the loss
    loss: FxNode | None = None  # nll_loss_forward
    tangent: FxNode | None = None
    views_back: tuple[FxNode, ...] = ()  # from the gradient of the loss's logits to that of the product
    backward: FxNode | None = None  # nll_loss_backward
    of_x: tuple[FxNode, ...] = ()
    of_weight: tuple[tuple[FxNode, bool], ...] = ()  # and whether it is [K, N]
    of_bias: tuple[FxNode, ...] = ()

    @property
    def gradients(self) -> tuple[str, ...]:
        wanted = {"x": self.of_x, "weight": self.of_weight, "bias": self.of_bias}
        return tuple(name for name, nodes in wanted.items() if nodes)

    def described(self) -> LinearLoss:
        """What the joint graph knows of it."""
        if self.why:
            return LinearLoss(why=self.why)
        assert self.x is not None and self.loss is not None
        logits = self.loss.args[0]
        rows, words = (_number(extent) for extent in _value(logits).shape)
        width = _number(_value(self.x).shape[1])
        return LinearLoss(rows, width, words, _value(logits).dtype.itemsize, self.gradients)


def find_losses(module: GraphModule, results: int) -> list[FxLoss]:
    """The cross-entropies of a joint graph; those whose logits have to exist with the reason."""
    found = [FxLoss(product, _OUTSIDE) for product in _returned_products(module, results)]
    for node in module.graph.nodes:
        if node.target is _aten.nll_loss_forward.default:
            try:
                found.append(_loss(node))
            except _Refused as refused:
                found.append(FxLoss(_product(node) or node, str(refused)))
    return found


def _returned_products(module: GraphModule, results: int) -> list[FxNode]:
    """Results of forward that are products with many columns, as language models return their logits."""
    returned = module.graph.output_node().args[0]
    assert isinstance(returned, (list, tuple))
    found = []
    for node in returned[:results]:
        while isinstance(node, FxNode) and node.target in _VIEWS:
            node = node.args[0]
        if isinstance(node, FxNode) and _is_product(node) and _number(_value(node).shape[-1]) >= MANY_WORDS:
            found.append(node)
    return list(dict.fromkeys(found))


# ---- finding ---------------------------------------------------------------------------------------------------------


def _product(loss: FxNode) -> FxNode | None:
    """The product that a loss's logits come from, through whatever leads there."""
    node: Any = loss
    for _ in range(16):
        node = node.args[0] if node.args else None
        if not isinstance(node, FxNode) or _is_product(node):
            return node if isinstance(node, FxNode) else None
    return None


def _loss(loss: FxNode) -> FxLoss:
    softmax, labels, weights, reduction, _ = _args(loss)
    if weights is not None:
        raise _Refused("classes have weights")
    if reduction not in (1, 2):
        raise _Refused(f"the loss of each row is returned (reduction='{_REDUCTIONS.get(reduction, reduction)}')")
    assert isinstance(softmax, FxNode) and isinstance(labels, FxNode)
    if softmax.target is not _aten._log_softmax.default or softmax.args[1] not in (1, -1) or softmax.args[2]:
        raise _Refused("the loss reads no log-softmax of rows")
    if len(_value(softmax).shape) != 2 or _value(softmax).dtype not in (torch.float32, torch.float64):
        raise _Refused(f"they are {_value(softmax).dtype}, of {len(_value(softmax).shape)} dimensions")
    views, product = _views_before(softmax)
    x, weight, turned, bias = _operands(product)
    backward, data = _backward_of(softmax, loss)
    _only_used_by(product, *views, softmax)
    if backward is None or data is None:
        return FxLoss(product, "", x, weight, turned, bias, views, loss)
    views_back, gradient = _views_behind(data)
    of_x, of_weight, of_bias = _readers(gradient, x, weight, turned)
    if of_bias and bias is None:
        raise _Refused(f"`{of_bias[0].name}` sums up their gradient, and they have no bias")
    tangent = backward.args[0]
    assert isinstance(tangent, FxNode)
    return FxLoss(product, "", x, weight, turned, bias, views, loss, tangent, views_back, backward, of_x, of_weight,
                  of_bias)  # fmt: skip


def _views_before(softmax: FxNode) -> tuple[tuple[FxNode, ...], FxNode]:
    views: list[FxNode] = []
    node = softmax.args[0]
    while isinstance(node, FxNode) and not _is_product(node):
        if node.target not in _ROWS or not _keeps_rows(node):
            raise _Refused(f"`{node.name}` stands between the product and the loss")
        views.insert(0, node)
        node = node.args[0]
    if not isinstance(node, FxNode):
        raise _Refused("no product makes them")
    return tuple(views), node


def _keeps_rows(node: FxNode) -> bool:
    """Whether a view leaves the last dimension alone."""
    before, after = _value(node.args[0]).shape, _value(node).shape
    if node.target is _aten.slice.Tensor or node.target is _aten.slice_backward.default:
        dim = node.args[1 if node.target is _aten.slice.Tensor else 2]
        return isinstance(dim, int) and dim % len(after) != len(after) - 1
    return len(before) > 0 and len(after) > 0 and bool(before[-1] == after[-1])


def _operands(product: FxNode) -> tuple[FxNode, FxNode, bool, FxNode | None]:
    """x, the weight, whether that is [K, N], and the bias of a product."""
    if product.kwargs:
        raise _Refused(f"`{product.name}` scales its product")
    *bias, x, factor = product.args
    assert isinstance(x, FxNode) and isinstance(factor, FxNode)
    weight, transposed = _resolved(factor)
    added = bias[0] if bias else None
    if isinstance(added, FxNode) and tuple(_value(added).shape) != tuple(_value(product).shape[-1:]):
        raise _Refused(f"`{added.name}` is no bias of one number for each word")
    return x, weight, not transposed, added if isinstance(added, FxNode) else None


def _resolved(node: FxNode) -> tuple[FxNode, bool]:
    """The matrix that a chain of transposes shows, and whether it is transposed."""
    transposed = False
    while node.op == "call_function":
        if node.target in _TRANSPOSES or (node.target is _aten.permute.default and list(_args(node)[1]) == [1, 0]):
            transposed = not transposed
        elif node.target not in _SAME:
            break
        node = _args(node)[0]
    return node, transposed


def _backward_of(softmax: FxNode, loss: FxNode) -> tuple[FxNode | None, FxNode | None]:
    """The nodes that differentiate the loss and the log-softmax; None where nobody wants gradients of the logits."""
    backward = data = None
    for user in _users(softmax):
        if user is loss:
            continue
        if user.target is _aten.nll_loss_backward.default and backward is None:
            backward = user
        elif user.target is _aten._log_softmax_backward_data.default and data is None:
            data = user
        else:
            raise _Refused(f"`{user.name}` reads their log-softmax, too")
    if (backward is None) != (data is None):
        raise _Refused("their gradient is not that of a cross-entropy")
    if backward is not None and data is not None and (data.args[0] is not backward or len(backward.users) != 1):
        raise _Refused(f"others than `{data.name}` read the gradient of their log-softmax")
    return backward, data


def _users(node: FxNode) -> list[FxNode]:
    """Who reads a value, as it is."""
    found = []
    for user in node.users:
        found += _users(user) if user.target in _SAME else [user]
    return found


def _only_used_by(*chain: FxNode) -> None:
    for node, reader in pairwise(chain):
        for user in node.users:
            if user.op == "output":
                raise _Refused(_BESIDE)
            if user is not reader:
                raise _Refused(f"`{user.name}` reads them, too")


def _views_behind(data: FxNode) -> tuple[tuple[FxNode, ...], FxNode]:
    views: list[FxNode] = []
    node = data
    while len(node.users) == 1:
        (user,) = node.users
        if user.target not in _ROWS or not _keeps_rows(user):
            break
        views.append(user)
        node = user
    return tuple(views), node


def _readers(
    gradient: FxNode, x: FxNode, weight: FxNode, turned: bool
) -> tuple[tuple[FxNode, ...], tuple[tuple[FxNode, bool], ...], tuple[FxNode, ...]]:
    """The products and sums that read the gradient of the logits."""
    of_x: list[FxNode] = []
    of_weight: list[tuple[FxNode, bool]] = []
    of_bias: list[FxNode] = []
    for user in gradient.users:
        if user.target is _aten.mm.default and user.args[0] is gradient:
            if _resolved(_args(user)[1]) != (weight, turned):
                raise _Refused(f"`{user.name}` multiplies their gradient by something else than the weight")
            of_x.append(user)
        elif user.target is _aten.mm.default and _resolved(_args(user)[0]) == (x, True):
            of_weight.append((user, True))
        elif user.target in _TRANSPOSES and all(
            one.target is _aten.mm.default and one.args[0] is user and one.args[1] is x for one in user.users
        ):
            of_weight += [(one, False) for one in user.users]
        elif user.target is _aten.sum.dim_IntList and list(_args(user)[1]) == [0]:
            of_bias.append(user)
        else:
            raise _Refused(f"`{user.name}` reads their gradient, too")
    return tuple(of_x), tuple(of_weight), tuple(of_bias)


def _is_product(node: FxNode) -> bool:
    return node.target is _aten.mm.default or node.target is _aten.addmm.default


def _args(node: FxNode) -> Any:
    return node.args


def _value(node: Any) -> Tensor:
    value = node.meta["val"]
    assert isinstance(value, Tensor)
    return value


def _number(extent: Any) -> int:
    return int(extent.node.hint) if isinstance(extent, torch.SymInt) else int(extent)


# ---- writing ---------------------------------------------------------------------------------------------------------


def write_in_blocks(module: GraphModule, found: Mapping[str, FxLoss], blocks: Mapping[str, LossBlocks]) -> None:
    """Take the losses that are named in blocks of rows."""
    for name, chosen in blocks.items():
        _Writer(module, found[name], chosen).write()
    module.graph.eliminate_dead_code()
    module.recompile()


class _Writer:
    """One loss."""

    def __init__(self, module: GraphModule, site: FxLoss, blocks: LossBlocks) -> None:
        self.graph, self.site, self.blocks = module.graph, site, blocks

    def call(self, target: Callable[..., Any], *args: Any) -> FxNode:
        """A node where nodes are inserted now, which comes from the line of the product."""
        node = self.graph.call_function(target, args)
        shown = map_arg(args, lambda used: used.meta["val"])
        node.meta = {key: value for key, value in self.site.product.meta.items() if key in _ORIGIN}
        with torch.no_grad():
            node.meta["val"] = target(*shown)
        return node

    def items(self, node: FxNode) -> list[FxNode]:
        return [self.call(getitem, node, number) for number in range(len(node.meta["val"]))]

    def write(self) -> None:
        site = self.site
        assert site.loss is not None and site.x is not None and site.weight is not None
        labels, reduction, ignored = site.loss.args[1], site.loss.args[3], site.loss.args[4]
        with self.graph.inserting_before(site.loss):
            x = self._rows_of(site.views, site.x)
            weight = self.call(_aten.t.default, site.weight) if site.turned else site.weight
            common = (x, weight, site.bias, labels)
            early = " ".join(site.gradients) if self.blocks.gradients == "forward" else ""
            made = self.call(_forward_op, *common, ignored, reduction == 1, self.blocks.rows, early)
            loss, total, logsumexp, *gradients = self.items(made)
        for user in list(site.loss.users):
            user.replace_all_uses_with(loss if user.args[1] == 0 else total)
        if site.backward is None or site.tangent is None:
            return
        with self.graph.inserting_before(site.backward):
            if self.blocks.gradients == "forward":
                scaled = [self.call(_aten.mul.Tensor, one, site.tangent) for one in gradients]
            else:
                scale = self.call(_aten.div.Tensor, site.tangent, total) if reduction == 1 else site.tangent
                wanted = " ".join(site.gradients)
                scaled = self.items(
                    self.call(_backward_op, *common, logsumexp, scale, ignored, self.blocks.rows, wanted)
                )
            self._hand_out(dict(zip(site.gradients, scaled)))

    def _hand_out(self, gradients: Mapping[str, FxNode]) -> None:
        site = self.site
        if site.of_x:
            whole = self._rows_of(site.views_back, gradients["x"])
            for node in site.of_x:
                node.replace_all_uses_with(whole)
        for node, turned in site.of_weight:
            node.replace_all_uses_with(
                self.call(_aten.t.default, gradients["weight"]) if turned else gradients["weight"]
            )
        for node in site.of_bias:
            shape = [_number(extent) for extent in _value(node).shape]
            node.replace_all_uses_with(self.call(_aten.view.default, gradients["bias"], shape))

    def _rows_of(self, views: Sequence[FxNode], rows: FxNode) -> FxNode:
        """Rows that views choose of logits, or of their gradients, of another tensor with as many rows."""
        if all(view.target in _VIEWS for view in views):
            return rows  # they are matrices at both ends
        width = _value(rows).shape[-1]
        for view in views:
            if view.target is _aten.clone.default:
                continue
            _, *given = _args(view)
            if view.target in _VIEWS or view.target is _aten.slice_backward.default:
                given[0] = [*given[0][:-1], width]
            target: Any = _aten.reshape.default if view.target in _VIEWS else view.target
            rows = self.call(target, rows, *given)
        return rows
