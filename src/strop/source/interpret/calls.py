"""Calls: arguments to parameters, constructors, methods, partial functions, callables of every kind."""

from __future__ import annotations

import ast

from strop.source.interpret.activation import CallArguments, spelled
from strop.source.interpret.api_handlers import API_HANDLERS
from strop.source.interpret.heap import Cell, FunctionContext, Object
from strop.source.interpret.hints import hint
from strop.source.interpret.joins import join, join_all
from strop.source.interpret.library import LibraryCalls
from strop.source.interpret.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    Atom,
    Bound,
    ClassAtom,
    Const,
    FunctionValue,
    LibraryValue,
    Partial,
    Primitive,
    Tuple,
    Unknown,
    Value,
    primitive,
    tensor,
    tuple_of,
    unknown,
)
from strop.source.project.declarations import Class, Code

#: methods that change their receiver, whatever it may be
_MUTATORS = frozenset(
    [
        "append",
        "extend",
        "insert",
        "remove",
        "pop",
        "clear",
        "sort",
        "reverse",
        "add",
        "discard",
        "update",
        "setdefault",
        "popitem",
        "appendleft",
        "popleft",
        "write",
        "writelines",
        "put",
    ]
)
SMALL_PROGRAM = 24  #: with this many contexts, methods are told apart by call site as well as by receiver


