"""From a match to edits: the use replaced, what has become dead removed, definitions and checkpoints kept in step.

Only spans are touched, so that comments and formatting stay; a comment inside a removed statement is kept on a line of
its own. Everything that cannot be written exactly is refused with a reason (`CannotWrite`), never approximated: a value
that is used elsewhere, a name that has been bound again, a statement that does more than the match covers.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from strop.source.adopt.architecture import Definition, Match, Node
from strop.source.adopt.synth_dead import Dead, blocks
from strop.source.adopt.synth_effects import (
    assigned_inside,
    change_afterwards,
    change_in_between,
    change_of_a_copy,
    names_of_one_value,
    other_block,
    reads_names_by_text,
    written_to,
)
from strop.source.adopt.synth_loops import replaced_loop
from strop.source.adopt.synth_state import checkpoint_shim
from strop.source.adopt.synth_text import CannotWrite, Source, Words
from strop.source.facts import Edit, Place, Skipped
from strop.source.project.declarations import Code, Module, walk
from strop.source.project.files import Text, read

#: what a replacement must not skip, since it says nothing of shapes
_SHAPED = frozenset(
    {"view", "flatten", "unflatten", "permute", "transpose", "squeeze", "unsqueeze", "expand", "repeat"}
)
_FOLLOWS = ("complement", "root_of_width")  #: checks by which the first number follows from the other value
_WIDTH = 99  #: a longer line is broken at its arguments, unless the file has longer ones already


@dataclass(frozen=True)
class Synthesis:
    """The edits of one match and the import statements that they need."""

    edits: tuple[Edit, ...]
    imports: tuple[str, ...]


def synthesise(
    match: Match, sources: dict[str, Source] | None = None, *, reading: Callable[[str], Text | Skipped] = read
) -> Synthesis:
    """The edits that put the rule's replacement in the place of a match; raises `CannotWrite` with a reason.

    `sources` are the files that were read for other matches.
    """
    return _Synthesis(match, {} if sources is None else sources, reading).made()


class _Synthesis:
    def __init__(self, match: Match, sources: dict[str, Source], reading: Callable[[str], Text | Skipped]) -> None:
        self.match = match
        self.reading = reading
        self.sources = sources
        self.edits: list[Edit] = []
        if not match.rule.use:
            raise CannotWrite("the rule only reports", match.place)
        if any(root.chain or root.code is not match.code for root in match.roots):
            raise CannotWrite("the result is computed in a helper, a part of it outside", match.place)
        first = min(match.roots, key=lambda root: root.number)
        self.dead = Dead(match, self.source)
        self.words = Words(match, self.source, first if len(match.roots) > 1 else match.root, self.dead.holds)

    def source(self, code: Code) -> Source:
        file = code.module.file
        found = self.sources.get(file)
        if found is None:
            text = self.reading(file)
            if isinstance(text, Skipped):
                raise CannotWrite(f"{file} cannot be read", code.place())
            found = self.sources[file] = Source(text.text)
        return found

    def made(self) -> Synthesis:
        match, rule = self.match, self.match.rule
        if rule.use[0][1].startswith("loop("):
            return Synthesis((replaced_loop(match, self.source(match.code)),), rule.imports)
        for name, test in match.conditions.items():
            if test != f"{self.words.value(match.bound[name])} is not None":
                raise CannotWrite(f"`{name}` is there only if `{test}`", match.place)
        self._definitions()
        self._uses()
        if not _only_adds(match):
            self._nothing_merged()
            self._nothing_forgotten()
            self._nothing_overtaken()
            self._remove_dead()
        texts = [edit.text for edit in self.edits]
        imports = [line for line in rule.imports if any(_uses(text, line) for text in texts)]
        if rule.state:
            shim, needed = checkpoint_shim(match, self.words, self.source)
            self.edits.append(shim)
            imports += needed
        return Synthesis(tuple(_merged(self.edits)), tuple(dict.fromkeys(imports)))

    def _nothing_forgotten(self) -> None:
        """Whatever enters the computation has to enter the replacement."""
        inner = {id(node) for node in (*self.match.nodes, *self.match.skipped)}
        known = {guard.arguments[0] for guard in self.match.rule.guards if guard.name in _FOLLOWS}
        for name, node in self.match.bound.items():
            if id(node) not in inner and name not in self.words.mentioned and name not in known:
                raise CannotWrite(f"the replacement has no place for `{name}`", node.place)
        for node in self.match.skipped:
            if node.kind in _SHAPED:
                raise CannotWrite(f"line {node.place.line} gives the values another shape in between", node.place)
        for root in self.match.roots:
            if any(user.expression is root.expression and "equation" in user.attributes for user in root.users):
                raise CannotWrite(f"the einsum of line {root.place.line} permutes its result", root.place)
        rates = [node for name, node in self.match.bound.items() if name in self.words.mentioned]
        for node in self.match.nodes:
            if node.kind == "dropout" and not any(node.attributes.get("p") is rate for rate in rates):
                raise CannotWrite("the replacement has no place for the dropout", node.place)
            changed = written_to(node)
            if changed is not None and id(changed) not in inner:
                raise CannotWrite(f"line {node.place.line} works in place on what others may see", node.place)

    def _nothing_merged(self) -> None:
        """What the source calls by two names stays two operands."""
        names = names_of_one_value(self.match)
        if names is not None:
            raise CannotWrite(f"`{names[0]}` and `{names[1]}` would become one operand", self.match.place)
        change = change_of_a_copy(self.match)
        if change is not None:
            raise CannotWrite(f"line {change.place.line} changes one of two values that were one", change.place)

    def _nothing_overtaken(self) -> None:
        """What was computed earlier is now computed where its result is: nothing may have changed on the way."""
        code = self.match.code
        change = change_in_between(self.match)
        if change is not None:
            place = code.place(change)
            raise CannotWrite(f"line {place.line} changes a value in place between the parts of it", place)
        apart = other_block(self.match)
        if apart is not None:
            raise CannotWrite(f"line {apart.place.line} is in another `with` block, or under a decorator", apart.place)
        reading = reads_names_by_text(self.match)
        if reading is not None:
            place = code.place(reading)
            raise CannotWrite(f"line {place.line} may read any variable by its name", place)
        later = change_afterwards(self.match)
        if later is not None:
            raise CannotWrite(f"line {later.place.line} changes what the kernel keeps for its gradient", later.place)
        own = [node.expression for node in self.match.nodes if node.code is code and node.expression is not None]
        named = assigned_inside(own)
        if named is not None:
            raise CannotWrite(f"`{ast.unparse(named.target)}` is assigned inside of it", code.place(named))

    # -- uses ------------------------------------------------------------------------------------------------------

    def _uses(self) -> None:
        uses = self.match.rule.use
        if _only_adds(self.match):
            self._add_arguments(self.match.root, self.words.fill(uses[0][1][2:].rstrip().removesuffix(")")))
            return
        if len(uses) == 1 and len(uses[0][0]) <= 1:
            self._replace(self.match.root, self.words.fill(uses[0][1]))
            return
        roots = dict(zip(self._root_names(), self.match.roots))
        for results, template in uses:
            if len(results) == 1:
                self._replace(roots[results[0]], self.words.fill(template))
            else:
                self._together([roots[name] for name in results], results, self.words.fill(template))

    def _root_names(self) -> list[str]:
        for pattern in self.match.rule.patterns:
            names = [name for name, _ in pattern.roots]
            if len(names) == len(self.match.roots):
                return names
        return [str(at) for at in range(len(self.match.roots))]

    def _replace(self, root: Node, text: str) -> None:
        """Put text in the place of an expression, or of an augmented assignment."""
        source, expression = self.source(root.code), root.expression
        if isinstance(expression, ast.AugAssign):
            target = source.segment(expression.target)
            self.edits.append(Edit(root.code.place(expression), f"{target} = {text}"))
            return
        if not isinstance(expression, ast.expr) or root.statement is None:
            raise CannotWrite("its result is no expression that could be replaced", root.place)
        whole = _is_whole(root.statement, expression)
        text = text if whole or _is_atom(text) else f"({text})"
        text = _broken(text, expression, source, root.statement)
        place = root.code.place(expression)
        self.edits.append(Edit(source.with_parentheses(place) if _is_atom(text) else place, text))
        self._keep_comments(root.code, expression, root.statement)

    def _add_arguments(self, root: Node, text: str) -> None:
        """Further arguments for a call, after those that it has; its layout is kept."""
        call = root.expression
        if not isinstance(call, ast.Call):
            raise CannotWrite("its result is no call that could get another argument", root.place)
        given: list[ast.expr] = [*call.args, *(keyword.value for keyword in call.keywords)]
        source = self.source(root.code)
        if not given:
            last = Place(root.code.module.file, call.end_lineno or 0, (call.end_col_offset or 1) - 1)
            self.edits.append(Edit(last, text))
            return
        at = root.code.place(max(given, key=lambda one: (one.end_lineno or 0, one.end_col_offset or 0)))
        here = Place(at.file, at.end_line, at.end_column, at.end_line, at.end_column)
        here = source.after_parentheses(here, call)
        self.edits.append(Edit(here, f", {text}"))

    def _together(self, roots: Sequence[Node], names: Sequence[str], text: str) -> None:
        """One statement for several results, before the first of them."""
        first = min(roots, key=lambda root: root.number)
        statement, code = first.statement, first.code
        if statement is None or any(root.code is not code for root in roots):
            raise CannotWrite("its results are not computed in one function", first.place)
        source = self.source(code)
        if not source.alone(statement):
            raise CannotWrite("there is no room for a statement before it", first.place)
        block = _block_of(code, statement)
        if any(root.statement is None or not _inside(block, root.statement) for root in roots):
            raise CannotWrite("its results are computed in different branches", first.place)
        targets = [self._own_name(root) for root in roots]
        fresh = [target or self._fresh(code, name) for target, name in zip(targets, names)]
        taken = code.parameters and {p.name for p in code.parameters}
        if any(name in (taken or ()) and target is None for name, target in zip(fresh, targets)):
            raise CannotWrite("its results have no names to be given", first.place)
        line = f"{', '.join(fresh)} = {text}"
        here = Place(code.module.file, statement.lineno, statement.col_offset, statement.lineno, statement.col_offset)
        removed: list[ast.stmt] = []
        for root, target, name in zip(roots, targets, fresh):
            if target is not None and root.statement is not None:
                removed.append(root.statement)
            else:
                self._replace(root, name)
        if statement in removed and len(set(map(id, removed))) == len(removed):
            self._remove(code, [s for s in removed if s is not statement])
            self.edits.append(Edit(code.place(statement), line))
        else:
            self._remove(code, removed)
            self.edits.append(Edit(here, f"{line}\n{source.indent(statement)}"))

    def _own_name(self, root: Node) -> str | None:
        """The variable to which a statement assigns exactly this result."""
        statement = root.statement
        if isinstance(statement, ast.Assign) and statement.value is root.expression and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name) and self.source(root.code).alone(statement):
                return target.id if self._not_read_before(root, target.id) else None
        return None

    def _not_read_before(self, root: Node, name: str) -> bool:
        """Binding it earlier, with the first result, changes nobody else's value."""
        history = self.match.graph.bindings.get(name, [])
        return not any(moment < root.number for moment, _ in history)

    def _fresh(self, code: Code, name: str) -> str:
        used = code.locals | code.reads | {p.name for p in code.parameters}
        candidate, number = name, 2
        while candidate in used:
            candidate, number = f"{name}_{number}", number + 1
        return candidate

    # -- what has become dead --------------------------------------------------------------------------------------

    def _remove_dead(self) -> None:
        self.dead.choose(self.words.relied, self.words.moved)
        self.dead.check(self.words)
        gone = self.dead.statements()
        self._remove(self.match.code, gone, self.dead.emptied)

    def _remove(self, code: Code, statements: Iterable[ast.stmt], emptied: Sequence[ast.stmt] = ()) -> None:
        source = self.source(code)
        stay = {id(statement) for statement in emptied}
        for statement in statements:
            indent = source.indent(statement)
            comments = _comments(source, statement, to_line_end=True)
            lines = [f"{indent}{comment}\n" for comment in comments]
            if id(statement) in stay:
                lines.append(f"{indent}pass\n")
            last = statement.end_lineno or statement.lineno
            self.edits.append(Edit(Place(code.module.file, statement.lineno, 0, last + 1, 0), "".join(lines)))

    def _keep_comments(self, code: Code, expression: ast.expr, statement: ast.stmt) -> None:
        """Comments between the lines of a replaced expression go above its statement."""
        source = self.source(code)
        comments = _comments(source, expression)
        if not comments:
            return
        indent = source.indent(statement)
        line = statement.lineno
        text = "".join(f"{indent}{comment}\n" for comment in comments)
        self.edits.append(Edit(Place(code.module.file, line, 0, line, 0), text))

    # -- definitions -----------------------------------------------------------------------------------------------

    def _definitions(self) -> None:
        found = self.match.definitions
        steps = self.match.rule.define
        if not steps:
            return
        replaced = {name for kind, name, _ in steps if kind in ("replace", "remove")}
        for name in replaced:
            if name not in found:
                raise CannotWrite(f"layer `{name}` of the rule is not defined here", self.match.place)
            if found[name].conditional:
                raise CannotWrite(f"`{found[name].path}` is defined in a branch", found[name].place)
        last = max((d for d in found.values()), key=lambda d: d.statement.lineno, default=None)
        for kind, name, _ in steps:
            if kind == "add":
                if last is None:
                    raise CannotWrite("there is no definition beside which a layer could be added", self.match.place)
                self.words.added[name] = self._free_attribute(last, name)
        for kind, name, template in steps:
            text = self.words.fill(template, constructing=True)
            if kind == "replace":
                self._replace_definition(found[name], text)
            elif kind == "remove":
                self._remove_definition(found[name])
            elif last is not None:
                self._add_definition(last, self.words.added[name], text)

    def _replace_definition(self, definition: Definition, text: str) -> None:
        if definition.call is None:
            raise CannotWrite(f"`{definition.path}` is not made by a call", definition.place)
        self.edits.append(Edit(definition.code.place(definition.call), text))

    def _remove_definition(self, definition: Definition) -> None:
        statement = definition.statement
        simple = isinstance(statement, ast.Assign) and len(statement.targets) == 1
        if not simple or "." in definition.path or not self.source(definition.code).alone(statement):
            raise CannotWrite(f"`{definition.path}` is defined together with something else", definition.place)
        self._remove(definition.code, [statement])

    def _add_definition(self, last: Definition, name: str, text: str) -> None:
        source = self.source(last.code)
        if not source.alone(last.statement):
            raise CannotWrite("there is no room for another definition", last.place)
        line = (last.statement.end_lineno or last.statement.lineno) + 1
        indent = source.indent(last.statement)
        made = f"{indent}{self.words.receiver(constructing=True)}.{name} = {text}\n"
        self.edits.append(Edit(Place(last.code.module.file, line, 0, line, 0), made))

    def _free_attribute(self, beside: Definition, name: str) -> str:
        """A name that neither the class nor what is visible of its family uses."""
        used = _attributes(beside.code.module)
        candidate, number = name, 2
        while candidate in used:
            candidate, number = f"{name}_{number}", number + 1
        return candidate


