"""Comments that silence findings, and comments that silence nothing."""

import pytest

from source.findings import finding, insertion
from strop.source.facts import Edit
from strop.source.fix.edit import plan
from strop.source.report.ignore import UNUSED, apply_ignores


@pytest.fixture
def found(tmp_path):
    def run(text, *at, active=lambda code: True):
        path = tmp_path / "a.py"
        path.write_text(text)
        made = [finding(Edit(insertion(path, line), ""), code=code) for code, line in at]
        return [(f.code, f.place.line) for f in apply_ignores(made, [str(path)], active=active)]

    return run


def test_a_comment_on_the_line(found):
    assert found("x = 1  # strop: ignore[STR150]\ny = 2\n", ("STR150", 1), ("STR150", 2)) == [("STR150", 2)]


def test_other_codes_are_kept_and_the_comment_is_unused(found):
    assert sorted(found("x = 1  # strop: ignore[STR151]\n", ("STR150", 1))) == [("STR150", 1), (UNUSED, 1)]


def test_several_codes_and_none(found):
    assert found("x = 1  # noqa # strop: ignore[STR150, str151]\n", ("STR150", 1), ("STR151", 1)) == []
    assert found("x = 1  # strop: ignore\n", ("STR150", 1), ("STR151", 1)) == []


def test_a_comment_of_its_own_speaks_of_the_next_line(found):
    assert found("# strop: ignore[STR150]\nx = 1\ny = 1\n", ("STR150", 2), ("STR150", 3)) == [("STR150", 3)]


def test_a_whole_file(found):
    assert found("# strop: ignore-file[STR150]\nx = 1\ny = 1\n", ("STR150", 2), ("STR150", 3)) == []


def test_strings_are_not_comments(found):
    assert found("x = '# strop: ignore[STR150]'\n", ("STR150", 1)) == [("STR150", 1)]


def test_codes_that_are_switched_off_do_not_make_comments_unused(found):
    assert found("x = 1  # strop: ignore[STR150]\n", active=lambda code: code != "STR150") == []


@pytest.mark.parametrize(
    ("before", "used", "expected"),
    [
        ("x = 1  # strop: ignore[STR150]\n", [], "x = 1\n"),
        ("x = 1  # strop: ignore[STR150, STR151]\n", ["STR151"], "x = 1  # strop: ignore[STR151]\n"),
        ("x = 'é'  # strop: ignore[STR150]\n", [], "x = 'é'\n"),
        ("# strop: ignore[STR150]\nx = 1\n", [], "\nx = 1\n"),
        ("x = 1  # because # strop: ignore[STR150]\n", [], "x = 1  # because \n"),
    ],
)
def test_the_fix_deletes_what_is_not_needed(tmp_path, before, used, expected):
    path = tmp_path / "a.py"
    path.write_text(before)
    made = [finding(Edit(insertion(path, 1), ""), code=code) for code in used]
    assert plan(apply_ignores(made, [str(path)])).after[str(path)] == expected
