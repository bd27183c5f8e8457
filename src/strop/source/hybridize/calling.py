"""How often a function runs, and who it belongs to: tests, loading of data, exported models.

A graph pays for its compilation by the calls that follow. What runs once (constructors, factories, loaders, what
only module-level code outside of loops calls), what only tests run, what worker processes run, and what is traced,
scripted or exported by something else is never proposed.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from weakref import WeakKeyDictionary

from strop.source.hybridize.torch_worth import event_estimate, loops_around, sources_around
from strop.source.interpret.entries import ancestor_names
from strop.source.interpret.events import Call
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import Bound, FunctionValue, Value
from strop.source.project.declarations import Class, Code, Module

Often = Literal["often", "once", "unknown"]

#: names of functions that make or prepare something: a loop in them is over layers, not over batches
_MAKING = re.compile(
    r"_*(init|reset|build|make|create|load|save|export|convert|setup|set_|prepare|register|configure|from_|download|"
    r"parse|read|write|tokeni[sz]|preprocess|collate|augment|test|bench|fuse|merge|quanti[sz]e|count|check|assert|"
    r"get_(model|config|dataset|data|loader|optimizer|scheduler|tokenizer|parameters?|args|weights?|pos|sin)|"
    r"trunc_normal|truncated|xavier|kaiming|orthogonal|lecun|variance_scaling|interpolate_pos|resize_(rel_)?pos|resample|"
    r"remap|rename|checkpoint_filter|summary|profile|verify)"
)
#: and of functions that run once unless somebody calls them in a loop
_DRIVING = re.compile(r"_*(main|cli|demo|run$|plot|draw|show|visuali|postprocess|validate_)")
_CONSTRUCTORS = ("__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "setup", "build")
_OF_DATA = ("torch.utils.data.Dataset", "torch.utils.data.IterableDataset", "torch.utils.data.DataLoader")
_DATA_FOLDERS = ("data", "dataset", "datasets", "transforms", "augment", "augmentation", "preprocessing", "dataloader")
_LOADING = ("__getitem__", "__getitems__", "__iter__", "__next__", "collate_fn", "collate", "__len__")
_HOLDERS = ("torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.Sequential")
_EXPORTS = (
    "torch.jit.script", "torch.jit.trace", "torch.jit.trace_module", "torch.jit.script_if_tracing", "torch.onnx.export",
    "torch.onnx.dynamo_export", "torch.export.export", "torch.fx.symbolic_trace", "torch.fx.Tracer",
)  # fmt: skip
#: what a loop walks that visits every parameter of a model
_PARAMETERS = re.compile(r"\.(named_)?(parameters|buffers|state_dict)\(")
_EXPORTERS = ("torch.jit", "torch.onnx", "torch.fx", "torch.export")
_TEST_STEMS = ("_test", "_tests", "_testlib", "test_util", "test_utils")
_TEST_FOLDERS = ("test", "tests", "testing", "unit_tests", "testdata")


class _KnownCallers:
    def __init__(self) -> None:
        self.often: dict[Code, Often] = {}
        self.exported: set[Code] | None = None
        self.tests: dict[str, bool] = {}
        self.visits: dict[Code, bool] = {}  #: whether a function does nothing but visit parameters


_known: WeakKeyDictionary[Program, _KnownCallers] = WeakKeyDictionary()


def _of(program: Program) -> _KnownCallers:
    found = _known.get(program)
    if found is None:
        found = _known[program] = _KnownCallers()
    return found


def is_module(program: Program, cls: Class | None) -> bool:
    """Whether a class is an `nn.Module`."""
    return cls is not None and "torch.nn.Module" in ancestor_names(program, cls)


def is_forward(program: Program, code: Code) -> bool:
    return code.short == "forward" and is_module(program, code.cls)


# -- how often ---------------------------------------------------------------------------------------------------------


def how_often(program: Program, code: Code) -> Often:
    """Whether a function runs again and again, once, or as often as strangers like."""
    kept = _of(program).often
    if code not in kept:
        kept[code] = "unknown"  # against circles
        kept[code] = _how_often(program, code)
    return kept[code]


def _how_often(program: Program, code: Code) -> Often:
    if code.short in _CONSTRUCTORS or (_MAKING.match(code.short) and not _is_run_by_models(program, code)):
        return "once"
    answers: set[Often] = set()
    for caller, place in program.callers(code.id):
        other = program.code(caller)
        if other is code or is_test(program, other):
            continue
        looped = loops_around(program, other, place) > 0
        if isinstance(other.node, (ast.Module, ast.ClassDef)):
            if looped:
                return "often"
            if not (code.module is other.module and _is_tried_out(other, place.line)):
                answers.add("once")
            continue
        if other.short in _CONSTRUCTORS:
            answers.add("once")
            continue
        often = "often" if looped and not _MAKING.match(other.short) else how_often(program, other)
        if often == "often" or is_forward(program, other):
            return "often"
        answers.add("once" if _is_once_by_name(other) else often)
    if answers == {"once"}:
        return "once"
    return "once" if _is_once_by_name(code) else "unknown"


def is_run(program: Program, code: Code) -> bool:
    """Whether a script runs it: calls lead there from module-level code."""
    return bool(scripts_that_run(program, code))


def scripts_that_run(program: Program, code: Code) -> list[Module]:
    """The files whose module-level code is this, or leads to a call of it."""
    seen: dict[Code, None] = {code: None}
    found: dict[Module, None] = {}
    todo = [code]
    while todo:
        one = todo.pop()
        if isinstance(one.node, ast.Module):
            found[one.module] = None
        callers = {program.code(caller): None for caller, _ in program.callers(one.id)}
        todo += [caller for caller in callers if caller not in seen]
        seen |= callers
    return list(found)


def _is_run_by_models(program: Program, code: Code) -> bool:
    return any(is_forward(program, program.code(caller)) for caller, _ in program.callers(code.id))


def _is_once_by_name(code: Code) -> bool:
    return bool(_MAKING.match(code.short) or _DRIVING.match(code.short))


def _is_tried_out(module: Code, line: int) -> bool:
    """Under `if __name__ == "__main__":`, where files of libraries try their models out."""
    for node in module.body:
        if isinstance(node, ast.If) and node.lineno <= line <= (node.end_lineno or node.lineno):
            return "__name__" in ast.unparse(node.test)
    return False


# -- tests and data ----------------------------------------------------------------------------------------------------


def is_test(program: Program, code: Code) -> bool:
    """A test, or something in a file of tests."""
    if is_test_file(program, code.module.file):
        return True
    if code.cls is not None and any(name.endswith("TestCase") for name in ancestor_names(program, code.cls)):
        return True
    return code.decorated("fixture", "parametrize", "skipif", "skip", "patch", "given")


def is_test_file(program: Program, file: str) -> bool:
    kept = _of(program).tests
    if file not in kept:
        kept[file] = is_test_path(file, program.project.roots)
    return kept[file]


def is_test_path(file: str, roots: list[str]) -> bool:
    """Whether a file's name, or a folder between it and the root of the scan, says that it holds tests."""
    path = Path(os.path.realpath(file))
    if path.stem.startswith(("test_", "conftest")) or path.stem.endswith(_TEST_STEMS):
        return True
    for root in roots:
        if path.is_relative_to(root):
            folders = path.relative_to(root).parts[:-1]
            return any(part in _TEST_FOLDERS for part in folders)
    return False


