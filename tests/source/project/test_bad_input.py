"""Whatever lies in a folder: it is reported and skipped, and the rest goes on."""

import os
import sys

import pytest

from strop.source.facts import Skipped
from strop.source.project import files
from strop.source.project.settings import Settings
from strop.source.scan_project import scan_project

GOOD = "import torch\n\ndef step(x):\n    return torch.relu(x)\n"
BAD = {
    "syntax.py": (b"def f(:\n", "STR190"),
    "python2_print.py": (b"print 'hello'\n", "STR190"),
    "python2_except.py": (b"try:\n    pass\nexcept ValueError, e:\n    pass\n", "STR190"),
    "null_bytes.py": (b"x = 1\n\0\0\0", "STR191"),
    "utf16.py": ("x = 1\n".encode("utf-16"), "STR191"),
    "not_utf8.py": (b"x = '\xff\xfe'\n", "STR191"),
    "unknown_encoding.py": (b"# -*- coding: klingon -*-\nx = 1\n", "STR191"),
    "rot13.py": (b"# -*- coding: rot13 -*-\nk = 1\n", "STR191"),
    "lying_encoding.py": (b"# -*- coding: ascii -*-\nx = '\xc3\xa9'\n", "STR191"),
    "bom_against_cookie.py": (b"\xef\xbb\xbf# coding: latin-1\nx = 1\n", "STR191"),
    "binary.py": (bytes(range(256)) * 50, "STR191"),
    "parentheses.py": (b"x = " + b"(" * 10_000 + b"1" + b")" * 10_000 + b"\n", "STR193"),
    "brackets.py": (b"x = " + b"[" * 150 + b"]" * 150 + b"\n", None),
    "minuses.py": (b"x = " + b"-" * 100_000 + b"1\n", "STR193"),
    "sum.py": (b"x = " + b"1 + " * 50_000 + b"1\n", "STR193"),
    "attributes.py": (b"x = a" + b".b" * 20_000 + b"\n", "STR193"),
    "calls.py": (b"x = f" + b"()" * 20_000 + b"\n", "STR193"),
    "lambdas.py": (b"x = " + b"lambda: " * 20_000 + b"1\n", "STR193"),
    "elifs.py": (b"if a:\n    pass\n" + b"elif b:\n    pass\n" * 5_000, "STR193"),
    "indented.py": (b"".join(b" " * n + b"if x:\n" for n in range(99)) + b" " * 99 + b"pass\n", None),
    "too_indented.py": (b"".join(b" " * n + b"if x:\n" for n in range(200)) + b" " * 200 + b"pass\n", "STR190"),
    "long.py": (b"x = 1\n" * 50_000, "STR194"),
    "huge_number.py": (b"x = " + b"1" * 10_000 + b"\n", "STR190"),
    "one_long_line.py": (b"x = [" + b"1, " * 200_000 + b"]\n", None),
    "tabs_and_blanks.py": (b"if x:\n\ty = 1\n        z = 2\n", "STR190"),
    "empty.py": (b"", None),
    "only_comments.py": (b"# nothing\n", None),
    "latin1.py": ("# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"), None),
    "bom.py": (b"\xef\xbb\xbfx = 1\n", None),
    "carriage_returns.py": (b"x = 1\ry = 2\r", None),
    "shift_jis.py": ("# coding: shift_jis\nx = '日本'\n".encode("shift_jis"), None),
}


@pytest.mark.parametrize("name", BAD)
def test_reading_answers_and_never_raises(tmp_path, name):
    content, code = BAD[name]
    path = tmp_path / name
    path.write_bytes(content)
    read = files.read(str(path))
    result = read if isinstance(read, Skipped) else files.parse(read)
    assert (result.code if isinstance(result, Skipped) else None) == code
    assert code is None or (result.file == str(path) and result.message)


def test_python_2_is_called_by_its_name(tmp_path):
    for name in ("python2_print.py", "python2_except.py"):
        (tmp_path / name).write_bytes(BAD[name][0])
        assert "Python 2" in files.parse(files.read(str(tmp_path / name))).message


def test_the_line_of_the_trouble_is_told(tmp_path):
    (tmp_path / "a.py").write_bytes(b"x = 1\ny = 2\nz = '\xff'\n")
    (tmp_path / "b.py").write_text("x = 1\ny = = 2\n")
    assert files.read(str(tmp_path / "a.py")).line == 3
    assert files.parse(files.read(str(tmp_path / "b.py"))).line == 2


@pytest.mark.parametrize("names", ["k = k", "k = j\nj = k", "k = 2.0 * j\nj = k + 1.0"])
def test_names_that_go_round_in_circles(names, tmp_path):
    (tmp_path / "a.py").write_text(
        f"import torch\n{names}\ndef f(x):\n    return torch.softmax(x @ x.mT * k, -1) @ x\n"
    )
    assert not scan_project([str(tmp_path)], Settings()).skipped


