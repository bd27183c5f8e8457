from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.core.passes import Pass, Verdict, no, yes
from strop.core.problem import Problem


@dataclass(frozen=True)
class Cut(Pass):
    """Takes the first `by` elements of a list; a stand-in for a real transformation."""

    nest: str
    by: int
    tail: bool = False
    order: tuple = ()
    note: str | None = None
    scale: float = 1.0

    def check(self, ir):
        return yes() if 0 < self.by <= len(ir) else no(f"`by` must be in 1..{len(ir)}, got {self.by}", self.nest)

    def apply(self, ir):
        return ir[: self.by]


def test_prints_its_spec_without_defaults():
    assert str(Cut("conv1", 6)) == "cut{nest=conv1 by=6}"
    assert str(Cut("layers.0", 6, True, ("oh", 4), "two words")) == (
        'cut{nest=layers.0 by=6 tail=true order=(oh,4) note="two words"}'
    )


values = st.recursive(
    st.integers() | st.text() | st.booleans() | st.none() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@given(st.text(), st.integers(), st.booleans(), st.lists(values, max_size=4).map(tuple), st.none() | st.text())
def test_text_parses_back_to_the_same_pass(nest, by, tail, order, note):
    made = Cut(nest, by, tail, order, note)
    assert Pass.parse(str(made)) == made
    assert repr(Pass.parse(str(made))) == repr(made)


@pytest.mark.parametrize("text", ["true", "none", "12", "1e5", "inf", "nan", "a b", "", "x=y", '"', "a\nb", "ä"])
def test_strings_that_look_like_something_else_stay_strings(text):
    assert Pass.parse(str(Cut(text, 1))) == Cut(text, 1)


def test_a_script_is_many_passes_with_comments():
    script = "cut{nest=a by=1}  # first\n\ncut{nest=b by=2}; cut{nest=c by=3}\n"
    assert [p.nest for p in Pass.parse_all(script)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("fly{nest=a}", "no pass `fly`"),
        ("cut{nest=a}", "needs `by`"),
        ("cut{nest=a by=1 speed=2}", "no field `speed`"),
        ("cut{nest=a by=1 by=2}", "given twice"),
        ("cut{nest=a by=1", "expected"),
        ("cut{nest=a by=}", "value is expected"),
        ("cut{nest=a by=1} and more", "something follows"),
        ("cut{nest=a\n by==1}", "line 2, column 5"),
        ("", "name of a pass is expected"),
    ],
)
def test_unreadable_text_says_what_and_where(text, reason):
    with pytest.raises(Problem, match="STR302") as caught:
        Pass.parse(text)
    assert reason in caught.value.message


def test_calling_a_pass_checks_first():
    assert Cut("a", 2)([1, 2, 3]) == [1, 2]
    with pytest.raises(Problem, match=r"STR301: cut\{nest=a by=0\}: `by` must be in 1..3, got 0"):
        Cut("a", 0)([1, 2, 3])


def test_two_passes_of_one_name_are_refused():
    with pytest.raises(Problem, match="STR011: the pass `cut` cannot be registered"):
        type("Cut", (Pass,), {"__module__": "elsewhere"})


def test_a_base_of_passes_is_not_a_pass_itself():
    class Base(Pass, abstract=True):
        pass

    assert Base.title not in Pass.registry


def test_a_verdict_is_truthy_when_allowed_and_a_refusal_needs_a_reason():
    assert yes() and not no("it aliases its input")
    assert str(no("it aliases its input", "net.py:3")) == "no: it aliases its input (net.py:3)"
    with pytest.raises(ValueError, match="reason"):
        Verdict(False)
