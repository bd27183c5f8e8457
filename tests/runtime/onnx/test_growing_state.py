"""Loops whose states grow from round to round, as the caches of decoders do, run in compiled sections."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from strop.runtime.onnx.model import compile_onnx
from strop.runtime.onnx.partitions import Partition, Partitions

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
WIDTH, WORDS, LONGEST = 8, 5, 12


def value(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def decoder(cache_wanted=False):
    """Attends to what it has seen and to an image, and chooses the next word until the last one or the end."""
    seed = np.random.default_rng(1)

    def weight(*shape):
        return (seed.standard_normal(shape) * 0.7).astype(np.float32)

    body = helper.make_graph(
        [
            node("Gather", "table word", "e"), node("Add", "i one", "i2"), node("Unsqueeze", "i zeroth", "start"),
            node("Unsqueeze", "i2 zeroth", "end"), node("Slice", "places start end zeroth", "place"),
            node("Add", "e place", "t"), node("MatMul", "t wk", "key"), node("Concat", "keys key", "keys2", axis=0),
            node("Transpose", "keys2", "columns", perm=[1, 0]), node("MatMul", "t columns", "s"),
            node("Softmax", "s", "p", axis=-1), node("MatMul", "p keys2", "seen"), node("MatMul", "image wi", "inside"),
            node("Transpose", "inside", "seen_image", perm=[1, 0]), node("MatMul", "t seen_image", "si"),
            node("Softmax", "si", "pi", axis=-1), node("MatMul", "pi inside", "looked"), node("Add", "seen looked", "y"),
            node("MatMul", "y out", "scores"), node("ArgMax", "scores", "word2", axis=-1, keepdims=0),
            node("Shape", "keys2", "extent"), node("Gather", "extent none", "length"),
            node("Less", "length most", "short"), node("ReduceMax", "scores", "best", keepdims=0),
            node("Less", "best limit", "low"), node("And", "short low", "on2"),
        ],
        "body", [value("i", INT, []), value("on", BOOL, []), value("word", INT, [1]), value("keys", FLOAT, None)],
        [value("on2", BOOL, []), value("word2", INT, [1]), value("keys2"), value("best", FLOAT, None)],
    )  # fmt: skip
    weights = {
        "table": weight(WORDS, WIDTH), "wk": weight(WIDTH, WIDTH), "wi": weight(WIDTH, WIDTH), "out": weight(WIDTH, WORDS),
        "places": weight(LONGEST, WIDTH), "one": np.asarray(1), "none": np.asarray(0), "zeroth": np.asarray([0]),
        "most": np.asarray(LONGEST), "trips": np.asarray(2**62), "yes": np.asarray(True), "first": np.asarray([0]),
        "nothing": np.zeros((0, WIDTH), np.float32),
    }  # fmt: skip
    loop = helper.make_node("Loop", ["trips", "yes", "first", "nothing"], ["word", "cache", "all"], body=body)
    outputs = [value("word", INT), value("all"), *([value("cache")] if cache_wanted else [])]
    graph = helper.make_graph(
        [loop], "decoder", [value("image", FLOAT, ["n", WIDTH]), value("limit", FLOAT, [])], outputs,
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def check(made, session, image, limit):
    feeds = {"image": image, "limit": np.asarray(limit, np.float32)}
    wanted = session.run(None, feeds)
    for got, expected in zip(made.run(feeds).values(), wanted):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
    return len(wanted[1])


def image(rows, seed):
    return np.random.default_rng(seed).standard_normal((rows, WIDTH)).astype(np.float32)


def pair(**how):
    made = decoder(**how)
    return compile_onnx(made), onnxruntime.InferenceSession(made.SerializeToString())


def sections(made) -> Partitions:
    (ways,) = made._staged.interpreter.ways.values()
    return ways.sections


def test_only_what_touches_the_cache_runs_step_by_step():
    made, session = pair()
    assert check(made, session, image(4, 2), 1e9) == LONGEST
    divided = sections(made)
    alone = [step.op for section in divided.sections if type(section) is Partition for step in section.steps]
    assert sorted(alone) == sorted(
        ["Concat", "Transpose", "MatMul", "Softmax", "MatMul", "Shape", "Gather", "Less", "And"]
    )
    assert [step.op for step in divided.once.steps] == ["MatMul", "Transpose"]  # the image, before the first round
    for seed in (3, 4):
        check(made, session, image(4, seed), 1e9)


def test_other_images_and_lengths_give_other_results():
    made, session = pair(cache_wanted=True)
    lengths = {
        check(made, session, image(rows, rows), limit) for rows in (4, 4, 7, 3) for limit in (1e9, 3.0, 5.0, -1e9)
    }
    assert len(lengths) > 2 and 1 in lengths


def without_a_cache():
    """Looks at all words again in every round."""
    seed = np.random.default_rng(2)

    def weight(*shape):
        return (seed.standard_normal(shape) * 0.7).astype(np.float32)

    body = helper.make_graph(
        [
            node("Gather", "table words", "e"), node("MatMul", "e wq", "q"), node("MatMul", "e wk", "k"),
            node("Transpose", "k", "columns", perm=[1, 0]), node("MatMul", "q columns", "s"),
            node("Softmax", "s", "p", axis=-1), node("MatMul", "p e", "seen"), node("Gather", "seen minus", "last"),
            node("MatMul", "last out", "scores"), node("ArgMax", "scores", "next", axis=-1),
            node("Concat", "words next", "words2", axis=0), node("Equal", "next end", "over"),
            node("Squeeze", "over", "stop"), node("Not", "stop", "on2"),
        ],
        "body", [value("i", INT, []), value("on", BOOL, []), value("words", INT)],
        [value("on2", BOOL, []), value("words2", INT)],
    )  # fmt: skip
    weights = {
        "table": weight(WORDS, WIDTH), "wq": weight(WIDTH, WIDTH), "wk": weight(WIDTH, WIDTH), "out": weight(WIDTH, WORDS),
        "minus": np.asarray(-1), "end": np.asarray([WORDS]), "trips": np.asarray(6), "yes": np.asarray(True),
        "wx": weight(WIDTH, WORDS),
    }  # fmt: skip
    nodes = [node("MatMul", "image wx", "x"), node("ArgMax", "x", "first", axis=-1, keepdims=0),
             helper.make_node("Loop", ["trips", "yes", "first"], ["words"], body=body)]  # fmt: skip
    graph = helper.make_graph(
        nodes, "decoder", [value("image", FLOAT, [2, WIDTH])], [value("words", INT)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_lengths_that_come_in_every_run_are_compiled_for_one_after_the_other():
    model = without_a_cache()
    made, session = compile_onnx(model), onnxruntime.InferenceSession(model.SerializeToString())
    known = []
    for seed in range(5):
        x = image(2, seed)
        np.testing.assert_array_equal(made.run({"image": x})["words"], session.run(None, {"image": x})[0])
        (section,) = sections(made).sections
        known.append(len(section.forms))
    assert known == [1, 2, 3, 4, 5]
