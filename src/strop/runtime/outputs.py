"""What a call returns: computed tensors, plain values, and outputs that are views of what went in.

In eager, `return x`, `return x[1:].t()` or `return self.weight` hand out the caller's own storage, and a write through
one is seen through the other. The exported graph still knows: an output whose chain of aliasing operators ends at a
placeholder is made by running that chain on the actual tensor, so that a `reshape` copies exactly when eager's would.
In-place operators on the chain drop out: by the time the outputs are made, their effect has been written back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.fx import Node


@dataclass(frozen=True, slots=True)
class Computed:
    """The index-th tensor that the program returns."""

    index: int

    def value(self, given: Sequence[Tensor], state: Mapping[str, Tensor], made: Sequence[Tensor]) -> Any:
        return made[self.index]


@dataclass(frozen=True, slots=True)
class PlainValue:
    """A number, a string or None: fixed by the variant."""

    constant: Any

    def value(self, given: Sequence[Tensor], state: Mapping[str, Tensor], made: Sequence[Tensor]) -> Any:
        return self.constant


@dataclass(frozen=True, slots=True)
class Alias:
    """A view of an argument (an int), of a parameter or buffer (its name), or of a computed tensor."""

    source: int | str | Computed
    steps: tuple[Callable[[Tensor], Any], ...] = ()

    def value(self, given: Sequence[Tensor], state: Mapping[str, Tensor], made: Sequence[Tensor]) -> Any:
        if isinstance(self.source, Computed):
            result: Any = made[self.source.index]
        else:
            result = given[self.source] if isinstance(self.source, int) else state[self.source]
        for step in self.steps:
            result = step(result)
        return result


Output = Computed | PlainValue | Alias

#: they return their very argument outside training, though their schemas do not say so
_IDENTITY_OUTSIDE_TRAINING = (
    torch.ops.aten.dropout.default, torch.ops.aten.feature_dropout.default,
    torch.ops.aten.alpha_dropout.default, torch.ops.aten.feature_alpha_dropout.default,
)  # fmt: skip


def outputs_of(exported: ExportedProgram) -> tuple[Output, ...]:
    """One entry per leaf of the output tree of a program that has not been functionalised."""
    returned = exported.graph_module.graph.output_node().args[0]
    assert isinstance(returned, (tuple, list))
    leaves = [
        spec.arg.value if isinstance(spec.arg, ConstantArgument) else node
        for spec, node in zip(exported.graph_signature.output_specs, returned)
        if spec.kind is OutputKind.USER_OUTPUT
    ]
    return trace_back(leaves, _sources(exported))


def trace_back(leaves: Sequence[Any], sources: Mapping[str, int | str]) -> tuple[Output, ...]:
    """What each returned value is. `Computed.index` counts the nodes among the leaves; `sources` is by node name."""
    nodes = [leaf for leaf in leaves if isinstance(leaf, Node)]
    computed: dict[Node, int] = {}
    for index, node in enumerate(nodes):
        computed.setdefault(node, index)
    counted = iter(range(len(nodes)))
    return tuple(
        _alias(leaf, sources, computed, next(counted)) if isinstance(leaf, Node) else PlainValue(leaf)
        for leaf in leaves
    )


def _sources(exported: ExportedProgram) -> dict[str, int | str]:
    """The placeholders that stand for a caller's tensor: its position, or the name under which the module holds it."""
    tensors = [spec for spec in exported.graph_signature.input_specs if not isinstance(spec.arg, ConstantArgument)]
    given = [spec.arg.name for spec in tensors if spec.kind is InputKind.USER_INPUT]
    held = {spec.arg.name: spec.target for spec in tensors if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER)}
    return {**{name: position for position, name in enumerate(given)}, **{n: t for n, t in held.items() if t}}


def _alias(node: Node, sources: Mapping[str, int | str], computed: Mapping[Node, int], index: int) -> Output:
    """Follow the chain to its end; the last output on it is the one that is computed."""
    steps: list[Callable[[Tensor], Any]] = []
    found: Output = Computed(index)
    while True:
        if node.name in sources:
            return Alias(sources[node.name], tuple(reversed(steps)))
        if computed.get(node, index) != index:
            found = Alias(Computed(computed[node]), tuple(reversed(steps)))
        followed = _follow(node)
        if followed is None:
            return found
        node, step = followed
        if step is not None:
            steps.append(step)


def _follow(node: Node) -> tuple[Node, Callable[[Tensor], Any] | None] | None:
    """The tensor whose storage the node's result shares, and the operation between them (None: in place)."""
    if getattr(node.target, "__name__", "") == "getitem" and isinstance(node.args[0], Node):
        inner = _follow(node.args[0])
        if inner is None or inner[1] is None:
            return None
        split, index = inner[1], node.args[1]
        return inner[0], lambda tensor: split(tensor)[index]
    if not isinstance(node.target, torch._ops.OpOverload) or not node.args or not isinstance(node.args[0], Node):
        return None
    if node.target in _IDENTITY_OUTSIDE_TRAINING and not node.args[2]:
        return node.args[0], None
    if not _shares_storage(node.target._schema):
        return None
    if node.target._schema.is_mutable:
        return node.args[0], None
    if any(isinstance(arg, Node) for arg in _flat((node.args[1:], node.kwargs))):
        return None
    return node.args[0], _step(node.target, node.args[1:], node.kwargs)


def _shares_storage(schema: torch._C.FunctionSchema) -> bool:
    """Whether the result has the first argument's storage: `Tensor(a) -> Tensor(a)`, or `Tensor(a -> *)` for lists."""
    given = schema.arguments[0].alias_info
    if given is None or not schema.returns:
        return False
    returned = schema.returns[0].alias_info
    return "*" in given.after_set or (returned is not None and bool(given.before_set & returned.before_set))


def _step(target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Callable[[Tensor], Any]:
    # Functionalisation turns `reshape` into `view` by the example's strides; other strides may need the copy.
    target = torch.ops.aten.reshape.default if target is torch.ops.aten.view.default else target
    return lambda tensor: target(tensor, *args, **kwargs)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        for inner in value:
            yield from _flat(inner)
    else:
        yield value
