"""Random numbers through both doors: eager's numbers in eager's places, and the generator where eager leaves it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from frontend.beside import DOORS, Calls, eager

both_doors = pytest.mark.parametrize("door", DOORS)


def drawn(model: nn.Module, args: tuple[Tensor, ...]) -> tuple[Any, Tensor]:
    """What three calls after the same seed return, and the generator's state after them."""
    torch.manual_seed(7)
    with torch.no_grad():
        return [model(*args) for _ in range(3)], torch.get_rng_state()


def agree(door: str, model: nn.Module, *calls: tuple[Tensor, ...]) -> None:
    fast, journal = DOORS[door](model, calls[0], {})
    for args in calls:
        alike(fast, model, args)
    assert not eager(journal)


def alike(fast: nn.Module, model: nn.Module, args: tuple[Tensor, ...]) -> None:
    wanted, state = drawn(model, args)
    made, left = drawn(fast, args)
    torch.testing.assert_close(made, wanted)
    assert torch.equal(left, state)


LAID_OUT: dict[str, Callable[[], Tensor]] = {
    "contiguous": lambda: torch.randn(4, 6, 5),
    "transposed": lambda: torch.randn(4, 5, 6).mT,
    "reversed": lambda: torch.randn(5, 6, 4).permute(2, 1, 0),
    "sliced": lambda: torch.randn(4, 12, 7)[:, ::2, 1:6],
    "expanded": lambda: torch.randn(4, 1, 5).expand(4, 6, 5),
}

LIKE: dict[str, Callable[[Tensor], Any]] = {
    "randn_like": torch.randn_like,
    "rand_like": lambda x: torch.rand_like(x) + x,
    "randint_like": lambda x: torch.randint_like(x, 1000),
    "contiguous": lambda x: torch.randn_like(x, memory_format=torch.contiguous_format),
    "of a result": lambda x: torch.randn_like((x * 2).mT),
    "of a product": lambda x: torch.rand_like((x @ x.mT).mT),
    "bernoulli": lambda x: (torch.bernoulli(x.sigmoid()), torch.bernoulli(x, 0.3)),
    "in place": lambda x: (x.clone().normal_(), torch.empty_like(x).uniform_(), torch.empty_like(x).bernoulli_(0.4)),
    "in place too": lambda x: (torch.empty_like(x).exponential_(), torch.zeros_like(x).bernoulli_(x.sigmoid())),
    "dropout": lambda x: (F.dropout(x, 0.4, True), F.alpha_dropout(x, 0.4, True), F.dropout1d(x, 0.4, True)),
    "normal": lambda x: (torch.normal(x, 1.0), torch.normal(x, x.abs())),
    "rrelu": lambda x: F.rrelu(x, training=True),
    "gumbel": lambda x: F.gumbel_softmax(x),
}


@both_doors
def test_numbers_are_drawn_in_the_order_of_memory(door: str) -> None:
    model = Calls(lambda x: {name: function(x) for name, function in LIKE.items()})
    agree(door, model, *((made(),) for made in LAID_OUT.values()))


def _transposed_first(x: Tensor) -> Tensor:
    return torch.empty(8, 8).t().normal_() + x


def _part_of_a_tensor(x: Tensor) -> Tensor:
    y = torch.zeros(8, 16)
    y[:, ::2].normal_()
    y.t()[1::2].uniform_()
    return y[:, :8] + x


@both_doors
@pytest.mark.parametrize("function", [_transposed_first, _part_of_a_tensor])
def test_views_are_drawn_into_in_place(function: Callable[[Tensor], Tensor], door: str) -> None:
    agree(door, Calls(function), (torch.randn(8, 8),))


def _unused_first(x: Tensor) -> Tensor:
    torch.randn(3)
    return x + torch.randn(4)


def _unused_last(x: Tensor) -> Tensor:
    y = x + torch.randn(4)
    torch.rand_like(x)
    return y


def _unused_alone(x: Tensor) -> Tensor:
    F.dropout(x, 0.5, True)
    return x * 2


def _unused_beside_a_view(x: Tensor) -> Tensor:
    torch.rand(3)
    return x[1:]


def _the_same_twice(x: Tensor) -> tuple[Tensor, ...]:
    return torch.randn(4), torch.randn(4), torch.rand_like(x), torch.rand_like(x)


UNUSED = [_unused_first, _unused_last, _unused_alone, _unused_beside_a_view, _the_same_twice]


@both_doors
@pytest.mark.parametrize("function", UNUSED)
def test_every_draw_moves_the_generator(function: Callable[[Tensor], Any], door: str) -> None:
    agree(door, Calls(function), (torch.randn(4),), (torch.randn(4),))


class Noisy(nn.Module):
    """Noise of parameters that lie transposed, and dropout between layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.drop, self.weight = nn.Conv2d(4, 8, 3), nn.Dropout(0.3), nn.Parameter(torch.randn(5, 4).t())

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(self.conv(x)).mean() + torch.randn_like(self.weight) * self.weight


@both_doors
def test_layers_in_training_mode(door: str) -> None:
    last = torch.randn(2, 4, 6, 6).to(memory_format=torch.channels_last)
    agree(door, Noisy().requires_grad_(False), (torch.randn(2, 4, 6, 6),), (last,))


def test_parameters_of_another_layout() -> None:
    model, x = Noisy().requires_grad_(False), torch.randn(2, 4, 6, 6)
    fast, _ = DOORS["strop.compile"](model, (x,), {})
    alike(fast, model, (x,))
    model.weight = nn.Parameter(torch.randn(4, 5), requires_grad=False)
    alike(fast, model, (x,))
