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


@pytest.mark.parametrize("name", OPERATORS)
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
