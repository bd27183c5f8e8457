"""Gradients through the backend equal eager's, and autograd's contracts hold."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

from runtime.training import Images, Pair, same, short_steps


@pytest.fixture(autouse=True, scope="module")
def at_once() -> Iterator[None]:
    with short_steps():
        yield


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 4))


class Block(nn.Module):
    """Attention with two heads, layer norm, GELU and dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (t.unflatten(-1, (2, 8)).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return x + F.dropout(F.gelu(self.out(mixed)), 0.2, self.training)


@pytest.mark.parametrize(
    ("make", "shape"), [(mlp, (8, 6)), (Images, (2, 3, 12, 12)), (Block, (2, 5, 16))], ids=["mlp", "images", "block"]
)
@pytest.mark.parametrize("memory", ["fastest", "balanced"])
def test_gradients_and_statistics_equal_eager_over_steps(make: Any, shape: tuple[int, ...], memory: str) -> None:
    torch.manual_seed(0)
    pair = Pair(make(), memory=memory)
    optimisers = [torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9) for model in (pair.model, pair.twin)]
    for seed in range(3):
        pair.step(torch.randn(shape), seed=seed)
        for optimiser in optimisers:
            optimiser.step()
            optimiser.zero_grad()
    assert not pair.reasons


def test_gradcheck_in_float64() -> None:
    torch._dynamo.reset()
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.LayerNorm(4), nn.Linear(4, 2)).double()
    pair = Pair(model)
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(pair.fast, (x,), check_batched_grad=False)


def test_only_some_parameters_need_gradients() -> None:
    model = mlp()
    model[0].requires_grad_(False)
    model[1].bias.requires_grad_(False)
    pair = Pair(model)
    pair.step(torch.randn(8, 6))
    assert model[0].weight.grad is None and model[4].weight.grad is not None


def test_gradient_of_the_input_alone() -> None:
    model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 2)).requires_grad_(False)
    pair = Pair(model)
    x = torch.randn(4, 6, requires_grad=True)
    same(*pair.both(lambda model: torch.autograd.grad(model(x).square().sum(), x)[0]))


def test_hooks_on_tensors_and_parameters_run_and_may_change_gradients() -> None:
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    pair = Pair(model)
    for each in (pair.model, pair.twin):
        each[0].weight.register_hook(lambda gradient: gradient * 2)
        each[2].bias.register_post_accumulate_grad_hook(_triple)
    x = torch.randn(4, 6, requires_grad=True)
    x.register_hook(lambda gradient: gradient + 1)
    pair.step(x)


def _triple(parameter: Tensor) -> None:
    parameter.grad.mul_(3)


def test_hooks_on_modules_run() -> None:
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    model[1].register_forward_hook(lambda module, args, result: result * 2)
    model[2].register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    Pair(model).step(torch.randn(4, 6))


def test_gradients_accumulate() -> None:
    pair = Pair(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)))
    for _ in range(3):
        pair.step(torch.randn(4, 6))


def test_a_retained_graph_is_walked_twice() -> None:
    pair = Pair(nn.Sequential(nn.Linear(6, 8), nn.Sigmoid(), nn.Linear(8, 2)))
    x = torch.randn(4, 6)

    def twice(model: Any) -> Tensor:
        loss = model(x).square().sum()
        loss.backward(retain_graph=True)
        model(torch.randn(4, 6)).sum()  # another forward in between takes no memory of the graph that is held
        loss.backward()
        return loss.detach()

    same(*pair.both(twice))
    pair.compare()


def test_forwards_before_their_backwards() -> None:
    pair = Pair(nn.Sequential(nn.Linear(64, 512), nn.Sigmoid(), nn.Linear(512, 64)))
    inputs = [torch.randn(64, 64) for _ in range(3)]

    def run(model: Any) -> None:
        results = [model(x) for x in inputs]
        for result in reversed(results):
            result.square().mean().backward()

    pair.both(run)
    pair.compare()


def test_double_backward_raises_and_says_so() -> None:
    pair = Pair(nn.Sequential(nn.Linear(6, 8), nn.Tanh()))
    x = torch.randn(4, 6, requires_grad=True)
    (gradient,) = torch.autograd.grad(pair.fast(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="double backward"):
        gradient.sum().backward()


def test_forward_mode_raises_and_says_so() -> None:
    pair = Pair(nn.Sequential(nn.Linear(6, 8), nn.Tanh()))
    x = torch.randn(4, 6)
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="jvp"):
        pair.fast(forward_ad.make_dual(x, torch.ones_like(x)))


