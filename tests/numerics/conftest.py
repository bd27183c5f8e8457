"""What the judges of accuracy run on: which numerics, for which CPUs, on how many threads."""

from __future__ import annotations

import pytest
import torch

from numerics.cases import Cases
from numerics.judge import Judge, Setting

#: this machine, and the plans of one with vectors of the other width, in instructions of this one
OTHER = "znver3@host" if torch.backends.cpu.get_cpu_capability().startswith("AVX512") else "znver4@host"
TARGETS = (None, OTHER)
#: every target by default; `exact` differs in convolutions alone
DEFAULTS = tuple(Setting("default", target) for target in TARGETS)
SETTINGS = (*DEFAULTS, Setting("exact"))


@pytest.fixture(params=SETTINGS, ids=str, scope="session")
def setting(request: pytest.FixtureRequest) -> Setting:
    return request.param


@pytest.fixture(params=DEFAULTS, ids=str, scope="session")
def default(request: pytest.FixtureRequest) -> Setting:
    """For whole models, which take long to compile."""
    return request.param


@pytest.fixture(scope="session")
def cases(pytestconfig: pytest.Config) -> Cases:
    found = pytestconfig.pluginmanager.get_plugin("numerics")
    assert isinstance(found, Cases)
    return found


@pytest.fixture(scope="session")
def judge(setting: Setting, cases: Cases) -> Judge:
    return Judge(setting, cases)


@pytest.fixture(scope="session")
def default_judge(default: Setting, cases: Cases) -> Judge:
    return Judge(default, cases)