@lru_cache(maxsize=4)
def _attributes(module: Module) -> set[str]:
    """Every attribute that a file mentions."""
    return {n.attr for n in module.code.walk() if isinstance(n, ast.Attribute)}


def _merged(edits: Iterable[Edit]) -> list[Edit]:
    """Insertions at one point become one, in the order in which they were made."""
    found: dict[Place, str] = {}
    for edit in dict.fromkeys(edits):
        found[edit.place] = found[edit.place] + edit.text if edit.place in found else edit.text
    return [Edit(place, text) for place, text in found.items()]


def _only_adds(match: Match) -> bool:
    """The call stays as it is and gets another argument."""
    return len(match.rule.use) == 1 and match.rule.use[0][1].startswith("+(")


def _uses(text: str, statement: str) -> bool:
    """Whether a text needs an import: it says the name that the import binds, or the module's whole dotted name."""
    for imported in ast.parse(statement).body:
        if not isinstance(imported, (ast.Import, ast.ImportFrom)):
            return True
        names = [alias.asname or alias.name for alias in imported.names]
        if any(re.search(rf"(?<![\w.]){re.escape(name)}\b", text) for name in names):
            return True
    return False


def _is_whole(statement: ast.stmt, expression: ast.expr) -> bool:
    """Whether nothing binds an expression to what is beside it."""
    if getattr(statement, "value", None) is expression:
        return True
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and (
            expression in node.args or any(k.value is expression for k in node.keywords)
        ):
            return True
        if isinstance(node, (ast.Tuple, ast.List)) and expression in node.elts:
            return True
    return False


