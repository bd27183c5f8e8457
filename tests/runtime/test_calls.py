"""Calls of a compiled module: arguments of every kind in, the same results and aliases as eager out."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from runtime.standin import Builder, compiled
from strop.core.journal import StropWarning
from strop.core.options import Options
from strop.core.problem import Problem
from strop.runtime.compile_model import compile
from strop.runtime.module import CompiledModule


class Scale(nn.Module):
    def forward(self, x: Tensor, y: Tensor | None = None, *, factor: float = 2.0) -> Tensor:
        return x * factor if y is None else x * factor + y


class Outputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 3))
        self.drop = nn.Dropout()

    def forward(self, x: Tensor) -> dict[str, Any]:
        y = x @ self.weight
        return {
            "same": x, "view": x.t()[1:], "reshaped": x.reshape(-1), "copy": x.clone(), "dropped": self.drop(x),
            "weight": self.weight, "computed": y, "of computed": y.view(-1), "again": y, "part": x.split(1)[1],
            "plain": (None, 3, "text", 1.5), "size": x.shape[0], "cast": x.to(torch.float32),
        }  # fmt: skip


def leaves(results: Any) -> list[Any]:
    return torch.utils._pytree.tree_leaves(results)


def agree(got: Any, wanted: Any) -> None:
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-6)


@torch.no_grad()
def test_outputs_alias_what_they_alias_in_eager() -> None:
    model = Outputs().eval()
    fast, _ = compiled(model, torch.randn(3, 3))
    x = torch.randn(3, 3)
    got, wanted = fast(x), model(x)
    assert list(got) == list(wanted)
    agree([v for v in leaves(got) if isinstance(v, Tensor)], [v for v in leaves(wanted) if isinstance(v, Tensor)])
    assert got["plain"] == wanted["plain"] and got["size"] == 3
    assert got["same"] is x and got["dropped"] is x and got["cast"] is x and got["weight"] is model.weight
    assert got["again"] is got["computed"]
    for name, tensor in wanted.items():
        if isinstance(tensor, Tensor):
            shared = tensor.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
            assert (got[name].untyped_storage().data_ptr() == x.untyped_storage().data_ptr()) == shared, name
            assert got[name].stride() == tensor.stride(), name
    got["of computed"].zero_()
    assert not got["computed"].any()


@torch.no_grad()
def test_reshape_of_another_layout_copies_as_in_eager() -> None:
    fast, _ = compiled(Outputs().eval(), torch.randn(3, 3))
    x = torch.randn(3, 3).t()
    got = fast(x)["reshaped"]
    agree(got, x.reshape(-1))
    assert got.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()


@pytest.mark.parametrize("x", [
    torch.randn(4, 3).t(), torch.randn(3, 1).expand(3, 4), torch.randn(0, 4), torch.tensor(2.0),
    torch.randn(6, 8)[::2, ::2], torch.arange(12).view(3, 4),
    torch.randn(3, 4, dtype=torch.complex64).conj().imag, torch.randn(3, 4).double(),
], ids=["transposed", "expanded", "empty", "0-d", "strided", "integers", "negated lazily", "double"])  # fmt: skip
@torch.no_grad()
def test_inputs_of_every_layout(x: Tensor) -> None:
    fast, built = compiled(Scale(), torch.randn(3, 4))
    for _ in range(3):
        agree(fast(x), x * 2.0)
    assert built.calls == 3


@torch.no_grad()
def test_a_call_like_the_last_takes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Linear(3, 3)
    fast, built = compiled(model, torch.ones(2, 3))
    fast(torch.ones(2, 3))
    long_ways: list[Any] = []
    monkeypatch.setattr(fast._dispatcher, "call", lambda args, kwargs: long_ways.append(args))
    x = torch.randn(2, 3)
    agree(fast(x), model(x))
    assert built.calls == 2 and not long_ways
    for other in (torch.ones(3, 3), torch.ones(3, 2).t(), torch.ones(2, 3).double(), nn.Parameter(torch.ones(2, 3))):
        fast(other)
    model.weight.add_(1)
    fast(x)
    assert len(long_ways) == 5


@torch.no_grad()
def test_one_tensor_may_come_twice() -> None:
    fast, built = compiled(Scale(), torch.randn(3), torch.randn(3))
    x = torch.randn(3)
    agree(fast(x, x), x * 3)
    assert built.calls == 1


@torch.no_grad()
def test_plain_arguments_are_guarded_by_value_and_type() -> None:
    fast, built = compiled(Scale(), torch.ones(3))
    x = torch.arange(3)
    for factor in (2.0, 3.0, 3, True, -0.0, 0.0):
        got, wanted = fast(x, factor=factor), Scale()(x, factor=factor)
        assert got.dtype == wanted.dtype and torch.equal(got, wanted), factor
        if wanted.is_floating_point():
            assert torch.equal(got.signbit(), wanted.signbit())
    assert len(built.programs) == 7


@torch.no_grad()
def test_keyword_order_does_not_matter() -> None:
    fast, built = compiled(Scale(), torch.ones(3))
    x, y = torch.randn(3), torch.randn(3)
    agree(fast(x, y=y, factor=3.0), fast(x, factor=3.0, y=y))
    agree(fast(factor=3.0, y=y, x=x), x * 3 + y)
    assert len(built.programs) == 3


@torch.no_grad()
def test_past_the_cap_calls_run_eager_and_say_so_once() -> None:
    fast, built = compiled(Scale(), torch.ones(1), max_variants=2)
    fast(torch.ones(2))
    with pytest.warns(StropWarning, match="2 variants"):
        agree(fast(torch.ones(3)), torch.full((3,), 2.0))
    agree(fast(torch.ones(4)), torch.full((4,), 2.0))
    assert len(built.programs) == 2
    assert len([e for e in fast.journal.of("fallback") if "max_variants" in e.message]) == 1


def test_gradients_run_eager_and_are_journaled() -> None:
    model = nn.Linear(3, 3)
    fast, built = compiled(model, torch.ones(2, 3))
    fast(torch.ones(2, 3)).sum().backward()
    assert model.weight.grad is not None and built.calls == 0
    assert "gradients" in fast.journal.of("fallback")[0].message
    model.requires_grad_(False)
    assert not fast(torch.ones(2, 3)).requires_grad and built.calls == 1
    assert fast(torch.ones(2, 3, requires_grad=True)).requires_grad and built.calls == 1


def test_inference_mode_gives_inference_tensors_and_takes_them() -> None:
    fast, built = compiled(nn.Linear(3, 3), torch.ones(2, 3))
    with torch.inference_mode():
        for _ in range(3):
            x = fast(torch.ones(2, 3))
        assert x.is_inference()
    with torch.no_grad():
        for _ in range(3):
            assert not fast(x).is_inference()
    with torch.inference_mode():
        fast(torch.ones(5, 3))
    assert built.calls == 7


@torch.no_grad()
def test_what_surrounds_a_call_is_respected() -> None:
    model = nn.Linear(3, 3)
    fast, built = compiled(model, torch.ones(2, 3))
    x = torch.randn(4, 2, 3)
    for _ in range(2):
        fast(x[0])
    calls = built.calls
    agree(torch.vmap(fast)(x), model(x))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert fast(x[0]).dtype == torch.bfloat16
    with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert type(fast(mode.from_tensor(x[0]))) is not Tensor
    assert built.calls == calls
    with torch.device("cpu"):
        agree(fast(x[0]), model(x[0]))
    assert built.calls == calls + 1
    reasons = " ".join(e.message for e in fast.journal.of("fallback"))
    assert "functorch" in reasons and "autocast" in reasons and "dispatch mode" in reasons


@torch.no_grad()
def test_hooks_run_wherever_they_sit() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    fast, _ = compiled(model, torch.ones(2, 3))
    x = torch.randn(2, 3)
    for _ in range(2):
        fast(x)
    outer = fast.register_forward_hook(lambda m, a, out: out + 1)
    agree(fast(x), model(x) + 1)
    outer.remove()
    inner = model[0].register_forward_hook(lambda m, a, out: out * 0 - 1)
    agree(fast(x), torch.zeros(2, 3))
    inner.remove()
    agree(fast(x), model(x))
    everywhere = nn.modules.module.register_module_forward_hook(lambda m, a, out: out * 0)
    assert not fast(x).any()
    everywhere.remove()
    agree(fast(x), model(x))


def test_it_is_the_same_module_to_everybody_else() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    model.note = "mine"
    fast, _ = compiled(model, torch.ones(2, 3))
    assert list(fast.state_dict()) == list(model.state_dict())
    assert all(a is b for a, b in zip(fast.parameters(), model.parameters(), strict=True))
    assert fast.note == "mine" and fast[0] is model[0]
    fast.note = "yours"
    assert model.note == "yours"
    assert fast.eval() is fast and not model.training and not model[1].training
    parent = nn.ModuleDict({"inner": fast})
    parent.load_state_dict({key: torch.ones_like(value) for key, value in parent.state_dict().items()})
    assert model[0].weight.eq(1).all()
    assert parent.train() and model[1].training
    with pytest.raises(AttributeError, match="absent"):
        _ = fast.absent


@torch.no_grad()
def test_copies_and_pickles_hold_their_own_parameters() -> None:
    fast, built = compiled(nn.Linear(3, 3).eval(), torch.ones(2, 3))
    other = copy.deepcopy(fast)
    other.weight.zero_()
    assert isinstance(other, CompiledModule) and fast.weight.any()
    agree(other(torch.ones(2, 3)), other.bias.expand(2, 3))
    assert len(built.programs) == 2
    again = pickle.loads(pickle.dumps(fast))
    assert isinstance(again, CompiledModule) and torch.equal(again.weight, fast.weight)


@torch.no_grad()
def test_torch_compile_and_export_see_the_original() -> None:
    fast, built = compiled(nn.Linear(3, 3).eval(), torch.ones(2, 3))
    x = torch.randn(2, 3)
    agree(torch.compile(fast, backend="eager", fullgraph=True)(x), fast.original(x))
    agree(torch.export.export(fast, (x,)).module()(x), fast.original(x))
    assert built.calls == 0
    for _ in range(2):
        fast(x)
    torch._dynamo.reset()
    agree(torch.compile(fast, backend="eager", fullgraph=True)(x), fast.original(x))
    for strict in (True, False):
        agree(torch.export.export(fast, (x,), strict=strict).module()(x), fast.original(x))
    assert built.calls == 2


@torch.no_grad()
def test_a_failing_program_leaves_eager_alone() -> None:
    class Broken(Builder):
        def __call__(self, graph: Any, options: Any, journal: Any, threads: int) -> Any:
            if graph.inputs[0].shape != (2, 3):
                raise RuntimeError("no such luck")
            return super().__call__(graph, options, journal, threads)

    model = nn.Linear(3, 3)
    fast = compile(model, (torch.ones(2, 3),), build=Broken())
    with pytest.warns(StropWarning, match="no such luck"):
        agree(fast(torch.ones(4, 3)), model(torch.ones(4, 3)))
    agree(fast(torch.ones(4, 3)), model(torch.ones(4, 3)))
    agree(fast(torch.ones(2, 3)), model(torch.ones(2, 3)))


class Branches(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1 if x.sum() > 0 else x - 1


class TestWrongInput:
    def test_model_of_another_kind(self) -> None:
        with pytest.raises(Problem, match=r"STR001.*builtin_function"):
            compile(torch.relu, (torch.ones(1),))  # type: ignore[arg-type]

    def test_args_of_another_kind(self) -> None:
        with pytest.raises(Problem, match=r"STR001.*tuple"):
            compile(nn.ReLU(), "text")

    def test_kwargs_of_another_kind(self) -> None:
        with pytest.raises(Problem, match=r"STR001.*dict"):
            compile(nn.ReLU(), (torch.ones(1),), [1])  # type: ignore[arg-type]

    def test_no_example_inputs(self) -> None:
        with pytest.raises(Problem, match=r"STR102.*\n.*forward") as caught:
            compile(nn.ReLU())
        assert caught.value.help

    def test_too_many_example_inputs(self) -> None:
        with pytest.raises(Problem, match=r"STR001.*too many"):
            compile(nn.ReLU(), (torch.ones(1), torch.ones(1)))

    def test_inputs_on_another_device(self) -> None:
        with pytest.raises(Problem, match=r"STR103.*meta"):
            compile(nn.ReLU(), (torch.ones(1, device="meta"),))

    def test_parameters_on_another_device(self) -> None:
        with pytest.raises(Problem, match=r"STR103.*meta"):
            compile(nn.Linear(1, 1, device="meta"), (torch.ones(1),))

    def test_argument_that_is_no_value(self) -> None:
        with pytest.raises(Problem, match=r"STR001.*object"):
            compile(Scale(), (torch.ones(1), object()))

    def test_model_that_cannot_be_exported_names_the_line(self) -> None:
        model = Branches()
        with pytest.raises(Problem, match=r"STR10[16]") as caught:
            compile(model, (torch.ones(1),), build=Builder())
        assert "test_calls.py" in str(caught.value.where) and "partial=True" in caught.value.help
        assert model(torch.ones(1)) == 2

    @torch.no_grad()
    def test_partial_splits_it_instead(self) -> None:
        built = Builder()
        fast = compile(Branches(), (torch.ones(1),), partial=True, options=Options(), build=built)
        assert fast(torch.ones(1)) == 2 and fast(-torch.ones(1)) == -2
        assert built.calls
