"""Library calls on containers: they make, iterate over, copy, fold and map lists, tuples, sets and dicts."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from strop.source.interpret.activation import CallArguments
from strop.source.interpret.api_handlers import API_HANDLERS, ApiHandler, api_handler
from strop.source.interpret.heap import Cell, Object
from strop.source.interpret.joins import join, join_all
from strop.source.interpret.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    Atom,
    Const,
    Tensor,
    Tuple,
    Value,
    const,
    primitive,
    tuple_of,
)
from strop.source.project.declarations import Class

if TYPE_CHECKING:
    from strop.source.interpret.calls import Calls


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
            run.look_into(atom)
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
        run.look_into(atom)
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
