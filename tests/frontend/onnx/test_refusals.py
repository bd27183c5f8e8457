"""Files that are damaged or hostile, and calls that do not fit: a Problem names the node, quickly, in little memory."""

import os
import resource
import time
from itertools import pairwise

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import strop
from onnx_models import FLOAT, INT64, mlp, model, node, random
from strop import Problem


@pytest.fixture(scope="module")
def warm():
    """Everything is imported before the clock starts."""
    strop.compile(mlp(2))


@pytest.fixture(autouse=True)
def bounded(warm):
    """Five seconds of work, and half a gigabyte more than before."""
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    yield
    assert time.process_time() - begun < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


def refusal(source, **settings):
    with pytest.raises(Problem) as caught:
        strop.compile(source, **settings)
    return caught.value


def one(op, inputs, weights=None, **attributes):
    return model([node(op, inputs, ["y"], name="culprit", **attributes)], {"x": (FLOAT, [2, 3])}, ["y"], weights)


def test_a_file_that_is_not_there():
    assert refusal("nowhere.onnx").code == "STR002"


@pytest.mark.parametrize("data", [b"", b"not a model", b"\x08\x07" * 1000, os.urandom(4096)])
def test_a_file_that_is_no_model(data, tmp_path):
    (tmp_path / "m.onnx").write_bytes(data)
    assert refusal(tmp_path / "m.onnx").code == "STR121"


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.99])
def test_a_truncated_file(part, tmp_path):
    data = mlp(2).SerializeToString()
    (tmp_path / "m.onnx").write_bytes(data[: int(len(data) * part)])
    assert refusal(tmp_path / "m.onnx").code == "STR121"


def test_a_circle():
    nodes = [node("Add", ["x", "b"], ["a"], name="first"), node("Relu", ["a"], ["b"], name="second")]
    problem = refusal(model(nodes, {"x": (FLOAT, [2])}, ["b"]))
    assert problem.code == "STR121" and "first" in str(problem.where)


def test_an_input_that_nothing_makes():
    problem = refusal(one("Add", ["x", "ghost"]))
    assert problem.code == "STR121" and "ghost" in problem.message and "culprit" in str(problem.where)


def test_an_output_that_nothing_makes():
    made = mlp(2)
    made.graph.output[0].name = "ghost"
    assert "ghost" in refusal(made).message


