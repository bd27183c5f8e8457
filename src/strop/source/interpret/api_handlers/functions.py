"""Library calls that take functions or make them: partial ones, decorators, `map`, `reduce`, getters of `operator`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from strop.source.interpret.activation import CallArguments
from strop.source.interpret.api_handlers import api_handler
from strop.source.interpret.heap import Object
from strop.source.interpret.joins import join, join_all
from strop.source.interpret.values import (
    PARTIAL_METHOD,
    UNKNOWN,
    Atom,
    Bound,
    ClassAtom,
    FunctionValue,
    Partial,
    Value,
    intern_value,
    library,
    partial,
    primitive,
    tuple_of,
)

if TYPE_CHECKING:
    from strop.source.interpret.calls import Calls


@api_handler("functools.partialmethod")
def partialmethod_(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    if not args.positional:
        return UNKNOWN
    rest = tuple(args.positional[1:])
    return partial(args.positional[0], rest, tuple(args.kwargs.items()), PARTIAL_METHOD).value


@api_handler("functools.partial", "builtins.staticmethod")  # neither binds a receiver
def partial_(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    if not args.positional:
        return UNKNOWN
    rest = tuple(args.positional[1:])
    whole: list[Atom] = []
    found: list[Value] = []
    for atom in args.positional[0].atoms:
        if isinstance(atom, Partial) and not atom.by:
            # one partial of the function inside, as Python makes it: an attribute that wraps itself again and again
            # would otherwise hold each of its wrappings in all that come after it
            kwargs = {**dict(atom.kwargs), **args.kwargs}
            found.append(partial(atom.function, (*atom.args, *rest), tuple(kwargs.items())).value)
        else:
            whole.append(atom)
    if whole:
        found.append(partial(intern_value(tuple(whole)), rest, tuple(args.kwargs.items())).value)
    return join_all(found)


@api_handler(
    "functools.lru_cache", "functools.cache", "functools.singledispatch", "functools.total_ordering", "typing.overload",
    "contextlib.contextmanager", "contextlib.asynccontextmanager", "abc.abstractmethod", "typing.final",
    "typing.no_type_check", "functools.cached_property", "atexit.register", "typing.runtime_checkable",
    "dataclasses.dataclass", "torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.jit.ignore",
    "torch.jit.export", "torch.jit.unused", "torch.compiler.disable", "tensorflow.custom_gradient",
    "tensorflow.keras.saving.register_keras_serializable", "tensorflow.keras.utils.register_keras_serializable",
    "enum.unique", "pytest.fixture",
)  # fmt: skip
def identity_decorator(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    """`@d` and `@d(…)` leave what they decorate as it is; without something to decorate, `d(…)` is also an object."""
    subject = args.get(0)
    if any(isinstance(atom, (FunctionValue, Bound, ClassAtom, Partial)) for atom in subject.atoms):
        return subject
    by = run.targets[-1][-1] if run.targets and run.targets[-1] else "functools.lru_cache"
    decorator = partial(library(by).value).value
    return decorator if by.startswith("functools.") else join(decorator, run.new(at, "instance", by).value)


@api_handler("functools.wraps", "functools.update_wrapper")
def wraps(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    return library("strop.identity").value


@api_handler("strop.identity", "typing.cast")
def identity(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    return args.positional[-1] if args.positional else UNKNOWN


@api_handler("builtins.map")
def map_(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    elements = [run.iterate(value, at) for value in args.positional[1:]]
    return run.container(at, "iterator", run.call(args.get(0), CallArguments(elements), at))


@api_handler("builtins.filter")
def filter_(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    element = run.iterate(args.get(1), at)
    if not args.get(0).is_none():
        run.call(args.get(0), CallArguments([element]), at)
    return run.container(at, "iterator", element)


@api_handler("torch.nn.Module.children", "torch.nn.Module.modules")
def submodules(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    return run.container(at, "iterator", _submodules(run, receiver))


@api_handler("torch.nn.Module.named_children", "torch.nn.Module.named_modules")
def named_submodules(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    return run.container(at, "iterator", tuple_of((primitive("str"), _submodules(run, receiver))))


def _submodules(run: Calls, module: Atom | None) -> Value:
    """What a module holds, as elements or in attributes."""
    if not isinstance(module, Object):
        return UNKNOWN
    found = [run.read_contents(module)]
    run.reads.sizes.append((module.attributes, len(module.attributes)))
    for cell in list(module.attributes.values()):
        found += [obj.value for obj in run.read(cell).objects() if obj.kind == "instance"]
    return join_all(found) or UNKNOWN


@api_handler("functools.reduce")
def reduce_(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    element = run.iterate(args.get(1), at)
    state = join(args.get(2), element)
    for _ in range(3):
        grown = join(state, run.call(args.get(0), CallArguments([state, element]), at))
        if grown is state:
            break
        state = grown
    return state


@api_handler("operator.attrgetter", "operator.itemgetter", "operator.methodcaller")
def getter(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    target = run.targets[-1][-1] if run.targets and run.targets[-1] else ""
    return partial(library(f"{target}.apply").value, tuple(args.positional)).value


@api_handler("operator.itemgetter.apply")
def item_getter(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    return run.item(args.positional[-1], args.get(0), at)


@api_handler("operator.attrgetter.apply")
def attribute_getter(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    name = args.get(0).constant()
    return run.attribute(args.positional[-1], name, at) if isinstance(name, str) else UNKNOWN


@api_handler("operator.methodcaller.apply")
def method_caller(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    name = args.get(0).constant()
    if not isinstance(name, str):
        return UNKNOWN
    return run.call(run.attribute(args.positional[-1], name, at), CallArguments(args.positional[1:-1]), at)
