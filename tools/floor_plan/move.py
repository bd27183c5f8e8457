"""Moves Strop's code into its floor plan, gives things their names, and rewrites every reference to them.

    cd CHECKOUT && python3 ELSEWHERE/floor_plan/move.py [--no-pass-names] [--no-names] [--no-ruff] [--bin DIR]

Run it in the root of a clean checkout. It changes the working tree and the index (`git mv`), and commits nothing. It
stops before anything is changed where a module has no place in the tables. At the end it lists what it left alone.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import os
import re
import subprocess
import sys
import textwrap
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from edits import CONTRACTS, EDITS, PASS_TEXTS, TEST_CODE, TEXTS  # noqa: E402
from names import OWN, Imported, Names, Source, definition_name, tokens  # noqa: E402
from tables import (  # noqa: E402
    ATTRIBUTES,
    DATA,
    DOCSTRINGS,
    FOLDERS,
    MODULES,
    NAMES,
    PACKAGES,
    PASS_NAMES,
    SPLITS,
    TESTS,
)

ROOT = Path.cwd()
SRC = ROOT / "src"
HOME = SRC / "strop"
WARNINGS: list[str] = []
#: programs as users write them: they are the input of tests and name nothing of ours
CASES = ("tests/source/tf_cases/", "tests/source/torch_cases/")


def warn(text: str) -> None:
    if text not in WARNINGS:
        WARNINGS.append(text)


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def tracked() -> list[str]:
    return [path for path in git("ls-files").splitlines() if (ROOT / path).is_file()]


# ---- the map of modules ----------------------------------------------------------------------------------------------


def dotted(path: str) -> str:
    """`src/strop/a/b.py` -> strop.a.b; `tests/a/b.py` -> a.b"""
    parts = list(Path(path).with_suffix("").parts)
    parts = parts[1:]
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)


class Map:
    """Old to new: modules, files, moved definitions."""

    def __init__(self, files: list[str]) -> None:
        self.files: dict[str, str] = {}  # old path -> new path, "" = deleted
        self.modules: dict[str, str] = {}  # old dotted -> new dotted
        self.moved: dict[tuple[str, str], str] = {}  # (old module, name) -> new module
        self.dissolved: dict[str, list[str]] = {}  # old module -> new modules that it was divided into altogether
        missing = []
        used = set()
        for path in files:
            new = path
            if path.startswith("src/strop/") and path.endswith(".py"):
                name = dotted(path)
                package = path.endswith("__init__.py")
                short = name.removeprefix("strop").removeprefix(".")
                place = self._package(short) if package else self._module(short)
                if place is None:
                    missing.append(name)
                    continue
                used.add(short)
                if package and not place and short:
                    text = (ROOT / path).read_text()
                    if ast.parse(text).body and any(not isinstance(s, ast.Expr) for s in ast.parse(text).body):
                        missing.append(f"{name} (its __init__.py holds code)")
                    self.files[path] = ""
                    self.modules[name] = f"strop.{FOLDERS[short]}" if short in FOLDERS else name
                    continue
                whole = f"strop.{place}" if place else "strop"
                self.modules[name] = whole
                new = "src/" + whole.replace(".", "/") + ("/__init__.py" if package else ".py")
            elif path.startswith("src/strop/"):
                new = self._data(path)
            elif path.startswith("tests/"):
                new = "tests/" + self._test(path.removeprefix("tests/"))
                if path.endswith(".py") and not path.startswith(CASES):
                    self.modules[dotted(path)] = dotted(new)
            self.files[path] = new
        for short in MODULES.keys() - used:
            warn(f"table: there is no module strop.{short} any more")
        if missing:
            raise SystemExit("no place in the tables for:\n  " + "\n  ".join(missing))
        for old, parts in SPLITS.items():
            if f"strop.{old}" not in self.modules:
                warn(f"split: there is no module strop.{old} any more")
                continue
            for new, (_, names) in parts.items():
                self.modules[f"strop.{new}"] = f"strop.{new}"
                for name in names:
                    self.moved[f"strop.{old}", name] = f"strop.{new}"

    def _package(self, short: str) -> str | None:
        best = max((p for p in PACKAGES if short == p or short.startswith(p + ".")), key=len, default=None)
        if best is None:
            return short
        return PACKAGES[best] + short[len(best) :] if PACKAGES[best] else "" if short == best else None

    def _module(self, short: str) -> str | None:
        if short in MODULES:
            return MODULES[short]
        package, _, name = short.rpartition(".")
        place = self._package(package) if package else ""
        return None if place is None or (package and not place) else f"{place}.{name}".lstrip(".")

    def _data(self, path: str) -> str:
        inside = path.removeprefix("src/strop/")
        if inside in DATA:
            return "src/strop/" + DATA[inside]
        package, _, name = inside.rpartition("/")
        place = self._package(package.replace("/", ".")) if package else ""
        if place is None or (package and not place):
            raise SystemExit(f"no place in the tables for {path}")
        return f"src/strop/{place.replace('.', '/')}/{name}".replace("//", "/")

    def _test(self, inside: str) -> str:
        if inside in TESTS:
            return TESTS[inside]
        best = max((t for t in TESTS if t.endswith("/") and inside.startswith(t)), key=len, default="")
        return TESTS[best] + inside[len(best) :] if best else inside

    def folder(self, path: str) -> str | None:
        """Where a folder below tests/ went, by the table."""
        inside = path.removeprefix("tests/").rstrip("/") + "/"
        return "tests/" + TESTS[inside].rstrip("/") if inside in TESTS else None


# ---- splits ----------------------------------------------------------------------------------------------------------


def defined(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return {statement.name}
    if isinstance(statement, ast.Assign):
        return {t.id for t in statement.targets if isinstance(t, ast.Name)}
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return {statement.target.id}
    return set()


def used(statements: list[ast.stmt]) -> set[str]:
    found = {n.id for s in statements for n in ast.walk(s) if isinstance(n, ast.Name)}
    for statement in statements:  # annotations that are texts
        for node in ast.walk(statement):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                found.add(node.value)
    return found


def split(old: str, parts: dict[str, tuple[str, list[str]]]) -> None:
    path = SRC / ("strop/" + old.replace(".", "/") + ".py")
    if not path.exists():
        return
    text = path.read_text()
    lines = text.splitlines()
    tree = ast.parse(text)
    imports = [s for s in tree.body if isinstance(s, (ast.Import, ast.ImportFrom)) or _checks_types(s)]
    header = [
        "\n".join(lines[s.lineno - 1 : s.end_lineno])
        for s in imports
        if not (isinstance(s, ast.ImportFrom) and s.module == "__future__")
    ]
    home: dict[str, str] = {name: new for new, (_, names) in parts.items() for name in names}
    known = {name for s in tree.body for name in defined(s)}
    for name in home.keys() - known:
        warn(f"split: strop.{old} has no `{name}` any more")
    staying = [s for s in tree.body if not (defined(s) & home.keys()) and s not in imports]
    remaining = known - home.keys()
    cut: list[tuple[int, int]] = []
    for new, (doc, names) in parts.items():
        moving = [s for s in tree.body if defined(s) & set(names)]
        moving.sort(key=lambda s: min(names.index(n) for n in defined(s) & set(names)))
        if not moving:
            continue
        needs = used(moving)
        extra = []
        if needs & remaining:
            extra.append(f"from strop.{old} import {', '.join(sorted(needs & remaining))}")
        for other in parts:
            wanted = sorted(n for n in needs if home.get(n) == other)
            if other != new and wanted:
                extra.append(f"from strop.{other} import {', '.join(wanted)}")
        body, before = "", None
        for statement in moving:
            start = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))]) - 1
            while start and lines[start - 1].startswith("#"):
                start -= 1
            cut.append((start, statement.end_lineno))
            near = before is not None and 0 <= start - before < 2
            body += ("\n" if near else "\n\n\n" if body else "") + "\n".join(lines[start : statement.end_lineno])
            before = statement.end_lineno
        target = SRC / ("strop/" + new.replace(".", "/") + ".py")
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            raise SystemExit(f"{target} is there already: who made it?")
        future = "from __future__ import annotations"
        target.write_text("\n\n".join([f'"""{doc}"""', future, "\n".join([*header, *extra]), body]) + "\n")
    for start, end in sorted(cut, reverse=True):
        del lines[start:end]
    needed = used(staying)
    added = []
    for new in parts:
        wanted = sorted(n for n in needed if home.get(n) == new)
        if wanted:
            added.append(f"from strop.{new} import {', '.join(wanted)}")
    if not [s for s in staying if not isinstance(s, ast.Expr)]:
        path.unlink()
        git("rm", "-q", "--cached", str(path))
        MAP.dissolved[f"strop.{old}"] = [f"strop.{new}" for new in parts]
        MAP.files[str(path.relative_to(ROOT))] = ""
        return
    last = max(s.end_lineno for s in imports if not _checks_types(s) and s.lineno <= cut_line(imports))
    lines[last:last] = added
    path.write_text("\n".join(lines) + "\n")


def cut_line(imports: list[ast.stmt]) -> int:
    """The last of the imports at the head of a file."""
    return max(s.lineno for s in imports if not _checks_types(s))


def _checks_types(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test)


# ---- references in Python --------------------------------------------------------------------------------------------


def parents_of(tree: ast.AST) -> dict[int, ast.AST]:
    return {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def statement_of(groups: dict[str, list[tuple[str, str | None]]], indent: str, comment: str) -> str:
    made = []
    for module, names in groups.items():
        told = [name if alias in (None, name) else f"{name} as {alias}" for name, alias in dict.fromkeys(names)]
        if len(told) > 3 and comment:
            made.append(
                f"from {module} import (  {comment}\n" + "".join(f"{indent}    {n},\n" for n in told) + f"{indent})"
            )
        else:
            made.append(f"from {module} import {', '.join(told)}" + (f"  {comment}" if comment else ""))
    return f"\n{indent}".join(made)


def rewrite(text: str, where: str) -> str:
    """A file's Python with every reference to a module that moved."""
    source, tree = Source(text), ast.parse(text)
    names = Names(tree, set(MAP.modules))
    parents = parents_of(tree)
    new_alias: dict[str, str] = {}  # new module -> the name that it has in this file
    taken = set(names.all_bound)

    def alias_for(module: str, preferred: str | None) -> str:
        """How a module is called in this file from now on; `preferred` is what it is called today."""
        if module not in new_alias:
            last = module.rpartition(".")[2]
            free = last == preferred or (last not in taken and not hasattr(builtins, last))
            others = {m for m, a in new_alias.items() if a == last}
            if free and not others:
                new_alias[module] = last
            elif preferred and preferred not in new_alias.values():
                new_alias[module] = preferred
            else:
                new_alias[module] = f"{module.rpartition('.')[0].rpartition('.')[2]}_{last}"
        return new_alias[module]

    # what uses of module aliases become
    extra: dict[int, set[str]] = defaultdict(set)
    renamed: dict[tuple[int, str], str] = {}
    fstrings: list[tuple[str, str]] = []
    staying: set[int] = set()  # aliases of modules that are still needed under their own name
    leaving: set[int] = set()
    for use, name, origin in names.uses:
        if not isinstance(origin, Imported) or origin.name is not None or origin.module not in MAP.modules:
            continue
        if isinstance(origin.node, ast.Import):
            continue
        parent = parents.get(id(use))
        attribute = parent.attr if isinstance(parent, ast.Attribute) and parent.value is use else None
        if attribute is None and isinstance(parent, ast.Call) and len(parent.args) > 1 and parent.args[0] is use:
            second = parent.args[1]
            attribute = second.value if isinstance(second, ast.Constant) and isinstance(second.value, str) else None
        elsewhere = MAP.moved.get((origin.module, attribute or ""))
        if elsewhere:
            word = alias_for(elsewhere, None)
            extra[id(origin.node)].add(elsewhere)
            leaving.add(id(origin.alias))
        elif origin.alias.asname:
            staying.add(id(origin.alias))
            continue
        else:
            staying.add(id(origin.alias))
            word = alias_for(MAP.modules[origin.module], name)
        if word == name:
            continue
        if id(use) in names.in_fstring:
            fstrings.append(
                (f"{name}.{attribute}" if attribute else name, f"{word}.{attribute}" if attribute else word)
            )
        else:
            source.replace(*source.span(use), word)

    # imports
    for node in names.imports:
        start, end = source.span(node)
        segment = source.text[start:end]
        comment = ""
        found = re.search(r"#.*", segment)
        if found and isinstance(node, ast.ImportFrom):
            comment = found.group().rstrip()
        else:  # a comment behind the statement stays where it is
            tail = source.text[end : source.text.find("\n", end)]
            if "#" in tail:
                comment = tail[tail.index("#") :].rstrip()
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in MAP.modules and MAP.modules[alias.name] != alias.name:
                    at = source.offset(alias.lineno, alias.col_offset)
                    source.replace(at, at + len(alias.name), MAP.modules[alias.name])
                    if not alias.asname and re.search(rf"\b{re.escape(alias.name)}\.\w", text[end:]):
                        warn(f"{where}: `{alias.name}` is used as a dotted name")
            continue
        groups: dict[str, list[tuple[str, str | None]]] = {}
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            if full in MAP.dissolved:
                for one in MAP.dissolved[full]:
                    package, _, last = one.rpartition(".")
                    groups.setdefault(package, []).append((last, None))
            elif full in MAP.modules and id(alias) in leaving - staying:
                continue
            elif full in MAP.modules:
                new = MAP.modules[full]
                package, _, last = new.rpartition(".")
                word = alias.asname or alias_for(new, alias.name)
                if not package:  # a test helper at the top
                    raise SystemExit(f"{where}: cannot import {full} from nowhere")
                groups.setdefault(package, []).append((last, word))
            elif (node.module, alias.name) in MAP.moved:
                groups.setdefault(MAP.moved[node.module, alias.name], []).append((alias.name, alias.asname))
            else:
                groups.setdefault(MAP.modules.get(node.module or "", node.module or ""), []).append(
                    (alias.name, alias.asname)
                )
        for module in sorted(extra.get(id(node), ())):
            package, _, last = module.rpartition(".")
            groups.setdefault(package, []).append((last, new_alias[module]))
        same = list(groups) == [node.module] and [(a.name, a.asname) for a in node.names] == [
            (name, alias if alias != name else None) for name, alias in groups[node.module or ""]
        ]
        if same:
            continue
        indent = " " * node.col_offset
        if comment and comment not in segment:
            tail_end = source.text.find("\n", end)
            source.replace(start, tail_end, statement_of(groups, indent, comment))
        else:
            source.replace(start, end, statement_of(groups, indent, comment))
    text = source.result()
    for old, new in fstrings:
        text = in_fstrings(text, old, new)
    return text


