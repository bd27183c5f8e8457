"""The short way of a training step: from Dynamo's code to native code and back without AOTAutograd's wrappers.

What AOTAutograd puts around the two halves of a step serves subclasses of tensors, views of inputs that are returned,
random states and much else, and takes longer than a small network's whole step in eager mode. Where a graph has none of
that, a function of our own calls the halves. AOTAutograd's way serves the first steps, until it has had backward
compiled, and everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch._functorch._aot_autograd.schemas import SubclassCreationMeta
from torch.autograd import Function

if TYPE_CHECKING:
    from strop.runtime.training import TrainingGraphs

_functorch = torch._C._functorch
_PLAIN = {Tensor}
#: of a description: what the short way does not do; a version of PyTorch that lacks one may mean another thing
_OTHER = (
    "num_outputs_aliased", "num_intermediate_bases", "num_symints_saved_for_bw", "num_tensors_saved_with_no_vc_check",
    "num_opaque_objects_saved_for_bw", "num_mutated_graph_handled_indices", "num_graphsafe_rng_states",
    "num_backward_tokens", "tokens", "dynamic_outputs", "is_rng_op_functionalized",
    "indices_of_inputs_that_requires_grad_with_mutations_in_bw",
)  # fmt: skip
_unsafe_view = torch.ops.aten._unsafe_view.default


def short_step(step: TrainingGraphs, compiled: Callable[..., Any]) -> Callable[..., Any]:
    """`compiled`, which AOTAutograd made, with a short way past its wrappers as soon as there is one."""
    way: Callable[..., Any] | None = None

    def call(*args: Any) -> Any:
        nonlocal way
        if way is not None and torch.is_grad_enabled() and _functorch.peek_interpreter_stack() is None:
            return way(*args)
        results = compiled(*args)
        if way is None and step.halves is not None:
            long = _function_in(results) if is_plain(step, len(args)) else None
            way = compiled if long is None else _function_of(step, long)
        return results

    return torch._dynamo.disable(call, reason="do not trace compiled graphs")  # type: ignore[no-any-return, no-untyped-call]


def _function_in(results: Any) -> Any:
    """AOTAutograd's function, if these are results of it."""
    made_by = [result.grad_fn for result in results if result.grad_fn is not None]
    return getattr(made_by[0], "_forward_cls", None) if made_by else None


def is_plain(step: TrainingGraphs, inputs: int) -> bool:
    """Whether the halves take and return nothing but tensors, each an own one."""
    described = step.described
    if described is None or step.halves is None or step.autocast or any(half.symbolic for half in step.halves):
        return False
    forward, backward = step.halves
    if not all(hasattr(described, name) for name in _OTHER) or any(getattr(described, name) for name in _OTHER):
        return False
    if described.grad_enabled_mutation is not None:
        return False
    seen = described.subclass_inp_meta, described.subclass_fw_graph_out_meta, described.subclass_tangent_meta
    if any(isinstance(one, SubclassCreationMeta) for group in seen for one in group):
        return False
    written = [described.input_info[place] for place in described.mutated_inp_runtime_indices]
    if not all(info.mutates_data and not info.mutates_metadata and not info.requires_grad for info in written):
        return False
    whole = len(described.input_info) == len(forward.placeholders) == len(backward.returned) == inputs
    returned = [info.raw_type for info in described.output_info]
    return whole and forward.takes_tensors and backward.takes_tensors and all(issubclass(t, Tensor) for t in returned)


def _function_of(step: TrainingGraphs, long: Any) -> Callable[..., Any]:
    """A call of the step's forward that autograd knows, as a function like AOTAutograd's own, for what else asks it."""
    assert step.halves is not None
    forward, backward = step.halves
    described = step.described
    written = tuple(described.mutated_inp_runtime_indices)
    first, last = len(written), described.num_forward_returns
    fresh = tuple(described.unsafe_view_out_indices)
    unknown = tuple(i for i, info in enumerate(described.output_info) if not info.requires_grad)
    wanted = tuple(first + i for i, info in enumerate(described.output_info) if info.requires_grad_for_backward)
    lone = {i for i, info in enumerate(described.input_info) if info.requires_grad and backward.returned[i] is None}
    statistics = (None,) * first

    class CompiledStep(long):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            made = forward.call([*args])
            if written:
                torch._foreach_copy_([args[place] for place in written], [*made[:first]])
            results = [*made[first:last]]
            ctx.save_for_backward(*[kept.detach() if kept._is_view() else kept for kept in made[last:]])
            for place in fresh:
                results[place] = _unsafe_view(results[place], results[place].shape)
            if unknown:
                ctx.mark_non_differentiable(*[results[place] for place in unknown])
                ctx._materialize_non_diff_grads = False
            return (*statistics, *results)

        @staticmethod
        def backward(ctx: Any, given: list[Any]) -> Any:
            tangents = [given[i] for i in wanted]
            plain = _PLAIN.issuperset(map(type, tangents))
            if not plain or torch.is_grad_enabled() or _functorch.peek_interpreter_stack() is not None:
                return long.backward(ctx, given)
            args = [*ctx.saved_tensors, *tangents]
            given.clear()
            tangents.clear()
            ctx.maybe_clear_saved_tensors()
            return tuple(backward.call(args))

    CompiledStep._backward_cls.symints = CompiledStep._backward_cls.opaque_objects = ()  # of every context
    apply: Callable[..., tuple[Any, ...]] = super(Function, CompiledStep).apply  # type: ignore[misc]
    if not lone and not first:
        return apply

    def call(*args: Any) -> Any:
        return apply(*[arg.detach() if i in lone else arg for i, arg in enumerate(args)])[first:]

    return call