class Checkpointed(nn.Module):
    def __init__(self, *drawing: nn.Module) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(6, 8), *drawing, nn.GELU(), nn.Linear(8, 6))

    def forward(self, x: Tensor) -> Tensor:
        return x + checkpoint(self.inner, x, use_reentrant=False)


def test_checkpoints_of_the_model_are_kept_to() -> None:
    pair = Pair(Checkpointed())
    pair.step(torch.randn(4, 6))
    assert any("checkpoints" in event.message for event in pair.journal.of("fallback"))


@pytest.mark.parametrize("drawing", [nn.Dropout(0.3), nn.RReLU(), nn.Sequential(nn.Dropout(1.0), nn.Dropout(0.5))])
def test_what_checkpoints_drew_is_kept(drawing: nn.Module) -> None:
    pair = Pair(Checkpointed(drawing))
    for seed in range(2):
        pair.step(torch.randn(4, 6), seed=seed)
    assert not pair.reasons


def test_autocast_to_bfloat16_is_as_exact_as_eager_and_is_journaled() -> None:
    pair = Pair(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)))
    x = torch.randn(16, 64)
    with torch.autocast("cpu", torch.bfloat16):
        mine, theirs = pair.both(lambda model: model(x))
        for result in (mine, theirs):
            result.float().square().mean().backward()
    assert mine.dtype is theirs.dtype is torch.bfloat16
    torch.testing.assert_close(mine, theirs, rtol=2e-2, atol=2e-2)
    for own, other in zip(pair.model.parameters(), pair.twin.parameters()):
        torch.testing.assert_close(own.grad, other.grad, rtol=5e-2, atol=5e-3)
    assert "bfloat16" in pair.reasons


@pytest.mark.parametrize("form", ["contiguous", "transposed", "channels_last"])
def test_dropout_draws_what_eager_draws(form: str) -> None:
    class Drop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.randn(()))

        def forward(self, x: Tensor) -> Tensor:
            x = x.transpose(1, 2) if form == "transposed" else x
            return F.dropout(F.dropout(x * self.scale, 0.5), 0.25) * x

    x = torch.randn(2, 3, 4, 5)
    pair = Pair(Drop())
    x = x.to(memory_format=torch.channels_last) if form == "channels_last" else x
    pair.step(x, seed=3)
    mine, theirs = pair.both(lambda model: (model(x), torch.rand(3))[1], seed=4)
    assert torch.equal(mine, theirs)  # the generator is left in the same state


def test_backward_draws_no_random_numbers() -> None:
    """Of a layer norm after a dropout, backward needs neither the numbers that were dropped nor what they came from."""

    class Normed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)

        def forward(self, x: Tensor) -> Tensor:
            return self.norm(F.dropout(self.linear(x), 0.1) + x)

    pair, x = Pair(Normed()), torch.randn(4, 8)
    mine, theirs = pair.both(lambda model: ((model(x) * x).sin().sum().backward(), torch.rand(3))[1])
    assert torch.equal(mine, theirs)
    pair.compare()


def test_tied_weights_get_one_gradient() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(11, 8)
            self.head = nn.Linear(8, 11, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, tokens: Tensor) -> Tensor:
            return self.head(self.embed(tokens).relu())

    Pair(Tied()).step(torch.randint(11, (2, 5)))


