"""Code that nobody here wrote: functions of PyPI packages that the scan calls safe, run in eager mode and as graphs.

A package is unpacked, not installed: what it imports and is not here is replaced by stand-ins that do nothing, and a
module that does not come up like that is counted as such. Arguments are made from what the scan knows of parameters:
dtypes and shapes of tensors, constants, defaults. Where shapes are not known, some are tried until the function runs in
eager mode. Then it is called three times, with other values each time and other shapes at the end, and as a
`tf.function` with the same arguments; results with their types must be the same.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import io
import itertools
import os
import signal
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from source.hybridize.tf_truth import same, typed
from strop.source.hybridize.parameters import own_parameters
from strop.source.interpret.effects import Effects
from strop.source.interpret.interpreter import Program
from strop.source.interpret.queries import ParameterFacts
from strop.source.interpret.values import Const, Tensor, Tuple, Value
from strop.source.project.files import find, read_bytes
from strop.source.project.modules import Project
from strop.source.project.units import units
from strop.source.scan import judge_function

SHAPES: tuple[tuple[int, ...], ...] = ((3, 4), (4,), (4, 4), (2, 3, 4), (), (2, 4, 4, 3), (3, 1), (3,), (2, 3, 3))
DTYPES = ("float32", "float64", "int32", "bool")
SECONDS = 30  #: of the processor, for one call


@dataclass
class Tally:
    """What became of the functions of one package."""

    package: str
    functions: int = 0  #: of TensorFlow, that the scan looked at
    safe: int = 0  #: `to_graph` or `to_eager`, without an assumption
    edits: int = 0  #: that `strop fix --write` would make
    run: int = 0  #: called three times in eager mode and as graphs
    not_run: Counter[str] = field(default_factory=Counter)  #: why not
    different: list[str] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        return {**vars(self), "not_run": dict(self.not_run)}


@dataclass(frozen=True)
class Candidate:
    module: str
    function: str
    parameters: tuple[tuple[str, str, Any], ...]  #: name, kind, what is known


def unpack(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as wheel:
        wheel.extractall(folder, [name for name in wheel.namelist() if name.endswith(".py")])


def candidates(folder: Path, tally: Tally) -> Iterator[Candidate]:
    """The functions that the scan calls safe to change, with what it knows of their parameters."""
    names, _ = find([str(folder)])
    contents = {name: data for name in names if isinstance(data := read_bytes(name), bytes)}
    for files in units(contents, [str(folder)]):
        program = Program(Project(files, [str(folder)]))
        program.run()
        effects = Effects(program)
        for id, code in program.functions.items():
            facts, findings = judge_function(program, effects, id)
            if facts.framework != "tensorflow":
                continue
            tally.functions += 1
            tally.edits += sum(finding.safety == "safe" and finding.fixable for finding in findings)
            if facts.safety != "safe" or facts.verdict not in ("to_graph", "to_eager"):
                continue
            tally.safe += 1
            relative = Path(code.module.file).resolve().relative_to(folder.resolve()).with_suffix("")
            parts = [part for part in relative.parts if part != "__init__"]
            known = tuple((p.name, p.kind, _known(p)) for p in own_parameters(program, id).values())
            yield Candidate(".".join(parts), code.name, known)
        program.release()


def _known(parameter: ParameterFacts) -> Any:
    """What to pass: ("tensor", dtypes, shapes), ("value", constant), or None for the default or for nothing known."""
    value = parameter.hint if parameter.hint is not None and not parameter.called else parameter.value
    return _argument(value) if parameter.given or parameter.default is None else None


def _argument(value: Value) -> Any:
    for atom in value.atoms:
        if isinstance(atom, Tensor):
            return "tensor", atom.dtype, atom.shape
        if isinstance(atom, Const):
            return "value", atom.constant
        if isinstance(atom, Tuple):
            return "tuple", [_argument(item) for item in atom.items]
        if atom.is_object and getattr(atom, "kind", "") == "list":
            return "list", _argument(atom.contents())
    return None


def examine(folder: Path, tally: Tally) -> None:
    """Run everything that is called safe in one unpacked package."""
    found = list(candidates(folder, tally))
    with standing_in(folder):
        for candidate in found:
            function = _resolved(candidate, tally)
            try:
                if function is not None:
                    _compare(candidate, function, tally)
            except _Late:
                tally.not_run["it takes too long"] += 1


def _resolved(candidate: Candidate, tally: Tally) -> Any:
    try:
        with _quietly():
            found: Any = importlib.import_module(candidate.module)
        owner = None
        for part in candidate.function.split("."):
            owner, found = found, getattr(found, part)
        if isinstance(owner, type) and not isinstance(
            owner.__dict__.get(candidate.function.rpartition(".")[2]), staticmethod
        ):
            return getattr(owner(), candidate.function.rpartition(".")[2])
        return found
    except BaseException as error:
        why = (
            "a function in a function" if isinstance(error, AttributeError) else "its module or object does not come up"
        )
        tally.not_run[why] += 1
        return None


def _compare(candidate: Candidate, function: Any, tally: Tally) -> None:
    calls = _calls(candidate, function)
    if calls is None:
        tally.not_run["no arguments were found that it takes"] += 1
        return
    graph = tf.function(function)
    for args, kwargs in calls:
        eager = _outcome(function, args, kwargs)
        if not same(eager, made := _outcome(graph, args, kwargs)) and not _only_rounding(function, graph, args, kwargs):
            tally.run += 1
            tally.different.append(f"{candidate.module}:{candidate.function}: {eager!r:.300} became {made!r:.300}")
            return
    tally.run += 1


def _only_rounding(function: Any, graph: Any, args: Any, kwargs: Any) -> bool:
    """Whether the difference goes away in double precision: a graph may compute in another order."""

    def wide(value: Any) -> Any:
        return tf.cast(value, tf.float64) if isinstance(value, tf.Tensor) and value.dtype == tf.float32 else value

    args, kwargs = tf.nest.map_structure(wide, (args, kwargs))
    eager = _outcome(function, args, kwargs)
    return not isinstance(eager, str) and same(eager, _outcome(graph, args, kwargs))


def _outcome(function: Any, args: Any, kwargs: Any) -> Any:
    try:
        with _quietly():
            return typed(function(*args, **kwargs))
    except Exception as error:
        return f"fails: {type(error).__name__}"


def _calls(candidate: Candidate, function: Any) -> list[tuple[list[Any], dict[str, Any]]] | None:
    """Three calls that work in eager mode: two of one shape, the last of another."""
    working: list[tuple[list[Any], dict[str, Any]]] = []
    for dtype, shape in itertools.product(DTYPES, SHAPES):
        arguments = _arguments(candidate, dtype, shape, len(working))
        if arguments is None:
            return None
        if str(_outcome(function, *arguments)).startswith("fails"):
            continue
        working.append(arguments)
        if len(working) == 1:
            again = _arguments(candidate, dtype, shape, 1)
            assert again is not None
            working.append(again)
        if len(working) == 3:
            return working
    return [*working, working[0]][:3] if working else None


def _arguments(candidate: Candidate, dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    random = np.random.default_rng(seed)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name, kind, known in candidate.parameters:
        if known is None:
            if kind in ("normal", "positional") and not kwargs:
                return (args, kwargs) if _has_defaults(candidate, name) else None
            continue
        value = _made(known, dtype, shape, random)
        if kind in ("normal", "positional"):
            args.append(value)
        elif kind == "keyword":
            kwargs[name] = value
    return args, kwargs


def _has_defaults(candidate: Candidate, name: str) -> bool:
    """From here on nothing is known, and nothing is passed: the call shows whether there are defaults."""
    return any(other == name for other, _, _ in candidate.parameters)


def _made(known: Any, dtype: str, shape: tuple[int, ...], random: np.random.Generator) -> Any:
    if known is None:
        return None
    if known[0] == "value":
        return known[1]
    if known[0] == "tuple":
        return tuple(_made(item, dtype, shape, random) for item in known[1])
    if known[0] == "list":
        return [_made(known[1], dtype, shape, random) for _ in range(2)]
    own, dims = known[1] or dtype, shape if known[2] is None else tuple(3 if d is None else d for d in known[2])
    if own == "string":
        return tf.constant(["a"] * int(np.prod(dims)), shape=dims)
    if own == "bool":
        return tf.constant(random.integers(0, 2, dims).astype(bool))
    if own.startswith(("int", "uint")):
        return tf.constant(random.integers(0, 3, dims), own)
    return tf.cast(tf.constant(random.uniform(0.1, 0.9, dims)), own)


class _Late(BaseException):
    """The time for one call is over; not an `Exception`, which the code that runs may catch."""


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """No output, and a limit on the processor's time."""

    def stop(number: int, frame: Any) -> None:
        raise _Late

    old = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)


