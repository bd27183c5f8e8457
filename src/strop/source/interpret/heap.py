"""What outlives an expression: objects by allocation site, captured variables, and one node per function and context.

The heap is not sensitive to the order of statements: a cell only grows. Whoever reads a cell is noted as its reader and
interpreted again when it grows; so the whole program reaches a fixed point.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from strop.source.interpret.joins import grown, join_all
from strop.source.interpret.values import NOTHING, Atom, Value, const

if TYPE_CHECKING:
    from strop.source.interpret.memory import Memory
    from strop.source.project.declarations import Class, Code

MAX_KEYS = 48


class Cell:
    """A variable or attribute, with everybody who has read it."""

    __slots__ = ("readers", "value", "writers")

    def __init__(self, value: Value = NOTHING) -> None:
        self.value = value
        self.readers: dict[FunctionContext, None] = {}
        self.writers: dict[Code, None] = {}


class Object(Atom):
    """Everything that one expression allocates in one context: an instance, a container, an iterator."""

    __slots__ = (
        "attributes", "cls", "items", "keys", "kind", "line", "owner", "readers", "shuffled", "version", "wild",
    )  # fmt: skip
    is_object = True

    def __init__(self, kind: str, cls: Class | str, owner: FunctionContext | None, line: int) -> None:
        super().__init__()
        self.kind = kind  #: instance, list, dict, set, frozenset, tuple, iterator, generator
        self.cls = cls  #: a class of the project, or the dotted name of a library's
        self.owner = owner  #: the call during which it came to be
        self.line = line
        self.attributes: dict[str, Cell] = {}
        self.items: dict[Hashable, Value] = {}  #: by constant key or position
        self.wild = NOTHING  #: under keys that are not known
        self.keys = NOTHING  #: keys that are not constant
        self.shuffled = False  #: positions mean nothing any more
        self.version = 0  #: counts how often what it contains has grown
        self.readers: dict[FunctionContext, None] = {}

    def release(self) -> None:
        super().release()
        self.attributes.clear()
        self.items.clear()
        self.readers.clear()
        self.wild = self.keys = NOTHING

    def contents(self) -> Value:
        """Every element (every value of a dict)."""
        return join_all([self.wild, *self.items.values()]) if self.items else self.wild

    def all_keys(self) -> Value:
        return join_all([self.keys, *(const(key) for key in self.items)])

    def positions(self) -> list[Value] | None:
        """The elements in order, where the order is known."""
        if self.shuffled or self.wild.atoms or self.kind not in ("list", "tuple", "iterator", "instance"):
            return None
        if any(i not in self.items for i in range(len(self.items))):
            return None  # an object that is written to like a dict
        return [self.items[i] for i in range(len(self.items))]

    def is_library_instance(self) -> bool:
        return self.kind == "instance" and isinstance(self.cls, str)

    def class_name(self) -> str:
        return self.cls if isinstance(self.cls, str) else self.cls.name

    def describe(self) -> str:
        if self.kind == "instance":
            return f"instance of {self.class_name()}"
        inner = self.contents()
        return (
            f"{self.kind} of {inner.atoms[0].describe()}" if inner.atoms and inner.atoms[0] is not self else self.kind
        )


class Frame:
    """Variables of one call (or of a module) that inner functions may read and write."""

    __slots__ = ("cells", "code", "owner", "parent", "serial")

    def __init__(self, code: Code, owner: FunctionContext | None, parent: Frame | None) -> None:
        self.code = code
        self.owner = owner
        self.parent = parent
        self.cells: dict[str, Cell] = {}


class FunctionContext:
    """A function in one context: what flows in, what comes out, what happens inside."""

    __slots__ = (
        "arguments",
        "callees",
        "callers",
        "code",
        "entry",
        "events",
        "exempt",
        "frame",
        "gave_up",
        "given",
        "heads",
        "key",
        "memory",
        "parameters",
        "queued",
        "result",
        "running",
        "runs",
        "stale",
        "steps",
        "yields",
    )

    def __init__(self, code: Code, key: object, frame: Frame | None) -> None:
        self.code = code
        self.key = key
        self.frame = Frame(code, self, frame)
        self.parameters: dict[str, Value] = {}
        self.arguments: dict[
            tuple[FunctionContext | None, int, int], dict[str, Value]
        ] = {}  #: what each call site passed
        self.result = NOTHING
        self.yields = NOTHING
        self.events: dict[tuple[int, str], Any] = {}
        self.callees: dict[tuple[ast.AST, FunctionContext], bool] = {}  #: the value says whether its effects are exempt
        self.callers: dict[FunctionContext, None] = {}
        self.given: dict[str, None] = {}  #: parameters that some caller passed (not left to a default)
        self.heads: dict[
            ast.AST, dict[str, Value]
        ] = {}  #: variables at the head of each loop, as the last run left them
        self.memory: dict[ast.AST, Memory] = {}  #: what each statement did in the last run
        self.entry = False
        self.exempt = False
        self.running = False
        self.queued = False
        self.stale = True
        self.runs = 0
        self.steps = 0
        self.gave_up = ""

    def release(self) -> None:
        """Let go of other nodes and of objects."""
        for held in (
            self.arguments,
            self.callees,
            self.callers,
            self.events,
            self.parameters,
            self.heads,
            self.memory,
            self.frame.cells,
        ):
            held.clear()
        self.frame.owner = self.frame.parent = None


def put(cell: Cell, value: Value) -> bool:
    """Join a value into a cell; True when it grew."""
    joined = grown(cell.value, value)
    if joined is cell.value:
        return False
    cell.value = joined
    return True
