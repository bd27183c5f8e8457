"""Model files in C: what Python computes, linked as position-independent programs, strangers' files refused."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import strop
from deploy.conftest import MODELS, built, made
from deploy.test_loaded_model import mutated
from strop.core.problem import Problem
from strop.deploy.link import EXTERNALS
from strop.deploy.model_file import unpack
from strop.deploy.object_file import RUNTIME, unpack_code

HERE = "x86-64-v3" if platform.machine() == "x86_64" else "aarch64"


def ran(command: list[str | Path], folder: Path, name: str) -> list[np.ndarray]:
    """Outputs of a program that ran a model."""
    _, x, wanted = made(name)
    (folder / "x.bin").write_bytes(x.numpy().tobytes())
    result = subprocess.run([*map(str, command), str(folder / "x.bin")], cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return [np.fromfile(folder / f"out{i}.bin", one.numpy().dtype).reshape(one.shape) for i, one in enumerate(wanted)]


def agrees(results: list[np.ndarray], name: str) -> None:
    for got, want in zip(results, made(name)[2], strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_c_computes_what_eager_does(saved, example, tmp_path, name, threads):
    agrees(ran([example, saved(name, threads=threads)], tmp_path, name), name)


@pytest.fixture(scope="module")
def rust_example(tmp_path_factory):
    """The example program in Rust, with the C runtime as a library."""
    if shutil.which("rustc") is None:
        pytest.skip("rustc is not installed")
    folder = tmp_path_factory.mktemp("rust")
    linked = ("-L", ".", "-l", "static=strop", "-l", "m", "-D", "warnings", "-o", "example")
    for command in (
        ["gcc", "-O2", "-c", RUNTIME / "strop.c"],
        ["ar", "rcs", "libstrop.a", "strop.o"],
        ["rustc", "-O", RUNTIME / "example.rs", *linked],
    ):
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
    return folder / "example"


@pytest.mark.parametrize("threads", [1, 2])
def test_rust_computes_what_eager_does(saved, rust_example, tmp_path, threads):
    for name in MODELS:
        agrees(ran([rust_example, saved(name, threads=threads)], tmp_path, name), name)


def test_rust_is_told_why_a_run_fails_or_a_file_is_refused(saved, rust_example, tmp_path):
    np.full((2, 7), -12).tofile(tmp_path / "x.bin")
    outside = subprocess.run([rust_example, saved("table"), tmp_path / "x.bin"], capture_output=True, text=True)
    assert outside.returncode == 1 and "index is out of range" in outside.stderr
    short = subprocess.run([rust_example, saved("products"), tmp_path / "x.bin"], capture_output=True, text=True)
    assert short.returncode == 1 and "input 0 takes" in short.stderr
    missing = subprocess.run([rust_example, tmp_path / "nowhere.strop"], capture_output=True, text=True)
    assert missing.returncode == 3 and "cannot be read" in missing.stderr


def test_an_index_out_of_range_is_told(saved, example, tmp_path):
    np.full((2, 7), -12).tofile(tmp_path / "x.bin")
    result = subprocess.run([example, saved("table"), tmp_path / "x.bin"], capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 1 and "index is out of range" in result.stderr


def test_a_machine_that_cannot_run_a_file_says_so_and_exits(saved, example):
    foreign = "neoverse-n1" if platform.machine() == "x86_64" else "x86-64"
    result = subprocess.run([example, saved("products", foreign)], capture_output=True, text=True)
    assert result.returncode == 5 and "holds no code for" in result.stderr


@pytest.mark.parametrize(
    ("change", "code", "why"),
    [
        (lambda data: b"", 4, "empty"),
        (lambda data: data[:60], 4, "too short"),
        (lambda data: data[:-1], 4, "cut short"),
        (lambda data: b"nothing of the kind" * 40, 4, "not a model file"),
        (lambda data: data[:8] + b"\7" + data[9:], 4, "version 7"),
        (lambda data: data[:90] + bytes([data[90] ^ 4]) + data[91:], 4, "damaged"),
    ],
)
def test_damage_is_told(saved, example, tmp_path, change, code, why):
    (tmp_path / "bad.strop").write_bytes(change(saved("products").read_bytes()))
    result = subprocess.run([example, tmp_path / "bad.strop"], capture_output=True, text=True)
    assert result.returncode == code and why in result.stderr


def test_a_missing_file_is_told(example, tmp_path):
    result = subprocess.run([example, tmp_path / "nowhere.strop"], capture_output=True, text=True)
    assert result.returncode == 3 and "cannot be read" in result.stderr


OPENS = """
#include "strop.h"
#include <stdio.h>
int main(int count, char **given) {
    char error[256];
    int i, opened = 0;
    for (i = 1; i < count; i++) {
        strop_model *model = strop_open(given[i], error, sizeof error);
        opened += model != NULL;
        if (!model && strop_why() != STROP_NOT_A_MODEL && strop_why() != STROP_CANNOT_RUN_HERE) return 9;
        strop_close(model);
    }
    printf("%d", opened);
    return 0;
}
"""


def test_no_strangers_file_harms_the_parser(saved, tmp_path):
    (tmp_path / "opens.c").write_text(OPENS)
    checks = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
    program = built(tmp_path, "gcc", *checks, tmp_path / "opens.c")
    files = []
    for i, data in enumerate(mutated(saved("table", HERE, threads=2).read_bytes(), 300, seed=2)):
        files.append(tmp_path / f"{i}.strop")
        files[-1].write_bytes(data)
    result = subprocess.run([program, *files], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) < 200


# ---- linking ---------------------------------------------------------------------------------------------------------


def unpacked(path: Path, folder: Path, name: str = "strop") -> list[Path]:
    data = path.read_bytes()
    return unpack_code(unpack(data, len(data)), data, folder, name)


def tool(name: str, *arguments: str | Path) -> str:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return subprocess.run([name, *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def test_the_runtime_is_position_independent(example):
    assert "DYN" in tool("readelf", "-h", example)
    assert "TEXTREL" not in tool("readelf", "-d", example)


@pytest.mark.parametrize("name", ["images", "recurrent"])
def test_code_links_without_text_relocations_and_needs_the_c_library_only(saved, tmp_path, name):
    path = saved(name, HERE, threads=2)
    objects = [file for file in unpacked(path, tmp_path) if file.suffix == ".o"]
    for file in objects:
        undefined = {line.split()[-1] for line in tool("nm", "-u", file).splitlines()}
        assert undefined <= set(EXTERNALS)
    source = (
        (RUNTIME / "example.c")
        .read_text()
        .replace("strop_open(given[1], ", "strop_open_linked(given[1], strop_linked_code, strop_linked_count, ")
    )
    declared = "extern const strop_code strop_linked_code[];\nextern const size_t strop_linked_count;\n"
    (tmp_path / "linked.c").write_text(source.replace("int main", declared + "int main"))
    table = tmp_path / f"code_{platform.machine()}.c"
    program = built(tmp_path, "gcc", "-fPIE", "-pie", "-Wl,-z,text", tmp_path / "linked.c", table, *objects)
    assert "TEXTREL" not in tool("readelf", "-d", program)
    agrees(ran([program, path], tmp_path, name), name)


BOTH = """
#include "strop.h"
#include <stdio.h>
extern const strop_code first_linked_code[], second_linked_code[];
extern const size_t first_linked_count, second_linked_count;
int main(int count, char **given) {
    char error[256];
    strop_model *one = strop_open_linked(given[1], first_linked_code, first_linked_count, error, sizeof error);
    strop_model *other = strop_open_linked(given[2], second_linked_code, second_linked_count, error, sizeof error);
    if (count != 3 || !one || !other) return fprintf(stderr, "%s", error), 1;
    static char in[2][1 << 20], out[2][1 << 20];
    strop_status status = STROP_OK;
    for (int i = 0; i < 3; i++) {
        status |= strop_run(one, (const void *[]){in[0]}, (void *[]){out[0]});
        status |= strop_run(other, (const void *[]){in[1]}, (void *[]){out[1]});
    }
    strop_close(one);
    strop_close(other);
    return (int)status;
}
"""


def test_two_models_link_into_one_program(saved, tmp_path):
    models = {name: saved(kind, HERE, threads=2) for name, kind in (("first", "products"), ("second", "images"))}
    made = [file for name, path in models.items() for file in unpacked(path, tmp_path / name, name)]
    (tmp_path / "both.c").write_text(BOTH)
    parts = [file for file in made if file.suffix == ".o" or file.name == f"code_{platform.machine()}.c"]
    program = built(tmp_path, "gcc", tmp_path / "both.c", *parts)
    subprocess.run([program, *models.values()], check=True, timeout=60)


def test_names_that_c_does_not_have_are_refused(saved, tmp_path):
    with pytest.raises(Problem, match="cannot begin names in C"):
        unpacked(saved("products", HERE, threads=2), tmp_path, "my-model")


def test_a_file_may_be_part_of_the_program(saved, tmp_path):
    path = saved("products", HERE, threads=2)
    (tmp_path / "file.S").write_text(
        f'.section .rodata\n.balign 64\n.global model_start, model_end\nmodel_start:\n.incbin "{path}"\nmodel_end:\n'
        '.section .note.GNU-stack,"",%progbits\n'
    )
    source = (RUNTIME / "example.c").read_text()
    source = source.replace(
        "strop_open(given[1], ", "strop_open_memory(model_start, (size_t)(model_end - model_start), "
    )
    (tmp_path / "own.c").write_text(
        source.replace("int main", "extern const char model_start[], model_end[];\nint main")
    )
    program = built(tmp_path, "gcc", tmp_path / "own.c", tmp_path / "file.S")
    agrees(ran([program, "itself"], tmp_path, "products"), "products")


def test_the_header_is_cpp(tmp_path):
    (tmp_path / "a.cpp").write_text('#include "strop.h"\nint main() { return strop_why() != STROP_OPENED; }\n')
    tool("g++", "-std=c++17", "-Wall", "-Werror", f"-I{RUNTIME}", "-c", tmp_path / "a.cpp", "-o", tmp_path / "a.o")


def test_the_same_numbers_stand_in_python_and_c():
    text = (RUNTIME / "strop.c").read_text()
    listed = [name.strip() for name in text.partition("externals[])(void) = {")[2].partition("};")[0].split(",")]
    assert tuple(name[2:-1] for name in listed if name) == EXTERNALS
    table = strop.core.runtime_table
    assert f"POOL_WORKERS = {table.POOL_WORKERS}, POOL_SYSCALL = {table.POOL_SYSCALL}" in text
    assert f"TEAM_WORDS = {table.BEGUN}," in text and table.POOL_BYTES == 8 * 32
