"""Layers that others may watch: hooks and feature extractors of a program see a layer only when it is called.

A replacement that reads a dropout's rate and calls the layer no more is not what a hook on that layer expects. Who
registers hooks is looked for in the text of all files of the program, also of those that are not scanned; and so is who
puts another layer, or another `forward`, in a layer's place.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from strop.source.adopt.architecture import Definition, Match
from strop.source.project.files import EXCLUDED

_WATCHES = re.compile(
    rb"register_(?:module_)?(?:forward|full_backward|backward)(?:_pre)?_hook|create_feature_extractor"
    rb"|IntermediateLayerGetter|return_layers|get_submodule"
)
#: `model.head.drop = …`, `model.drop.forward = …`, `setattr(model, "drop", …)`; a class sets its own on `self`
_REPLACES = re.compile(
    rb"(?:[\w\])](?<!\bself)(?<!\bcls)\.(\w+)|\.(\w+)\.(?:forward|__call__))[ \t]*=(?!=)"
    rb"|setattr\([^,\n]+,[ \t]*[\"'](\w+)[\"']"
)
_KEPT = re.compile(r"\$(\w+):function")
_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_MOST_FILES = 5_000
_MOST_BYTES = 1_000_000


def bypassed(match: Match) -> Iterator[Definition]:
    """The layers that a match calls and its replacement does not."""
    kept = {name for _, template in match.rule.use for name in _KEPT.findall(template)}
    called = {id(match.bound[name]) for name in kept if name in match.bound}
    seen = set()
    for node in (*match.nodes, *match.skipped):
        layer = node.definition
        if layer is None or layer.kind != "layer" or not node.inputs or id(node) in called or id(layer) in seen:
            continue
        seen.add(id(layer))
        yield layer


def watched(layer: Definition) -> tuple[str, bool]:
    """Where the program of a layer registers hooks, and whether it says so of this layer; empty if nowhere."""
    found = _places(_program(layer.owner.module.file))
    name = re.compile(rf"\b{re.escape(layer.name)}\b".encode())
    for place, line in found:
        if name.search(line):
            return place, True
    return (found[0][0], False) if found else ("", False)


def replaced(layer: Definition) -> str:
    """Where the program puts something else in the place of a layer of this name; empty if nowhere."""
    return _replacements(_program(layer.owner.module.file)).get(layer.name.encode(), "")


@lru_cache(maxsize=64)
def _program(file: str) -> str:
    """The folder of a file's program: that of its project, of its package, or its own."""
    folder = Path(file).resolve().parent
    while (folder / "__init__.py").exists() and folder.parent != folder:
        folder = folder.parent
        if (folder / "__init__.py").exists():
            continue
        break
    for candidate in (folder, folder.parent):
        if any((candidate / mark).exists() for mark in _MARKS):
            return str(candidate)
    package = Path(file).resolve()
    while (package.parent / "__init__.py").exists():
        package = package.parent
    return str(package if package.is_dir() else package.parent)


@lru_cache(maxsize=64)
def _places(program: str) -> list[tuple[str, bytes]]:
    """Each place that registers a hook, with its line."""
    found = []
    for path, data in _texts(program):
        for match in _WATCHES.finditer(data):
            start, end = data.rfind(b"\n", 0, match.start()) + 1, data.find(b"\n", match.end())
            found.append((_where(path, data, match.start()), data[start : end if end >= 0 else len(data)]))
    return found


@lru_cache(maxsize=64)
def _replacements(program: str) -> dict[bytes, str]:
    """The attributes of other objects that are assigned, each with the first place."""
    found: dict[bytes, str] = {}
    for path, data in _texts(program):
        for match in _REPLACES.finditer(data):
            name = next(filter(None, match.groups()))
            if name not in found:
                found[name] = _where(path, data, match.start())
    return found


def _where(path: Path, data: bytes, position: int) -> str:
    return f"{path.name}:{data.count(chr(10).encode(), 0, position) + 1}"


def _texts(program: str) -> Iterator[tuple[Path, bytes]]:
    for path in itertools.islice(_files(program), _MOST_FILES):
        try:
            yield path, path.read_bytes() if path.stat().st_size < _MOST_BYTES else b""
        except OSError:
            continue


def _files(program: str) -> Iterator[Path]:
    root = Path(program)
    deep = (root / "__init__.py").exists() or any((root / mark).exists() for mark in _MARKS)
    for folder, folders, files in os.walk(program):
        folders[:] = sorted(name for name in folders if name not in EXCLUDED and deep)
        yield from (Path(folder) / name for name in sorted(files) if name.endswith(".py"))
