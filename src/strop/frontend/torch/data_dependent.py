"""Shapes and control flow that depend on the values of tensors: what torch raises, as a problem."""

from __future__ import annotations

from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from strop.core.problem import Problem
from strop.graph.ir import Origin

#: what torch raises where it cannot go on without the values of tensors
DATA_DEPENDENT = (DataDependentOutputException, DynamicOutputShapeException, GuardOnDataDependentSymNode)


def depends_on_data(error: Exception, where: Origin, help: str = "") -> Problem:
    """One of `DATA_DEPENDENT` as a problem; the message of the first two is the operator alone."""
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    bare = isinstance(error, (DataDependentOutputException, DynamicOutputShapeException))
    told = f"the result of `{reason}` depends on data" if bare else f"control flow or a shape depends on data: {reason}"
    help = help or "keep it a tensor of known shape, or compile with partial=True"
    return Problem("STR106", told, where=where, help=help)