def in_fstrings(text: str, old: str, new: str) -> str:
    """A name inside the braces of f-strings."""
    source = Source(text)
    for token in tokens(text):
        if token.type == 3 and re.match(r"(?i)r?f", token.string):
            start = source.starts[token.start[0] - 1] + token.start[1]
            changed = re.sub(
                r"(?<!\{)\{(?!\{)[^{}]*\}",
                lambda m: re.sub(rf"(?<![\w.\"'])\b{re.escape(old)}\b", new, m.group()),
                token.string,
            )
            source.replace(start, start + len(token.string), changed)
    return source.result()


# ---- references in texts ---------------------------------------------------------------------------------------------

OLD_FOLDERS = "core|capture|plan|code|run|loops|graph|source|kernels|cli|session"


def new_name(module: str, name: str) -> str:
    """The new name of a definition, by its new module."""
    short = module.removeprefix("strop.")
    return CHANGED.get(short, {}).get(name, name)


def map_dotted(match: re.Match[str]) -> str:
    parts = match.group().split(".")
    for length in range(len(parts), 1, -1):
        module = ".".join(parts[:length])
        if module in MAP.modules:
            rest = parts[length:]
            place = MAP.moved.get((module, rest[0]), MAP.modules[module]) if rest else MAP.modules[module]
            if rest:
                rest[0] = new_name(place, rest[0])
            return ".".join([place, *rest])
    return match.group()