# -- stand-ins for what a package imports and is not installed ---------------------------------------------------------


class _Nothing(type):
    """Takes every attribute, call, base class and decorator."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name not in ("__version__",):
            raise AttributeError(name)
        return "0.0" if name == "__version__" else StandIn

    def __iter__(cls) -> Iterator[Any]:
        return iter(())


class StandIn(metaclass=_Nothing):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()


class _Module(ModuleType):
    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        return "99.0" if name == "__version__" else StandIn


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, own: set[str]) -> None:
        self.own = own

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        top = name.partition(".")[0]
        if top in self.own or top in ("tensorflow", "numpy") or top in sys.stdlib_module_names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


class _Protocols(_Finder):
    """Modules that protobuf generated: the package's own would need its own version of protobuf."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.endswith("_pb2") and name.partition(".")[0] in self.own:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None


@contextlib.contextmanager
def standing_in(folder: Path) -> Iterator[None]:
    """The package can be imported; modules that are missing do nothing."""
    before, path = set(sys.modules), list(sys.path)
    own = {entry.stem for entry in folder.iterdir()}
    finder = _Finder(own)
    sys.path.insert(0, str(folder))
    protocols = _Protocols(own)
    sys.meta_path.insert(0, protocols)
    sys.meta_path.append(finder)
    here = Path.cwd()
    try:
        yield
    finally:
        os.chdir(here)
        sys.meta_path.remove(finder)
        sys.meta_path.remove(protocols)
        sys.path[:] = path
        for name in set(sys.modules) - before:
            if name.partition(".")[0] in own:
                del sys.modules[name]
