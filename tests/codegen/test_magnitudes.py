"""Numbers near both ends of f32: finite wherever eager mode's are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import strop
from frontend.beside import Calls

FUNCTIONS: dict[str, Callable[[Tensor], Any]] = {
    "std": lambda x: (x.std(-1), x.std(0), x.std(), x.std(-1, correction=0)),
    "std_mean": lambda x: torch.std_mean(x, -1),
    "var": lambda x: x.var(-1),
    "vector_norm": lambda x: [torch.linalg.vector_norm(x, order, -1) for order in (1, 2, 3, float("inf"))],
    "logsumexp": lambda x: (x.logsumexp(-1), x.softmax(-1), x.log_softmax(-1)),
    "rms_norm": lambda x: F.rms_norm(x, (40,)),
    "normalize": lambda x: (F.normalize(x, dim=-1), F.cosine_similarity(x, x.flip(0))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@torch.no_grad()
def test_finite_where_eager_is(name: str) -> None:
    model = Calls(FUNCTIONS[name])
    fast = strop.compile(model, (torch.randn(6, 40),))
    torch.manual_seed(0)
    sample = torch.randn(6, 40)
    for scale in (1e-38, 1e-30, 1e-20, 1.0, 1e18, 1e20, 1e30, 1e37):
        x = sample * scale
        for mine, theirs in zip(torch.utils._pytree.tree_leaves(fast(x)), torch.utils._pytree.tree_leaves(model(x))):
            finite = theirs.isfinite()
            torch.testing.assert_close(mine[finite] / scale, theirs[finite] / scale, rtol=1e-5, atol=1e-6)