def map_import(match: re.Match[str]) -> str:
    """`from strop.x import a, b` inside a text: a module whose name changes keeps its old one there by `as`."""
    groups: dict[str, list[tuple[str, str | None]]] = {}
    for one in match.group(2).split(","):
        name, _, alias = (word.strip() for word in one.strip().partition(" as "))
        full = f"{match.group(1)}.{name}"
        if full in MAP.modules:
            package, _, last = MAP.modules[full].rpartition(".")
            groups.setdefault(package, []).append((last, alias or (name if name != last else None)))
        else:
            module = MAP.moved.get((match.group(1), name)) or MAP.modules.get(match.group(1), match.group(1))
            changed = new_name(module, name)
            groups.setdefault(module, []).append((changed, alias or (name if changed != name else None)))
    return "; ".join(
        f"from {module} import " + ", ".join(n if a in (None, n) else f"{n} as {a}" for n, a in names)
        for module, names in groups.items()
    ).replace("strop.", "strop\0.")


def map_path(match: re.Match[str]) -> str:
    prefix, inside = match.group(1) or "", match.group(2)
    new = MAP.files.get(f"src/strop/{inside}")
    if new:
        return prefix + new.removeprefix("src/strop/")
    return match.group()


def map_test_path(match: re.Match[str]) -> str:
    path = match.group()
    if path in MAP.files:
        return MAP.files[path] or path
    moved = MAP.folder(path)
    return moved + ("/" if path.endswith("/") else "") if moved else path


