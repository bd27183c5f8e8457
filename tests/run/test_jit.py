"""Object code in memory."""

from __future__ import annotations

import subprocess
import sys

CROWDED = """
import ctypes
from strop.run.jit import Library, compile_object, host

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
