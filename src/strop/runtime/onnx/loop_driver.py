"""Loops of which every round has the same shapes, run by native code from the first round to the last.

The body's program is called by `rounds`; here its inputs and results get their places. Rounds whose number data
decides yield into buffers of some rounds each, put together at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Protocol

import torch
from torch import Tensor

from strop.core.problem import Problem
from strop.frontend.onnx.subgraphs import Rounds
from strop.runtime.dispatch import Hot
from strop.runtime.native_loop import ENDLESS, work
from strop.runtime.program import NativeProgram

#: rounds that a buffer for yields has, where nobody knows how many there will be; the next one has twice as many
FEWEST = 64
#: bytes that such a buffer may have
LARGEST = 2**26


_CONDITION = (torch.bool, ())


class LoopBody(Protocol):
    """A compiled body."""

    ways: FastPaths

    def hot_for(self, args: Sequence[Tensor]) -> Hot | None: ...
    def serves(self, hot: Hot, args: Sequence[Tensor]) -> bool: ...
    def tell(self, what: str) -> None: ...


@dataclass
class FastPaths:
    """What was found out of a body: the short way of the last shapes, and whether it can be repeated."""

    hot: Hot | None = None
    refused: set[Any] = field(default_factory=set)


def repeat(body: LoopBody, loop: Rounds) -> tuple[int, list[Tensor]] | None:
    """How many rounds there were; the last states, then what all rounds yielded. None where native code cannot."""
    states, values = [s.contiguous() for s in loop.states], [v.contiguous() for v in loop.values]
    rows = [row.contiguous() for row in loop.rows]
    counter, on = torch.tensor(loop.first), torch.ones((), dtype=torch.bool)
    head = [counter, on] if loop.counted else []
    inputs = [*head, *states, *(row[0] for row in rows), *values]
    program = _program(body, inputs)
    if program is None:
        return None
    results = program.results
    own = results[int(loop.asked) :]
    if [(s.dtype, tuple(s.shape)) for s in states] != own[: len(states)] or (loop.asked and results[0] != _CONDITION):
        body.tell("rounds run one by one: what a round gives back is not of the shapes and types that it takes")
        return None
    return _Run(loop, program, inputs, head, states, rows, own).all()


def _program(body: LoopBody, inputs: Sequence[Tensor]) -> NativeProgram | None:
    ways = body.ways
    if ways.hot is None or not body.serves(ways.hot, inputs):
        key = tuple((t.dtype, t.shape) for t in inputs)
        if key in ways.refused:
            return None
        reason = "its calls do not only compute results from tensors"
        try:
            ways.hot = body.hot_for(inputs)
        except Problem as problem:
            ways.hot, reason = None, problem.message
        found = ways.hot.program if ways.hot is not None else None
        if not isinstance(found, NativeProgram) or not found.repeats:
            if found is not None:
                reason = "not all of it is native code, or a result is an input"
            body.tell(f"rounds run one by one: {reason}")
            ways.hot = None
            ways.refused.add(key)
    program = ways.hot.program if ways.hot is not None else None
    return program if isinstance(program, NativeProgram) else None


class _Run:
    """One loop from its first round to its last."""

    def __init__(
        self, loop: Rounds, program: NativeProgram, inputs: Sequence[Tensor], head: Sequence[Tensor],
        states: Sequence[Tensor], rows: Sequence[Tensor], results: Sequence[tuple[torch.dtype, tuple[int, ...]]],
    ) -> None:  # fmt: skip
        self.loop = loop
        self.program = program
        self.counter = head[0] if head else torch.zeros((), dtype=torch.int64)
        self.going = torch.ones((), dtype=torch.bool)
        self.held = inputs  # the addresses below are theirs
        self.inputs = [t.data_ptr() for t in inputs]
        self.first_state = len(head)
        self.states = list(states)
        self.buffers = [(torch.empty_like(s), torch.empty_like(s)) for s in states]
        self.rows = rows
        self.yields = results[len(states) :]

    def all(self) -> tuple[int, list[Tensor]]:
        loop = self.loop
        known = not loop.watched and loop.most is not None
        most = ENDLESS if loop.most is None else loop.most
        index, chunks, size = loop.first, [], FEWEST
        while True:
            limit = most if known or not self.yields else min(most, index + self._fitting(size))
            count, made = self._some(index, limit)
            chunks.append([column[:count] for column in made])
            index += count
            if index >= most or (loop.watched and not self.going):
                break
            size *= 2
        columns = [torch.cat(parts) if len(parts) > 1 else parts[0] for parts in zip(*chunks)]
        return index - loop.first, [*self.states, *columns]

    def _fitting(self, rounds: int) -> int:
        largest = max((prod(shape) * dtype.itemsize for dtype, shape in self.yields), default=1)
        return max(1, min(rounds, LARGEST // max(largest, 1)))

    def _some(self, first: int, limit: int) -> tuple[int, list[Tensor]]:
        """Rounds from `first` to `limit` or to the end: how many they were, and what they yielded."""
        loop, program = self.loop, self.program
        into, out = program.slots_of_inputs, program.slots_of_results
        made = [torch.empty((limit - first, *shape), dtype=dtype) for dtype, shape in self.yields]
        inputs = list(self.inputs)
        moves: list[tuple[int, int]] = []
        place = self.first_state
        turns = []
        asked = int(loop.asked)
        for k, (state, (a, b)) in enumerate(zip(self.states, self.buffers)):
            inputs[place + k] = state.data_ptr()
            taken = b if state is a else a  # where the first of these rounds writes
            other = a if state is a else b
            turns.append((into[place + k], out[asked + k], taken.data_ptr(), other.data_ptr()))
        place += len(self.states)
        for k, row in enumerate(self.rows):
            step = row.stride(0) * row.itemsize
            inputs[place + k] = row.data_ptr() + (first - loop.first) * step
            moves.append((into[place + k], step))
        outputs = [self.going.data_ptr()] * asked + [turn[2] for turn in turns] + [t.data_ptr() for t in made]
        yielding = out[asked + len(turns) :]
        moves += [(slot, t.stride(0) * t.itemsize) for slot, t in zip(yielding, made)]
        table = work(first, limit, self.counter.data_ptr(), outputs[0] if loop.watched else 0, moves, turns)
        count = program.repeat(inputs, outputs, table) - first
        if count:
            self.states = [self._last(state, pair, count) for state, pair in zip(self.states, self.buffers)]
        return count, made

    @staticmethod
    def _last(state: Tensor, pair: tuple[Tensor, Tensor], count: int) -> Tensor:
        """The buffer that the last of so many rounds wrote to; the first of them wrote to the one that was not read."""
        a, b = pair
        first, second = (b, a) if state is a else (a, b)
        return first if count % 2 else second