def map_text(text: str, module: str = "", *, prose: bool = False) -> str:
    """A comment, docstring or page with its references; `module` is the old name of the file that it stands in."""
    for old, new in TEXTS:
        text = text.replace(old, new)
    text = re.sub(r"\bfrom (strop(?:\.\w+)*) import (\w+(?: as \w+)?(?:, ?\w+(?: as \w+)?)*)", map_import, text)
    text = re.sub(r"\bstrop(?:\.\w+)+", map_dotted, text)
    text = re.sub(
        r"(?<=\bfrom )(?!strop\b)\w+(?:\.\w+)+(?= import)", lambda m: MAP.modules.get(m.group(), m.group()), text
    )
    text = re.sub(rf"(?<![\w./-])((?:src/)?strop/)?((?:{OLD_FOLDERS})/[\w/]+\.(?:py|toml))\b", map_path, text)
    text = re.sub(r"(?<![\w./-])tests/[\w/]+(?:\.\w+)?", map_test_path, text)
    text = re.sub(r"(?<=\.\./)tests/[\w/]+(?:\.\w+)?", map_test_path, text)
    if module.startswith("strop."):
        text = re.sub(r"`([\w]+/)?(\w+)\.py`", lambda m: sibling(m, module), text)
    if prose:
        # `run.measure`, `source.settings.Settings`: modules without their root
        text = re.sub(
            rf"(?<=`)(?:{OLD_FOLDERS})(?:\.\w+)+",
            lambda m: map_dotted(re.match(r".*", "strop." + m.group())).removeprefix("strop."),
            text,
        )
        for old, new in FOLDERS.items():
            more = len(new) - len(old)
            pattern = (
                rf"(?<![\w./-]){old}/(?![\w*])(?: {{{more}}}(?=    ))?"  # columns of a picture stay where they are
            )
            text = re.sub(pattern, f"{new}/", text)
    return text.replace("strop\0.", "strop.")


