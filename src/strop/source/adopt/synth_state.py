"""Checkpoints from before an edit: a `_load_from_state_dict` that puts the old tensors together under the new names."""

from __future__ import annotations

import ast
from collections.abc import Callable

from strop.source.adopt.architecture import Match
from strop.source.adopt.synth_text import CannotWrite, Source, Words
from strop.source.facts import Edit, Place
from strop.source.project.declarations import Code

_HOOKS = ("_load_from_state_dict", "load_state_dict", "_register_load_state_dict_pre_hook")


def checkpoint_shim(match: Match, words: Words, source: Callable[[Code], Source]) -> tuple[Edit, tuple[str, ...]]:
    """The method, placed after the constructor of the class that owns the layers, and the imports that it needs."""
    definitions = list(match.definitions.values())
    if not definitions:
        raise CannotWrite("the rule renames tensors of layers that are not known", match.place)
    owner = definitions[-1].owner
    if any(d.owner is not owner for d in definitions):
        raise CannotWrite("its layers belong to different classes", match.place)
    for name in _HOOKS:
        if any(isinstance(s, ast.FunctionDef) and s.name == name for s in owner.node.body):
            raise CannotWrite(f"`{owner.name}` has a `{name}` of its own", Place(owner.module.file, owner.line))
    rows = [(_key(words, new), [_key(words, one) for one in old]) for new, *old in match.rule.state]
    constructor = definitions[-1].code
    node = constructor.node
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    indent = source(constructor).indent(node)
    text = _method(rows, indent)
    line = (node.end_lineno or node.lineno) + 1
    return Edit(Place(constructor.module.file, line, 0, line, 0), text), ("import torch",)


def _key(words: Words, key: str) -> str:
    """`$q.weight` → `q.weight`."""
    name, _, rest = key.lstrip("$").partition(".")
    if name in words.added:
        return f"{words.added[name]}.{rest}"
    node = words.match.bound.get(name)
    if node is None or node.definition is None:
        return key.lstrip("$")
    return f"{node.definition.path}.{rest}" if rest else node.definition.path


def _method(rows: list[tuple[str, list[str]]], indent: str) -> str:
    table = [f'        "{new}": ({", ".join(map(_quoted, old))}),' for new, old in rows]
    body = [
        "",
        "def _load_from_state_dict(self, state_dict, prefix, *args, **kwargs):",
        '    """Checkpoints from before these tensors were joined still load."""',
        "    joined = {",
        *table,
        "    }",
        "    for new, old in joined.items():",
        "        parts = [state_dict[prefix + name] for name in old if prefix + name in state_dict]",
        "        if len(parts) == len(old):",
        "            state_dict[prefix + new] = torch.cat(parts)",
        "            for name in old:",
        "                del state_dict[prefix + name]",
        "    super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)",
    ]
    return "".join(f"{indent}{line}\n" if line else "\n" for line in body)


def _quoted(name: str) -> str:
    return f'"{name}"'
