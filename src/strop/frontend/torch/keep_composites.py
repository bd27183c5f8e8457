"""Keeping composite operators whole while AOTAutograd traces.

Left alone it takes `rms_norm`, attention, upsampling and recurrent networks apart before any backend sees them; an
LSTM becomes one copy of its cell per time step. `torch.export` has the means to prevent that, which serve here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

_aten = torch.ops.aten
KEPT = (
    _aten.rms_norm.default, _aten.scaled_dot_product_attention.default, _aten.instance_norm.default,
    _aten.lstm.input, _aten.gru.input, _aten.rnn_tanh.input, _aten.rnn_relu.input,
    _aten.upsample_nearest1d.vec, _aten.upsample_nearest2d.vec, _aten.upsample_nearest3d.vec,
    _aten.upsample_linear1d.vec, _aten.upsample_bilinear2d.vec, _aten.upsample_trilinear3d.vec,
)  # fmt: skip


@contextmanager
def keeping_composites() -> Iterator[None]:
    """Inside, tracing sees the operators of `KEPT` as they were called, unless this torch lacks the means.

    For inference only: no gradient passes through an operator that is kept whole.
    """
    try:
        from torch.export.exported_program import _override_composite_implicit_decomp as override
    except ImportError:
        yield
        return
    with override(dict.fromkeys(KEPT, _not_apart)):
        yield


def _not_apart(*_: Any, **__: Any) -> Any:
    return NotImplemented
