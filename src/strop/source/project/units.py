"""Divides the files of a scan into units that know nothing of each other, for the cache and for several processes.

What is true of a function depends on its callers as much as on what it calls, so files that are connected by imports
stay together, in whichever direction, up to `MAX_UNIT` lines: memory is bounded, and larger groups are cut in the order
of their paths (what lies in another part is then followed like a file outside the scan). The division depends on the
files only, never on the number of processes: a scan says the same on every machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

UNIT_LINES = 20_000  #: small groups of files share a unit up to this size; they share what they follow
MAX_UNIT = 60_000  #: about 300 MB while they are interpreted

_IMPORT = re.compile(
    rb"(?:^|;)[ \t]*(?:from[ \t]+(\.*[ \t]*[\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\r\n;]*)|import[ \t]+([^\r\n;]+))",
    re.MULTILINE,
)
_NAME = re.compile(rb"[\w.]+")
_MODULES = (".py", os.sep + "__init__.py")


def units(contents: Mapping[str, bytes], roots: Sequence[str]) -> list[list[str]]:
    """Groups of connected files, packed in the order of their names."""
    packed: list[list[str]] = []
    size = 0
    for group in _bounded(groups(contents, roots), contents):
        lines = sum(contents[file].count(b"\n") for file in group)
        if not packed or size + lines > UNIT_LINES:
            packed.append([])
            size = 0
        packed[-1] += group
        size += lines
    return [sorted(unit) for unit in packed]


def _bounded(found: list[list[str]], contents: Mapping[str, bytes]) -> Iterator[list[str]]:
    for group in found:
        part: list[str] = []
        size = 0
        for file in group:
            lines = contents[file].count(b"\n")
            if part and size + lines > MAX_UNIT:
                yield part
                part, size = [], 0
            part.append(file)
            size += lines
        yield part


def groups(contents: Mapping[str, bytes], roots: Sequence[str]) -> list[list[str]]:
    """Files that imports connect, each group sorted, in the order of their first files."""
    real = {os.path.realpath(file): file for file in contents}
    bases = [os.path.join(os.path.realpath(root), "src") for root in roots]  # noqa: PTH118
    leader = {file: file for file in real}

    def find(file: str) -> str:
        while leader[file] != file:
            leader[file] = leader[leader[file]]
            file = leader[file]
        return file

    for file in real:
        for other in _imported(file, contents[real[file]], real, bases):
            one, two = sorted((find(file), find(other)))
            leader[two] = one
    found: dict[str, list[str]] = {}
    for file in sorted(real):
        found.setdefault(find(file), []).append(real[file])
    return sorted((sorted(group) for group in found.values()), key=lambda group: group[0])


def _imported(file: str, content: bytes, known: Mapping[str, str], bases: Sequence[str]) -> Iterator[str]:
    """The scanned files that a file may import, by what its import statements could mean."""
    own = os.path.dirname(file)  # noqa: PTH120
    above = [own]
    while os.path.dirname(above[-1]) != above[-1]:  # noqa: PTH120
        above.append(os.path.dirname(above[-1]))  # noqa: PTH120
    for dots, parts in _names(content):
        folders = [above[min(dots, len(above)) - 1]] if dots else [*above, *bases]
        for folder in folders:
            yield from _modules(folder, parts, known)


def _names(content: bytes) -> Iterator[tuple[int, list[str]]]:
    """Number of leading dots and the dotted name, for every module that could be meant."""
    seen: set[bytes] = set()
    for origin, taken, plain in _IMPORT.findall(content.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ")):
        if plain:
            wanted = [part.split(b" as ")[0] for part in plain.split(b",")]
        else:
            module = origin.replace(b" ", b"")
            bare = module.lstrip(b".")
            dots = module[: len(module) - len(bare)]
            lines = b"\n".join(line.split(b"#")[0] for line in taken.split(b"\n"))
            picked = [part.split(b" as ")[0].strip() for part in lines.strip(b"() \t").split(b",")]
            prefix = dots + (bare + b"." if bare else b"")
            wanted = [prefix + name for part in picked for name in _NAME.findall(part)[:1]] or [module]
            if b"*" in taken:
                wanted = [module]
        seen.update(name.strip() for name in wanted)
    for name in seen:
        bare = name.lstrip(b".")
        yield len(name) - len(bare), [part for part in bare.decode("utf-8", "replace").split(".") if part]


def _modules(folder: str, parts: Sequence[str], known: Mapping[str, str]) -> Iterator[str]:
    """The packages on the way to a dotted name, and the module or the one that holds the name."""
    package = os.path.join(folder, "__init__.py")  # noqa: PTH118
    if not parts and package in known:
        yield package
    path = folder
    for part in parts:
        path = os.path.join(path, part)  # noqa: PTH118
        for ending in _MODULES:
            if path + ending in known:
                yield path + ending
