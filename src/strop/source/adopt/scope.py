"""Scope: who else uses the layers that a rule would replace; each use is a reason not to edit the definition."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence

from strop.source.adopt.architecture import Definition, Match, Refusal
from strop.source.adopt.names import Names
from strop.source.facts import Place
from strop.source.project.declarations import Module, children, walk

_HOOKS = ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook", "register_backward_hook")


class Mentions:
    """The attributes and texts of a module by name: one walk serves all matches."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.own: dict[str, list[tuple[str, ast.Attribute]]] = defaultdict(list)  #: `self.x`, with the class
        self.others: dict[str, list[ast.AST]] = defaultdict(list)
        self.hooks: list[ast.AST] = []
        self.callees: dict[int, ast.Call] = {}  #: call by the identity of what it calls
        self._collect(walk(module.tree.body, (ast.ClassDef,)), "")
        for node, cls in module.classes.items():
            self._collect(walk(children(node), (ast.ClassDef,)), cls.name)
        for found in self.others.values():
            found.sort(key=lambda n: (n.lineno, n.col_offset))  # type: ignore[attr-defined]

    def _collect(self, nodes: Sequence[ast.AST], cls: str) -> None:
        for node in nodes:
            kind = node.__class__
            if kind is ast.Call:
                self.callees[id(node.func)] = node  # type: ignore[attr-defined,assignment]
            elif isinstance(node, ast.Attribute):
                if isinstance(node.value, ast.Name) and node.value.id == "self":
                    self.own[node.attr].append((cls, node))
                else:
                    self.others[node.attr].append(node)
                if node.attr in _HOOKS:
                    self.hooks.append(node)
            elif kind is ast.Constant:
                text = node.value  # type: ignore[attr-defined]
                if isinstance(text, str) and len(text) < 200:
                    for word in set(text.split(".")):
                        self.others[word].append(node)


class Scope:
    """Uses of layers, module by module."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._mentions: dict[Module, Mentions] = {}

    def refusals(self, match: Match) -> Iterator[Refusal]:
        """Why the definitions of a match must stay as they are."""
        changed = {name for step, name, _ in match.rule.define if step in ("replace", "remove")}
        for name in sorted(changed):
            node = match.bound.get(name)
            definition = node.definition if node is not None else None
            if definition is None:
                continue
            if definition.conditional:
                yield Refusal(f"`{definition.path}` is made in a branch", definition.place)
            yield from self._uses(match, definition)

    def _uses(self, match: Match, definition: Definition) -> Iterator[Refusal]:
        mentions = self._of(definition.owner.module)
        covered = {id(node.expression) for node in match.nodes}
        family = {cls.name for cls in (definition.owner, *self.names.subclasses(definition.owner))}
        place = definition.place
        for cls, node in mentions.own.get(definition.name, ()):
            call = mentions.callees.get(id(node))
            if cls not in family or (call is not None and id(call) in covered):
                continue
            if not place.line <= node.lineno <= place.end_line:
                yield _used(definition, mentions.module, node, f"`{cls}`")
        for other in mentions.others.get(definition.name, ()):
            said = f"`{ast.unparse(other)[:60]}`" if isinstance(other, ast.Attribute) else f"the text {_text(other)}"
            yield _used(definition, mentions.module, other, said)
        for hook in mentions.hooks[:1]:
            yield Refusal("hooks are registered in this file", mentions.module.code.place(hook))

    def _of(self, module: Module) -> Mentions:
        found = self._mentions.get(module)
        if found is None:
            found = self._mentions[module] = Mentions(module)
        return found


def _text(node: ast.AST) -> str:
    return repr(node.value) if isinstance(node, ast.Constant) else ""


def _used(definition: Definition, module: Module, node: ast.AST, by: str) -> Refusal:
    place: Place = module.code.place(node)
    return Refusal(f"`{definition.path}` is also used by {by} (line {place.line})", place)
