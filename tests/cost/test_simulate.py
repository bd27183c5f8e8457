"""The simulated core, by instructions whose pace is known: the units, who waits for whom, and what is in flight."""

from __future__ import annotations

import pytest

from strop.cost.instructions import aarch64, x86
from strop.cost.simulate import fetches, pace, passes, slots
from strop.target.description import TARGETS

ZEN3, ZEN4, SKYLAKE, N1 = (
    TARGETS["znver3"].ports,
    TARGETS["znver4"].ports,
    TARGETS["skylake-avx512"].ports,
    TARGETS["neoverse-n1"].ports,
)


def code(*lines: str, read=x86):
    made = [read(line) for line in lines]
    assert all(one is not None for one in made)
    return made


def fma(register: int, kind: str = "y") -> str:
    return f"vfmadd231ps\t%{kind}mm14, %{kind}mm15, %{kind}mm{register}"


# golden: what one instruction occupies


@pytest.mark.parametrize(("line", "ports", "wanted"), [
    ("vfmadd231ps\t%ymm1, %ymm2, %ymm3", ZEN4, [("fma", "01", 1.0)]),
    ("vfmadd231ps\t%zmm1, %zmm2, %zmm3", ZEN4, [("fma", "01", 2.0)]),
    ("vfmadd231ps\t%zmm1, %zmm2, %zmm3", SKYLAKE, [("fma", "05", 1.0)]),
    ("vfmadd231ps\t8(%rdi), %ymm2, %ymm3", ZEN4, [("fma", "01", 1.0), ("load", "LM", 1.0)]),
    ("vfmadd231ps\t8(%rdi){1to16}, %zmm2, %zmm3", ZEN4, [("fma", "01", 2.0), ("load", "LM", 1.0)]),
    ("vbroadcastss\t8(%rdi), %zmm3", ZEN4, [("load", "LM", 2.0)]),
    ("vaddps\t%ymm1, %ymm2, %ymm3", ZEN4, [("add", "23", 1.0)]),
    ("vmovups\t(%rdi,%rcx,4), %zmm0", ZEN4, [("load", "LM", 2.0)]),
    ("vmovups\t%ymm0, (%rdi,%rcx,4)", ZEN4, [("store", "S", 1.0)]),
    ("vbroadcastss\t(%rsi), %ymm3", ZEN4, [("load", "LM", 1.0)]),
    ("vinsertps\t$16, 4(%rsi), %xmm1, %xmm1", ZEN4, [("shuffle", "123", 1.0), ("load", "LM", 1.0)]),
    ("vdivps\t%ymm1, %ymm2, %ymm3", ZEN4, [("div", "1", 3.0)]),
    ("vmovaps\t%ymm1, %ymm2", ZEN4, []),
    ("vxorps\t%xmm0, %xmm0, %xmm0", ZEN4, []),
    ("addq\t$8, %rax", ZEN4, [("int", "abcd", 1.0)]),
])  # fmt: skip
def test_what_an_instruction_occupies(line, ports, wanted):
    assert list(passes(x86(line), ports)) == wanted


def test_a_comparison_and_its_branch_enter_as_one():
    compare, branch = code("cmpq\t$256, %rcx", "jne\t.LBB0_2")
    assert slots(compare, ZEN4) + slots(branch, ZEN4) == 1


def test_arm_instructions_occupy_their_pipes():
    (product,) = code("fmla\tv0.4s, v2.4s, v3.4s", read=aarch64)
    assert list(passes(product, N1)) == [("fma", "vw", 1.0)]


# pace: cycles of an iteration among many


def test_independent_products_fill_both_units():
    assert pace(code(*(fma(i) for i in range(12))), ZEN3).cycles == pytest.approx(6, abs=0.1)


def test_too_few_accumulators_wait_for_their_own_results():
    found = pace(code(fma(0), fma(1)), ZEN3)
    assert found.chain == pytest.approx(4)
    assert found.cycles == pytest.approx(4, abs=0.1)


def test_wide_vectors_take_two_passes_where_pipes_are_narrow():
    wide = code(*(fma(i, "z") for i in range(12)))
    assert pace(wide, ZEN4).cycles == pytest.approx(12, abs=0.2)
    assert pace(wide, SKYLAKE).cycles == pytest.approx(6, abs=0.2)


def test_loads_are_held_by_their_own_ports():
    loads = [f"vmovups\t{32 * i}(%rdi), %ymm{i}" for i in range(12)]
    assert pace(code(*loads), ZEN3).cycles == pytest.approx(6, abs=0.1)


def test_stores_leave_one_at_a_time():
    stores = [f"vmovups\t%ymm{i}, {32 * i}(%rdi)" for i in range(12)]
    assert pace(code(*stores), ZEN3).cycles == pytest.approx(12, abs=0.2)


def test_the_front_end_holds_what_nothing_else_does():
    moves = [f"vmovaps\t%ymm0, %ymm{i + 1}" for i in range(12)]
    assert pace(code(*moves), ZEN3).cycles == pytest.approx(12 / ZEN3.width, abs=0.2)


def test_a_spilled_accumulator_goes_through_memory():
    lines = ["vmovups\t(%rsp), %ymm0", fma(0), "vmovups\t%ymm0, (%rsp)"]
    wanted = ZEN3.forward + ZEN3.uses["fma"].latency
    assert pace(code(*lines), ZEN3).cycles == pytest.approx(wanted, abs=0.5)


def test_chains_that_begin_anew_overlap_within_the_window():
    """Each sum of six starts from zero: alone it takes 24 cycles, among others far less."""
    sums = ["vxorps\t%xmm0, %xmm0, %xmm0", *[fma(0)] * 6]
    assert pace(code(*sums), ZEN3).cycles == pytest.approx(3, abs=1.0)


def test_a_small_window_overlaps_less():
    from dataclasses import replace

    sums = code("vxorps\t%xmm0, %xmm0, %xmm0", *[fma(0)] * 12)
    assert pace(sums, replace(ZEN3, window=16)).cycles > 2 * pace(sums, ZEN3).cycles


def test_taken_branches_cost_the_front_end():
    from dataclasses import replace

    (branch,) = code("jne\t.LBB0_2")
    assert fetches(replace(branch, back=True), ZEN4) > fetches(branch, ZEN4)


def test_nothing_takes_no_time():
    assert pace([], ZEN4).cycles == 0
