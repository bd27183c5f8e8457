"""What counts as a difference between two runs."""

from types import SimpleNamespace

import numpy as np
import pytest

from strop.verify.child.verify_child import _plain
from strop.verify.compare import compare


def seen(value, printed="", **answer):
    arrays = {}
    return SimpleNamespace(
        answer={"results": [_plain(value, "0", arrays, 0)], **answer}, arrays=arrays, printed=printed
    )


@pytest.mark.parametrize(
    ("one", "two", "says"),
    [
        (np.ones(3), np.ones(3) + 0.1, "0.1 of its scale"),
        (np.ones(3), np.ones(4), "shape [3] eagerly, [4]"),
        (np.ones(3, "float32"), np.ones(3), "float64 as graphs"),
        (np.arange(3), np.arange(3) + 1, "3 of 3 values"),
        (np.array([1.0, 1.0]), np.array([1.0, np.nan]), "undefined"),
        (np.array([1.0, np.inf]), np.array([1.0, -np.inf]), "undefined"),
        ([1, 2], [1], "inside"),
        ({"a": 1}, {"b": 1}, "a, b"),
        ([1], (1,), "tuple"),
        ("a", "b", "'a' eagerly"),
        (True, 1, ""),
        (None, 0, "None eagerly"),
        (1.0, 1.5, "of its scale"),
        ({"a": [np.zeros(2), {"b": np.ones(1)}]}, {"a": [np.zeros(2), {"b": np.ones(1) * 2}]}, "of its scale"),
    ],
)
def test_values_that_differ(one, two, says):
    found, _ = compare(seen(one), seen(two), 1e-3)
    assert bool(found) == (says != "") and (not found or says in found[0].message), found


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((0, 3)),
        np.array([np.inf, np.nan, 1.0]),
        [],
        {},
        (1, "a", None),
        1 + 2j,
        np.array("text"),
        object(),
        3.5,
    ],
)
def test_values_equal_themselves(value):
    assert compare(seen(value), seen(value), 0.0)[0] == []


def test_the_place_of_a_difference_is_named():
    found, _ = compare(seen({"a": [1, 2]}), seen({"a": [1, 3]}), 1e-3)
    assert found[0].where == "call 1.a.1"


def test_small_errors_are_measured():
    found, error = compare(seen(np.ones(3)), seen(np.ones(3) * 1.00001), 1e-3)
    assert found == [] and 9e-6 < error < 1.1e-5


def test_numbers_and_addresses_in_printed_text_may_differ():
    one = "took 1.5e-3 s\n<object at 0x7f0012345678>\nloss nan\n"
    two = "took 0.7 s\n<object at 0x7fabc2345678>\nloss 2.25\n"
    assert compare(seen(1, one), seen(1, two), 0)[0] == []


@pytest.mark.parametrize(("one", "two"), [("a\n", "b\n"), ("a\n", "a\na\n"), ("", "a\n")])
def test_other_printed_text_differs(one, two):
    assert compare(seen(1, one), seen(1, two), 0)[0]


def test_outcomes_of_tests():
    one, two = seen(1, tests={"a": "passed", "b": "passed"}), seen(1, tests={"a": "passed", "b": "failed"})
    assert [d.where for d in compare(one, two, 0)[0]] == ["b"]


def test_an_error_on_one_side_only():
    assert "KeyError" in compare(seen(1, error=None), seen(1, error="KeyError: 1"), 0)[0][0].message
