"""Functions that nothing in the project calls: run last, on what hints, defaults and names say of their parameters."""

from __future__ import annotations

import ast
import fnmatch
from typing import TYPE_CHECKING

from strop.source.interpret.hints import hint, instance
from strop.source.interpret.joins import join
from strop.source.interpret.usage import Use, uses
from strop.source.interpret.values import (
    NOTHING,
    ClassAtom,
    LibraryValue,
    Unknown,
    Value,
    class_of,
    function,
    primitive,
    tensor,
)
from strop.source.project.declarations import Code

if TYPE_CHECKING:
    from strop.source.interpret.interpreter import Program

#: names that promise tensors, by framework; a name is matched against the function's last word
SPECULATIVE = {"tensorflow": ("*train*_step", "*test*_step", "run_model", "*inference"), "torch": ()}
#: methods that promise tensors in classes with such an ancestor
SPECULATIVE_METHODS = {
    "tensorflow": (("call", "__call__"), ("Model",)),
    "torch": (
        ("forward", "training_step", "validation_step", "test_step", "predict_step"),
        ("Module", "LightningModule"),
    ),
}


def run_entries(program: Program) -> None:
    """Run what is left: first functions that no other unreached function mentions, then the rest in order."""
    _escaped(program)
    for only_roots in (True, False):
        waiting = [code for code in _scanned(program) if not code.nodes]
        mentioned: set[str] = set()
        for code in waiting if only_roots else ():
            mentioned |= code.calls
        for code in sorted(waiting, key=lambda c: c.short != "__init__"):
            if code.nodes or (only_roots and (code.short in mentioned or isinstance(code.node, ast.Lambda))):
                continue
            run_entry(program, code)
            program.settle()
    _escaped(program)
    _unclear(program)


def _unclear(program: Program) -> None:
    """Functions that get only unknown values, but use them like tensors, are run with tensors as well."""
    if not program.speculate:
        return
    for code in _scanned(program):
        if (
            isinstance(code.node, ast.Lambda)
            or code in program.speculated
            or module_framework(program, code) != "torch"
        ):
            continue
        open_ended = [p.name for p in code.parameters if p.annotation is None and _all_unknown(code, p.name)]
        if open_ended and set(open_ended) & set(uses(code)):
            run_entry(program, code)
            program.settle()


def _all_unknown(code: Code, name: str) -> bool:
    values = [node.parameters.get(name) for node in code.nodes.values()]
    return bool(values) and all(
        v is not None and v.atoms and all(isinstance(a, Unknown) for a in v.atoms) for v in values
    )


def _scanned(program: Program) -> list[Code]:
    """The functions and lambdas of the scanned files; followed files are only read for what they define."""
    codes = [code for module in program.modules.values() for code in module.codes.values()]
    return [code for code in codes if not isinstance(code.node, ast.ClassDef)]


def _escaped(program: Program) -> None:
    """Functions that strangers may call get unknown arguments as well."""
    done: set[Code] = set()
    while waiting := [code for code in program.escaped if code not in done]:
        for code in waiting:
            done.add(code)
            run_entry(program, code)
        program.settle()


def run_entry(program: Program, code: Code) -> None:
    """Interpret a function as if a stranger called it."""
    atom = program.atoms.get(code) or function(code, None)
    values: dict[str, Value] = {}
    speculates = program.speculate and speculation(program, code)
    framework = module_framework(program, code)
    used = uses(code, bool(speculates)) if program.speculate and framework == "torch" else {}
    for index, parameter in enumerate(code.parameters):
        name = parameter.name
        hinted = hint(program, code, parameter.annotation) if program.hints else None
        default = program.defaults.get(code, {}).get(name)
        if index == 0 and code.receiver() == name:
            assert code.cls is not None
            values[name] = class_of(code.cls).value if code.is_class_method else instance(program, code.cls)
        elif hinted is not None:
            values[name] = hinted if default is None else join(hinted, default)
        elif framework == "torch" and name in used and _open(default):
            values[name] = _used_as(program, code, used[name], name, default)
            program.speculated.setdefault(code, []).append(name)
        elif speculates and framework == "tensorflow" and parameter.kind not in ("args", "kwargs") and _open(default):
            values[name] = tensor(framework)
            program.speculated.setdefault(code, []).append(name)
        elif parameter.kind in ("args", "kwargs"):
            kind = "tuple" if parameter.kind == "args" else "dict"
            obj = program.allocate(None, code.node, kind, f"builtins.{kind}")
            program.put_wild(obj, program.unknown_argument(code, name), program.unknown_argument(code, name))
            values[name] = obj.value
        else:
            unknown = program.unknown_argument(code, name)
            values[name] = unknown if default is None else join(unknown, default)
    node = program.node(atom, "entry")
    program.invoke(None, code.node, node, values, set())
    node.entry = True


