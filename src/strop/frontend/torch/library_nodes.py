"""Library nodes: operators that run through their own ATen kernel, and how to take an operator apart instead.

The arguments of a call are kept as a template of plain values. In it `("%", i)` stands for the node's i-th input;
`("dtype", "f16")`, `("device", "cpu")`, `("layout", …)` and `("memory_format", …)` for torch's own objects. Inputs
that the template does not name only keep an order: each random operator comes after the one before it (see `draws`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_flatten, tree_unflatten

from strop.frontend.torch.dtypes import DTYPES, NAMES
from strop.frontend.torch.inplace import is_write
from strop.frontend.torch.random_operators import IN_PLACE, is_random, layouts
from strop.graph.ir import Node

#: recurrent networks would unroll into one copy of the cell per time step
WHOLE = ("aten.lstm.", "aten.gru.", "aten.rnn_", "aten.quantized_", "aten._ctc_loss", "aten.ctc_loss")
#: operators with a result that torch does not describe: oneDNN's workspace for the backward of a recurrent layer
HIDDEN = ("aten.mkldnn_rnn_layer",)
#: more operators than this, and one library call is the better program
LONGEST = 300

#: operators that read elements by their place in storage: they get their input with eager's strides
BY_PLACE = ("aten.as_strided",)
#: operators that see how their input lies in memory: it is made contiguous, as it is when they are captured
BY_STRIDES = ("aten.as_strided.", "aten._unsafe_view.", "aten._reshape_alias.", "aten.view.dtype", "aten.view_as_")

#: operators without a public name that take any strides; others rely on their callers to make arguments contiguous
ANY_STRIDES = ("aten._softmax.", "aten._log_softmax.", "aten._scaled_dot_product_", "aten._to_copy.")

#: functions that are called in the place of torch's: the insides of our own operators, which torch takes some tens of
#: microseconds to reach, and faster kernels with the same results
DIRECT: dict[str, Callable[..., Any]] = {}

_KINDS: dict[str, type] = {"device": torch.device, "layout": torch.layout, "memory_format": torch.memory_format}


def template(value: Any, inputs: list[Node]) -> Any:
    """Arguments as plain values; the nodes among them are appended to `inputs`."""
    if isinstance(value, Node):
        inputs.append(value)
        return ("%", len(inputs) - 1)
    if isinstance(value, (list, tuple)):
        return tuple(template(v, inputs) for v in value)
    if isinstance(value, torch.dtype):
        return ("dtype", NAMES.get(value, str(value)))
    for kind, cls in _KINDS.items():
        if isinstance(value, cls):
            return (kind, str(value).removeprefix("torch."))
    return value


def filled(value: Any, inputs: Sequence[torch.Tensor]) -> Any:
    """The arguments again, from their template and the inputs' values."""
    if not isinstance(value, tuple):
        return value
    if len(value) == 2 and isinstance(value[0], str):
        kind, content = value
        if kind == "%":
            return inputs[content]
        if kind == "dtype":
            return DTYPES.get(content) or getattr(torch, content.removeprefix("torch."))
        if kind == "device":
            return torch.device(content)
        if kind in _KINDS:
            return getattr(torch, content)
    return [filled(v, inputs) for v in value]


def resolve(target: str) -> Callable[..., Any]:
    """`aten.sort.default` → the operator."""
    namespace, name, overload = target.split(".")
    packet = getattr(getattr(torch.ops, namespace), name)
    return getattr(packet, overload)  # type: ignore[no-any-return]


def is_known(target: str) -> bool:
    """Whether the installed PyTorch has such an operator."""
    try:
        return isinstance(resolve(target), torch._ops.OpOverload)
    except AttributeError:
        return False


