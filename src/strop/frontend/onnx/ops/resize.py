"""Resizing and sampling of images."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from strop.frontend.onnx.ops import Unsupported, floats, ints, made, onnx, real

#: elements that one element of the result is made of, up to which they are looked up
MOST_TAPS = 6
Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@onnx("Resize", until=10)
def resize_by_scales(x: Tensor, scales: Tensor, *, mode: str = "nearest") -> Tensor:
    return resized(
        x, list(range(x.dim())), floats(scales, "the scales"), None, mode=mode, coordinates="asymmetric",
        nearest="floor",
    )  # fmt: skip


@onnx("Resize", since=11)
def resize(
    x: Tensor, roi: Tensor | None = None, scales: Tensor | None = None, sizes: Tensor | None = None, *,
    antialias: int = 0, axes: Sequence[int] | None = None, coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75, exclude_outside: int = 0, extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest", nearest_mode: str = "round_prefer_floor",
) -> Tensor:  # fmt: skip
    chosen = list(range(x.dim())) if axes is None else [axis % x.dim() for axis in axes]
    factors = floats(scales, "the scales") if scales is not None and scales.numel() else None
    wanted = ints(sizes, "the sizes") if sizes is not None and sizes.numel() else None
    region = floats(roi, "the region") if roi is not None and roi.numel() else None
    return resized(
        x, chosen, factors, wanted, region=region, antialias=bool(antialias),
        coordinates=coordinate_transformation_mode, cubic=cubic_coeff_a, exclude_outside=bool(exclude_outside),
        outside=extrapolation_value, policy=keep_aspect_ratio_policy, mode=mode, nearest=nearest_mode,
    )  # fmt: skip


def resized(
    x: Tensor, axes: Sequence[int], scales: Sequence[float] | None, sizes: Sequence[int] | None, *,
    region: Sequence[float] | None = None, antialias: bool = False, coordinates: str = "half_pixel",
    cubic: float = -0.75, exclude_outside: bool = False, outside: float = 0.0, policy: str = "stretch",
    mode: str = "nearest", nearest: str = "round_prefer_floor",
) -> Tensor:  # fmt: skip
    """Every form of Resize: whole in torch's own operators where they mean the same, else axis by axis."""
    extents, dtype = [x.shape[axis] for axis in axes], x.dtype
    whole_sizes = sizes is not None and policy == "stretch"
    if scales is None:
        if sizes is None:
            raise Unsupported("neither scales nor sizes are given")
        scales, sizes = _by_sizes(extents, sizes, policy)
    else:
        sizes = [math.floor(extent * scale) for extent, scale in zip(extents, scales)]
    changing = [i for i in range(len(axes)) if sizes[i] != extents[i] or scales[i] != 1 or "crop" in coordinates]
    mode = {"bilinear": "linear"}.get(mode, mode)
    whole = _whole(x, [axes[i] for i in changing], [scales[i] for i in changing], [sizes[i] for i in changing],
                   mode, coordinates, nearest, antialias, whole_sizes)  # fmt: skip
    if whole is not None:
        return whole
    beyond: list[tuple[int, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]] = []
    for i in changing:
        part = (region[i], region[i + len(axes)]) if region is not None else (0.0, 1.0)
        where = _coordinates(extents[i], sizes[i], scales[i], coordinates, part)
        if coordinates == "tf_crop_and_resize":
            beyond.append((axes[i], (where < 0) | (where > extents[i] - 1)))
        if mode == "nearest":
            places = _nearest(where, nearest)
            x = x.index_select(axes[i], made(torch.tensor, np.clip(places, 0, extents[i] - 1).tolist()))
        else:
            weights = _weights(where, extents[i], scales[i], mode, cubic, exclude_outside, antialias)
            x = _mixed(x if x.is_floating_point() else x.to(torch.float32), axes[i], weights)
    for axis, mask in beyond:
        shape = [1] * x.dim()
        shape[axis] = -1
        x = torch.where(made(torch.tensor, mask).reshape(shape), torch.full((), outside, dtype=x.dtype), x)
    return x.to(dtype)


