"""An operator: quick_gelu(x) = x · sigmoid(slope · x), which PyTorch has no operator for."""

import torch

from strop import extend


@torch.library.custom_op("strop_example::quick_gelu", mutates_args=())
def quick_gelu(x: torch.Tensor, slope: float) -> torch.Tensor:
    """The operator of torch's dispatcher that models call."""
    return x * torch.sigmoid(slope * x)


@quick_gelu.register_fake
def _(x: torch.Tensor, slope: float) -> torch.Tensor:
    return torch.empty_like(x)


def infer(x: extend.Type, slope: float) -> extend.Type:
    """The type of the result, from the types of the inputs and the attributes."""
    if x.dtype not in ("f32", "f64"):
        raise ValueError(f"quick_gelu of {x.dtype}")
    return x


def lower(c: extend.Context) -> extend.Nest:
    """One program per element: out[i, j] = x[i, j] · sigmoid(slope · x[i, j])."""
    loops = c.loops("i", c.node.shape)
    x = c.read(0, *loops)
    slope = extend.Const(c.attr("slope"), c.dtype)
    value = extend.apply("mul", x, extend.apply("sigmoid", extend.apply("mul", slope, x)))
    return c.nest(loops, extend.store(c.out, loops, value))


def reference(x: torch.Tensor, slope: float) -> torch.Tensor:
    """The same in torch: what the operator means, and what runs where generated code does not."""
    return x * torch.sigmoid(slope * x)


extend.operator(
    "quick_gelu",
    infer=infer,
    lower=lower,
    reference=reference,
    torch="strop_example::quick_gelu",
    computes="x · sigmoid(slope · x)",
)