def test_the_parser_does_not_warn(tmp_path, recwarn):
    (tmp_path / "a.py").write_text("x = '\\d'\ny = 1 is 1\n")
    files.parse(files.read(str(tmp_path / "a.py")))
    assert not recwarn.list


def test_links_that_go_round_in_circles(tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "a.py").write_text(GOOD)
    (tmp_path / "pkg" / "again").symlink_to(tmp_path)
    (tmp_path / "one.py").symlink_to(tmp_path / "two.py")
    (tmp_path / "two.py").symlink_to(tmp_path / "one.py")
    (tmp_path / "dangling.py").symlink_to(tmp_path / "nowhere.py")
    found, skipped = files.find([str(tmp_path)])
    assert [os.path.realpath(f) for f in found].count(str(tmp_path / "pkg" / "a.py")) == 1 and not skipped
    answers = {os.path.basename(f): files.read(f) for f in found}
    assert {name for name, answer in answers.items() if isinstance(answer, Skipped)} == {
        "dangling.py",
        "one.py",
        "two.py",
    }
    assert all(a.code == "STR192" for a in answers.values() if isinstance(a, Skipped))


def test_a_link_to_a_folder_above_does_not_widen_the_scan(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text(GOOD)
    (tmp_path / "neighbour.py").write_text(GOOD)
    (root / "up").symlink_to(tmp_path)
    found, skipped = files.find([str(root)])
    assert found == [str(root / "a.py")] and not skipped


def test_what_is_no_regular_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "folder.py" / "a.py").write_text(GOOD)
    found, _ = files.find([str(tmp_path)])
    assert [os.path.basename(f) for f in found] == ["a.py", "pipe.py"]
    assert files.read(str(tmp_path / "pipe.py")).code == "STR192"
    assert files.read("/dev/zero").code == "STR192"


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may read everything")
def test_files_and_folders_that_may_not_be_read(tmp_path):
    (tmp_path / "a.py").write_text(GOOD)
    (tmp_path / "a.py").chmod(0)
    (tmp_path / "closed").mkdir(mode=0)
    found, skipped = files.find([str(tmp_path)])
    assert files.read(found[0]).code == "STR192" and [s.code for s in skipped] == ["STR192"]
    (tmp_path / "closed").chmod(0o700)


def test_names_with_odd_characters(tmp_path):
    odd = os.fsencode(str(tmp_path)) + b"/\xff\xfe\n.py"
    with open(odd, "w") as file:
        file.write(GOOD)
    found, _ = files.find([str(tmp_path)])
    assert not isinstance(files.read(found[0]), Skipped)


def test_excluded_folders_and_names(tmp_path):
    for name in ("a.py", ".venv/b.py", "gen/c.py", "pkg/gen_d.py", "pkg/e.py", "note.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(GOOD)
    found, _ = files.find([str(tmp_path)], exclude=("gen", "pkg/gen_*.py"))
    assert [os.path.relpath(f, tmp_path) for f in found] == ["a.py", "pkg/e.py"]
    assert files.find([str(tmp_path / "note.txt")])[0] == [str(tmp_path / "note.txt")]


def test_a_project_full_of_bad_files_is_scanned_to_the_end(tmp_path):
    for name, (content, _) in BAD.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "good.py").write_text(GOOD)
    found = scan_project([str(tmp_path)], Settings())
    bad = {name for name, (_, code) in BAD.items() if code}
    assert {os.path.basename(s.file) for s in found.skipped} == bad
    assert {os.path.basename(s.file): s.code for s in found.skipped} == {n: c for n, (_, c) in BAD.items() if c}
    assert any(f.function == "step" and f.file.endswith("good.py") for f in found.functions)


@pytest.mark.parametrize("text", ["import b\nb = b\n", "b = c\nc = b\n", "b = (1, b)\n"])
def test_a_variable_that_is_assigned_itself_ends_nothing(tmp_path, text):
    (tmp_path / "a.py").write_text(f"import torch\n\n{text}\n\ndef f(x):\n    return torch.relu(x) * b.scale\n")
    found = scan_project([str(tmp_path)], Settings())
    assert not found.skipped and found.files == 1


@pytest.mark.parametrize("text", ["a.append(a)", "a.append([a])", "a.extend([1, a])", "a[0] = a", "d['x'] = d"])
def test_a_container_that_holds_itself_ends_nothing(tmp_path, text):
    body = f"    a, d = [1], {{}}\n    {text}\n    return torch.stack([x, *a]), torch.relu(d)\n"
    (tmp_path / "a.py").write_text(f"import torch\n\n\ndef f(x):\n{body}")
    assert not scan_project([str(tmp_path)], Settings()).skipped
