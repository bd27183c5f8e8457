"""Which features this machine has, by LLVM's names, without asking LLVM.

On x86 the kernel lists what CPU and kernel support (a CPU with AVX-512 under a kernel that does not save its registers
lacks it); on Arm the auxiliary vector of the process does. `c/strop.c` asks the CPU itself.
"""

from __future__ import annotations

import ctypes
import functools
import platform
from collections.abc import Sequence
from pathlib import Path

from strop.core.problem import Problem
from strop.deploy.model_file import Variant

#: LLVM's name → the name in /proc/cpuinfo, where they differ
_X86 = {
    "sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "bmi": "bmi1", "lzcnt": "abm", "avx512vbmi2": "avx512_vbmi2",
    "avx512vnni": "avx512_vnni", "avx512bitalg": "avx512_bitalg", "avx512vpopcntdq": "avx512_vpopcntdq",
    "avx512bf16": "avx512_bf16", "avxvnni": "avx_vnni",
}  # fmt: skip
X86 = (
    "sse2", "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt",
    "movbe", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512ifma", "avx512vbmi", "avx512vbmi2",
    "avx512vnni", "avx512bitalg", "avx512vpopcntdq", "gfni", "avx512bf16", "avxvnni",
)  # fmt: skip
#: LLVM's name → bit of the first or the second word of the kernel's hardware capabilities
ARM = {
    "neon": (16, 1), "lse": (16, 8), "fullfp16": (16, 10), "rdm": (16, 12), "complxnum": (16, 14), "rcpc": (16, 15),
    "dotprod": (16, 20), "sve": (16, 22), "rcpc-immo": (16, 26), "sve2": (26, 1), "i8mm": (26, 13), "bf16": (26, 14),
}  # fmt: skip
#: what only threads that share work need: their atomic operations
OF_THREADS = ("lse", "rcpc", "rcpc-immo")
#: what only products of bytes need
OF_BYTES = ("dotprod", "i8mm", "avx512vnni", "avxvnni")
#: what LLVM does not use for what Strop emits: elements of 16 bits, saturating products
UNUSED = ("fullfp16", "bf16", "avx512bf16", "rdm", "f16c")


def machine() -> str:
    """This machine's architecture."""
    return {"arm64": "aarch64", "amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())


@functools.cache
def features() -> frozenset[str]:
    """The features of this machine that code of a model file may ask for."""
    if machine() == "x86_64":
        flags = _cpu_flags()
        return frozenset(name for name in X86 if _X86.get(name, name) in flags)
    if machine() == "aarch64":
        capabilities = ctypes.CDLL(None).getauxval
        capabilities.restype, capabilities.argtypes = ctypes.c_ulong, [ctypes.c_ulong]
        return frozenset(name for name, (word, bit) in ARM.items() if capabilities(word) >> bit & 1)
    return frozenset()


def _cpu_flags() -> frozenset[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), ()))


def choose(variants: Sequence[Variant]) -> Variant:
    """The variant that uses most of what this machine has; of equals the first. A problem where none may run."""
    here, has = machine(), features()
    fitting = [one for one in variants if one.machine == here and has.issuperset(one.features)]
    if fitting:
        return max(fitting, key=lambda one: len(one.features))
    told = "; ".join(f"`{one.target}` {_lacks(one, here, has)}" for one in variants)
    raise Problem("STR508", f"this machine cannot run the model: {told}",
                  help="compile it for this CPU too: strop compile MODEL --target … -o …")  # fmt: skip


def _lacks(variant: Variant, here: str, has: frozenset[str]) -> str:
    if variant.machine != here:
        return f"is code for {variant.machine}, and this is {here}"
    return f"needs {', '.join(name for name in variant.features if name not in has)}, which this CPU lacks"
