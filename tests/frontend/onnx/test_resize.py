"""Resize in its many forms, against ONNX's own reference."""

import itertools

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import strop
from onnx_models import FLOAT, UINT8, model, node, random


def check(built, x, least):
    made = strop.compile(built)
    (result,) = made({"x": x}).values()
    (expected,) = ReferenceEvaluator(built).run(None, {"x": x})
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result.astype(float), expected.astype(float), atol=least)
    return made


MODES = [("linear", {}), ("cubic", {}), ("nearest", {}), ("nearest", {"nearest_mode": "floor"}),
         ("linear", {"antialias": 1})]  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "coordinates"), list(itertools.product(range(len(MODES)), ["half_pixel", "align_corners", "asymmetric"]))
)
def test_to_sizes_that_no_simple_factor_gives(mode, coordinates):
    kind, attrs = MODES[mode]
    for size in ((7, 5), (19, 23)):
        resize = node(
            "Resize", ["x", "", "", "to"], ["y"], mode=kind, coordinate_transformation_mode=coordinates, **attrs
        )
        built = model([resize], {"x": (FLOAT, (1, 2, 11, 13))}, ["y"], {"to": np.array([1, 2, *size])})
        check(built, random(1, 2, 11, 13), 2e-5)


def test_by_factors_that_leave_a_rest():
    resize = node("Resize", ["x", "", "by"], ["y"], mode="linear")
    built = model([resize], {"x": (FLOAT, (1, 2, 11, 13))}, ["y"],
                  {"by": np.array([1, 1, 1.7, 0.6], np.float32)})  # fmt: skip
    check(built, random(1, 2, 11, 13), 2e-5)


def test_bytes_are_looked_up_natively():
    resize = node("Resize", ["x", "", "", "to"], ["y"], mode="nearest", coordinate_transformation_mode="asymmetric",
                  nearest_mode="floor")  # fmt: skip
    built = model([resize], {"x": (UINT8, (1, 3, 11, 13))}, ["y"], {"to": np.array([1, 3, 7, 20])})
    x = np.random.default_rng(0).integers(0, 256, (1, 3, 11, 13)).astype(np.uint8)
    made = check(built, x, 0)
    assert not [event for event in made.journal.events if event.kind == "fallback"]
