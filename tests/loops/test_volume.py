"""What a nest moves and computes, counted from its loops and accesses."""

from strop.loops.index import Var, index_of, indirect
from strop.loops.ir import Apply, Buffer, Const, Load, Loop, Nest, Store
from strop.loops.text import nest_text
from strop.loops.volume import flop, volume

M, N, K = Var("m", 4), Var("n", 6), Var("k", 8)
A = Buffer("a", "f32", (4, 8), "input")
B = Buffer("b", "f32", (8, 6), "param")
C = Buffer("c", "f32", (4, 6), "output")
ACC = Buffer("acc", "f32", (), "scratch")


def at(*parts):
    return tuple(index_of(part) for part in parts)


def matmul():
    product = Apply("mul", (Load(A, at(M, K)), Load(B, at(K, N))), "f32")
    inner = Nest((Loop(K, "reduce"),), (Store(ACC, (), product, "sum"),))
    body = (Store(ACC, (), Const(0.0, "f32")), inner, Store(C, at(M, N), Load(ACC, ())))
    return Nest((Loop(M), Loop(N)), body, (ACC,), "matmul")


def test_each_element_counts_once_and_scratch_not_at_all():
    assert volume(matmul()) == (4 * (4 * 8 + 8 * 6), 4 * 4 * 6)


def test_two_operations_per_multiply_add():
    assert flop(matmul()) == 2 * 4 * 6 * 8
    assert "0.00038 MFLOP" in nest_text(matmul())


def test_a_sum_is_no_contraction():
    total = Nest((Loop(K, "reduce"),), (Store(ACC, (), Load(A, (index_of(0), index_of(K))), "sum"),), (ACC,))
    assert flop(total) == 0 and "FLOP" not in nest_text(total)


def test_rows_looked_up_in_a_large_table_count_by_their_number():
    table = Buffer("table", "f32", (10_000, 6), "param")
    ids = Buffer("ids", "i64", (4,), "input")
    row = indirect(Load(ids, at(M)), 10_000)
    lookup = Nest((Loop(M), Loop(N)), (Store(C, at(M, N), Load(table, (row, index_of(N)))),))
    assert volume(lookup) == (4 * 4 * 6 + 8 * 4, 4 * 4 * 6)


def test_a_part_of_a_tensor_counts_as_that_part():
    edge = Nest((Loop(N),), (Store(C, (index_of(1), index_of(N)), Const(0.0, "f32")),))
    assert volume(edge) == (0, 4 * 6)
