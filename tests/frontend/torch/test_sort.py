"""Sorting: few elements in the operator set, exactly as torch does it; many in the library."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from frontend.torch.compare import check_function, ops
from strop.frontend.torch.aten.sort import FEW

NAN, INF = float("nan"), float("inf")
TIES = torch.tensor([[2.0, NAN, -0.0, INF, 2.0, 0.0], [NAN, -INF, 1.0, NAN, 1.0, -INF]])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.bool])
def test_few_elements_with_ties_and_nan(dtype: torch.dtype, dim: int, descending: bool) -> None:
    x = (TIES if dtype.is_floating_point else TIES.nan_to_num(7).clamp(-9, 9)).to(dtype)
    check_function(lambda x: x.sort(dim, descending), x)
    check_function(lambda x: torch.sort(x, dim=dim, descending=descending, stable=True), x)


@pytest.mark.parametrize("shape", [(), (1,), (2, 0), (2, 3, FEW)])
def test_shapes(shape: tuple[int, ...]) -> None:
    check_function(lambda x: x.sort(-1), torch.randn(shape))


def test_places_alone() -> None:
    check_function(lambda x: x.argsort(), torch.tensor([3, 1, 2, 1]))


def test_many_elements_are_left_to_the_library_with_the_reason() -> None:
    def first(x: Tensor) -> Tensor:
        return x.sort().values[0]

    converted = check_function(first, torch.randn(FEW + 1), native=False)
    assert "aten" in ops(converted.graph)
    (reason,) = converted.fallbacks.values()
    assert f"it sorts {FEW + 1} elements" in reason
