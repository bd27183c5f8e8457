"""How the tree is kept: no long modules, one name for one thing, packages that say what they hold, tests beside what they
test. Each check is tried on a small tree that breaks it, too."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = ROOT / "src" / "strop"
LONGEST = 500
SOURCE_HALF = ("source", "verify")  # the others compile models

#: folders of tests/ that mirror no package, and why; what is in them is not looked at
NO_MIRROR = {
    "benchmarks": "benchmarks/ of the project, which are no package",
    "docs": "pages and examples of docs/",
    "errors": "mistakes of users, named after the mistake, whichever layer says so",
    "goldens": "texts that tests of every layer compare with",
    "numerics": "accuracy of whole models beside eager and float64",
    "packages": "packages from PyPI that nobody here wrote",
    "source/hybridize/tf_cases": "programs as users write them",
    "source/hybridize/torch_cases": "programs as users write them",
}


def modules(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*.py") if "__pycache__" not in path.parts)


def too_long(root: Path) -> list[str]:
    lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in modules(root)}
    return [f"{path.relative_to(root)}: {lines}" for path, lines in lengths.items() if lines > LONGEST]


def same_names(root: Path) -> list[str]:
    """Classes of one name within a half, unless one is a subclass of the other."""
    found: dict[tuple[bool, str], list[tuple[Path, set[str]]]] = {}
    for path in modules(root):
        in_source = path.relative_to(root).parts[0] in SOURCE_HALF
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found.setdefault((in_source, node.name), []).append((path, set(map(ast.unparse, node.bases))))
    return [
        f"{name}: {', '.join(str(path.relative_to(root)) for path, _ in places)}"
        for (_, name), places in found.items()
        if sum(not any(_last(base) == name for base in bases) for _, bases in places) > 1
    ]


def _last(base: str) -> str:
    """The class of `module.Name` or `Name[T]`."""
    return base.partition("[")[0].rpartition(".")[2]


def undescribed(root: Path) -> list[str]:
    """Packages whose docstring is missing, or too short to say more than their name does."""
    found = []
    for folder in sorted({path.parent for path in modules(root)}):
        init = folder / "__init__.py"
        text = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) if init.exists() else None
        if len((text or "").split()) < 5:
            found.append(str(folder.relative_to(root)))
    return found


def unmirrored(tests: Path, root: Path) -> list[str]:
    """Folders of tests that neither name a package nor are listed with a reason."""
    return [
        str(folder)
        for folder in sorted({path.parent.relative_to(tests) for path in modules(tests)})
        if not (root / folder).is_dir() and not any(_within(folder, Path(known)) for known in NO_MIRROR)
    ]


def _within(folder: Path, outer: Path) -> bool:
    return folder == outer or outer in folder.parents


def test_no_module_is_longer_than_500_lines():
    assert too_long(SOURCES) == []


def test_no_two_classes_of_a_half_have_one_name():
    assert same_names(SOURCES) == []


def test_every_package_says_what_it_holds():
    assert undescribed(SOURCES) == []


def test_every_folder_of_tests_mirrors_a_package():
    assert unmirrored(ROOT / "tests", SOURCES) == []


def test_every_folder_that_is_excused_exists():
    assert [name for name in NO_MIRROR if not (ROOT / "tests" / name).is_dir()] == []


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def test_a_module_of_501_lines_is_found(tmp_path):
    write(tmp_path, {"a/long.py": "x = 1\n" * 501, "a/short.py": "x = 1\n" * 500})
    assert too_long(tmp_path) == ["a/long.py: 501"]


def test_classes_of_one_name_are_found_within_a_half_only(tmp_path):
    one, two = "class Frame: ...\n", "class Frame:\n    x = 1\n"
    write(tmp_path, {"codegen/a.py": one, "runtime/b.py": two, "source/c.py": one})
    assert same_names(tmp_path) == ["Frame: codegen/a.py, runtime/b.py"]
    write(tmp_path, {"verify/d.py": one})
    assert sorted(same_names(tmp_path)) == ["Frame: codegen/a.py, runtime/b.py", "Frame: source/c.py, verify/d.py"]


def test_a_subclass_may_have_the_name_of_its_base(tmp_path):
    write(tmp_path, {"a.py": "class Frame: ...\n", "b.py": "import a\nclass Frame(a.Frame): ...\n"})
    assert same_names(tmp_path) == []


def test_a_package_without_words_is_found(tmp_path):
    write(tmp_path, {"__init__.py": '"""Everything that this small tree holds."""\n', "a/__init__.py": '"""A."""\n'})
    write(tmp_path, {"b/m.py": ""})
    assert undescribed(tmp_path) == ["a", "b"]


def test_a_folder_of_tests_without_a_package_is_found(tmp_path):
    root = write(tmp_path, {"src/loops/a.py": "", "tests/loops/test_a.py": "", "tests/errors/test_b.py": ""})
    assert unmirrored(root / "tests", root / "src") == []
    write(tmp_path, {"tests/native/test_c.py": ""})
    assert unmirrored(root / "tests", root / "src") == ["native"]
