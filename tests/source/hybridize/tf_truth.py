"""Runs a case twice in real TensorFlow, before and after a change to some of its functions, and tells what differs.

The change is made by a decorator nearest to the function: `to_graph` puts it under `tf.function`, `to_eager` takes it
out of there, `add_signature` gives it an `input_signature`. Whenever the program itself calls such a function, it is
called three times: with the arguments of the program, with other values in all tensors and arrays, and with one row
more. The results of all calls and their types, the text that was printed, the files that were written and the values
that the modules hold at the end must agree, numbers within rounding. Other arguments may fail in a program that was
not written for them; then these calls are left out of both runs. Every generator is seeded before either run, and
nothing is replaced: a function whose graph draws from another stream of random numbers must not be called safe.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import inspect
import io
import os
import random
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import keras
import numpy as np
import tensorflow as tf

CALLS = ("as given", "other values", "one row more")
_NUMBER = re.compile(r"[-+]?\d+\.\d*(?:e[-+]?\d+)?")  #: whole numbers must be equal


@dataclass(frozen=True)
class Change:
    file: str  #: relative to the case
    function: str
    verdict: str
    signature: str | None = None


@dataclass
class Seen:
    results: list[tuple[str, Any]] = field(default_factory=list)
    printed: str = ""
    files: dict[str, str] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    failure: str | None = None
    left_out: set[tuple[str, str]] = field(default_factory=set)  #: function and kind of call that fail as it is
    called: set[str] = field(default_factory=set)


def differences(case: Path, changes: list[Change], work: Path, count: set[str] | None = None) -> list[str]:
    """What differs between the program as it is and the program with `changes`; empty when nothing does. `count` gets
    the functions that were called."""
    names = {(c.file, c.function) for c in changes}
    changes = [c for c in changes if not _is_nested(c, names)]  # AutoGraph drops the probe of a function in a function
    left_out: set[tuple[str, str]] = set()
    for attempt in range(len(CALLS)):
        before = run(case, changes, work / f"before{attempt}", after=False, left_out=left_out)
        if before.left_out <= left_out:
            break
        left_out |= before.left_out
    if before.failure:
        return [f"the program fails as it is: {before.failure}"]
    if count is not None:
        count.update({f"{case.stem}.{name}" for name in before.called})
    return list(compare(before, run(case, changes, work / "after", after=True, left_out=left_out)))


def _is_nested(change: Change, names: set[tuple[str, str]]) -> bool:
    parts = change.function.split(".")
    return any((change.file, ".".join(parts[:i])) in names for i in range(1, len(parts)))


def compare(before: Seen, after: Seen) -> Iterator[str]:
    if after.failure:
        yield f"fails: {after.failure}"
        return
    if [name for name, _ in before.results] != [name for name, _ in after.results]:
        yield "other functions were called"
        return
    for (name, a), (_, b) in zip(before.results, after.results):
        if not same(a, b):
            yield f"{name}: {a!r} became {b!r}"
    if not same_text(before.printed, after.printed):
        yield f"printed {before.printed!r}, then {after.printed!r}"
    if before.files != after.files:
        yield f"wrote {before.files!r}, then {after.files!r}"
    for key in before.state:
        if not same(before.state[key], after.state.get(key)):
            yield f"{key} is {before.state[key]!r}, then {after.state.get(key)!r}"


def run(case: Path, changes: list[Change], work: Path, *, after: bool, left_out: AbstractSet[tuple[str, str]]) -> Seen:
    source = work / "source"
    output = work / "output"
    output.mkdir(parents=True)
    if case.is_dir():
        shutil.copytree(case, source)
        entry = source / "main.py"
    else:
        source.mkdir()
        shutil.copy(case, source)
        entry = source / case.name
    for change in changes:
        _instrument(source / change.file, change.function)
    seen = Seen(left_out=set(left_out))
    kinds = {(c.file, c.function): c for c in changes}
    builtins._probe = functools.partial(_probe, kinds=kinds, seen=seen, after=after)  # type: ignore[attr-defined]
    modules, path, folder = set(sys.modules), list(sys.path), Path.cwd()
    printed = io.StringIO()
    try:
        _repeatable()
        sys.path.insert(0, str(source))
        os.chdir(output)
        names: dict[str, Any] = {"__name__": "__main__", "__file__": str(entry)}
        with contextlib.redirect_stdout(printed):
            exec(compile(entry.read_text(), str(entry), "exec"), names)
        own = {"main": names} | {n: vars(m) for n, m in sys.modules.items() if n not in modules and _inside(m, source)}
        for module, values in sorted(own.items()):
            for name, value in values.items():
                if not name.startswith("__") and not isinstance(value, ModuleType):
                    seen.state[f"{module}.{name}"] = plain(value, source)
    except Exception as error:
        seen.failure = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
    finally:
        os.chdir(folder)
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if _inside(sys.modules[name], source):
                del sys.modules[name]
        del builtins._probe  # type: ignore[attr-defined]
    seen.printed = printed.getvalue()
    seen.files = {p.name: p.read_bytes().decode("latin-1") for p in sorted(output.rglob("*")) if p.is_file()}
    return seen


def _inside(module: Any, folder: Path) -> bool:
    return (getattr(module, "__file__", None) or "").startswith(str(folder))


def _instrument(file: Path, function: str) -> None:
    """Puts the probe nearest to `function`, and takes `tf.function` off it: the probe does that part."""
    tree = ast.parse(file.read_text())
    for name, node, in_class in _functions(tree, "", False):
        if name != function:
            continue
        kept = [d for d in node.decorator_list if not re.search(r"\bfunction\b", ast.unparse(d))]
        static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in kept)
        source = Path(file).parts[Path(file).parts.index("source", 1) :]
        probe = f"_probe({'/'.join(source[1:])!r}, {function!r}, {in_class and not static})"
        node.decorator_list = [*kept, ast.parse(probe, mode="eval").body]
    file.write_text(ast.unparse(tree) + "\n")


def _functions(node: ast.AST, prefix: str, in_class: bool) -> Iterator[tuple[str, Any, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + child.name, child, in_class
            yield from _functions(child, f"{prefix}{child.name}.", False)
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.", True)
        else:
            yield from _functions(child, prefix, in_class)


class _Probe:
    """Stands in for a function or method as `tf.function` itself would: methods hold their object only weakly."""

    depth = 0

    def __init__(
        self, function: Callable[..., Any], name: str, changed: Callable[..., Any], seen: Seen, before: bool
    ) -> None:
        functools.update_wrapper(self, function)
        del self.__wrapped__  # type: ignore[attr-defined]  # AutoGraph would call that instead
        self.__signature__ = inspect.signature(function)
        self.name = name
        self.function = function
        self.changed = changed
        self.seen = seen
        self.eager = before  #: the program as it is

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        signature = self.__signature__
        rest = signature.replace(parameters=list(signature.parameters.values())[1:])
        return self._recording(self.changed.__get__(instance, owner), rest)

    def __call__(self, instance: Any, *args: Any, **kwargs: Any) -> Any:
        return self.__get__(instance, type(instance))(*args, **kwargs)

    def plain_function(self) -> Any:
        return self._recording(self.changed, self.__signature__)

    def _recording(self, target: Callable[..., Any], signature: inspect.Signature) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if _Probe.depth or not tf.executing_eagerly():
                return target(*args, **kwargs)
            _Probe.depth += 1
            try:
                result = target(*args, **kwargs)
                self.seen.called.add(self.name)
                self.seen.results.append((f"{self.name}, {CALLS[0]}", typed(result)))
                for how in CALLS[1:]:
                    self._again(how, target, args, kwargs)
            finally:
                _Probe.depth -= 1
            return result

        probe = tf.autograph.experimental.do_not_convert(call)
        functools.update_wrapper(probe, self.function)
        probe.__signature__ = signature
        del probe.__wrapped__
        return probe

    def _again(self, how: str, target: Callable[..., Any], args: Any, kwargs: Any) -> None:
        if (self.name, how) in self.seen.left_out:
            return
        given, named = varied(how, (args, kwargs))
        try:
            result = typed(target(*given, **named))
        except Exception as error:
            if not self.eager:
                result = f"fails: {type(error).__name__}: {error}"
            else:
                self.seen.left_out.add((self.name, how))
                return
        self.seen.results.append((f"{self.name}, {how}", result))


def varied(how: str, value: Any) -> Any:
    """The same structure with other values or with another first dimension in every tensor and array."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[varied(how, item) for item in value])
    if isinstance(value, (list, tuple)):
        return type(value)(varied(how, item) for item in value)
    if isinstance(value, dict) and type(value) is dict:
        return {key: varied(how, item) for key, item in value.items()}
    if not isinstance(value, (tf.Tensor, np.ndarray)) or keras.backend.is_keras_tensor(value):
        return value
    array = np.asarray(value)
    if how == "one row more":
        array = np.concatenate([array, array[:1]]) if array.ndim and len(array) else array
    elif array.dtype.kind == "f":
        array = (array * 0.75 + 0.125).astype(array.dtype)
    elif array.dtype.kind == "b":
        array = ~array
    elif array.ndim:
        array = array[::-1].copy()
    return tf.constant(array, value.dtype) if isinstance(value, tf.Tensor) else array