def test_sparse_gradients_of_embeddings() -> None:
    class Bag(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = nn.Embedding(11, 8, sparse=True), nn.Linear(8, 2)

        def forward(self, tokens: Tensor) -> Tensor:
            return self.head(self.embed(tokens).sum(1))

    pair = Pair(Bag())
    pair.step(torch.randint(11, (2, 5)))
    assert pair.twin.embed.weight.grad.is_sparse == pair.model.embed.weight.grad.is_sparse


def test_batches_change_their_size() -> None:
    pair = Pair(mlp())
    for seed, rows in enumerate((8, 8, 5, 3, 8, 5)):
        pair.step(torch.randn(rows, 6), seed=seed)
    assert not pair.reasons


def test_batches_of_a_model_whose_kept_values_are_views_change_their_size() -> None:
    """Dynamo's graph for all sizes: what forward keeps lies otherwise than in the trace, whose views need their order."""

    class Attends(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

        def forward(self, x: Tensor) -> Tensor:
            q, k, v = (t.unflatten(-1, (4, 4)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
            mixed = F.scaled_dot_product_attention(q, k, v)
            return self.out(mixed.transpose(1, 2).flatten(2))

    pair = Pair(Attends().double())
    for seed, rows in enumerate((2, 2, 3, 4)):
        pair.step(torch.randn(rows, 5, 16, dtype=torch.float64), seed=seed)
    assert not pair.reasons


def test_models_and_threads_do_not_disturb_each_other() -> None:
    pairs = [Pair(nn.Sequential(nn.Linear(64, width), nn.Tanh(), nn.Linear(width, 32))) for width in (256, 384)]
    inputs = [torch.randn(96, 64) for _ in pairs]
    for pair, x in zip(pairs, inputs):
        pair.step(x)
        pair.fast.zero_grad()
        pair.twin.zero_grad()

    def train(pair: Pair, x: Tensor) -> None:
        for _ in range(5):
            pair.fast(x).square().mean().backward()

    threads = [threading.Thread(target=train, args=given) for given in zip(pairs, inputs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for pair, x in zip(pairs, inputs):
        for _ in range(5):
            pair.twin(x).square().mean().backward()
        pair.compare()


def test_an_input_that_the_model_writes_to() -> None:
    class Writes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(6, 6)
            self.register_buffer("seen", torch.zeros(6))

        def forward(self, x: Tensor) -> Tensor:
            x.add_(1)
            self.seen.add_(x.sum(0))
            return self.linear(x) * self.seen.clone()

    pair = Pair(Writes())
    given, other = torch.ones(4, 6), torch.ones(4, 6)
    same(pair.fast(given), pair.twin(other))
    assert torch.equal(given, other)
    x = torch.randn(4, 6)
    pair.both(lambda model: model(x.clone()).square().mean().backward())
    pair.compare()


def test_an_operator_without_derivative_raises_as_in_eager() -> None:
    class Gamma(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(6, 6)

        def forward(self, x: Tensor) -> Tensor:
            return torch.igamma(self.linear(x).exp(), x.exp())

    pair = Pair(Gamma())
    x = torch.randn(4, 6)
    for model in (pair.twin, pair.fast):
        with pytest.raises(RuntimeError, match="derivative for 'igamma"):
            model(x).sum().backward()


def test_results_that_are_expanded_keep_their_strides() -> None:
    class Expands(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(6, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.linear(x).unsqueeze(0).expand(3, -1, -1).movedim(0, -1)

    pair = Pair(Expands())
    pair.step(torch.randn(5, 6))
    mine, theirs = pair.both(lambda model: model(torch.ones(5, 6)))
    assert mine.stride() == theirs.stride()


def test_constants_of_the_model_are_native() -> None:
    class Reduces(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.rand(3, 4))

        def forward(self, x: Tensor) -> Tensor:
            chosen = torch.tensor([True, False, True, True])
            places = torch.tensor([[0, 0], [1, 3], [3, 0]])
            return x.masked_scatter(chosen, self.scale).scatter_reduce(1, places, self.scale[:, :2], "mean")

    pair = Pair(Reduces())
    pair.step(torch.randn(3, 4))
    assert not pair.reasons


def test_a_batch_without_images_is_native() -> None:
    pair = Pair(nn.Sequential(nn.Conv2d(3, 8, 3), nn.SiLU(), nn.Conv2d(8, 4, 3)))
    pair.both(lambda model: model(torch.randn(0, 3, 8, 8)).sum().backward())
    pair.compare()
    assert not pair.reasons


def test_a_loss_that_is_not_finite_gives_the_gradients_of_eager() -> None:
    pair = Pair(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)))
    x = torch.randn(4, 6)
    x[1, 2] = float("nan")
    pair.both(lambda model: model(x).sum().backward())
    for mine, theirs in zip(pair.model.parameters(), pair.twin.parameters()):
        torch.testing.assert_close(mine.grad, theirs.grad, equal_nan=True)


def test_an_interrupt_in_a_step_leaves_the_next_one_right() -> None:
    pair = Pair(nn.Sequential(nn.Linear(64, 256), nn.Dropout(0.1), nn.Linear(256, 32)))
    x = torch.randn(64, 64)

    def interrupted(gradient: Tensor) -> Tensor:
        raise KeyboardInterrupt

    for model in (pair.fast, pair.twin):
        torch.manual_seed(0)
        result = model(x)
        result.register_hook(interrupted)
        with pytest.raises(KeyboardInterrupt):
            result.sum().backward()
    pair.compare()
    pair.step(x, seed=1)


@pytest.mark.filterwarnings("ignore::strop.core.journal.StropWarning")
def test_where_one_half_cannot_be_compiled_the_other_still_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from strop.runtime import training

    pair = Pair(nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 2)))
    build = training.TrainingPiece._build

    def failing(self: Any, graph: Any, threads: int) -> Any:
        if not self.results:
            raise ValueError("no code for backward")
        return build(self, graph, threads)

    monkeypatch.setattr(training.TrainingPiece, "_build", failing)
    pair.step(torch.randn(4, 6))
    assert "no code for backward" in pair.reasons
