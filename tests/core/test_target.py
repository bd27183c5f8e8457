import pytest

from strop.core.problem import Problem
from strop.core.target import TARGETS, Target


@pytest.mark.parametrize(
    ("cpu", "features", "bits", "registers"),
    [
        ("znver4", {"avx512f": True, "avx512vl": True, "avx2": True, "fma": True}, 512, 32),
        ("znver4", {"avx512f": False, "avx2": True, "fma": True}, 256, 16),
        ("something-new", "+avx512f,+avx512vl,+avx2,+fma", 512, 32),
        ("something-new", "+avx2,+fma,-avx512f", 256, 16),
        ("something-old", "+avx2,-fma,+sse2", 128, 16),
        ("neoverse-v2", {"neon": True, "sve": True}, 128, 32),
    ],
)
def test_features_decide_the_width_not_the_name(cpu, features, bits, registers):
    target = Target.from_features(cpu, features)
    assert (target.cpu, target.vector_bits, target.vector_registers) == (cpu, bits, registers)


def test_narrow_vectors_on_a_wide_core_keep_its_pipes():
    narrow = Target.from_features("znver4", "+avx2,+fma")
    assert narrow.fma_per_cycle == 2 and narrow.peak_gflops == TARGETS["znver4"].peak_gflops
    assert Target.from_features("skylake-avx512", "+avx2,+fma").fma_per_cycle == 2


def test_no_vector_unit_is_a_problem_with_a_next_step():
    with pytest.raises(Problem, match="STR402") as caught:
        Target.from_features("z80", {"bcd": True})
    assert "eager" in caught.value.help


def test_features_print_in_one_order():
    a = Target.from_features("x", {"fma": True, "avx2": True, "sse4a": False})
    b = Target.from_features("x", {"sse4a": False, "avx2": True, "fma": True})
    assert a.features == "+avx2,+fma,-sse4a" and a.key == b.key


def test_found_cache_sizes_go_before_the_description():
    target = Target.from_features("znver3", "+avx2,+fma", l2=2**21)
    assert (target.l1, target.l2) == (TARGETS["znver3"].l1, 2**21)


@pytest.mark.parametrize("name", TARGETS)
def test_descriptions_are_plausible(name):
    target = Target.find(name)
    assert target.l1 < target.l2 and target.lanes("f32") * 4 == target.vector_bytes
    assert target.lanes("f64") * 2 == target.lanes("f32")
    assert list(target.bandwidth) == sorted(target.bandwidth, reverse=True)
    assert 20 <= target.peak_gflops <= 300


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(Problem) as caught:
        Target.find("pentium")
    assert "znver3" in caught.value.help
