"""Every rule explains itself, under a code of its own."""

import re

import pytest

from strop.core.codes import CODES
from strop.source import rules


def test_every_rule_has_a_page():
    known = rules.all_rules()
    assert known and not set(known) & set(CODES)
    for code, rule in known.items():
        assert code == rule.code and rule.title and rule.text, code
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name), rule.name
    assert len({rule.name for rule in known.values()}) == len(known)


def test_the_docstring_is_the_explanation(monkeypatch):
    monkeypatch.setattr(rules, "RULES", {})

    @rules.rule("STR189", "a-rule")
    def check():
        """It does something.

        And here is why.
        """

    assert rules.RULES["STR189"] == rules.Rule("STR189", "a-rule", "It does something", "\nAnd here is why.".strip())


@pytest.mark.parametrize(("code", "text"), [("STR101", "x"), ("STR600", "x"), ("STR189", ""), ("X", "x")])
def test_wrong_declarations_are_refused(monkeypatch, code, text):
    monkeypatch.setattr(rules, "RULES", {})
    with pytest.raises(ValueError):
        rules.declare(code, "name", text)


def test_a_code_means_one_thing(monkeypatch):
    monkeypatch.setattr(rules, "RULES", {})
    rules.declare("STR189", "one", "One.\n\nText.")
    with pytest.raises(ValueError):
        rules.declare("STR189", "two", "Two.\n\nText.")
