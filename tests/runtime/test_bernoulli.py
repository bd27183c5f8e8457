"""Native draws are PyTorch's own: the same elements, and the generator left in the same state."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from strop.runtime import bernoulli

SIZES = (1, 64, 2048, 2049, 5000, 65536 + 3)
LAID_OUT = {
    "contiguous": lambda dtype: torch.empty(40, 30, 20, dtype=dtype),
    "transposed": lambda dtype: torch.empty(40, 30, 20, dtype=dtype).permute(2, 0, 1),
    "with gaps": lambda dtype: torch.empty(40, 60, 20, dtype=dtype)[:, ::2],
    "expanded": lambda dtype: torch.zeros(1, dtype=dtype).expand(5000),
}


def beside(tensor: Tensor, p: float, before: int = 0) -> None:
    made, wanted = tensor.clone(), tensor.clone()
    states = []
    for target, draw in ((made, bernoulli.draw), (wanted, torch.Tensor.bernoulli_)):
        torch.manual_seed(17)
        torch.empty(before).uniform_()
        draw(target, p)
        draw(target, p)
        states.append(torch.get_rng_state())
    assert torch.equal(made, wanted)
    assert torch.equal(*states)


def test_the_installed_pytorch_draws_as_the_native_code_does() -> None:
    assert bernoulli.agrees()


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("before", [0, 1, 5, 623, 624, 700])
def test_from_anywhere_in_a_block(dtype: torch.dtype, before: int) -> None:
    for size in SIZES:
        beside(torch.empty(size, dtype=dtype), 0.9, before)


@pytest.mark.parametrize("p", [0.0, 1.0, 0.5, 1e-9, 1 / 3, 1 - 2**-53])
def test_every_probability(p: float) -> None:
    beside(torch.empty(20_000), p, 1)


@pytest.mark.parametrize("name", LAID_OUT)
def test_in_the_order_of_memory(name: str) -> None:
    tensor = LAID_OUT[name](torch.bool)
    if name == "expanded":
        with pytest.raises(RuntimeError, match="single memory location"):
            bernoulli.draw(tensor, 0.5)
        return
    made = [torch.empty_strided(tensor.shape, tensor.stride(), dtype=torch.bool) for _ in range(2)]
    torch.manual_seed(3)
    bernoulli.draw(made[0], 0.3)
    torch.manual_seed(3)
    made[1].bernoulli_(0.3)
    assert torch.equal(*made)


def test_a_generator_of_the_caller() -> None:
    generators = [torch.Generator().manual_seed(5) for _ in range(2)]
    made = bernoulli.draw(torch.empty(9000), 0.4, generators[0])
    assert torch.equal(made, torch.empty(9000).bernoulli_(0.4, generator=generators[1]))
    assert torch.equal(generators[0].get_state(), generators[1].get_state())


def test_other_draws_between_leave_the_same_numbers() -> None:
    """A normal draw caches its second number in the state."""
    found = []
    for draw in (bernoulli.draw, torch.Tensor.bernoulli_):
        torch.manual_seed(8)
        first = torch.randn(3)
        mask = draw(torch.empty(7777), 0.5)
        found.append((first, mask, torch.randn(5), torch.randint(9, (4,))))
    for one, other in zip(*found):
        assert torch.equal(one, other)


def test_where_pytorch_draws_otherwise_its_own_kernel_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bernoulli, "agrees", lambda: False)
    monkeypatch.setattr(bernoulli, "_fill", None)
    beside(torch.empty(5000), 0.5)


@pytest.mark.parametrize("p", [-0.1, 1.5, float("nan")])
def test_no_probability_raises_as_pytorch_does(p: float) -> None:
    with pytest.raises(RuntimeError, match="bernoulli_ expects p to be in"):
        bernoulli.draw(torch.empty(5000), p)


def test_what_another_thread_draws_meanwhile_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    native, others = bernoulli._native, []

    def interrupted(bytes: int) -> Callable[..., None]:
        fill = native(bytes)

        def run(*arguments: int) -> None:
            fill(*arguments)
            if not others:
                others.append(torch.empty(3000).bernoulli_(0.5))

        return run

    monkeypatch.setattr(bernoulli, "_native", interrupted)
    torch.manual_seed(4)
    mine = bernoulli.draw(torch.empty(4000), 0.5)
    left = torch.rand(3)
    torch.manual_seed(4)
    assert torch.equal(others[0], torch.empty(3000).bernoulli_(0.5))
    assert torch.equal(mine, torch.empty(4000).bernoulli_(0.5))
    assert torch.equal(left, torch.rand(3))
