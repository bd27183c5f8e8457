"""Model files for AArch64, run by an emulator: `make test-cross` installs what these tests need and runs all of them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils._pytree import tree_leaves

from deploy.conftest import MODELS, built
from deploy.test_c_runtime import agrees, ran, tool, unpacked
from strop.core.journal import Journal
from strop.core.options import Options
from strop.deploy.link import EXTERNALS
from strop.deploy.object_file import RUNTIME
from strop.runtime.load_model import load
from strop.runtime.save_model import save

QEMU, COMPILER = "qemu-aarch64", "aarch64-linux-gnu-gcc"
pytestmark = pytest.mark.skipif(
    shutil.which(QEMU) is None or shutil.which(COMPILER) is None,
    reason=f"{QEMU} or {COMPILER} is not installed: make test-cross",
)


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("arm"), COMPILER, "-static-pie", "-fPIE", RUNTIME / "example.c")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_code_for_neoverse_n1_computes_what_eager_does(saved, arm, tmp_path, name, threads):
    path = saved(name, "neoverse-n1", threads=threads)
    agrees(ran([QEMU, "-cpu", "neoverse-n1", arm, path], tmp_path, name), name)


@pytest.mark.parametrize(
    ("target", "cpu", "threads", "lacks"),
    [("neoverse-v1", "neoverse-n1", 1, "complxnum"), ("neoverse-n1", "cortex-a72", 2, "lse"), ("x86-64", "max", 1, "")],
)
def test_a_cpu_that_lacks_a_feature_gets_a_sentence_and_an_exit_code(saved, arm, target, cpu, threads, lacks):
    path = saved("products", target, threads=threads)
    result = subprocess.run([QEMU, "-cpu", cpu, arm, path], capture_output=True, text=True)
    told = f"code for {target} needs {lacks}, which this CPU lacks" if lacks else "holds no code for aarch64"
    assert result.returncode == 5 and told in result.stderr


def test_code_without_threads_runs_where_atomic_instructions_are_missing(saved, arm, tmp_path):
    agrees(ran([QEMU, "-cpu", "cortex-a72", arm, saved("products", "neoverse-n1")], tmp_path, "products"), "products")


def test_the_best_of_several_variants_is_chosen(saved, arm):
    path = saved("products", "aarch64", "neoverse-n1", "x86-64", threads=2)
    for cpu, chosen in (("cortex-a72", "aarch64"), ("neoverse-n1", "neoverse-n1"), ("max", "neoverse-n1")):
        result = subprocess.run([QEMU, "-cpu", cpu, arm, path], capture_output=True, text=True, cwd=path.parent)
        assert result.stdout.startswith(f"target {chosen},")


def test_code_for_arm_links_without_text_relocations(saved, tmp_path):
    path = saved("recurrent", "neoverse-n1", threads=2)
    objects = [file for file in unpacked(path, tmp_path) if file.suffix == ".o"]
    for file in objects:
        undefined = {line.split()[-1] for line in tool("aarch64-linux-gnu-nm", "-u", file).splitlines()}
        assert undefined <= set(EXTERNALS)
    table = tmp_path / "code_aarch64.c"
    program = built(tmp_path, COMPILER, "-fPIE", "-pie", "-Wl,-z,text", RUNTIME / "example.c", table, *objects)
    assert "TEXTREL" not in tool("aarch64-linux-gnu-readelf", "-d", program)


BYTES = {"neoverse-n1": "neoverse-n1", "neoverse-v1": "max", "aarch64": "cortex-a72"}


@pytest.mark.parametrize("target", BYTES)
def test_products_of_bytes_are_exact(arm, tmp_path, target):
    helper = pytest.importorskip("onnx.helper")
    import onnx

    rng = np.random.default_rng(3)
    x = rng.integers(0, 256, (9, 50), np.uint8)
    weight = rng.integers(-128, 128, (50, 37), np.int8)
    given = helper.make_tensor_value_info("x", onnx.TensorProto.UINT8, x.shape)
    result = helper.make_tensor_value_info("y", onnx.TensorProto.INT32, (9, 37))
    held = onnx.numpy_helper.from_array(weight, "w")
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["x", "w"], ["y"])], "bytes", [given], [result], [held]
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "bytes.onnx"
    )
    model = load(str(tmp_path / "bytes.onnx"))
    tables = save(
        model.module, model.inputs, model.kwargs, tmp_path / "m.strop", [target], Options(threads=1), Journal()
    )
    wanted = {"neoverse-n1": "dotprod", "neoverse-v1": "i8mm", "aarch64": "neon"}[target]
    assert wanted in tables.variants[0].features
    x.tofile(tmp_path / "x.bin")
    command = [QEMU, "-cpu", BYTES[target], arm, tmp_path / "m.strop", tmp_path / "x.bin"]
    subprocess.run([*map(str, command)], cwd=tmp_path, check=True)
    got = np.fromfile(tmp_path / "out0.bin", np.int32).reshape(9, 37)
    assert np.array_equal(got, x.astype(np.int32) @ weight.astype(np.int32))


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("network", ["resnet18", "bert_small", "lstm"])
def test_networks_of_the_zoo_are_right_on_neoverse_n1(arm, tmp_path, network, threads):
    model = load(network)
    options = Options(threads=threads)
    save(model.module, model.inputs, model.kwargs, tmp_path / "m.strop", ["neoverse-n1"], options, Journal(), network)
    files = []
    for i, x in enumerate(tree_leaves((model.inputs, model.kwargs))):
        files.append(tmp_path / f"in{i}.bin")
        files[-1].write_bytes(x.numpy().tobytes())
    command = [QEMU, "-cpu", "neoverse-n1", arm, tmp_path / "m.strop", *files]
    subprocess.run([*map(str, command)], cwd=tmp_path, check=True)
    with torch.no_grad():
        wanted = tree_leaves(model.module(*model.inputs, **model.kwargs))
    for i, want in enumerate(wanted):
        got = np.fromfile(tmp_path / f"out{i}.bin", want.numpy().dtype).reshape(want.shape)
        assert np.abs(got - want.numpy()).max() <= 1e-5 * np.abs(want.numpy()).max()
