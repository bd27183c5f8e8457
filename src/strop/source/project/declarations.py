"""The project's functions, classes and modules, as their syntax declares them; nothing is evaluated here.

A nested function is named with dots (`outer.inner`, `Class.method.inner`), without Python's `<locals>`. A name that is
defined twice in a module gets the line in its id (`module:f@12`), so that both are known.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

from strop.source.facts import Place

if TYPE_CHECKING:
    from strop.source.interpret.heap import FunctionContext
    from strop.source.interpret.usage import Use

FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]
#: Fields that hold no trees.
_LEAVES = frozenset({
    "ctx", "op", "ops", "id", "attr", "arg", "name", "asname", "kind", "type_comment", "module", "level", "simple",
    "is_async", "conversion", "kwd_attrs", "rest", "type_ignores", "n", "s",
})  # fmt: skip
#: Nodes that say something of the function around them.
_NOTED = frozenset({
    ast.Call, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.ExceptHandler,
    ast.MatchAs, ast.MatchStar, ast.MatchMapping,
})  # fmt: skip
_BARE = (ast.Constant, ast.Global, ast.Nonlocal, ast.MatchSingleton)  #: nodes without trees


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of a kind of node that hold trees."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        found = () if kind in _BARE else tuple(field for field in kind._fields if field not in _LEAVES)
        self[kind] = found
        return found


_FIELDS = _Fields()
_RELEASED = ast.Pass()


@dataclass(frozen=True)
class Parameter:
    """`kind` is positional (before `/`), normal, keyword, args or kwargs."""

    name: str
    kind: str
    default: ast.expr | None
    annotation: ast.expr | None


class Code:
    """A function, lambda, class body or module body: what its syntax says."""

    __slots__ = (
        "_all",
        "_own",
        "_places",
        "body",
        "calls",
        "captured",
        "cls",
        "decorators",
        "globals",
        "hidden",
        "id",
        "is_async",
        "is_class_method",
        "is_generator",
        "is_property",
        "is_static",
        "line",
        "locals",
        "module",
        "name",
        "node",
        "nodes",
        "nonlocals",
        "parameters",
        "parent",
        "reads",
        "rebound",
        "uses",
    )  # fmt: skip

    def __init__(self, node: ast.AST, name: str, module: Module, parent: Code | None, cls: Class | None) -> None:
        self.node = node
        self.name = name
        self.module = module
        self.parent = parent
        self.cls = cls  #: the class in whose body it is defined
        self.id = f"{module.name}:{name}"
        self.line = getattr(node, "lineno", 1)
        self.body: list[ast.stmt] = []
        self.parameters: list[Parameter] = []
        self.decorators: list[ast.expr] = list(getattr(node, "decorator_list", ()))
        self.locals: set[str] = set()
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.reads: set[str] = set()
        self.calls: set[str] = set()  #: last words of what it calls
        self.captured: set[str] = set()  #: locals that inner functions read
        self.rebound: set[str] = set()  #: locals that inner functions write
        self.is_generator = False
        self.is_async = isinstance(node, ast.AsyncFunctionDef)
        self.is_static = self.decorated("staticmethod")
        self.is_class_method = self.decorated("classmethod") or self.short in ("__new__", "__init_subclass__")
        self.is_property = self.decorated("property", "cached_property", "getter", "abstractproperty", "lazy_property")
        self.hidden = not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        self.nodes: dict[object, FunctionContext] = {}
        self.uses: dict[bool, dict[str, Use]] = {}  #: what `usage.uses` found
        self._all: list[ast.AST] | None = None
        self._own: list[ast.AST] | None = None
        self._places: dict[ast.AST | None, Place] = {}

    def walk(self) -> list[ast.AST]:
        """All of its syntax, level by level; many questions are asked of it, so it is kept."""
        if self._all is None:
            self._all = walk([self.node])
        return self._all

    def own(self) -> list[ast.AST]:
        """The syntax of its body, without functions and classes in it."""
        if self._own is None:
            self._own = walk(self.body, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        return self._own

    def place(self, node: ast.AST | None = None) -> Place:
        found = self._places.get(node)
        if found is None:
            found = self._places[node] = self._place(node)
        return found

    def _place(self, node: ast.AST | None) -> Place:
        n = node if node is not None and hasattr(node, "lineno") else self.node
        line = getattr(n, "lineno", 1)
        return Place(
            self.module.file,
            line,
            getattr(n, "col_offset", 0),
            getattr(n, "end_lineno", line) or line,
            getattr(n, "end_col_offset", 0) or 0,
        )

    @property
    def is_method(self) -> bool:
        return self.cls is not None and isinstance(self.node, (ast.FunctionDef, ast.AsyncFunctionDef))

    def decorated(self, *names: str) -> bool:
        """Whether a decorator's last word is one of these."""
        return any(last_word(decorator) in names for decorator in self.decorators)

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]

    def receiver(self) -> str | None:
        """The name of `self` or `cls`, where the function has one."""
        if not self.is_method or self.is_static or not self.parameters:
            return None
        first = self.parameters[0]
        return first.name if first.kind in ("normal", "positional") else None

    def release(self) -> None:
        """Let go of the syntax and of the contexts; nothing can be asked of it afterwards."""
        self.node = _RELEASED
        self.body, self.parameters, self.decorators = [], [], []
        self._all = self._own = None
        self._places = {}
        self.nodes.clear()
        self.uses.clear()

    def __repr__(self) -> str:
        return f"<code {self.id}>"


