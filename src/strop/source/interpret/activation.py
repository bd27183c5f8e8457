"""One run of a function's body: the state that statements and expressions share, names, joins, and noted events."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from strop.source.interpret.heap import Cell, Frame, FunctionContext, Object
from strop.source.interpret.joins import join, widen_constants
from strop.source.interpret.memory import Reads
from strop.source.interpret.values import NOTHING, UNKNOWN, Value, const, library, unknown
from strop.source.project.declarations import Class

if TYPE_CHECKING:
    from strop.source.interpret.interpreter import Program

MAX_STEPS = 60_000  #: statements and expressions of one run; beyond, the function is given up
Env = dict[str, Value]


class GaveUp(Exception):
    """The function takes too long to follow."""


class CallArguments:
    """What a call passes: positional, by keyword, and through stars whose length is not known."""

    __slots__ = ("kwargs", "positional", "star", "star_kwargs")

    def __init__(
        self,
        positional: list[Value] | None = None,
        kwargs: dict[str, Value] | None = None,
        star: Value = NOTHING,
        star_kwargs: Value = NOTHING,
    ) -> None:
        self.positional = positional or []
        self.kwargs = kwargs or {}
        self.star = star
        self.star_kwargs = star_kwargs

    def before(self, *values: Value) -> CallArguments:
        """The same with further positional arguments in front."""
        return CallArguments([*values, *self.positional], self.kwargs, self.star, self.star_kwargs)

    def get(self, index: int, name: str = "") -> Value:
        """One argument by name or position; nothing when it is not passed."""
        if name and name in self.kwargs:
            return self.kwargs[name]
        if 0 <= index < len(self.positional):
            return self.positional[index]
        return join(self.star, self.star_kwargs)

    def every(self) -> list[Value]:
        found = [*self.positional, *self.kwargs.values()]
        return found + [v for v in (self.star, self.star_kwargs) if v.atoms]


class Activation:
    """The state of one run; `statements.Body` is what the program makes of it."""

    def __init__(self, program: Program, node: FunctionContext) -> None:
        self.program = program
        self.apis = program.apis
        self.node = node
        self.code = node.code
        self.frame = node.frame
        self.env: Env | None = {}
        self.result = NOTHING
        self.yields = NOTHING
        self.steps = 0
        self.depth = 0
        self.is_module = isinstance(node.code.node, ast.Module)
        self.captured = node.code.captured
        self.breaks: list[list[Env]] = []
        self.continues: list[list[Env]] = []
        self.namespace: Class | None = None  #: while a class body runs
        self.exempt = False
        self.reads = Reads()
        self.done: list[dict[tuple[object, ...], Value]] = []  #: layers that the call at hand has run, and with what
        self.describing = False  #: while the value of a library's own variable is made up: it existed before any call

    # -- what the parts of an activation ask of each other ---------------------------------------------------------

    def evaluate(self, node: ast.expr) -> Value:
        raise NotImplementedError

    def attribute(self, value: Value, name: str, at: ast.AST) -> Value:
        raise NotImplementedError

    def call(self, callee: Value, args: CallArguments, at: ast.AST, receiver: Value | None = None) -> Value:
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Value) -> None:
        raise NotImplementedError

    def iterate(self, value: Value, at: ast.AST) -> Value:
        raise NotImplementedError

    def narrow(self, test: ast.expr, truth: bool) -> None:
        raise NotImplementedError

    def block(self, statements: list[ast.stmt]) -> None:
        raise NotImplementedError

    # -- events ----------------------------------------------------------------------------------------------------

    def note(self, at: ast.AST, kind: str, *payload: Any) -> None:
        """Remember an event; a later round of a loop replaces what an earlier one saw."""
        self.node.events[id(at), kind] = (at, kind, payload)

    def note_write(self, at: ast.AST, kind: str, target: ast.AST | str, to: Value | Frame | str, value: Value) -> None:
        """`to` is the object, the frame of a captured variable, or a word (`io`, `print`, `global`, `unknown`).

        A method of one of several objects writes to each of them.
        """
        text = target if isinstance(target, str) else spelled(target)
        if not isinstance(to, Value):
            word = to if isinstance(to, str) else "frame"
            self.node.events[id(at), f"write {word} {kind} {text}"] = (at, "write", (kind, text, to, value))
            return
        key = id(at), f"write {kind} {text}"
        known = self.node.events.get(key)
        if known is not None:
            to, value = join(known[2][2], to), join(known[2][3], value)
        self.node.events[key] = (at, "write", (kind, text, to, value))

    def tick(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise GaveUp(f"more than {MAX_STEPS:,} steps")

    # -- the heap --------------------------------------------------------------------------------------------------

    def read(self, cell: Cell) -> Value:
        cell.readers[self.node] = None
        value = cell.value
        self.reads.cells.append((cell, value))
        return value

    def write(self, cell: Cell, value: Value) -> None:
        cell.writers[self.code] = None
        self.program.write(cell, value)

    def look_into(self, obj: Object) -> None:
        """Be run again when more gets into an object."""
        obj.readers[self.node] = None
        self.reads.objects.append((obj, obj.version))

    def read_contents(self, obj: Object) -> Value:
        self.look_into(obj)
        return obj.contents()

    def new(self, at: ast.AST, kind: str, cls: Class | str, tag: int = 0) -> Object:
        """The object that this expression allocates in this context."""
        return self.program.allocate(None if self.describing else self.node, at, kind, cls, tag)

    def container(self, at: ast.AST, kind: str, element: Value, keys: Value = NOTHING, tag: int = 0) -> Value:
        """A container of unknown length."""
        obj = self.new(at, kind, f"builtins.{kind}", tag)
        self.program.put_wild(obj, element, keys)
        return obj.value

    def sequence(self, at: ast.AST, kind: str, items: list[Value]) -> Value:
        """A list (or iterator) with these elements in order."""
        obj = self.new(at, kind, f"builtins.{kind}")
        self.program.put_items(obj, dict(enumerate(items)))
        return obj.value

    # -- names -----------------------------------------------------------------------------------------------------

    def load(self, name: str, at: ast.AST) -> Value:
        env = self.env
        if env is not None:
            found = env.get(name)
            if found is not None:
                if name in self.code.rebound:
                    found = join(found, self.read(self._cell(self.frame, name)))
                return found
        return self.load_free(name, at)

    def load_free(self, name: str, at: ast.AST) -> Value:
        """A captured variable, a global, or a builtin."""
        frame: Frame | None = self.frame if self.is_module else self.frame.parent
        globally = name in self.code.globals
        while frame is not None:
            is_global = frame.parent is None
            if (name in frame.code.locals or name in frame.cells) and (is_global or not globally):
                if is_global and frame.code.module.installed:
                    self.program.late.do(frame, name)
                cell = self._cell(frame, name)
                value = self.read(cell)
                if not self.is_module:
                    self.note(at, "read global" if is_global else "read closure", name, cell, frame)
                return value
            frame = frame.parent
        if name in _DUNDERS:
            return _DUNDERS[name](self.code.module.name)
        starred = self.program.stars.find(self.program, self.code.module, name)
        if starred is not None:
            return self.read(starred)
        if name in BUILTINS:
            return library(f"builtins.{name}").value
        return NOTHING if name in self.code.locals else unknown(f"`{name}` is not defined")

    def _cell(self, frame: Frame, name: str) -> Cell:
        cell = frame.cells.get(name)
        if cell is None:
            cell = frame.cells[name] = Cell()
        return cell

    def store(self, name: str, value: Value, at: ast.AST) -> None:
        code = self.code
        if self.namespace is not None:
            self.program.member(self.namespace, name, value)
        elif name in code.globals:
            frame = self.program.module_frame(code.module)
            self.note_write(at, "global", name, "global", value)
            self.write(self._cell(frame, name), value)
        elif name in code.nonlocals:
            frame = self.frame.parent  # type: ignore[assignment]
            while frame is not None and name not in frame.code.locals:
                frame = frame.parent  # type: ignore[assignment]
            if frame is not None:
                self.note_write(at, "nonlocal", name, frame, value)
                self.write(self._cell(frame, name), value)
        elif self.is_module or name in self.captured:
            self.write(self._cell(self.frame, name), value)
        if self.env is not None:
            if name in code.globals or name in code.nonlocals:
                self.env.pop(name, None)
            else:
                self.env[name] = value

    # -- joins -----------------------------------------------------------------------------------------------------

    @staticmethod
    def merge(a: Env | None, b: Env | None) -> Env | None:
        """What holds after two branches; `None` is a branch that does not come back."""
        if a is None:
            return b
        if b is None or a is b:
            return a
        for name, value in b.items():
            other = a.get(name)
            if other is not value:
                a[name] = value if other is None else join(other, value)
        return a

    @staticmethod
    def widen(head: Env, end: Env | None) -> Env | None:
        """The head of a loop after another round, or None when nothing changed."""
        if end is None:
            return None
        changed = None
        for name, value in end.items():
            other = head.get(name)
            if other is value:
                continue
            joined = value if other is None else widen_constants(other, value)
            if joined is not other:
                changed = dict(head) if changed is None else changed
                changed[name] = joined
        return changed


def spelled(node: ast.AST) -> str:
    """An expression as it was written, cut short."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{spelled(node.value)}.{node.attr}"
    if isinstance(node, ast.Subscript):
        return f"{spelled(node.value)}[…]"
    if isinstance(node, ast.Call):
        return f"{spelled(node.func)}(…)"
    return "…"


def _own_name(module: str) -> Value:
    return join(const("__main__"), const(module))


_DUNDERS: dict[str, Callable[[str], Value]] = {
    "__name__": _own_name,
    "__file__": lambda module: const(f"{module}.py"),
    "__doc__": lambda module: UNKNOWN,
    "__package__": lambda module: const(module),
    "__path__": lambda module: UNKNOWN,
    "__spec__": lambda module: UNKNOWN,
    "__builtins__": lambda module: UNKNOWN,
    "__debug__": lambda module: const(True),
    "__class__": lambda module: UNKNOWN,
}
BUILTINS = frozenset(name for name in dir(__import__("builtins")) if not name.startswith("_") or name == "__import__")
