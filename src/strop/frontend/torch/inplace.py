"""Writes in place that amount to giving a value a new name.

An exported graph still says `relu_`. Functionalising it means tracing it once more, half of the time that capture
takes; yet nearly every write goes to a whole tensor that nothing else looks into. Those are followed here: after
`add_(x, y)` whoever reads `x` gets the sum.
"""

from __future__ import annotations

import operator

import torch

#: these hand their argument back without saying so in their schema
_UNDECLARED = ("aten.dropout.", "aten.feature_dropout.", "aten.alpha_dropout.", "aten.feature_alpha_dropout.")


def functional_twin(target: torch._ops.OpOverload) -> torch._ops.OpOverload | None:
    """`aten.add_.Tensor` → `aten.add.Tensor`."""
    name = target._schema.name.split("::")[1]
    if not name.endswith("_") or name.startswith("__"):
        return None
    packet = getattr(torch.ops.aten, name[:-1], None)
    twin = getattr(packet, target._overloadname, None)
    return twin if isinstance(twin, torch._ops.OpOverload) and not twin._schema.is_mutable else None


def is_write(node: torch.fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def owner(node: torch.fx.Node) -> torch.fx.Node:
    """The value that a chain of writes goes to."""
    while is_write(node) and isinstance(node.args[0], torch.fx.Node):
        node = node.args[0]
    return node


def only_renames(graph: torch.fx.Graph, fixed: frozenset[str]) -> bool:
    """Whether every write in the graph goes to a whole tensor that no view shows when it is written.

    `fixed` names placeholders that nobody may write to.
    """
    place = {node: i for i, node in enumerate(graph.nodes)}
    nested = torch._ops.HigherOrderOperator
    if any(isinstance(node.target, nested) or _updates_statistics(node) for node in graph.nodes):
        return False
    writes = [node for node in graph.nodes if is_write(node)]
    for write in writes:
        root = owner(write)
        if not _whole(write) or root.name in fixed or not is_fresh(root):
            return False
        family = [root, *(w for w in writes if owner(w) is root)]
        views = [user for node in family for user in node.users if shares(user) and not is_write(user)]
        if any(place[view] < place[write] for view in views):
            return False
    return True


def _updates_statistics(node: torch.fx.Node) -> bool:
    """Norms in training write to their running statistics, though their schemas do not say so."""
    norms = (torch.ops.aten.batch_norm.default, torch.ops.aten.instance_norm.default)
    return node.target in norms and bool(node.args[5]) and node.args[3] is not None


def _whole(write: torch.fx.Node) -> bool:
    """The twin computes the same only if no operand has another dtype than the tensor written to."""
    target = write.target
    if not isinstance(target, torch._ops.OpOverload) or functional_twin(target) is None:
        return False
    values = [arg.meta.get("val") for arg in write.all_input_nodes]
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    return len(tensors) == len(values) and len({tensor.dtype for tensor in tensors}) == 1


def is_fresh(node: torch.fx.Node) -> bool:
    """Whether the node has storage of its own."""
    return node.op == "placeholder" or (node.op == "call_function" and not shares(node))


def shares(node: torch.fx.Node) -> bool:
    """Whether the node's result may be its argument's storage."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return target is operator.getitem
    if str(target).startswith(_UNDECLARED):
        return True
    return any(argument.alias_info is not None for argument in target._schema.arguments)
