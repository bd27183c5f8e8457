"""What nobody needs once a match has been replaced: statements that computed its intermediate values.

The graph says whose values are dead; the syntax has the last word, since a shape that is read or a text that is logged
leaves no trace in the graph. A statement goes only if it assigns one name, everything that it computes is dead, and no
read of the name that stays can see it. If a tensor of the match would still be computed, the match is refused: the
replacement would then come on top instead of in its place.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from strop.source.adopt.architecture import Match, Node
from strop.source.adopt.synth_effects import writes_in_place
from strop.source.adopt.synth_text import CannotWrite, Source, Words
from strop.source.project.declarations import Code, children, walk

_HARMLESS_TESTS = (ast.Name, ast.Attribute, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant, ast.Load)
_WITH_EFFECTS = frozenset({"unknown", "call", "module", "loop", "phi", "input", "dropout", "layer", "parameter"})
_BINDS_OR_WAITS = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
_QUIET = (ast.cmpop, ast.boolop, ast.unaryop, ast.expr_context)


class Dead:
    """The statements that a match leaves without a purpose.

    What goes depends on what the replacement says, and the other way round: `x = x.float()` may go if the text says `x`
    and means the one before. So the words are chosen for what would be left if everything went, and the choice is made
    again with what they rely upon.
    """

    def __init__(self, match: Match, source: Callable[[Code], Source]) -> None:
        self.match = match
        self.code = match.code
        self.source = source(self.code)
        self.roots = {id(root) for root in match.roots}
        self.replaced = [root.expression for root in match.roots if root.expression is not None]
        self.emptied: list[ast.stmt] = []
        self._parents = {id(child): node for node in self.code.walk() for child in children(node)}
        self._blocks = list(blocks(self.code))
        self._names: dict[str, list[ast.Name]] = defaultdict(list)
        for node in self.code.walk():
            if isinstance(node, ast.Name):
                self._names[node.id].append(node)
        self._held: dict[tuple[str, int], Node | None] = {}
        self.live: set[int] = set()
        self.nodes: set[int] = set()
        self.carried: set[int] = set()
        self.chosen: list[ast.stmt] = []
        self._stores: dict[str, list[ast.AST]] | None = None
        self._bindings: dict[int, list[tuple[str, ast.AST]]] = {}
        inner = {id(node) for node in match.nodes}
        outer = [node for node in match.bound.values() if id(node) not in inner]
        self.outer = {id(node) for node in outer if node.kind != "cast"}
        self.choose((), outer)

    def choose(self, relied: Iterable[Node], moved: Iterable[Node]) -> None:
        """Decide what goes, if some values have to stay and others are written out in the replacement."""
        self.live = {id(node) for node in relied}
        self.nodes = self._dead_nodes()
        self.carried = self._with_parts(moved)
        self.chosen = self._chosen()
        self._held.clear()

    def holds(self, name: str, at: Node) -> Node | None:
        """The value of a local name where the replacement stands, once the chosen statements are gone."""
        key = name, id(at)
        if key not in self._held:
            self._held[key] = self._holds(name, at)
        return self._held[key]

    def _holds(self, name: str, at: Node) -> Node | None:
        statement: ast.AST | None = at.statement
        while statement is not None and statement is not self.code.node:
            block = next((b for b in self._blocks if any(statement is one for one in b)), None)
            if block is not None:
                for other in reversed(block[: block.index(statement)]):  # type: ignore[arg-type]
                    if any(other is one for one in self.chosen) or name not in self._bound_in(other):
                        continue
                    return self._assigned(other, name)
                if isinstance(self._parents.get(id(statement)), (ast.For, ast.While, ast.AsyncFor)):
                    return None
            statement = self._parents.get(id(statement))
        return self.match.graph.inputs.get(name)

    def _assigned(self, statement: ast.stmt, name: str) -> Node | None:
        """What an assignment leaves in a name: by order where each was recorded once, else by where it was computed."""
        history = [node for _, node in self.match.graph.bindings.get(name, [])]
        sites = self._sites(name)
        if len(history) == len(sites) and any(site is statement for site in sites):
            return next(node for site, node in zip(sites, history) if site is statement)
        if _target(statement) != name:
            return None
        found = [node for node in history if self._own_statement(node) is statement]
        return found[-1] if found else None

    def _sites(self, name: str) -> list[ast.AST]:
        """Where a name is bound, in the order of the text, the parameter first."""
        if self._stores is None:
            self._stores = defaultdict(list)
            stored = (n for n in self.code.own() if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
            for node in sorted(stored, key=lambda n: (n.lineno, n.col_offset)):
                self._stores[node.id].append(self._statement_around(node) or node)
        found: list[ast.AST] = [self.code.node] if name in self.match.graph.inputs else []
        return found + self._stores.get(name, [])

    def _bound_in(self, statement: ast.stmt) -> set[str]:
        """The names that a statement, or one inside it that stays, may bind."""
        bindings = self._bindings.get(id(statement))
        if bindings is None:
            bindings = self._bindings[id(statement)] = list(_bindings(statement))
        return {
            name
            for name, node in bindings
            if not isinstance(node, ast.Name) or not any(_within(node, one) for one in self.chosen)
        }

    def statements(self) -> list[ast.stmt]:
        """In the order of lines; `emptied` are those in whose place a `pass` is needed."""
        chosen = self.chosen
        whole: list[ast.stmt] = []
        gone = {id(statement) for statement in chosen}
        for statement in chosen:
            outer = self._emptied_by(statement, gone)
            if not any(outer is one for one in whole):
                whole.append(outer)
        kept = [s for s in whole if not any(s is not o and _within(s, o) for o in whole)]
        self._mark_emptied(kept)
        return sorted(kept, key=lambda statement: statement.lineno)

    # -- values ----------------------------------------------------------------------------------------------------

    def _dead_nodes(self) -> set[int]:
        """Values of the match, and what only they used, that nobody else needs."""
        graph = self.match.graph
        escaped = {id(node) for node, _ in (*graph.returns, *graph.escapes)}
        dead: set[int] = set()
        candidates = {id(node) for node in (*self.match.nodes, *self.match.skipped)}
        for node in reversed(graph.nodes):
            if id(node) in self.roots or id(node) in escaped or id(node) in self.live:
                continue
            users = [user for user in node.users if id(user) not in self.roots and id(user) not in dead]
            inner = id(node) in candidates
            if not users and (inner or self._can_go(node)):
                dead.add(id(node))
        return dead

    def _with_parts(self, moved: Iterable[Node]) -> set[int]:
        """Values that are written out in the replacement, and what their statements computed for them alone."""
        carried = {id(node) for node in moved}
        for node in reversed(self.match.graph.nodes):
            if not node.users or id(node) in self.live or not all(id(user) in carried for user in node.users):
                continue
            statement = self._own_statement(node)
            if any(self._own_statement(user) is statement for user in node.users):
                carried.add(id(node))
        return carried

    def _can_go(self, node: Node) -> bool:
        """Whether a value that only dead ones use is itself without effect."""
        if node.kind in _WITH_EFFECTS or node.definition is not None or id(node) in self.outer:
            return False
        return node.is_leaf or node.expression is None or not any(map(writes_in_place, walk([node.expression])))

    # -- statements ------------------------------------------------------------------------------------------------

    def _chosen(self) -> list[ast.stmt]:
        """Assignments of one name whose whole value is dead, as many as hold out against each other's reads."""
        by_statement: dict[int, list[Node]] = {}
        statements: dict[int, ast.stmt] = {}
        for node in self.match.graph.nodes:
            statement = self._own_statement(node)
            if statement is not None:
                by_statement.setdefault(id(statement), []).append(node)
                statements[id(statement)] = statement
        chosen = [
            statement
            for key, statement in statements.items()
            if self._is_plain(statement)
            and self._assigns_dead(statement)
            and all(id(n) in self.nodes or n.is_leaf or id(n) in self.carried for n in by_statement[key])
            and not any(id(n) in self.roots for n in by_statement[key])
            and not any(id(n) in self.live for n in by_statement[key] if not n.is_leaf)
        ]
        chosen += self._scalars(statements, by_statement, chosen)
        while True:
            seen = [s for s in chosen if not self._is_read(s, chosen)]
            if len(seen) == len(chosen):
                return chosen
            chosen = seen

    def _assigns_dead(self, statement: ast.stmt) -> bool:
        """Whether the tensor that it leaves in its name has become dead; numbers are looked at by who reads them."""
        value = self._assigned(statement, _target(statement))
        if value is None or id(value) not in self.nodes or value.is_scalar:
            return False
        return bool(value.users) or value in self.match.nodes or value in self.match.skipped

    def _scalars(
        self, statements: dict[int, ast.stmt], by_statement: dict[int, list[Node]], chosen: list[ast.stmt]
    ) -> list[ast.stmt]:
        """`d = q.size(-1)` and the like, which only the removed code read."""
        gone = {id(s) for s in chosen}
        found = []
        for key, statement in statements.items():
            if key in gone or not self._is_plain(statement):
                continue
            nodes = by_statement[key]
            if all(n.kind in ("symbol", "const", "input") and n.is_scalar for n in nodes) and self._read_only_by(
                statement, chosen
            ):
                found.append(statement)
        return found

    def _read_only_by(self, statement: ast.stmt, chosen: list[ast.stmt]) -> bool:
        """Whether the name is read at all, and only in code that goes."""
        name = _target(statement)
        reads = self._names[name]
        loads = [n for n in reads if isinstance(n.ctx, ast.Load)]
        if not loads or len(reads) != len(loads) + 1:
            return False
        carried = [n.expression for n in self.match.graph.nodes if id(n) in self.carried and n.expression is not None]
        return all(self._goes(load, chosen) and not any(_within(load, one) for one in carried) for load in loads)

    def _own_statement(self, node: Node) -> ast.stmt | None:
        """The statement of the edited function in which a value is computed, helpers seen from outside."""
        if node.code is self.code and not node.chain:
            return node.statement
        if node.chain and node.chain[0][0] is self.code:
            return self._statement_around(node.chain[0][1])
        return None

    def _statement_around(self, expression: ast.AST) -> ast.stmt | None:
        node: ast.AST | None = expression
        while node is not None and not isinstance(node, ast.stmt):
            node = self._parents.get(id(node))
        return node

    def _is_plain(self, statement: ast.stmt) -> bool:
        simple = (isinstance(statement, ast.Assign) and len(statement.targets) == 1) or (
            isinstance(statement, (ast.AnnAssign, ast.AugAssign)) and statement.value is not None
        )
        if not simple or not _target(statement) or not self.source.alone(statement):
            return False
        return not any(isinstance(node, _BINDS_OR_WAITS) for node in walk([statement]))

    def _is_read(self, statement: ast.stmt, chosen: list[ast.stmt]) -> bool:
        """Whether code that stays may see what the statement binds."""
        name = _target(statement)
        loop = self._loop_around(statement)
        for node in self._names[name]:
            if not isinstance(node.ctx, (ast.Load, ast.Del)):
                continue
            if self._goes(node, chosen):
                continue
            before = (node.lineno, node.col_offset) < (statement.lineno, statement.col_offset)
            if before and (loop is None or not _within(node, loop)):
                continue
            if before or not self._bound_between(statement, node, name, chosen):
                return True
        return False

    def _goes(self, node: ast.AST, chosen: list[ast.stmt]) -> bool:
        return any(_within(node, one) for one in (*chosen, *self.replaced))

    def _bound_between(self, statement: ast.stmt, read: ast.Name, name: str, chosen: list[ast.stmt]) -> bool:
        """A statement that stays, in the same block, binds the name anew before the read."""
        for block in self._blocks:
            if not any(statement is one for one in block):
                continue
            for other in block:
                if other.lineno <= statement.lineno or any(other is one for one in chosen):
                    continue
                value = getattr(other, "value", None)
                if isinstance(other, ast.Assign) and name in _names_stored(other):
                    return not (value is not None and _within(read, value))
                if _within(read, other):
                    return False
        return False

    def _loop_around(self, statement: ast.stmt) -> ast.AST | None:
        node = self._parents.get(id(statement))
        while node is not None and node is not self.code.node:
            if isinstance(node, (ast.For, ast.While, ast.AsyncFor)):
                return node
            node = self._parents.get(id(node))
        return None

    # -- what stays ------------------------------------------------------------------------------------------------

    def check(self, words: Words) -> None:
        """Every tensor of the match must be gone, or the replacement would be computed on top of it."""
        chosen = self.chosen
        inner = {id(node) for node in (*self.match.nodes, *self.match.skipped)}
        outer = [node for node in self.match.bound.values() if id(node) not in inner]
        for node in (*self.match.nodes, *self.match.skipped):
            if node.is_leaf or id(node) in self.roots or node.kind in ("phi", "loop"):
                continue
            statement = self._own_statement(node)
            if statement is None or node.expression is None:
                continue
            if any(node.expression is one.expression for one in outer):
                continue
            inside = node.expression if not node.chain else node.chain[0][1]
            if not self._goes(inside, chosen) and not any(_within(r, inside) for r in self.replaced):
                raise CannotWrite(f"the `{node.kind}` of line {node.place.line} is needed elsewhere", node.place)
        for node in words.moved:
            if not node.is_leaf and not self._goes(node.expression or node.code.node, chosen):
                raise CannotWrite(f"the `{node.kind}` of line {node.place.line} would be computed twice", node.place)
        for name, node in words.said.items():
            if self.holds(name, words.at) is not node:
                raise CannotWrite(f"`{name}` holds something else where it is needed", words.at.place)

    def _emptied_by(self, statement: ast.stmt, gone: set[int]) -> ast.stmt:
        """An `if` without anything left in it goes as a whole, when its test has no effects."""
        parent = self._parents.get(id(statement))
        if not isinstance(parent, ast.If) or not self.source.alone(parent) or not _is_harmless(parent.test):
            return statement
        if not all(id(one) in gone for one in (*parent.body, *parent.orelse)):
            return statement
        gone.add(id(parent))
        return self._emptied_by(parent, gone)

    def _mark_emptied(self, removed: list[ast.stmt]) -> None:
        gone = {id(statement) for statement in removed}
        for block in self._blocks:
            if all(id(statement) in gone for statement in block):
                self.emptied.append(block[-1])


