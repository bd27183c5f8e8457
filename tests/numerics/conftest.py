"""What the judges of accuracy run on: which numerics, for which CPUs, on how many threads."""

from __future__ import annotations

import pytest
import torch

from numerics.cases import Cases
from numerics.judge import Judge, Setting

#: descriptions of CPUs whose code can run here; None: of this machine
TARGETS = (None, "x86-64-v3")
#: every target by default; `exact` differs in convolutions alone
DEFAULTS = tuple(Setting("default", target) for target in TARGETS)
SETTINGS = (*DEFAULTS, Setting("exact"))


@pytest.fixture(params=SETTINGS, ids=str, scope="session")
def setting(request: pytest.FixtureRequest) -> Setting:
    return _running_here(request.param)


@pytest.fixture(params=DEFAULTS, ids=str, scope="session")
def default(request: pytest.FixtureRequest) -> Setting:
    """For whole models, which take long to compile."""
    return _running_here(request.param)


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


def _running_here(setting: Setting) -> Setting:
    wanted = {None: (), "x86-64-v3": ("AVX2", "AVX512")}[setting.target]
    if wanted and torch.backends.cpu.get_cpu_capability() not in wanted:
        pytest.skip(f"this CPU does not run code for {setting.target}")
    return setting
