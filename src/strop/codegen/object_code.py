"""LLVM text → object code and assembly."""

from __future__ import annotations

import functools

import llvmlite.binding as llvm

from strop.core.problem import Problem
from strop.target.description import Target
from strop.target.host import described_host
from strop.target.llvm import give_pages_back, initialise, lock


@functools.lru_cache(maxsize=8)
def _machine(target: Target, far: bool = False) -> llvm.TargetMachine:
    initialise()
    if target.instruction_set != described_host().instruction_set:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    reloc, model = ("static", "large") if far else ("pic", "default")
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.code_features, opt=3, reloc=reloc, codemodel=model
    )


def compile_object(text: str, target: Target, optimise: bool = False, far: bool = False) -> bytes:
    """Object code of a module; the same text gives the same bytes.

    `far`: what it calls of other modules may lie anywhere, not only within 2 GB: memory may be full of large tensors.
    """
    with lock:
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
        give_pages_back()
        return code


def assembly(text: str, target: Target) -> str:
    """The same code as assembly text."""
    with lock:
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
