"""Files of CPUs: every shipped one is whole, a user's may be like another one, and a mistake names its line."""

from __future__ import annotations

import pytest

from strop.core.problem import Problem
from strop.target.cpu_file import PLACES, read_cpu
from strop.target.description import TARGETS, Descriptions, Target

ASKED = (
    "znver2", "znver3", "znver4", "znver5", "haswell", "skylake-avx512", "icelake-server", "sapphirerapids", "x86-64",
    "x86-64-v2", "x86-64-v3", "x86-64-v4", "neoverse-n1", "neoverse-v1", "neoverse-v2", "apple-m1", "apple-m2", "apple-m3",
    "cortex-a72", "cortex-a76", "aarch64",
)  # fmt: skip


def shipped(name):
    assert isinstance(TARGETS, Descriptions)
    return TARGETS.file(name)


@pytest.mark.parametrize("name", ASKED)
def test_every_shipped_file_names_its_sources_and_all_numbers(name):
    text = shipped(name).read_text(encoding="utf-8")
    target = TARGETS[name]
    assert "sources = [" in text and target.core is not None and target.provides
    for table in ("[vectors]", "[memory]", "[chip]", "[core]", "[core.uses]"):
        assert table in text


@pytest.mark.parametrize(
    "name, like",
    [("cascadelake", "skylake-avx512"), ("emeraldrapids", "sapphirerapids"), ("graniterapids", "sapphirerapids")],
)
def test_a_machine_whose_cores_are_those_of_another_is_described_and_not_generic(name, like):
    features = "+" + ",+".join(TARGETS[name].provides)
    found = Target.from_features(name, features, triple=TARGETS[name].triple)
    assert found.cpu == name and found.fma_per_cycle == TARGETS[like].fma_per_cycle
    assert found.ports.uses == TARGETS[like].ports.uses and found.ports.wide == TARGETS[like].ports.wide
    assert found.has("avx512vnni") and found.byte_products == "vnni"


def test_a_users_file_may_be_like_a_shipped_one(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        'like = "znver3"\n[memory]\nl2 = { size = "2 MB" }\n[core.uses]\nfma = { ports = "01", latency = 5 }\n'
    )
    mine, like = read_cpu(file), TARGETS["znver3"]
    assert (mine.name, mine.l2, mine.l3, mine.cpu) == ("mine", 2**21, like.l3, "znver3")
    assert mine.ports.uses["fma"].latency == 5 and mine.ports.uses["add"] == like.ports.uses["add"]
    assert Target.find(str(file)) == mine


def test_a_folder_of_the_environment_goes_before_shipped_files(tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text('like = "znver4"\n[chip]\nghz = 3.1\n')
    monkeypatch.setenv("STROP_TARGETS", str(tmp_path))
    assert "mine" in TARGETS and next(iter(TARGETS)) == "mine"
    assert Target.find("mine").ghz == 3.1
    monkeypatch.delenv("STROP_TARGETS")
    with pytest.raises(Problem, match="STR402"):
        Target.find("mine")


def changed(tmp_path, old, new):
    text = shipped("znver4").read_text(encoding="utf-8")
    assert old in text
    file = tmp_path / "mine.toml"
    file.write_text(text.replace(old, new))
    return file


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("bits = 512", "bits = 384", "128 or 256 or 512 bits"),
        ("bits = 512", "bits = ", "not valid TOML"),
        ("bits = 512", 'bits = "wide"', "must be a whole number"),
        ("registers = 32", "lanes = 32", "there is no `vectors.lanes`"),
        ('l1 = { size = "32 KB", ways = 8 }', 'l1 = { size = "32 kilo", ways = 8 }', "must be a size"),
        ('l1 = { size = "32 KB", ways = 8 }', 'l1 = { size = "32 MB", ways = 8 }', "cannot be larger than l2"),
        ("bandwidth = [64, 32, 18, 6]", "bandwidth = [6, 18, 32, 64]", "falls from L1 to memory"),
        ("latency = [14, 50, 300]", "latency = [14, 50]", "must be 3 numbers"),
        ("ghz = 3.5", "ghz = 3500", "is the clock in GHz"),
        ("width = 6", "width = 0", "must be above zero"),
        ("width = 6", 'width = "six"', "cannot be 'six'"),
        ('fma = { ports = "01", latency = 4 }', "fma = { latency = 4 }", "must say its ports"),
        ('fma = { ports = "01", latency = 4 }', 'fma = { ports = "", latency = 4 }', "names each port once"),
        ('fma = { ports = "01", latency = 4 }', 'fma = { ports = "01", latency = -4 }', "latency cannot be -4"),
        ('fma = { ports = "01", latency = 4 }', 'fmla = { ports = "01", latency = 4 }', "there is no class `fmla`"),
        ('fma = { ports = "01", latency = 4 }', 'fma = { ports = "01", speed = 4 }', "there is no `speed`"),
        ('triple = "x86_64-unknown-linux-gnu"', 'triple = "riscv64-unknown-linux-gnu"', "must begin with one of"),
        ('triple = "x86_64-unknown-linux-gnu"', 'like = "z80"\ntriple = "x86_64-unknown-linux-gnu"', "no description of `z80`"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line(tmp_path, old, new, why):
    file = changed(tmp_path, old, new)
    line = 1 + file.read_text().partition(new.splitlines()[0])[0].count("\n")
    with pytest.raises(Problem, match="STR407") as caught:
        read_cpu(file)
    assert why in caught.value.message
    assert caught.value.where == f"{file}:{line}"


@pytest.mark.parametrize("place", ["vectors.bits", "memory.bandwidth", "chip.ghz", "triple"])
def test_what_is_missing_is_named(tmp_path, place):
    key = place.rpartition(".")[2]
    lines = shipped("znver4").read_text(encoding="utf-8").splitlines(keepends=True)
    file = tmp_path / "mine.toml"
    file.write_text("".join(line for line in lines if not line.startswith(f"{key} =")))
    with pytest.raises(Problem, match=f"`{place}` is missing"):
        read_cpu(file)
    assert place in PLACES.values()


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path):
    with pytest.raises(Problem, match="STR407"):
        Target.find(str(tmp_path / "nowhere.toml"))
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Problem, match="STR407"):
        Target.find(str(tmp_path / "binary.toml"))
