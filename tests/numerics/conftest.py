"""What the judges of accuracy run on: which numerics, for which CPUs, on how many threads."""

from __future__ import annotations

import pytest
import torch

from numerics.cases import Cases
from numerics.judge import Judge, Setting

#: descriptions of CPUs whose code can run here; None: of this machine
TARGETS = (None, "x86-64-v3")
NUMERICS = ("default", "exact")


@pytest.fixture(params=TARGETS, ids=lambda name: name or "host", scope="session")
def target(request: pytest.FixtureRequest) -> str | None:
    name: str | None = request.param
    if name is not None and not _runs_here(name):
        pytest.skip(f"this CPU does not run code for {name}")
    return name


@pytest.fixture(params=NUMERICS, scope="session")
def numerics(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def judge(target: str | None, numerics: str, pytestconfig: pytest.Config) -> Judge:
    found = pytestconfig.pluginmanager.get_plugin("numerics")
    assert isinstance(found, Cases)
    return Judge(Setting(numerics, target), found)


def _runs_here(name: str) -> bool:
    wanted = {"x86-64-v3": ("AVX2", "AVX512"), "znver4": ("AVX512",)}[name]
    return torch.backends.cpu.get_cpu_capability() in wanted
