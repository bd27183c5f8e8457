"""Object code in memory."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
from collections.abc import Callable

import pytest

from strop.codegen.object_code import compile_object
from strop.core.problem import Problem
from strop.runtime.jit import LoadedCode
from strop.target.host import host

CROWDED = """
import ctypes
from strop.runtime.jit import LoadedCode as Library; from strop.codegen.object_code import compile_object; from strop.target.host import host

count = 65536
table = ", ".join(f"float {i}.0" for i in range(count))
text = f"@table = private constant [{count} x float] [{table}]"
text += '''
define float @at(i64 %i) {
  %p = getelementptr float, ptr @table, i64 %i
  %v = load float, ptr %p
  ret float %v
}
'''
caller = "declare float @at(i64)  define float @next(i64 %i) { %j = add i64 %i, 1  %v = call float @at(i64 %j)  ret float %v }"
objects = [compile_object(text, host()), compile_object(caller.replace("  ", chr(10)), host(), far=True)]
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
PRIVATE, ANONYMOUS, NORESERVE, PAGE, GIANT = 0x2, 0x20, 0x4000, 4096, 3 << 30


def reserve(size):
    flags = PRIVATE | ANONYMOUS | NORESERVE
    return libc.mmap(None, ctypes.c_size_t(size), 0, flags, -1, ctypes.c_long(0))


for size in (1 << 22, 1 << 20, 1 << 18, 1 << 16, 1 << 14, 1 << 13):  # what is free between libraries
    for _ in range(1000):
        reserve(size)
holes = []
for _ in range(40):  # single free pages, each gigabytes away from other free memory
    holes.append(reserve(PAGE))
    reserve(GIANT)
for hole in holes:
    libc.munmap(ctypes.c_void_p(hole), ctypes.c_size_t(PAGE))
library = Library(objects, host())
following = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64)(library.address("next"))
assert following(40000) == 40001.0
"""


def test_parts_of_a_program_reach_each_other_in_crowded_memory() -> None:
    done = subprocess.run([sys.executable, "-c", CROWDED], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_an_unknown_function_is_named() -> None:
    text = "define i32 @one() {\n  ret i32 1\n}\n"
    library = LoadedCode([compile_object(text, host())], host())
    assert library.address("one")
    with pytest.raises(Problem, match="no function `two`"):
        library.address("two")


def test_libraries_come_and_go() -> None:
    text = "define i32 @one() {\n  ret i32 1\n}\n"
    data = compile_object(text, host())
    kept = [LoadedCode([data], host()) for _ in range(8)]
    for _ in range(50):
        kept[0] = LoadedCode([data], host())
        assert ctypes.CFUNCTYPE(ctypes.c_int32)(kept[0].address("one"))() == 1
    del kept[1::2]
    gc.collect()
    assert all(ctypes.CFUNCTYPE(ctypes.c_int32)(library.address("one"))() == 1 for library in kept)


@pytest.mark.parametrize("damage", [lambda code: b"junk", lambda code: b"", lambda code: code[: len(code) // 2]])
def test_bytes_that_are_no_object_code_are_a_problem(damage: Callable[[bytes], bytes]) -> None:
    code = compile_object("define void @nothing() { ret void }", host())
    with pytest.raises(Problem, match="STR501"):
        LoadedCode([damage(code)], host()).address("nothing")
