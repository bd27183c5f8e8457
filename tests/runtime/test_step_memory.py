"""The memory of a training step: one block for both halves, and never overwritten while somebody reads it."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from strop.runtime.step_memory import StepMemory

SIZE = 1 << 18


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 64))


X = torch.linspace(-2, 2, 256 * 64).reshape(256, 64)


def gradients(model: nn.Module) -> list[Tensor]:
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


@pytest.fixture(scope="module")
def pair() -> tuple[nn.Module, nn.Module, nn.Module]:
    torch._dynamo.reset()
    eager = network()
    model = copy.deepcopy(eager)
    fast = torch.compile(model, backend="strop")
    fast(X).sum().backward()
    return eager, model, fast


def close(pair: tuple[nn.Module, nn.Module, nn.Module]) -> None:
    eager, model, _ = pair
    for wanted, found in zip(gradients(eager), gradients(model), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4 * wanted.abs().max().item())


def cleared(pair: tuple[nn.Module, nn.Module, nn.Module]) -> tuple[nn.Module, nn.Module, nn.Module]:
    for model in pair[:2]:
        model.zero_grad()
    return pair


def test_several_forwards_before_a_backward_keep_their_own_values(pair):
    eager, _, fast = cleared(pair)
    for model in (eager, fast):
        losses = [model(X * scale).square().sum() for scale in (1.0, 0.5, 0.25)]
        for loss in reversed(losses):
            loss.backward()
    close(pair)


def test_gradients_that_are_accumulated_stay(pair):
    eager, _, fast = cleared(pair)
    for scale in (1.0, 0.5, 0.25, 2.0):
        for model in (eager, fast):
            model(X * scale).square().sum().backward()
    close(pair)


def test_what_a_hook_holds_is_not_overwritten(pair):
    _, _, fast = cleared(pair)
    held: list[tuple[Tensor, Tensor]] = []

    def pack(tensor: Tensor) -> Tensor:
        held.append((tensor, tensor.clone()))
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = fast(X).square().sum()
    loss.backward()
    assert held
    for tensor, before in held:
        torch.testing.assert_close(tensor, before, rtol=0, atol=0)


def taken(memory: StepMemory) -> tuple[int, Tensor]:
    block = memory.take()
    tensor = block.tensor(0, SIZE, (SIZE // 4,), (1,), torch.float32)
    memory.give_back(block)
    return block.address, tensor


def reserved() -> StepMemory:
    memory = StepMemory()
    memory.reserve(4 * SIZE)
    return memory


def test_a_block_is_used_again_once_nobody_holds_a_tensor_in_it():
    memory = reserved()
    address, tensor = taken(memory)
    other, _ = taken(memory)
    assert other != address and memory.bytes == 8 * SIZE
    del tensor
    assert {taken(memory)[0], taken(memory)[0]} <= {address, other} and memory.bytes == 8 * SIZE


def test_trimming_a_block_leaves_what_somebody_holds():
    memory = reserved()
    _, tensor = taken(memory)
    tensor.fill_(3)
    taken(memory)
    assert tensor.untyped_storage().nbytes() == SIZE and (tensor == 3).all()


def test_backward_gets_the_block_only_if_nobody_else_reads_it():
    memory = reserved()
    _, tensor = taken(memory)
    view = tensor[1:]
    assert memory.take_with([(tensor, 0, SIZE)]) is None  # outside of a backward graphs count as retained
    del view


def test_a_retained_graph_can_be_gone_through_again():
    """Torch allows that where the first backward of a graph was told to retain it."""
    torch._dynamo.reset()
    eager, model = network(), network()
    fast = torch.compile(model, backend="strop")
    for _ in range(2):
        cleared((eager, model, fast))
        for one in (eager, fast):
            loss = one(X).square().sum()
            for keep in (True, True, False):
                loss.backward(retain_graph=keep)
        close((eager, model, fast))


def test_what_backward_overwrote_is_computed_again_where_winograds_convolutions_met_an_infinity():
    torch._dynamo.reset()
    torch.manual_seed(0)
    layers = [nn.Conv2d(16, 16, 3, padding=1), nn.SiLU(), nn.Conv2d(16, 16, 3, padding=1), nn.SiLU()]
    eager = nn.Sequential(*layers, nn.Conv2d(16, 16, 3, padding=1))
    model = copy.deepcopy(eager)
    fast = torch.compile(model, backend="strop")
    x, weight = torch.randn(4, 16, 32, 32), torch.ones(4, 16, 32, 32)
    for number in (1.0, 1.0, float("inf")):
        weight[1, 3, 5, 5] = number
        for one in (eager, fast):
            one.zero_grad()
            (one(x) * weight).sum().backward()
    for wanted, found in zip(gradients(eager), gradients(model), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-3, equal_nan=True)


def test_a_graph_may_be_retained_after_others_were_not(pair):
    """Torch refuses that where a compiler always overwrites what is kept for backward."""
    eager, _, fast = cleared(pair)
    for model in (eager, fast):
        loss = model(X).square().sum()
        loss.backward(retain_graph=True)
        loss.backward()
    close(pair)


def test_what_somebody_took_from_the_graph_is_not_overwritten(pair):
    _, _, fast = cleared(pair)
    result = fast(X)
    saved = result.grad_fn.saved_tensors
    before = [tensor.clone() for tensor in saved]
    result.square().sum().backward()
    assert all(torch.equal(*both) for both in zip(saved, before, strict=True))


def test_backward_overwrites_what_forward_kept_where_nobody_holds_it(pair, monkeypatch):
    _, _, fast = cleared(pair)
    blocks = []
    take_with = StepMemory.take_with
    monkeypatch.setattr(StepMemory, "take_with", lambda *args: blocks.append(take_with(*args)) or blocks[-1])
    fast(X).square().sum().backward()
    assert blocks and blocks[0] is not None


def test_inputs_without_a_version_are_trained_on_through_winograds_convolutions():
    torch._dynamo.reset()
    torch.manual_seed(0)

    class Scaled(nn.Sequential):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x * 2)  # autograd saves no tensor of inference mode

    eager = Scaled(nn.Conv2d(16, 16, 3, padding=1), nn.SiLU(), nn.Conv2d(16, 16, 3, padding=1))
    model = copy.deepcopy(eager)
    fast = torch.compile(model, backend="strop")
    with torch.inference_mode():
        x = torch.randn(4, 16, 32, 32)
    for _ in range(2):
        for one in (eager, fast):
            one(x).square().sum().backward()
    close((eager, model, fast))
