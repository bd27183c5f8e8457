"""Models whose shapes data decides: what lies between such steps is compiled for the shapes that come again."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from strop.runtime.onnx.model import compile_onnx
from strop.runtime.onnx.partitions import MOST_SHAPES, Partition, VaryingPartition

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def model(nodes, inputs, outputs, weights):
    graph = helper.make_graph(
        nodes, "graph", [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


#: the rows of x that start with a positive number, twice found, through a small network
CHOOSING = [
    node("Split", "x", "first rest", axis=1), node("Squeeze", "first one", "flags"), node("Greater", "flags zero", "yes"),
    node("NonZero", "yes", "places"), node("Transpose", "places", "rows"), node("GatherND", "x rows", "chosen"),
    node("NonZero", "yes", "again"), node("Transpose", "again", "same"), node("GatherND", "flags same", "marks"),
    node("MatMul", "chosen w", "a"), node("Tanh", "a", "b"), node("Unsqueeze", "marks one", "column"),
    node("Mul", "b column", "y"), node("Identity", "x", "z"),
]  # fmt: skip
WEIGHTS = {"one": np.asarray([1]), "zero": np.float32(0), "w": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)}


def choosing():
    return model(CHOOSING, [("x", FLOAT, ["n", 2])], [("y", FLOAT, None), ("z", FLOAT, None)], WEIGHTS)


def rows(positive, negative):
    x = np.random.default_rng(positive).standard_normal((positive + negative, 2)).astype(np.float32)
    x[:positive, 0], x[positive:, 0] = np.abs(x[:positive, 0]) + 0.1, -1
    return x


def pair(made):
    return compile_onnx(made), onnxruntime.InferenceSession(made.SerializeToString())


def check(compiled, session, **feeds):
    for got, expected in zip(compiled.run(feeds).values(), session.run(None, feeds)):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def sections(compiled):
    return compiled._staged.sections.sections


def test_what_is_behind_is_compiled_for_shapes_that_come_again():
    compiled, session = pair(choosing())
    for _ in range(3):
        check(compiled, session, x=rows(4, 3))
    (behind,) = [s for s in sections(compiled) if isinstance(s, VaryingPartition)]
    assert len(behind.forms) == 1
    for count in (2, 5, 0, 7, 2):
        check(compiled, session, x=rows(count, 7 - count))
    assert len(behind.forms) == 2  # four and two rows, both seen more than once


def test_not_for_ever_more_shapes():
    compiled, session = pair(choosing())
    for _ in range(2):
        check(compiled, session, x=rows(3, 4))
    (behind,) = [s for s in sections(compiled) if isinstance(s, VaryingPartition)]
    behind.forms.update(range(MOST_SHAPES - 1))
    for _ in range(3):
        check(compiled, session, x=rows(5, 2))
    assert len(behind.forms) == MOST_SHAPES


def test_what_is_computed_twice_runs_once():
    compiled, session = pair(choosing())
    for _ in range(2):
        check(compiled, session, x=rows(4, 3))
    alone = [step.op for s in sections(compiled) if type(s) is Partition for step in s.steps]
    assert alone == ["NonZero"]


def test_results_have_memory_of_their_own():
    compiled, _ = pair(choosing())
    x = rows(4, 3)
    for _ in range(4):
        before = x.copy()
        compiled.run({"x": x})["z"][:] = 7
        np.testing.assert_array_equal(x, before)


def counting():
    """As many numbers as the largest one says, and what comes of them."""
    nodes = [
        node("ReduceMax", "x", "largest", keepdims=0), node("Cast", "largest", "count", to=INT),
        node("Range", "none count step", "numbers"), node("Cast", "numbers", "floats", to=FLOAT),
        node("Unsqueeze", "floats axis", "row"), node("Unsqueeze", "x last", "column"), node("Mul", "column row", "table"),
        node("Shape", "numbers", "extent"), node("Expand", "half extent", "halves"), node("Add", "table halves", "y"),
    ]  # fmt: skip
    weights = {"none": np.asarray(0), "step": np.asarray(1), "axis": np.asarray([0]), "last": np.asarray([1]),
               "half": np.float32(0.5)}  # fmt: skip
    return model(nodes, [("x", FLOAT, [20])], [("y", FLOAT, None)], weights)


def test_numbers_that_data_brings_may_be_extents():
    compiled, session = pair(counting())
    for largest in (5, 5, 5, 9, 9, 9, 5, 3):
        x = np.linspace(0, largest, 20, dtype=np.float32)
        check(compiled, session, x=x)
    assert compiled._staged is not None


def test_a_run_that_finds_nothing_does_not_decide_how_the_model_is_divided():
    compiled, session = pair(choosing())
    check(compiled, session, x=rows(0, 7))
    assert compiled._staged.sections is None
    for _ in range(3):
        check(compiled, session, x=rows(3, 4))
    assert any(isinstance(s, VaryingPartition) for s in sections(compiled))


@pytest.mark.parametrize("op", ["MatMul", "Mul"])
def test_a_branch_behind_such_steps_is_compiled_where_it_is_worth_it(op):
    then = helper.make_graph([node(op, "y w2", "p")], "then", [], [helper.make_tensor_value_info("p", FLOAT, None)])
    other = helper.make_graph([node("Neg", "y", "q")], "else", [], [helper.make_tensor_value_info("q", FLOAT, None)])
    choice = helper.make_node("If", ["enough"], ["r"], then_branch=then, else_branch=other)
    nodes = [*CHOOSING, node("Shape", "places", "extent"), node("ReduceMax", "extent", "count", keepdims=0),
             node("Greater", "count two", "enough"), choice]  # fmt: skip
    weights = {**WEIGHTS, "two": np.asarray(2), "w2": np.eye(3, dtype=np.float32) * 3}
    if op == "Mul":
        weights["w2"] = np.float32(2)
    compiled, session = pair(model(nodes, [("x", FLOAT, ["n", 2])], [("r", FLOAT, None)], weights))
    for count in (4, 4, 4, 1, 1, 6, 4):
        check(compiled, session, x=rows(count, 8 - count))
    assert compiled._staged.sections is not None
