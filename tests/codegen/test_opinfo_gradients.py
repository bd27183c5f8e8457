"""Gradients of the operators that training networks use, on PyTorch's own samples of them, against eager.

Each sample becomes the vector-Jacobian product of its operator, traced through autograd: forward and backward in one
program. `tests/goldens/codegen/opinfo_gradients.txt` says how many samples of each operator are native;
`pytest --update-golden` writes it anew.
"""

from __future__ import annotations

from dataclasses import replace

import golden
import pytest
import torch
from torch.utils._pytree import tree_flatten

from codegen import opinfo

pytestmark = pytest.mark.filterwarnings("ignore")

LIST = golden.HOME / "codegen" / "opinfo_gradients.txt"
MOST = 4  # samples of an operator
OPERATORS = (
    "add", "addmm", "amax", "bmm", "cat", "clamp", "cumsum", "div.no_rounding_mode", "exp", "gather", "index_add", "index_put",
    "index_select", "linalg.vector_norm", "log_softmax", "logsumexp", "matmul", "max.reduction_with_dim", "mean", "mm",
    "mul", "nn.functional.adaptive_avg_pool2d", "nn.functional.avg_pool2d", "nn.functional.batch_norm",
    "nn.functional.binary_cross_entropy_with_logits", "nn.functional.conv1d", "nn.functional.conv2d",
    "nn.functional.conv_transpose2d", "nn.functional.cross_entropy", "nn.functional.embedding", "nn.functional.gelu",
    "nn.functional.group_norm", "nn.functional.hardswish", "nn.functional.interpolate.bilinear",
    "nn.functional.interpolate.nearest", "nn.functional.layer_norm", "nn.functional.linear",
    "nn.functional.max_pool2d", "nn.functional.mse_loss", "nn.functional.nll_loss", "nn.functional.relu",
    "nn.functional.rms_norm", "nn.functional.scaled_dot_product_attention", "nn.functional.silu",
    "nn.functional.softplus", "pow", "prod", "scatter_add", "sigmoid", "softmax", "sqrt", "std", "sum", "tanh", "var",
    "where",
)  # fmt: skip
#: what else has native gradients; slow, for their number. Not asin and atanh, whose derivatives lose digits near 1 in eager
#: and not here
RARER = (
    "H", "T", "__getitem__", "__radd__", "__rdiv__", "__rmatmul__", "__rmod__", "__rmul__", "__rpow__", "__rsub__",
    "abs", "acos", "acosh", "addbmm", "addcdiv", "addcmul", "addmv", "addr", "amin", "aminmax", "as_strided",
    "asinh", "atan", "atan2", "baddbmm", "block_diag", "broadcast_to", "ceil", "chunk", "clamp_max", "clamp_min",
    "clone", "column_stack", "constant_pad_nd", "contiguous", "copysign", "cos", "cosh", "cross", "cumprod",
    "cumulative_trapezoid", "deg2rad", "diag", "diag_embed", "diagonal", "diagonal_scatter", "diff", "dist",
    "div.floor_rounding", "div.trunc_rounding", "dot", "einsum", "erf", "erfc", "exp2", "expand", "expm1", "fill",
    "flatten", "flip", "float_power", "fmax", "fmin", "fmod", "frac", "hstack", "hypot", "index_copy", "index_fill",
    "inner", "kron", "ldexp", "lerp", "linalg.matrix_norm", "linalg.multi_dot", "linalg.norm", "linalg.vecdot",
    "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "logit", "masked.logsumexp", "masked.mean",
    "masked.softmax", "masked.sum", "masked.var", "masked_fill", "max.binary", "max.reduction_no_dim", "maximum",
    "meshgrid.variadic_tensors", "min.binary", "min.reduction_no_dim", "min.reduction_with_dim", "minimum",
    "movedim", "mv", "nan_to_num", "nanmean", "nansum", "narrow", "native_layer_norm", "neg",
    "nn.functional.adaptive_avg_pool1d", "nn.functional.avg_pool1d", "nn.functional.binary_cross_entropy",
    "nn.functional.celu", "nn.functional.channel_shuffle", "nn.functional.conv3d", "nn.functional.conv_transpose1d",
    "nn.functional.conv_transpose3d", "nn.functional.cosine_embedding_loss", "nn.functional.cosine_similarity",
    "nn.functional.elu", "nn.functional.glu", "nn.functional.hardsigmoid", "nn.functional.hardtanh",
    "nn.functional.hinge_embedding_loss", "nn.functional.huber_loss", "nn.functional.instance_norm",
    "nn.functional.interpolate.area", "nn.functional.interpolate.linear", "nn.functional.kl_div",
    "nn.functional.l1_loss", "nn.functional.leaky_relu", "nn.functional.local_response_norm",
    "nn.functional.logsigmoid", "nn.functional.margin_ranking_loss", "nn.functional.max_pool1d",
    "nn.functional.max_pool3d", "nn.functional.max_unpool2d", "nn.functional.mish",
    "nn.functional.multilabel_soft_margin_loss", "nn.functional.normalize", "nn.functional.pad.circular",
    "nn.functional.pad.constant", "nn.functional.pad.reflect", "nn.functional.pairwise_distance",
    "nn.functional.pixel_shuffle", "nn.functional.pixel_unshuffle", "nn.functional.poisson_nll_loss",
    "nn.functional.prelu", "nn.functional.relu6", "nn.functional.selu", "nn.functional.smooth_l1_loss",
    "nn.functional.soft_margin_loss", "nn.functional.softmin", "nn.functional.softsign", "nn.functional.tanhshrink",
    "nn.functional.threshold", "nn.functional.triplet_margin_loss", "nn.functional.unfold", "norm", "norm.fro",
    "norm.inf", "outer", "permute", "positive", "quantile", "rad2deg", "reciprocal", "remainder", "renorm",
    "repeat", "repeat_interleave", "reshape", "roll", "rot90", "round", "rsqrt", "rsub", "scatter",
    "scatter_reduce.amax", "scatter_reduce.mean", "scatter_reduce.sum", "select", "select_scatter", "sgn", "sign",
    "sin", "sinc", "sinh", "slice", "slice_scatter", "sort", "special.entr", "special.ndtr", "special.xlog1py",
    "split", "square", "squeeze", "stack", "std.unbiased", "std_mean", "sub", "take_along_dim", "tan",
    "tensor_split", "tensordot", "tile", "trace", "transpose", "trapezoid", "tril", "triu", "true_divide", "trunc",
    "unbind", "unflatten", "unfold", "unsqueeze", "var.unbiased", "var_mean", "vdot", "view", "vstack", "xlogy",
)  # fmt: skip


