"""Images of another size: the nests compute what torch computes, and read what they need."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from loops.interpret import compute, context_of
from strop.loops.lower import resample as lower


def same(result, expected):
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-5, atol=1e-5)


RESIZED = [
    ((1, 2, 3, 5), (6, 10)),
    ((1, 1, 4, 4), (7, 9)),
    ((1, 1, 7, 9), (4, 4)),
    ((1, 1, 1, 1), (5, 3)),
    ((1, 2, 13), (41,)),
    ((1, 1, 3, 4, 2), (6, 4, 5)),
]


def ratios(x, out):
    return tuple(i / o for i, o in zip(x.shape[2:], out))


@pytest.mark.parametrize(("shape", "out"), RESIZED)
@pytest.mark.parametrize("exact", [True, False])
def test_upsample_nearest(shape, out, exact):
    x = torch.randn(shape)
    expected = F.interpolate(x, out, mode="nearest-exact" if exact else "nearest")
    attrs = {"scales": ratios(x, out), "exact": exact}
    same(compute("upsample_nearest", [x], [("f32", expected.shape)], **attrs)[0], expected)


def test_upsample_nearest_with_a_scale_that_is_not_the_ratio_of_extents():
    x = torch.randn(1, 1, 5, 5)
    expected = F.interpolate(x, scale_factor=(1.5, 2.3), mode="nearest", recompute_scale_factor=False)
    attrs = {"scales": (1 / 1.5, 1 / 2.3), "exact": False}
    same(compute("upsample_nearest", [x], [("f32", expected.shape)], **attrs)[0], expected)


def test_whole_factors_of_upsample_nearest_are_index_arithmetic():
    attrs = {"scales": (0.5, 0.5), "exact": False}
    context = context_of("upsample_nearest", [np.zeros((1, 2, 5, 5), np.float32)], [("f32", (1, 2, 10, 10))], attrs)
    (nest,) = lower.upsample_nearest(context)
    assert "in0[0, c, (oh)//2, (ow)//2]" in str(nest)


@pytest.mark.parametrize(("shape", "out"), RESIZED)
@pytest.mark.parametrize("align", [True, False])
def test_upsample_linear(shape, out, align):
    x = torch.randn(shape)
    mode = {1: "linear", 2: "bilinear", 3: "trilinear"}[len(out)]
    expected = F.interpolate(x, out, mode=mode, align_corners=align)
    attrs = {"scales": ratios(x, out), "align_corners": align}
    same(compute("upsample_linear", [x], [("f32", expected.shape)], **attrs)[0], expected)


def linear(shape, out):
    attrs = {"scales": tuple(i / o for i, o in zip(shape[2:], out)), "align_corners": False}
    return lower.upsample_linear(
        context_of("upsample_linear", [np.zeros(shape, np.float32)], [("f32", (*shape[:2], *out))], attrs)
    )


def test_rows_that_get_fewer_are_mixed_before_they_are_looked_up():
    (nest,) = linear((1, 3, 40, 30), (20, 25))
    assert "row[x] =" in str(nest)


def test_rows_that_get_more_are_shared_by_several_points():
    across, down = linear((1, 3, 20, 30), (40, 60))
    assert across.name.endswith("across")
    assert across.writes == (next(b for b in down.reads if b.space == "arena"),)


def test_an_image_that_keeps_its_places_is_read_in_order():
    (nest,) = linear((1, 3, 20, 30), (20, 15))
    assert "oh.first" not in str(nest)
