"""Both ways of comparing a module with the last look at it see the same changes."""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from runtime.standin import compiled
from strop.runtime import guards
from strop.runtime.guards import Same, Seen
from strop.runtime.state import ModuleState

WAYS: dict[str, Callable[[Seen], Same | None]] = {"looped": guards.looped, "native": guards.native}


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.act = nn.BatchNorm1d(4), nn.ReLU()
        self.scale = nn.Parameter(torch.ones(()))
        self.register_parameter("shift", None)


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 4), Inner(), nn.Linear(4, 2)).eval()


def same_of(model: nn.Module, way: str) -> Same:
    state = ModuleState(model)
    state.current()
    assert state._seen is not None
    same = WAYS[way](state._seen)
    assert same is not None
    return same


def swap(model: nn.Sequential) -> None:
    torch.utils.swap_tensors(model[0].weight, nn.Parameter(torch.randn(4, 4)))


def reorder(model: nn.Sequential) -> None:
    model._modules["0"] = model._modules.pop("0")


def rename(model: nn.Sequential) -> None:
    model._modules["last"] = model._modules.pop("2")
    model._modules["more"] = nn.ReLU()


def data(model: nn.Sequential) -> None:
    model[0].weight.data = model[0].weight.data.clone()


def storage(model: nn.Sequential) -> None:
    model[0].weight.data.set_(torch.randn(4, 4))
    model[0].weight.set_(torch.randn(4, 4))


def frozen(model: nn.Sequential) -> None:
    with torch.inference_mode():
        model[0].weight = nn.Parameter(torch.randn(4, 4))


CHANGES: dict[str, Callable[[nn.Sequential], object]] = {
    "in place": lambda m: m[2].bias.add_(0),
    "a buffer in place": lambda m: m[1].norm.running_var.mul_(2),
    "data": data,
    "another storage": storage,
    "a storage of nothing": lambda m: m[0].weight.untyped_storage().resize_(0),
    "into shared memory": lambda m: m.share_memory(),
    "swapped": swap,
    "an equal parameter": lambda m: setattr(m[1], "scale", nn.Parameter(torch.ones(()))),
    "an equal buffer": lambda m: setattr(m[1].norm, "num_batches_tracked", m[1].norm.num_batches_tracked.clone()),
    "a parameter for None": lambda m: setattr(m[1], "shift", nn.Parameter(torch.zeros(4))),
    "None for a parameter": lambda m: setattr(m[0], "bias", None),
    "one parameter less": lambda m: delattr(m[0], "bias"),
    "one parameter more": lambda m: m[0].register_parameter("more", nn.Parameter(torch.ones(1))),
    "made under inference_mode": frozen,
    "another submodule": lambda m: setattr(m[1], "act", nn.ReLU().eval()),
    "one submodule more": lambda m: m.append(nn.ReLU()),
    "one submodule less": lambda m: m.pop(0),
    "the first submodule of one": lambda m: m[1].act.add_module("more", nn.ReLU()),
    "another order": reorder,
    "another name": rename,
    "training of all": lambda m: m.train(),
    "training of one": lambda m: m[1].act.train(),
    "a hook": lambda m: m[1].act.register_forward_hook(lambda module, args, out: out),
    "a hook before": lambda m: m.register_forward_pre_hook(lambda module, args: args),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("way", WAYS)
@torch.no_grad()
def test_every_change_is_seen(way: str, change: str) -> None:
    model = net()
    same = same_of(model, way)
    assert same() is True and same() is True
    CHANGES[change](model)
    assert same() is False and same() is False


@pytest.mark.parametrize("way", WAYS)
@torch.no_grad()
def test_what_changes_nothing_is_no_change(way: str) -> None:
    model = net()
    for _ in range(300):
        model[0].weight.add_(1)  # a version that the interpreter keeps no number for
    same = same_of(model, way)
    model.requires_grad_(False)
    model.eval()
    model.note = "text"
    hook = model[0].register_forward_hook(lambda module, args, out: out)
    hook.remove()
    model[0].weight = model[0].weight
    assert same() is True
    model[0].weight.add_(1)
    assert same() is False


@pytest.mark.parametrize("way", WAYS)
def test_a_module_without_anything(way: str) -> None:
    model = nn.ReLU()
    same = same_of(model, way)
    assert same() is True
    model.eval()
    assert same() is False


@torch.no_grad()
def test_an_unreadable_tensor_is_a_change_and_no_error() -> None:
    model = net()
    same = same_of(model, "native")
    with torch.inference_mode():
        model[0].weight.data = torch.randn(4, 4)
    assert same() is False


def test_it_outlives_the_module() -> None:
    model = net()
    same = same_of(model, "native")
    del model
    gc.collect()
    junk = [torch.randn(4, 4) for _ in range(100)]
    assert same() is True and junk


def hooked(model: nn.Sequential) -> None:
    model[0].register_forward_hook(lambda module, args, out: out)


def ordered(model: nn.Sequential) -> None:
    model._modules = OrderedDict(model._modules)


def nested(model: nn.Sequential) -> None:
    model[2] = compiled(nn.Linear(4, 2), torch.ones(1, 4))[0]


@pytest.mark.parametrize("change", [hooked, ordered, nested])
def test_what_the_native_way_cannot_see_is_looped(change: Callable[[nn.Sequential], None]) -> None:
    model = net()
    change(model)
    state = ModuleState(model)
    state.current()
    assert state._seen is not None and guards.native(state._seen) is None
    assert state.same()
    model[2].train(not model[2].training)
    assert not state.same()


def test_without_the_functions_of_the_library_it_is_looped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "_LIBRARY", ("a_function_that_torch_does_not_have",))
    guards._interface.cache_clear()
    try:
        model = net()
        state = ModuleState(model)
        state.current()
        assert state._seen is not None and guards.native(state._seen) is None
        assert state.same()
    finally:
        guards._interface.cache_clear()


def test_the_order_of_ordered_submodules_is_seen() -> None:
    model = net()
    ordered(model)
    state = ModuleState(model)
    state.current()
    model._modules.move_to_end("0")  # type: ignore[attr-defined]
    assert not state.same()


def test_threads_may_look_while_one_writes() -> None:
    model = net().requires_grad_(False)
    state = ModuleState(model)

    def look(number: int) -> bool:
        if number % 7 == 0:
            model[number % 2 * 2].weight.add_(1)
        if number % 11 == 0:
            model[1].act = nn.ReLU()
        snapshot = state.current()
        return snapshot.tensors["0.weight"] is model[0].weight

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(look, range(2000)))
    assert state.current() is state.current()
