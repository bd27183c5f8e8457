"""Reading Python: what names in a file refer to, and edits by position that leave everything else as it is."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field


class Source:
    """A text with edits by (line, byte column) as `ast` counts them, or by character offset."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.edits: list[tuple[int, int, str]] = []

    def offset(self, line: int, column: int) -> int:
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return self.starts[line - 1] + len(text.encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def segment(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def replace(self, start: int, end: int, new: str) -> None:
        if self.text[start:end] != new and (start, end, new) not in self.edits:
            self.edits.append((start, end, new))

    def result(self) -> str:
        out, at = [], 0
        for start, end, new in sorted(self.edits):
            if start < at:
                raise ValueError(f"edits overlap at {self.text[start:end]!r} -> {new!r}")
            out += [self.text[at:start], new]
            at = end
        return "".join([*out, self.text[at:]])


@dataclass
class Scope:
    kind: str  # module, function, class, comprehension
    parent: Scope | None
    bound: dict[str, list[object]] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)

    def bind(self, name: str, what: object) -> None:
        self.bound.setdefault(name, []).append(what)


@dataclass(frozen=True)
class Imported:
    """A name bound by an import statement: `module` itself where `name` is None."""

    module: str
    name: str | None
    node: ast.AST = field(compare=False, hash=False)
    alias: ast.alias = field(compare=False, hash=False)


OWN = "own"  # bound at the top level of the file by something that is no import
OTHER = "other"


class Names(ast.NodeVisitor):
    """Every use of a name with what it refers to: (node, Imported | OWN | OTHER)."""

    def __init__(self, tree: ast.Module, modules: set[str]) -> None:
        self.modules = modules
        self.uses: list[tuple[ast.Name, str, object]] = []
        self.imports: list[ast.Import | ast.ImportFrom] = []
        self.all_bound: set[str] = set()
        self.in_fstring: set[int] = set()
        self._pending: list[tuple[ast.Name, Scope]] = []
        self._scope = Scope("module", None)
        self.module_scope = self._scope
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                self.in_fstring.update(id(inner) for inner in ast.walk(node))
        self.visit(tree)
        for name, scope in self._pending:
            self.uses.append((name, name.id, self._resolve(name.id, scope)))

    def _resolve(self, name: str, scope: Scope | None) -> object:
        first = scope
        while scope is not None:
            if scope.kind == "class" and scope is not first:
                scope = scope.parent
                continue
            if name in scope.globals:
                scope = self.module_scope
            if name in scope.bound:
                kinds = set(scope.bound[name])
                imported = [k for k in kinds if isinstance(k, Imported)]
                if len(kinds) == 1:
                    only = next(iter(kinds))
                    if isinstance(only, Imported):
                        return only
                    return OWN if scope.kind == "module" else OTHER
                if imported and len({(i.module, i.name) for i in imported}) == 1 and len(kinds) == len(imported):
                    return imported[0]
                return OWN if scope.kind == "module" and not imported else OTHER
            scope = scope.parent
        return None

    # ---- scopes ----

    def _inside(self, kind: str):
        return _Entered(self, Scope(kind, self._scope))

    def _bind(self, name: str, what: object = OTHER) -> None:
        self._scope.bind(name, what)
        self.all_bound.add(name)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        if not isinstance(node, ast.Lambda):
            self._bind(node.name)
            for one in node.decorator_list:
                self.visit(one)
            if node.returns:
                self.visit(node.returns)
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        for one in every:
            if one is not None and one.annotation is not None:
                self.visit(one.annotation)
        for default in [*arguments.defaults, *arguments.kw_defaults]:
            if default is not None:
                self.visit(default)
        with self._inside("function"):
            for one in every:
                if one is not None:
                    self._bind(one.arg)
            for statement in node.body if isinstance(node.body, list) else [node.body]:
                self.visit(statement)

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_Lambda = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._bind(node.name)
        for one in [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]:
            self.visit(one)
        with self._inside("class"):
            for statement in node.body:
                self.visit(statement)

    def _comprehension(self, node: ast.AST) -> None:
        with self._inside("comprehension"):
            for generator in node.generators:
                self.visit(generator.target)
            for generator in node.generators:
                self.visit(generator.iter)
                for condition in generator.ifs:
                    self.visit(condition)
            for name in ("elt", "key", "value"):
                if hasattr(node, name):
                    self.visit(getattr(node, name))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        scope = self._scope
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        scope.bind(node.target.id, OTHER)
        self.all_bound.add(node.target.id)
        self._pending.append((node.target, self._scope))
        self.visit(node.value)

    def visit_Global(self, node: ast.Global) -> None:
        self._scope.globals.update(node.names)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            self._bind(node.id)
        self._pending.append((node, self._scope))

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._bind(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self._bind(node.name)
        self.generic_visit(node)

    # ---- imports ----

    def visit_Import(self, node: ast.Import) -> None:
        self.imports.append(node)
        for alias in node.names:
            if alias.asname:
                self._bind(alias.asname, Imported(alias.name, None, node, alias))
            else:
                self._bind(alias.name.partition(".")[0], Imported(alias.name.partition(".")[0], None, node, alias))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.imports.append(node)
        for alias in node.names:
            bound = alias.asname or alias.name
            full = f"{node.module}.{alias.name}"
            if full in self.modules:
                self._bind(bound, Imported(full, None, node, alias))
            else:
                self._bind(bound, Imported(node.module or "", alias.name, node, alias))


class _Entered:
    def __init__(self, names: Names, scope: Scope) -> None:
        self.names, self.scope = names, scope

    def __enter__(self) -> None:
        self.before, self.names._scope = self.names._scope, self.scope

    def __exit__(self, *_: object) -> None:
        self.names._scope = self.before


def tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    yield from tokenize.generate_tokens(io.StringIO(text).readline)


def definition_name(source: Source, node: ast.AST) -> tuple[int, int]:
    """Where the name of a `def` or `class` stands."""
    start = source.offset(node.lineno, node.col_offset)
    at = source.text.index(node.name, source.text.index({ast.ClassDef: "class"}.get(type(node), "def"), start))
    return at, at + len(node.name)