def sibling(match: re.Match[str], module: str) -> str:
    """`calls.py` in a file of the same folder; `sub/calls.py` below it."""
    folder, name = match.group(1) or "", match.group(2)
    path = SRC_OF.get(module, "")
    here = path.rpartition("/")[0]
    if path.endswith("__init__.py") and False:
        return match.group()
    old = f"{here}/{folder}{name}.py"
    new = MAP.files.get(old)
    if not new or new == old:
        return match.group()
    mine = (MAP.files.get(path) or path).rpartition("/")[0]
    other = new.rpartition("/")[0]
    if other == mine:
        return f"`{new.rpartition('/')[2]}`"
    return f"`{new.removeprefix('src/strop/')}`"


SRC_OF: dict[str, str] = {}


def rewrite_texts(text: str, module: str, where: str) -> str:
    """Strings and comments of a Python file."""
    source = Source(text)
    for token in tokens(text):
        if token.type not in (3, 61, 64) and token.type != __import__("tokenize").COMMENT:
            continue
        start = source.starts[token.start[0] - 1] + token.start[1]
        is_prose = token.type != 3 or '"""' in token.string[:5] or "`" in token.string
        source.replace(start, start + len(token.string), map_text(token.string, module, prose=is_prose))
    return source.result()


def depth(text: str, old: str, new: str) -> str:
    """`Path(__file__).parents[2]` of a file that lies deeper than before."""
    by = new.count("/") - old.count("/")
    if not by:
        return text
    pattern = r"(Path\(__file__\)(?:\.resolve\(\))?\.parents\[)(\d+)\]"
    return re.sub(pattern, lambda m: f"{m.group(1)}{int(m.group(2)) + by}]", text)


# ---- names -----------------------------------------------------------------------------------------------------------


def rename_all(table: dict[str, dict[str, str]]) -> None:
    files = [p for p in tracked() if p.endswith(".py") and "_cases/" not in p]
    modules = {dotted(p) for p in files if p.startswith(("src/", "tests/"))}
    wanted = {f"strop.{module}": names for module, names in table.items()}
    seen: set[tuple[str, str]] = set()
    # names that a module has from another one: tests replace them there
    attributes = {module: dict(names) for module, names in wanted.items()}
    for path in files:
        if path.startswith("src/"):
            for node in ast.walk(ast.parse((ROOT / path).read_text())):
                if isinstance(node, ast.ImportFrom) and node.module in wanted:
                    for alias in node.names:
                        if alias.name in wanted[node.module] and alias.asname is None:
                            attributes.setdefault(dotted(path), {}).setdefault(
                                alias.name, wanted[node.module][alias.name]
                            )
    for path in files:
        old = (ROOT / path).read_text()
        if not any(word in old for names in wanted.values() for word in names):
            continue
        new = rename(
            old, path, dotted(path) if path.startswith(("src/", "tests/")) else "", modules, wanted, attributes, seen
        )
        if new != old:
            (ROOT / path).write_text(new)
    for module, names in wanted.items():
        for name in names:
            if (module, name) not in seen:
                warn(f"names: {module} has no `{name}`")


