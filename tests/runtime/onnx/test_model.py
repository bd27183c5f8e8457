"""What `strop.compile` makes of an ONNX file, and how it is called."""

import copy
import pickle

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

import strop
from onnx_models import FLOAT, INT64, UINT8, expected_of_mlp, mlp, model, node, random
from strop.frontend.onnx.capture import capture
from strop.frontend.onnx.module import OnnxModule


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def fallbacks(run):
    return [event.message for event in run.journal.events if event.kind == "fallback"]


@pytest.fixture
def path(tmp_path):
    onnx.save(mlp("batch"), tmp_path / "mlp.onnx")
    return tmp_path / "mlp.onnx"


def test_arrays_by_name_give_arrays_by_name(path):
    run = strop.compile(path)
    x = random(3, 8)
    result = run({"x": x})
    assert list(result) == ["y"] and isinstance(result["y"], np.ndarray)
    close(result["y"], expected_of_mlp(x))
    assert not fallbacks(run)


def test_tensors_by_name_give_tensors(path):
    result = strop.compile(str(path))({"x": torch.from_numpy(random(3, 8))})
    assert isinstance(result["y"], torch.Tensor)


def test_it_is_a_module_with_the_file_s_weights(path):
    run = strop.compile(path)
    assert isinstance(run, torch.nn.Module)
    assert set(run.state_dict()) == {"fc1.weight", "fc1.bias", "fc2.weight"}
    x = random(3, 8)
    with torch.no_grad():
        close(run(torch.from_numpy(x)), expected_of_mlp(x))
        run.original.fc2.weight.zero_()
        assert not run(torch.from_numpy(x)).any()


def test_each_open_batch_is_a_variant(path):
    run = strop.compile(path)
    for batch in (1, 5, 1):
        x = random(batch, 8, seed=batch)
        close(run({"x": x})["y"], expected_of_mlp(x))
    assert len(run._dispatcher.variants) == 2
    assert not fallbacks(run)


def test_shapes_given_at_once_are_compiled_at_once(path):
    assert len(strop.compile(path, shapes={"x": (4, 8)})._dispatcher.variants) == 1
    assert len(strop.compile(path)._dispatcher.variants) == 0
    assert len(strop.compile(mlp(2))._dispatcher.variants) == 1


def test_copies_and_pickles_compute_the_same(path):
    run = strop.compile(path)
    x = random(3, 8)
    for other in (copy.deepcopy(run), pickle.loads(pickle.dumps(run))):
        close(other({"x": x})["y"], expected_of_mlp(x))


def test_shape_arithmetic_vanishes():
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "first"], ["n"]),
        node("Unsqueeze", ["n", "axis"], ["n1"]),
        node("Concat", ["n1", "rest"], ["wanted"], axis=0),
        node("Reshape", ["x", "wanted"], ["y"]),
    ]
    constants = {"first": np.array(0), "axis": np.array([0]), "rest": np.array([-1])}
    made = model(nodes, {"x": (FLOAT, ["n", 3, 4])}, ["y"], constants)
    captured = capture(OnnxModule(made), [torch.zeros(2, 3, 4)])
    assert [n.op for n in captured.graph.nodes] == ["input", "reshape"]


def test_an_input_that_shapes_the_program_is_bound_to_its_value():
    run = strop.compile(model([node("Reshape", ["x", "s"], ["y"])], {"x": (FLOAT, [2, 6]), "s": (INT64, [2])}, ["y"]))
    x = random(2, 6)
    for shape in ((3, 4), (4, 3), (12, 1)):
        close(run({"x": x, "s": np.array(shape)})["y"], x.reshape(shape))
    assert len(run._dispatcher.variants) == 3
    assert not fallbacks(run)


def test_an_output_that_is_an_input_is_a_copy():
    run = strop.compile(model([node("Identity", ["x"], ["y"])], {"x": (FLOAT, [3])}, ["y"]))
    x = torch.ones(3)
    y = run({"x": x})["y"]
    y.zero_()
    assert x.all()


def test_an_output_that_is_constant_is_a_copy():
    run = strop.compile(model([node("Shape", ["x"], ["y"])], {"x": (FLOAT, [3, 5])}, ["y"]))
    x = torch.ones(3, 5)
    run({"x": x})["y"].zero_()
    assert run({"x": x})["y"].tolist() == [3, 5]


def test_an_initialiser_is_the_default_of_an_input():
    made = model([node("Add", ["x", "w"], ["y"])], {"x": (FLOAT, [3]), "w": (FLOAT, [3])}, ["y"], {"w": random(3)})
    run = strop.compile(made)
    x = random(3, seed=1)
    close(run({"x": x})["y"], x + random(3))
    close(run({"x": x, "w": np.ones(3, np.float32)})["y"], x + 1)