def is_loading(program: Program, code: Code) -> bool:
    """Part of a dataset or of what a `DataLoader` runs in its workers."""
    if code.short in _LOADING or "collate" in code.name or "tokeniz" in code.name.lower():
        return True
    in_folder = any(part in _DATA_FOLDERS for part in code.module.name.split(".")[1:])
    if in_folder and not (is_forward(program, code) and _learns(program, code.cls)):
        return True
    return code.cls is not None and not set(_OF_DATA).isdisjoint(ancestor_names(program, code.cls))


def _learns(program: Program, cls: Class | None) -> bool:
    """Whether a module has parameters or layers: augmentations and transforms of data have none."""
    seen: set[int | str] = set()  # objects and classes that were looked at
    values = _held_by(program, cls) if cls is not None else []
    while values:
        value = values.pop()
        if any(atom.kind == "parameter" for atom in value.tensors()):
            return True
        for obj in value.objects():
            if id(obj) in seen:
                continue
            seen.add(id(obj))
            if isinstance(obj.cls, Class):
                if obj.cls.id not in seen and is_module(program, obj.cls):
                    seen.add(obj.cls.id)
                    values += _held_by(program, obj.cls)
            elif obj.kind != "instance" or obj.cls in _HOLDERS:
                values += [obj.contents(), *(cell.value for cell in obj.attributes.values())]
            elif obj.cls.startswith("torch.nn."):
                return True
    return False