def rename(text: str, path: str, module: str, modules: set[str], wanted: dict, attributes: dict, seen: set) -> str:
    source, tree = Source(text), ast.parse(text)
    names = Names(tree, modules)
    parents = parents_of(tree)
    own = wanted.get(module, {}) if path.startswith("src/") else {}
    local: dict[str, str] = {}  # words that are renamed in this file, for its comments
    fstrings: list[tuple[str, str]] = []
    for statement in tree.body:
        inner = [statement]
        if isinstance(statement, (ast.If, ast.Try)):
            inner = [s for s in ast.walk(statement) if isinstance(s, (ast.FunctionDef, ast.ClassDef))]
        for one in inner:
            for name in defined(one) & own.keys():
                seen.add((module, name))
                local[name] = own[name]
                if isinstance(one, (ast.FunctionDef, ast.ClassDef)):
                    source.replace(*definition_name(source, one), own[name])
    clash = {new for old, new in own.items() if new in names.module_scope.bound and new not in own}
    if clash:
        warn(f"names: {path} has {', '.join(sorted(clash))} already")
    kept_alias: set[tuple[str, str]] = set()
    for node in names.imports:
        if not isinstance(node, ast.ImportFrom) or node.module not in wanted:
            continue
        for alias in node.names:
            new = wanted[node.module].get(alias.name)
            if new is None:
                continue
            at = source.offset(alias.lineno, alias.col_offset)
            told = new
            if alias.asname is None and new in names.all_bound:
                told = f"{new} as {alias.name}"
                kept_alias.add((node.module, alias.name))
                warn(f"names: {path} has a `{new}` of its own, so it is imported `as {alias.name}`")
            elif alias.asname is None:
                local[alias.name] = new
            source.replace(at, at + len(alias.name), told)
    for use, name, origin in names.uses:
        new = None
        attribute = None
        if origin == OWN and name in own:
            new = own[name]
        elif isinstance(origin, Imported) and origin.name is not None and origin.module in wanted:
            if origin.alias.asname is None and (origin.module, origin.name) not in kept_alias:
                new = wanted[origin.module].get(origin.name)
        elif isinstance(origin, Imported) and origin.name is None and origin.module in attributes:
            parent = parents.get(id(use))
            if isinstance(parent, ast.Attribute) and parent.value is use and parent.attr in attributes[origin.module]:
                attribute = attributes[origin.module][parent.attr]
                if id(use) in names.in_fstring:
                    fstrings.append((f"{name}.{parent.attr}", f"{name}.{attribute}"))
                else:
                    end = source.span(parent)[1]
                    source.replace(end - len(parent.attr), end, attribute)
            elif isinstance(parent, ast.Call) and len(parent.args) > 1 and parent.args[0] is use:
                second = parent.args[1]
                if isinstance(second, ast.Constant) and second.value in attributes[origin.module]:
                    start, end = source.span(second)
                    source.replace(start + 1, end - 1, attributes[origin.module][second.value])
            continue
        if new:
            if id(use) in names.in_fstring:
                fstrings.append((name, new))
            else:
                source.replace(*source.span(use), new)
    for node in ast.walk(tree):  # `global _forked`
        if isinstance(node, ast.Global) and own.keys() & set(node.names):
            warn(f"names: {path}:{node.lineno} declares {', '.join(node.names)} global")
    text = source.result()
    for old, new in dict.fromkeys(fstrings):
        text = in_fstrings(text, old, new)
    if local:  # `Name` in comments and docstrings
        source = Source(text)
        comment = __import__("tokenize").COMMENT
        for token in tokens(text):
            if token.type == comment or (token.type == 3 and '"""' in token.string[:5]):
                start = source.starts[token.start[0] - 1] + token.start[1]
                told = token.string
                for old, new in local.items():
                    told = re.sub(rf"(?<=`){re.escape(old)}(?=[`(.])", new, told)
                source.replace(start, start + len(token.string), told)
        text = source.result()
    return text


def rename_attributes() -> None:
    for old, (new, files) in ATTRIBUTES.items():
        for file in files:
            path = ROOT / file
            if not path.exists():
                warn(f"attributes: there is no {file}")
                continue
            text = path.read_text()
            source = Source(text)
            for token in tokens(text):
                start = source.starts[token.start[0] - 1] + token.start[1]
                if token.type == 1 and token.string == old:
                    source.replace(start, start + len(old), new)
                elif token.type == 3:
                    told = token.string.replace(f"`{old}`", f"`{new}`").replace(f"self.{old}", f"self.{new}")
                    source.replace(start, start + len(token.string), told)
            path.write_text(source.result())


# ---- all together ----------------------------------------------------------------------------------------------------