def _probe(
    file: str, name: str, method: bool, *, kinds: dict[tuple[str, str], Change], seen: Seen, after: bool
) -> Callable[[Callable[..., Any]], Any]:
    def decorate(function: Callable[..., Any]) -> Any:
        probe = _Probe(function, name, _changed(function, kinds[file, name], after), seen, not after)
        return probe if method else probe.plain_function()

    return decorate


def _changed(function: Callable[..., Any], change: Change, after: bool) -> Callable[..., Any]:
    graph = (change.verdict == "to_graph") == after or change.verdict == "add_signature"
    if not graph:
        return function
    if change.verdict == "add_signature" and after and change.signature:
        signature = eval(change.signature, {"tf": tf, "tensorflow": tf})
        return tf.function(function, input_signature=signature)  # type: ignore[no-any-return]
    return tf.function(function)  # type: ignore[no-any-return]


def typed(value: Any) -> Any:
    """A result as the caller sees it: structure, kind of thing, value."""
    if isinstance(value, dict):
        return {str(key): typed(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, tf.TensorShape):
        return [type(value).__name__ if hasattr(value, "_fields") else "sequence", *map(typed, value)]
    if isinstance(value, (tf.Variable, keras.Variable)):
        return ["variable", plain(value)]
    if isinstance(value, tf.Tensor):
        return ["tensor", value.dtype.name, plain(value)]
    return [type(value).__name__, plain(value)]


def plain(value: Any, source: Path | None = None, depth: int = 4) -> Any:
    """The value as numbers, strings and containers; objects of the case by their attributes, others by their type."""
    if isinstance(value, tf.IndexedSlices):
        value = tf.convert_to_tensor(value)
    if isinstance(value, (tf.RaggedTensor, tf.SparseTensor)):
        return str(value)
    if isinstance(value, (tf.Tensor, tf.Variable, keras.Variable)) and not keras.backend.is_keras_tensor(value):
        return np.asarray(value) if hasattr(value, "numpy") else "symbolic"
    if value is None or isinstance(value, (bool, int, float, str, bytes, np.ndarray, np.generic)):
        return value
    if depth == 0:
        return type(value).__name__
    if isinstance(value, dict):
        return {str(k): plain(v, source, depth - 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, source, depth - 1) for v in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if isinstance(value, (keras.layers.Layer, tf.Module)):
        own = {k: v for k, v in vars(value).items() if k[0] != "_" and isinstance(v, (int, float, str, list, dict))}
        return [type(value).__name__, [np.asarray(v) for v in value.trainable_variables], plain(own, source, 1)]
    if hasattr(value, "__dict__") and not callable(value) and type(value).__module__ == "__main__":
        return [type(value).__name__, plain(vars(value), source, depth - 1)]
    return type(value).__name__ if not callable(value) else "callable"


def same_text(a: str, b: str) -> bool:
    """The same words, and numbers that are the same within rounding: a graph may order additions another way."""
    numbers = [[float(found) for found in _NUMBER.findall(text)] for text in (a, b)]
    words = [_NUMBER.sub("0", text).split() for text in (a, b)]
    return words[0] == words[1] and same(*numbers)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if a is None or b is None or isinstance(a, str) or isinstance(b, str):
        return type(a) is type(b) and a == b
    x, y = np.asarray(a), np.asarray(b)
    if x.shape != y.shape:
        return False
    if x.dtype.kind in "fc" or y.dtype.kind in "fc":
        return bool(np.allclose(x, y, rtol=1e-3, atol=1e-4, equal_nan=True))
    return bool((x == y).all())


def _repeatable() -> None:
    tf.config.run_functions_eagerly(False)
    keras.backend.clear_session()
    keras.utils.set_random_seed(0)
    random.seed(0)
    np.random.seed(0)