def test_a_name_that_is_made_twice():
    nodes = [node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"], name="culprit")]
    assert "culprit" in str(refusal(model(nodes, {"x": (FLOAT, [2])}, ["y"])).where)


def test_an_operator_that_does_not_exist():
    problem = refusal(one("Frobnicate", ["x"]))
    assert problem.code == "STR123" and "Frobnicate" in problem.message and "culprit" in str(problem.where)


def test_an_attribute_that_does_not_exist():
    assert "colour" in refusal(one("Relu", ["x"], colour=3)).message


def test_an_attribute_that_is_missing():
    assert "axis" in refusal(one("Concat", ["x", "x"])).message


def test_an_attribute_of_the_wrong_type():
    problem = refusal(one("Concat", ["x", "x"], axis="first"))
    assert problem.code in ("STR121", "STR124") and "culprit" in str(problem.where)


@pytest.mark.parametrize(
    ("op", "inputs", "weights"),
    [
        ("MatMul", ["x", "w"], {"w": random(5, 5)}),
        ("Add", ["x", "w"], {"w": random(7)}),
        ("Reshape", ["x", "w"], {"w": np.array([4, 4])}),
        ("Gather", ["x", "w"], {"w": np.array(99)}),
        ("Conv", ["x", "w"], {"w": random(4, 4, 3, 3)}),
        ("Unsqueeze", ["x", "w"], {"w": np.array([0, 0])}),
    ],
)
def test_inputs_that_do_not_fit_name_the_node(op, inputs, weights):
    problem = refusal(one(op, inputs, weights))
    assert "culprit" in str(problem.where), problem


@pytest.mark.parametrize(
    ("op", "inputs", "weights", "said"),
    [
        ("Add", ["x", "w"], {"w": np.array([1])}, "int64"),
        ("MatMul", ["x", "w"], {"w": np.zeros((3, 3))}, "double"),
        ("Conv", ["w", "w"], {"w": np.ones((1, 1, 1, 1), bool)}, "bool"),
        ("Gather", ["x", "w"], {"w": np.array(0.0, np.float32)}, "float"),
        ("And", ["x", "x"], {}, "float"),
    ],
)
def test_inputs_of_the_wrong_type_name_the_node(op, inputs, weights, said):
    problem = refusal(one(op, inputs, weights))
    assert problem.code == "STR124" and said in problem.message and "culprit" in str(problem.where)


@pytest.mark.parametrize("wrong", ["w", "r", "b"])
def test_weights_of_a_recurrent_network_that_do_not_fit(wrong):
    weights = {"w": random(1, 16, 8), "r": random(1, 16, 4), "b": random(1, 32)}
    weights[wrong] = random(*weights[wrong].shape[:-1], weights[wrong].shape[-1] + 1)
    made = model([node("LSTM", ["x", *weights], ["y"], name="culprit", hidden_size=4)], {"x": (FLOAT, [5, 1, 8])},
                 ["y"], weights)  # fmt: skip
    assert "culprit" in str(refusal(made).where)


@pytest.mark.parametrize("extents", [[2**31, 2**31], [2**20, 2**20]])
def test_an_input_too_large_for_any_memory(extents):
    problem = refusal(model([node("Relu", ["x"], ["y"])], {"x": (FLOAT, extents)}, ["y"]))
    assert problem.code == "STR124" and "`x`" in problem.message


def test_too_many_and_too_few_inputs():
    assert "culprit" in str(refusal(one("Relu", ["x", "x", "x"])).where)
    assert "culprit" in str(refusal(one("Add", ["x"])).where)


@pytest.mark.parametrize("op", ["ConstantOfShape", "Expand", "Tile", "Pad", "Range", "OneHot"])
def test_a_constant_too_large_for_any_memory(op):
    huge = np.array([2**20, 2**20])
    weights = {
        "ConstantOfShape": {"w": huge},
        "Expand": {"c": random(1, 1), "w": huge},
        "Tile": {"c": random(1, 1), "w": huge},
        "Pad": {"c": random(1, 1), "w": np.array([0, 0, 2**20, 2**20])},
        "Range": {"c": np.array(0), "w": np.array(2**60), "d": np.array(1)},
        "OneHot": {"c": np.array([0]), "w": np.array(2**60), "d": np.array([0.0, 1.0], np.float32)},
    }[op]
    made = model([node(op, list(weights), ["y"], name="culprit")], {"x": (FLOAT, [2])}, ["y"], weights)
    problem = refusal(made)
    assert problem.code == "STR124" and "culprit" in str(problem.where)


def test_a_tensor_whose_data_does_not_fit_its_shape():
    made = mlp(2)
    made.graph.initializer[0].dims[0] = 1000
    problem = refusal(made)
    assert problem.code == "STR121" and "fc1.weight" in str(problem.where)


@pytest.mark.parametrize("dims", [[-1, 8], [2**40, 2**40], [1] * 100])
def test_a_tensor_of_an_impossible_shape(dims):
    made = mlp(2)
    del made.graph.initializer[0].dims[:]
    made.graph.initializer[0].dims.extend(dims)
    assert refusal(made).code == "STR121"


def test_a_tensor_of_an_unknown_element_type():
    made = mlp(2)
    made.graph.initializer[0].data_type = 99
    assert "99" in refusal(made).message


def _external(location, folder, **entries):
    made = mlp(2)
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    return folder / "m.onnx"


@pytest.mark.parametrize("location", ["../secret", "/etc/passwd", "sub/../../secret", "", "..", "a\\..\\..\\secret"])
def test_external_data_outside_the_folder(location, tmp_path):
    (tmp_path / "secret").write_bytes(bytes(4096))
    (tmp_path / "model").mkdir()
    assert refusal(_external(location, tmp_path / "model")).code == "STR122"


def test_external_data_through_a_link_that_leaves_the_folder(tmp_path):
    (tmp_path / "secret").write_bytes(bytes(4096))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "data").symlink_to(tmp_path / "secret")
    assert refusal(_external("data", tmp_path / "model")).code == "STR122"


@pytest.mark.parametrize("entries", [{"offset": 10**12}, {"length": 10**12}, {"offset": -4}, {"offset": "much"}])
def test_external_data_that_the_file_does_not_hold(entries, tmp_path):
    (tmp_path / "data").write_bytes(bytes(512))
    assert refusal(_external("data", tmp_path, **entries)).code == "STR122"