def _mixed(x: Tensor, axis: int, weights: Array) -> Tensor:
    """Weighted sums along an axis: of a few places that are looked up, else as a product of matrices."""
    taps = int((weights != 0).sum(1).max(initial=1))
    if taps > MOST_TAPS:
        matrix = made(torch.tensor, weights, dtype=x.dtype)
        return F.linear(x.movedim(axis, -1), matrix).movedim(-1, axis)
    # the places that count come first, in order
    places = np.sort(np.argsort(weights == 0, axis=1, kind="stable")[:, :taps], axis=1)
    shape = [1] * x.dim()
    shape[axis] = -1
    total = None
    for tap in range(taps):
        factor = made(torch.tensor, np.take_along_axis(weights, places[:, tap : tap + 1], 1)[:, 0], dtype=x.dtype)
        part = x.index_select(axis, made(torch.tensor, places[:, tap].tolist())) * factor.reshape(shape)
        total = part if total is None else total + part
    assert total is not None
    return total


def _by_sizes(extents: Sequence[int], sizes: Sequence[int], policy: str) -> tuple[list[float], list[int]]:
    ratios = [size / extent for size, extent in zip(sizes, extents)]
    if policy == "stretch":
        return ratios, list(sizes)
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [scale] * len(ratios), [math.floor(extent * scale + 0.5) for extent in extents]


def _whole(
    x: Tensor, axes: Sequence[int], scales: Sequence[float], sizes: Sequence[int], mode: str, coordinates: str,
    nearest: str, antialias: bool, whole_sizes: bool,
) -> Tensor | None:  # fmt: skip
    """Torch's own resizing, where ONNX asks for nothing else."""
    rank = x.dim() - 2
    if not axes:
        return x
    if not 1 <= rank <= 3 or min(axes) < 2 or antialias or x.dtype not in (torch.float32, torch.float64):
        return None
    space = list(x.shape[2:])
    factors = [1.0] * rank
    for axis, scale, size in zip(axes, scales, sizes):
        space[axis - 2], factors[axis - 2] = size, float(scale)
    fits = all(math.floor(x.shape[2 + i] * factors[i]) == space[i] for i in range(rank))
    if mode == "nearest" and not fits:
        return None
    if mode == "nearest":
        integral = all(f == int(f) for f in factors)
        floor = (coordinates, nearest) == ("asymmetric", "floor")
        half = coordinates in ("half_pixel", "pytorch_half_pixel") and nearest.startswith("round_prefer") and integral
        if not floor and not half:
            return None
        # torch reads at floor(i / scale); with whole scales that is what rounding half-pixel centres gives, too
        return F.interpolate(x, scale_factor=factors, mode="nearest")
    exact = whole_sizes or all(float(x.shape[2 + i] * factors[i]).is_integer() for i in range(rank))
    if mode != "linear" or not (exact or fits) or 1 in space or 1 in x.shape[2:]:
        return None
    kind = ("linear", "bilinear", "trilinear")[rank - 1]
    if coordinates == "align_corners" and exact:
        return F.interpolate(x, size=space, mode=kind, align_corners=True)
    if coordinates in ("half_pixel", "pytorch_half_pixel") and whole_sizes:
        return F.interpolate(x, size=space, mode=kind, align_corners=False)
    if coordinates in ("half_pixel", "pytorch_half_pixel"):
        return F.interpolate(x, scale_factor=factors, mode=kind, align_corners=False)
    return None


