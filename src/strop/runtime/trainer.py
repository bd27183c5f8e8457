"""Calls of a compiled module that need gradients: `strop.compile(model, args, training=True)`.

They go through Dynamo and AOTAutograd to the same backend as `torch.compile(model, backend="strop")`; calls without
gradients do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch._dynamo import exc
from torch.utils import _pytree as pytree

from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.frontend.torch.origin import user_frame
from strop.graph.ir import Origin
from strop.runtime.dynamo import Backend


class Trainer:
    """A module's way through Dynamo. With `partial`, what Dynamo cannot trace runs in Python, else it is a Problem."""

    def __init__(
        self, model: nn.Module, options: Options, journal: Journal, partial: bool, backend: Backend | None = None
    ) -> None:
        if options.release:
            raise Problem("STR001", "`release` gives up parameters, which training changes",
                          help="leave one of them out")  # fmt: skip
        self.options, self.journal, self.partial = options, journal, partial
        self._model = model
        self._recurrent = any(isinstance(part, nn.RNNBase) for part in model.modules())
        self._compiled = torch.compile(model, backend=backend or Backend(options, journal), fullgraph=not partial)

    def on(self, model: nn.Module) -> Trainer:
        """The same for another module."""
        return Trainer(model, self.options, self.journal, self.partial)

    def wanted(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether gradients of a parameter or of an argument may be asked for."""
        if not torch.is_grad_enabled():
            return False
        if any(parameter.requires_grad for parameter in self._model.parameters()):
            return True
        leaves = pytree.tree_leaves((args, dict(kwargs)))
        return any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in leaves)

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        with _as_problems(), allowing_recurrence() if self._recurrent else nullcontext():
            return self._compiled(*args, **kwargs)

    def _differentiate(self, results: Any, given: Any) -> None:
        """Have gradients computed, and forget them."""
        wanted = [leaf for leaf in (*self._model.parameters(), *pytree.tree_leaves(given)) if isinstance(leaf, Tensor)]
        outputs = [leaf for leaf in pytree.tree_leaves(results) if isinstance(leaf, Tensor) and leaf.requires_grad]
        inputs = [leaf for leaf in wanted if leaf.requires_grad]
        if outputs and inputs:
            ones = [torch.ones_like(output) for output in outputs]
            with _as_problems():
                torch.autograd.grad(outputs, inputs, ones, allow_unused=True)

    def prepare(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, backward: bool = False) -> None:
        """Compile for example inputs, which is a call whose effects on the module and the generator are undone. The
        backward graph is compiled when gradients are first asked for, unless that is asked for now."""
        given, named = pytree.tree_map_only(Tensor, _twin, (args, dict(kwargs)))
        with _undone(self._model), torch.enable_grad():
            results = self(given, named)
            if backward:
                self._differentiate(results, (given, named))


def allowing_recurrence() -> AbstractContextManager[Any]:
    """Inside, Dynamo traces `nn.LSTM`, `nn.GRU` and `nn.RNN`, which it leaves to Python otherwise."""
    patched: AbstractContextManager[Any] = torch._dynamo.config.patch(allow_rnn=True)
    return patched


@contextmanager
def _undone(model: nn.Module) -> Iterator[None]:
    """What happens inside to buffers, to attributes of modules and to the generator is undone."""
    attributes = [(part.__dict__, dict(part.__dict__)) for part in model.modules()]
    registered = [(part._buffers, dict(part._buffers)) for part in model.modules()]
    contents = {buffer: buffer.detach().clone() for buffer in model.buffers()}
    generator = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(generator)
        for held, before in (*attributes, *registered):
            if held.keys() != before.keys() or any(held[name] is not before[name] for name in before):
                held.clear()
                held.update(before)
        with torch.no_grad():
            for buffer, content in contents.items():
                buffer.copy_(content)


def _twin(tensor: Tensor) -> Tensor:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


@contextmanager
def _as_problems() -> Iterator[None]:
    """What Dynamo raises because it cannot trace a model, or because the backend refused, as our own problem."""
    try:
        yield
    except exc.BackendCompilerFailed as failed:
        inner = failed.inner_exception
        if isinstance(inner, Problem):
            raise inner from None
        raise
    except (exc.Unsupported, exc.UserError) as unsupported:
        lines = [line.strip() for line in str(unsupported).splitlines() if line.strip()]
        where = Origin(*user_frame(str(unsupported)))
        raise Problem("STR101", f"Dynamo cannot trace the model whole: {lines[0] if lines else 'no reason given'}",
                      where=where, help="rewrite what is named there, or pass partial=True: the pieces are compiled",
                      ) from unsupported  # fmt: skip
