"""The module that `strop.compile` returns: the original's parameters and attributes, its own way of being called."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn
from torch.compiler import is_compiling, is_dynamo_compiling
from torch.nn.modules import module as torch_module

from strop.core.journal import Journal
from strop.runtime.dispatch import Dispatcher
from strop.runtime.release import first_released

#: the original's own containers, not copies: both modules always hold the same things
_SHARED = (
    "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "_state_dict_hooks",
    "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip

_is_grad_enabled = torch.is_grad_enabled
_get_num_threads = torch.get_num_threads
_function_modes = torch._C._len_torch_function_stack


class CompiledModule(nn.Module):
    """Runs its original natively where that is possible, and calls it where it is not (gradients, autocast, …).

    Parameters, buffers, submodules, `state_dict` and training mode are the original's. Changes to parameters are
    noticed at the next call, except writes that leave no trace (`p.data.add_(1)`, `p.numpy()[...] = 0`) and changes of
    plain Python attributes that `forward` reads: call `refresh()` after those.
    """

    _original: nn.Module
    _dispatcher: Dispatcher
    _call_hooks: tuple[Mapping[int, Any], ...]

    def __init__(self, dispatcher: Dispatcher) -> None:
        original = dispatcher.model
        bare = nn.Module()
        del bare.__dict__["training"]
        self.__dict__.update(bare.__dict__)
        self.__dict__.update({name: original.__dict__[name] for name in _SHARED if name in original.__dict__})
        self.__dict__.update(_original=original, _dispatcher=dispatcher)
        self.__dict__["_call_hooks"] = (
            self._forward_hooks, self._forward_pre_hooks,
            torch_module._global_forward_hooks, torch_module._global_forward_pre_hooks,
        )  # fmt: skip

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling():
            return self._original(*args, **kwargs)
        dispatcher = self._dispatcher
        hot = dispatcher.hot
        if (
            hot is not None
            and not kwargs
            and len(args) == hot.count
            and not _is_grad_enabled()
            and hot.check(*args)
            and hot.threads == _get_num_threads()
            and hot.same is dispatcher.state.same
            and not _function_modes()
            and not any(self._call_hooks)
            and hot.same()
        ):
            return hot.run(args)
        left = dispatcher.left
        if left is not None and left.holds() and not any(self._call_hooks):
            return self._original(*args, **kwargs)
        if is_compiling():
            return self._original(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._dispatcher.call(args, kwargs)

    def refresh(self, *, recompile: bool = False) -> None:
        """Read the parameters again at the next call; with `recompile`, trace the module's Python code again too."""
        self._require_parameters("they would have to be read again")
        if recompile:
            self._dispatcher.forget()
        self._dispatcher.state.invalidate()

    @property
    def original(self) -> nn.Module:
        """The module as it was given to `strop.compile`."""
        return self._original

    @property
    def journal(self) -> Journal:
        """What was compiled, what runs eager, and why."""
        return self._dispatcher.journal

    @property
    def training(self) -> bool:  # type: ignore[override]
        return self._original.training

    def train(self, mode: bool = True) -> CompiledModule:
        self._original.train(mode)
        return self

    def _require_parameters(self, why: str) -> None:
        """A `Problem` where some were released."""
        gone = first_released(self._original)
        if gone is not None:
            gone.refuse(why)

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> CompiledModule:
        self._require_parameters("all parameters would have to be converted")
        self._original._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._dispatcher.state.invalidate()
        return self

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        return self._original.state_dict(*args, **kwargs)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        if not assign:
            self._require_parameters("values would have to be copied into all parameters")
        try:
            return self._original.load_state_dict(state_dict, strict, assign)
        finally:
            self._dispatcher.state.invalidate()

    def _save_to_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._original._save_to_state_dict(*args, **kwargs)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._original._load_from_state_dict(*args, **kwargs)
        self._dispatcher.state.invalidate()

    def __getattr__(self, name: str) -> Any:
        original = self.__dict__.get("_original")
        if original is None:
            raise AttributeError(name)
        return getattr(original, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._original, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._original, name)

    def __getitem__(self, index: Any) -> Any:
        return self._original[index]  # type: ignore[index]

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledModule:
        like = self._dispatcher
        model = copy.deepcopy(self._original, memo)
        dispatcher = Dispatcher(model, like.options, like.journal, like.trace, like.build)
        dispatcher.trainer = like.trainer.on(model) if like.trainer is not None else None
        return CompiledModule(dispatcher)

    def __reduce__(self) -> tuple[Any, ...]:
        from strop.runtime.compile_model import unpickled

        trainer = self._dispatcher.trainer
        partial = trainer.partial if trainer is not None else None
        return unpickled, (self._original, self._dispatcher.options, partial)

    def extra_repr(self) -> str:
        return f"compiled from {type(self._original).__name__}, variants: {len(self._dispatcher.variants)}"
