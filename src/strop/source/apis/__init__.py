"""What library calls do, as data: one TOML file per library in this folder, read by `load()`.

A file starts with `framework = "torch"` (or "tensorflow", "numpy", ""): tensors that its calls return belong to it.

    [aliases]                       # prefixes that mean the same; the longest one wins
    "keras" = "tensorflow.keras"

    [[default]]                     # names under a prefix that nothing below lists; the longest prefix wins
    under = "tensorflow"
    returns = "tensor"              # for lower-case names; a Capitalised name makes an instance of that class
    effect = "unknown"              # optional: then a call to an unlisted name may do anything

    [[class]]
    names = "tensorflow.data.Dataset"
    bases = ["tensorflow.Module"]   # optional; methods are looked up through them
    kind = "variable"               # optional: instances are tensors of this kind, not objects

    [[api]]                         # functions, methods and constructors
    under = "tensorflow.math"       # optional prefix of every name
    names = "add subtract"          # words; a method is `Class.method`, a constructor is the class itself
    returns = "tensor"              # an expression, see below; unset: unknown
    dtype = "arg:1:dtype|float32"   # of a returned tensor: the first of the alternatives that is known
    shape = "arg:0:shape"
    calls = ["call(arg0, tensor)"]  # callbacks that are run, results dropped
    mutates = ["self"]              # `self`, `arg0` … `arg9`, `arg:NAME`: what the call writes to (Python state only)
    effect = "print"                # print | io | global | unknown; unset: none
    eager = true                    # works in eager mode only
    computes = false                # unset: true when it takes or returns a tensor
    graph_break = "Tensor.item()"   # any other key is kept in `Api.extra`

    [[value]]                       # attributes that are not methods
    under = "tensorflow.Tensor"
    names = "shape"
    is = "tuples(int)"

    [[name]]                        # where operations take their `name` by position
    under = "tensorflow.math"
    names = "add subtract"
    at = 2

Expressions, evaluated by `library.py`:

    tensor variable symbolic sparse ragged array   a tensor of that kind (`array`: numpy); `tensor("bool")`: of a dtype
    int float str bool bytes complex none unknown  Python values; "text" is a constant
    self args kwargs arg0 … arg9 arg(0, "name")    the receiver, all arguments joined, one argument
    new new(key=X, **Y)                            a new instance of the class that was called, with attributes;
                                                   `**Y`: one for each constant key of a dict
    instance("lib.Class", key=X)                   a new instance, with attributes
    get("key")                                     an attribute of the receiver that `new(key=X)` or `instance` stored
    list(X) set(X) frozenset(X) iterator(X)        containers of X, made by this call
    dict(K, V) tuple(X, Y) tuples(X)               `tuples`: a tuple of any length
    element(X) item(X, 0) keys(X) entries(X)       what iterating, indexing, dict keys, dict (key, value) pairs give
    rows(X)                                        X with each array or list in it replaced by a tensor of one row
    tensors(X) batched(X)                          X with each array, number or list of numbers in it a tensor, a batch
    gradients(X) zipped(args)                      a tensor per source; elements of zipped datasets
    batch(X, Y) example(X)                         what Keras' `fit` hands to `train_step` and to the model
    record(a=X, b=Y)  arrays(X)                    a named tuple; tensors in a list as numpy arrays
    contents(X)                                    every element of a container, the values of a dict
    like(X)                                        a tensor with dtype and shape of X
    reshaped(X)                                    a tensor of X's framework; of the importing file's where X is unknown
    call(F, X, …) spread(F, X)                     call F; `spread` unpacks a tuple X into arguments
    method("name", X, …)                           call the method that the receiver's own (project) class defines;
                                                   without X: with the arguments of this call; nothing if there is none
    super_method("name", X, …)                     the same, but library methods, too
    attribute(X, "name")  bound(F)                 an attribute; F with `self` bound
    store(X, "key", V)                             X, after V has been joined into what `get("key")` reads from it
    given(X, Y, Z)                                 Y where the argument X is passed and not None, else Z
    X | Y                                          both may happen
    X or Y                                         Y if X is nothing
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from strop.core.problem import Problem

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent
_KNOWN = ("returns", "dtype", "shape", "calls", "mutates", "effect", "eager", "computes", "under", "names")


@dataclass(frozen=True)
class Api:
    """One function, method or constructor of a library."""

    name: str  #: canonical dotted name
    framework: str = ""
    returns: ast.expr | None = None
    dtype: str = ""
    shape: str = ""
    calls: tuple[ast.expr, ...] = ()
    mutates: tuple[str, ...] = ()
    effect: str = ""
    eager: bool = False
    computes: bool | None = None
    listed: bool = True  #: False: only a default for its prefix
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LibraryClass:
    """A class of a library; `kind` when its instances are tensors."""

    name: str
    bases: tuple[str, ...] = ()
    kind: str = ""
    framework: str = ""


class Apis:
    """Everything that the files say, with lookups that follow aliases, base classes and defaults."""

    def __init__(self) -> None:
        self.functions: dict[str, Api] = {}
        self.classes: dict[str, LibraryClass] = {}
        self.values: dict[str, tuple[ast.expr, str]] = {}
        self.defaults: dict[str, dict[str, Any]] = {}
        self.aliases: dict[str, str] = {}
        self.name_positions: dict[str, int] = {}  #: which positional argument is the name of an operation
        self._canonical: dict[str, str] = {}
        self._found: dict[str, Api | None] = {}
        self._methods: dict[tuple[str, str], Api | None] = {}
        self._mro: dict[str, tuple[str, ...]] = {}

    def canonical(self, dotted: str) -> str:
        """The one name of a thing that libraries export under several."""
        known = self._canonical.get(dotted)
        if known is not None:
            return known
        name = dotted
        for _ in range(8):
            prefix = name
            while prefix and prefix not in self.aliases:
                prefix = prefix.rpartition(".")[0]
            if not prefix:
                break
            name = self.aliases[prefix] + name[len(prefix) :]
        self._canonical[dotted] = name
        return name

    def find(self, dotted: str) -> Api | None:
        """The model of a canonical name; a default of its prefix where none is listed; None for strangers."""
        if dotted in self._found:
            return self._found[dotted]
        api = self.functions.get(dotted) or self._inherited(dotted) or self._default(dotted)
        self._found[dotted] = api
        return api

    def method(self, owner: str, name: str) -> Api | None:
        """The listed model of a method, through base classes."""
        key = owner, name
        if key not in self._methods:
            self._methods[key] = next((a for c in self.mro(owner) if (a := self.functions.get(f"{c}.{name}"))), None)
        return self._methods[key]

    def value(self, owner: str, name: str) -> tuple[ast.expr, str] | None:
        """The expression (and framework) of an attribute of a class or module."""
        return next((v for c in self.mro(owner) if (v := self.values.get(f"{c}.{name}"))), None)

    def mro(self, owner: str) -> tuple[str, ...]:
        known = self._mro.get(owner)
        if known is not None:
            return known
        order, waiting = [owner], list(self.classes[owner].bases) if owner in self.classes else []
        while waiting:
            base = waiting.pop(0)
            if base in order:
                continue
            order.append(base)
            waiting += self.classes[base].bases if base in self.classes else ()
        self._mro[owner] = tuple(order)
        return self._mro[owner]

    def is_class(self, dotted: str) -> bool:
        """Listed as a class, or written like one under a prefix with a default."""
        if dotted in self.classes:
            return True
        last = dotted.rpartition(".")[2]
        return last[:1].isupper() and not last.isupper() and dotted not in self.functions and self.is_known(dotted)

    def is_known(self, dotted: str) -> bool:
        """Whether there is a file for this library at all."""
        return self._prefix(dotted) is not None

    def framework(self, dotted: str) -> str:
        prefix = self._prefix(dotted)
        return str(self.defaults[prefix]["framework"]) if prefix else ""

    def _inherited(self, dotted: str) -> Api | None:
        owner, _, name = dotted.rpartition(".")
        return self.method(owner, name) if owner in self.classes else None

    def _prefix(self, dotted: str) -> str | None:
        prefix = dotted
        while prefix and prefix not in self.defaults:
            prefix = prefix.rpartition(".")[0]
        return prefix or None

    def _default(self, dotted: str) -> Api | None:
        prefix = self._prefix(dotted)
        if prefix is None:
            return None
        entry = self.defaults[prefix]
        returns = _NEW if self.is_class(dotted) else entry["returns"]
        return Api(dotted, entry["framework"], returns, effect=entry["effect"], listed=False)


_NEW = ast.parse("new", mode="eval").body


@lru_cache(maxsize=1)
def load() -> Apis:
    """The models of every file in this folder."""
    apis = Apis()
    for file in sorted(FOLDER.glob("*.toml")):
        _read(apis, file)
    return apis


def _read(apis: Apis, file: Path) -> None:
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        framework = str(data.get("framework", ""))
        apis.aliases.update(data.get("aliases", {}))
        for entry in data.get("default", []):
            returns = _expression(entry.get("returns"))
            effect = entry.get("effect", "")
            apis.defaults[entry["under"]] = {"returns": returns, "framework": framework, "effect": effect}
        for entry in data.get("class", []):
            for name in _names(entry):
                bases = tuple(entry.get("bases", ()))
                apis.classes[name] = LibraryClass(name, bases, entry.get("kind", ""), framework)
        for entry in data.get("api", []):
            for api in _apis(entry, framework):
                apis.functions[api.name] = api
        for entry in data.get("name", []):
            apis.name_positions.update(dict.fromkeys(_names(entry), int(entry["at"])))
        for entry in data.get("value", []):
            expression = _expression(entry["is"])
            assert expression is not None
            for name in _names(entry):
                apis.values[name] = expression, framework
    except (tomllib.TOMLDecodeError, KeyError, SyntaxError) as error:
        raise Problem("STR001", f"{file.name} is not a file of API models: {error}", where=file) from error


def _apis(entry: dict[str, Any], framework: str) -> list[Api]:
    returns = _expression(entry.get("returns"))
    calls = tuple(call for text in entry.get("calls", ()) if (call := _expression(text)) is not None)
    extra = {key: value for key, value in entry.items() if key not in _KNOWN}
    return [
        Api(
            name,
            framework,
            returns,
            entry.get("dtype", ""),
            entry.get("shape", ""),
            calls,
            tuple(entry.get("mutates", ())),
            entry.get("effect", ""),
            entry.get("eager", False),
            entry.get("computes"),
            extra=extra,
        )
        for name in _names(entry)
    ]


def _names(entry: dict[str, Any]) -> list[str]:
    under = entry.get("under", "")
    return [f"{under}.{name}" if under else name for name in entry["names"].split()]


def _expression(text: str | None) -> ast.expr | None:
    return ast.parse(text, mode="eval").body if text else None
