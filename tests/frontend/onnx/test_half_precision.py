"""Models in half precision: computed in single precision, rounded where values leave the model."""

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper

from onnx_models import model, node
from strop.core.problem import Problem
from strop.runtime.onnx.model import compile_onnx

H, F = TensorProto.FLOAT16, TensorProto.FLOAT


def typed(nodes, inputs, outputs, weights=None):
    made = model(nodes, inputs, list(outputs), weights)
    for value in made.graph.output:
        value.type.tensor_type.elem_type = outputs[value.name]
    return made


def network():
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((8, 3, 3, 3)).astype(np.float16)
    bias = rng.standard_normal(8).astype(np.float16)
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["r"]),
        node("GlobalAveragePool", ["r"], ["y"]),
    ]
    made = typed(nodes, {"x": (H, [1, 3, 8, 8])}, {"y": H}, {"w": weight, "b": bias})
    return made, rng.standard_normal((1, 3, 8, 8)).astype(np.float16), weight, bias


def test_a_network_is_compiled_and_exact_up_to_the_last_rounding():
    made, x, weight, bias = network()
    run = compile_onnx(made, {"x": x})
    wide = [torch.from_numpy(a).double() for a in (x, weight, bias)]
    expected = torch.relu(torch.conv2d(*wide, padding=1)).mean((2, 3), keepdim=True).half().numpy()
    for _ in range(3):  # the first call, the second and the short ways of later ones
        got = run.run({"x": x})["y"]
        assert got.dtype == np.float16
        np.testing.assert_allclose(got.astype(float), expected.astype(float), rtol=1e-3)
    assert not [event for event in run.journal.events if event.kind == "fallback" and "library" in event.message]


def test_half_tensors_give_half_tensors():
    made, x, *_ = network()
    run = compile_onnx(made, {"x": x})
    got = run.run({"x": torch.from_numpy(x)})["y"]
    assert got.dtype == torch.float16
    np.testing.assert_array_equal(got.numpy(), run.run({"x": x})["y"])
    assert torch.equal(run(torch.from_numpy(x)).half(), got)


def test_an_input_in_single_precision_is_refused():
    made, x, *_ = network()
    with pytest.raises(Problem, match=r"float16.*was given as float32"):
        compile_onnx(made).run({"x": x.astype(np.float32)})


def test_single_precision_inside_stays_single():
    nodes = [
        node("Cast", ["x"], ["h"], to=H),
        node("Mul", ["h", "two"], ["d"]),
        node("Cast", ["d"], ["y"], to=F),
    ]
    made = typed(nodes, {"x": (F, [4])}, {"y": F}, {"two": np.array(2, np.float16)})
    x = np.array([1.0, -0.5, 3.25, 100.0], np.float32)
    np.testing.assert_array_equal(compile_onnx(made).run({"x": x})["y"], 2 * x)


def test_what_is_too_large_for_half_precision_becomes_infinite_at_the_end():
    made = typed([node("Mul", ["x", "x"], ["y"])], {"x": (H, [2])}, {"y": H})
    got = compile_onnx(made).run({"x": np.array([300.0, 2.0], np.float16)})["y"]
    np.testing.assert_array_equal(got, np.array([np.inf, 4.0], np.float16))


def test_operators_without_a_description_keep_the_type():
    nodes = [
        node("Gelu", ["x"], ["g"], domain="com.microsoft"),
        node("Add", ["g", "one"], ["y"]),
    ]
    made = typed(nodes, {"x": (H, [3])}, {"y": H}, {"one": np.ones(3, np.float16)})
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    x = np.array([-1.0, 0.5, 2.0], np.float16)
    expected = torch.nn.functional.gelu(torch.from_numpy(x).float()).numpy() + 1
    np.testing.assert_allclose(compile_onnx(made).run({"x": x})["y"].astype(np.float32), expected, rtol=1e-3)


def test_mixed_precision_is_refused():
    made = typed([node("Add", ["x", "z"], ["y"])], {"x": (H, [3]), "z": (F, [3])}, {"y": F})
    with pytest.raises(Problem, match="both have to be of one type"):
        compile_onnx(made, {"x": np.ones(3, np.float16), "z": np.ones(3, np.float32)})


def test_a_loop_s_state_in_half_precision():
    """The body's inputs are of the type that it declares; nothing else tells inside."""
    body = helper.make_graph(
        [node("Mul", ["s", "half"], ["t"]), node("Add", ["t", "x"], ["u"]), node("Identity", ["go"], ["on"])], "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []),
         helper.make_tensor_value_info("go", TensorProto.BOOL, []), helper.make_tensor_value_info("s", H, [4])],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []), helper.make_tensor_value_info("u", H, [4])],
    )  # fmt: skip
    nodes = [node("Loop", ["rounds", "", "x"], ["z"], body=body), node("Mul", ["z", "half"], ["y"])]
    weights = {"half": np.array(0.5, np.float16), "rounds": np.array(40)}
    made = typed(nodes, {"x": (H, [4])}, {"y": H}, weights)
    x = np.array([1, 2, -3, 0.25], np.float16)
    np.testing.assert_allclose(compile_onnx(made).run({"x": x})["y"], x, rtol=1e-3)
