"""Random programs are the same after every kernel edit; `make test-soundness` tries twenty thousand."""

import warnings

import pytest

from source.adopt.soundness import check


@pytest.mark.parametrize("strop", [False, True], ids=["PyTorch's kernels", "Strop's kernels"])
def test_random_programs_are_the_same_after_every_edit(tmp_path, monkeypatch, strop):
    from strop.kernels import autograd

    for name in autograd.SMALLEST:
        monkeypatch.setitem(autograd.SMALLEST, name, 1)
    warnings.simplefilter("ignore")
    counts = check(100_000 + 1000 * strop, 150, tmp_path, strop=strop)
    assert not counts.differences, counts
    assert counts.edited >= 0.2 * counts.programs, counts
