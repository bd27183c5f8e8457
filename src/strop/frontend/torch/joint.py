"""From AOTAutograd's joint FX graph to our own, and from what is kept there back to FX nodes.

The halves that are compiled are cut out of the FX graph, by its nodes: sizes that are only known at a call, the order
of saved tensors and checks of their versions are AOTAutograd's business, and eager mode can run either half. So the
values that may be kept are those that FX has a node for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import getitem
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph as FxGraph
from torch.fx import GraphModule
from torch.fx import Node as FxNode
from torch.utils.checkpoint import CheckpointPolicy

from strop.frontend.torch.blocked_losses import FxLoss, find_losses, write_in_blocks
from strop.frontend.torch.normalize import from_fx
from strop.graph.ir import Node
from strop.graph.joint import LEAVES, JointGraph
from strop.graph.operators import VIEWS

_aten = torch.ops.aten


@dataclass(frozen=True)
class JointConversion:
    """A joint graph, and the FX nodes that its values stand for."""

    joint: JointGraph
    nodes: Mapping[str, str]  # a value's name → the name of the FX node that makes it
    values: Mapping[str, Node]  # the name of an FX node that backward may read → the value that it makes
    losses: Mapping[str, FxLoss] = field(default_factory=dict)  # cross-entropies, by the names of their logits


def joint_from_fx(module: GraphModule, results: int) -> JointConversion:
    """Convert a joint graph whose first outputs are the `results` of forward; sizes that vary have their hints."""
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    values_given = [node.meta["val"] for node in placeholders]
    examples = [_example(value) for value in values_given] if any(map(_varies, values_given)) else None
    conversion = from_fx(GraphModule(module, _copy(module.graph)), examples)
    late = _late(module.graph)
    nodes: dict[str, str] = {}
    values: dict[str, Node] = {}
    for node in module.graph.nodes:
        value = conversion.values.get(node.name)
        if node.op != "call_function" or node in late or not isinstance(value, Node) or _is_number(node):
            continue
        values[node.name] = value
    known = {*values.values()}
    for name, value in values.items():
        base = _base(value)
        if value.op not in LEAVES and (base is value or (base not in known and base.op not in LEAVES)):
            nodes.setdefault(value.name, name)
    tangents = sum(is_tangent(node) for node in placeholders if isinstance(node.meta["val"], torch.Tensor))
    returned = module.graph.output_node().args[0]
    assert isinstance(returned, (list, tuple))
    tensors = sum(isinstance(output, FxNode) and not _is_number(output) for output in returned[:results])
    written = frozenset(conversion.values[node.name].name for node in written_inputs(module))
    joint = JointGraph.of(conversion.traced, tensors, tangents, frozenset(nodes), conversion.drawn, written)
    losses = {values[one.product.name].name: one for one in find_losses(module, results) if one.product.name in values}
    joint = replace(joint, losses={name: one.described() for name, one in losses.items()})
    return JointConversion(joint, nodes, values, losses)


def with_blocks(conversion: JointConversion, module: GraphModule, results: int, joint: JointGraph) -> JointConversion:
    """The conversion of the FX graph after the losses that `joint` takes in blocks have been written so."""
    if not joint.blocks:
        return conversion
    write_in_blocks(module, conversion.losses, joint.blocks)
    made = joint_from_fx(module, results)
    return replace(made, joint=replace(made.joint, losses={**made.joint.losses, **joint.losses}, blocks=joint.blocks))


def _base(value: Node) -> Node:
    """What a view shows: keeping that keeps the view."""
    while value.op in VIEWS:
        value = value.inputs[0]
    return value


def written_inputs(module: GraphModule) -> list[FxNode]:
    """The placeholders that get a new value when forward has run."""
    described = module.graph.output_node().meta["desc"]
    targets = [one.mutated_input for one in described if hasattr(one, "mutated_input")]
    return [node for node in module.graph.nodes if node.op == "placeholder" and node.meta["desc"] in targets]


def is_plain(module: GraphModule) -> str:
    """Why a joint graph is left to torch's own partition; empty where it is not."""
    if "desc" not in module.graph.output_node().meta:
        return "this version of torch does not say which inputs are written to"
    for node in module.graph.nodes:
        if node.op == "placeholder" and not isinstance(node.meta.get("val"), torch.Tensor | int | torch.SymInt):
            return f"`{node.name}` is no tensor"
        if "recompute" in node.meta:
            return "the model says by checkpoints what is recomputed"
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            return f"`{node.target}` holds a graph of its own"
        if isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable:
            return f"`{node.target}` writes to its argument"
    return ""