def _held_by(program: Program, cls: Class) -> list[Value]:
    """What the objects of a class hold in their attributes."""
    return [cell.value for obj in program.objects_of(cls) for cell in obj.attributes.values()]


def is_update(program: Program, code: Code) -> bool:
    """It updates parameters one by one, or lists of them, which `foreach` and fused kernels do better."""
    if any(part in ("optim", "optimizer", "optimizers", "optimizing") for part in code.module.name.split(".")[1:]):
        return True
    ancestors = [ancestor_names(program, cls) for cls in (code.cls,) if cls is not None]
    for caller, place in program.callers(code.id):
        if any(
            _PARAMETERS.search(ast.unparse(source)) for source in sources_around(program, program.code(caller), place)
        ):
            return True  # each has a shape of its own: a graph for each, until Dynamo gives up
        cls = program.code(caller).cls
        ancestors += [ancestor_names(program, cls)] if cls is not None else []
    if any("torch.optim.Optimizer" in names or "Optimizer" in names for names in ancestors):
        return True
    return _only_visits_parameters(program, code)


def _only_visits_parameters(program: Program, code: Code) -> bool:
    """All its operations, and those of the functions that it calls, stand in loops over parameters."""
    kept = _of(program).visits
    if code not in kept:
        kept[code] = False  # against circles
        kept[code] = _visits(program, code)
    return kept[code]


def _visits(program: Program, code: Code) -> bool:
    found = False
    for event in program.events(code.id):
        if not isinstance(event, Call) or not event_estimate(program, event, "cpu").operations:
            continue
        found = True
        if any(_PARAMETERS.search(ast.unparse(source)) for source in sources_around(program, code, event.place)):
            continue
        called = [program.code(id) for id in event.functions]
        if not called or not all(_only_visits_parameters(program, inner) for inner in called):
            return False
    return found


# -- exported models ---------------------------------------------------------------------------------------------------


def exported(program: Program) -> set[Code]:
    """What is scripted, traced or exported, with everything that it calls and every method of its classes."""
    known = _of(program)
    if known.exported is None:
        known.exported = set()
        for root in _export_roots(program):
            if root in known.exported:
                continue
            known.exported |= {program.code(id) for id, _ in program.reached(root.id)}
    return known.exported


def _export_roots(program: Program) -> Iterator[Code]:
    for code, mark in program.graphs.items():
        if mark.by in _EXPORTS:
            yield code
    for module in program.modules.values():
        words = _jit_words(module.code)
        for code in module.functions:
            if code.decorated("script", "export", "script_method") or (words and _is_scriptable(module.code, code)):
                yield code
        if not words:
            continue
        for code in (module.code, *module.functions):
            for event in program.events(code.id):
                if isinstance(event, Call) and any(t in _EXPORTS for t in event.targets):
                    for value in [*event.args, *(value for _, value in event.kwargs)]:
                        yield from _functions(program, value)


def _jit_words(module: Code) -> bool:
    """Whether a file speaks of TorchScript, ONNX or FX at all."""
    for node in module.walk():
        if isinstance(node, ast.Attribute) and node.attr in ("jit", "onnx", "fx", "export"):
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_EXPORTERS):
            return True
    return False


def _is_scriptable(module: Code, code: Code) -> bool:
    """A class that is written for TorchScript: `torch.jit.is_scripting()`, `@torch.jit.ignore`, `torch.jit.Final`."""
    if code.short != "forward" or code.cls is None:
        return False
    if any(isinstance(node, ast.ImportFrom) and node.module == "torch.jit" for node in module.body):
        return True
    for node in code.cls.code.walk():
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "jit":
            return True
        if isinstance(node, ast.Attribute) and node.attr == "is_in_onnx_export":
            return True
    return False


def _functions(program: Program, value: Value) -> Iterator[Code]:
    """The functions behind a value: itself, or the forward of a model."""
    for atom in value.atoms:
        if isinstance(atom, FunctionValue):
            yield atom.code
        elif isinstance(atom, Bound) and isinstance(atom.function, FunctionValue):
            yield atom.function.code
    for obj in value.objects():
        if isinstance(obj.cls, Class):
            yield from forwards_of(program, obj.cls)


def forwards_of(program: Program, cls: Class) -> list[Code]:
    """The `forward` that a class has, its own or the one of a base that the project defines."""
    for one in (cls, *(base for base in program.orders.get(cls, ()) if isinstance(base, Class))):
        found = [code for code in one.module.codes.values() if code.cls is one and code.short == "forward"]
        if found:
            return found
    return []
