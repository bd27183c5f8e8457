"""Models that look texts up run natively, on positions of texts in a list."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from strop import Problem
from strop.runtime.onnx.model import compile_onnx

ML = {"domain": "ai.onnx.ml"}
WORDS = np.array([["cat", "nobody"], ["dog", "cat"], ["", "bird"]], dtype=object)


def model(nodes, taken, given, constants=()):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in taken],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in given],
        [numpy_helper.from_array(value, name) for name, value in constants],
    )  # fmt: skip
    imports = [helper.make_opsetid("ai.onnx.ml", 2), helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def expected(made, feeds):
    return onnxruntime.InferenceSession(made.SerializeToString()).run(None, feeds)


LOOKED_UP = {
    "one hot": helper.make_node("OneHotEncoder", ["moved"], ["y"], cats_strings=["dog", "cat", "cow"], zeros=1, **ML),
    "numbers": helper.make_node("LabelEncoder", ["moved"], ["y"], keys_strings=["cat", "dog", "cow"],
                                values_int64s=[5, 6, 7], default_int64=-9, **ML),
    "texts": helper.make_node("LabelEncoder", ["moved"], ["y"], keys_strings=["cat", "dog"],
                              values_strings=["Katze", "Hund"], default_string="?", **ML),
    "categories": helper.make_node("CategoryMapper", ["moved"], ["y"], cats_strings=["cat", "dog"], cats_int64s=[1, 2],
                                   default_int64=0, **ML),
}  # fmt: skip
KINDS = {"one hot": TensorProto.FLOAT, "texts": TensorProto.STRING}


@pytest.mark.parametrize("how", LOOKED_UP)
def test_texts_that_are_moved_and_looked_up_run_natively(how):
    moving = [helper.make_node("Gather", ["x", "column"], ["picked"], axis=1),
              helper.make_node("Transpose", ["picked"], ["moved"])]  # fmt: skip
    made = model([*moving, LOOKED_UP[how]], [("x", TensorProto.STRING, [None, 2])],
                 [("y", KINDS.get(how, TensorProto.INT64))], [("column", np.array([1, 0]))])  # fmt: skip
    run = compile_onnx(made)
    for feeds in ({"x": WORDS}, {"x": WORDS[:1]}, {"x": WORDS.astype("U6")}, {"x": WORDS[::-1]}):
        (wanted,) = expected(made, feeds)
        assert run.run(feeds)["y"].tolist() == wanted.tolist()
    assert run._texts.compiled is not None and run._texts.compiled._arrays is not None


def test_a_model_can_be_compiled_for_texts_that_are_given():
    made = model([helper.make_node("Identity", ["x"], ["moved"]), LOOKED_UP["one hot"]],
                 [("x", TensorProto.STRING, [None, 2])], [("y", TensorProto.FLOAT)])  # fmt: skip
    run = compile_onnx(made, {"x": WORDS})
    np.testing.assert_array_equal(run.run({"x": WORDS})["y"], expected(made, {"x": WORDS})[0])


def test_texts_that_come_out_as_they_went_in_stay_themselves():
    looked_up = helper.make_node("LabelEncoder", ["x"], ["z"], keys_strings=["cat", "dog"], values_int64s=[5, 6],
                                 default_int64=-9, **ML)  # fmt: skip
    nodes = [helper.make_node("Transpose", ["x"], ["y"]), looked_up]
    made = model(nodes, [("x", TensorProto.STRING, [None, 2])], [("y", TensorProto.STRING), ("z", TensorProto.INT64)])
    run = compile_onnx(made)
    for _ in range(2):
        got = run.run({"x": WORDS})
        assert got["y"].tolist() == WORDS.T.tolist() and got["z"].tolist() == [[5, -9], [6, 5], [-9, -9]]


def test_wrong_inputs_are_still_told():
    made = model([helper.make_node("Identity", ["x"], ["moved"]), LOOKED_UP["numbers"]],
                 [("x", TensorProto.STRING, [None, 2])], [("y", TensorProto.INT64)])  # fmt: skip
    run = compile_onnx(made)
    run.run({"x": WORDS})
    with pytest.raises(Problem, match="no input `z`"):
        run.run({"x": WORDS, "z": WORDS})


def test_numbers_that_become_texts_to_be_looked_up_are_compared_as_numbers():
    nodes = [
        helper.make_node("Cast", ["x"], ["text"], to=TensorProto.STRING),
        helper.make_node("CategoryMapper", ["text"], ["y"], cats_int64s=[1, 2, 3, 4, 5, 6],
                         cats_strings=["0.5", "-0.0", "nan", "inf", "7", "1e-05"], default_int64=0, **ML),
    ]  # fmt: skip
    made = model(nodes, [("x", TensorProto.FLOAT, [8])], [("y", TensorProto.INT64)])
    x = np.array([0.5, 0.0, -0.0, np.nan, np.inf, 7.0, 1e-5, 3.25], np.float32)
    run = compile_onnx(made)
    table = dict(zip(["0.5", "-0.0", "nan", "inf", "7", "1e-05"], range(1, 7)))
    for _ in range(2):
        assert run.run({"x": x})["y"].tolist() == [table.get(str(v), 0) for v in x]
    assert run._arrays is not None and run._staged is None


def test_numbers_as_texts_are_delivered_by_compiled_code():
    nodes = [helper.make_node("Add", ["x", "x"], ["twice"]),
             helper.make_node("Cast", ["twice"], ["y"], to=TensorProto.STRING)]  # fmt: skip
    run = compile_onnx(model(nodes, [("x", TensorProto.INT64, [3])], [("y", TensorProto.STRING)]))
    for _ in range(2):
        assert run.run({"x": np.array([1, -2, 30])})["y"].tolist() == ["2", "-4", "60"]
    assert not [event for event in run.journal.events if event.kind == "fallback"]


def test_names_that_are_picked_by_numbers_are_delivered_by_compiled_code():
    nodes = [helper.make_node("ArgMax", ["x"], ["best"], axis=1, keepdims=0),
             helper.make_node("Gather", ["names", "best"], ["y"])]  # fmt: skip
    names = np.array(["cat", "dog", "bird"], object)
    made = model(nodes, [("x", TensorProto.FLOAT, [4, 3])], [("y", TensorProto.STRING)], [("names", names)])
    x = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    run = compile_onnx(made)
    for _ in range(2):
        assert run.run({"x": x})["y"].tolist() == names[x.argmax(1)].tolist()
    assert run._arrays is not None and run._staged is None


def test_a_text_that_must_be_one_of_the_categories_is_refused():
    node = helper.make_node("OneHotEncoder", ["x"], ["y"], cats_strings=["dog", "cat"], zeros=0, **ML)
    run = compile_onnx(model([node], [("x", TensorProto.STRING, [2])], [("y", TensorProto.FLOAT)]))
    assert run.run({"x": np.array(["cat", "dog"], object)})["y"].tolist() == [[0, 1], [1, 0]]
    with pytest.raises(Problem, match="none of the categories"):
        run.run({"x": np.array(["cat", "cow"], object)})
