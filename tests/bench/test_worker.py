"""What a contender's process does when it is told to."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import torch

from strop.bench import worker


def test_outputs_are_read_as_they_were_written(tmp_path: Path) -> None:
    outputs = {"a": torch.randn(3, 4), "b": [torch.tensor(2), torch.ones(2, dtype=torch.bfloat16)], "c": None}
    worker._write(outputs, tmp_path / "outputs")
    first, second, third = worker.written_arrays(tmp_path / "outputs")
    assert np.array_equal(first, outputs["a"]) and first.dtype == np.float32
    assert second == 2 and third.tolist() == [1.0, 1.0]


def test_no_outputs_are_no_arrays(tmp_path: Path) -> None:
    worker._write((), tmp_path / "outputs")
    assert worker.written_arrays(tmp_path / "outputs") == []


def test_writing_outputs_takes_no_copy_of_them(tmp_path: Path) -> None:
    outputs = [np.zeros(1 << 20, np.float32)]
    tracemalloc.start()
    try:
        worker._write(outputs, tmp_path / "outputs")
        assert tracemalloc.get_traced_memory()[1] < outputs[0].nbytes / 4
    finally:
        tracemalloc.stop()
