"""Changes of a module's structure and code, and of what surrounds it: the next call follows them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.utils import parametrizations, parametrize, prune

from runtime.standin import compiled
from strop.runtime.module import CompiledModule


class Pair(nn.Module):
    """Two layers and two buffers that may be tied, in a submodule."""

    def __init__(self, tied: bool) -> None:
        super().__init__()
        self.inner = nn.Module()
        self.inner.first, self.inner.last = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
        self.register_buffer("low", torch.randn(4))
        self.register_buffer("high", torch.randn(4))
        if tied:
            self.inner.last.weight = self.inner.first.weight
            self.high = self.low

    def forward(self, x: Tensor) -> Tensor:
        return self.inner.last(torch.relu(self.inner.first(x) + self.low)) * self.high


def parameter() -> nn.Parameter:
    return nn.Parameter(torch.randn(4, 4))


def removed_and_registered(model: Pair) -> None:
    del model.inner.last.weight
    model.inner.last.register_parameter("weight", parameter())


TIES: dict[str, Callable[[Pair], object]] = {
    "another parameter for the last": lambda m: setattr(m.inner.last, "weight", parameter()),
    "another parameter for the first": lambda m: setattr(m.inner.first, "weight", parameter()),
    "removed and registered": removed_and_registered,
    "tied": lambda m: setattr(m.inner.last, "weight", m.inner.first.weight),
    "tied the other way": lambda m: setattr(m.inner.first, "weight", m.inner.last.weight),
    "another buffer": lambda m: setattr(m, "high", torch.randn(4)),
    "tied buffers": lambda m: setattr(m, "high", m.low),
    "the same module": lambda m: setattr(m.inner, "last", m.inner.first),
}


def agree(fast: CompiledModule, x: Tensor) -> None:
    for _ in range(2):
        torch.testing.assert_close(fast(x), fast.original(x))


@pytest.mark.parametrize("change", TIES)
@pytest.mark.parametrize("tied", [True, False])
@torch.no_grad()
def test_weights_are_tied_and_untied(tied: bool, change: str) -> None:
    model, x = Pair(tied).eval(), torch.randn(3, 4)
    fast, built = compiled(model, x)
    agree(fast, x)
    TIES[change](model)
    agree(fast, x)
    model.inner.first.weight.mul_(2)
    agree(fast, x)
    model.inner.last.weight = model.inner.first.weight
    agree(fast, x)
    assert built.calls == 8


class Activations(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = self.second = nn.ReLU()
        self.third = nn.Tanh()

    def forward(self, x: Tensor) -> Tensor:
        return self.third(self.second(self.first(x) - 1) + 2)


@torch.no_grad()
def test_the_same_modules_in_other_places() -> None:
    model, x = Activations().eval(), torch.randn(5)
    fast, _ = compiled(model, x)
    agree(fast, x)
    model.second = model.third
    agree(fast, x)


@pytest.mark.slow
@torch.no_grad()
def test_a_module_that_lies_where_another_was_is_another_one() -> None:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval(), torch.randn(3, 4)
    fast, _ = compiled(model, x, max_variants=40)
    for kind in (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.SiLU, nn.ELU) * 3:
        model[1] = nn.Identity()
        fast(x)
        gc.collect()
        model[1] = kind().eval()
        agree(fast, x)


class Double(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


@pytest.fixture
def classes() -> Iterator[None]:
    forwards = {cls: cls.__dict__["forward"] for cls in (Double, nn.Linear, Pair)}
    yield
    for cls, forward in forwards.items():
        cls.forward = forward  # type: ignore[attr-defined]


def of_the_instance(model: nn.Sequential) -> None:
    model.forward = lambda x: model[0](x) - 1  # type: ignore[method-assign]


def of_a_submodule(model: nn.Sequential) -> None:
    model[0].forward = lambda x: x * 3


def bound_method(model: nn.Sequential) -> None:
    model[0].forward = nn.Linear.forward.__get__(model[0])


def of_the_class(model: nn.Sequential) -> None:
    Double.forward = lambda self, x: x * self.weight.sum()  # type: ignore[method-assign]


def of_the_base(model: nn.Sequential) -> None:
    nn.Linear.forward = lambda self, x: x + self.bias  # type: ignore[method-assign]


def removed_from_the_class(model: nn.Sequential) -> None:
    del Double.forward


@pytest.mark.parametrize(
    "change",
    [of_the_instance, of_a_submodule, bound_method, of_the_class, of_the_base, removed_from_the_class],
)
@pytest.mark.usefixtures("classes")
@torch.no_grad()
def test_another_forward_is_followed(change: Callable[[nn.Sequential], None]) -> None:
    model, x = nn.Sequential(Double(4, 4), nn.ReLU()).eval(), torch.randn(3, 4)
    fast, built = compiled(model, x)
    before = fast(x)
    agree(fast, x)
    change(model)
    agree(fast, x)
    assert not torch.equal(fast(x), before) and built.calls == 6


@torch.no_grad()
def test_the_forward_of_a_compiled_module_is_its_originals() -> None:
    x = torch.randn(3, 4)
    inner, _ = compiled(nn.Linear(4, 4), x)
    fast, _ = compiled(nn.Sequential(inner, nn.ReLU()), x)
    agree(fast, x)
    inner.forward = lambda x: x - 5  # type: ignore[method-assign]
    torch.testing.assert_close(inner(x), x - 5)
    torch.testing.assert_close(fast(x), (x - 5).relu())


@torch.no_grad()
def test_tangents_of_arguments_run_eager() -> None:
    model, x = nn.Linear(4, 4).requires_grad_(False), torch.randn(3, 4)
    fast, built = compiled(model, x)
    fast(x)
    fast(x)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        tangent = forward_ad.unpack_dual(fast(dual)).tangent
        torch.testing.assert_close(tangent, model.weight.sum(1).expand(3, 4))
    fast(x)
    assert built.calls == 3
    assert "forward-mode" in " ".join(event.message for event in fast.journal.of("fallback"))


@torch.no_grad()
def test_tangents_of_parameters_run_eager() -> None:
    model, x = nn.Linear(4, 4).requires_grad_(False), torch.randn(3, 4)
    fast, _ = compiled(model, x)
    fast(x)
    with forward_ad.dual_level():
        weight = model.weight
        del model.weight
        model.weight = forward_ad.make_dual(weight, torch.ones_like(weight))
        tangent = forward_ad.unpack_dual(fast(x)).tangent
        torch.testing.assert_close(tangent, x.sum(1, keepdim=True).expand(3, 4))


@torch.no_grad()
def test_tensors_are_swapped_under_a_compiled_module() -> None:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).eval(), torch.randn(3, 4)
    fast, _ = compiled(model, x)
    agree(fast, x)
    agree(fast, torch.randn(5, 4))
    torch.utils.swap_tensors(model[0].weight, parameter())
    torch.utils.swap_tensors(model[1].running_mean, torch.randn(4))
    agree(fast, x)


@torch.no_grad()
def test_conversions_may_swap_parameters() -> None:
    model, x = nn.Linear(4, 4), torch.randn(3, 4)
    fast, _ = compiled(model, x)
    agree(fast, x)
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        for change in (model.double, model.float, fast.double, fast.float):
            change()
            agree(fast, x.to(model.weight.dtype))
        model.load_state_dict(nn.Linear(4, 4).state_dict())
        agree(fast, x)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


class Negated(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return -x


def weight_norm_twice(layer: nn.Linear) -> None:
    parametrizations.weight_norm(layer)
    layer.parametrizations.weight.original0.mul_(3)


def removed(layer: nn.Linear) -> None:
    parametrize.register_parametrization(layer, "weight", Negated())
    parametrize.remove_parametrizations(layer, "weight")


WRAPPED: dict[str, Callable[[nn.Linear], object]] = {
    "parametrization": lambda m: parametrize.register_parametrization(m, "weight", Negated()),
    "parametrization removed": removed,
    "weight_norm": weight_norm_twice,
    "spectral_norm": parametrizations.spectral_norm,
    "weight_norm by hooks": lambda m: nn.utils.weight_norm(m),
    "pruning": lambda m: prune.random_unstructured(m, "weight", 0.5),
    "pruning made permanent": lambda m: prune.remove(prune.l1_unstructured(m, "weight", 0.5), "weight"),
    "hook": lambda m: m.register_forward_hook(lambda module, args, out: out * 2),
    "hook before": lambda m: m.register_forward_pre_hook(lambda module, args: (args[0] + 1,)),
}


@pytest.mark.parametrize("change", WRAPPED)
@torch.no_grad()
def test_what_wraps_a_layer_is_followed(change: str) -> None:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval(), torch.randn(3, 4)
    fast, _ = compiled(model, x)
    agree(fast, x)
    WRAPPED[change](model[0])
    agree(fast, x)
