"""Floating-point operations of a model by the direct algorithm, whatever algorithm runs it in the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count


def count_flops(model: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> float:
    """Twice the multiply-adds of matrix products, convolutions, attention and recurrent cells in one eager call.

    Pointwise work, norms and lookups count nothing: the number is the yardstick for the arithmetic peak.
    """
    counter = FlopCounterMode(display=False, custom_mapping=_BEYOND_TORCH)
    with torch.no_grad(), counter:
        model(*args, **kwargs)
    return float(counter.get_total_flops())


def _attention(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    return int(sdpa_flop_count(query, key, value))  # type: ignore[no-untyped-call]


def _recurrent_layer(steps: Any, input_weight: Any, hidden_weight: Any, *_: Any, **__: Any) -> int:
    length, batch = steps[:2]
    products = input_weight[0] * input_weight[1] + hidden_weight[0] * hidden_weight[1]
    return int(2 * length * batch * products)


#: What eager runs on a CPU and torch's own table leaves out.
_BEYOND_TORCH = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    torch.ops.aten.mkldnn_rnn_layer: _recurrent_layer,
}
