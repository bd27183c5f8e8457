"""Parameters that are packed and then held no longer (`release=True`): what stands in their place, and what may go.

A stand-in has the name, shape and dtype of its parameter. It takes the parameter's place before packing and is the last
to hold it, so that each one's memory is free as soon as it is packed: there are never two copies of all weights.
Whoever computes with a stand-in, copies or stores it gets a `Problem`. Tensors that somebody else holds as well (an
optimiser, another module) stay as they are there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from strop.core.problem import Problem

_HELP = "compile without release=True, or give it new weights: load_state_dict(…, assign=True)"


class Released(Tensor):
    """A parameter without its memory. `value` is what it held: what was packed of it can still be found."""

    key: str
    value: int
    original: Tensor | None  # until it is packed
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, tensor: Tensor, key: str, value: int) -> Released:
        made: Released = Tensor._make_wrapper_subclass(
            cls, tensor.shape, strides=tensor.stride(), dtype=tensor.dtype, requires_grad=tensor.requires_grad
        )
        made.key, made.value, made.original = key, value, tensor
        made._is_param = isinstance(tensor, nn.Parameter)  # what isinstance looks at
        return made

    def __init__(self, tensor: Tensor, key: str, value: int) -> None:
        super().__init__()

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> NoReturn:
        leaves = torch.utils._pytree.tree_leaves((args, kwargs or {}))
        next(leaf for leaf in leaves if isinstance(leaf, Released)).refuse()

    def refuse(self, why: str = "") -> NoReturn:
        """Say that the parameter is gone where it is needed."""
        because = f"{why}, and " if why else ""
        raise Problem("STR405", f"{because}the parameter `{self.key}` was released after packing", help=_HELP)

    def stand_in(self) -> Tensor:
        """A tensor that looks like the parameter, for tracing, which reads no values. No page of it is ever touched."""
        made = torch.empty_strided(self.shape, self.stride(), dtype=self.dtype)
        return nn.Parameter(made, self.requires_grad) if isinstance(self, nn.Parameter) else made

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        self.refuse()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self.refuse()

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"Released({self.key}: {str(self.dtype).removeprefix('torch.')}{list(self.shape)})"


def source(tensor: Tensor) -> Tensor:
    """The tensor to pack: a parameter itself, or what its stand-in still holds."""
    if not isinstance(tensor, Released):
        return tensor
    if tensor.original is None:
        tensor.refuse()
    return tensor.original


def let_go(tensor: Tensor) -> None:
    """A parameter has been packed."""
    if isinstance(tensor, Released):
        tensor.original = None


def first_released(model: nn.Module) -> Released | None:
    tensors = (tensor for _, _, tensor in _held(model))
    return next((tensor for tensor in tensors if isinstance(tensor, Released)), None)


def release(
    model: nn.Module, tensors: Mapping[str, Tensor], values: Mapping[int, int], packed: Collection[str]
) -> list[Released]:
    """Put stand-ins into the places of the parameters with these names among a module's tensors, whose `values` are
    told by their ids. Those that share memory with one that stays stay, too."""
    kept = {_memory(tensor) for name, tensor in tensors.items() if name not in packed and not _is_released(tensor)}
    spare = {name: t for name, t in tensors.items() if name in packed and not _is_released(t) and t.nbytes}
    gone = {id(t): Released(t, n, values[id(t)]) for n, t in spare.items() if _memory(t) not in kept}
    exchange(model, gone)
    return list(gone.values())


def filled(model: nn.Module) -> nn.Module:
    """A module to be traced, with tensors in the place of what was released."""
    found = {id(tensor): tensor for _, _, tensor in _held(model) if isinstance(tensor, Released)}
    exchange(model, {key: tensor.stand_in() for key, tensor in found.items()})
    return model


def exchange(model: nn.Module, new: Mapping[int, Tensor]) -> None:
    """Put other tensors into the place of those with these ids, in lists of a module (`nn.LSTM` has one), too."""
    if not new:
        return
    for group, name, tensor in list(_held(model)):
        if id(tensor) in new:
            group[name] = new[id(tensor)]
    for module in model.modules():
        for value in module.__dict__.values():
            if type(value) is list:
                value[:] = [new.get(id(item), item) for item in value]


def _held(model: nn.Module) -> Iterator[tuple[dict[str, Any], str, Tensor]]:
    for module in model.modules():
        for group in (module._parameters, module._buffers):
            for name, tensor in group.items():
                if tensor is not None:
                    yield group, name, tensor


def _is_released(tensor: Tensor) -> bool:
    return isinstance(tensor, Released)


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
