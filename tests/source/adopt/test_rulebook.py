"""Rules that a project brings: mistakes, circles, overlaps, missing imports; and the order of what is found."""

import pytest

from source.adopt.programs import HEADER, function, matches
from strop.core.problem import Problem
from strop.source.adopt import rulebook
from strop.source.fix import fixing
from strop.source.project.settings import Settings
from strop.source.scan_project import scan_project

OWN = """rule {name} STR79{digit}
family {family}
title own
order {order}

pattern:
    {pattern}

use:
    => {use}

import:
    import torch
"""


def write(folder, name="own", digit=0, family="own", order=100, pattern="tanh(x)", use="torch.sin($x)", more=""):
    folder.mkdir(exist_ok=True)
    text = OWN.format(name=name, digit=digit, family=family, order=order, pattern=pattern, use=use)
    (folder / f"{name}.rule").write_text(text + more)


@pytest.fixture
def rules(tmp_path):
    return tmp_path / "rules"


def fixed(tmp_path, source, rules):
    """The text after `strop fix`, and what it refused."""
    file = tmp_path / "code" / "model.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(HEADER + source)
    settings = Settings(rules=(str(rules),), select=("STR79",))
    done = fixing.fix(lambda: scan_project([str(file.parent)], settings), unsafe=True)
    return done.plan.after.get(str(file), file.read_text()), done


def test_the_rules_that_come_along_can_be_read():
    known = rulebook.load()
    assert len(known) >= 18
    assert len({rule.code for rule in known}) == len({rule.name for rule in known}) == len(known)
    assert all(rule.text and rule.title for rule in known)
    assert not [rule.name for rule in known if rulebook.matches_itself(rule)]


def test_a_project_adds_its_own(tmp_path, rules):
    write(rules)
    found = matches(tmp_path, function("return torch.tanh(x)"), folders=(str(rules),))
    assert [match.rule.code for match in found] == ["STR790"]


def test_a_rule_file_with_an_error_stops_the_scan_with_its_place(tmp_path, rules):
    write(rules, pattern="tahn(x)")
    with pytest.raises(Problem, match="no operation `tahn`") as raised:
        matches(tmp_path, function("return x"), folders=(str(rules),))
    assert str(raised.value.where).endswith("own.rule:7")


def test_a_folder_that_is_not_there(tmp_path, rules):
    with pytest.raises(Problem, match="no folder of rules"):
        matches(tmp_path, function("return x"), folders=(str(rules),))


def test_two_rules_with_one_code(tmp_path, rules):
    write(rules)
    write(rules, name="other")
    with pytest.raises(Problem, match="STR790 is both"):
        rulebook.load((str(rules),))


def test_a_rule_that_matches_its_own_output_is_refused(rules):
    write(rules, pattern="tanh(x)", use="torch.tanh($x * 2.0)")
    with pytest.raises(Problem, match="`own` matches its own output"):
        rulebook.load((str(rules),))


def test_two_rules_that_undo_each_other_come_to_an_end(tmp_path, rules):
    write(rules, "there", 0, "one", 50, "sin(x)", "torch.cos($x)")
    write(rules, "back", 1, "two", 50, "cos(x)", "torch.sin($x)")
    text, done = fixed(tmp_path, function("return torch.sin(x)"), rules)
    assert "torch.sin(x)" in text or "torch.cos(x)" in text
    assert len(done.applied) <= 10


def test_of_two_rules_that_overlap_the_smaller_order_wins(tmp_path, rules):
    write(rules, "inner", 0, "one", 50, "tanh(x)", "torch.sin($x)")
    write(rules, "outer", 1, "one", 20, "exp(tanh(x))", "torch.cos($x)")
    source = function("return torch.exp(torch.tanh(x))")
    assert [m.rule.name for m in matches(tmp_path, source, folders=(str(rules),))] == ["outer"]
    text, _ = fixed(tmp_path, source, rules)
    assert "return torch.cos(x)" in text


def test_overlapping_edits_of_two_families_are_applied_one_after_the_other(tmp_path, rules):
    write(rules, "inner", 0, "one", 50, "tanh(x)", "torch.sin($x)")
    write(rules, "outer", 1, "two", 20, "exp(y)", "torch.cos($y)")
    text, _ = fixed(tmp_path, function("return torch.exp(torch.tanh(x))"), rules)
    assert "return torch.cos(torch.sin(x))" in text


def test_an_import_that_cannot_be_added_is_a_refusal(tmp_path, rules):
    write(rules, use="fast.tanh($x)", more="    import fast\n")
    text, done = fixed(tmp_path, "fast = 3\n\n" + function("return torch.tanh(x)"), rules)
    assert "torch.tanh(x)" in text
    assert "`fast` already names something else" in done.refused[0].why


def test_an_import_is_placed(tmp_path, rules):
    write(rules, use="fast.tanh($x)", more="    import fast\n")
    text, _ = fixed(tmp_path, function("return torch.tanh(x)"), rules)
    assert "\nimport fast\n" in text and "return fast.tanh(x)" in text


def test_an_import_that_a_rule_forgot_is_an_error_of_the_rule(tmp_path, rules):
    write(rules, use="fast.tanh($x)")
    with pytest.raises(Problem, match="`fast` is not imported"):
        rulebook.load((str(rules),))


def test_the_order_is_always_the_same(tmp_path):
    body = "a = x * torch.sigmoid(x)\nb = torch.log(torch.softmax(a, -1))\nreturn a, b, torch.softmax(x @ x.mT, -1) @ x"
    runs = [[(m.rule.code, m.place) for m in matches(tmp_path, function(body))] for _ in range(3)]
    assert runs[0] == runs[1] == runs[2]
    assert [code for code, _ in runs[0]] == ["STR724", "STR771", "STR701"]