def test_external_data_of_a_model_that_came_without_a_path(tmp_path):
    made = onnx.load(_external("data", tmp_path), load_external_data=False)
    assert refusal(made).code == "STR122"


def test_graphs_nested_without_end():
    inner = helper.make_graph([node("Identity", ["x"], ["y"])], "g", [], [helper.make_tensor_value_info("y", 1, [])])
    for _ in range(40):
        branch = helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
        inner = helper.make_graph([branch], "g", [], [helper.make_tensor_value_info("y", 1, [])])
        if inner.ByteSize() > 2**20:
            break
    made = model([node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)], {"c": (9, [])}, ["y"])
    refusal(made)


def test_functions_that_call_themselves():
    body = [helper.make_node("Again", ["a"], ["b"], domain="mine")]
    function = helper.make_function("mine", "Again", ["a"], ["b"], body, [helper.make_opsetid("mine", 1)])
    made = model([helper.make_node("Again", ["x"], ["y"], domain="mine")], {"x": (FLOAT, [2])}, ["y"],
                 functions=[function])  # fmt: skip
    made.opset_import.append(helper.make_opsetid("mine", 1))
    assert "functions" in refusal(made).message


def test_functions_that_multiply():
    imports = [helper.make_opsetid("mine", 1), helper.make_opsetid("", 18)]
    functions = []
    for depth in range(12):
        callee = f"F{depth + 1}" if depth < 11 else "Relu"
        domain = "mine" if depth < 11 else ""
        names = ["a", *(f"v{i}" for i in range(9)), "b"]
        body = [helper.make_node(callee, [i], [o], domain=domain) for i, o in pairwise(names)]
        functions.append(helper.make_function("mine", f"F{depth}", ["a"], ["b"], body, imports))
    made = model([helper.make_node("F0", ["x"], ["y"], domain="mine")], {"x": (FLOAT, [2])}, ["y"], functions=functions)
    made.opset_import.append(helper.make_opsetid("mine", 1))
    assert "nodes" in refusal(made).message


def test_a_result_too_large_for_any_memory():
    problem = refusal(one("Expand", ["x", "w"], {"w": np.array([2**20, 2**20, 2, 3])}))
    assert problem.code == "STR124" and "culprit" in str(problem.where)


def test_a_loop_that_does_not_end():
    body = helper.make_graph(
        [node("Identity", ["c"], ["d"]), node("Add", ["v", "v"], ["w"])], "body",
        [helper.make_tensor_value_info("i", INT64, []), helper.make_tensor_value_info("c", 9, []),
         helper.make_tensor_value_info("v", FLOAT, [])],
        [helper.make_tensor_value_info("d", 9, []), helper.make_tensor_value_info("w", FLOAT, [])],
    )  # fmt: skip
    weights = {"many": np.array(2**62), "yes": np.array(True), "start": np.array(1.0, np.float32)}
    made = model([node("Loop", ["many", "yes", "start"], ["y"], name="culprit", body=body)], {"x": (FLOAT, [1])}, ["y"],
                 weights)  # fmt: skip
    assert "culprit" in str(refusal(made).where)


def call(feeds, made=None):
    run = strop.compile(made or mlp(2))
    with pytest.raises(Problem) as caught:
        run(feeds)
    return caught.value


def test_an_input_that_is_missing():
    problem = call({})
    assert problem.code == "STR105" and "`x`" in problem.message


def test_an_input_that_does_not_exist():
    assert "`z`" in call({"x": random(2, 8), "z": random(1)}).message


def test_an_input_of_another_type():
    assert "float64" in call({"x": np.zeros((2, 8))}).message


@pytest.mark.parametrize("shape", [(3, 8), (2, 9), (2, 8, 1), ()])
def test_an_input_of_another_shape(shape):
    problem = call({"x": np.zeros(shape, np.float32)})
    assert problem.code == "STR105" and str(list(shape)) in problem.message


def test_a_shape_for_an_input_that_does_not_exist():
    assert "`z`" in refusal(mlp(2), shapes={"z": (1,)}).message


def test_a_shape_that_the_model_cannot_take():
    assert refusal(mlp("n"), shapes={"x": (2, 9)}).code == "STR105"
