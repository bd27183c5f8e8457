"""What users add to Strop: whose it is, which version of it, how it is taken out, and who is named when it fails.

    registry.add(extension, install)    `install` puts it into the table of its layer and returns how to take it out
    registry.key()                      a hash of everything that was added, for cache keys; empty where nothing was
    registry.load(journal)              the packages that declare an entry point `strop.extensions`, once
    with extension.blamed(): …          what is raised inside becomes a Problem that names the extension

`strop.extend` is what users call. The tables themselves (rules, lowerings, planner steps …) lie in the layers that read
them.
"""

from __future__ import annotations

import functools
import hashlib
import linecache
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import CellType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from strop.core.journal import Journal
from strop.core.options import is_off
from strop.core.problem import Problem

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Kind = Literal["rule", "operator", "pass", "planner step", "target", "ONNX operator"]
Undo = Callable[[], object]

GROUP = "strop.extensions"
SWITCH = "STROP_EXTENSIONS"

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class Extension:
    """One thing that somebody added."""

    kind: Kind
    name: str
    owner: str  # the package or the script that it comes from
    place: str  # file:line
    fingerprint: str
    identity: tuple[str, str]  # module and qualified name: who has both may replace what it registered before

    def __str__(self) -> str:
        return f"the {self.kind} `{self.name}` of {self.owner}"

    def problem(self, what: str, where: str = "", help: str = "") -> Problem:
        """What went wrong inside of it. Nothing of Strop was changed by it."""
        out = f'mend it, or take it out: strop.extend.unregister("{self.kind}", "{self.name}")'
        return Problem("STR012", f"{self} {what}", where=where or self.place, help=f"{help}; {out}" if help else out)

    @contextmanager
    def blamed(self, *, allowed: tuple[type[BaseException], ...] = ()) -> Iterator[None]:
        """What is raised inside is this extension's fault, unless it is `allowed`, or another was blamed already."""
        try:
            yield
        except allowed:
            raise
        except Problem as problem:
            if problem.code == "STR012":
                raise
            raise self.problem(f"failed: {problem.message}", _raised_at(problem, self.identity[0])) from problem
        except Exception as error:
            told = first_line(error)
            raise self.problem(
                f"raised {type(error).__name__}" + (f": {told}" if told else ""), _raised_at(error, self.identity[0])
            ) from error


def first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")


def _raised_at(error: BaseException, module: str) -> str:
    """The last place in the package of a module that an exception came through; empty where it came through none."""
    frames = list(traceback.walk_tb(error.__traceback__))
    package = module.partition(".")[0]
    own = [at for at in frames if str(at[0].f_globals.get("__name__", "")).partition(".")[0] == package]
    return f"{own[-1][0].f_code.co_filename}:{own[-1][1]}" if own else ""


def is_foreign(module: str) -> bool:
    """Whether a module is not a part of Strop."""
    return module.partition(".")[0] != "strop"


def refused(kind: str, name: str, why: str, where: str = "", help: str = "") -> Problem:
    """Why something cannot be registered."""
    return Problem("STR011", f"the {kind} `{name}` cannot be registered: {why}", where=where, help=help)


def put(table: MutableMapping[K, V], key: K, value: V) -> Undo:
    """An entry in a table, and how to take it out."""
    table[key] = value
    return lambda: table.pop(key, None)


# ---- what was registered ---------------------------------------------------------------------------------------------


@dataclass
class _Entry:
    extension: Extension
    install: Callable[[], Undo]
    undo: Undo


