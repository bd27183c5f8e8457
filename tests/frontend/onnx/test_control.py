"""If, Loop and Scan: decided while capturing where they can be, else one library node, else run in stages."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from strop.frontend.onnx.capture import capture
from strop.frontend.onnx.module import OnnxModule
from strop.runtime.onnx.model import compile_onnx

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
rng = np.random.default_rng(0)


def value(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def model(nodes, inputs, outputs, weights=()):
    held = [numpy_helper.from_array(np.asarray(array), name) for name, array in dict(weights).items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def check(made, **feeds):
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    compiled = compile_onnx(made)
    for _ in range(2):
        got = compiled.run(feeds)
        for output, expected in zip(session.get_outputs(), session.run(None, feeds)):
            np.testing.assert_allclose(got[output.name], expected, rtol=1e-5, atol=1e-5, err_msg=output.name)
    return compiled


def branches(one, other):
    return {
        "then_branch": helper.make_graph([node(one, "x", "a")], "then", [], [value("a")]),
        "else_branch": helper.make_graph([node(other, "x", "b")], "else", [], [value("b")]),
    }


def ops_of(made, *inputs, **how):
    import torch

    graph = capture(OnnxModule(made), [torch.from_numpy(x) for x in inputs], **how).graph
    return [str(n.attrs.get("target", n.op)) for n in graph.nodes]


def test_a_branch_that_a_small_input_chooses_is_taken_while_capturing():
    equal = node("Equal", "rate fast", "yes")
    made = model([equal, helper.make_node("If", ["yes"], ["y"], **branches("Relu", "Neg"))],
                 [value("x", FLOAT, [2, 3]), value("rate", INT, [])], [value("y", FLOAT, [2, 3])],
                 {"fast": np.asarray(16000)})  # fmt: skip
    x = rng.standard_normal((2, 3)).astype(np.float32)
    for rate in (16000, 8000, 16000):
        compiled = check(made, x=x, rate=np.asarray(rate))
    assert not [event for event in compiled.journal.events if event.kind == "fallback"]


def branching():
    nodes = [node("ReduceSum", "x", "total", keepdims=0), node("Greater", "total zero", "yes"),
             helper.make_node("If", ["yes"], ["y"], **branches("Sigmoid", "Neg"))]  # fmt: skip
    weights = {"zero": np.float32(0)}
    return model(nodes, [value("x", FLOAT, [80, 60])], [value("y", FLOAT, [80, 60])], weights)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_branch_that_data_chooses_is_a_library_node(sign):
    x = (sign * np.abs(rng.standard_normal((80, 60)))).astype(np.float32)
    check(branching(), x=x)
    assert "strop.onnx_branch.default" in ops_of(branching(), x, deferring=True)


def looping(rounds, trips="rounds", going=""):
    """h ← softsign(x_i · w + h · r), all h yielded; x and w do not change. No recurrent layer has this activation."""
    body = helper.make_graph(
        [
            node("Identity", "on", "still"),
            helper.make_node("Gather", ["x", "i"], ["now"], axis=0),
            node("MatMul", "now w", "a"), node("MatMul", "h r", "b"), node("Add", "a b", "s"),
            node("Softsign", "s", "next"), node("Identity", "next", "out"),
        ],
        "body", [value("i", INT, []), value("on", BOOL, []), value("h", FLOAT, [2, 4])],
        [value("still", BOOL, []), value("next", FLOAT, [2, 4]), value("out", FLOAT, [2, 4])],
    )  # fmt: skip
    loop = helper.make_node("Loop", [trips, going, "start"], ["last", "all"], body=body)
    weights = {"rounds": np.asarray(rounds), "w": rng.standard_normal((3, 4)).astype(np.float32),
               "r": (rng.standard_normal((4, 4)) * 0.3).astype(np.float32),
               "start": np.zeros((2, 4), np.float32)}  # fmt: skip
    return model([loop], [value("x", FLOAT, [max(1, rounds), 2, 3])], [value("last"), value("all")], weights)


def test_a_short_loop_is_written_out():
    made = looping(3)
    x = rng.standard_normal((3, 2, 3)).astype(np.float32)
    check(made, x=x)
    ops = ops_of(made, x)
    assert ops.count("div") == 3 and not any("onnx_loop" in op for op in ops)


def test_a_long_loop_is_a_library_node_and_reads_its_weights_once():
    made = looping(60)
    x = rng.standard_normal((60, 2, 3)).astype(np.float32)
    compiled = check(made, x=x)
    ops = ops_of(made, x)
    assert ops.count("strop.onnx_loop.default") == 1
    assert ops.count("matmul") + ops.count("linear") == 1  # x · w of all rounds, before the loop
    body = next(iter(compiled.original.kept.values())).part.program
    assert [step.op for step in body.steps].count("MatMul") == 1


def test_a_loop_of_no_rounds_yields_nothing():
    check(looping(0), x=np.zeros((1, 2, 3), np.float32))


def growing(threshold):
    """Double x until its sum passes the threshold; every round yields x."""
    body = helper.make_graph(
        [node("Add", "h h", "next"), node("ReduceSum", "next", "total", keepdims=0),
         node("Less", "total most", "still"), node("MatMul", "next w", "out")],
        "body", [value("i", INT, []), value("on", BOOL, []), value("h", FLOAT, [2, 3])],
        [value("still", BOOL, []), value("next", FLOAT, [2, 3]), value("out", FLOAT, [2, 3])],
    )  # fmt: skip
    nodes = [node("Abs", "x", "positive"),
             helper.make_node("Loop", ["", "yes", "positive"], ["last", "all"], body=body),
             node("ReduceMax", "all", "y", keepdims=0)]  # fmt: skip
    weights = {"yes": np.asarray(True), "most": np.float32(threshold), "w": np.eye(3, dtype=np.float32)}
    return model(nodes, [value("x", FLOAT, [2, 3])], [value("last"), value("all"), value("y")], weights)


def test_a_loop_whose_length_data_decides_runs_in_stages():
    compiled = check(growing(100.0), x=rng.standard_normal((2, 3)).astype(np.float32))
    notes = [event.message for event in compiled.journal.events if event.kind == "note"]
    assert any("in stages" in note for note in notes)
    for scale in (0.01, 10.0):
        x = (rng.standard_normal((2, 3)) * scale).astype(np.float32)
        session = onnxruntime.InferenceSession(growing(100.0).SerializeToString(), providers=["CPUExecutionProvider"])
        for got, expected in zip(compiled.run({"x": x}).values(), session.run(None, {"x": x})):
            np.testing.assert_allclose(got, expected, rtol=1e-5)


def scanning(reverse):
    body = helper.make_graph(
        [node("Add", "h x", "next"), node("Mul", "next x", "out")], "body",
        [value("h", FLOAT, [3]), value("x", FLOAT, [3])], [value("next", FLOAT, [3]), value("out", FLOAT, [3])],
    )  # fmt: skip
    scan = helper.make_node("Scan", ["start", "x"], ["last", "all"], body=body, num_scan_inputs=1,
                            scan_input_axes=[1], scan_output_axes=[-1], scan_input_directions=[reverse],
                            scan_output_directions=[reverse])  # fmt: skip
    return lambda rounds: model([scan], [value("x", FLOAT, [3, rounds])], [value("last"), value("all")],
                                {"start": np.ones(3, np.float32)})  # fmt: skip


@pytest.mark.parametrize("rounds", [4, 200])
@pytest.mark.parametrize("reverse", [0, 1])
def test_a_scan_equals_onnxruntime(rounds, reverse):
    check(scanning(reverse)(rounds), x=(rng.standard_normal((3, rounds)) * 0.1).astype(np.float32))


def test_frames_cut_by_a_scan_are_windows_of_the_signal():
    body = helper.make_graph(
        [node("Concat", "before piece", "frame", axis=-1), node("Slice", "frame hop end axis", "next")], "body",
        [value("before", FLOAT, [1, 6]), value("piece", FLOAT, [1, 4])], [value("next", FLOAT, [1, 6]), value("frame", FLOAT, [1, 10])],
    )  # fmt: skip
    scan = helper.make_node("Scan", ["start", "x"], ["last", "frames"], body=body, num_scan_inputs=1,
                            scan_input_axes=[1], scan_output_axes=[1])  # fmt: skip
    weights = {"hop": np.asarray([4]), "end": np.asarray([2**40]), "axis": np.asarray([1]),
               "start": np.arange(6, dtype=np.float32)[None]}  # fmt: skip
    made = model([scan], [value("x", FLOAT, [1, 300, 4])], [value("last"), value("frames")], weights)
    x = rng.standard_normal((1, 300, 4)).astype(np.float32)
    check(made, x=x)
    assert not any("strop" in op or op == "select" for op in ops_of(made, x))


def writing_rows(rows):
    """A loop that ends when data says so, and writes the row of its counter the way exporters do."""
    body = helper.make_graph(
        [
            node("Add", "i one", "next"),
            node("Shape", "table", "extents"),
            node("Gather", "extents zero", "most"),
            node("Min", "most next", "end"),
            node("Slice", "table i end zero one", "row"),
            node("Shape", "row", "shape"),
            node("MatMul", "state w", "fresh"),
            node("Expand", "fresh shape", "written"),
            node("Squeeze", "i", "first"), node("Squeeze", "end", "last"), node("Squeeze", "one", "step"),
            node("Range", "first last step", "places"),
            node("Reshape", "places column", "upright"),
            node("Expand", "upright shape", "where"),
            node("ScatterElements", "table where written", "after", axis=0),
            node("ReduceMax", "fresh", "top", keepdims=0),
            node("Less", "top limit", "on"),
        ],
        "body",
        [value("n", INT, []), value("going", BOOL, []), value("i", INT, [1]), value("table", FLOAT, [rows, 4]),
         value("state", FLOAT, [1, 4])],
        [value("on", BOOL, []), value("next", INT, [1]), value("after", FLOAT, [rows, 4]),
         value("fresh", FLOAT, [1, 4])],
    )  # fmt: skip
    nodes = [node("ReduceMax", "x", "t", keepdims=0), node("Less", "t limit", "go"),
             helper.make_node("Loop", ["", "go", "start", "zeros", "x"], ["i", "y", "z"], body=body)]  # fmt: skip
    weights = {"one": [1], "zero": [0], "column": [-1, 1], "start": [0], "zeros": np.zeros((rows, 4), np.float32),
               "limit": np.float32(100), "w": np.eye(4, dtype=np.float32) * np.float32(2)}  # fmt: skip
    return model(nodes, [value("x", FLOAT, [1, 4])], [value("y", FLOAT, None), value("z", FLOAT, None)], weights)


def test_rows_that_a_counter_chooses_are_written_by_one_program():
    made = writing_rows(9)
    part = check(made, x=np.array([[1, 2, 3, 0.5]], np.float32))
    assert not any("eager" in event.message for event in part.journal.events)


def test_a_counter_that_leaves_the_table_writes_nothing():
    check(writing_rows(3), x=np.array([[1, 2, 3, 0.5]], np.float32))


def test_a_counter_that_leaves_the_table_after_others_did_not_reads_nothing():
    nodes = [node("Add", "i one", "j"), node("Unsqueeze", "i axis", "start"), node("Unsqueeze", "j axis", "end"),
             node("Slice", "table start end axis", "row"), node("ReduceSum", "row axis", "y", keepdims=0)]  # fmt: skip
    made = model(nodes, [value("i", INT, []), value("table", FLOAT, [5, 3])], [value("y")],
                 {"one": np.asarray(1), "axis": np.asarray([0])})  # fmt: skip
    compiled = compile_onnx(made)
    compiled.__dict__["_binding"] = False  # as in the body of a loop
    table = rng.standard_normal((5, 3)).astype(np.float32)
    for i in (0, 1, 4, 7, 3, 9):
        got = compiled.run({"i": np.asarray(i), "table": table})["y"]
        np.testing.assert_allclose(got, table[i : i + 1].sum(0), rtol=1e-6)


def test_short_branches_are_both_computed_and_one_chosen():
    made = model([node("ReduceSum", "x", "total", keepdims=0), node("Greater", "total zero", "yes"),
                  helper.make_node("If", ["yes"], ["y"], **branches("Relu", "Neg"))],
                 [value("x", FLOAT, [40, 40])], [value("y", FLOAT, [40, 40])], {"zero": np.float32(0)})  # fmt: skip
    x = rng.standard_normal((40, 40)).astype(np.float32)
    check(made, x=np.abs(x))
    compiled = check(made, x=-np.abs(x))
    assert "where" in ops_of(made, x, deferring=True)
    assert not any(event.kind == "fallback" for event in compiled.journal.events)


def test_light_branches_with_weights_are_both_computed():
    dense = [node(*step) for k in range(6) for step in (("MatMul", f"h{k} w", f"m{k}"), ("Relu", f"m{k}", f"h{k + 1}"))]
    then = helper.make_graph([node("Identity", "x", "h0"), *dense], "then", [], [value("h6")])
    other = helper.make_graph([node("Neg", "x", "b")], "else", [], [value("b")])
    made = model([node("ReduceSum", "x", "total", keepdims=0), node("Greater", "total zero", "yes"),
                  helper.make_node("If", ["yes"], ["y"], then_branch=then, else_branch=other)],
                 [value("x", FLOAT, [4, 16])], [value("y", FLOAT, [4, 16])],
                 {"zero": np.float32(0), "w": rng.standard_normal((16, 16)).astype(np.float32) / 3})  # fmt: skip
    x = np.abs(rng.standard_normal((4, 16))).astype(np.float32)
    check(made, x=x)
    check(made, x=-x)
    assert "strop.onnx_branch.default" not in ops_of(made, x, deferring=True)
