"""The ways in which PyTorch and oneDNN run one operator: layouts and packed weights, without a compiler around them.

`torch.compile` with freezing ends in the packed paths; they are called here without its wrapper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

_CHANNELS_LAST = {2: torch.channels_last, 3: torch.channels_last_3d}
_PLAIN: tuple[Any, ...] = ("none", [], "")  # no fused activation


@dataclass(frozen=True)
class Path:
    """A name and the call to be timed. What the call needs beforehand (packing, conversion) has been done."""

    name: str
    call: Callable[[], Tensor]


def library_paths(module: nn.Module, inputs: tuple[Tensor, ...]) -> Iterator[Path]:
    """Every path that this build of PyTorch offers; one that cannot be set up is left out."""
    yield Path("eager", lambda: _tensor(module(*inputs)))
    makers = _convolutions(module, *inputs) if hasattr(module, "stride") else _products(module, *inputs)
    for name, make in makers:
        try:
            yield Path(name, make())
        except (RuntimeError, NotImplementedError, AttributeError):
            continue


def _tensor(value: Any) -> Tensor:
    assert isinstance(value, Tensor)
    return value


Maker = Callable[[], Callable[[], Tensor]]


def _convolutions(module: Any, x: Tensor) -> Iterator[tuple[str, Maker]]:
    rank = x.dim() - 2
    weight, bias = module.weight, module.bias
    shape = (module.padding, module.stride, module.dilation, module.groups)
    ops: Any = torch.ops.mkldnn

    def last(tensor: Tensor) -> Tensor:
        return tensor.to(memory_format=_CHANNELS_LAST[rank]) if rank in _CHANNELS_LAST else tensor

    def channels_last() -> Callable[[], Tensor]:
        import copy

        own, given = copy.deepcopy(module).to(memory_format=_CHANNELS_LAST[rank]), last(x)
        return lambda: _tensor(own(given))

    def packed(given: Tensor, finish: Callable[[Tensor], Tensor]) -> Maker:
        values = shape if not module.transposed else (module.padding, module.output_padding, *shape[1:])
        reorder = "_reorder_convolution_transpose_weight" if module.transposed else "_reorder_convolution_weight"
        run = "_convolution_transpose_pointwise" if module.transposed else "_convolution_pointwise"

        def make() -> Callable[[], Tensor]:
            own = getattr(ops, reorder)(weight, *values, x.shape)
            function = getattr(ops, run)
            return lambda: finish(function(given, own, bias, *values, *_PLAIN))

        return make

    def blocked() -> Callable[[], Tensor]:
        nn_ops: Any = torch._C._nn
        reorder = {2: nn_ops.mkldnn_reorder_conv2d_weight, 3: nn_ops.mkldnn_reorder_conv3d_weight}[rank]
        own, given = reorder(weight.to_mkldnn(), *shape, x.shape), x.to_mkldnn()
        return lambda: torch.mkldnn_convolution(given, own, bias, *shape)

    if rank in _CHANNELS_LAST:
        yield "channels last", channels_last
        yield "channels last, packed", packed(last(x), _tensor)
    yield "packed", packed(x, lambda tensor: tensor.contiguous())
    if rank in _CHANNELS_LAST and not module.transposed:
        yield "blocked, packed", blocked


def _products(module: Any, *inputs: Tensor) -> Iterator[tuple[str, Maker]]:
    x = inputs[0]
    if not isinstance(module, nn.Linear):
        return
    weight, bias = module.weight, module.bias
    rows = x.numel() // x.shape[-1]
    ops: Any = torch.ops

    def transposed() -> Callable[[], Tensor]:
        own = weight.t().contiguous()
        return lambda: torch.addmm(bias, x, own)

    def onednn() -> Callable[[], Tensor]:
        own = ops.mkldnn._reorder_linear_weight(weight, rows)
        return lambda: _tensor(ops.mkldnn._linear_pointwise(x, own, bias, *_PLAIN))

    def mkl() -> Callable[[], Tensor]:
        own = ops.mkl._mkl_reorder_linear_weight(weight, rows)
        return lambda: _tensor(ops.mkl._mkl_linear(x, own, weight, bias, rows))

    yield "eager, weight transposed", transposed
    yield "packed by oneDNN", onednn
    yield "packed by MKL", mkl