def _used_as(program: Program, code: Code, use: Use, name: str, default: Value | None) -> Value:
    """What the code of a function makes of a parameter: a tensor, a list or a dict of tensors."""
    value = tensor("torch")
    if use.kind != "tensor":
        kind = "list" if use.kind == "tensors" else "dict"
        obj = program.allocate(None, code.node, f"{kind} {name}", f"builtins.{kind}")
        obj.kind = kind
        program.put_wild(obj, value, primitive("str") if kind == "dict" else NOTHING)
        value = obj.value
    return value if default is None else join(value, default)


def _open(default: Value | None) -> bool:
    """No default, or None: the parameter may well be a tensor."""
    return default is None or default.is_none()


def speculation(program: Program, code: Code) -> str:
    """Why a function's name promises tensors; empty when it does not."""
    framework = module_framework(program, code)
    if framework is None:
        return ""
    short = code.short
    for pattern in SPECULATIVE[framework]:
        if fnmatch.fnmatchcase(short.lower(), pattern):
            return f"the name `{short}` looks like `{pattern}`"
    methods, ancestors = SPECULATIVE_METHODS[framework]
    if short in methods and code.cls is not None:
        for base in ancestor_names(program, code.cls):
            if base.rpartition(".")[2] in ancestors:
                return f"`{short}` belongs to a class with `{base}` among its ancestors"
    if framework == "torch" and (guessed := program.speculated.get(code)):
        used = uses(code, True)
        lines = [f"`{used[name].text}` in line {used[name].line}" for name in guessed if name in used]
        return f"used like one in {', '.join(lines[:3])}" if lines else ""
    return ""


def ancestor_names(program: Program, cls: object) -> list[str]:
    """Names of all base classes, libraries' ones dotted; unresolved ones as they are written."""
    known = program.ancestors.get(cls)
    if known is None:
        names: dict[str, None] = {}
        _collect_ancestors(program, cls, names, set())
        known = program.ancestors[cls] = list(names)
    return known


def _collect_ancestors(program: Program, cls: object, names: dict[str, None], seen: set[object]) -> None:
    for value, written in zip(program.bases.get(cls, ()), cls.node.bases):  # type: ignore[call-overload, attr-defined]
        for atom in value.atoms:
            if isinstance(atom, ClassAtom) and atom.cls not in seen:
                seen.add(atom.cls)
                names[atom.cls.name] = None
                _collect_ancestors(program, atom.cls, names, seen)
            elif isinstance(atom, LibraryValue):
                names.update(dict.fromkeys(program.apis.mro(atom.dotted)))
        if not any(isinstance(atom, (ClassAtom, LibraryValue)) for atom in value.atoms):
            names[ast.unparse(written)] = None


def module_framework(program: Program, code: Code) -> str | None:
    """The framework that a function's module imports; the first one where it imports several."""
    imports = code.module.imports
    if imports & {"tensorflow", "keras", "tf_keras", "tensorflow_probability"}:
        return "tensorflow"
    if "torch" in imports:
        return "torch"
    names = program.apis.aliases
    return next(
        (
            program.apis.framework(names[i])
            for i in sorted(imports)
            if i in names and program.apis.framework(names[i]) in ("tensorflow", "torch")
        ),
        None,
    )