def gradient(sample: opinfo.Sample) -> opinfo.Sample:
    """The same call, followed by its backward."""

    def function(*tensors: torch.Tensor) -> list[torch.Tensor]:
        with torch.enable_grad():
            leaves = [t.detach().requires_grad_(asked) for t, asked in zip(tensors, sample.differentiable)]
            results = [t for t in tree_flatten(sample.function(*leaves))[0] if isinstance(t, torch.Tensor)]
            results = [t for t in results if t.requires_grad]
            wanted = [leaf for leaf in leaves if leaf.requires_grad]
            if not results or not wanted:
                return []
            above = [torch.arange(t.numel(), dtype=t.dtype).reshape(t.shape) % 7 / 3 - 0.9 for t in results]
            found = torch.autograd.grad(results, wanted, above, allow_unused=True)
        return [t for t in found if t is not None]

    return replace(sample, function=function)


@pytest.mark.parametrize("name", [*OPERATORS, *(pytest.param(name, marks=pytest.mark.slow) for name in RARER)])
def test_gradients_equal_eager(name: str, tally) -> None:
    info = opinfo.operators()[name]
    chosen = [gradient(one) for one in opinfo.samples(info, "f32", MOST, gradients=True)]
    made = opinfo.program(chosen)
    told = f"{name} {len(made.samples)} of {len(chosen)}"
    lines = {line.split(" ", 1)[0]: line for line in LIST.read_text().splitlines()} if LIST.exists() else {}
    if golden.Refresh.wanted:
        lines[name] = told
        LIST.write_text("".join(f"{lines[key]}\n" for key in sorted(lines)))
    assert lines[name] == told, made.others
    opinfo.check(info, made)
    tally.gradients[name] += len(made.samples)
