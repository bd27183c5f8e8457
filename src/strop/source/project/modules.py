"""The modules of a project: which file an import means, without importing anything.

A file that is scanned is always preferred; a library that `apis/` knows comes next; then files that lie beside the
importing one (its folder, the folders above it up to the root of the scan or of its package), which are read but not
reported, until `MAX_FOLLOWED` lines have been read that way. Of those, the first `MAX_FULL` lines are interpreted like
the rest; later ones are outlines, whose classes and names are known and whose functions are not followed. Packages that
define models come last (`installed.py`), on an account of their own: a model is as large as its package makes it.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable
from pathlib import Path

from strop.source.facts import Skipped
from strop.source.project import files
from strop.source.project.declarations import Module
from strop.source.project.installed import defines_models, package_folders

MAX_FOLLOWED = 5_000
MAX_FULL = 2_000
MAX_INSTALLED = 10_000  #: lines of installed packages


class Project:
    """The scanned files as modules, and what they import."""

    def __init__(self, names: Iterable[str], roots: Iterable[str], *, max_lines: int = files.MAX_LINES) -> None:
        self.max_lines = max_lines
        self.roots = [os.path.realpath(root if Path(root).is_dir() else str(Path(root).parent)) for root in roots]
        self.skipped: list[Skipped] = []
        self.scanned: dict[str, Module] = {}  #: by real path, in the order of the files
        self.followed: dict[str, Module | None] = {}
        self.followed_lines = 0
        self.installed_lines = 0
        self._packages: list[str] | None = None
        self._installed: dict[str, Module | None] = {}
        self._listed: dict[str, bool] = {}
        self._searched: dict[str, list[str]] = {}
        self._found: dict[tuple[str, str, bool], Module | None] = {}
        self._relatives: dict[tuple[str, int, str], Module | None] = {}
        self._names: set[str] = set()
        self._loaded: dict[str, Module | Skipped] = {}
        for name in names:
            module = self._load(name)
            if isinstance(module, Skipped):
                self.skipped.append(module)
            else:
                self.scanned[os.path.realpath(name)] = module

    def find(self, importer: Module, dotted: str, known_library: bool) -> Module | None:
        """The module that an absolute import means, seen from a file of the project."""
        key = self._search(importer)[0], dotted, known_library
        if key not in self._found:
            self._found[key] = self._find(importer, dotted, known_library)
        return self._found[key]

    def _find(self, importer: Module, dotted: str, known_library: bool) -> Module | None:
        tail = dotted.replace(".", os.sep)
        top = dotted.partition(".")[0]
        for folder in self._search(importer):
            if self._is_package(folder) and (known_library or _is_inside(importer, os.path.join(folder, top))):  # noqa: PTH118
                continue  # `import torch` in a package that has a module `torch` of its own: absolute is absolute
            for candidate in (os.path.join(folder, tail, "__init__.py"), os.path.join(folder, f"{tail}.py")):  # noqa: PTH118
                if candidate in self.scanned:
                    return self.scanned[candidate]
                if not known_library and (module := self._follow(candidate)):
                    return module
        return None

    def find_installed(self, dotted: str) -> Module | None:
        """The module of an installed package that defines models."""
        if dotted not in self._installed:
            self._installed[dotted] = self._find_installed(dotted)
        return self._installed[dotted]

    def _find_installed(self, dotted: str) -> Module | None:
        top, _, _ = dotted.partition(".")
        tail = dotted.replace(".", os.sep)
        if self._packages is None:
            self._packages = package_folders(self.roots)
        for folder in self._packages:
            package = os.path.join(folder, top)  # noqa: PTH118
            if not self._is_dir(package) and not os.path.isfile(package := f"{package}.py"):  # noqa: PTH113
                continue
            if not defines_models(package):
                return None
            for candidate in (os.path.join(folder, tail, "__init__.py"), os.path.join(folder, f"{tail}.py")):  # noqa: PTH118
                if module := self._follow(candidate, installed=True):
                    return module
        return None

    def beside(self) -> Project:
        """The same files for another reader, who follows imports on an account of its own; what was read is shared."""
        other = copy.copy(self)
        other.followed, other.followed_lines, other.installed_lines = {}, 0, 0
        other._found, other._relatives, other._installed = {}, {}, {}
        return other

    def relative(self, importer: Module, level: int, dotted: str) -> Module | None:
        """The module that `from ..x import` means."""
        key = importer.file, level, dotted
        if key not in self._relatives:
            self._relatives[key] = self._relative(importer, level, dotted)
        return self._relatives[key]

    def _relative(self, importer: Module, level: int, dotted: str) -> Module | None:
        folder = Path(os.path.realpath(importer.file)).parent
        for _ in range(level - 1):
            folder = folder.parent
        tail = dotted.replace(".", os.sep)
        base = str(folder / tail) if tail else str(folder)
        for candidate in (os.path.join(base, "__init__.py"), f"{base}.py"):  # noqa: PTH118
            if candidate in self.scanned:
                return self.scanned[candidate]
            if module := self._follow(candidate, installed=importer.installed):
                return module
        return None

    def is_folder(self, importer: Module, dotted: str) -> bool:
        """A namespace package: a folder without `__init__.py` that holds modules."""
        tail = dotted.replace(".", os.sep)
        return any(self._is_dir(os.path.join(folder, tail)) for folder in self._search(importer))  # noqa: PTH118

    def _is_dir(self, path: str) -> bool:
        if path not in self._listed:
            self._listed[path] = Path(path).is_dir()
        return self._listed[path]

    def _is_package(self, folder: str) -> bool:
        init = os.path.join(folder, "__init__.py")  # noqa: PTH118
        if init not in self._listed:
            self._listed[init] = Path(init).exists()
        return self._listed[init]

    def _search(self, importer: Module) -> list[str]:
        known = self._searched.get(importer.file)
        if known is not None:
            return known
        own = Path(os.path.realpath(importer.file)).parent
        found = [str(own)]
        for folder in own.parents:
            inside_package = self._is_package(found[-1])
            inside_root = any(
                found[-1] != root and found[-1].startswith(root.rstrip(os.sep) + os.sep) for root in self.roots
            )
            if not inside_package and not inside_root:
                break
            found.append(str(folder))
        found += [os.path.join(root, "src") for root in self.roots]  # noqa: PTH118
        self._searched[importer.file] = found
        return found

    def _follow(self, candidate: str, installed: bool = False) -> Module | None:
        if candidate in self.followed:
            return self.followed[candidate]
        full = self.installed_lines > MAX_INSTALLED if installed else self.followed_lines > MAX_FOLLOWED
        if full or not os.path.isfile(candidate):  # noqa: PTH113
            self.followed[candidate] = None
            return None
        if candidate not in self._loaded:
            self._loaded[candidate] = self._load(candidate)
        module = self._loaded[candidate]
        self.followed[candidate] = None if isinstance(module, Skipped) else module
        if isinstance(module, Skipped):
            return None
        module.installed = installed
        if installed:
            self.installed_lines += module.lines
        else:
            self.followed_lines += module.lines
            module.outline = self.followed_lines > MAX_FULL
        return module

    def _load(self, file: str) -> Module | Skipped:
        text = files.read(file, max_lines=self.max_lines)
        if isinstance(text, Skipped):
            return text
        tree = files.parse(text)
        if isinstance(tree, Skipped):
            return tree
        return Module(self._module_name(file), file, tree, Path(file).name == "__init__.py", text.lines)

    def _module_name(self, file: str) -> str:
        """Dotted from the outermost package, or from the root of the scan for files in no package; each name once."""
        path = Path(os.path.realpath(file))
        parts = [] if path.name == "__init__.py" else [path.stem]
        folder = path.parent
        while (folder / "__init__.py").exists() and folder != folder.parent:
            parts.insert(0, folder.name)
            folder = folder.parent
        for root in self.roots:
            if str(folder).startswith(root.rstrip(os.sep) + os.sep):
                parts = [*folder.relative_to(root).parts, *parts]
                break
        name = ".".join(parts) or path.parent.name
        unique, number = name, 2
        while unique in self._names:
            unique, number = f"{name}~{number}", number + 1
        self._names.add(unique)
        return unique


def _is_inside(importer: Module, folder: str) -> bool:
    return os.path.realpath(importer.file).startswith(folder + os.sep)
