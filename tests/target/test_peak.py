import pytest

from strop.bench.harness import main
from strop.core.problem import Problem
from strop.target.peak import measure_peak


def test_peak_is_that_of_a_vector_unit():
    """A scalar chain reaches 2 to 8 GFLOP/s on any core of this century; vectors in independent chains far more."""
    assert 10 < measure_peak(1) < 2000


@pytest.mark.parametrize(
    ("options", "named"),
    [({"threads": 0}, "--threads"), ({"threads": 4096}, "--threads"), ({"rounds": 0}, "--rounds")],
)
def test_numbers_out_of_range_are_refused(options, named):
    with pytest.raises(Problem, match=named):
        main(["lstm"], **options)
