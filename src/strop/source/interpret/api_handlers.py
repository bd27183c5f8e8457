"""Library calls that data cannot describe: they look at names, types, structure, or at the interpreter itself."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from strop.source.interpret.activation import CallArguments
from strop.source.interpret.heap import Cell, Object
from strop.source.interpret.values import (
    NONE,
    NOTHING,
    PARTIAL_METHOD,
    UNKNOWN,
    Atom,
    Bound,
    ClassAtom,
    Const,
    FunctionValue,
    Partial,
    Primitive,
    Tensor,
    Tuple,
    Value,
    class_of,
    const,
    join,
    join_all,
    library,
    module_of,
    partial,
    primitive,
    super_of,
    tuple_of,
    unknown,
)
from strop.source.project.declarations import Class

if TYPE_CHECKING:
    from strop.source.interpret.calls import Calls

ApiHandler = Callable[["Calls", CallArguments, ast.AST, "Atom | None"], Value]
API_HANDLERS: dict[str, ApiHandler] = {}


def api_handler(*names: str) -> Callable[[ApiHandler], ApiHandler]:
    def register(handler: ApiHandler) -> ApiHandler:
        for name in names:
            API_HANDLERS[name] = handler
        return handler

    return register


# -- graph functions ---------------------------------------------------------------------------------------------------


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
            run.program.graphs.setdefault(code, mark)
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


# -- attributes and classes --------------------------------------------------------------------------------------------


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
    return class_of(key).value


# -- functions on functions --------------------------------------------------------------------------------------------


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
    return partial(args.positional[0], tuple(args.positional[1:]), tuple(args.kwargs.items())).value


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


# -- containers --------------------------------------------------------------------------------------------------------


@api_handler("builtins.zip", "itertools.zip_longest", "itertools.product")
def zip_(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    if args.star.atoms:
        return run.container(at, "iterator", run.container(at, "tuple", run.iterate(args.star, at), tag=1))
    columns = [run.positions(value, at) for value in args.positional]
    known = [column for column in columns if column is not None]
    if columns and len(known) == len(columns) and len({len(column) for column in known}) == 1 and len(known[0]) <= 16:
        return run.sequence(at, "iterator", [tuple_of(row) for row in zip(*known)])
    return run.container(at, "iterator", tuple_of(tuple(run.iterate(value, at) for value in args.positional)))


@api_handler("builtins.enumerate")
def enumerate_(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    return run.container(at, "iterator", tuple_of((primitive("int"), run.iterate(args.get(0), at))))


@api_handler(
    "builtins.reversed",
    "builtins.sorted",
    "itertools.islice",
    "itertools.cycle",
    "builtins.iter",
    "random.sample",
    "tqdm.tqdm",
    "tqdm.auto.tqdm",
)
def same_elements(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    if "key" in args.kwargs and not args.kwargs["key"].is_none():
        run.call(args.kwargs["key"], CallArguments([run.iterate(args.get(0), at)]), at)
    target = run.targets[-1][-1] if run.targets and run.targets[-1] else ""
    if target == "builtins.iter" and any(isinstance(a, Object) and a.kind == "instance" for a in args.get(0).atoms):
        for obj in args.get(0).objects():
            if isinstance(obj.cls, Class) and run.find_member(run.order(obj.cls), "__iter__"):
                return run.call(run.attribute(obj.value, "__iter__", at), CallArguments(), at)
    if target == "builtins.iter" and (datasets := run.datasets(args.get(0))).atoms:
        stream = run.new(at, "instance", "tensorflow.data.Iterator")
        run.store_on(stream, "elements", run.iterate(datasets, at))
        return stream.value
    kind = "list" if target.endswith(("sorted", "sample")) else "iterator"
    return run.container(at, kind, run.iterate(args.get(0, "iterable"), at))


@api_handler("itertools.chain", "heapq.merge")
def chain(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    return run.container(at, "iterator", join_all([run.iterate(value, at) for value in args.every()]))


@api_handler("itertools.chain.from_iterable")
def chain_from(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    return run.container(at, "iterator", run.iterate(run.iterate(args.get(0), at), at))


@api_handler("builtins.next", "builtins.anext")
def next_(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    found = []
    for atom in args.get(0).atoms:
        if isinstance(atom, Object) and isinstance(atom.cls, Class):
            found.append(run.call(run.attribute(atom.value, "__next__", at), CallArguments(), at))
        else:
            found.append(run.iterate(atom.value, at))
        if isinstance(atom, Object) and isinstance(atom.cls, str) and not atom.cls.startswith("tensorflow."):
            run.note_write(at, "method", "next()", atom.value, NOTHING)  # a dataset's iterator is TensorFlow's state
    return join_all([*found, args.get(1)])


def _sequence(kind: str) -> ApiHandler:
    def build(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
        source = args.get(0)
        if not source.atoms and args.positional:
            return NOTHING
        known = run.positions(source, at) if args.positional else []
        if known is not None and kind == "tuple":
            return tuple_of(tuple(known))
        if known is not None and kind == "list":
            return run.sequence(at, "list", known)
        return run.container(at, kind, run.iterate(source, at))

    return build


for _kind in ("list", "tuple", "set", "frozenset"):
    API_HANDLERS[f"builtins.{_kind}"] = _sequence(_kind)
API_HANDLERS["collections.deque"] = _sequence("list")


@api_handler("builtins.dict", "collections.OrderedDict", "collections.defaultdict", "collections.Counter")
def dict_(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    obj = run.new(at, "dict", "builtins.dict")
    target = run.targets[-1][-1] if run.targets and run.targets[-1] else ""
    sources = args.positional
    if target.endswith("defaultdict") and sources:
        run.program.put_wild(obj, run.call(sources[0], CallArguments(), at), UNKNOWN)
        sources = sources[1:]
    if target.endswith("Counter"):
        run.program.put_wild(obj, primitive("int"), run.iterate(args.get(0), at))
        return obj.value
    for source in sources:
        fill_dict(run, obj, source, at)
    run.program.put_items(obj, dict(args.kwargs))
    run.program.put_wild(obj, args.star_kwargs)
    return obj.value


def fill_dict(run: Calls, obj: Object, source: Value, at: ast.AST) -> None:
    """What `dict.update` takes over from another dict, or from pairs."""
    for atom in source.atoms:
        if isinstance(atom, Object) and atom.kind == "dict":
            atom.readers[run.node] = None
            run.program.put_items(obj, dict(atom.items))
            run.program.put_wild(obj, atom.wild, atom.keys)
            continue
        for pair in run.positions(atom.value, at) or [run.iterate(atom.value, at)]:
            key, value = run.unpack(pair, 2, None, at)
            constant = key.constant()
            if isinstance(constant, (str, int)):
                run.program.put_items(obj, {constant: value})
            else:
                run.program.put_wild(obj, value, key)


@api_handler("builtins.dict.update")
def update(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    if receiver is None:
        return NONE
    run.note_write(at, "method", "update()", receiver.value, join_all(args.every()))
    if isinstance(receiver, Object):
        for source in args.positional:
            fill_dict(run, receiver, source, at)
        run.program.put_items(receiver, dict(args.kwargs))
        run.program.put_wild(receiver, args.star_kwargs)
    return NONE


@api_handler("builtins.dict.get", "builtins.dict.pop", "builtins.dict.setdefault")
def dict_get(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    target = run.targets[-1][-1] if run.targets and run.targets[-1] else ""
    if receiver is None:
        return UNKNOWN
    default = args.get(1, "default")
    if target.endswith("setdefault") and isinstance(receiver, Object):
        run.program.put_wild(receiver, default, args.get(0))
    if not target.endswith("get"):
        run.note_write(at, "method", f"{target.rpartition('.')[2]}()", receiver.value, default)
    found = run.item(receiver.value, args.get(0), at)
    if not default.atoms and target.endswith("get"):
        default = NONE
    return join(found, default)


@api_handler(
    "copy.copy", "copy.deepcopy", "builtins.list.copy", "builtins.dict.copy", "builtins.set.copy", "dataclasses.replace"
)
def copied(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    source = receiver.value if receiver is not None else args.get(0)
    found = []
    for atom in source.atoms:
        if not isinstance(atom, Object):
            found.append(atom.value)
            continue
        atom.readers[run.node] = None
        twin = run.new(at, atom.kind, atom.cls, atom.serial)
        run.program.put_items(twin, dict(atom.items))
        run.program.put_wild(twin, atom.wild, atom.keys, atom.shuffled)
        for name, cell in list(atom.attributes.items()):
            run.program.write(twin.attributes.setdefault(name, Cell()), run.read(cell))
        for name, value in args.kwargs.items():
            run.program.write(twin.attributes.setdefault(name, Cell()), value)
        found.append(twin.value)
    return join_all(found)


@api_handler("builtins.sum", "builtins.max", "builtins.min")
def fold(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    """`sum` adds the elements; `max` and `min` choose among the elements or the arguments."""
    target = run.targets[-1][-1] if run.targets and run.targets[-1] else "builtins.sum"
    several = len(args.positional) > 1 and not target.endswith("sum")
    element = join_all(args.positional) if several else run.iterate(args.get(0), at)
    if "key" in args.kwargs and not args.kwargs["key"].is_none():
        run.call(args.kwargs["key"], CallArguments([element]), at)
    if any(isinstance(atom, Tensor) for atom in element.atoms):
        run.note_operator(at, "tensorflow.Tensor.__add__", [element], element)
    if not target.endswith("sum"):
        return join(element, args.kwargs.get("default", NOTHING))
    kinds = [primitive(a.type).atoms[0] if isinstance(a, Const) and a.type != "NoneType" else a for a in element.atoms]
    total = join_all([a.value for a in kinds])
    return total if total.atoms else primitive("int")


@api_handler("builtins.str", "builtins.repr", "builtins.format", "builtins.len", "builtins.bool", "builtins.hash")
def of_object(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    target = (run.targets[-1][-1] if run.targets and run.targets[-1] else "builtins.str").rpartition(".")[2]
    for obj in args.get(0).objects():
        if not isinstance(obj.cls, Class):
            continue
        if target in ("str", "repr", "format"):
            run.text_of(obj, at)
        elif run.find_member(run.order(obj.cls), f"__{target}__") is not None:
            return run.call(run.attribute(obj.value, f"__{target}__", at), CallArguments(), at)
    if target == "len" and len(args.positional) == 1:
        known = run.positions(args.positional[0], at)
        if known is not None:
            return const(len(known))
    return primitive({"str": "str", "repr": "str", "format": "str", "bool": "bool"}.get(target, "int"))


@api_handler("builtins.isinstance", "builtins.issubclass", "builtins.callable", "builtins.hasattr")
def asks(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    return primitive("bool")


@api_handler(
    "tensorflow.nest.map_structure", "tree.map_structure", "torch.utils._pytree.tree_map", "jax.tree_util.tree_map"
)
def map_structure(run: Calls, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
    function = args.get(0)
    leaves = [_leaves(run, value, 4, {}) for value in args.positional[1:]]
    result = run.call(function, CallArguments(leaves), at)
    source = args.get(1)
    found = []
    for atom in source.atoms:
        if isinstance(atom, Tuple):
            found.append(tuple_of(tuple(result for _ in atom.items)))
        elif isinstance(atom, Object) and atom.kind in ("list", "dict"):
            found.append(run.container(at, atom.kind, result, atom.all_keys() if atom.kind == "dict" else NOTHING))
        else:
            found.append(result)
    return join_all(found)


def _leaves(run: Calls, value: Value, depth: int, done: dict[tuple[Value, int], Value]) -> Value:
    """What is inside containers; they share and hold each other, so each is looked at once per depth."""
    known = done.get((value, depth))
    if known is not None:
        return known
    found = []
    for atom in value.atoms:
        if isinstance(atom, Tuple) and depth:
            found += [_leaves(run, item, depth - 1, done) for item in atom.items]
        elif isinstance(atom, Object) and atom.kind in ("list", "dict", "set", "tuple") and depth:
            found.append(_leaves(run, run.read_contents(atom), depth - 1, done))
        else:
            found.append(atom.value)
    done[value, depth] = result = join_all(found)
    return result


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
