"""Compiled programs as bytes: everything comes back, the same program gives the same bytes, and it computes the same."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from enum import IntFlag
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from golden import golden
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

import strop
from frontend.beside import Calls
from runtime.artifacts import ROW, body_of, header_of, small
from strop.core.dtypes import SIZES
from strop.core.options import Options
from strop.core.problem import Problem
from strop.driver.artifact import Argument, Artifact, ConstantValues, InArena, InPacked, LibraryStep, NativeStep, Slot
from strop.driver.artifact_format import MAGIC, VERSION, from_bytes, to_bytes
from strop.frontend.torch.dtypes import DTYPES, tensor_of
from strop.graph.ir import Type


def attention(x: Tensor) -> Tensor:
    q, k, v = (t.unflatten(-1, (2, -1)).transpose(1, 2) for t in x.chunk(3, -1))
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


class Mixed(nn.Module):
    """Native steps and library steps that read the arena, packed weights and constants."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(6, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.inner(x).relu()
        table = torch.tensor([0.1, float("inf"), -2.5, 1e-8], dtype=torch.float32)
        folded = torch.special.i0e(self.inner.weight * 2 + 1)
        return torch.cummax(y * 3, 0).values + 1, torch.logcumsumexp(table, 0) + folded.sum()


def drawn(x: Tensor) -> Tensor:
    return F.dropout(x * 2, 0.5, True) + torch.rand(2, 6)


def images() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 5)
    )


MODELS: dict[str, tuple[Any, Tensor]] = {
    "convolutions": (images, torch.ones(1, 3, 8, 8)),
    "recurrence": (lambda: nn.LSTM(6, 5, 2), torch.ones(4, 1, 6)),
    "library calls": (lambda: Calls(attention), torch.ones(2, 5, 24).bfloat16()),
    "all kinds of places": (Mixed, torch.ones(2, 6)),
    "random numbers": (lambda: Calls(drawn), torch.ones(2, 6)),
}


def session(name: str, **options: Any) -> strop.Session:
    make, x = MODELS[name]
    torch.manual_seed(0)
    return strop.Session(make().eval(), (x,), options=Options(threads=1, **options))


@pytest.mark.parametrize("name", MODELS)
def test_everything_comes_back(name: str) -> None:
    compiled = session(name, cache=False, check=True).compiled
    data = to_bytes(compiled)
    again = from_bytes(data)
    assert again == compiled
    assert to_bytes(again) == data


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_a_program_from_the_cache_computes_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROP_CACHE", str(tmp_path))
    first, second = session(name), session(name)
    assert second.cache_hit and not first.cache_hit
    given = torch.randn(MODELS[name][1].shape).to(MODELS[name][1].dtype)
    results = []
    for one in (first, second):
        torch.manual_seed(1)
        results.append([tensor.clone() for tensor in tree_leaves(one.module(given))])
    assert all(map(torch.equal, *results))


def test_the_models_above_have_every_kind_of_step_and_place() -> None:
    steps = session("all kinds of places", cache=False).compiled.steps
    places = {type(one.place) for step in steps if isinstance(step, LibraryStep) for one in step.inputs}
    steps += session("library calls", cache=False).compiled.steps
    places |= {type(one.place) for step in steps if isinstance(step, LibraryStep) for one in step.inputs}
    assert places == {Slot, InArena, InPacked, ConstantValues}
    assert {type(step) for step in steps} == {NativeStep, LibraryStep}


def test_the_header_says_everything_but_the_blobs() -> None:
    data = to_bytes(small())
    entries = header_of(data).items()
    golden("driver/artifact", "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in entries))
    assert data.startswith(MAGIC + VERSION.to_bytes(4, "little"))
    assert body_of(data) == b"first object" + b"second" + struct.pack("<6f", *[1.5] * 6)


def test_numbers_that_json_does_not_have_come_back() -> None:
    (_, _, step, _), (_, _, again, _) = small().steps, from_bytes(to_bytes(small())).steps
    assert isinstance(step, LibraryStep) and isinstance(again, LibraryStep)
    assert repr(again.attrs["odd"]) == repr(step.attrs["odd"])  # NaN is not equal to itself, -0.0 is to 0.0


@pytest.mark.parametrize("dtype", SIZES)
def test_constants_of_every_type_come_back(dtype: str) -> None:
    values = torch.tensor([0, 1, 1, 0], dtype=DTYPES[dtype])
    made = ConstantValues.of(values.tolist(), dtype)
    assert len(made.data) == 4 * SIZES[dtype]
    assert torch.equal(tensor_of(made.data, Type(dtype, (2, 2))), values.view(2, 2))
    assert tensor_of(ConstantValues.of([], dtype).data, Type(dtype, (0, 3))).shape == (0, 3)


def test_constants_share_bytes() -> None:
    def having(value: float) -> LibraryStep:
        place = ConstantValues.of([value] * 6, "f32")
        return LibraryStep("softmax", {"dim": -1}, (ROW,), (Argument(ROW, place),), (0,), False)

    steps = tuple(replace(having(value), outputs=(i,)) for i, value in enumerate((1.0, 2.0, 1.0)))
    artifact = replace(small(), steps=steps, inputs=(), params=(), direct=(), outputs=(), packed=(), sections=())
    data = to_bytes(replace(artifact, slots=4))
    assert header_of(data)["blobs"] == [12, 6, 24, 24]
    assert from_bytes(data).steps == steps


def with_attribute(value: object) -> Artifact:
    native, step, *others = small().steps
    assert isinstance(step, LibraryStep)
    return replace(small(), steps=(native, replace(step, attrs={**step.attrs, "odd": (1, value)}), *others))


@pytest.mark.parametrize("value", [{1, 2}, [1], b"raw", 2**64, "\ud800", torch.float32, np.float32(1)])
def test_attributes_that_are_not_plain_have_no_form(value: object) -> None:
    with pytest.raises(Problem, match=r"STR504.*no form as bytes(.|\n)*help: attributes"):
        to_bytes(with_attribute(value))


@pytest.mark.parametrize("value", [torch.Size((2, 3)), np.float64(0.1), complex(1, -0.0), IntFlag("Two", "a b").b])
def test_attributes_of_a_plain_kind_come_back_plain(value: object) -> None:
    (_, step, *_) = from_bytes(to_bytes(with_attribute(value))).steps
    assert isinstance(step, LibraryStep)
    assert step.attrs["odd"] == (1, value)
    assert type(step.attrs["odd"][1]) in (tuple, float, complex, int)
