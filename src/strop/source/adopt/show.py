"""Prints models in the architecture language: `strop show-architecture`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

from strop.core.problem import Problem
from strop.source.adopt.architecture import Definition, Graph, Model, Node
from strop.source.adopt.build import text_of
from strop.source.adopt.extract import Architecture
from strop.source.adopt.names import QuickProject
from strop.source.project.declarations import Code


def model(understood: Model) -> str:
    """A class: its layers, and its forward."""
    cls = understood.cls
    lines = [f"model {cls.name}:  # {Path(cls.module.file).name}:{cls.line}"]
    for path, definition in understood.definitions.items():
        lines.append(f"  {definition.kind} {path} = {_made(definition)}  # :{definition.place.line}")
    if understood.forward is not None:
        lines += [f"  {line}" for line in _graph(understood.forward)]
    return "\n".join(lines) + "\n"


def graph(of: Graph) -> str:
    """A function."""
    return "\n".join(_graph(of)) + "\n"


def _made(definition: Definition) -> str:
    name = definition.cls.name if definition.cls is not None else definition.made_by.removeprefix("torch.nn.")
    if definition.members:
        return f"{name}({', '.join(_made(member) for member in definition.members)})"
    given = [
        text_of(value) if key.isdecimal() else f"{key}={text_of(value)}" for key, value in definition.arguments.items()
    ]
    if definition.kind == "activation":
        return f"{name}[{', '.join(text_of(value) for value in definition.arguments.values())}]"
    return f"{name}({', '.join(given)})"


def _graph(of: Graph) -> Iterator[str]:
    names = [name for name, node in of.inputs.items() if node.kind == "input" and node.text != "self"]
    yield f"{of.code.short}({', '.join(n for n in names if n in of.code.locals)}):"
    for node in of.nodes:
        if not node.is_leaf and (node.inputs or node.users):
            yield f"  %{node.number} = {_operation(node)}  # {_where(node, of.code)}"
    for value, _ in of.returns:
        yield f"  return {_operand(value)}"


def _operation(node: Node) -> str:
    name = node.kind
    if node.definition is not None and node.text:
        name += f"{{{node.text.removeprefix('self.')}}}"
    elif node.text and node.kind in ("call", "module", "unknown", "index", "compare"):
        name += f"{{{node.text}}}"
    arguments = [_operand(one) for one in node.inputs]
    if node.definition is None or node.kind == "activation":
        arguments += [f"{key}={_operand(value)}" for key, value in node.attributes.items()]
    if node.kind == "phi":
        arguments.append(f"test={node.text!r}")
    return f"{name}({', '.join(arguments)})"


def _operand(node: Node) -> str:
    if node.kind == "const" and not node.text:
        return repr(node.value)
    return node.text if node.is_leaf and node.text else f"%{node.number}"


def _where(node: Node, code: Code) -> str:
    line = f":{node.place.line}"
    return line if node.code is code else f"{line} in {node.code.name}"


def file(name: str, wanted: str = "") -> str:
    """The models of a file, or one class or function of it."""
    project = QuickProject([name], [name])
    if project.skipped:
        raise Problem("STR001", f"{name} cannot be read: {project.skipped[0].message}")
    architecture = Architecture(project)
    (module,) = project.scanned.values()
    parts: list[str] = []
    for cls in module.classes.values():
        if cls.name == wanted or (not wanted and architecture.names.method(cls, "forward") is not None):
            parts.append(model(architecture.model(cls)))
    parts += [graph(architecture.graph(code)) for code in module.functions if code.name == wanted]
    if not parts and wanted:
        known = [cls.name for cls in module.classes.values()] + [code.name for code in module.functions]
        near = difflib.get_close_matches(wanted, known, 1)
        help = f"did you mean `{near[0]}`?" if near else f"it has {', '.join(known[:12])}"
        raise Problem("STR001", f"{name} has no class or function `{wanted}`", help=help)
    return "\n".join(parts) or f"# {Path(name).name} has no class with a forward\n"
