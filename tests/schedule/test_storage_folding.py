"""Windows of tensors: the work that is counted is the work that is done."""

from __future__ import annotations

import pytest
import torch

import strop
from strop.loops.interleaved import Clear, Move
from strop.schedule import window_chain
from strop.schedule.storage_folding import MOVE_US, MOVED, FoldedStorage


@pytest.mark.parametrize("threads", [1, 2])
def test_the_work_of_a_window_is_what_its_turns_move_and_clear(threads, monkeypatch):
    seen = []

    class Watched(FoldedStorage):
        def work(self, cycle):
            seen.append((self, super().work(cycle), cycle))
            return seen[-1][1]

    monkeypatch.setattr(window_chain, "FoldedStorage", Watched)
    torch.manual_seed(0)
    strop.Session.of("mobilenet_v2", options=strop.Options(threads=threads, cache=False, target="znver4@host"))
    moves = clears = 0
    for window, counted, cycle in seen:
        todo = [one for _, turns in window.turns(0) for one in turns]
        assert counted == pytest.approx(MOVE_US * len(todo) + sum(one.size for one in todo) / MOVED * cycle)
        moves += sum(isinstance(one, Move) for one in todo)
        clears += sum(isinstance(one, Clear) for one in todo)
    assert moves and clears
