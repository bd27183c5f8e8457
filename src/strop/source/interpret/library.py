"""Calls into libraries: evaluates the expressions of `apis/` (their language is documented there)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from strop.source.apis import Api
from strop.source.interpret.activation import CallArguments
from strop.source.interpret.entries import module_framework
from strop.source.interpret.heap import Cell, Object
from strop.source.interpret.joins import join, join_all, merged_shape
from strop.source.interpret.structures import BATCH, ROW, WHOLE, Shape, Structures
from strop.source.interpret.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    Atom,
    Const,
    FunctionValue,
    LibraryValue,
    Tensor,
    Tuple,
    Unknown,
    Value,
    bound,
    const,
    primitive,
    tensor,
    tuple_of,
    unknown,
)
from strop.source.project.declarations import Class

_PRIMITIVES = ("int", "float", "str", "bool", "bytes", "complex")
_KINDS = ("tensor", "variable", "symbolic", "sparse", "ragged", "parameter")
_CONTAINERS = ("list", "set", "frozenset", "iterator", "tuples")
_ARGUMENTS = {f"arg{index}": index for index in range(10)}


class Applied:
    """A library call while its model is evaluated."""

    __slots__ = ("api", "args", "at", "owner", "receiver")

    def __init__(self, api: Api, owner: str, receiver: Atom | None, args: CallArguments, at: ast.AST) -> None:
        self.api = api
        self.owner = owner  #: the class that `new` makes an instance of
        self.receiver = receiver
        self.args = args
        self.at = at


def _subject(word: str, at: ast.Call) -> ast.expr:
    """The expression for `self` or `arg0` of a call, as far as it is written there."""
    if word == "self":
        return at.func.value if isinstance(at.func, ast.Attribute) else at.func
    return at.args[int(word[3:])] if word[3:].isdigit() and len(at.args) > int(word[3:]) else at


class LibraryCalls(Structures):
    """What calls into libraries give, change and call back."""

    def apply(self, api: Api, owner: str, receiver: Atom | None, args: CallArguments, at: ast.AST) -> Value:
        """The result of a call; its effects and mutations are noted."""
        applied = Applied(api, owner, receiver, args, at)
        for call in api.calls:
            self._evaluate(call, applied)
        if api.effect:
            self.note_write(at, "method", api.name, api.effect, NOTHING)
        for word in api.mutates:
            to = self._target(word, applied)
            if to.arrays() and isinstance(at, ast.Call) and not self._made_here(_subject(word, at)):
                self.note_write(at, "method", api.name, "global", NOTHING)
            elif to.atoms:
                self.note_write(at, "method", api.name.rpartition(".")[2] + "()", to, join_all(args.every()))
        result = self._evaluate(api.returns, applied) if api.returns is not None else unknown(f"result of `{api.name}`")
        return self._refined(result, applied) if api.dtype or api.shape or result.is_tensor() else result

    def describe_value(self, described: tuple[ast.expr, str], receiver: Atom, at: ast.AST) -> Value:
        expression, framework = described
        applied = Applied(Api("", framework), "", receiver, CallArguments(), expression)
        if not isinstance(receiver, LibraryValue):
            applied.at = at
            return self._evaluate(expression, applied)
        self.describing = True
        value = self._evaluate(expression, applied)
        self.describing = False
        return value

    def _target(self, word: str, applied: Applied) -> Value:
        if word == "self":
            return applied.receiver.value if applied.receiver is not None else NOTHING
        if word in _ARGUMENTS:
            return applied.args.get(_ARGUMENTS[word])
        _, _, name = word.partition(":")
        return applied.args.kwargs.get(name, NOTHING)

    # -- expressions -----------------------------------------------------------------------------------------------

    def _evaluate(self, e: ast.expr, applied: Applied) -> Value:
        if isinstance(e, ast.Name):
            return self._word(e.id, e, applied)
        if isinstance(e, ast.Constant):
            return const(e.value)
        if isinstance(e, ast.Call):
            assert isinstance(e.func, ast.Name)
            return self._combinator(e.func.id, e, applied)
        if isinstance(e, ast.BoolOp):
            for part in e.values:
                if (value := self._evaluate(part, applied)).atoms:
                    return value
            return NOTHING
        if isinstance(e, ast.BinOp):
            return join(self._evaluate(e.left, applied), self._evaluate(e.right, applied))
        return UNKNOWN

    def _word(self, word: str, e: ast.expr, applied: Applied) -> Value:
        if word in _KINDS:
            return tensor(applied.api.framework or "tensorflow", word)
        if word == "array":
            return tensor("numpy", "array")
        if word in _PRIMITIVES:
            return primitive(word)
        if word == "none":
            return NONE
        if word == "self":
            return applied.receiver.value if applied.receiver is not None else applied.args.get(0)
        if word == "new":
            return self._instance(applied.owner, e, applied).value
        if word == "args":
            return join_all(applied.args.every())
        if word == "kwargs":
            return join_all(list(applied.args.kwargs.values()))
        if word in _ARGUMENTS:
            return applied.args.get(_ARGUMENTS[word])
        return unknown(f"result of `{applied.api.name}`") if applied.api.name else UNKNOWN

    def _combinator(self, name: str, e: ast.Call, applied: Applied) -> Value:
        handler = _COMBINATORS.get(name)
        if handler is not None:
            return handler(self, e, applied)
        if name in _KINDS or name == "array":
            parts = [part.value for part in e.args if isinstance(part, ast.Constant)]
            framework = "numpy" if name == "array" else applied.api.framework or "tensorflow"
            return tensor(framework, name, str(parts[0]) if parts else None)
        if name in _CONTAINERS:
            kind = "tuple" if name == "tuples" else name
            return self.container(applied.at, kind, self._evaluate(e.args[0], applied), tag=id(e))
        return UNKNOWN

    def _arg(self, e: ast.Call, applied: Applied) -> Value:
        index, name = 99, ""
        for part in e.args:
            assert isinstance(part, ast.Constant)
            if isinstance(part.value, int):
                index = part.value
            else:
                name = str(part.value)
        return applied.args.get(index, name)

    def _given(self, e: ast.Call, applied: Applied) -> Value:
        asked = self._evaluate(e.args[0], applied)
        return self._evaluate(e.args[2 if not asked.atoms or asked.is_none() else 1], applied)

    def _instance(self, cls: str, e: ast.AST, applied: Applied) -> Object:
        return self.new(applied.at, "instance", cls, id(e))

    def _new(self, e: ast.Call, applied: Applied) -> Value:
        named = bool(e.args) and isinstance(e.args[0], ast.Constant)
        cls = str(e.args[0].value) if named and isinstance(e.args[0], ast.Constant) else applied.owner
        obj = self._instance(cls, e, applied)
        for keyword in e.keywords:
            value = self._evaluate(keyword.value, applied)
            if keyword.arg is not None:
                self.store_on(obj, keyword.arg, value)
                continue
            for given in value.objects():
                self.read_contents(given)  # whoever adds to it later changes the attributes
                for key, item in given.items.items():
                    if isinstance(key, str):
                        self.store_on(obj, key, item)
        return obj.value

    def store_on(self, obj: Object, key: str, value: Value) -> None:
        """`*` are the elements, `**` the keys, `#` the elements after positions lost their meaning."""
        if key in ("*", "#"):
            self.program.put_wild(obj, value, shuffle=key == "#")
        elif key == "**":
            self.program.put_wild(obj, NOTHING, value)
        else:
            self.program.write(obj.attributes.setdefault(key, Cell()), value)

    def _store(self, e: ast.Call, applied: Applied) -> Value:
        owner = self._evaluate(e.args[0], applied)
        key, value = e.args[1], self._evaluate(e.args[2], applied)
        assert isinstance(key, ast.Constant)
        for obj in owner.objects():
            self.store_on(obj, str(key.value), value)
        return owner

    def _get(self, e: ast.Call, applied: Applied) -> Value:
        key = e.args[0]
        assert isinstance(key, ast.Constant)
        if not isinstance(applied.receiver, Object):
            return NOTHING
        return self.read(applied.receiver.attributes.setdefault(str(key.value), Cell()))

    def _record(self, e: ast.Call, applied: Applied) -> Value:
        """A named tuple: attributes and positions."""
        obj = self.new(applied.at, "instance", "builtins.tuple", id(e))
        for index, keyword in enumerate(e.keywords):
            value = self._evaluate(keyword.value, applied)
            self.store_on(obj, keyword.arg or "", value)
            self.program.put_items(obj, {index: value})
        return obj.value

    def _arrays(self, e: ast.Call, applied: Applied) -> Value:
        """Tensors as numpy arrays, in the same structure."""
        found = []
        for item in self.positions(self._evaluate(e.args[0], applied), applied.at) or []:
            found.append(tensor("numpy", "array") if item.is_tensor() else item)
        return tuple_of(tuple(found)) if found else tensor("numpy", "array")

    def _make_dict(self, e: ast.Call, applied: Applied) -> Value:
        key, value = (self._evaluate(part, applied) for part in e.args)
        return self.container(applied.at, "dict", value, key, tag=id(e))

    def _make_tuple(self, e: ast.Call, applied: Applied) -> Value:
        return tuple_of(tuple(self._evaluate(part, applied) for part in e.args))

    def _element_of(self, e: ast.Call, applied: Applied) -> Value:
        return self.iterate(self._evaluate(e.args[0], applied), applied.at)

    def _item_of(self, e: ast.Call, applied: Applied) -> Value:
        return self.item(self._evaluate(e.args[0], applied), self._evaluate(e.args[1], applied), applied.at)

    def _keys(self, e: ast.Call, applied: Applied) -> Value:
        found = []
        for obj in self._evaluate(e.args[0], applied).objects():
            self.look_into(obj)
            found.append(obj.all_keys())
        return join_all(found)

    def _contents(self, e: ast.Call, applied: Applied) -> Value:
        owner = self._evaluate(e.args[0], applied)
        found = [self.read_contents(obj) for obj in owner.objects()]
        return join_all([*found, *(atom.value for atom in owner.atoms if isinstance(atom, Unknown))])

    def _entries(self, e: ast.Call, applied: Applied) -> Value:
        return tuple_of((self._keys(e, applied), self._contents(e, applied)))

    def _rows(self, e: ast.Call, applied: Applied) -> Value:
        return self.structure(self._evaluate(e.args[0], applied), applied.at, id(e), ROW)

    def _tensors(self, e: ast.Call, applied: Applied) -> Value:
        return self.structure(self._evaluate(e.args[0], applied), applied.at, id(e), WHOLE)

    def _batched(self, e: ast.Call, applied: Applied) -> Value:
        return self.structure(self._evaluate(e.args[0], applied), applied.at, id(e), BATCH)

    def _gradients(self, e: ast.Call, applied: Applied) -> Value:
        return self.gradients(self._evaluate(e.args[0], applied), applied.at, id(e))

    def _zipped(self, e: ast.Call, applied: Applied) -> Value:
        return self.zipped(applied.args.positional, applied.at)

    def _batch(self, e: ast.Call, applied: Applied) -> Value:
        parts = [self._evaluate(part, applied) for part in e.args]
        return self.training_batch(parts, applied.at, id(e))

    def _example(self, e: ast.Call, applied: Applied) -> Value:
        return self.training_example(self._evaluate(e.args[0], applied), applied.at, id(e))

    def _like(self, e: ast.Call, applied: Applied) -> Value:
        source = self._evaluate(e.args[0], applied)
        framework = applied.api.framework or "tensorflow"
        return tensor(framework, "tensor", self.data_dtype(source, framework), self.data_shape(source))

    def _reshaped(self, e: ast.Call, applied: Applied) -> Value:
        source = self._evaluate(e.args[0], applied)
        inside = [obj.contents() for obj in source.objects()]
        frameworks = {atom.framework for value in (source, *inside) for atom in value.tensors()}
        if not frameworks:
            framework = module_framework(self.program, self.code)
            frameworks = {framework} if framework is not None else set()
        if not frameworks:
            return unknown(f"result of `{applied.api.name}`")
        return join_all([tensor(framework, "array" if framework == "numpy" else "tensor") for framework in frameworks])

    def _call(self, e: ast.Call, applied: Applied) -> Value:
        callee = self._evaluate(e.args[0], applied)
        return self.call(callee, CallArguments([self._evaluate(part, applied) for part in e.args[1:]]), applied.at)

    def _spread_call(self, e: ast.Call, applied: Applied) -> Value:
        callee = self._evaluate(e.args[0], applied)
        value = self._evaluate(e.args[1], applied)
        results = []
        for atom in value.atoms:
            inside = list(atom.items) if isinstance(atom, Tuple) else None
            if inside is None and isinstance(atom, Object) and atom.kind == "list":
                inside = self.positions(atom.value, applied.at)
            results.append(self.call(callee, CallArguments([atom.value] if inside is None else inside), applied.at))
        return join_all(results)

    def _method(self, e: ast.Call, applied: Applied) -> Value:
        name = e.args[0]
        assert isinstance(name, ast.Constant)
        receiver = applied.receiver
        if not isinstance(receiver, Object) or not isinstance(receiver.cls, Class):
            return NOTHING
        found = self.find_member(self.order(receiver.cls), str(name.value))
        if found is None or not isinstance(found[0], Class):
            return NOTHING
        given = [self._evaluate(part, applied) for part in e.args[1:]]
        args = CallArguments(given) if given or e.keywords else applied.args
        done = self.done[-1] if self.done else {}
        key = receiver, name.value, *args.positional, *args.kwargs.items(), args.star, args.star_kwargs
        if key in done:  # modules that hold each other, or themselves, as `forward`
            return done[key]
        done[key] = NOTHING
        exempt, self.exempt = self.exempt, name.value == "build" or self.exempt
        done[key] = self.call(self.attribute(receiver.value, str(name.value), applied.at), args, applied.at)
        self.exempt = exempt
        return done[key]

    def _super_method(self, e: ast.Call, applied: Applied) -> Value:
        name = e.args[0]
        assert isinstance(name, ast.Constant)
        if applied.receiver is None:
            return NOTHING
        args = (
            CallArguments([self._evaluate(part, applied) for part in e.args[1:]]) if len(e.args) > 1 else applied.args
        )
        return self.call(self.attribute(applied.receiver.value, str(name.value), applied.at), args, applied.at)

    def _attribute_of(self, e: ast.Call, applied: Applied) -> Value:
        name = e.args[1]
        assert isinstance(name, ast.Constant)
        return self.attribute(self._evaluate(e.args[0], applied), str(name.value), applied.at)

    def _bound_to(self, e: ast.Call, applied: Applied) -> Value:
        value, receiver = self._evaluate(e.args[0], applied), applied.receiver
        if receiver is None:
            return value
        return join_all([bound(a, receiver).value for a in value.atoms if isinstance(a, (FunctionValue, LibraryValue))])

    # -- dtypes and shapes -----------------------------------------------------------------------------------------

    def _refined(self, result: Value, applied: Applied) -> Value:
        """Give a returned tensor the dtype and shape that the model speaks of; symbolic arguments make it symbolic."""
        api = applied.api
        symbolic = api.framework == "tensorflow" and any(_is_symbolic(value) for value in applied.args.every())
        atoms = []
        for atom in result.atoms:
            if not isinstance(atom, Tensor):
                atoms.append(atom.value)
                continue
            dtype = atom.dtype or self._dtype(api.dtype, applied)
            shape = atom.shape or self._shape(api.shape, applied)
            kind = "symbolic" if symbolic and atom.kind == "tensor" else atom.kind
            atoms.append(tensor(atom.framework, kind, dtype, shape))
        return join_all(atoms)

    def _dtype(self, text: str, applied: Applied) -> str | None:
        for part in text.split("|") if text else ():
            word, _, rest = part.partition(":")
            if word == "arg":
                index, _, name = rest.partition(":")
                found = dtype_name(applied.args.get(int(index), name), applied.api.framework)
            elif word in ("data", "of"):
                found = self.data_dtype(applied.args.get(int(rest)), applied.api.framework)
            elif word == "self" and isinstance(applied.receiver, Tensor):
                found = applied.receiver.dtype
            elif word == "same":
                found = self._common_dtype(applied)
            else:
                found = part
            if found is not None:
                return found
        return None

    def _common_dtype(self, applied: Applied) -> str | None:
        dtypes = {t.dtype for value in applied.args.every() for t in value.atoms if isinstance(t, Tensor)}
        if isinstance(applied.receiver, Tensor):
            dtypes.add(applied.receiver.dtype)
        return dtypes.pop() if len(dtypes) == 1 else None

    def _shape(self, text: str, applied: Applied) -> Shape:
        for part in text.split("|") if text else ():
            word, _, rest = part.partition(":")
            found: Shape = None
            if word == "arg":
                index, _, name = rest.partition(":")
                found = self.as_shape(applied.args.get(int(index), name))
            elif word in ("data", "of"):
                found = self.data_shape(applied.args.get(int(rest)))
            elif word == "self" and isinstance(applied.receiver, Tensor):
                found = applied.receiver.shape
            elif word == "()":
                found = ()
            elif word == "same":
                tensors = [t for value in applied.args.every() for t in value.atoms if isinstance(t, Tensor)]
                tensors += [applied.receiver] if isinstance(applied.receiver, Tensor) else []
                found = merged_shape([t.shape for t in tensors if t.shape != ()]) if tensors else None
            if found is not None:
                return found
        return None


def _is_symbolic(value: Value) -> bool:
    for atom in value.atoms:
        if isinstance(atom, Tensor) and atom.kind == "symbolic":
            return True
        if isinstance(atom, Tuple) and any(_is_symbolic(item) for item in atom.items):
            return True
        if (
            isinstance(atom, Object)
            and atom.kind == "list"
            and any(isinstance(inner, Tensor) and inner.kind == "symbolic" for inner in atom.contents().atoms)
        ):
            return True
    return False


def dtype_name(value: Value, framework: str = "") -> str | None:
    """`tf.float32`, `np.int64`, `"float32"`, `float` as a dtype; the builtin ones are wider in NumPy."""
    if len(value.atoms) != 1:
        return None
    atom = value.atoms[0]
    if isinstance(atom, Const):
        return atom.constant if isinstance(atom.constant, str) else None
    if isinstance(atom, LibraryValue):
        last = atom.dotted.rpartition(".")[2]
        width = "64" if framework == "numpy" else "32"
        return {"int": f"int{width}", "float": f"float{width}", "str": "string"}.get(last, last)
    return None


_COMBINATORS: dict[str, Callable[[Any, ast.Call, Applied], Value]] = {
    "arg": LibraryCalls._arg,
    "given": LibraryCalls._given,
    "new": LibraryCalls._new,
    "instance": LibraryCalls._new,
    "record": LibraryCalls._record,
    "arrays": LibraryCalls._arrays,
    "store": LibraryCalls._store,
    "get": LibraryCalls._get,
    "dict": LibraryCalls._make_dict,
    "tuple": LibraryCalls._make_tuple,
    "element": LibraryCalls._element_of,
    "item": LibraryCalls._item_of,
    "keys": LibraryCalls._keys,
    "contents": LibraryCalls._contents,
    "entries": LibraryCalls._entries,
    "rows": LibraryCalls._rows,
    "tensors": LibraryCalls._tensors,
    "batched": LibraryCalls._batched,
    "gradients": LibraryCalls._gradients,
    "zipped": LibraryCalls._zipped,
    "batch": LibraryCalls._batch,
    "example": LibraryCalls._example,
    "like": LibraryCalls._like,
    "reshaped": LibraryCalls._reshaped,
    "call": LibraryCalls._call,
    "spread": LibraryCalls._spread_call,
    "method": LibraryCalls._method,
    "super_method": LibraryCalls._super_method,
    "attribute": LibraryCalls._attribute_of,
    "bound": LibraryCalls._bound_to,
}
