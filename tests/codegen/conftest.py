"""The count of the sweep over PyTorch's operators."""

from __future__ import annotations

import pytest

from codegen.tally import Tally


@pytest.fixture
def tally(pytestconfig: pytest.Config) -> Tally:
    found = pytestconfig.pluginmanager.get_plugin("tally")
    assert isinstance(found, Tally)
    return found
