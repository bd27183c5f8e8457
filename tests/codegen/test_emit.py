"""What generated code must hold to, whatever was compiled."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import strop
from codegen.random_graphs import random_graph
from strop.codegen.emit import emit
from strop.core.journal import Journal
from strop.core.options import Options
from strop.driver import pipeline
from strop.driver.artifact_format import to_bytes
from strop.frontend.torch.normalize import trace
from strop.graph import build as make
from strop.graph.ir import Graph
from strop.graph.operators import ACTIVATIONS, OTHER
from strop.loops.index import Var, index_of
from strop.loops.ir import Apply, Buffer, Guard, Load, Loop, Nest, Store
from strop.runtime.program import build
from strop.target.description import Target

CODE = Path(strop.__file__).parent / "codegen"
TESTS = Path(__file__).parents[1]
#: operators' names that are words of LLVM, of Python or of plain English as well
WORDS = frozenset((
    "input", "constant", "full", "where", "cast", "slice", "select", "index", "gather", "all", "any", "sum", "item",
    "expand", "pad", "var",
))  # fmt: skip
LENGTHS = (1, 2, 7, 16, 37, 64, 100)  # whole vectors of every width, and what is left over


def compiled(function, *examples, threads=1):
    program = build(
        trace(lambda *tensors: function(*tensors), *examples), Options(cache=False, check=True), Journal(), threads
    )
    assert not program.compiled.about.library, program.compiled.about.library
    return program


def same(function, *examples):
    """Bit for bit what eager computes, NaN where eager has NaN."""
    program = compiled(function, *examples)
    wanted = function(*examples)
    for got, expected in zip(program(examples), wanted if isinstance(wanted, tuple) else (wanted,)):
        torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True, check_stride=False)


# operators


@pytest.mark.parametrize("path", sorted(CODE.rglob("*.py")), ids=lambda path: path.name)
def test_code_generation_knows_no_operator_by_name(path):
    names = set(OTHER) - WORDS
    if path.parent.name != "math":
        names |= set(ACTIVATIONS)
    text = path.read_text()
    found = sorted(name for name in names if re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", text))
    assert not found, f"{path.name} names {', '.join(found)}"


# determinism

_DIGESTS = """
import hashlib, sys
from codegen.random_graphs import random_graph
from codegen.test_golden_nests import PROGRAMS
from strop.core.options import Options
from strop.core.journal import Journal
from strop.driver.artifact_format import to_bytes
from strop.driver.pipeline import compile_graph
graphs = [make() for make in PROGRAMS] + [random_graph(seed, 12) for seed in range(20)]
for graph in graphs:
    made = compile_graph(graph, Options(cache=False), Journal(), 2)
    print(hashlib.sha256(to_bytes(made)).hexdigest())