def test_functions_of_the_model_are_called():
    body = [node("Mul", ["a", "a"], ["q"]), node("Add", ["q", "b"], ["c"])]
    function = helper.make_function("mine", "SquareAdd", ["a", "b"], ["c"], body, [helper.make_opsetid("", 18)])
    made = model(
        [helper.make_node("SquareAdd", ["x", "x"], ["y"], domain="mine")], {"x": (FLOAT, [4])}, ["y"],
        functions=[function],
    )  # fmt: skip
    made.opset_import.append(helper.make_opsetid("mine", 1))
    x = random(4)
    close(strop.compile(made)({"x": x})["y"], x * x + x)


def test_external_data_beside_the_model_is_read(tmp_path):
    onnx.save(mlp(2), tmp_path / "m.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    x = random(2, 8)
    close(strop.compile(tmp_path / "m.onnx")({"x": x})["y"], expected_of_mlp(x))


@pytest.mark.parametrize("kind", ["uint16", "uint32", "uint64"])
def test_unsigned_integers_wrap_around(kind):
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    run = strop.compile(model([node("Add", ["x", "x"], ["y"])], {"x": (element, [2])}, ["y"]))
    run._original.outputs = tuple(p.__class__(p.name, element, p.shape, p.kind) for p in run._original.outputs)
    x = np.array([3, np.iinfo(kind).max], dtype=kind)
    assert run({"x": x})["y"].tolist() == (x + x).tolist()


def test_nodes_are_named_after_the_model_s():
    captured = capture(OnnxModule(mlp(2)), [torch.zeros(2, 8)])
    assert "fc1.Gemm.linear" in [n.name for n in captured.graph.nodes]
    assert [n.attrs["key"] for n in captured.graph.params] == ["fc1.weight", "fc1.bias", "fc2.weight"]


def test_nodes_in_another_order_are_sorted():
    made = mlp(2)
    reordered = list(reversed(made.graph.node))
    del made.graph.node[:]
    made.graph.node.extend(reordered)
    x = random(2, 8)
    close(strop.compile(made)({"x": x})["y"], expected_of_mlp(x))


def test_the_backend_runs_a_single_node():
    from strop import onnx_backend

    x = random(2, 3)
    outputs = onnx_backend.run_node(node("Relu", ["x"], ["y"]), [x])
    close(outputs[0], np.maximum(x, 0))
    close(outputs["y"], np.maximum(x, 0))


def test_constants_of_every_kind():
    tensor = helper.make_tensor("t", TensorProto.FLOAT, [2], [1.0, 2.0])
    nodes = [
        node("Constant", [], ["a"], value=tensor), node("Constant", [], ["b"], value_float=0.5),
        node("Constant", [], ["c"], value_floats=[3.0, 4.0]), node("Add", ["a", "b"], ["ab"]),
        node("Add", ["ab", "c"], ["abc"]), node("Add", ["abc", "x"], ["y"]),
    ]  # fmt: skip
    run = strop.compile(model(nodes, {"x": (FLOAT, [2])}, ["y"]))
    close(run({"x": np.zeros(2, np.float32)})["y"], [4.5, 6.5])


def test_a_long_chain_of_small_operators_compiles():
    count = 400
    nodes = [node("Neg" if i % 2 else "Abs", [f"v{i}"], [f"v{i + 1}"]) for i in range(count)]
    run = strop.compile(model(nodes, {"v0": (FLOAT, [4, 5])}, [f"v{count}"]))
    x = random(4, 5)
    close(run({"v0": x})[f"v{count}"], -np.abs(x))
    assert not fallbacks(run)


def test_texts_are_no_part_of_the_program():
    """A tokenised text decides how many of its tokens are special, and the next one decides again."""
    special = [node("Equal", ["ids", "seven"], ["found"]), node("NonZero", ["found"], ["places"]),
               node("Transpose", ["places"], ["rows"]), node("GatherND", ["ids", "rows"], ["y"])]  # fmt: skip
    made = model(special, {"ids": (INT64, [1, 24])}, ["y"], {"seven": np.array(7)})
    run = strop.compile(made)
    for seed in range(12):
        ids = np.random.default_rng(seed).integers(0, 9, (1, 24))
        np.testing.assert_array_equal(run({"ids": ids})["y"], ids[ids == 7])
    assert not any("eager" in message for message in fallbacks(run))


def test_an_image_of_bytes_becomes_floats_before_it_is_turned():
    nodes = [node("Transpose", ["image"], ["turned"], perm=[2, 0, 1]), node("Unsqueeze", ["turned", "first"], ["one"]),
             node("Cast", ["one"], ["f"], to=FLOAT), node("Mul", ["f", "scale"], ["y"])]  # fmt: skip
    weights = {"first": np.array([0]), "scale": np.array(1 / 255, np.float32)}
    run = strop.compile(model(nodes, {"image": (UINT8, [9, 7, 3])}, ["y"], weights))
    image = np.random.default_rng(0).integers(0, 256, (9, 7, 3)).astype(np.uint8)
    close(run({"image": image})["y"], image.transpose(2, 0, 1)[None] / np.float32(255))
    assert len(fallbacks(run)) <= 1  # the conversion itself
