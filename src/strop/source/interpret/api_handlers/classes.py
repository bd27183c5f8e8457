"""Library calls that look at classes, attributes and names: graph functions, `super`, `getattr`, `type`, imports."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from strop.source.interpret.activation import CallArguments
from strop.source.interpret.api_handlers import api_handler
from strop.source.interpret.heap import Object
from strop.source.interpret.joins import join_all
from strop.source.interpret.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    Atom,
    Bound,
    ClassAtom,
    Const,
    FunctionValue,
    Partial,
    Primitive,
    Value,
    class_of,
    library,
    module_of,
    partial,
    super_of,
    unknown,
)
from strop.source.project.declarations import Class

if TYPE_CHECKING:
    from strop.source.interpret.calls import Calls


@api_handler(
    "tensorflow.function",
    "torch.compile",
    "torch.jit.script",
    "torch.jit.trace",
    "jax.jit",
    "tensorflow.autograph.experimental.do_not_convert",
)
def graph_function(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    """`tf.function(f)` is f, marked; without f it is a decorator with arguments."""
    from strop.source.interpret.interpreter import GraphMark

    by = run.targets[-1][-1] if run.targets and run.targets[-1] else "tensorflow.function"
    subject = (
        args.get(0, "func") if by == "tensorflow.function" else args.get(0, "model" if by == "torch.compile" else "fn")
    )
    if not subject.atoms and (args.positional or {"func", "model", "fn"} & set(args.kwargs)):
        return NOTHING  # something that nothing has reached so far
    kwargs = {k: v for k, v in args.kwargs.items() if k not in ("func", "model")}
    names = ("func", "input_signature", "autograph", "jit_compile", "reduce_retracing")
    if by == "tensorflow.function":
        kwargs.update(zip(names[1:], args.positional[1:]))
    if not subject.atoms or subject.is_none():
        return partial(library(by).value, (), tuple(kwargs.items())).value
    if by.endswith("do_not_convert"):
        return subject
    for atom in subject.atoms:
        for code in _codes(run, atom):
            decorator = at in code.decorators or any(at is d for d in code.decorators)
            mark = GraphMark(run.code.place(at), by, kwargs, decorator)
            if code not in run.program.graphs:
                run.program.graphs[code] = mark
                run.program.definitions += 1
    return subject


def _codes(run: Calls, atom: Atom) -> list[Any]:
    if isinstance(atom, FunctionValue):
        return [atom.code]
    if isinstance(atom, Bound):
        return _codes(run, atom.function)
    if isinstance(atom, Partial):
        return [code for inner in atom.function.atoms for code in _codes(run, inner)]
    if isinstance(atom, Object) and isinstance(atom.cls, Class):
        for name in ("forward", "call", "__call__"):
            found = run.find_member(run.order(atom.cls), name)
            if found is not None and isinstance(found[0], Class):
                return [code for inner in found[1].atoms for code in _codes(run, inner)]
    return []


@api_handler("builtins.super")
def super_(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    if args.positional:
        classes = [atom.cls for atom in args.positional[0].atoms if isinstance(atom, ClassAtom)]
        receivers = args.get(1)
    else:
        code = run.code
        while code.cls is None and code.parent is not None:
            code = code.parent
        name = code.receiver()
        if code.cls is None or name is None:
            return UNKNOWN
        classes = [code.cls]
        receivers = run.load(name, at)
    found = [super_of(c, a).value for c in classes for a in receivers.atoms if isinstance(a, (Object, ClassAtom))]
    return join_all(found) if found else UNKNOWN


@api_handler("builtins.getattr")
def getattr_(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    names = [name for name in args.get(1).constants() if isinstance(name, str)]
    default = args.get(2)
    if not names or len(names) != len(args.get(1).atoms):
        found = [run.attribute(args.get(0), name, at) for name in names]
        return join_all([*found, default, unknown("an attribute whose name is computed")])
    return join_all([*(run.attribute(args.get(0), name, at) for name in names), default])


@api_handler("builtins.setattr", "builtins.object.__setattr__")
def setattr_(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    owner = receiver.value if receiver is not None else args.get(0)
    name, value = (args.get(0), args.get(1)) if receiver is not None else (args.get(1), args.get(2))
    names = [n for n in name.constants() if isinstance(n, str)]
    target = ast.Attribute(ast.Name("object", ast.Load()), names[0] if len(names) == 1 else "*", ast.Store())
    ast.copy_location(target, at)
    if len(names) == len(name.atoms):
        for n in names:
            target.attr = n
            run.store_attribute(target, owner, value, at)
        return NONE
    for obj in owner.objects():
        run.program.put_wild(obj, value)
    run.note_write(at, "attribute", target, owner, value)
    return NONE


@api_handler("builtins.delattr")
def delattr_(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    run.note_write(at, "delete", "delattr()", args.get(0), NOTHING)
    return NONE


@api_handler(
    "torch.nn.Module.register_buffer", "torch.nn.Module.register_parameter", "torch.nn.Module.add_module",
    "torch.nn.Module.register_module",
)  # fmt: skip
def register(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    if receiver is not None:
        setattr_(run, args, at, receiver)
    return NONE


@api_handler("builtins.type")
def type_(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    found = []
    for atom in args.get(0).atoms:
        if isinstance(atom, Object) and isinstance(atom.cls, Class):
            found.append(class_of(atom.cls).value)
        elif isinstance(atom, Object) and isinstance(atom.cls, str):
            found.append(library(atom.cls).value)
        elif isinstance(atom, (Const, Primitive)):
            found.append(library(f"builtins.{atom.type}").value)
        else:
            found.append(UNKNOWN)
    return join_all(found)


@api_handler("builtins.vars")
def vars_(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    return run.attribute(args.get(0), "__dict__", at) if args.positional else UNKNOWN


@api_handler("builtins.globals")
def globals_(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    return unknown("globals()", before=True)


@api_handler("importlib.import_module", "builtins.__import__")
def import_module(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    name = args.get(0).constant()
    if not isinstance(name, str):
        return unknown("a module whose name is computed")
    module = run.program.find_module(run.code.module, name)
    return module_of(module) if module is not None else library(run.apis.canonical(name)).value


@api_handler("collections.namedtuple")
def namedtuple(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    fields = args.get(1, "field_names")
    text = fields.constant()
    if isinstance(text, str):
        names = text.replace(",", " ").split()
    else:
        items = run.positions(fields, at) or []
        names = [str(item.constant()) for item in items]
    node = ast.ClassDef(str(args.get(0).constant()), [], [], [], [])
    ast.copy_location(node, at)
    key = run.program.records.setdefault(id(at), Class(node, node.name, run.code.module, run.code))
    key.node.body = [ast.AnnAssign(ast.Name(n, ast.Store()), ast.Name("object", ast.Load()), None, 1) for n in names]
    run.program.bases[key] = [library("typing.NamedTuple").value]
    run.program.ancestors.pop(key, None)
    return class_of(key).value
