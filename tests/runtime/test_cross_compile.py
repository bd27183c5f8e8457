"""Models for machines that are not at hand: planned and estimated, never run."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import strop
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.runtime.cross_compile import cross_compile, is_foreign
from strop.target import host
from strop.target.description import TARGETS, Target


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 24, 3, stride=2), nn.Flatten(),
                         nn.Linear(24 * 7 * 7, 19)).eval()  # fmt: skip


def test_code_for_another_family_is_not_run(model):
    other = "neoverse-n1" if Target.find("x86-64").triple.split("-")[0] == host_family() else "x86-64-v3"
    with pytest.raises(Problem, match="does not run on this machine"):
        strop.compile(model, (torch.randn(1, 3, 16, 16),), target=other, cache=False)


def test_a_shipped_description_of_the_cpu_at_hand_is_not_foreign():
    here = host.described_host()
    own = [name for name, target in TARGETS.items() if target.runs_on(here)]
    assert own and not any(is_foreign(Options(target=name)) for name in own)


def host_family() -> str:
    return host.described_host().triple.split("-")[0]


@pytest.mark.parametrize("name", ["znver3", "skylake-avx512", "neoverse-v1"])
def test_a_model_is_estimated_for_a_machine_that_is_not_at_hand(model, name):
    options = Options(target=name, threads=1, cache=False)
    found = cross_compile(model, (torch.randn(1, 3, 16, 16),), None, options, Journal())
    assert is_foreign(options) == (not Target.find(name).runs_on(host.described_host()))
    assert found.milliseconds > 0
    assert "nothing was run" in found.summary()["target"]
    assert "held by" in found.explain()
    faster = cross_compile(model, (torch.randn(1, 3, 16, 16),), None, options, Journal())
    assert faster.milliseconds == found.milliseconds