class Registry:
    """Everything that was added, in order. Registering and compiling may happen in different threads."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], _Entry] = {}
        self._key: str | None = None
        self._loaded = False
        self._failures: list[tuple[str, str]] = []
        self._lock = threading.RLock()

    def add(self, extension: Extension, install: Callable[[], Undo], taken: Callable[[], str] = str) -> None:
        """Register something, in place of what the same definition registered before. `taken` says who has the name
        otherwise, if anybody."""
        at = (extension.kind, extension.name)
        with self._lock:
            known = self._entries.get(at)
            if known is not None and known.extension.identity != extension.identity:
                raise _taken(extension, f"{known.extension.owner} ({known.extension.place})")
            if known is not None:
                known.undo()
            owner = taken()
            if owner:
                if known is not None:
                    known.undo = known.install()
                raise _taken(extension, owner)
            self._entries.pop(at, None)
            self._entries[at] = _Entry(extension, install, install())
            self._key = None

    def remove(self, kind: str, name: str) -> None:
        with self._lock:
            entry = self._entries.pop((kind, name), None)
            if entry is None:
                known = ", ".join(f"{one.kind} `{one.name}`" for one in self) or "nothing"
                raise Problem("STR011", f"no {kind} `{name}` was registered", help=f"registered: {known}")
            entry.undo()
            self._key = None

    def __iter__(self) -> Iterator[Extension]:
        return iter([entry.extension for entry in self._entries.values()])

    def find(self, kind: Kind, name: str) -> Extension | None:
        entry = self._entries.get((kind, name))
        return entry.extension if entry is not None else None

    def key(self) -> str:
        """A hash of names, owners and versions of all that is registered; the order counts, as rules and steps have
        one."""
        if self._key is None:
            with self._lock:
                told = [(one.kind, one.name, one.identity, one.fingerprint) for one in self]
                self._key = hashlib.sha256(repr(told).encode()).hexdigest() if told else ""
        return self._key

    @contextmanager
    def temporarily(self) -> Iterator[None]:
        """What is registered or taken out inside is as before afterwards."""
        with self._lock:
            before = dict(self._entries)
        try:
            yield
        finally:
            with self._lock:
                self._restore(before)

    def _restore(self, before: dict[tuple[str, str], _Entry]) -> None:
        for at, entry in reversed(list(self._entries.items())):
            if before.get(at) is not entry:
                entry.undo()
                del self._entries[at]
        for at, entry in before.items():
            if at not in self._entries:
                entry.undo = entry.install()
        self._entries = before
        self._key = None

    # ---- packages ----------------------------------------------------------------------------------------------------

    def load(self, journal: Journal | None = None) -> None:
        """Load every package that declares an entry point, once; those that failed are reported to each journal."""
        if not self._loaded:
            wanted = not is_off(SWITCH)
            with self._lock:
                if not self._loaded:
                    self._loaded = True
                    if wanted:
                        self._load_all()
        for package, why in self._failures:
            (journal or Journal()).warn("note", package, why, code="STR013")

    def _load_all(self) -> None:
        from importlib.metadata import entry_points

        try:
            points = sorted(entry_points(group=GROUP), key=lambda point: (_package(point), point.name))
        except Exception as error:  # what other packages have written of themselves cannot be read
            self._failures.append((GROUP, f"no extensions are loaded: {type(error).__name__}: {first_line(error)}"))
            return
        for point in points:
            before = dict(self._entries)
            token = _loading.set(_package(point))
            try:
                found = point.load()
                if callable(found):
                    found()
            except (Exception, SystemExit) as error:
                self._restore(before)
                why = str(error) if isinstance(error, Problem) else f"{type(error).__name__}: {first_line(error)}"
                told = f"its extension `{point.value}` is left out: {why}"
                self._failures.append((_package(point), told))
            except BaseException:
                self._restore(before)
                self._loaded = False
                raise
            finally:
                _loading.reset(token)


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.name


def _taken(extension: Extension, owner: str) -> Problem:
    return refused(
        extension.kind, extension.name, f"{owner} has one of this name", extension.place, "choose another name"
    )


#: the package whose entry point is being loaded
_loading: ContextVar[str] = ContextVar("loading", default="")

registry = Registry()


# ---- who it is, and which version ------------------------------------------------------------------------------------


def described(kind: Kind, name: object, parts: Sequence[Any], version: str = "") -> Extension:
    """An extension made of these functions, classes and settings, registered by the code outside of Strop that has
    called us.

    Its fingerprint is a hash of the sources of the packages (or scripts, or notebook cells) that functions and classes
    are in, of which of them were given with what values, and of `version`; where no source can be read, a version has
    to be given.
    """
    if not isinstance(name, str) or not name:
        raise refused(kind, str(name), "a name is a text that is not empty")
    if not isinstance(version, str):
        raise refused(kind, name, f"a version is a text, not {type(version).__name__}")
    origins = [origin for part in parts if (origin := _origin(part)) is not None and is_foreign(origin[0])]
    caller = _caller()
    if caller is not None:
        module = str(caller.f_globals.get("__name__", ""))
        origins.append((module, caller.f_code.co_filename, caller.f_lineno, caller.f_code.co_name))
    if not origins:
        raise refused(kind, name, "it is a part of Strop itself")
    sources = [_source(module, file) for module, file, _, _ in origins]
    module, file, line, qualname = origins[0]
    place = f"{file}:{line}"
    if not version and None in sources:
        raise refused(kind, name, "its source cannot be read, so that cached code would not notice when it changes",
                      place, 'give version="1", and another one whenever it changes')  # fmt: skip
    told = repr((version, sources, [_values(part, set()) for part in parts]))
    fingerprint = hashlib.sha256(told.encode()).hexdigest()
    return Extension(kind, name, _loading.get() or _owner(module, file), place, fingerprint, (module, qualname))


def _values(value: Any, seen: set[int]) -> Any:
    """What tells a part from others of the same source: which function it is, and the values that it was made with."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return value
    if id(value) in seen:
        return "again"
    seen.add(id(value))
    if isinstance(value, tuple | list):
        return [_values(one, seen) for one in value]
    if isinstance(value, frozenset | set):
        return sorted(repr(_values(one, seen)) for one in value)
    if isinstance(value, Mapping):
        return sorted((repr(key), repr(_values(one, seen))) for key, one in value.items())
    if isinstance(value, functools.partial):
        return ["partial", _values(value.func, seen), _values(value.args, seen), _values(value.keywords, seen)]
    if isinstance(value, MethodType):
        return [_values(value.__func__, seen), _values(value.__self__, seen)]
    if isinstance(value, FunctionType):
        code, cells = value.__code__, value.__closure__ or ()
        inside = [_values(_content(cell), seen) for cell in cells]
        return [value.__module__, value.__qualname__, code.co_firstlineno, code.co_code, value.__defaults__ and
                _values(value.__defaults__, seen), _values(value.__kwdefaults__ or {}, seen), inside]  # fmt: skip
    kind = value if isinstance(value, type) else type(value)
    held = {} if isinstance(value, type | ModuleType) else getattr(value, "__dict__", {})
    return [kind.__module__, kind.__qualname__, _values(dict(held), seen)]


