"""Rules that a test brings along are forgotten after it."""

import pytest

from strop.source import rules


@pytest.fixture(autouse=True)
def _own_registry():
    yield
    for code in [code for code in rules.RULES if code.startswith("STR79")]:
        del rules.RULES[code]
