"""What is not done natively is in the journal, once, with the reason."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from onnx import TensorProto as T
from onnx import helper, numpy_helper

import strop
from strop.core.journal import Journal, StropWarning
from strop.core.options import Options
from strop.runtime.module import CompiledModule
from strop.runtime.onnx.model import compile_onnx


def value(name, kind=T.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, weights=()):
    held = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights]
    graph = helper.make_graph(nodes, "net", inputs, outputs, held)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 2)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def told(compiled, kind="fallback"):
    return [event.message for event in compiled.journal.of(kind)]


def looping(*nodes):
    """h ← what the nodes make of it, 70 times."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["on"], ["on2"]), *nodes], "body",
        [value("i", T.INT64, []), value("on", T.BOOL, []), value("h")], [value("on2", T.BOOL, []), value("h2")],
    )  # fmt: skip
    loop = helper.make_node("Loop", ["rounds", "", "x"], ["y"], body=body)
    return model([loop], [value("x", T.FLOAT, [4, 4])], [value("y")], [("rounds", np.asarray(70))])


def test_texts_that_are_more_than_looked_up():
    joined = helper.make_node("StringNormalizer", ["x"], ["y"], case_change_action="UPPER")
    run = compile_onnx(model([joined], [value("x", T.STRING, [2])], [value("y", T.STRING)]))
    for _ in range(2):
        assert run.run({"x": np.array(["a", "b"], object)})["y"].tolist() == ["A", "B"]
    (message,) = [message for message in told(run) if "texts" in message]
    assert message.startswith("texts are looked up step by step: ")


def test_steps_behind_data_that_run_one_by_one():
    nodes = [
        helper.make_node("NonZero", ["x"], ["i"]), helper.make_node("Cast", ["i"], ["f"], to=T.FLOAT),
        helper.make_node("MatMul", ["f", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"]),
    ]  # fmt: skip
    run = compile_onnx(model(nodes, [value("x", T.FLOAT, [4, 3])], [value("y")], [("w", np.ones((12, 2), np.float32))]))
    for _ in range(3):
        run.run({"x": np.ones((4, 3), np.float32)})
    (message,) = [message for message in told(run) if "one by one" in message]
    assert "NonZero" in message and "compiled sections" in message


def test_rounds_that_native_code_cannot_repeat():
    product = helper.make_node("MatMul", ["h", "h"], ["a"])
    run = compile_onnx(looping(product, helper.make_node("Det", ["a"], ["d"]), helper.make_node("Tanh", ["a"], ["t"]),
                               helper.make_node("Mul", ["t", "d"], ["h2"])))  # fmt: skip
    for _ in range(2):
        run.run({"x": np.eye(4, dtype=np.float32) * np.float32(0.5)})
    messages = [message for message in told(run) if message.startswith("rounds run one by one: ")]
    assert len(messages) == 1, told(run)


def test_bodies_of_loops_are_compiled_by_the_options_and_into_the_journal_of_their_model():
    nodes = [
        helper.make_node("MatMul", ["h", "h"], ["a"]), helper.make_node("Softsign", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "h"], ["c"]), helper.make_node("Tanh", ["c"], ["h2"]),
    ]  # fmt: skip
    given, x = Options(cache=False, pack=False), np.eye(4, dtype=np.float32)
    run, other = compile_onnx(looping(*nodes), options=given), compile_onnx(looping(*nodes))
    run.run({"x": x})
    other.run({"x": x})
    (body,), (another,) = run.original.kept.values(), other.original.kept.values()
    assert body.runner._dispatcher.options == given and body.runner.journal is run.journal
    assert another is not body


def test_a_call_that_the_program_was_not_made_for(monkeypatch):
    run = compile_onnx(model([helper.make_node("Relu", ["x"], ["y"])], [value("x", T.FLOAT, [2])], [value("y")]))

    def refuse(self, *args, **kwargs):
        raise IndexError

    monkeypatch.setattr(CompiledModule, "__call__", refuse)
    for _ in range(2):
        assert run(torch.ones(2)).tolist() == [1, 1]
    assert [message for message in told(run) if "step by step" in message] == [
        "a call ran step by step: an index left the range that the program was made for"
    ]


def test_calls_that_have_no_short_way():
    half = model([helper.make_node("Relu", ["x"], ["y"])], [value("x", T.FLOAT16, [2])], [value("y", T.FLOAT16)])
    run = compile_onnx(half)
    for _ in range(2):
        run.run({"x": np.ones(2, np.float16)})
    assert len([message for message in told(run, "note") if "every time" in message]) == 1


def test_a_kernel_with_more_shapes_than_are_compiled(monkeypatch):
    from strop.kernels import native

    monkeypatch.setattr(native, "MAX_SHAPES", 0)
    with pytest.warns(StropWarning, match="0 shapes are compiled already"):
        assert native._made("a kernel", 1, ()) is None


def test_a_model_that_is_all_native_has_nothing_to_tell():
    journal = Journal()
    net = model([helper.make_node("Relu", ["x"], ["y"])], [value("x", T.FLOAT, [2])], [value("y")])
    strop.compile(net, journal=journal)({"x": np.ones(2, np.float32)})
    assert journal.of("fallback") == []
