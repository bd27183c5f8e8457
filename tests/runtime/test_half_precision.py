"""Models in float16 and bfloat16: what is left to eager, what is compiled, and what the journal says."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import strop
from frontend.beside import DOORS
from runtime.standin import Builder
from strop.core.journal import Journal, StropWarning
from strop.frontend.torch.normalize import convert
from strop.runtime import compile_model
from strop.runtime.dynamo import Backend
from strop.runtime.half_precision import reason_for_eager

HALF = (torch.float16, torch.bfloat16)
both_doors = pytest.mark.parametrize("door", DOORS)


class Layer(nn.Module):
    """A layer of an encoder."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (t.unflatten(-1, (2, -1)).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(x)))


class Image(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.norm(self.conv(x))).mean((2, 3))


class Island(nn.Module):
    """float32 around a layer in half precision."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.before, self.after = nn.Linear(16, 64), nn.Linear(64, 16)
        self.inside = nn.Linear(64, 64).to(dtype)
        self.dtype = dtype

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.gelu(self.before(x))
        return torch.softmax(self.after(self.inside(hidden.to(self.dtype)).float()) ** 2, -1)


def made(model: nn.Module, *inputs: Tensor) -> tuple[Any, Builder]:
    build = Builder()
    return compile_model.compile(model, inputs, build=build), build


def eager_reasons(journal: Journal) -> list[str]:
    return [event.message for event in journal.of("fallback") if "runs eager" in event.message]


@both_doors
@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("kind", ["encoder", "image"])
@torch.no_grad()
def test_a_model_in_half_precision_runs_eager_and_the_journal_says_why(
    kind: str, dtype: torch.dtype, door: str
) -> None:
    model = (Layer() if kind == "encoder" else Image()).eval().to(dtype)
    x = (torch.randn(1, 6, 16) if kind == "encoder" else torch.randn(1, 3, 8, 8)).to(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StropWarning)
        fast, journal = DOORS[door](model, (x,), {})
        for _ in range(2):
            assert torch.equal(fast(x), model(x))
    (reason,) = eager_reasons(journal)
    assert f"100% of the work is in {str(dtype).removeprefix('torch.')}" in reason


@both_doors
@pytest.mark.parametrize("dtype", HALF)
@torch.no_grad()
def test_an_island_of_half_precision_leaves_the_rest_compiled(dtype: torch.dtype, door: str) -> None:
    model, x = Island(dtype).eval(), torch.randn(4, 16)
    fast, journal = DOORS[door](model, (x,), {})
    torch.testing.assert_close(fast(x), model(x), rtol=1e-2, atol=1e-3)
    assert not eager_reasons(journal)
    assert any("has no native code" in event.message for event in journal.of("fallback"))


@torch.no_grad()
def test_other_shapes_are_not_traced_to_decide_again() -> None:
    traced: list[tuple[int, ...]] = []

    def trace(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        traced.append(tuple(args[0].shape))
        return compile_model.default_trace(model, args, kwargs)

    model = Layer().eval().bfloat16()
    fast: Any = compile_model.compile(model, (torch.randn(1, 4, 16).bfloat16(),), trace=trace)
    for length in range(4, 16):
        x = torch.randn(1, length, 16).bfloat16()
        assert torch.equal(fast(x=x), model(x))
        assert torch.equal(fast(x), model(x))
    assert traced == [(1, 4, 16)]


@torch.no_grad()
def test_another_dtype_is_decided_for_itself() -> None:
    model, x = Layer().eval().bfloat16(), torch.randn(1, 4, 16)
    fast, build = made(model, x.bfloat16())
    assert not build.programs
    model.float()
    torch.testing.assert_close(fast(x), model(x))
    assert build.calls == 1
    fast.bfloat16()
    assert torch.equal(fast(x.bfloat16()), model(x.bfloat16()))
    assert build.calls == 1


@torch.no_grad()
def test_a_module_without_weights_is_decided_by_its_inputs() -> None:
    model, x = nn.GELU(), torch.randn(8)
    fast, build = made(model, x.half())
    assert torch.equal(fast(x.half()), model(x.half())) and not build.programs
    torch.testing.assert_close(fast(x), model(x))
    assert build.calls == 1


@torch.no_grad()
def test_recompiling_decides_again() -> None:
    model, x = Layer().eval().half(), torch.randn(1, 4, 16).half()
    fast, _ = made(model, x)
    fast.refresh(recompile=True)
    fast(x)
    assert len([event for event in fast.journal.of("step") if event.subject == "compile a variant"]) == 2


@torch.no_grad()
def test_hooks_and_gradients_work_as_in_eager() -> None:
    model, x = Layer().eval().bfloat16(), torch.randn(1, 4, 16).bfloat16()
    fast, _ = made(model, x)
    seen: list[Any] = []
    fast.register_forward_hook(lambda module, args, result: seen.append(module))
    fast(x)
    assert seen == [fast]
    with torch.enable_grad():
        fast(x).sum().backward()
    assert model.up.weight.grad is not None


@torch.no_grad()
def test_shapes_that_dynamo_keeps_open_run_eager_too() -> None:
    torch._dynamo.reset()
    model, journal = Layer().eval().bfloat16(), Journal()
    fast = torch.compile(model, backend=Backend(strop.Options(), journal), dynamic=True)
    for length in (4, 6):
        x = torch.randn(1, length, 16).bfloat16()
        assert torch.equal(fast(x), model(x))
    assert len(eager_reasons(journal)) == 1


def test_a_session_shows_what_would_be_compiled() -> None:
    session = strop.Session(Layer().eval().bfloat16(), (torch.randn(1, 4, 16).bfloat16(),), threads=1)
    assert "runs eager outside of a session: 100% of the work" in session.journal.explain()
    assert session.summary()["library_nodes"]


@pytest.mark.parametrize(
    ("kind", "function", "shapes"),
    [
        ("transposed", lambda x, w: F.conv_transpose2d(x, w, stride=2), [(1, 4, 6, 6), (4, 8, 2, 2)]),
        ("products", lambda x, w: torch.addmm(x, x, w) @ w, [(8, 8), (8, 8)]),
        ("views", lambda x, w: x.t(), [(8, 8), (8, 8)]),
    ],
)
def test_work_is_counted_by_what_the_operators_do(kind: str, function: Any, shapes: list[tuple[int, ...]]) -> None:
    tensors = [torch.randn(shape) for shape in shapes]
    assert reason_for_eager(convert(function, *tensors).graph) == ""
    reason = reason_for_eager(convert(function, *(t.bfloat16() for t in tensors)).graph)
    assert "100% of the work is in bfloat16" in reason


def test_large_products_in_float32_outweigh_small_ones_in_half_precision() -> None:
    def both(x: Tensor, y: Tensor) -> Tensor:
        return (x @ x).sum() + (y @ y).sum()

    large, small = torch.randn(64, 64), torch.randn(8, 8)
    assert reason_for_eager(convert(both, large, small.half()).graph) == ""
    assert "float16" in reason_for_eager(convert(both, small, large.half()).graph)
