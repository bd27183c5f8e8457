"""One spelling for contractions over a batch.

Export hands over `linear` and `matmul` on all the batch dimensions; AOTAutograd folds them into one before and unfolds
them after. The unfolded form is ours:

    linear(reshape(x), w)                    →  reshape(linear(x, w))       where the reshape folded the batch of x
    reshape(linear(reshape(x), w))           →  linear(reshape(x), w)       where it did more, and all users unfold
    reshape(matmul(reshape(x), reshape(y)))  →  matmul(x, y)
"""

from __future__ import annotations

from dataclasses import replace

from strop.frontend.torch.builder import broadcast
from strop.graph.ir import Graph, Node, Type


def unfold_batches(graph: Graph) -> Graph:
    made: dict[Node, Node] = {}
    roots = set(graph.roots)
    for node in graph.nodes:
        current = node.with_inputs(tuple(made[i] for i in node.inputs))
        if current.op in ("linear", "matmul"):
            users = graph.users[node] if node not in roots else ()
            made[node] = _with_shape(_unfolded(current, users), node)
        elif current.op == "reshape":
            made[node] = _with_shape(current.inputs[0], node)
        else:
            made[node] = current
    return Graph(
        inputs=graph.inputs,
        params=graph.params,
        outputs=tuple(made[n] for n in graph.outputs),
        mutations=tuple((target, made[value]) for target, value in graph.mutations),
    )


def _with_shape(value: Node, node: Node) -> Node:
    """The value in the shape of the node that it takes the place of."""
    while value.op == "reshape":
        value = value.inputs[0]
    if value.shape == node.shape:
        return value
    name = node.name if node.op == "reshape" else f"{node.name}.folded"
    return Node("reshape", (value,), {}, node.types, name, node.origin)


def _unfolded(node: Node, users: tuple[Node, ...]) -> Node:
    a, b = node.inputs[:2]
    folded = a.op == "reshape" and a.type.rank == 2
    if folded and (node.op == "linear" or b.type.rank == 2):
        source = a.inputs[0]
        if source.type.rank > 1 and source.shape[-1] == a.shape[-1]:
            return _on(node, source, *node.inputs[1:], shape=(*source.shape[:-1], node.shape[-1]))
        batch = _unfolding(users, node.shape[-1:])
        if batch is not None:
            left = _reshaped(a, (*batch, a.shape[-1]))
            return _on(node, left, *node.inputs[1:], shape=(*batch, node.shape[-1]))
    if node.op == "matmul" and node.type.rank == 3 and a.op == b.op == "reshape":
        return _unfolded_batch(node, a, b, users)
    return node


def _unfolding(users: tuple[Node, ...], kept: tuple[int, ...]) -> tuple[int, ...] | None:
    """The batch that the users unfold a result to, when all of them reshape and one keeps the last dimensions."""
    if any(user.op != "reshape" for user in users):
        return None
    batches = (user.shape[: -len(kept)] for user in users if user.shape[-len(kept) :] == kept)
    return next((batch for batch in batches if len(batch) > 1), None)


def _unfolded_batch(node: Node, a: Node, b: Node, users: tuple[Node, ...]) -> Node:
    batch = _unfolding(users, node.shape[-2:])
    if batch is None:
        return node
    sides = []
    for side in (a, b):
        source = _reshaped(side, (*batch, *side.shape[-2:]))
        stretched = source.op == "expand" and source.inputs[0].shape[-2:] == source.shape[-2:]
        sides.append(source.inputs[0] if stretched else source)
    if broadcast(sides[0].shape[:-2], sides[1].shape[:-2]) != batch:
        return node
    return _on(node, *sides, shape=(*batch, *node.shape[-2:]))


def _on(node: Node, *inputs: Node, shape: tuple[int, ...]) -> Node:
    return replace(node, inputs=inputs, types=(Type(node.dtype, shape),))


def _reshaped(node: Node, shape: tuple[int, ...]) -> Node:
    """Another shape of what a reshape shows."""
    source = node.inputs[0]
    return source if source.shape == shape else _on(node, source, shape=shape)