class Class:
    """A class of the project; its bases and members are in `Program`, once its body has been interpreted."""

    __slots__ = ("code", "id", "line", "module", "name", "node", "outer")

    def __init__(self, node: ast.ClassDef, name: str, module: Module, outer: Code) -> None:
        self.node = node
        self.name = name
        self.module = module
        self.outer = outer
        self.id = f"{module.name}:{name}"
        self.line = node.lineno
        self.code = Code(node, name, module, outer, None)
        self.code.body = node.body

    def __repr__(self) -> str:
        return f"<class {self.id}>"


class Module:
    """A file of the project: its tree, its functions and classes."""

    def __init__(self, name: str, file: str, tree: ast.Module, is_package: bool, lines: int) -> None:
        self.name = name
        self.file = file
        self.tree = tree
        self.is_package = is_package
        self.lines = lines
        self.code = Code(tree, "<module>", self, None, None)
        self.code.body = tree.body
        self.functions: list[Code] = []
        self.classes: dict[ast.ClassDef, Class] = {}
        self.codes: dict[ast.AST, Code] = {}
        self.imports: set[str] = set()  #: first words of what it imports
        self.outline = False  #: its functions are not followed
        self.installed = False  #: of an installed package: what it imports is read when it is used
        self.shadowed: set[ast.stmt] = set()  #: definitions that a later one of the same name replaces before any use
        _Collector(self).collect()

    def __repr__(self) -> str:
        return f"<module {self.name}>"


