"""How far two results are apart. Large tensors are kept as samples and weighted sums."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch import Tensor

#: largest difference allowed, relative to a tensor's scale
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4}
WHOLE = 8192  #: elements up to which a tensor is kept as it is
PROJECTIONS = 64
#: tensors whose elements are all below this count as zero
SMALL = {torch.float64: 1e-13, torch.float32: 1e-7}
CHAOTIC = 0.05  #: an original that is further from its own float64 result says nothing in float32
FLOOR = 1e-2  #: gradients that are tiny beside the largest one are measured by this part of it: roundings make them up


@dataclass
class Kept:
    """A tensor, or what stands for it."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    finite: int
    undefined: int  #: NaN; what is left is infinite
    scale: float  #: the largest finite element
    norm: float
    part: Tensor  #: all elements, or evenly spaced ones
    projected: Tensor | None


Values = dict[str, Kept]


def kept(found: dict[str, Tensor]) -> Values:
    return {name: _keep(tensor) for name, tensor in found.items()}


def _keep(tensor: Tensor) -> Kept:
    shape, dtype = tuple(tensor.shape), tensor.dtype
    flat = tensor.detach().reshape(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    if not flat.is_floating_point():
        flat = flat.to(torch.int64)
        finite, undefined, scale = flat.numel(), 0, 0.0
    else:
        usual = torch.isfinite(flat)
        finite, undefined = int(usual.sum()), int(torch.isnan(flat).sum())
        flat = torch.where(usual, flat, torch.zeros_like(flat))
        scale = flat.abs().max().item() if flat.numel() else 0.0
    if flat.numel() <= WHOLE:
        return Kept(shape, dtype, finite, undefined, scale, flat.double().norm().item(), flat.clone(), None)
    step = -(-flat.numel() // (WHOLE // 2))
    wide = flat.double()
    return Kept(shape, dtype, finite, undefined, scale, wide.norm().item(), flat[::step].clone(), _projected(wide))


def _projected(flat: Tensor) -> Tensor:
    """Sums over rows and over columns, each element with a weight of its own: a difference would have to cancel in all."""
    padded = torch.nn.functional.pad(flat * _weights(flat.numel()), (0, -flat.numel() % PROJECTIONS))
    return torch.cat([padded.view(PROJECTIONS, -1).sum(1), padded.view(-1, PROJECTIONS).sum(0)])


@functools.lru_cache(maxsize=256)
def _weights(count: int) -> Tensor:
    return torch.cos(torch.arange(count, dtype=torch.float64) * 1.6180339887498949)


def error(one: Kept, two: Kept, least: float = 0.0) -> float:
    """The largest difference relative to the scale; infinite when shapes or special values differ."""
    if one.shape != two.shape or (one.finite, one.undefined) != (two.finite, two.undefined):
        return float("inf")
    if not one.part.numel():
        return 0.0
    if not one.part.is_floating_point():
        same = torch.equal(one.part, two.part)
        return 0.0 if same and _far(one, two, 0.0) == 0.0 else float("inf")
    scale, small = max(one.scale, least), _small(one)
    distance = (one.part.double() - two.part.double()).abs().max().item()
    if max(scale, two.scale) < small:
        return 0.0
    return max(distance / max(scale, small), _far(one, two, least))


def _small(one: Kept) -> float:
    return SMALL.get(one.part.dtype, SMALL[torch.float32])


def _far(one: Kept, two: Kept, least: float) -> float:
    """The largest difference of projections, relative to the length of the tensor."""
    if one.projected is None or two.projected is None:
        return 0.0
    count = one.part.numel() ** 0.5
    length = max(one.norm, least * count, _small(one))
    return float((one.projected - two.projected).abs().max()) / length


def differences(before: dict[str, Values], after: dict[str, Values]) -> tuple[list[str], dict[str, float]]:
    """What differs, and the largest errors by precision. Other draws of dropout are not held against an edit."""
    found: list[str] = []
    largest = {"float32": 0.0, "float64": 0.0}
    for what in before:
        precision = what.rpartition(" ")[2]
        roundings = _roundings(before, what) if precision == "float32" else {}
        texts, worst = _differences(before[what], after.get(what, {}), getattr(torch, precision), roundings)
        if texts and what.startswith("train,") and what.replace("train,", "train without dropout,") in before:
            continue  # decided without dropout
        found += [f"{what}: {text}" for text in texts[:3]]
        largest[precision] = max(largest[precision], worst)
    return found, largest


def _roundings(before: dict[str, Values], what: str) -> dict[str, float]:
    """How far the original's float32 is from its own float64 on the same input, by tensor."""
    exact, single = before.get(what.replace("float32", "float64"), {}), before.get(what, {})
    floor = _floor(exact)
    return {name: error(exact[name], single[name], _least(name, floor)) for name in exact if name in single}


def _floor(values: Values) -> float:
    return FLOOR * max((value.scale for name, value in values.items() if name.startswith("gradient")), default=0.0)


def _least(name: str, floor: float) -> float:
    return floor if name.startswith("gradient") else 0.0


def _differences(one: Values, two: Values, dtype: torch.dtype, roundings: dict[str, float]) -> tuple[list[str], float]:
    found = [f"{name} is only there {'before' if name in one else 'after'}" for name in sorted(set(one) ^ set(two))]
    floor = _floor(one)
    worst = 0.0
    for name in one:
        if name not in two:
            continue
        far, own = error(one[name], two[name], _least(name, floor)), roundings.get(name, 0.0)
        if one[name].dtype is not two[name].dtype:
            found.append(f"{name} is {two[name].dtype} and was {one[name].dtype}")
        elif far > TOLERANCE[dtype] + 4 * own and own < CHAOTIC:
            found.append(f"{name} differs by {far:.2g} of its scale")
        elif own < CHAOTIC:
            worst = max(worst, far)
    return found, worst
