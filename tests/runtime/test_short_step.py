"""Steps that go past AOTAutograd's wrappers: which do, and that nothing else about them is another.

The contracts of `test_training.py` and `test_training_contracts.py` are tested this way, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from runtime.training import Pair, same, short_steps


@pytest.fixture(autouse=True)
def at_once(request: pytest.FixtureRequest) -> Iterator[None]:
    with nullcontext() if "after" in request.node.name else short_steps():
        yield


def is_short(result: Tensor) -> bool:
    return type(result.grad_fn).__name__ == "CompiledStepBackward"


class Answers(nn.Module):
    """A network that answers in some way."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.layer, self.answer = nn.Linear(6, 4), answer

    def forward(self, *inputs: Tensor) -> Any:
        return self.answer(self.layer(inputs[0]), *inputs)


def test_the_short_way_begins_after_the_first_backward() -> None:
    pair = Pair(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)))
    x = torch.randn(5, 6)
    taken = []
    for _ in range(4):
        result = pair.fast(x)
        taken.append(is_short(result))
        result.sum().backward()
    assert taken == [False, False, True, True]


def test_statistics_of_batch_norms_are_written_and_seen_as_written() -> None:
    torch.manual_seed(0)
    pair = Pair(nn.Sequential(nn.Linear(6, 4, bias=False), nn.BatchNorm1d(4), nn.Tanh()).train())
    norm = pair.model[1]
    for _ in range(3):
        versions = [buffer._version for buffer in norm.buffers()]
        pair.step(torch.randn(16, 6))
        assert all(buffer._version > version for buffer, version in zip(norm.buffers(), versions))
    assert is_short(pair.fast(torch.randn(16, 6)))
    assert int(norm.num_batches_tracked) == 4


@pytest.mark.parametrize(
    "answer",
    [lambda y, x: (y, y.view(-1)), lambda y, x: (y, x[0])],
    ids=["view", "view of input"],
)
def test_what_shares_memory_takes_the_long_way(answer: Any) -> None:
    pair = Pair(Answers(answer))
    x = torch.randn(5, 6)
    (mine, shared), (theirs, other) = pair.both(lambda model: model(x))
    assert not is_short(mine)
    same(mine, theirs)
    same(shared, other)
    assert shared._is_view() and other._is_view()


def test_results_without_gradients_have_none() -> None:
    pair = Pair(Answers(lambda y, x: (y.square(), y.argmax(1), y.detach() * 2)))
    x = torch.randn(5, 6)
    mine, theirs = pair.both(lambda model: model(x))
    assert is_short(mine[0])
    assert [each.requires_grad for each in mine] == [each.requires_grad for each in theirs] == [True, False, False]
    for each in (mine, theirs):
        each[0].sum().backward()
    pair.compare()


def test_an_input_that_nothing_depends_on_gets_no_gradient() -> None:
    pair = Pair(Answers(lambda y, x, other: y * other.detach()))
    x, other = torch.randn(5, 6), torch.randn(5, 4, requires_grad=True)
    seen: list[Any] = []
    other.register_hook(seen.append)
    result = pair.fast(x, other)
    assert is_short(result)
    result.sum().backward()
    assert other.grad is None and not seen


def test_gradients_of_results_that_are_turned() -> None:
    pair = Pair(Answers(lambda y, x: (y.t() * 2, y.exp())))
    x = torch.randn(5, 6)
    for weights in (torch.randn(4, 5), torch.randn(5, 4).t(), torch.randn(1).expand(4, 5)):

        def run(model: Any, weights: Tensor = weights) -> None:
            result = model(x)[0]
            result.backward(weights)

        pair.both(run)
        pair.compare()
    assert is_short(pair.fast(x)[0])


def test_gradients_with_graphs_of_their_own_say_that_they_end_there() -> None:
    pair = Pair(nn.Sequential(nn.Linear(6, 4), nn.Tanh()))
    x = torch.randn(5, 6, requires_grad=True)
    result = pair.fast(x)
    assert is_short(result)
    (gradient,) = torch.autograd.grad(result.sum(), x, create_graph=True)
    same(gradient, torch.autograd.grad(pair.twin(x).sum(), x)[0])
    assert gradient.requires_grad
    with pytest.raises(RuntimeError, match="double backward"):
        gradient.sum().backward()


def test_batched_gradients_raise() -> None:
    pair = Pair(nn.Sequential(nn.Linear(6, 4), nn.Tanh()))
    result = pair.fast(torch.randn(5, 6))
    with pytest.raises(RuntimeError):
        torch.autograd.grad(result, list(pair.model.parameters()), torch.randn(3, 5, 4), is_grads_batched=True)


def test_a_gradient_of_another_class_raises() -> None:
    class Own(Tensor):
        pass

    result = Pair(nn.Sequential(nn.Linear(6, 4), nn.Tanh())).fast(torch.randn(5, 6))
    assert is_short(result)
    with pytest.raises(RuntimeError, match="metadata"):
        result.backward(torch.ones(5, 4).as_subclass(Own))


def test_a_parameter_that_is_written_before_backward_raises() -> None:
    pair = Pair(nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4)))
    result = pair.fast(torch.randn(5, 6))
    with torch.no_grad():
        pair.model[2].weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_hooks_see_what_is_kept_and_may_change_it() -> None:
    pair = Pair(nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4)))
    x = torch.randn(5, 6)

    def run(model: Any) -> None:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t * 1.0):
            result = model(x)
        result.sum().backward()

    pair.both(run)
    pair.compare()


def test_compiled_autograd_walks_back_through_a_short_step() -> None:
    pair = Pair(nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4), nn.BatchNorm1d(4), nn.Tanh()))
    x = torch.randn(16, 6)
    mine, theirs = pair.both(lambda model: model(x))
    assert is_short(mine)
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
        mine.square().sum().backward()
    theirs.square().sum().backward()
    same(pair.model[0].weight.grad, pair.twin[0].weight.grad)


def test_autocast_takes_the_long_way() -> None:
    pair = Pair(nn.Sequential(nn.Linear(6, 4), nn.Tanh()))
    with torch.autocast("cpu", torch.bfloat16):
        assert not is_short(pair.fast(torch.randn(5, 6)))
