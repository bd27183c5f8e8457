"""The imports of one module: what is there, under which name, and where another one belongs."""

from __future__ import annotations

import ast
import io
import keyword
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class _Binding:
    full: str  #: what the name means: `torch`, `torch.nn.functional`
    bound: str  #: the name that it gets
    line: int
    loads: str  #: the module that has to be imported for it


class Imports:
    """What a module imports when it is loaded; imports for type checkers and inside functions do not count."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.found = [b for statement in _executed(tree.body) for b in _bindings(statement)]
        self.others = _other_names(tree.body)
        self.everywhere = {
            *(node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)),
            *(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)),
        }

    def has(self, statement: str, line: int) -> bool:
        """Is this import there already, in whatever name, and before a line?"""
        return all(self._same(wanted, line) is not None for wanted in _parsed(statement))

    def conflict(self, statement: str) -> str:
        """Why the import cannot be added: its name means something else here."""
        for wanted in _parsed(statement):
            present = self._same(wanted, None)
            bound = present.bound if present else wanted.bound
            if bound in self.others - self._bound():
                return f"`{bound}` already names something else in this file"
            if present is None and any(b.bound == wanted.bound and b.full != wanted.full for b in self.found):
                return f"`{wanted.bound}` is imported from elsewhere in this file"
            if bound in self.everywhere and bound not in self.others:
                return f"`{bound}` is also a variable or parameter in this file"
        return ""

    def in_own_names(self, text: str, statements: Sequence[str]) -> str:
        """Text that uses the imports of `statements`, in the names that this file has for them."""
        names = {}
        for wanted in (wanted for statement in statements for wanted in _parsed(statement)):
            present = self._same(wanted, None)
            if present is not None and present.bound != wanted.bound:
                names[wanted.bound] = present.bound
        return _rename(text, names) if names else text

    def where_to_add(self, text: str) -> tuple[int, Literal["", "after", "before"]]:
        """After which line (0: at the top) an import goes, and where a blank line is due."""
        body = self.tree.body
        head = 0
        for statement in body:
            if not (_is_docstring(statement, body) or _is_future(statement)):
                break
            head = _end(body, statement)
        block = head
        for statement in body:
            if _end(body, statement) <= head:
                continue
            if not isinstance(statement, (ast.Import, ast.ImportFrom)):
                break
            if not (isinstance(statement, ast.ImportFrom) and statement.level):
                block = _end(body, statement)
        if block > head:
            return block, ""
        if head:
            return head, "before"
        return _comments(text), "after"

    def _same(self, wanted: _Binding, line: int | None) -> _Binding | None:
        same = [b for b in self.found if b.full == wanted.full and (line is None or b.line < line)]
        if wanted.loads != wanted.full and not any(b.loads == wanted.loads for b in same):
            return None
        exact = [b for b in same if b.bound == wanted.bound]
        return next(iter(exact or same), None)

    def _bound(self) -> set[str]:
        """Names that a `try: import … except ImportError: name = None` binds twice are still imports."""
        return {b.bound for b in self.found if b.bound in self.others and _only_fallbacks(self.tree.body, b.bound)}


def _executed(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when the module is loaded."""
    for statement in body:
        if isinstance(statement, ast.Try):
            for part in (statement.body, statement.orelse, statement.finalbody):
                yield from _executed(part)
        elif isinstance(statement, ast.With) or (
            isinstance(statement, ast.If) and not _for_type_checkers(statement.test)
        ):
            yield from _executed(statement.body)
        else:
            yield statement


def _for_type_checkers(test: ast.expr) -> bool:
    return ast.unparse(test).rpartition(".")[2] == "TYPE_CHECKING"


def _bindings(statement: ast.stmt) -> Iterator[_Binding]:
    line = getattr(statement, "end_lineno", 0) or 0
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            top = alias.name.partition(".")[0]
            full = alias.name if alias.asname else top
            yield _Binding(full, alias.asname or top, line, alias.name)
    elif isinstance(statement, ast.ImportFrom):
        module = "." * statement.level + (statement.module or "")
        for alias in statement.names:
            full = f"{module}.{alias.name}"
            yield _Binding(full, alias.asname or alias.name, line, full)


def _parsed(statement: str) -> list[_Binding]:
    return [binding for node in ast.parse(statement).body for binding in _bindings(node)]


def _other_names(body: Sequence[ast.stmt]) -> set[str]:
    """Names that the module binds by something else than an import."""
    names: set[str] = set()
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(statement.name)
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return names


def _only_fallbacks(body: Sequence[ast.stmt], name: str) -> bool:
    """Is the name bound only by imports and in the handlers of their errors?"""
    outside = [s for s in body if not isinstance(s, ast.Try)]
    tried = [s for t in body if isinstance(t, ast.Try) for s in (*t.body, *t.orelse, *t.finalbody)]
    return name not in _other_names([*outside, *tried])


def _is_docstring(statement: ast.stmt, body: Sequence[ast.stmt]) -> bool:
    return (
        statement is body[0]
        and isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _end(body: Sequence[ast.stmt], statement: ast.stmt) -> int:
    """The line after which another statement may begin: others may share the line, and go on below it."""
    end = statement.end_lineno or statement.lineno
    for other in body:
        if other.lineno <= end:
            end = max(end, other.end_lineno or other.lineno)
    return end


def _comments(text: str) -> int:
    """The lines of comments at the top of a file: the shebang, the encoding, a licence."""
    count = 0
    for line in text.split("\n"):
        if not line.startswith("#"):
            break
        count += 1
    return count


def _rename(text: str, names: dict[str, str]) -> str:
    """Names that stand first in a dotted name are replaced; strings, attributes and keywords are left alone."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        tokens = _loosely(text)
    lines = text.split("\n")
    for at in reversed(range(len(tokens))):
        token = tokens[at]
        dotted = at > 0 and tokens[at - 1].string == "."
        if token.type != tokenize.NAME or dotted or keyword.iskeyword(token.string) or token.string not in names:
            continue
        (row, start), (_, stop) = token.start, token.end
        lines[row - 1] = lines[row - 1][:start] + names[token.string] + lines[row - 1][stop:]
    return "\n".join(lines)


def _loosely(text: str) -> list[tokenize.TokenInfo]:
    """The tokens before the point where a fragment stops being Python by itself."""
    found: list[tokenize.TokenInfo] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            found.append(token)
    except (tokenize.TokenError, IndentationError, SyntaxError):
        pass
    return found