class _Collector:
    """One walk over a module: scopes, parameters, who captures what."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.seen: set[str] = set()

    def collect(self) -> None:
        code = self.module.code
        self._shadow(code.body)
        for statement in code.body:
            self._visit(statement, code, None, "")
        self._resolve(code)

    def _visit(self, node: ast.AST, code: Code, cls: Class | None, prefix: str) -> None:
        kind = node.__class__
        if kind is ast.Name:
            if isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
                code.reads.add(node.id)  # type: ignore[attr-defined]
            else:
                code.locals.add(node.id)  # type: ignore[attr-defined]
            return
        if kind is ast.Constant:
            return
        if kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda):
            self._function(node, code, cls, prefix)  # type: ignore[arg-type]
            return
        if kind is ast.ClassDef:
            self._class(node, code, prefix)  # type: ignore[arg-type]
            return
        if kind in _NOTED:
            self._note(node, code)
        for field in _FIELDS[kind]:
            value = getattr(node, field, None)
            if value.__class__ is list:
                for item in value:
                    if item is not None:
                        self._visit(item, code, cls, prefix)
            elif value is not None:
                self._visit(value, code, cls, prefix)

    def _note(self, node: ast.AST, code: Code) -> None:
        """What a node says of the function around it."""
        if isinstance(node, ast.Call):
            code.calls.add(last_word(node))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._import(node, code)
        elif isinstance(node, ast.Global):
            code.globals.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            code.nonlocals.update(node.names)
        elif isinstance(node, (ast.Yield, ast.YieldFrom)):
            code.is_generator = True
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            code.locals.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            code.locals.add(node.rest)

    def _function(self, node: FunctionNode, outer: Code, cls: Class | None, prefix: str) -> None:
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        code = Code(node, f"{prefix}{name}", self.module, outer, cls)
        code.parameters = _parameters(node.args)
        self.module.codes[node] = code
        if isinstance(node, ast.Lambda):
            code.id = f"{code.id}@{node.lineno}:{node.col_offset}"
            code.body = [ast.copy_location(ast.Return(value=node.body), node.body)]
            self._visit(node.body, code, None, f"{prefix}<lambda>.")
        else:
            outer.locals.add(node.name)
            if code.id in self.seen:
                code.id = f"{code.id}@{node.lineno}"
            self.seen.add(code.id)
            self.module.functions.append(code)
            code.body = node.body
            for decorator in node.decorator_list:
                self._visit(decorator, outer, cls, prefix)
            for statement in node.body:
                self._visit(statement, code, None, f"{code.name}.")
        for annotated in [p.annotation for p in code.parameters] + [getattr(node, "returns", None)]:
            if annotated is not None:
                self._visit(annotated, outer, cls, prefix)
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self._visit(default, outer, cls, prefix)
        code.locals.update(p.name for p in code.parameters)

    def _class(self, node: ast.ClassDef, outer: Code, prefix: str) -> None:
        outer.locals.add(node.name)
        cls = Class(node, f"{prefix}{node.name}", self.module, outer)
        self.module.classes[node] = cls
        self.module.codes[node] = cls.code
        for expression in [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]:
            self._visit(expression, outer, None, prefix)
        self._shadow(node.body)
        for statement in node.body:
            self._visit(statement, cls.code, cls, f"{cls.name}.")

    def _shadow(self, body: list[ast.stmt]) -> None:
        """Runs of definitions: the last one of a name wins."""
        last: dict[str, ast.stmt] = {}
        for statement in body:
            if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if not isinstance(statement, (ast.Import, ast.ImportFrom)):
                    last.clear()
                continue
            if any(
                last_word(decorator) in ("setter", "deleter", "getter", "register")
                for decorator in statement.decorator_list
            ):
                continue
            if statement.name in last:
                self.module.shadowed.add(last[statement.name])
            last[statement.name] = statement

    def _import(self, node: ast.Import | ast.ImportFrom, code: Code) -> None:
        for alias in node.names:
            if alias.name != "*":
                code.locals.add(alias.asname or alias.name.partition(".")[0])
            if isinstance(node, ast.Import):
                self.module.imports.add(alias.name.partition(".")[0])
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            self.module.imports.add(node.module.partition(".")[0])

    def _resolve(self, module: Code) -> None:
        """Which locals inner functions see: a name that a scope reads but does not bind belongs to an outer one."""
        for code in self.module.codes.values():
            code.locals -= code.globals | code.nonlocals
        for code in self.module.codes.values():
            for name in (code.reads | code.nonlocals) - code.locals - code.globals:
                owner = code.parent
                while owner is not None and (name not in owner.locals or isinstance(owner.node, ast.ClassDef)):
                    owner = owner.parent
                if owner is not None:
                    owner.captured.add(name)
                    if name in code.nonlocals:
                        owner.rebound.add(name)
            for name in code.globals:
                module.rebound.add(name)
                module.locals.add(name)


def walk(roots: Sequence[ast.AST], closed: tuple[type[ast.AST], ...] = ()) -> list[ast.AST]:
    """The trees level by level, like `ast.walk` but without contexts and operators; `closed` ones are not entered."""
    found = list(roots)
    add = found.append
    for node in found:
        kind = node.__class__
        if kind in closed:
            continue
        for field in _FIELDS[kind]:
            value = getattr(node, field, None)
            if value.__class__ is list:
                for item in value:
                    if item is not None:
                        add(item)
            elif value is not None:
                add(value)
    return found


def children(node: ast.AST) -> list[ast.AST]:
    """The trees inside a tree, in order, without contexts and operators."""
    found: list[ast.AST] = []
    for field in _FIELDS[node.__class__]:
        value = getattr(node, field, None)
        if value.__class__ is list:
            found += [item for item in value if item is not None]
        elif value is not None:
            found.append(value)
    return found


def _parameters(args: ast.arguments) -> list[Parameter]:
    found: list[Parameter] = []
    positional = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
    defaults += args.defaults
    for index, (arg, default) in enumerate(zip(positional, defaults)):
        kind = "positional" if index < len(args.posonlyargs) else "normal"
        found.append(Parameter(arg.arg, kind, default, arg.annotation))
    if args.vararg:
        found.append(Parameter(args.vararg.arg, "args", None, args.vararg.annotation))
    for arg, default in zip(args.kwonlyargs, args.kw_defaults):
        found.append(Parameter(arg.arg, "keyword", default, arg.annotation))
    if args.kwarg:
        found.append(Parameter(args.kwarg.arg, "kwargs", None, args.kwarg.annotation))
    return found


def last_word(expression: ast.expr) -> str:
    """The last name of a dotted one, called or not: `c` of `a.b.c(x)`."""
    if isinstance(expression, ast.Call):
        return last_word(expression.func)
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""
