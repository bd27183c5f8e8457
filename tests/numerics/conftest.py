"""What the judges of accuracy run on: which numerics, for which CPUs, on how many threads."""

from __future__ import annotations

import pytest
import torch

from numerics.cases import Cases
from numerics.judge import Judge, Setting

#: descriptions of CPUs whose code can run here; None: of this machine
TARGETS = (None, "x86-64-v3")
#: every target by default; `exact` differs in convolutions alone
SETTINGS = (*(Setting("default", target) for target in TARGETS), Setting("exact"))


@pytest.fixture(params=SETTINGS, ids=str, scope="session")
def setting(request: pytest.FixtureRequest) -> Setting:
    found: Setting = request.param
    if found.target is not None and not _runs_here(found.target):
        pytest.skip(f"this CPU does not run code for {found.target}")
    return found


@pytest.fixture(scope="session")
def cases(pytestconfig: pytest.Config) -> Cases:
    found = pytestconfig.pluginmanager.get_plugin("numerics")
    assert isinstance(found, Cases)
    return found


@pytest.fixture(scope="session")
def judge(setting: Setting, cases: Cases) -> Judge:
    return Judge(setting, cases)


def _runs_here(name: str) -> bool:
    wanted = {"x86-64-v3": ("AVX2", "AVX512"), "znver4": ("AVX512",)}[name]
    return torch.backends.cpu.get_cpu_capability() in wanted
