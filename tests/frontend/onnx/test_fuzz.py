"""Damaged files: whatever is wrong with them, loading ends in seconds, in bounds, with a Problem or a model."""

import time

import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx_files import MODELS

from onnx_mutate import MUTATIONS, broken, in_child
from strop.core.problem import Problem
from strop.frontend.onnx.capture import capture
from strop.frontend.onnx.module import OnnxModule
from strop.runtime.onnx.inputs import examples

SMALL = ("silero-static", "rapidocr-cls", "magika", "asr-wespeaker", "basic-pitch", "dnsmos-v8")


def network() -> bytes:
    """A little of everything: weights, shape arithmetic, a branch, a loop, an LSTM."""
    torch.manual_seed(0)

    def weight(name, *shape):
        return numpy_helper.from_array(torch.randn(shape).numpy(), name)

    def whole(name, *values):
        return helper.make_tensor(name, TensorProto.INT64, [len(values)], values)

    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    state = helper.make_tensor_value_info("state", TensorProto.FLOAT, None)
    body = helper.make_graph(
        [helper.make_node("Identity", ["going"], ["flag"]), helper.make_node("Add", ["before", "one"], ["state"])],
        "body",
        [
            helper.make_tensor_value_info("round", TensorProto.INT64, []),
            helper.make_tensor_value_info("going", TensorProto.BOOL, []),
            helper.make_tensor_value_info("before", TensorProto.FLOAT, None),
        ],
        [flag, state],
        [weight("one", 1)],
    )
    branch = [
        helper.make_graph([helper.make_node(op, ["gated"], [op])], op, [], [
            helper.make_tensor_value_info(op, TensorProto.FLOAT, None)]) for op in ("Relu", "Tanh")
    ]  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1], strides=[2, 2], name="first"),
        helper.make_node("Shape", ["y"], ["extents"]),
        helper.make_node("Slice", ["extents", "zero", "two"], ["front"]),
        helper.make_node("Concat", ["front", "open"], ["target"], axis=0),
        helper.make_node("Reshape", ["y", "target"], ["flat"]),
        helper.make_node("Transpose", ["flat"], ["steps"], perm=[2, 0, 1]),
        helper.make_node("LSTM", ["steps", "lw", "lr"], ["", "gated"], hidden_size=4),
        helper.make_node("If", ["yes"], ["chosen"], then_branch=branch[0], else_branch=branch[1]),
        helper.make_node("Loop", ["rounds", "", "chosen"], ["z"], body=body),
    ]
    graph = helper.make_graph(
        nodes, "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
        [weight("w", 6, 3, 3, 3), weight("b", 6), weight("lw", 1, 16, 6), weight("lr", 1, 16, 4), whole("zero", 0),
         whole("two", 2), whole("open", -1), helper.make_tensor("rounds", TensorProto.INT64, [], [3]),
         helper.make_tensor("yes", TensorProto.BOOL, [], [True])],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def fates_of(data, count, seed, folder, seconds):
    paths = []
    for index, (kind, bad) in enumerate(broken(data, count, seed)):
        path = folder / f"{index:04}-{kind}.onnx"
        path.write_bytes(bad)
        paths.append(path)
    return in_child(paths, seconds)


def wrong(fates):
    return {path.rsplit("/", 1)[-1]: fate for path, fate in fates.items() if not fate.startswith(("ok", "problem"))}


def test_the_undamaged_network_loads(tmp_path):
    path = tmp_path / "good.onnx"
    path.write_bytes(network())
    assert in_child([path], 300) == {str(path): "ok"}


def test_a_damaged_network_gets_a_problem(tmp_path):
    fates = fates_of(network(), 10 * len(MUTATIONS), 0, tmp_path, 600)
    assert len(fates) > 8 * len(MUTATIONS)
    assert not wrong(fates)
    assert any(fate.startswith("problem STR12") for fate in fates.values())


@pytest.mark.models
@pytest.mark.parametrize("name", SMALL)
def test_a_damaged_real_model_gets_a_problem(name, tmp_path):
    model = next(model for model in MODELS if model.name == name)
    path = model.path()
    assert path is not None, f"{model.package} cannot be fetched"
    assert not wrong(fates_of(path.read_bytes(), 5 * len(MUTATIONS), 1, tmp_path, 300))


# ---- what fuzzing found ----


def refusal(data):
    with pytest.raises(Problem) as caught:
        module = OnnxModule(data)
        capture(module, examples(module, {}))
    return caught.value


def test_a_node_name_that_is_not_text_is_refused():
    data = network()
    assert b"first" in data
    assert refusal(data.replace(b"first", b"f\xffr\xfet")).code == "STR121"


def test_padding_by_repetition_has_its_limits():
    node = helper.make_node("Pad", ["x", "pads"], ["y"], mode="reflect")
    graph = helper.make_graph(
        [node], "pad",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [helper.make_tensor("pads", TensorProto.INT64, [4], [0, 10**9, 0, 3])],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    start = time.perf_counter()
    problem = refusal(model.SerializeToString())
    assert "Pad" in str(problem.where) and time.perf_counter() - start < 5