"""


def test_two_processes_make_the_same_bytes():
    said = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(TESTS)}
        done = subprocess.run(
            [sys.executable, "-c", _DIGESTS], env=environment, capture_output=True, text=True, check=True
        )
        said.append(done.stdout.split())
    assert len(said[0]) == 26
    assert said[0] == said[1]


def test_same_graph_twice_in_one_process_makes_the_same_bytes():
    graph = random_graph(7, 12)
    first, second = (pipeline.compile_graph(graph, Options(cache=False), Journal(), 1) for _ in range(2))
    assert to_bytes(first) == to_bytes(second)


# memory


@pytest.mark.skipif(sys.platform != "linux", reason="needs mprotect")
def test_nothing_outside_a_tensor_is_touched():
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-W", "ignore", "-m", "codegen.guarded", "0", "60"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.endswith("done\n"), f"{done.stdout[-100:]}\n{done.stderr[-2000:]}"


# indices out of range


def _embedding(weight, index):
    return F.embedding(index, weight) * 2


def _index(x, index):
    return x[:, index] + 1


def _gather(x, index):
    return torch.gather(x, 1, index.expand(x.shape[0], -1))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("function", [_embedding, _index, _gather])
@pytest.mark.parametrize("place", [0, 3, 18])
def test_index_out_of_range_raises_and_the_program_lives_on(function, place, threads):
    x, good = torch.randn(9, 9), torch.arange(19) % 9
    program = compiled(function, x, good, threads=threads)
    for wrong in (9, -10, 2**40):
        bad = good.clone()
        bad[place] = wrong
        with pytest.raises(IndexError):
            program((x, bad))
        torch.testing.assert_close(program((x, good))[0], function(x, good))


def test_negative_indices_count_from_the_end():
    x, index = torch.randn(4, 9), torch.tensor([-1, -9, 3, 0])
    same(_index, x, index)


def test_index_into_nothing_raises():
    program = compiled(_embedding, torch.randn(0, 3), torch.zeros(5, dtype=torch.int64))
    with pytest.raises(IndexError):
        program((torch.randn(0, 3), torch.zeros(5, dtype=torch.int64)))


def test_no_indices_into_nothing_are_fine():
    same(_embedding, torch.randn(0, 3), torch.zeros(0, dtype=torch.int64))


# NaN and infinity


def _special(length: int) -> torch.Tensor:
    values = torch.tensor([float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.5, -2.5, 3e38, -3e38, 1e-40])
    return values.repeat(-(-length // len(values)))[:length]


@pytest.mark.parametrize(
    "function",
    [
        torch.relu, torch.abs, torch.neg, torch.floor, torch.isnan, torch.isinf, F.relu6, F.leaky_relu,
        lambda x: torch.clamp(x, -1.0, 1.0), lambda x: torch.clamp(x, min=0.5), lambda x: torch.maximum(x, x.flip(0)),
        lambda x: torch.minimum(x, x.flip(0)), lambda x: torch.where(x > 0, x, -x), lambda x: x + x.flip(0),
        lambda x: x * 0, lambda x: x.amax(), lambda x: x.amin(), lambda x: x.argmax(), lambda x: x.argmin(), lambda x: x.sum(),
        lambda x: x > 0, lambda x: x != x, lambda x: 1 / x,
    ],
)  # fmt: skip
def test_special_values_go_through(function):
    examples = [_special(length).to(dtype) for length in LENGTHS for dtype in (torch.float32, torch.float64)]
    same(lambda *tensors: tuple(map(function, tensors)), *examples)


@pytest.mark.parametrize(
    "function",
    [
        torch.exp, torch.sigmoid, torch.tanh, torch.erf, torch.log, torch.sqrt, torch.rsqrt, torch.sin, torch.expm1,
        torch.log1p, F.softplus, F.gelu, F.silu, F.elu, F.mish, F.hardswish,
    ],
)  # fmt: skip
def test_functions_at_special_values(function):
    """Against eager in twice the precision: its vectorised kernels differ from its scalar ones at infinity."""
    x = _special(37)
    wanted = function(x.double()).float()
    torch.testing.assert_close(compiled(function, x)((x,))[0], wanted, equal_nan=True)


def test_functions_that_end_do_so_exactly():
    x = torch.tensor([4.0, 5.0, 9.0, 30.0, 100.0, 3e38, float("inf")]).repeat(3)
    program = compiled(lambda x: (torch.erf(x), torch.tanh(x * 3), torch.sigmoid(x * 30), torch.erf(-x)), x)
    for got, wanted in zip(program((x,)), (1, 1, 1, -1)):
        assert (got == wanted).all()


@pytest.mark.parametrize("padding", [0, 1])
def test_max_pool_lets_nan_win(padding):
    x = torch.randn(2, 20, 9, 9)
    x[0, 3, 4, 4] = float("nan")
    x[1, 17] = float("-inf")
    same(lambda x: F.max_pool2d(x, 3, 2, padding), x)


def test_sums_meet_infinities():
    x = torch.randn(5, 40)
    x[0, 3], x[1, 5], x[1, 7], x[2, 39] = float("inf"), float("inf"), float("-inf"), float("nan")
    program = compiled(lambda x: (x.sum(1), torch.softmax(x, 1), x.mean(0)), x)
    for got, wanted in zip(program((x,)), (x.sum(1), torch.softmax(x, 1), x.mean(0))):
        torch.testing.assert_close(got, wanted, equal_nan=True)


def test_softmax_of_a_row_that_is_minus_infinity():
    x = torch.full((3, 17), float("-inf"))
    x[0, 4] = 1.0
    torch.testing.assert_close(compiled(lambda x: torch.softmax(x, 1), x)((x,))[0], torch.softmax(x, 1), equal_nan=True)


# arithmetic


@pytest.mark.parametrize("shape", [(3, 0, 5), (1, 0, 1), (17, 0, 33)])
def test_product_over_nothing_is_zero(shape):
    rows, inner, columns = shape
    bias = torch.randn(columns)
    same(lambda a, b, c: a @ b + c, torch.randn(rows, inner), torch.randn(inner, columns), bias)
    same(lambda a, w, c: F.linear(a, w, c), torch.randn(rows, inner), torch.randn(columns, inner), bias)


@pytest.mark.parametrize(
    "function", [torch.sum, torch.prod, lambda x: x.sum(1), lambda x: x.any(1), lambda x: x.all(1)]
)
def test_reduction_over_nothing_is_neutral(function):
    same(function, torch.zeros(3, 0))


@pytest.mark.parametrize(
    ("function", "exact"),
    [
        (lambda a, b, c: a + b * c, lambda a, b, c: a + b * c),
        (lambda a, b, c: a - b * c, lambda a, b, c: a - b * c),
        (lambda a, b, c: b * c - a, lambda a, b, c: b * c - a),
        (lambda a, b, c: b * c + a, lambda a, b, c: b * c + a),
    ],
)
def test_product_and_sum_round_once(function, exact):
    small = 2.0**-12
    a = torch.tensor([-1.0, 1.0 + 2 * small, 2.0]).repeat(9)
    b, c = torch.full((27,), 1 + small), torch.full((27,), 1 + small)
    (got,) = compiled(function, a, b, c)((a, b, c))
    assert torch.equal(got, exact(a.double(), b.double(), c.double()).float())


@pytest.mark.parametrize("source", [torch.float32, torch.float64])
@pytest.mark.parametrize("target", [torch.int32, torch.int64, torch.bool])
def test_conversion_of_any_float_gives_some_number(source, target):
    """What does not fit is undefined in eager; here it must not undo what stands beside it."""
    x = _special(37).to(source)
    fits = x.abs() < 100
    (got,) = compiled(lambda x: x.to(target), x)((x,))
    assert torch.equal(got[fits], x[fits].to(target))


# shapes and programs that once went wrong


def _natively(module, *inputs):
    with torch.no_grad():
        torch.testing.assert_close(strop.compile(module, inputs)(*inputs), module(*inputs))


class _Derived(torch.nn.Module):
    """Computes with a parameter before it meets an input."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(40, 8, 16))

    def forward(self, x):
        return x @ self.weight.amax(-1).t() + torch.log_softmax(self.weight @ self.weight.mT, 1).sum()