class Calls(LibraryCalls):
    """Everything that parentheses may do."""

    def __init__(self, program, node: FunctionContext) -> None:  # type: ignore[no-untyped-def]
        super().__init__(program, node)
        self.targets: list[list[str]] = []
        self.reaches: list[list[str]] = []

    def call_expression(self, node: ast.Call) -> Value:
        func = node.func
        receiver: Value | None = None
        if isinstance(func, ast.Attribute):
            receiver = self.evaluate(func.value)
            callee = self.attribute(receiver, func.attr, func)
            if func.attr in _MUTATORS and receiver.is_unknown():
                stranger = join_all([atom.value for atom in receiver.atoms if isinstance(atom, Unknown)])
                self.note_write(func, "method", func, stranger, NOTHING)
        else:
            callee = self.evaluate(func)
        args = self.evaluate_arguments(node)
        return self.noted_call(callee, args, node, receiver)

    def noted_call(self, callee: Value, args: CallArguments, node: ast.AST, receiver: Value | None) -> Value:
        targets: list[str] = []
        functions: list[str] = []
        self.targets.append(targets)
        self.reaches.append(functions)
        self.done.append({})
        result = self.call(callee, args, node, receiver)
        self.targets.pop()
        self.reaches.pop()
        self.done.pop()
        positional = args.positional + ([args.star] if args.star.atoms else [])
        kwargs = {**args.kwargs, "**": args.star_kwargs} if args.star_kwargs.atoms else args.kwargs
        self.note(node, "call", targets, functions, receiver, positional, kwargs, result, callee)
        return result

    def evaluate_arguments(self, node: ast.Call) -> CallArguments:
        args = CallArguments()
        for part in node.args:
            if not isinstance(part, ast.Starred):
                value = self.evaluate(part)
                if args.star.atoms:
                    args.star = join(args.star, value)
                else:
                    args.positional.append(value)
                continue
            value = self.evaluate(part.value)
            inside = None if args.star.atoms else self.positions(value, part)
            if inside is None:
                args.star = join(args.star, self.iterate(value, part))
            else:
                args.positional += inside
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            if keyword.arg is not None:
                args.kwargs[keyword.arg] = value
            else:
                self._star_kwargs(value, args)
        return args

    def _star_kwargs(self, value: Value, args: CallArguments) -> None:
        for atom in value.atoms:
            if isinstance(atom, Object) and atom.kind == "dict":
                self.look_into(atom)
                for key, item in atom.items.items():
                    if isinstance(key, str):
                        args.kwargs[key] = join(args.kwargs.get(key, NOTHING), item)
                args.star_kwargs = join(args.star_kwargs, atom.wild)
            else:
                args.star_kwargs = join(args.star_kwargs, UNKNOWN)

    # -- dispatch --------------------------------------------------------------------------------------------------

    def call(self, callee: Value, args: CallArguments, at: ast.AST, receiver: Value | None = None) -> Value:
        if len(callee.atoms) == 1:
            return self._call_atom(callee.atoms[0], args, at)
        return join_all([self._call_atom(atom, args, at) for atom in callee.atoms])

    def _call_atom(self, atom: Atom, args: CallArguments, at: ast.AST) -> Value:
        self.tick()
        if isinstance(atom, FunctionValue):
            return self.call_function(atom, args, at, None)
        if isinstance(atom, Bound):
            if isinstance(atom.function, FunctionValue):
                return self.call_function(atom.function, args, at, atom.receiver)
            return self.call_library(atom.function.dotted, args, at, atom.receiver)
        if isinstance(atom, LibraryValue):
            return self.call_library(atom.dotted, args, at, None)
        if isinstance(atom, Unknown):
            return self.call_unknown(atom, args, at)
        if isinstance(atom, ClassAtom):
            return self.instantiate(atom.cls, args, at)
        if isinstance(atom, Partial):
            if atom.by and self.targets:
                self.targets[-1].append(atom.by)
            merged = CallArguments(
                [*atom.args, *args.positional], {**dict(atom.kwargs), **args.kwargs}, args.star, args.star_kwargs
            )
            return self.call(atom.function, merged, at)
        if isinstance(atom, Object):
            return self._call_object(atom, args, at)
        return NOTHING if isinstance(atom, (Const, Primitive, Tuple)) else UNKNOWN

    def call_unknown(self, atom: Unknown, args: CallArguments, at: ast.AST) -> Value:
        """Nobody knows what is called: it may do anything, also with the functions that it is given."""
        self.note_write(at, "method", spelled(at.func) if isinstance(at, ast.Call) else "…", "unknown", NOTHING)
        self.escape(args, at)
        return unknown(atom.why or "result of an unknown call")

    def escape(self, args: CallArguments, at: ast.AST) -> None:
        """Functions that are handed to strangers may be called with anything."""
        for value in args.every():
            for atom in value.atoms:
                inner = atom.function if isinstance(atom, Bound) else atom
                if isinstance(inner, FunctionValue) and inner.code not in self.program.escaped:
                    self.program.escaped[inner.code] = self.code.place(at)

    def _call_object(self, obj: Object, args: CallArguments, at: ast.AST) -> Value:
        if isinstance(obj.cls, Class):
            found = self.find_member(self.order(obj.cls), "__call__")
            if found is None and self.has_stranger_base(obj.cls):
                bases = [b for b in self.order(obj.cls) if isinstance(b, str) and b not in ("?", "builtins.object")]
                for base in bases:
                    if self.apis.method(base, "__call__") is not None:
                        return self.call_library(f"{base}.__call__", args, at, obj)
                inner = self.find_member(self.order(obj.cls), "call") or self.find_member(
                    self.order(obj.cls), "forward"
                )
                if inner is not None:
                    return self.call(self._bind(inner[1], obj, obj.cls, at), args, at)
                return self.call_unknown(unknown(f"`{obj.class_name()}` is called").atoms[0], args, at)  # type: ignore[arg-type]
            if found is None:
                return NOTHING
            if isinstance(found[0], Class) or not self.done:
                return self.call(self._bind(found[1], obj, obj.cls, at), args, at)
            done, key = self.done[-1], (obj, *args.positional, *args.kwargs.items(), args.star, args.star_kwargs)
            if key not in done:  # a subclass of `nn.Sequential` may hold itself, too
                done[key] = NOTHING
                done[key] = self.call(self._bind(found[1], obj, obj.cls, at), args, at)
            return done[key]
        if not self.done or args.kwargs or args.star.atoms or args.star_kwargs.atoms:
            return self.call_library(f"{obj.cls}.__call__", args, at, obj)
        # an `nn.Sequential` may hold itself, and many layers of one kind: each does the same to the same arguments
        key = obj if obj.attributes or obj.items or obj.wild.atoms else obj.cls, *args.positional
        done = self.done[-1]
        if key not in done:
            done[key] = NOTHING
            done[key] = self.call_library(f"{obj.cls}.__call__", args, at, obj)
        return done[key]

    # -- functions of the project ----------------------------------------------------------------------------------

    def call_function(self, atom: FunctionValue, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
        code = atom.code
        if code.module.outline:
            return self._call_outline(code, args, at)
        if receiver is not None:
            args = args.before(receiver.value)
        elif code.is_method and args.positional and args.positional[0].objects() and code.receiver():
            receiver = args.positional[0].objects()[0] if len(args.positional[0].atoms) == 1 else None
        key: object = at
        if isinstance(receiver, (Object, ClassAtom)):
            key = (receiver, at) if self.program.max_contexts >= SMALL_PROGRAM else receiver
        if self.reaches:
            self.reaches[-1].append(code.id)
        node = self.program.node(atom, key)
        values, given = self.bind(code, args, node)
        self.program.invoke(self.node, at, node, values, given, self.exempt)
        self.reads.results.append((node, node.result))
        return node.result

    def _call_outline(self, code: Code, args: CallArguments, at: ast.AST) -> Value:
        """A function of a module that is only known by its outline: all there is to go by is its annotation."""
        self.note_write(at, "method", code.name, "unknown", NOTHING)
        self.escape(args, at)
        returned = hint(self.program, code, getattr(code.node, "returns", None)) if self.program.hints else None
        return returned if returned is not None else unknown(f"result of `{code.name}`")

    def bind(self, code: Code, args: CallArguments, node: FunctionContext) -> tuple[dict[str, Value], set[str]]:
        """What each parameter gets, and which of them the caller passed."""
        bound_values: dict[str, Value] = {}
        given: set[str] = set()
        defaults = self.program.defaults.get(code, {})
        positional = args.positional
        kwargs = args.kwargs
        used: set[str] = set()
        index = 0
        spread = join(args.star, args.star_kwargs)
        for parameter in code.parameters:
            name, kind = parameter.name, parameter.kind
            if kind in ("normal", "positional"):
                if index < len(positional):
                    bound_values[name] = positional[index]
                    given.add(name)
                    index += 1
                    continue
            elif kind == "args":
                extra = positional[index:]
                index = len(positional)
                if args.star.atoms:
                    items = join_all([*extra, args.star])
                    bound_values[name] = self._fresh(node, code, "tuple", items, NOTHING)
                else:
                    bound_values[name] = tuple_of(tuple(extra))
                if extra or args.star.atoms:
                    given.add(name)
                continue
            elif kind == "kwargs":
                rest = {key: value for key, value in kwargs.items() if key not in used}
                bound_values[name] = self._keywords(node, code, rest, args.star_kwargs)
                if rest or args.star_kwargs.atoms:
                    given.add(name)
                continue
            if kind != "positional" and name in kwargs:
                bound_values[name] = kwargs[name]
                used.add(name)
                given.add(name)
            elif spread.atoms:
                bound_values[name] = join(spread, defaults.get(name, NOTHING))
                given.add(name)
            elif name in defaults:
                bound_values[name] = defaults[name]
        return bound_values, given

    def _fresh(self, node: FunctionContext, code: Code, kind: str, element: Value, keys: Value) -> Value:
        obj = self.program.allocate(node, code.node, kind, f"builtins.{kind}")
        self.program.put_wild(obj, element, keys)
        return obj.value

    def _keywords(self, node: FunctionContext, code: Code, rest: dict[str, Value], wild: Value) -> Value:
        obj = self.program.allocate(node, code.node, "dict", "builtins.dict")
        self.program.put_items(obj, dict(rest))
        if wild.atoms:
            self.program.put_wild(obj, wild, primitive("str"))
        return obj.value

    # -- classes ---------------------------------------------------------------------------------------------------

    def instantiate(self, cls: Class, args: CallArguments, at: ast.AST) -> Value:
        order = self.order(cls)
        maker = self.find_member(order, "__new__")
        obj = self.new(at, "instance", cls)
        result = obj.value
        if maker is not None and isinstance(maker[0], Class):
            made = join_all([self._call_atom(a, args.before(class_of_value(cls)), at) for a in maker[1].atoms])
            if made.is_known():
                result = made
        if self._is_record(cls):
            self._fill_record(cls, obj, args, at)
            return result
        found = self.find_member(order, "__init__")
        if found is not None and isinstance(found[0], Class):
            for atom in result.atoms:
                self.call(self._bind(found[1], atom, cls, at), args, at)
            return result
        self._library_constructor(order, obj, args, at)
        return result

    def _library_constructor(
        self, order: tuple[Class | str, ...], obj: Object, args: CallArguments, at: ast.AST
    ) -> None:
        """`__init__` of the nearest library class; what it stores (`new(key=…)`) is stored on this object."""
        for base in order:
            if not isinstance(base, str) or base not in self.apis.functions:
                continue
            made = self.call_library(base, args, at, None)
            for atom in made.objects():
                self.reads.sizes.append((atom.attributes, len(atom.attributes)))
                for key, cell in atom.attributes.items():
                    self.program.write(obj.attributes.setdefault(key, Cell()), self.read(cell))
                if atom.items or atom.wild.atoms:
                    self.program.put_wild(obj, self.read_contents(atom))
            return

    def _is_record(self, cls: Class) -> bool:
        if any(isinstance(base, str) and base == "typing.NamedTuple" for base in self.order(cls)):
            return True
        own_init = self.member_cell(cls, "__init__")
        marked = any(
            name.endswith(("dataclass", "dataclasses.dataclass", "attr.s", "define"))
            for c in self.order(cls)
            if isinstance(c, Class)
            for name in self.program.class_decorators.get(c, ())
        )
        return marked and own_init is None

    def _fill_record(self, cls: Class, obj: Object, args: CallArguments, at: ast.AST) -> None:
        """Dataclasses and named tuples: fields in the order of annotations, bases first."""
        fields: dict[str, ast.expr | None] = {}
        for owner in reversed([c for c in self.order(cls) if isinstance(c, Class)]):
            for statement in owner.node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    fields[statement.target.id] = statement.value
        is_tuple = any(base == "typing.NamedTuple" for base in self.order(cls))
        for index, name in enumerate(fields):
            value = args.get(index, name)
            if not value.atoms:
                found = self.find_member(self.order(cls), name)
                value = found[1] if found is not None else NOTHING
            if value.atoms:
                self.program.write(obj.attributes.setdefault(name, Cell()), value)
                if is_tuple:
                    self.program.put_items(obj, {index: value})
        after = self.find_member(self.order(cls), "__post_init__")
        if after is not None and isinstance(after[0], Class):
            self.call(self._bind(after[1], obj, cls, at), CallArguments(), at)

    # -- libraries -------------------------------------------------------------------------------------------------

    def call_library(self, dotted: str, args: CallArguments, at: ast.AST, receiver: Atom | None) -> Value:
        if self.targets:
            self.targets[-1].append(dotted)
        special = API_HANDLERS.get(dotted)
        if special is not None:
            return special(self, args, at, receiver)
        owner, _, name = dotted.rpartition(".")
        if name == "__init__" and owner in self.apis.functions:
            if isinstance(receiver, Object):
                self._library_constructor((owner,), receiver, args, at)
            return NONE
        if name in ("__init__", "__init_subclass__", "__post_init__", "build") and dotted not in self.apis.functions:
            return NONE
        if receiver is None and args.positional and f"{owner}" in self.apis.classes and dotted in self.apis.functions:
            return self._unbound_method(dotted, args, at)
        kind = self.apis.classes[dotted].kind if dotted in self.apis.classes else ""
        api = self.apis.find(dotted)
        if api is None:
            self.note_write(at, "method", dotted, "unknown", NOTHING)
            self.escape(args, at)
            return unknown(f"result of `{dotted}`")
        if not api.listed and receiver is not None:
            self.escape(args, at)
        if kind and (api.returns is None or not api.listed):
            return tensor(api.framework, kind)
        return self.apply(api, dotted, receiver, args, at)

    def _unbound_method(self, dotted: str, args: CallArguments, at: ast.AST) -> Value:
        """`Class.method(obj, …)` of a library, such as `tf.keras.Model.call(self, x)` or `str.upper(s)`."""
        api = self.apis.find(dotted)
        assert api is not None
        owner = dotted.rpartition(".")[0]
        first = args.positional[0]
        receivers = [atom for atom in first.atoms if self._fits(atom, owner)]
        if not receivers:
            return self.apply(api, dotted, None, args, at)
        rest = CallArguments(args.positional[1:], args.kwargs, args.star, args.star_kwargs)
        return join_all([self.apply(api, dotted, atom, rest, at) for atom in receivers])

    def _fits(self, atom: Atom, owner: str) -> bool:
        if isinstance(atom, Object):
            if isinstance(atom.cls, str):
                return owner in self.apis.mro(atom.cls)
            return owner in self.order(atom.cls)
        if isinstance(atom, (Const, Primitive)):
            return owner == f"builtins.{atom.type}"
        return False

    def text_of(self, obj: Object, at: ast.AST) -> None:
        """`str(obj)` and f-strings call `__str__` or `__repr__`."""
        assert isinstance(obj.cls, Class)
        for name in ("__format__", "__str__", "__repr__"):
            found = self.find_member(self.order(obj.cls), name)
            if found is not None and isinstance(found[0], Class):
                self.call(self._bind(found[1], obj, obj.cls, at), CallArguments(), at)
                return


def class_of_value(cls: Class) -> Value:
    from strop.source.interpret.values import class_of

    return class_of(cls).value