def _is_atom(text: str) -> bool:
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return False
    return isinstance(body, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant))


def _broken(text: str, expression: ast.expr, source: Source, statement: ast.stmt) -> str:
    """A call that would make its line too long, with its arguments on a line of their own."""
    line = source.lines[expression.lineno - 1]
    after = source.lines[(expression.end_lineno or expression.lineno) - 1][expression.end_col_offset or 0 :]
    width = expression.col_offset + len(text) + len(after.rstrip())
    if "\n" in text or width <= max(_WIDTH, source.width) or not line:
        return text
    try:
        call = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text
    if not isinstance(call, ast.Call) or not (call.args or call.keywords):
        return text
    if any(isinstance(part, ast.Call) for part in ast.walk(call.func)):
        return text
    parts = [*call.args, *(keyword.value for keyword in call.keywords)]
    segments = Source(text)
    given = [segments.segment(argument) for argument in call.args]
    given += [
        f"{k.arg}={segments.segment(k.value)}" if k.arg else f"**{segments.segment(k.value)}" for k in call.keywords
    ]
    if any("\n" in part for part in given) or not parts:
        return text
    indent = source.indent(statement)
    inner = "".join(f"{indent}    {part},\n" for part in given)
    return f"{segments.segment(call.func)}(\n{inner}{indent})"


def _comments(source: Source, node: ast.AST, *, to_line_end: bool = False) -> list[str]:
    """The comments inside a span of lines, in order."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1  # type: ignore[attr-defined]
    lines = [line.decode("utf-8", "surrogatepass") for line in source.lines[first : last + 1]]
    if not any("#" in line for line in lines):
        return []
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO("(" + "".join(lines).rstrip("\r\n") + "\n)").readline):
            if token.type == tokenize.COMMENT and (to_line_end or token.start[0] <= last - first):
                found.append(token.string)
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return found
    return found


def _block_of(code: Code, statement: ast.stmt) -> list[ast.stmt]:
    for block in blocks(code):
        if statement in block:
            return block[block.index(statement) :]
    return [statement]


def _inside(block: Sequence[ast.stmt], statement: ast.stmt) -> bool:
    return any(statement is node for node in walk(block))
