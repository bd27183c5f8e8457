"""`release=True`: parameters that were packed are given up, and whoever needs one afterwards is told."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import strop
from strop.runtime.module import CompiledModule
from strop.runtime.release import Released


class Tied(nn.Module):
    """An embedding that is read row by row, and packed as the weight of the last layer."""

    def __init__(self, rows: int = 50) -> None:
        super().__init__()
        self.rows = nn.Embedding(rows, 64)
        self.inner = nn.Linear(64, 64)
        self.last = nn.Linear(64, rows, bias=False)
        self.last.weight = self.rows.weight

    def forward(self, index: Tensor) -> Tensor:
        return self.last(self.inner(self.rows(index)))


def layers() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64)).eval()


def convolutions() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 8, 1)).eval()


def compiled(model: nn.Module, *args: Tensor, **options: Any) -> CompiledModule:
    fast = strop.compile(model, args, threads=1, release=True, **options)
    assert isinstance(fast, CompiledModule)
    return fast


def released(model: nn.Module) -> set[str]:
    found = (*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False))
    return {name for name, tensor in found if isinstance(tensor, Released)}


@pytest.mark.parametrize(("make", "shape"), [(layers, (32, 64)), (convolutions, (1, 3, 24, 24))])
@torch.no_grad()
def test_packed_weights_are_freed_and_calls_go_on(make: Callable[[], nn.Module], shape: tuple[int, ...]) -> None:
    model, x = make(), torch.randn(shape)
    wanted = model(x)
    large = [t for t in model.parameters() if t.dim() > 1]
    watched = [weakref.ref(t.untyped_storage()) for t in large]
    sizes = {name: t.numel() for name, t in model.named_parameters()}
    fast = compiled(model, x)
    del large
    gc.collect()
    assert not any(ref() for ref in watched)
    for _ in range(3):
        torch.testing.assert_close(fast(x), wanted, rtol=1e-4, atol=1e-5)
    assert fast._dispatcher.hot is not None
    assert {name: t.numel() for name, t in fast.named_parameters()} == sizes
    assert any("released" in event.message for event in fast.journal.of("note"))


@torch.no_grad()
@pytest.mark.parametrize("rows", [50, 48])  # a whole number of blocks in the packed copy, and a part of one at its end
def test_few_rows_are_read_through_the_packed_copy(rows: int) -> None:
    model, index = Tied(rows).eval(), torch.tensor([0, 4, 17, rows - 1])
    wanted = model(index)
    watched = weakref.ref(model.rows.weight.untyped_storage())
    fast = compiled(model, index, check=True)
    gc.collect()
    assert {"rows.weight", "last.weight"} <= released(model) and watched() is None
    for given in (index, index.flip(0)):
        torch.testing.assert_close(fast(given), wanted if given is index else wanted.flip(0), rtol=1e-4, atol=1e-5)
    with pytest.raises(IndexError):
        fast(torch.tensor([0, 4, rows, 1]))


@torch.no_grad()
def test_what_is_read_as_it_is_stays() -> None:
    model, index = Tied().eval(), torch.arange(40)
    wanted = model(index)
    fast = compiled(model, index)
    assert not {"rows.weight", "last.weight"} & released(model)
    assert "inner.weight" in released(model)
    torch.testing.assert_close(fast(index), wanted, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_recurrent_layers_let_go_of_their_own_lists() -> None:
    model, x = nn.LSTM(32, 64, batch_first=True).eval(), torch.randn(2, 5, 32)
    wanted = model(x)[0]
    watched = weakref.ref(model.weight_hh_l0.untyped_storage())
    fast = compiled(model, x)
    gc.collect()
    assert "weight_hh_l0" in released(model) and watched() is None
    torch.testing.assert_close(fast(x)[0], wanted, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_others_who_hold_a_parameter_keep_it() -> None:
    model, x = layers(), torch.randn(32, 64)
    mine = model[0].weight
    before = mine.clone()
    compiled(model, x)
    assert torch.equal(mine, before)


USES: dict[str, Callable[[CompiledModule, Tensor], Any]] = {
    "state_dict": lambda fast, x: fast.state_dict(),
    "the original": lambda fast, x: fast.original(x),
    "refresh": lambda fast, x: fast.refresh(),
    "another dtype": lambda fast, x: fast.double(),
    "deepcopy": lambda fast, x: copy.deepcopy(fast),
    "pickle": lambda fast, x: pickle.dumps(fast),
    "copying values": lambda fast, x: fast.load_state_dict(layers().state_dict()),
    "compiling again": lambda fast, x: strop.compile(fast.original, (x,)),
    "a value": lambda fast, x: fast[0].weight.sum(),
    "another dtype of the input": lambda fast, x: fast(x.double()),
}


@pytest.mark.parametrize("name", USES)
@torch.no_grad()
def test_who_needs_a_released_parameter_is_told(name: str) -> None:
    x = torch.randn(32, 64)
    fast = compiled(layers(), x)
    wanted = fast(x)
    with pytest.raises(strop.Problem, match="was released after packing") as raised:
        USES[name](fast, x)
    assert raised.value.code == "STR405" and "load_state_dict" in str(raised.value.help)
    assert torch.equal(fast(x), wanted)


def test_gradients_are_refused_with_the_reason() -> None:
    x = torch.randn(32, 64)
    fast = compiled(layers(), x)
    with pytest.raises(strop.Problem, match="gradients are needed"):
        fast(x)


@torch.no_grad()
def test_shapes_that_share_their_packed_weights_are_compiled() -> None:
    model, inputs = layers(), [torch.randn(rows, 64) for rows in (256, 320, 384, 448, 512, 640, 768)]
    wanted = [model(x) for x in inputs]
    fast = compiled(model, inputs[0])
    served = 0
    for x, y in zip(inputs[1:], wanted[1:]):
        try:
            torch.testing.assert_close(fast(x), y, rtol=1e-4, atol=1e-5)
            served += 1
        except strop.Problem as problem:  # the tile of this CPU for so many rows reads panels of another width
            assert problem.code == "STR405"
    assert served
    torch.testing.assert_close(fast(inputs[0]), wanted[0], rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_shapes_that_pack_in_another_way_are_refused() -> None:
    model = convolutions()
    fast = compiled(model, torch.randn(1, 3, 24, 24), winograd=False)
    x = torch.randn(1, 3, 24, 24)
    wanted = fast(x)
    for each in fast._dispatcher.variants.made:
        each._store.known.clear()  # as if the other shape wanted something that nobody has packed
    with pytest.raises(strop.Problem, match="could not be compiled"):
        fast(torch.randn(2, 3, 32, 32))
    assert torch.equal(fast(x), wanted)


@torch.no_grad()
def test_new_weights_are_packed_and_released_again() -> None:
    model, x = layers(), torch.randn(32, 64)
    fast = compiled(model, x)
    other = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64)).eval()
    fast.load_state_dict(other.state_dict(), assign=True)
    torch.testing.assert_close(fast(x), other(x), rtol=1e-4, atol=1e-5)
    assert "0.weight" in released(model)
    torch.testing.assert_close(fast(x), other(x), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_one_new_weight_is_packed_alone() -> None:
    model, x = layers(), torch.randn(32, 64)
    again = copy.deepcopy(model)
    fast = compiled(model, x)
    again[0].weight.mul_(2)
    model[0].weight = nn.Parameter(again[0].weight.clone())
    torch.testing.assert_close(fast(x), again(x), rtol=1e-4, atol=1e-5)


def test_pieces_of_dynamo_cannot_release() -> None:
    with pytest.raises(Exception, match="release"):
        torch.compile(layers(), backend="strop", options={"release": True})(torch.randn(32, 64))


@torch.no_grad()
def test_an_onnx_model_lets_go_of_its_initialisers(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    weight = np.random.default_rng(0).standard_normal((64, 96)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [32, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [32, 96])],
        [numpy_helper.from_array(weight, "w")],
    )  # fmt: skip
    path = tmp_path / "net.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    run = strop.compile(path, threads=1, release=True)
    x = np.random.default_rng(1).standard_normal((32, 64)).astype(np.float32)
    for _ in range(3):
        np.testing.assert_allclose(run({"x": x})["y"], x @ weight, rtol=1e-4, atol=1e-4)
    gc.collect()
    held = [t for t in gc.get_objects() if type(t) in (Tensor, nn.Parameter) and t.shape == (64, 96)]
    assert released(run.original) == {"w"} and not held
    with pytest.raises(strop.Problem, match="was released"):
        run.state_dict()


PEAK = """
import gc
from pathlib import Path
import torch
from torch import nn
import strop
from strop.core.process_memory import peak_rss_mb, resident_mb, trim

def compiled(side, depth):
    layers = nn.Sequential(*(nn.Linear(side, side) for _ in range(depth))).eval()
    x = torch.randn(16, side)
    gc.collect(), trim()
    Path("/proc/self/clear_refs").write_text("5")
    before = resident_mb()
    fast = strop.compile(layers, (x,), threads=1, strassen=False, release=RELEASE, cache=False)
    with torch.no_grad():
        fast(x)
    return peak_rss_mb() - before, resident_mb() - before

compiled(64, 2)
print(*compiled(1536, 24))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False])
def test_parameters_are_released_one_by_one(kept: bool) -> None:
    """216 MB of weights: without `release` packed ones come on top; with it they take the place of the others, and at
    no time are all there twice. A compilation itself takes some 50 MB."""
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("the system does not tell the largest size")
    text = PEAK.replace("RELEASE", str(not kept))
    told = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    peak, steady = map(float, told.stdout.split())
    assert steady > 200 if kept else steady < 60
    assert peak < steady + 100
