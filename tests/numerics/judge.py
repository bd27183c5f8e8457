"""The measure of accuracy: errors against float64, element by element, of Strop and of eager on the same input.

The unit of an element is u·Σ|terms| with u = 2⁻²⁴: what one rounding of each of its terms could cost at most. An
algorithm that is stable element by element stays within a constant number of units for every input; how large it is
depends on the order of the sums. Strop has to stay within FACTOR times of what eager needs.

What is accepted where eager happens to need less: √n units for n steps in a row (Higham and Mary's bound with λ = 1),
which a large first term that later cancels really costs. No sum of products has more than STEPS in a row. FLOOR is for
short sums: one of 9 terms that starts with its bias may lose as many units.

Of equal terms every rounding may go the same way: n/4 units. Eager needs as much, but for other shapes than Strop.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

import strop
from numerics.cases import Cases

UNIT = 2.0**-24
SMALLEST = 2.0**-149  # the denormal number next to zero
LARGEST = torch.finfo(torch.float32).max
FACTOR = 4.0
FLOOR = 10.0
STEPS = 256  # of a sum, in a row


@dataclass(frozen=True)
class Setting:
    numerics: str = "default"
    target: str | None = None

    def __str__(self) -> str:
        return f"{self.numerics}-{self.target or 'host'}"

    def compile(self, model: nn.Module, args: Sequence[Any], threads: int = 1) -> Callable[..., Any]:
        made: Callable[..., Any] = strop.compile(
            model.eval(), tuple(args), threads=threads, numerics=self.numerics, target=self.target
        )
        return made


class Of(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


@dataclass(frozen=True)
class Errors:
    """The worst error of one case in units, of eager and of Strop, and where Strop's is."""

    eager: float
    strop: float
    place: tuple[int, ...]

    def within(self, floor: float = FLOOR) -> bool:
        return self.strop <= max(FACTOR * self.eager, floor)


def measure(got: Tensor, eager: Tensor, exact: Tensor, terms: Tensor, count: int = 1) -> Errors:
    """Errors in units, where the result and everything on the way to it is within float32's range.

    `terms` is Σ|terms| of each element; `count` how many terms may each lose a denormal's last digit.
    """
    sound = exact.isfinite() & (terms < LARGEST / 4)
    unit = UNIT * terms.double() + count * SMALLEST
    errors = [torch.where(sound, (found.double() - exact).abs() / unit, 0.0) for found in (eager, got)]
    worst = [float(error.max()) if error.numel() else 0.0 for error in errors]
    place = torch.unravel_index(errors[1].argmax(), errors[1].shape) if errors[1].numel() else ()
    return Errors(worst[0], worst[1], tuple(int(i) for i in place))


def assert_special_values_agree(got: Tensor, eager: Tensor, terms: Tensor | None = None) -> None:
    """NaN and infinity exactly where eager has them; not asked where the order of a sum decides whether it overflows."""
    asked = torch.ones_like(got, dtype=torch.bool) if terms is None else (terms < LARGEST / 4) | ~terms.isfinite()
    for name, kind in (("NaN", torch.isnan), ("+inf", torch.isposinf), ("-inf", torch.isneginf)):
        differs = (kind(got) != kind(eager)) & asked
        assert not differs.any(), (
            f"{name} in {int(differs.sum())} places other than eager's, e.g. {differs.nonzero()[0].tolist()}"
        )


def double(value: Any) -> Any:
    return value.double() if isinstance(value, Tensor) and value.is_floating_point() else value


def absolute(value: Any) -> Any:
    return double(value).abs() if isinstance(value, Tensor) and value.is_floating_point() else value


def fill_parameters(model: nn.Module, values: Mapping[str, Tensor]) -> None:
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in values:
                parameter.copy_(values[name])


def in_double(model: nn.Module) -> nn.Module:
    return copy.deepcopy(model).double()


def of_absolutes(model: nn.Module) -> nn.Module:
    """The model with the absolute values of its parameters: Σ|terms| of a linear one, on absolute inputs."""
    made = in_double(model)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.abs_()
    return made


Terms = Callable[[nn.Module, Sequence[Any], Tensor], Tensor]


def linear_terms(model: nn.Module, args: Sequence[Any], exact: Tensor) -> Tensor:
    """Σ|terms| of what is linear in its inputs and in its parameters."""
    found: Tensor = of_absolutes(model)(*map(absolute, args))
    return found


def own_size(model: nn.Module, args: Sequence[Any], exact: Tensor) -> Tensor:
    """The result's own size: for what never cancels."""
    return exact.abs()


@dataclass
class Judge:
    """Compiles each model once for one setting, and judges it on many inputs."""

    setting: Setting
    cases: Cases = field(repr=False)
    _compiled: dict[str, tuple[nn.Module, Callable[..., Any]]] = field(default_factory=dict, repr=False)

    def compiled(
        self, name: str, make: Callable[[], nn.Module], args: Sequence[Any], threads: int = 1
    ) -> tuple[nn.Module, Callable[..., Any]]:
        """The model and its compiled form, which share parameters."""
        key = f"{name} {threads} {[tuple(a.shape) if isinstance(a, Tensor) else a for a in args]}"
        if key not in self._compiled:
            model = make().eval()
            self._compiled[key] = (model, self.setting.compile(model, args, threads))
        return self._compiled[key]

    def check(
        self,
        family: str,
        name: str,
        make: Callable[[], nn.Module],
        args: Sequence[Any],
        parameters: Mapping[str, Tensor] | None = None,
        terms: Terms = linear_terms,
        count: int = 1,
        threads: int = 1,
        equal: bool = False,
    ) -> Errors:
        """One case: Strop's errors within those of eager, special values where eager has them.

        `terms` gives Σ|terms|, `count` is how many there are, `equal` says that all of a sum are equal.
        """
        model, fast = self.compiled(name, make, args, threads)
        fill_parameters(model, parameters or {})
        with torch.no_grad():
            eager, got = model(*args), fast(*args)
            exact = in_double(model)(*map(double, args))
            sizes = terms(model, args, exact)
        assert_special_values_agree(got, eager, sizes)
        errors = measure(got, eager, exact, sizes, count)
        self.cases.add(family, errors.eager, errors.strop)
        steps = min(count, STEPS)
        floor = max(FLOOR, steps / 4 if equal else steps**0.5)
        assert errors.within(floor), (
            f"{name} ({self.setting}): {errors.strop:.1f} units at {list(errors.place)}, eager needs {errors.eager:.1f}"
        )
        return errors
