"""The benchmark of training steps: what its profile tells."""

from __future__ import annotations

import pytest
import training

from strop.core.options import Options


def test_a_profile_tells_the_nests_of_both_halves(capsys: pytest.CaptureFixture[str]) -> None:
    training.profile("mlp", 1, Options.from_environment(), 8)
    told = capsys.readouterr().out
    assert "runs eager" not in told
    assert " 0 " in told and " 1 " in told and "matmul" in told