def test_parameters_that_are_computed_with_first():
    _natively(_Derived(), torch.randn(5, 8))


def test_convolution_of_nothing_is_the_bias():
    """Eager refuses it; the operator set does not."""
    x, w, b = (make.input(i, "f32", shape) for i, shape in enumerate([(2, 4, 0), (6, 4, 2), (6,)]))
    y = make.conv(make.relu(x), w, b, padding=2)
    inputs = [torch.zeros(x.shape), torch.randn(w.shape), torch.randn(b.shape)]
    (got,) = build(Graph((x, w, b), (), (y,)), Options(cache=False, check=True), Journal(), 1)(inputs)
    assert torch.equal(got, inputs[2].view(1, 6, 1).expand(2, 6, 3))


def test_convolution_along_a_diagonal_stays_inside():
    x, w = torch.randn(1, 2, 10, 8), torch.randn(10, 2, 1)
    program = compiled(lambda x, w: F.conv1d((x * 2).diagonal(0, 3, 1), w, padding=2, stride=2, groups=5), x, w)
    torch.testing.assert_close(
        program((x, w))[0], F.conv1d((x * 2).diagonal(0, 3, 1), w, padding=2, stride=2, groups=5)
    )


def test_data_dependent_index_through_a_reshape():
    x, index = torch.randn(5, 5, 5), torch.arange(0, 125, 6).reshape(3, 7)
    same(lambda x, index: x.permute(2, 0, 1).reshape(125)[index + 0], x, index)


def test_value_after_softmax_is_used_twice():
    x, mask = torch.randn(4, 3, 6), torch.rand(4, 3, 1) > 0.5
    program = compiled(lambda x, mask: torch.where(mask, 0.0, torch.softmax(x, -1)), x, mask)
    torch.testing.assert_close(program((x, mask))[0], torch.where(mask, 0.0, torch.softmax(x, -1)))