def blocks(code: Code) -> Iterator[list[ast.stmt]]:
    """The lists of statements in a function."""
    for node in code.walk():
        if isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case, ast.Module)):
            for field in ("body", "orelse", "finalbody"):
                block = getattr(node, field, None)
                if isinstance(block, list) and block:
                    yield block


def _target(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Assign):
        target: ast.expr = statement.targets[0]
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        target = statement.target
    else:
        return ""
    return target.id if isinstance(target, ast.Name) else ""


def _bindings(statement: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    for node in walk([statement]):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            yield node.id, node
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            yield node.name, node


def _names_stored(statement: ast.Assign) -> set[str]:
    found = (node for target in statement.targets for node in walk([target]))
    return {node.id for node in found if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _within(node: ast.AST, outer: ast.AST) -> bool:
    if not hasattr(node, "lineno") or not hasattr(outer, "lineno"):
        return node is outer
    start, stop = (outer.lineno, outer.col_offset), (outer.end_lineno, outer.end_col_offset)  # type: ignore[attr-defined]
    return start <= (node.lineno, node.col_offset) and (node.end_lineno, node.end_col_offset) <= stop  # type: ignore[attr-defined]


def _is_harmless(test: ast.expr) -> bool:
    return all(isinstance(node, (*_HARMLESS_TESTS, *_QUIET)) for node in ast.walk(test))
