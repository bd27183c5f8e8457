"""Calls that have to be computed again: Winograd's convolutions met what is not finite and spread it over a tile.

The program without them is made when the first such call comes, and shares packed weights with the other one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from strop.runtime.packed import Sharing

if TYPE_CHECKING:
    from strop.runtime.program import NativeProgram


class Recomputation:
    """The program for calls whose results may not be used, made when the first of them comes."""

    def __init__(self, make: Callable[[], NativeProgram] | None) -> None:
        self.program: NativeProgram | None = None
        self._make = make
        self._given: tuple[Sequence[Tensor], Sharing] | None = None
        self._is_bound = False
        self._lock = threading.Lock()

    def bind(self, params: Sequence[Tensor], sharing: Sharing) -> None:
        """The parameters that it will run on, should it have to."""
        if self._make is not None:
            with self._lock:
                self._given, self._is_bound = (params, sharing), False

    def bound(self) -> NativeProgram | None:
        """The program on the parameters as they are; None where nobody said how to make it."""
        if self._make is None or self._given is None:
            return None
        with self._lock:
            if self.program is None:
                self.program = self._make()
            if not self._is_bound:
                self.program.bind(*self._given)
                self._is_bound = True
            return self.program

    def results(self, inputs: Sequence[Tensor], otherwise: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        program = self.bound()
        return otherwise if program is None else program(inputs)