def test_a_guard_that_fails_within_a_vector_masks_it():
    """100 elements by four vectors of 16: the last two rows of blocks end in the third vector."""
    i, e = Loop(Var("i", 2)), Loop(Var("e", 64), mode="vector")
    place = index_of(i.var) * 64 + index_of(e.var)
    x, y = Buffer("x", "f32", (128,), "input"), Buffer("y", "f32", (100,), "output")
    kept = Store(y, (place,), Load(x, (place,)), guards=(Guard(place, 100),))
    text = emit(Nest((i, e), (kept,), (), "kept"), "kept", Target.find("znver4")).text
    assert len(re.findall(r"call void @llvm.masked.store", text)) == 2
    assert len(re.findall(r"store <16 x float>", text)) == 2


def test_a_guard_that_all_lanes_share_needs_no_mask():
    i, e = Loop(Var("i", 8)), Loop(Var("e", 8), mode="vector")
    place = (index_of(i.var), index_of(e.var))
    x, y = Buffer("x", "f32", (8, 8), "input"), Buffer("y", "f32", (7, 8), "output")
    kept = Store(y, place, Load(x, place), guards=(Guard(place[0], 7),))
    text = emit(Nest((i, e), (kept,), (), "kept"), "kept", Target.find("znver3")).text
    assert "masked.store" not in text
    assert len(re.findall(r"select i1 .*, ptr %nowhere", text)) == 1


def test_a_maximum_in_memory_is_stored_without_a_mask():
    """x86 makes a masked store of `select(c, new, load p)` to p, which takes Zen 3 a dozen cycles."""
    best, x, i, j = Buffer("best", "f32", (8, 64)), Buffer("x", "f32", (30, 8, 64)), Var("i", 8), Var("j", 64)
    k = Var("k", 30)
    value = Load(x, (index_of(k), index_of(i), index_of(j)))
    store = Store(best, (index_of(i), index_of(j)), value, "max")
    loops = (Loop(k, "reduce"), Loop(i), Loop(j, mode="vector"))
    assembly = pipeline.assembly(Nest(loops, (store,), (), "k"), Target.find("znver3"))
    assert "vmaxps" in assembly
    assert "maskmov" not in assembly


@pytest.mark.parametrize(
    ("target", "wanted", "unwanted"),
    [("x86-64", "mulps", "fma"), ("znver3", "vfmadd", "vmulps"), ("znver4", "vfmadd", "vmulps")],
)
def test_sums_of_products_call_no_function_where_nothing_is_fused(target, wanted, unwanted):
    total, x, y = Buffer("total", "f32", (64,)), Buffer("x", "f32", (30,)), Buffer("y", "f32", (30, 64))
    j, k = Var("j", 64), Var("k", 30)
    product = Apply("mul", (Load(x, (index_of(k),)), Load(y, (index_of(k), index_of(j)))), "f32")
    loops = (Loop(k, "reduce"), Loop(j, mode="vector"))
    store = Store(total, (index_of(j),), product, "sum")
    assembly = pipeline.assembly(Nest(loops, (store,), (), "k"), Target.find(target))
    assert wanted in assembly
    assert unwanted not in assembly


def test_lanes_past_the_end_of_scratch_are_zeros():
    """What nothing has written may be denormal, which takes cores of Intel a hundred cycles an operation."""
    row, x, y = (
        Buffer("row", "f32", (4, 8), "scratch"),
        Buffer("x", "f32", (4, 5)),
        Buffer("y", "f32", (4, 5), "output"),
    )
    (i, k), (m, n) = (Var("i", 4), Var("k", 5)), (Var("m", 4), Var("n", 5))
    fill = Store(row, (index_of(i), index_of(k)), Load(x, (index_of(i), index_of(k))))
    read = Store(y, (index_of(m), index_of(n)), Load(row, (index_of(m), index_of(n))))
    parts = (Nest((Loop(i), Loop(k, mode="vector")), (fill,)), Nest((Loop(m), Loop(n, mode="vector")), (read,)))
    text = emit(Nest((), parts, (row,), "tail"), "tail", Target.find("znver4")).text
    lanes = ", ".join(["i1 true"] * 5 + ["i1 false"] * 3)
    assert f"select <8 x i1> <{lanes}>" in text


def test_keys_and_values_of_one_projection_are_copied_apart():
    """Rows of a head are far apart there; both copies have the same shape."""

    def function(x):
        q, k, v = x.reshape(2, 64, 3, 6, 64).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v)

    x = torch.randn(2, 64, 3 * 6 * 64)
    torch.testing.assert_close(compiled(function, x)((x,))[0], function(x), rtol=1e-5, atol=1e-5)