def _content(cell: CellType) -> Any:
    """The value of a variable around a function; None where it has none yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _origin(part: Any) -> tuple[str, str, int, str] | None:
    """Module, file, line and name of a function or a class; of an object that is called, those of its class; None of
    what is neither."""
    while isinstance(part, functools.partial):
        part = part.func
    if not callable(part):
        return None
    code = getattr(part, "__code__", None)
    if isinstance(code, CodeType):
        return part.__module__ or "", code.co_filename, code.co_firstlineno, part.__qualname__
    kind = part if isinstance(part, type) else type(part)
    functions = [v for v in vars(kind).values() if isinstance(getattr(v, "__code__", None), CodeType)]
    own = [
        f.__code__ for f in functions if f.__module__ == kind.__module__ and not f.__code__.co_filename.startswith("<")
    ]
    first = min(own, key=lambda code: code.co_firstlineno, default=None)
    file = first.co_filename if first is not None else getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    return kind.__module__, file, first.co_firstlineno if first is not None else 1, kind.__qualname__


def _caller() -> FrameType | None:
    """The frame outside of Strop that has called us."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_foreign(str(frame.f_globals.get("__name__", ""))):
        frame = frame.f_back
    return frame


def _owner(module: str, file: str) -> str:
    return Path(file).name if module == "__main__" and file else module.partition(".")[0]


def _source(module: str, file: str) -> str | None:
    """A hash of the package that a module is in, of its file where it is in none, or of the text that was typed; None
    where nothing can be read."""
    found = sys.modules.get(module)
    at = getattr(found, "__file__", None) or file
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        package = sys.modules.get(".".join(parts[:depth]))
        home = getattr(package, "__file__", None)
        if home and hasattr(package, "__path__"):
            root = Path(home).parent
            return _digest([_file_digest(path) for path in sorted(root.rglob("*.py"))])
    if at.endswith(".py") and Path(at).is_file():
        return _file_digest(Path(at))
    typed = linecache.getlines(file)
    return _digest(typed) if typed else None


def _file_digest(path: Path) -> str:
    stat = path.stat()
    return _digest_of(str(path), stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=4096)
def _digest_of(path: str, changed: int, size: int) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
