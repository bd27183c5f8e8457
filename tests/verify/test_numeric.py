import numpy as np
import pytest
import torch

from strop.core.problem import Problem
from strop.verify.numeric import arrays, close, max_rel_error, require_close


def test_error_is_relative_to_the_largest_value():
    assert max_rel_error(torch.tensor([100.0, 1.0]), torch.tensor([100.0, 2.0])) == pytest.approx(0.01)


def test_each_output_has_its_own_scale():
    actual = (torch.tensor([1000.0]), torch.tensor([0.5]))
    expected = (torch.tensor([1000.0]), torch.tensor([1.0]))
    assert max_rel_error(actual, expected) == pytest.approx(0.5)


def test_zero_outputs_are_compared_absolutely():
    assert max_rel_error(torch.tensor([0.25]), torch.zeros(1)) == 0.25


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_non_finite_values_must_stand_where_eager_has_them(value):
    special = torch.tensor([1.0, value])
    assert max_rel_error(special, special.clone()) == 0
    assert max_rel_error(torch.tensor([1.0, 2.0]), special) == float("inf")
    assert max_rel_error(special, torch.tensor([1.0, 2.0])) == float("inf")
    assert max_rel_error(special, special.flip(0)) == float("inf")


def test_infinities_of_opposite_sign_differ():
    assert max_rel_error(torch.tensor([float("inf")]), torch.tensor([float("-inf")])) == float("inf")


def test_shapes_and_counts_matter():
    assert max_rel_error(torch.zeros(2, 1), torch.zeros(2)) == float("inf")
    assert max_rel_error((torch.zeros(1),), (torch.zeros(1), torch.zeros(1))) == float("inf")


def test_integers_and_booleans_compare_by_value():
    assert max_rel_error(torch.tensor([1, 2]), torch.tensor([1, 2])) == 0
    assert max_rel_error(torch.tensor([True]), torch.tensor([False])) == 1
    assert max_rel_error(torch.tensor([3, 4]), torch.tensor([4, 4])) == 0.25


def test_nested_outputs_flatten_in_order():
    nested = {"a": torch.tensor([1.0]), "b": [torch.tensor(2), None, (np.float32(3.0), 4)]}
    assert [float(array.reshape(-1)[0]) for array in arrays(nested)] == [1, 2, 3, 4]


def test_half_precision_and_empty_outputs():
    assert max_rel_error(torch.ones(2, dtype=torch.bfloat16), torch.ones(2)) == 0
    assert max_rel_error(torch.ones(0, 3), torch.ones(0, 3)) == 0


def test_a_refusal_names_the_output():
    verdict = close({"a": torch.ones(2), "b": torch.ones(2)}, {"a": torch.ones(2), "b": torch.ones(2) * 2})
    assert not verdict
    assert "output['b']" in str(verdict)
    with pytest.raises(Problem, match="STR601"):
        require_close(torch.ones(1), torch.zeros(1))
