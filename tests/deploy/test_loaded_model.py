"""Model files in Python: as right as eager, without PyTorch and LLVM, checked before anything of them runs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

import strop
from deploy.conftest import MODELS, made
from strop.core.problem import Problem
from strop.deploy import cpu_features
from strop.deploy.model_file import HEADER


def agrees(results, wanted) -> None:
    results = results if isinstance(results, tuple) else (results,)
    assert len(results) == len(wanted)
    for got, want in zip(results, wanted):
        assert got.dtype == want.numpy().dtype and got.shape == tuple(want.shape)
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_computes_what_eager_does(saved, name, threads):
    _, x, wanted = made(name)
    model = strop.load(saved(name, threads=threads), verify=True)
    for _ in range(3):
        agrees(model(x), wanted)


WITHOUT = """
import sys
class Block:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] in ("torch", "llvmlite", "onnx"):
            raise ImportError(name)
sys.meta_path.insert(0, Block())
import numpy as np, strop
result = strop.load(sys.argv[1])(np.load(sys.argv[2]))
np.save(sys.argv[3], result)
from strop.cli import main
sys.argv = ["strop", "run", sys.argv[1], "--input", sys.argv[2], "--quiet"]
main()
"""


def test_neither_torch_nor_llvm_is_needed(saved, tmp_path):
    _, x, wanted = made("products")
    np.save(tmp_path / "x.npy", x.numpy())
    given = [str(saved("products", threads=2)), str(tmp_path / "x.npy"), str(tmp_path / "y.npy")]
    subprocess.run([sys.executable, "-c", WITHOUT, *given], check=True, timeout=60)
    agrees(np.load(tmp_path / "y.npy"), wanted)


def test_names_of_inputs_and_outputs_are_those_of_the_model(saved):
    model = strop.load(saved("table"))
    assert [one.name for one in model.inputs] == ["index"]
    assert [one.name for one in model.outputs] == ["rows", "total"]
    rows, total = model(index=made("table")[1].numpy())
    assert rows.shape == (2, 7, 24) and total.shape == (2,)
    assert model.about["model"] == "table" and "nest" in str(model.about["plans"])


def test_an_index_out_of_range_raises(saved):
    model = strop.load(saved("table"))
    with pytest.raises(IndexError):
        model(np.full((2, 7), 11))
    agrees(model(made("table")[1]), made("table")[2])


def test_what_is_not_finite_is_computed_again_by_direct_algorithms(saved):
    network, x, _ = made("images")
    path = saved("images")
    model = strop.load(path)
    assert len(model.variant.programs) == 2
    x = x.clone()
    x[0, 3, 5, 5] = torch.inf
    with torch.no_grad():
        want = network(x).numpy()
    got = model(x)
    assert np.array_equal(np.isfinite(got), np.isfinite(want))
    finite = np.isfinite(want)
    np.testing.assert_allclose(got[finite], want[finite], rtol=1e-4, atol=1e-5)


def test_calls_of_several_threads_do_not_meet(saved):
    _, x, wanted = made("recurrent")
    model = strop.load(saved("recurrent", threads=2))
    results = [None] * 8

    def call(i: int) -> None:
        for _ in range(20):
            results[i] = model(x)

    callers = [threading.Thread(target=call, args=(i,)) for i in range(len(results))]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for result in results:
        agrees(result, wanted)


def test_a_forked_process_runs_on_one_thread(saved):
    _, x, wanted = made("recurrent")
    model = strop.load(saved("recurrent", threads=2))
    agrees(model(x), wanted)
    child = os.fork()
    if not child:
        try:
            agrees(model(x), wanted)
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    agrees(model(x), wanted)


@pytest.mark.parametrize(
    ("given", "named", "why"),
    [
        ((np.zeros((21, 75)),), {}, "has type float64"),
        ((np.zeros((21, 74), np.float32),), {}, r"shape \[21, 74\]"),
        ((), {}, "0 inputs were given"),
        ((np.zeros((21, 75), np.float32),) * 2, {}, "2 inputs were given"),
        ((), {"y": 1}, "no input `y`"),
    ],
)
def test_wrong_inputs_are_refused_with_what_is_wanted(saved, given, named, why):
    with pytest.raises(Problem, match=why) as caught:
        strop.load(saved("products"))(*given, **named)
    assert "f32[21,75]" in caught.value.message


# ---- machines --------------------------------------------------------------------------------------------------------


@pytest.fixture
def pretend(monkeypatch):
    def be(machine: str, *features: str) -> None:
        monkeypatch.setattr(cpu_features, "machine", lambda: machine)
        monkeypatch.setattr(cpu_features, "features", lambda: frozenset(features))

    return be


FILES = ("x86-64", "x86-64-v3", "neoverse-n1", "neoverse-v1")
V3 = cpu_features.X86[:14]


@pytest.mark.parametrize(
    ("machine", "features", "chosen"),
    [
        ("x86_64", ("sse2",), "x86-64"),
        ("x86_64", V3, "x86-64-v3"),
        ("x86_64", cpu_features.X86, "x86-64-v3"),
        ("aarch64", ("neon", "lse", "rcpc"), "neoverse-n1"),
        ("aarch64", tuple(cpu_features.ARM), "neoverse-v1"),
    ],
)
def test_the_best_variant_that_runs_is_chosen(saved, pretend, machine, features, chosen):
    tables = strop.load(saved("products", *FILES, threads=2)).tables
    pretend(machine, *features)
    assert cpu_features.choose(tables.variants).target == chosen


def test_a_machine_that_lacks_a_feature_gets_a_sentence(saved, pretend):
    path = saved("products", "neoverse-n1", threads=2)
    pretend("aarch64", "neon")
    with pytest.raises(Problem, match="STR508") as caught:
        strop.load(path)
    assert "`neoverse-n1` needs lse, rcpc, which this CPU lacks" in caught.value.message
    pretend("x86_64", *cpu_features.X86)
    with pytest.raises(Problem, match="is code for aarch64, and this is x86_64"):
        strop.load(path)


def test_only_threads_need_atomic_instructions(saved, pretend):
    pretend("aarch64", "neon")
    tables = strop.deploy.model_file.unpack((data := saved("products", "neoverse-n1").read_bytes()), len(data))
    assert tables.variants[0].features == ("neon",)
    assert cpu_features.choose(tables.variants).target == "neoverse-n1"


# ---- strangers' files ------------------------------------------------------------------------------------------------


def refused(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(Problem) as caught:
        strop.load(path)
    assert caught.value.code in ("STR507", "STR508")
    return caught.value.message


def test_damage_is_found(saved, tmp_path):
    data, file = saved("products").read_bytes(), tmp_path / "bad.strop"
    assert "empty" in refused(file, b"")
    assert "too short" in refused(file, data[:40])
    assert "cut short" in refused(file, data[:-1])
    assert "cut short" in refused(file, data + b"\0")
    assert "does not begin" in refused(file, b"PK" + data[2:])
    assert "version 2" in refused(file, data[:8] + b"\2\0\0\0" + data[12:])
    assert "tables are damaged" in refused(file, data[:100] + bytes([data[100] ^ 1]) + data[101:])
    image = strop.load(saved("products")).variant.programs[0].image
    assert "code is damaged" in refused(file, data[: image + 9] + bytes([data[image + 9] ^ 1]) + data[image + 10 :])


def test_a_damaged_weight_is_found_when_asked(saved, tmp_path):
    data = bytearray(saved("products").read_bytes())
    weight = strop.load(saved("products")).variant.programs[0].weights[0]
    data[weight.offset] ^= 1
    (tmp_path / "bad.strop").write_bytes(data)
    strop.load(tmp_path / "bad.strop")
    with pytest.raises(Problem, match="the weight of slot"):
        strop.load(tmp_path / "bad.strop", verify=True)


def mended(data: bytearray) -> bytes:
    """The same with the checksum that its tables have now."""
    import zlib

    table = int.from_bytes(data[40:48], "little")
    data[HEADER.size - 8 : HEADER.size] = bytes(8)
    if table <= len(data):
        data[HEADER.size - 8 : HEADER.size - 4] = zlib.crc32(data[:table]).to_bytes(4, "little")
    return bytes(data)


def mutated(data: bytes, count: int, seed: int) -> list[bytes]:
    """The same file with numbers of its tables replaced by others, and checksums that fit."""
    rng = np.random.default_rng(seed)
    table = int.from_bytes(data[40:48], "little")
    found = []
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            size = int(rng.choice([1, 4, 8]))
            at = int(rng.integers(0, table - size)) // size * size
            value = int(rng.choice([0, 1, 2**7, 2**16, 2**31, 2**32 - 1, 2**63, 2**64 - 1, rng.integers(0, 2**32)]))
            changed[at : at + size] = (value % 256**size).to_bytes(size, "little")
        found.append(mended(changed))
    return found


def test_no_strangers_file_does_anything_but_load_or_be_refused(saved, tmp_path):
    data = saved("table", "x86-64", threads=2).read_bytes()
    file = tmp_path / "fuzzed.strop"
    outcomes = {"loaded": 0, "refused": 0}
    for changed in mutated(data, 300, seed=1):
        file.write_bytes(changed)
        try:
            strop.load(file)
            outcomes["loaded"] += 1
        except Problem as problem:
            assert problem.code in ("STR507", "STR508")
            outcomes["refused"] += 1
    assert outcomes["refused"] > 100


def run_by_command(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "strop", "run", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_command_says_what_is_wrong_with_an_input(saved, tmp_path):
    file, x = saved("table"), made("table")[1].numpy()
    [name] = [info.name for info in strop.load(file).inputs]
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "far.npy", np.full_like(x, 10**6))
    outside = run_by_command(file, "--input", tmp_path / "far.npy")
    assert outside.returncode == 2 and "index is out of range" in outside.stderr and "bug" not in outside.stderr
    named = f"{name}={tmp_path / 'x.npy'}"
    twice = run_by_command(file, "--input", named, "--input", named)
    assert twice.returncode == 2 and f"`{name}` was given before" in twice.stderr
    other = run_by_command(file, "--input", f"other={tmp_path / 'x.npy'}")
    assert other.returncode == 2 and f"NAME=FILE names an input: {name}" in " ".join(other.stderr.split())