def call(node: Node, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Run a library node: its results as fresh contiguous tensors."""
    return caller(node)(inputs)


def caller(node: Node, views: bool = False) -> Callable[[Sequence[torch.Tensor]], tuple[torch.Tensor, ...]]:
    """`call` for one node, with everything looked up beforehand.

    With `views`, its results are as the operator gives them, as in eager: they may lie in any way, and in its inputs.
    """
    target = node.attrs["target"]
    plain = "aten.reshape.default" if target == "aten.view.default" else target
    operator = DIRECT.get(target) or resolve(IN_PLACE.get(target, plain))
    laid_out = layouts(node.attrs.get("strides", ()), target in IN_PLACE)
    as_given = target.startswith(ANY_STRIDES) or re.match(r"aten\.[a-z]", target) is not None
    as_given = as_given and not target.startswith(BY_STRIDES) and not (target in IN_PLACE or is_random(operator))
    arguments = [_filler(value) for value in node.attrs["args"]]
    keywords = [(name, _filler(value)) for name, value in node.attrs["kwargs"]]

    def run(inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        inputs = list(inputs) if as_given else [tensor.contiguous() for tensor in inputs]
        for place, lay_out in laid_out:
            inputs[place] = lay_out(inputs[place])
        found = operator(*[fill(inputs) for fill in arguments], **{name: fill(inputs) for name, fill in keywords})
        leaves = (found,) if isinstance(found, torch.Tensor) else tree_flatten(found)[0]
        if views:
            return tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
        taken = {tensor.untyped_storage().data_ptr() for tensor in inputs if tensor.numel()}
        results = []
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                fresh = leaf.resolve_conj().resolve_neg().contiguous()
                shared = fresh.untyped_storage().data_ptr() in taken or any(fresh is tensor for tensor in inputs)
                results.append(fresh.clone() if shared else fresh)
        return tuple(results)

    return run


def _filler(value: Any) -> Callable[[Sequence[torch.Tensor]], Any]:
    """`filled` of one template; what has no inputs in it is made once."""
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "%":
        place = value[1]
        return lambda inputs: inputs[place]
    if not _has_inputs(value):
        made = filled(value, ())
        return lambda inputs: made
    parts = [_filler(part) for part in value]
    return lambda inputs: [part(inputs) for part in parts]


def _has_inputs(value: Any) -> bool:
    if not isinstance(value, tuple):
        return False
    return (len(value) == 2 and value[0] == "%") or any(_has_inputs(part) for part in value)


def is_composite(target: torch._ops.OpOverload) -> bool:
    """Whether the operator is only a composition of others, for every backend."""
    return bool(target._can_decompose())


def functional_trace(
    function: Callable[..., Any], tensors: Sequence[torch.Tensor], table: Mapping[Any, Callable[..., Any]] | None = None
) -> torch.fx.GraphModule:
    """A function of tensors as an FX graph without writes; compositions may hide writes, which need a second round."""
    traced = make_fx(function, decomposition_table=table, tracing_mode="fake")(*tensors)
    if any(is_write(node) for node in traced.graph.nodes):
        traced = make_fx(torch.func.functionalize(traced, remove="mutations"), tracing_mode="fake")(*tensors)
    return traced


def take_apart(
    target: torch._ops.OpOverload, args: Any, kwargs: Any, used: frozenset[int]
) -> torch.fx.GraphModule | None:
    """The operator written as others, traced on fake tensors; None where torch has no such writing.

    Of several results only the `used` ones are computed.
    """
    if str(target).startswith(WHOLE) or is_random(target):
        return None
    table = {target: decomposition_table[target]} if target in decomposition_table else {}
    if not table and not is_composite(target):
        return None
    leaves, spec = tree_flatten((args, kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def run(*tensors: torch.Tensor) -> Any:
        values = list(leaves)
        for place, tensor in zip(places, tensors):
            values[place] = tensor
        again, keywords = tree_unflatten(values, spec)
        return target(*again, **keywords)

    tensors = [leaves[i] for i in places]
    try:
        traced = functional_trace(run, tensors, table)
    except Exception:  # a decomposition may refuse in any way it likes; the kernel itself remains
        return None
    _keep_results(traced, used)
    calls = [node for node in traced.graph.nodes if node.op == "call_function"]
    if len(calls) > LONGEST or any(node.target is target for node in calls):
        return None
    return traced


def _keep_results(module: torch.fx.GraphModule, used: frozenset[int]) -> None:
    output = next(node for node in reversed(module.graph.nodes) if node.op == "output")
    results = output.args[0]
    if isinstance(results, (tuple, list)):
        output.args = (tuple(result if i in used else None for i, result in enumerate(results)),)
    module.graph.eliminate_dead_code(lambda node: node.op in ("placeholder", "output"))
