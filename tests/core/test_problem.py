import pickle
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import strop
from strop.core.codes import CODES
from strop.core.problem import Problem
from strop.source.rules import all_rules

SOURCE = Path(strop.__file__).parent
_RANGES = {
    f"STR{n}" for n in (129, 130, 149, 150, 184, 189, 190, 199, 700, 799)
}  # ends of ranges that are named as such


@dataclass
class Place:
    file: str
    line: int

    def __str__(self):
        return f"{Path(self.file).name}:{self.line}"


def test_text_names_code_reason_place_and_next_step():
    problem = Problem("STR301", "split: `by` is 0", where="net.py:41 conv1", help="choose 7 or 8")
    assert str(problem) == "STR301: split: `by` is 0\n  at net.py:41 conv1\n  help: choose 7 or 8"


def test_rendering_shows_the_source_line(tmp_path):
    file = tmp_path / "net.py"
    file.write_text("import torch\nx = torch.nonzero(y)\n")
    for where in (Place(str(file), 2), f"{file}:2", f"{file}:2 layers.0"):
        assert "x = torch.nonzero(y)" in Problem("STR106", "shape depends on data", where=where).render()


def test_rendering_without_place_or_help_is_short():
    assert Problem("STR999", "odd").render() == "error[STR999]: odd"


def test_colour_only_when_asked():
    problem = Problem("STR001", "no", help="yes")
    assert "\033[" in problem.render(color=True)
    assert "\033[" not in problem.render()


def test_survives_the_way_between_processes():
    problem = Problem("STR101", "no export", where=Place("net.py", 3), help="partial=True")
    copy = pickle.loads(pickle.dumps(problem))
    assert (copy.code, copy.message, str(copy.where), copy.help) == ("STR101", "no export", "net.py:3", "partial=True")


def test_explanations_are_whole_paragraphs():
    for code, known in CODES.items():
        assert re.fullmatch(r"STR\d{3}", code)
        assert known.title and known.text.endswith("."), code
        assert "  " not in known.text, code


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_code_in_the_source_is_explained(file):
    used = set(re.findall(r"\bSTR\d{3}\b", file.read_text(encoding="utf-8")))
    assert used <= {*CODES, *all_rules(), *_RANGES}
