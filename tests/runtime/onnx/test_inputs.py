"""Inputs that are not what the file declares are refused, however they are given, by name, with both sides."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from onnx import TensorProto as T
from onnx import helper

import strop
from strop.core.journal import StropWarning


def model(nodes, shape=(4, 3)):
    inputs = [helper.make_tensor_value_info("x", T.FLOAT, shape)]
    graph = helper.make_graph(nodes, "net", inputs, [helper.make_tensor_value_info("y", T.FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="module")
def run():
    return strop.compile(model([helper.make_node("Relu", ["x"], ["y"])]), threads=1)


@pytest.fixture(scope="module")
def staged():
    """A model that runs in stages: its result has as many elements as data says."""
    nodes = [helper.make_node("NonZero", ["x"], ["i"]), helper.make_node("Cast", ["i"], ["y"], to=T.FLOAT)]
    made = strop.compile(model(nodes), threads=1)
    made({"x": np.ones((4, 3), np.float32)})
    assert made._staged is not None
    return made


WRONG = {
    "rank": (np.ones((1, 4, 3), np.float32), r"`x`: float32\[4,3\] was given a shape of \[1, 4, 3\]", "2 dimensions"),
    "extent": (np.ones((4, 4), np.float32), r"given a shape of \[4, 4\]", "dimension 1 to 3"),
    "dtype": (np.ones((4, 3)), r"`x`: float32\[4,3\] was given as float64", "convert"),
    "list": ([[1.0, 2.0, 3.0]] * 4, "was given as a list", "convert"),
    "text": ("one", "was given as a str", "convert"),
    "nothing": (None, "the input `x` is missing", r"float32\[4,3\]"),
}


@pytest.mark.parametrize("way", ["by name", "by position", "by keyword"])
@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("made", ["run", "staged"])
def test_what_the_file_does_not_declare_is_refused(made, kind, way, request, recwarn):
    compiled = request.getfixturevalue(made)
    value, told, advice = WRONG[kind]
    given = torch.from_numpy(value) if isinstance(value, np.ndarray) and way != "by name" else value
    with pytest.raises(strop.Problem, match=told) as caught:
        compiled({"x": given}) if way == "by name" else compiled(given) if way == "by position" else compiled(x=given)
    assert caught.value.code == "STR105"
    assert caught.match(advice)
    assert not [warning for warning in recwarn if warning.category is StropWarning]


@pytest.mark.parametrize("kind", ["rank", "extent", "dtype"])
def test_examples_that_the_file_does_not_declare_are_refused(kind):
    value, told, _ = WRONG[kind]
    proto = model([helper.make_node("Relu", ["x"], ["y"])])
    with pytest.raises(strop.Problem, match=told):
        strop.compile(proto, (torch.from_numpy(value),))
    with pytest.raises(strop.Problem, match=told):
        strop.compile(proto, kwargs={"x": value})
    if kind != "dtype":
        with pytest.raises(strop.Problem, match=told):
            strop.compile(proto, shapes={"x": value.shape})


def test_an_extent_that_the_file_leaves_open_is_free():
    run = strop.compile(model([helper.make_node("Relu", ["x"], ["y"])], ("n", 3)), threads=1)
    for count in (1, 4):
        assert run(torch.ones(count, 3)).shape == (count, 3)
    with pytest.raises(strop.Problem, match="3"):
        run(torch.ones(3))
