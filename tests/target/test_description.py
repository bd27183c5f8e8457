import pytest

from strop.core.problem import Problem
from strop.target.description import LINUX_X86, TARGETS, Target


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


def test_a_machine_that_calls_itself_after_another_cpu_is_known_by_its_features():
    amx = dict.fromkeys((*TARGETS["sapphirerapids"].provides, "amx-tile", "amx-bf16", "amx-int8"), True)
    found = Target.from_features("rocketlake", amx, triple=LINUX_X86, l3=480 * 2**20)
    assert (found.name, found.fma_per_cycle, found.l3) == ("sapphirerapids", 2, 480 * 2**20)
    assert found.ports == TARGETS["sapphirerapids"].ports
    assert Target.from_features("rocketlake", {**amx, "amx-fp16": True}).name == "graniterapids"
    assert Target.from_features("emeraldrapids", amx).name == "emeraldrapids"  # a described name is believed
    without = {name: name[:3] != "amx" for name in amx}
    assert Target.from_features("rocketlake", without).name == "rocketlake"


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
    assert 10 <= target.peak_gflops <= 300


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(Problem) as caught:
        Target.find("pentium")
    assert "znver3" in caught.value.help


AVX2, AVX512 = (",".join(f"+{name}" for name in TARGETS[cpu].provides) for cpu in ("znver3", "znver4"))


@pytest.mark.parametrize(
    ("target", "host", "runs"),
    [
        ("haswell", AVX2, True),
        ("haswell", AVX512, True),
        ("x86-64", AVX2, True),
        ("znver4", AVX2, False),
        ("znver4", AVX512, True),
        ("haswell", "+sse2", False),
        ("znver4", AVX512.replace("+avx512vbmi,", ""), False),  # LLVM shuffles bytes with it
        ("neoverse-n1", AVX512, False),
    ],
)
def test_instructions_decide_what_runs(target, host, runs):
    assert Target.find(target).runs_on(Target.from_features("here", host, triple=LINUX_X86)) is runs


def test_an_emulated_machine_keeps_its_plan_and_takes_the_instructions_of_the_host():
    host, znver4 = Target.from_features("znver3", AVX2), Target.find("znver4")
    emulated = znver4.emulated_on(host)
    assert emulated.runs_on(host) and not znver4.runs_on(host)
    assert (emulated.vector_bits, emulated.vector_registers, emulated.ports) == (512, 32, znver4.ports)
    assert znver4.has_masks and znver4.byte_products == "vnni"
    assert not emulated.has_masks and not emulated.byte_products
    assert emulated.key != host.key


def test_a_host_that_hides_avx512_has_no_masks():
    assert not Target.from_features("znver4", AVX2 + ",-avx512f,-avx512vl").has_masks
    assert Target.from_features("znver4", AVX512).has_masks
    assert not Target.find("neoverse-v2").has_masks


def test_code_for_a_core_of_amd_runs_on_one_of_intel_that_has_its_vectors():
    intel = Target.from_features(
        "sapphirerapids", "+" + ",+".join(TARGETS["sapphirerapids"].provides), triple=LINUX_X86
    )
    assert all(TARGETS[f"znver{n}"].runs_on(intel) for n in (2, 3, 4))
    assert all(TARGETS[name].code_features.endswith("-sse4a") for name in ("znver3", "znver5"))
    assert TARGETS["neoverse-n1"].code_features == TARGETS["neoverse-n1"].features
