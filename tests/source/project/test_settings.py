"""`[tool.strop]` in pyproject.toml."""

import pytest

from strop.core.problem import Problem
from strop.source.project.settings import Settings


@pytest.fixture
def project(tmp_path):
    def make(text):
        (tmp_path / "pyproject.toml").write_text(text)
        (tmp_path / "pkg").mkdir(exist_ok=True)
        return str(tmp_path / "pkg")

    return make


def test_the_nearest_file_above_is_read(project, tmp_path):
    settings = Settings.of(
        [project('[tool.strop]\nexclude = ["gen"]\nspeculate = false\nmax-lines = 10\nbaseline = "b.json"\n')]
    )
    assert settings.exclude == ("gen",) and settings.speculate is False and settings.max_lines == 10
    assert settings.baseline == str(tmp_path / "b.json")


def test_what_is_given_goes_first(project):
    path = project("[tool.strop]\nspeculate = false\n")
    assert Settings.of([path], speculate=True).speculate is True
    assert Settings.of([path], speculate=None).speculate is False


def test_other_tools_are_none_of_our_business(project):
    assert Settings.of([project("[tool.ruff]\nline-length = 3\n")]) == Settings()


@pytest.mark.parametrize(
    "text",
    [
        "[tool.strop]\nexlude = []\n", "[tool.strop]\nexclude = 'x'\n", "[tool.strop]\nspeculate = 1\n",
        "[tool.strop]\nmax-lines = -1\n", "[tool.strop]\nmax-lines = true\n", "[tool.strop]\nselect = [1]\n",
        "[tool.strop]\nper-file-ignores = ['a']\n", "tool = 3\n[x]\n", "[tool.strop\n", "[tool]\nstrop = 3\n",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named(project, text):
    if text.startswith("tool = 3"):
        assert Settings.of([project(text)]) == Settings()
        return
    with pytest.raises(Problem) as raised:
        Settings.of([project(text)])
    assert raised.value.code == "STR007"


def test_codes_select_by_their_beginning(project):
    settings = Settings.of([project('[tool.strop]\nselect = ["STR19"]\nignore = ["STR196"]\n')])
    assert (
        settings.wants("STR190", "a.py")
        and not settings.wants("STR196", "a.py")
        and not settings.wants("STR150", "a.py")
    )


def test_a_misspelt_code_is_refused(project):
    with pytest.raises(Problem, match="STR999"):
        Settings.of([project("")], select=("STR999",))


def test_ignores_for_some_files(project, tmp_path):
    path = project('[tool.strop]\nper-file-ignores = { "pkg/gen_*" = ["STR19"], "conftest.py" = ["STR1"] }\n')
    settings = Settings.of([path])
    assert not settings.wants("STR190", str(tmp_path / "pkg" / "gen_a.py"))
    assert not settings.wants("STR190", str(tmp_path / "deep" / "conftest.py"))
    assert settings.wants("STR190", str(tmp_path / "gen_a.py"))
