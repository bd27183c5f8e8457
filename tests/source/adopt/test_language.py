"""Rule files: what they say, and what is said of a mistake in one."""

import pytest

from strop.core.problem import Problem
from strop.source.adopt.guards import GUARDS
from strop.source.adopt.language.parser import parse

GOOD = '''rule my-norm STR790
family norm
title a norm
safety close 1e-5
gain 2.5
target cpu
default off
requires torch>=2.4

"""
Why.
"""

pattern:
    layer c: Linear(bias=False)
    middle = rsqrt(add(mean(square(x), dim=-1), eps))  # a comment
    mul?(mul(c(x), middle), weight)

where:
    scalar(eps)
    not parameter(x)

refuse unless:
    not_returned(middle)

use:
    => my.norm($x[[, $weight]])

define:
    replace c with my.Linear($c:in_features)

import:
    import my
'''


def read(text):
    return parse(text, "my.rule", guards=GUARDS)


def test_a_whole_rule():
    rule = read(GOOD)
    assert (rule.name, rule.code, rule.family, rule.gain, rule.default) == ("my-norm", "STR790", "norm", 2.5, False)
    assert (rule.safety, rule.tolerance, rule.targets, rule.requires) == ("close", 1e-5, ("cpu",), ("torch>=2.4",))
    assert rule.text == "Why."
    (pattern,) = rule.patterns
    assert [layer.classes for layer in pattern.layers] == [("torch.nn.Linear",)]
    assert [name for name, _ in pattern.roots] == [""]
    assert [(g.name, g.arguments, g.refuses, g.negated) for g in rule.guards] == [
        ("scalar", ("eps",), False, False),
        ("parameter", ("x",), False, True),
        ("not_returned", ("middle",), True, False),
    ]
    assert rule.use == (((), "my.norm($x[[, $weight]])"),)
    assert rule.define == (("replace", "c", "my.Linear($c:in_features)"),)
    assert rule.imports == ("import my",)


@pytest.mark.parametrize(
    ("before", "after", "message", "caret"),
    [
        ("rule my-norm STR790", "my-norm STR790", "a rule file begins with", 0),
        ("STR790", "STR123", "STR700 to STR799", 13),
        ("family norm\n", "", "no `family`", 0),
        ("default off", "default maybe", "`default` is on or off", 8),
        ("gain 2.5", "gain fast", "`fast` is not a number", 5),
        ("safety close 1e-5", "safety close", "needs the largest relative difference", 12),
        ("target cpu", "target tpu", "no target `tpu`", 7),
        ("gain 2.5", "profit 2.5", "`profit` is no part of a rule", 0),
        ("mean(square(x), dim=-1)", "maen(square(x), dim=-1)", "no operation `maen`", 23),
        ("mul?(mul(c(x), middle), weight)", "mul?(mul(c(x) middle), weight)", "expected `,`, found `middle`", 18),
        ("mul?(mul(c(x), middle), weight)", "mul?(mul(c(x), middle), weight", "found the end of the line", 34),
        ("mul?(mul(c(x), middle), weight)", "mul?(mul(c(x), middle), weight) x", "`x` is too much here", 36),
        ("layer c: Linear(bias=False)", "layer c: Linaer(bias=False)", "no layer `Linaer`", 13),
        ("scalar(eps)", "skalar(eps)", "no check `skalar`", 4),
        ("scalar(eps)", "scalar(epsilon)", "the pattern binds no `epsilon`", 11),
        ("$x[[", "$y[[", "the pattern binds no `y`", 15),
        ("=> my.norm", "my.norm", "a use is written", 4),
        ("replace c with", "swap c with", "`replace`, `add` or `remove`", 4),
        ("    scalar(eps)", "    sca!ar(eps)", "`!` has no meaning here", 7),
        ('"""\nWhy.\n"""', '"""\nWhy.', "not closed", 0),
    ],
)
def test_a_mistake_is_shown_with_a_caret(before, after, message, caret):
    assert before in GOOD
    with pytest.raises(Problem) as raised:
        read(GOOD.replace(before, after))
    problem = raised.value
    assert problem.code == "STR010" and message in problem.message
    assert str(problem.where).startswith("my.rule:")
    assert problem.message.splitlines()[-1] == " " * (4 + caret) + "^"


def test_the_nearest_name_is_suggested():
    with pytest.raises(Problem) as raised:
        read(GOOD.replace("rsqrt(", "rsqt("))
    assert raised.value.help == "did you mean `rsqrt`?"


def test_a_rule_without_a_pattern_is_refused():
    with pytest.raises(Problem, match="no `pattern:`"):
        read("rule a STR790\nfamily x\ntitle y\n")
