"""LLVM text → machine code in memory, and the host's own description."""

from __future__ import annotations

import ctypes
import functools
import mmap
import threading
from collections.abc import Sequence
from pathlib import Path

import llvmlite.binding as llvm

from strop.core.cache import Cache
from strop.core.problem import Problem
from strop.core.target import Target
from strop.run.calibrate import kept

_lock = threading.Lock()


@functools.cache
def _initialise() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    _let_go()


def _let_go() -> None:
    """Take LLVM's own code out of this process's memory; what is needed of it again comes from the system's cache.

    Loading the library touches 22 MB of it and a compilation 35 MB, which a program that only runs never looks at.
    """
    for start, size in _llvm_code():
        ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), mmap.MADV_DONTNEED)


@functools.cache
def _llvm_code() -> tuple[tuple[int, int], ...]:
    """Where the library's executable pages are. Nothing ever writes to them, so they equal the file."""
    try:
        lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if "libllvmlite" in line]
    except OSError:
        return ()
    spans = [line[0].split("-") for line in lines if line[1] == "r-xp"]
    return tuple((int(start, 16), int(end, 16) - int(start, 16)) for start, end in spans)


@functools.cache
def host() -> Target:
    """The machine that we run on; with what `strop doctor` has measured, where it has."""
    target = described_host()
    measured = kept(target, Cache())
    return measured.of(target) if measured is not None else target


def forget_host() -> None:
    """Describe this machine anew when it is asked for: there may be a nearer description by then."""
    for known in _DESCRIPTIONS:
        known.cache_clear()


@functools.cache
def described_host() -> Target:
    """The machine that we run on, as LLVM and the kernel describe it."""
    _initialise()
    return Target.from_features(
        llvm.get_host_cpu_name(),
        dict(llvm.get_host_cpu_features()),
        triple=llvm.get_default_triple(),
        **_caches(),
    )


_DESCRIPTIONS = (described_host, host)


def _caches() -> dict[str, int]:
    """Sizes of the first core's caches, where the kernel tells."""
    found: dict[str, int] = {}
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            level = (index / "level").read_text().strip()
            kind = (index / "type").read_text().strip()
            size = (index / "size").read_text().strip()
        except OSError:
            continue
        if kind != "Instruction" and size.endswith("K"):
            found[f"l{level}"] = int(size[:-1]) * 1024
    return {level: size for level, size in found.items() if level in ("l1", "l2", "l3")}


@functools.lru_cache(maxsize=8)
def _machine(target: Target, far: bool = False) -> llvm.TargetMachine:
    _initialise()
    if target.instruction_set != described_host().instruction_set:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    reloc, model = ("static", "large") if far else ("pic", "default")
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc=reloc, codemodel=model
    )


def compile_object(text: str, target: Target, optimise: bool = False, far: bool = False) -> bytes:
    """Object code of a module; the same text gives the same bytes.

    `far`: what it calls of other modules may lie anywhere, not only within 2 GB: memory may be full of large tensors.
    """
    with _lock:
        machine = _machine(target, far)
        module = _parsed(text, target)
        if optimise:
            options = llvm.create_pipeline_tuning_options(speed_level=1)
            options.loop_vectorization = False
            options.slp_vectorization = False
            options.loop_unrolling = False
            builder = llvm.create_pass_builder(machine, options)
            builder.getModulePassManager().run(module, builder)
        code = bytes(machine.emit_object(module))
        del module
        _let_go()
        return code


def assembly(text: str, target: Target) -> str:
    """The same code as assembly text."""
    with _lock:
        return str(_machine(target).emit_assembly(_parsed(text, target)))


def _parsed(text: str, target: Target) -> llvm.ModuleRef:
    try:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise Problem("STR401", f"generated code is not valid: {error}", help="please report this model") from error
    module.triple = target.triple
    module.data_layout = str(_machine(target).target_data)
    return module


_LIBRARY = "program"


class Library:
    """Object code made callable. Keep it alive as long as its functions are."""

    def __init__(self, objects: Sequence[bytes], target: Target) -> None:
        with _lock:
            machine = llvm.Target.from_triple(target.triple).create_target_machine(
                cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="default"
            )
            # each module's code and constants come to lie side by side: they reach each other within 2 GB
            self._jit = llvm.create_lljit_compiler(machine, use_jit_link=True)
            builder = llvm.JITLibraryBuilder().add_current_process()
            for data in objects:
                builder.add_object_img(data)
            try:
                self._held = [builder.link(self._jit, _LIBRARY)]
            except RuntimeError as error:
                raise _not_loadable(str(error)) from error
            _let_go()

    def address(self, name: str) -> int:
        try:
            with _lock:
                self._held.append(self._jit.lookup(_LIBRARY, name))
        except RuntimeError as error:
            raise _not_loadable(f"it has no function `{name}`") from error
        return int(self._held[-1][name])


def _not_loadable(why: str) -> Problem:
    return Problem("STR501", f"object code cannot be loaded: {why}", help="clear the cache: strop cache clear")
