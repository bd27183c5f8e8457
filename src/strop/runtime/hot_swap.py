"""A program that can be exchanged for another one of the same graph while callers hold it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from strop.runtime.packed import Sharing
from strop.runtime.program import NativeProgram

Bound = TypeVar("Bound", bound=NativeProgram)


class HotSwapProgram:
    """Calls go to the program that is current when they start."""

    def __init__(self, program: NativeProgram) -> None:
        self.current = program
        self._params: Sequence[Tensor] | None = None
        self._sharing: Sharing | None = None

    def bind(self, params: Sequence[Tensor], sharing: Sharing | None = None) -> None:
        self._params, self._sharing = params, sharing
        self.current.bind(params, sharing)

    def __call__(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return self.current(inputs)

    def exchange(self, program: NativeProgram) -> None:
        """Bind a program to the same parameters and put it in place. What both pack alike is packed once."""
        self.current = self.bound(program)

    def bound(self, program: Bound) -> Bound:
        """A program over the same parameters, for somebody else to call."""
        if self._params is not None:
            program.bind(self._params, self._sharing)
        return program

    def inputs_of(self, run: Callable[[], object]) -> list[Tensor]:
        """Copies of what the program is given the last time that it is called while something runs."""
        given: list[Tensor] = []
        program = self.current

        def listening(inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
            given[:] = [tensor.detach().clone(memory_format=torch.preserve_format) for tensor in inputs]
            return program(inputs)

        self.current = listening  # type: ignore[assignment]
        try:
            run()
        finally:
            self.current = program
        return given
