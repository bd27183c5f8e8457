"""The walk from graph to steps: views that move nothing, library calls, and outputs in buffers of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from loops.interpret import run
from strop.graph.ir import Graph, Node, Type
from strop.loops.ir import Nest
from strop.loops.lower.graph import lower
from strop.loops.lowered import LibraryCall, Lowered

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def source(name: str, dtype: str = "f32", shape: tuple[int, ...] = (3, 4), op: str = "input") -> Node:
    return Node(op, (), {"index": 0} if op == "input" else {"key": name}, (Type(dtype, shape),), name)


def node(op: str, *inputs: Node, shape: tuple[int, ...], dtype: str = "f32", name: str = "", **attrs: Any) -> Node:
    return Node(op, inputs, attrs, (Type(dtype, shape),), name or op)


def lowered(*outputs: Node, inputs: tuple[Node, ...] = (), **more: Any) -> Lowered:
    return lower(Graph(inputs, (), outputs, **more))


def values(program: Lowered, **arrays: np.ndarray) -> list[np.ndarray]:
    memory = dict(arrays)
    memory.update((b.name, np.array(v).reshape(b.shape)) for b, v in program.constants.items())
    assert not program.library
    run([step for step in program.nests if isinstance(step, Nest)], memory)
    return [memory[buffer.name] for buffer in program.outputs]


x = source("x")


def test_views_compose_and_move_nothing():
    turned = node("permute", x, shape=(4, 3), dims=(1, 0))
    part = node("slice", turned, shape=(2, 3), dim=0, start=1, step=2)
    flat = node("reshape", part, shape=(6,))
    program = lowered(node("neg", flat, shape=(6,)), inputs=(x,))
    (nest,) = program.nests
    assert nest.reads == program.inputs
    np.testing.assert_array_equal(values(program, x=X)[0], -X.T[1::2].reshape(6))


def test_a_result_is_written_straight_into_the_callers_memory():
    program = lowered(node("neg", x, shape=(3, 4)), inputs=(x,))
    assert [b.space for b in program.outputs] == ["output"]
    assert len(program.nests) == 1


def test_views_inputs_and_repeats_are_copied_into_outputs_of_their_own():
    turned = node("permute", x, shape=(4, 3), dims=(1, 0))
    y = node("neg", x, shape=(3, 4))
    program = lowered(turned, x, y, y, x, inputs=(x,))
    assert len({b.name for b in program.outputs}) == 5
    assert {b.space for b in program.outputs} == {"output"}
    for got, want in zip(values(program, x=X), (X.T, X, -X, -X, X), strict=True):
        np.testing.assert_array_equal(got, want)


def test_mutations_follow_the_outputs():
    more = node("add", x, x, shape=(3, 4))
    program = lowered(more, inputs=(x,), mutations=((x, more),))
    first, second = values(program, x=X)
    np.testing.assert_array_equal(first, 2 * X)
    np.testing.assert_array_equal(second, 2 * X)
    assert program.outputs[0] != program.outputs[1]


def test_sources_are_expressions_not_buffers():
    one = node("full", shape=(3, 4), value=1.0)
    steps = node("expand", node("arange", shape=(4,), start=0.5, step=2.0), shape=(3, 4))
    half = node("constant", shape=(1,), values=(0.5,))
    program = lowered(node("mul", node("add", one, steps, shape=(3, 4)), half, shape=(3, 4)), inputs=())
    assert not program.constants
    np.testing.assert_array_equal(values(program)[0], np.tile((1.5 + 2 * np.arange(4)) / 2, (3, 1)))
    assert all(not step.reads or step.reads[0].name == "add" for step in program.nests if isinstance(step, Nest))


def test_constants_are_shipped_as_data():
    table = node("constant", shape=(2, 2), dtype="i64", values=((1, 2), (3, 4)))
    program = lowered(node("neg", table, shape=(2, 2), dtype="i64"))
    ((buffer, elements),) = program.constants.items()
    assert (buffer.space, elements) == ("const", (1, 2, 3, 4))
    np.testing.assert_array_equal(values(program)[0], [[-1, -2], [-3, -4]])


def test_a_library_call_gets_buffers_and_says_why():
    turned = node("permute", x, shape=(4, 3), dims=(1, 0))
    types = (Type("f32", (4, 3)), Type("i64", (4, 3)))
    call = Node("aten", (turned, x), {"target": "aten.sort.default"}, types, "sorted")
    picked = node("item", call, shape=(4, 3), name="values", index=0)
    program = lowered(node("neg", picked, shape=(4, 3)), inputs=(x,))
    copy, library, after = program.nests
    assert isinstance(copy, Nest)
    assert isinstance(library, LibraryCall)
    assert isinstance(after, Nest)
    assert library.inputs == (copy.writes[0], program.inputs[0])
    assert [b.name for b in library.outputs] == ["sorted.0", "sorted.1"]
    assert after.reads == library.outputs[:1]
    assert library.why
    assert library.target == "aten.sort.default"


def test_a_view_is_materialised_once_for_many_calls():
    turned = node("permute", x, shape=(4, 3), dims=(1, 0))
    calls = [node("aten", turned, shape=(4, 3), name=f"call{i}", target="aten.frac.default") for i in range(2)]
    program = lowered(*calls, inputs=(x,))
    assert sum(isinstance(step, Nest) for step in program.nests) == 1


def test_an_item_of_a_library_call_can_be_an_output():
    call = Node("aten", (x,), {"target": "aten.aminmax.default"}, (Type("f32", ()), Type("f32", ())), "both")
    first, second = (node("item", call, shape=(), name=f"m{i}", index=i) for i in range(2))
    program = lowered(second, inputs=(x,))
    assert program.outputs == (program.library[0].outputs[1],)
    assert [b.space for b in program.library[0].outputs] == ["arena", "output"]
    again = lowered(first, first, inputs=(x,))
    assert len(set(again.outputs)) == 2


def test_other_dtypes_flow_through_library_calls_alone():
    half = source("half", "f16")
    turned = node("permute", half, shape=(4, 3), dtype="f16", dims=(1, 0))
    program = lowered(turned, half, node("cast", turned, shape=(4, 3)), inputs=(half,))
    assert [step.node.op for step in program.library] == ["permute", "cast", "reshape"]
    assert len(program.library) == len(program.nests)
    assert all("f16" in step.why for step in program.library)


def test_an_operator_without_a_lowering_keeps_its_node():
    odd = node("no_such_operator", x, shape=(3, 4))
    (step,) = lowered(odd, inputs=(x,)).nests
    assert isinstance(step, LibraryCall)
    assert step.node is odd
    assert "no_such_operator" in step.why


def test_nothing_is_done_for_empty_tensors():
    empty = source("empty", shape=(0, 4))
    total = node("sum", empty, shape=(4,), dims=(0,), keepdim=False)
    program = lowered(node("neg", empty, shape=(0, 4)), total, empty, inputs=(empty,))
    assert len(program.nests) == 1
    assert [b.size for b in program.outputs] == [0, 4, 0]
    memory = run([s for s in program.nests if isinstance(s, Nest)], {"empty": np.zeros((0, 4), np.float32)})
    np.testing.assert_array_equal(memory[program.outputs[1].name], np.zeros(4))


def test_names_are_unique_and_stable():
    twice = node("neg", node("neg", x, shape=(3, 4), name="y"), shape=(3, 4), name="y")
    both = node("cat", twice, x, shape=(6, 4), name="y", dim=0)
    program = lowered(both, inputs=(x,))
    names = [step.name for step in program.nests]
    assert len(set(names)) == len(names)
    buffers = [b.name for b in program.buffers.values()]
    assert len(set(buffers)) == len(buffers)
    assert str(lowered(both, inputs=(x,))) == str(program)
    np.testing.assert_array_equal(values(program, x=X)[0], np.concatenate([X, X]))


def shuffled_convolution(groups: int) -> tuple[Lowered, np.ndarray, np.ndarray, np.ndarray]:
    """A 1×1 convolution in groups of channels that were shuffled before, and what it is to give."""
    images = source("images", shape=(2, 6, 3, 3))
    weight = source("weight", shape=(6, 6 // groups, 1, 1), op="param")
    apart = node("reshape", images, shape=(2, 2, 3, 3, 3), name="apart")
    turned = node("permute", apart, shape=(2, 3, 2, 3, 3), dims=(0, 2, 1, 3, 4))
    shuffled = node("reshape", turned, shape=(2, 6, 3, 3), name="shuffled")
    edges, kernel = ((0, 0), (0, 0)), (1, 1)
    conv = node(
        "conv", shuffled, weight, shape=(2, 6, 3, 3), groups=groups, stride=kernel, dilation=kernel, padding=edges,
        transposed=False, output_padding=(0, 0), kernel=kernel,
    )  # fmt: skip
    program = lower(Graph((images,), (weight,), (conv,)))
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 6, 3, 3)).astype(np.float32)
    w = random.standard_normal(weight.shape).astype(np.float32)
    seen = x.reshape(2, 2, 3, 3, 3).swapaxes(1, 2).reshape(2, groups, 6 // groups, 3, 3)
    wanted = np.einsum("ngihw,goi->ngohw", seen, w.reshape(groups, 6 // groups, 6 // groups)).reshape(x.shape)
    return program, x, w, wanted


def test_channels_that_a_view_shuffles_are_copied_for_a_convolution_in_groups():
    program, x, w, wanted = shuffled_convolution(groups=2)
    copy, conv = program.nests
    assert isinstance(copy, Nest) and isinstance(conv, Nest) and copy.writes[0] in conv.reads
    np.testing.assert_allclose(values(program, images=x, weight=w)[0], wanted, rtol=1e-5, atol=1e-5)


def test_channels_that_a_view_shuffles_are_read_in_place_where_there_are_no_groups():
    for groups in (1, 6):
        program, x, w, wanted = shuffled_convolution(groups)
        assert len(program.nests) == 1
        np.testing.assert_allclose(values(program, images=x, weight=w)[0], wanted, rtol=1e-5, atol=1e-5)
