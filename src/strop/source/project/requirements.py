"""Which versions of a package a project allows: pins in pyproject.toml, setup.py, setup.cfg, requirements files,
environment files, and in the metadata of an installed package.

Only what lies beside the scanned files or above them counts, up to the root of the repository. A package that is named
nowhere may have any version.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_NAME = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;#)]*)")
_CLAUSE = re.compile(r"(===|==|~=|!=|<=|>=|<|>|=|\^|~)\s*v?(\d+(?:\.\d+)*)(\.\*)?")
_ABOVE = 4  #: folders above the scanned ones that are looked at
_ROOTS = (".git", ".hg", "pyproject.toml", "setup.py")
_ALIASES = {"torch": ("pytorch",)}  #: names in other indices
Version = tuple[int, ...]


@dataclass(frozen=True)
class Pin:
    """What one file says of a package."""

    text: str  #: `torch<2.0`
    file: str
    line: int

    def allows(self, version: Version) -> bool:
        """Whether some release of this version, or a newer one, satisfies the pin."""
        return all(_reaches(operator, bound, version) for operator, bound in _clauses(self.text))


def pins(paths: Sequence[str], package: str) -> list[Pin]:
    """Everything that files around these paths say of a package."""
    found: dict[Pin, None] = {}
    for folder in _folders(paths):
        for pin in _in_folder(folder, package):
            found[pin] = None
    for path in paths:
        found |= dict.fromkeys(_of_installed(Path(os.path.realpath(path)), package))
    return list(found)


def refusal(pins: Iterable[Pin], version: str) -> Pin | None:
    """The pin that keeps a project from using this version or any newer one."""
    wanted = tuple(int(part) for part in version.split("."))
    return next((pin for pin in pins if not pin.allows(wanted)), None)


def _folders(paths: Sequence[str]) -> Iterator[Path]:
    """The folders of the paths and those above them, up to the first that is the root of a project."""
    seen: set[Path] = set()
    for path in paths or ["."]:
        start = Path(os.path.realpath(path))
        folder = start if start.is_dir() else start.parent
        for _ in range(_ABOVE):
            if folder in seen:
                break
            seen.add(folder)
            yield folder
            if any((folder / name).exists() for name in _ROOTS) or folder.parent == folder:
                break
            folder = folder.parent


def _of_installed(folder: Path, package: str) -> Iterator[Pin]:
    """What the metadata beside an installed package says."""
    for file in sorted(folder.parent.glob(f"{folder.name}-*.dist-info/METADATA")):
        yield from _in_file(file, _metadata, package)


def _in_folder(folder: Path, package: str) -> Iterator[Pin]:
    for name, read in _READERS.items():
        for file in sorted(folder.glob(name)):
            yield from _in_file(file, read, package)


def _in_file(file: Path, read: Callable[[str], Iterator[str]], package: str) -> Iterator[Pin]:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
        lines = list(read(text))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return
    for line in lines:
        if (pin := _pin(line, package)) is not None:
            yield Pin(pin, str(file), _line_of(text, line))


def _pin(line: str, package: str) -> str | None:
    matched = _NAME.match(line)
    if matched is None or matched[1].lower().replace("_", "-") not in (package, *_ALIASES.get(package, ())):
        return None
    bounds = matched[2].strip().rstrip(",")
    return f"{package}{bounds}" if _clauses(bounds) else None


def _line_of(text: str, line: str) -> int:
    at = text.find(line.strip())
    return text.count("\n", 0, at) + 1 if at >= 0 else 1


def _clauses(text: str) -> list[tuple[str, Version]]:
    found = []
    for part in text.split("||")[-1].split(","):
        matched = _CLAUSE.search(part)
        if matched is not None:
            operator = matched[1]
            bound = tuple(int(number) for number in matched[2].split("."))
            found.append(("==*" if matched[3] or operator == "=" else operator, bound))
    return found


def _reaches(operator: str, bound: Version, wanted: Version) -> bool:
    """Whether a clause lets through `wanted` or anything newer."""
    width = max(len(bound), len(wanted))
    low, high = _padded(wanted, width), _padded(bound, width)
    if operator in (">=", ">", "!="):
        return True
    if operator == "<":
        return high > low
    if operator == "<=":
        return high >= low
    if operator in ("==", "==="):
        return high >= low
    if operator == "==*":
        return (*bound, 10**6) >= wanted
    if operator == "^":
        kept = bound[: next((i + 1 for i, number in enumerate(bound) if number), 1)]
        return (*kept, 10**6) >= wanted
    kept = bound[:-1] if operator == "~=" and len(bound) > 1 else bound[:2]
    return (*kept, 10**6) >= wanted


def _padded(version: Version, width: int) -> Version:
    return version + (0,) * (width - len(version))


# -- readers -----------------------------------------------------------------------------------------------------------


def _pyproject(text: str) -> Iterator[str]:
    content = tomllib.loads(text)
    project = content.get("project", {})
    yield from _texts(project.get("dependencies"))
    yield from _versions(content.get("tool", {}).get("poetry", {}).get("dependencies", {}))


def _pipfile(text: str) -> Iterator[str]:
    yield from _versions(tomllib.loads(text).get("packages", {}))


def _versions(group: object) -> Iterator[str]:
    """A table of names and versions, as Poetry and Pipenv have it."""
    for name, version in group.items() if isinstance(group, dict) else ():
        version = version.get("version", "") if isinstance(version, dict) else version
        if isinstance(version, str):
            yield f"{name} {version}" if version[:1] in "<>=!~^*" else f"{name} =={version}"


def _texts(value: object) -> Iterator[str]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str):
            yield item


def _setup(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            yield node.value


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield line.strip().removeprefix("- ").strip().strip("'\"")


def _metadata(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith("Requires-Dist:") and "extra ==" not in line:
            yield line.removeprefix("Requires-Dist:").strip()
        if not line:
            return


_READERS: dict[str, Callable[[str], Iterator[str]]] = {
    "pyproject.toml": _pyproject,
    "setup.py": _setup,
    "setup.cfg": _lines,
    "requirements*.txt": _lines,
    "requirements/*.txt": _lines,
    "environment*.yml": _lines,
    "environment*.yaml": _lines,
    "conda*.yml": _lines,
    "conda*.yaml": _lines,
    "Pipfile": _pipfile,
    "PKG-INFO": _metadata,
}