def _coordinates(extent: int, size: int, scale: float, mode: str, region: tuple[float, float]) -> Array:
    """Where in the input each element of the output looks."""
    place = np.arange(size, dtype=np.float64)
    length = scale * extent
    if mode == "half_pixel":
        return (place + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return (place + 0.5) / scale - 0.5 if length > 1 else np.zeros(size)
    if mode == "half_pixel_symmetric":
        adjustment = size / length
        centre = extent / 2
        return centre * (1 - adjustment) + (place + 0.5) / scale - 0.5
    if mode == "align_corners":
        return place * (extent - 1) / (length - 1) if length != 1 else np.zeros(size)
    if mode == "asymmetric":
        return place / scale
    if mode == "tf_crop_and_resize":
        start, end = region
        if length > 1:
            return start * (extent - 1) + place * (end - start) * (extent - 1) / (length - 1)
        return np.full(size, 0.5 * (start + end) * (extent - 1))
    raise Unsupported(f"the coordinates `{mode}`")


def _nearest(where: Array, mode: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    rounded = {
        "round_prefer_floor": np.ceil(where - 0.5),
        "round_prefer_ceil": np.floor(where + 0.5),
        "floor": np.floor(where),
        "ceil": np.ceil(where),
    }.get(mode)
    if rounded is None:
        raise Unsupported(f"the rounding `{mode}`")
    return rounded.astype(np.int64)


def _weights(
    where: Array, extent: int, scale: float, mode: str, cubic: float, exclude_outside: bool, antialias: bool
) -> Array:
    """Row o holds what each input element contributes to output o."""
    stretch = min(scale, 1.0) if antialias else 1.0
    reach = {"linear": 1.0, "cubic": 2.0}.get(mode)
    if reach is None:
        raise Unsupported(f"resizing of mode `{mode}`")
    count = math.ceil(reach / stretch) * 2 + 2
    first = np.floor(where).astype(np.int64) - count // 2 + 1
    places = first[:, None] + np.arange(count)
    distance = np.abs(places - where[:, None]) * stretch
    weights = np.maximum(1 - distance, 0) if mode == "linear" else _cubic(distance, cubic)
    inside = (places >= 0) & (places < extent)
    if exclude_outside:
        weights = np.where(inside, weights, 0)
    weights = weights / weights.sum(1, keepdims=True)
    matrix = np.zeros((len(where), extent))
    np.add.at(matrix, (np.arange(len(where))[:, None], np.clip(places, 0, extent - 1)), weights)
    return matrix


def _cubic(distance: Array, a: float) -> Array:
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


@onnx("GridSample")
def grid_sample(
    x: Tensor, grid: Tensor, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> Tensor:
    kind = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    return F.grid_sample(x, grid.to(x.dtype), mode=kind, padding_mode=padding_mode, align_corners=bool(align_corners))


@onnx("AffineGrid")
def affine_grid(theta: Tensor, size: Tensor, *, align_corners: int = 0) -> Tensor:
    return F.affine_grid(theta, ints(size, "the size"), align_corners=bool(align_corners))


@onnx("RoiAlign", until=15)
def roi_align_from_corners(
    x: Tensor, rois: Tensor, batch: Tensor, *, mode: str = "avg", output_height: int = 1, output_width: int = 1,
    sampling_ratio: int = 0, spatial_scale: float = 1.0,
) -> Tensor:  # fmt: skip
    return _roi_align(x, rois, batch, mode, output_height, output_width, sampling_ratio, spatial_scale, False)


@onnx("RoiAlign", since=16)
def roi_align(
    x: Tensor, rois: Tensor, batch: Tensor, *, coordinate_transformation_mode: str = "half_pixel", mode: str = "avg",
    output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0, spatial_scale: float = 1.0,
) -> Tensor:  # fmt: skip
    half = coordinate_transformation_mode == "half_pixel"
    return _roi_align(x, rois, batch, mode, output_height, output_width, sampling_ratio, spatial_scale, half)


def _roi_align(
    x: Tensor, rois: Tensor, batch: Tensor, mode: str, height: int, width: int, ratio: int, scale: float, half: bool
) -> Tensor:
    """Bilinear samples on a grid in each bin, averaged or their largest weighted corner."""
    if ratio <= 0:  # the number of samples depends on the size of each region
        boxes = real(rois, "the regions").to(torch.float64) * scale
        spans = [max(1.0, float(s)) if not half else float(s) for s in (boxes[:, 2:] - boxes[:, :2]).reshape(-1)]
        counts = {(math.ceil(h / height), math.ceil(w / width)) for w, h in zip(spans[::2], spans[1::2])}
        rows = [
            _roi_bins(x, rois[i : i + 1], batch[i : i + 1], mode, height, width,
                      (math.ceil(spans[2 * i + 1] / height), math.ceil(spans[2 * i] / width)), scale, half)
            for i in range(rois.shape[0])
        ] if len(counts) > 1 else None  # fmt: skip
        if rows is not None:
            return torch.cat(rows)
        samples = next(iter(counts), (1, 1))
    else:
        samples = (ratio, ratio)
    return _roi_bins(x, rois, batch, mode, height, width, samples, scale, half)


def _roi_bins(
    x: Tensor, rois: Tensor, batch: Tensor, mode: str, height: int, width: int, samples: tuple[int, int], scale: float,
    half: bool,
) -> Tensor:  # fmt: skip
    shift = 0.5 if half else 0.0
    x1, y1, x2, y2 = (rois[:, i] * scale - shift for i in range(4))
    roi_w, roi_h = x2 - x1, y2 - y1
    if not half:
        roi_w, roi_h = roi_w.clamp(min=1), roi_h.clamp(min=1)
    count_h, count_w = samples
    at_y = y1[:, None] + roi_h[:, None] / height * _steps(height, count_h, x.dtype)
    at_x = x1[:, None] + roi_w[:, None] / width * _steps(width, count_w, x.dtype)
    images = batch.to(torch.int64)[:, None, None]
    rows, columns = x.shape[2:]
    low_y, high_y, wy, in_y = _neighbours(at_y, rows)
    low_x, high_x, wx, in_x = _neighbours(at_x, columns)
    inside = (in_y[:, :, None] & in_x[:, None, :])[..., None]
    corners = []
    for ys, y_weight in ((low_y, 1 - wy), (high_y, wy)):
        for xs, x_weight in ((low_x, 1 - wx), (high_x, wx)):
            value = x.permute(0, 2, 3, 1)[images, ys[:, :, None], xs[:, None, :]]
            corners.append(value * (y_weight[:, :, None] * x_weight[:, None, :])[..., None])
    stacked = torch.stack(corners)
    sampled = stacked.sum(0) if mode == "avg" else stacked.amax(0)
    sampled = torch.where(inside, sampled, torch.zeros_like(sampled))
    bins = sampled.reshape(rois.shape[0], height, count_h, width, count_w, x.shape[1])
    pooled = bins.mean((2, 4)) if mode == "avg" else bins.amax((2, 4))
    return pooled.permute(0, 3, 1, 2)


def _steps(bins: int, samples: int, dtype: torch.dtype) -> Tensor:
    """Sample places in units of a bin."""
    return ((torch.arange(bins * samples, dtype=dtype) + 0.5) / samples).reshape(1, -1)


def _neighbours(at: Tensor, extent: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    inside = (at >= -1) & (at <= extent)
    at = at.clamp(0, extent - 1)
    low = at.floor()
    return low.to(torch.int64), (low + 1).clamp(max=extent - 1).to(torch.int64), at - low, inside


@onnx("MaxRoiPool")
def max_roi_pool(x: Tensor, rois: Tensor, *, pooled_shape: Sequence[int], spatial_scale: float = 1.0) -> Tensor:
    """The largest element of each bin of each region; bins overlap by what rounding takes."""
    rows = []
    for index, *corners in real(rois, "the regions").tolist():
        left, top, right, bottom = (math.floor(corner * spatial_scale + 0.5) for corner in corners)
        spans = [
            _bins(top, bottom, x.shape[2], pooled_shape[0]),
            _bins(left, right, x.shape[3], pooled_shape[1]),
        ]
        image = x[int(index)]
        cells = [
            image[:, y0:y1, x0:x1].amax((1, 2)) if y1 > y0 and x1 > x0 else torch.zeros_like(image[:, 0, 0])
            for (y0, y1) in spans[0]
            for (x0, x1) in spans[1]
        ]
        rows.append(torch.stack(cells, 1).reshape(-1, *pooled_shape))
    return torch.stack(rows)


def _bins(first: int, last: int, extent: int, count: int) -> list[tuple[int, int]]:
    size = max(last - first + 1, 1) / count
    edges = [(first + math.floor(i * size), first + math.ceil((i + 1) * size)) for i in range(count)]
    return [(min(max(low, 0), extent), min(max(high, 0), extent)) for low, high in edges]