def keep_draws(module: GraphModule) -> None:
    """Have torch's own partition keep what a checkpointed part drew: computing it again would need the generator's
    state of then. Of a dropout the mask is kept, and its result computed again from that."""
    for node in list(module.graph.nodes):
        random = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
        if not random or "recompute" not in node.meta:
            continue
        policy = node.meta.pop("recompute")
        parts = {user.args[1]: user for user in node.users if user.target is getitem}
        for drawn in parts.values() if parts else (node,):
            drawn.meta["recompute"] = CheckpointPolicy.MUST_SAVE
        if node.target is _aten.native_dropout.default and len(parts) == 2 and node.args[2]:
            _from_the_mask(module, node, parts[0], parts[1], policy)
    module.recompile()


def _from_the_mask(
    module: GraphModule, dropout: FxNode, result: FxNode, mask: FxNode, policy: CheckpointPolicy
) -> None:
    """Compute a dropout's result by operators that may be computed again."""
    x, p = dropout.args[:2]
    assert isinstance(p, float | int)
    with module.graph.inserting_after(mask):
        chosen = module.graph.call_function(_aten.mul.Tensor, (x, mask))
    with module.graph.inserting_after(chosen):
        scaled = module.graph.call_function(_aten.mul.Tensor, (chosen, 0.0 if p == 1 else 1 / (1 - p)))
    for made in (chosen, scaled):
        made.meta.update(result.meta, recompute=policy)
    result.replace_all_uses_with(scaled)
    module.graph.erase_node(result)


def is_tangent(node: FxNode) -> bool:
    return node.op == "placeholder" and "tangents" in str(node.target)


def lost_inputs(module: GraphModule, backward: GraphModule) -> str:
    """An input that forward writes to and the backward graph needs as it was, though nothing of the joint graph's
    backward reads it: an operator that is computed again takes it. Empty where there is none."""
    late = _late(module.graph)
    needed = {node.name for node in backward.graph.nodes if node.op == "placeholder"}
    lost = (n.name for n in written_inputs(module) if n.name in needed and not any(user in late for user in n.users))
    return next(lost, "")


def without_idle_draws(backward: GraphModule) -> set[str]:
    """Take operators out of a backward graph that nobody uses, random ones among them: forward has drawn. What is left
    of its inputs."""
    backward.graph.eliminate_dead_code(is_impure_node=lambda node: node.op in ("placeholder", "output"))
    backward.recompile()
    return {node.name for node in backward.graph.nodes if node.op == "placeholder" and node.users}


def early_nodes(module: GraphModule) -> list[FxNode]:
    """The nodes that depend on no tangent."""
    late = _late(module.graph)
    return [node for node in module.graph.nodes if node not in late and node.op != "output"]


def _late(graph: FxGraph) -> set[FxNode]:
    late: set[FxNode] = set()
    for node in graph.nodes:
        if is_tangent(node) or any(used in late for used in node.all_input_nodes):
            late.add(node)
    return late


def _copy(graph: FxGraph) -> FxGraph:
    """With metadata of its own, into which shapes are written."""
    made = FxGraph()
    returned = made.graph_copy(graph, {}, return_output_node=False)
    made.output(returned)
    return made


def _is_number(node: FxNode) -> bool:
    return not isinstance(node.meta.get("val"), torch.Tensor)


def _example(value: Any) -> Any:
    """A tensor or a number as it was when the graph was traced."""
    if not isinstance(value, torch.Tensor):
        return _hint(value)
    shape, strides = (tuple(map(_hint, sizes)) for sizes in (value.shape, value.stride()))
    with FakeTensorMode():
        return torch.empty_strided(shape, strides, dtype=value.dtype, device=value.device)


def _varies(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return any(isinstance(extent, torch.SymInt) for extent in (*value.shape, *value.stride()))
    return isinstance(value, torch.SymInt)


def _hint(value: Any) -> Any:
    return int(value.node.hint) if isinstance(value, torch.SymInt) else value


def kept_nodes(conversion: JointConversion, module: GraphModule, kept: Sequence[Node]) -> list[FxNode]:
    """The FX nodes of values that are kept, and all tensors that the step is given: backward may read any of them.

    Arguments that an operator of backward takes and does not look at are kept as well: the new running statistics of a
    batch norm, say, which are there anyway.
    """
    wanted = {conversion.nodes[node.name] for node in kept}
    late = _late(module.graph)
    for node in module.graph.nodes:
        value = conversion.values.get(node.name)
        unread = value is not None and value.op not in LEAVES and value not in conversion.joint.reach
        if unread and any(user in late for user in node.users):
            wanted.add(node.name)
    primals = [n for n in module.graph.nodes if n.op == "placeholder" and not is_tangent(n) and not _is_number(n)]
    return [*primals, *(node for node in module.graph.nodes if node.name in wanted)]
