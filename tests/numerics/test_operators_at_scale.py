"""PyTorch's own samples of its operators, at scales from 1e-20 to 1e15, against float64.

The yardstick is eager's own error on the same sample: its worst over the result, as a sample has one scale.
"""

from __future__ import annotations

import math

import golden
import pytest
import torch
from torch import Tensor

from codegen import opinfo
from numerics.cases import Cases
from numerics.judge import FACTOR, SMALLEST, UNIT
from strop.core.journal import Journal
from strop.core.options import Options
from strop.runtime.program import build

pytestmark = pytest.mark.filterwarnings("ignore")

SCALES = (1e-20, 1e-6, 1e4, 1e15)
ULPS = 8  # of the result, where eager rounds better: functions are off by up to 2.5, some results are made of three
LINES = (golden.HOME / "codegen" / "opinfo.txt").read_text().splitlines()
NAMES = [line.split(" ", 1)[0] for line in LINES if "f32" in line]
#: sums, norms and what is made of them
FEW = [name for name in NAMES if name in {
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "cumsum", "dot", "einsum", "linalg.multi_dot", "linalg.norm",
    "linalg.vector_norm", "logcumsumexp", "logsumexp", "matmul", "mean", "mm", "mv", "nn.functional.avg_pool1d",
    "nn.functional.avg_pool2d", "nn.functional.batch_norm", "nn.functional.bilinear", "nn.functional.conv1d",
    "nn.functional.conv2d", "nn.functional.conv3d", "nn.functional.conv_transpose2d", "nn.functional.cosine_similarity",
    "nn.functional.group_norm", "nn.functional.instance_norm", "nn.functional.interpolate.bilinear",
    "nn.functional.layer_norm", "nn.functional.linear", "nn.functional.mse_loss", "nn.functional.normalize",
    "nn.functional.rms_norm", "nn.functional.scaled_dot_product_attention", "nn.functional.softmin", "outer", "prod",
    "softmax", "log_softmax", "sum", "tensordot", "trace", "vdot",
}]  # fmt: skip


def scaled(sample: opinfo.Sample, scale: float, dtype: torch.dtype) -> list[Tensor]:
    found = [(t * scale).float() if t.dtype == torch.float32 else t for t in sample.tensors]
    return [t.to(dtype) if t.dtype == torch.float32 else t.clone() for t in found]


def results(sample: opinfo.Sample, scale: float, dtype: torch.dtype) -> list[Tensor] | None:
    try:
        with torch.no_grad():
            made = sample.function(*scaled(sample, scale, dtype))
    except RuntimeError:
        return None  # the operator asks for one dtype, or for values within a range
    return [t for t in opinfo.tree_flatten(made)[0] if isinstance(t, Tensor)]


def close(got: Tensor, eager: Tensor, exact: Tensor) -> str:
    """What is wrong with a result, if anything."""
    known = eager.isfinite() & exact.isfinite()
    if not got[known].isfinite().all():
        return "not finite where eager is"
    if not known.any():
        return ""
    exact, got, eager = exact[known].double(), got[known].double(), eager[known].double()
    bound = FACTOR * float((eager - exact).abs().max()) + ULPS * UNIT * exact.abs() + ULPS * SMALLEST
    over = (got - exact).abs() / bound
    worst = float(over.max())
    return f"{worst:.1f} times the bound" if worst > 1 or math.isnan(worst) else ""


def check(name: str, most: int | None, cases: Cases) -> None:
    info = opinfo.operators()[name]
    made = opinfo.program(opinfo.samples(info, "f32", most))
    if not made.samples or made.graph.mutations:
        return
    compiled = build(made.graph, Options(threads=1), Journal(), 1)
    compiled.bind(made.params)
    for scale in SCALES:
        tensors = [t.contiguous() for sample in made.samples for t in scaled(sample, scale, torch.float32)]
        try:
            found = compiled(tensors)
        except (IndexError, RuntimeError):
            continue  # values decide what is legal
        for sample, places in zip(made.samples, made.outputs):
            eager, exact = results(sample, scale, torch.float32), results(sample, scale, torch.float64)
            if eager is None or exact is None or len(eager) != len(places):
                continue
            for place, theirs, right in zip(places, eager, exact):
                if theirs.dtype == torch.float32 and right.dtype == torch.float64:
                    wrong = close(found[place], theirs, right)
                    assert not wrong, f"{sample.text} at {scale:g}: {wrong}"
                    cases.add("operators at scale")


@pytest.mark.parametrize("name", FEW)
def test_operator_at_scale(name: str, cases: Cases) -> None:
    check(name, 2, cases)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in FEW])
def test_other_operator_at_scale(name: str, cases: Cases) -> None:
    check(name, 3, cases)