TEXT_FILES = (".md", ".toml", ".yaml", ".yml", ".txt", ".rule", ".css", ".js")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--no-names", action="store_true", help="leave classes and functions as they are called")
    parser.add_argument("--no-pass-names", action="store_true", help="leave passes (and their text) as they are called")
    parser.add_argument("--no-ruff", action="store_true")
    parser.add_argument("--bin", default=".venv/bin", help="where ruff and python are")
    asked = parser.parse_args()
    if (HOME / "frontend").exists():
        raise SystemExit("this tree has been moved already")
    if git("status", "--porcelain").strip():
        raise SystemExit("the checkout is not clean")
    global MAP, CHANGED
    CHANGED = {} if asked.no_names else {k: dict(v) for k, v in NAMES.items()}
    if asked.no_names:
        CHANGED["target.llvm"] = NAMES["target.llvm"]
    if not asked.no_pass_names:
        for module, names in PASS_NAMES.items():
            CHANGED.setdefault(module, {}).update(names)
    MAP = Map(tracked())
    for path in MAP.files:
        if path.startswith("src/strop/") and path.endswith(".py"):
            SRC_OF[dotted(path)] = path

    # 1. splits, in the old tree's words
    for old, parts in SPLITS.items():
        split(old, parts)
    made = {f"src/strop/{new.replace('.', '/')}.py" for parts in SPLITS.values() for new in parts}
    # 2. references
    for path in [*MAP.files, *sorted(made)]:
        file = ROOT / path
        if not path.endswith(".py") or not file.exists() or path.startswith(CASES):
            continue
        before = file.read_text()
        module = dotted(path) if path.startswith("src/") else ""
        after = rewrite_texts(rewrite(before, path), module, path)
        after = depth(after, path, MAP.files.get(path, path) or path)
        if after != before:
            file.write_text(after)
    for path in MAP.files:
        file = ROOT / path
        if path.endswith(TEXT_FILES) or path in ("Makefile",):
            if path.startswith(CASES) or path == "LICENSE" or not file.exists():
                continue
            before = file.read_text()
            after = map_text(before, prose=path.endswith(".md"))
            if path.endswith(".md"):
                after = page_wrapped(before, after)
            if after != before:
                file.write_text(after)
    # 3. files
    moves = [(old, new) for old, new in MAP.files.items() if new and new != old]
    for old, new in moves:  # in two steps: a folder may take the place of a file of the same name
        (ROOT / new).parent.mkdir(parents=True, exist_ok=True) if not _blocked(new) else None
    for old, new in moves:
        source, target = ROOT / old, ROOT / (new + ".moving")
        blocked = _blocked(new)
        if blocked:
            target = ROOT / "moving" / new
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)
    for _, new in moves:
        target = ROOT / (new + ".moving")
        if not target.exists():
            target = ROOT / "moving" / new
        (ROOT / new).parent.mkdir(parents=True, exist_ok=True)
        target.rename(ROOT / new)
    for old, new in MAP.files.items():
        if not new and (ROOT / old).exists():
            (ROOT / old).unlink()
    for folder, _, _ in sorted(os.walk(ROOT), reverse=True):
        if ".git" not in Path(folder).parts and not any(p.name != "__pycache__" for p in Path(folder).iterdir()):
            subprocess.run(["rm", "-rf", folder], check=True)
    for package, doc in DOCSTRINGS.items():
        file = HOME / package.replace(".", "/") / "__init__.py"
        if not file.parent.exists():
            warn(f"packages: nothing is in strop.{package}")
        elif not file.exists() or not file.read_text().strip():
            file.write_text(f'"""{doc}"""\n')
    for folder in {p.parent for p in HOME.rglob("*.py")}:
        if not (folder / "__init__.py").exists():
            warn(f"packages: {folder} has no __init__.py and no docstring in the table")
    git("add", "-A")
    # 4. names
    if CHANGED:
        rename_all({m: n for m, n in CHANGED.items()})
    if not asked.no_names:
        rename_attributes()
    if not asked.no_pass_names:
        for path in tracked():
            if path.endswith((".py", ".md", ".txt", ".json")) and "_cases/" not in path:
                before = (ROOT / path).read_text()
                after = before
                for pattern, new in PASS_TEXTS:
                    after = re.sub(pattern, new, after)
                if after != before:
                    (ROOT / path).write_text(after)
    # 5. edits by hand
    for path in tracked():
        if path.startswith(("tests/", "tools/", "benchmarks/")) and path.endswith(".py") and "_cases/" not in path:
            before = after = (ROOT / path).read_text()
            for pattern, new in TEST_CODE:
                after = re.sub(pattern, new, after)
            if after != before:
                (ROOT / path).write_text(after)
    part = CHANGED.get("frontend.onnx.subgraphs", {}).get("Part", "Part")
    for path, old, new in EDITS:
        file = ROOT / path
        old, new = old.replace("{part}", part), new.replace("{part}", part)
        text = file.read_text() if file.exists() else ""
        if old not in text:
            warn(f"edit: {path} does not hold {old.strip().splitlines()[0]!r}")
            continue
        file.write_text(text.replace(old, new))
    project = ROOT / "pyproject.toml"
    text = project.read_text()
    project.write_text(text[: text.index("[tool.importlinter]")] + CONTRACTS)
    git("add", "-A")
    if not asked.no_ruff:
        ruff = f"{asked.bin}/ruff"
        subprocess.run([ruff, "check", "--fix", "--quiet", "."], check=False, capture_output=True)
        subprocess.run([ruff, "format", "--quiet", "."], check=False)
        reflow(ruff)
        subprocess.run([ruff, "format", "--quiet", "."], check=False)
        docs = subprocess.run(
            [f"{asked.bin}/python", "tools/generate_docs.py"],
            env={**os.environ, "PYTHONPATH": str(SRC)},
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        if docs.returncode:
            warn(f"docs: tools/generate_docs.py failed: {docs.stderr.strip().splitlines()[-1:]}")
    git("add", "-A")
    leftovers()
    print("\n".join(WARNINGS) or "nothing to report")


def reflow(asked_ruff: str) -> None:
    """Lines of prose that new names have made too long."""
    for _ in range(4):
        done = subprocess.run(
            [asked_ruff, "check", "--select", "E501", "--output-format", "concise", "."], capture_output=True, text=True
        )
        found = re.findall(r"^(.+?):(\d+):\d+: E501", done.stdout, re.M)
        if not found:
            return
        for path, number in reversed(found):
            file = ROOT / path
            text = file.read_text()
            new = wrapped(text, int(number))
            if new == text:
                warn(f"too long: {path}:{number}")
            else:
                file.write_text(new)


def wrapped(text: str, number: int) -> str:
    """The paragraph of a comment or docstring around a line, wrapped anew."""
    lines = text.splitlines()
    at = number - 1
    line = lines[at]
    indent = re.match(r"\s*", line).group()
    comment = re.match(r"\s*#:? ", line)
    if comment:
        first = indent + line[len(indent) :].split(" ")[0] + " "
        rest = indent + "# "
        start = at
        end = at
        while (
            end + 1 < len(lines) and lines[end + 1].startswith(rest) and not lines[end + 1].strip("# ").startswith("-")
        ):
            end += 1
        words = " ".join(l.strip().lstrip("#:").strip() for l in lines[start : end + 1])
        made = textwrap.wrap(
            words, 120, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
        )
        return "\n".join([*lines[:start], *made, *lines[end + 1 :]]) + "\n"
    inside = None
    for token in tokens(text):
        if token.type == 3 and token.start[0] <= number <= token.end[0] and '"""' in token.string[:6]:
            inside = token
    if inside is None:
        return text
    closing = False
    start, end = at, at
    last = inside.end[0] - 1
    if end == last and line.rstrip().endswith('"""'):
        closing = True
    while not closing and end + 1 <= last:
        after = lines[end + 1]
        if not after.strip() or re.match(r"\s*([-*|]|\d+\.|\"\"\")", after) or re.match(r"\s*", after).group() < indent:
            break
        end += 1
        if end == last:
            break
    words = " ".join(l.strip() for l in lines[start : end + 1])
    bullet = re.match(r"[-*] ", line.strip())
    rest = indent + ("  " if bullet else "")
    made = textwrap.wrap(
        words, 120, initial_indent=indent, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    if number == inside.start[0] and len(made) > 1 and end == last == at:
        made[-1] = made[-1]
    return "\n".join([*lines[:start], *made, *lines[end + 1 :]]) + "\n"


def page_wrapped(before: str, text: str) -> str:
    """A page whose paragraphs and items are wrapped anew where a longer name has made a line too long."""
    known, out, block, fenced = set(before.splitlines()), [], [], False

    def flush() -> None:
        if any(len(line) > 120 and line not in known for line in block) and not re.match(r"\s*[|#<]", block[0]):
            lead = re.match(r"\s*(?:[-*] |\d+\. )?", block[0]).group()
            words = " ".join(line.strip() for line in block)[len(lead.strip()) :].strip()
            out.extend(
                textwrap.wrap(
                    words, 120, initial_indent=lead, subsequent_indent=" " * len(lead),
                    break_long_words=False, break_on_hyphens=False,
                )
            )  # fmt: skip
        else:
            out.extend(block)
        block.clear()

    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            flush()
            fenced = not fenced
            out.append(line)
        elif fenced:
            out.append(line)
        elif not line.strip() or re.match(r"\s*(?:[-*] |\d+\. |[|#<])", line):
            flush()
            if line.strip():
                block.append(line)
            else:
                out.append(line)
        else:
            block.append(line)
    flush()
    return "\n".join(out) + "\n"


def _blocked(new: str) -> bool:
    """Whether a parent folder of the new place is still a file."""
    return any((ROOT / p).is_file() or (ROOT / f"{p}.py").is_file() for p in map(str, Path(new).parents) if p != ".")


def leftovers() -> None:
    """Mentions of old places that no rule has caught."""
    old = {m for m, new in MAP.modules.items() if m.startswith("strop.") and m != new}
    new = set(MAP.modules.values())
    packages = {n.rsplit(".", k)[0] for n in new for k in range(1, n.count("."))}
    old -= new | packages
    paths = {p for p, new in MAP.files.items() if new != p and p.startswith(("src/strop/", "tests/"))}
    shorts = {p.removeprefix("src/strop/") for p in paths if p.endswith(".py")} - {
        p.removeprefix("src/strop/") for p in MAP.files.values()
    }
    for path in tracked():
        if not path.endswith((".py", *TEXT_FILES, "Makefile")) or "_cases/" in path:
            continue
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
            for m in re.finditer(r"\bstrop(?:\.\w+)+", line):
                words = m.group().split(".")
                if any(".".join(words[:n]) in old for n in range(2, len(words) + 1)):
                    warn(f"left: {path}:{number}: {m.group()}")
            for m in re.finditer(r"(?<![\w.])(?:src/strop/|tests/)?[\w]+/[\w/]+\.py\b", line):
                if m.group().removeprefix("src/strop/") in shorts:
                    warn(f"left: {path}:{number}: {m.group()}")
            if re.search(r"(?<![\w./-])(capture|plan|code|run)/(aten|\*|$|[\s`])", line):
                warn(f"left: {path}:{number}: {line.strip()[:100]}")


if __name__ == "__main__":
    main()
