"""Variants of a program are timed step by step, and only those that compute the same."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.passes import Pass
from strop.driver import pipeline
from strop.frontend.torch.export import capture
from strop.loops.passes.primitives import Reset
from strop.runtime import measure
from strop.runtime.measure import ProgramVariants


@pytest.fixture(scope="module")
def variants():
    graph = capture(nn.Sequential(nn.Linear(40, 24), nn.GELU()).eval(), (torch.randn(6, 40),)).graph
    options = Options(threads=1)
    target = pipeline.target_for(options)
    stages = pipeline.run_stages(graph, target, options, Journal(), 1)
    return ProgramVariants(graph, stages, target, options)


def plain(variants: ProgramVariants) -> list[Pass]:
    """Every nest without its schedule: the same numbers, slowly."""
    return [Reset(call.name) for call in variants.stages.plan.steps]


def test_every_step_of_every_variant_is_timed_in_every_turn(variants):
    default, other = variants.step_times([plain(variants)], 5, lambda: False)
    assert default.nanoseconds.keys() == other.nanoseconds.keys() == {c.name for c in variants.stages.plan.steps}
    assert all(len(taken) == 5 for times in (default, other) for taken in times.nanoseconds.values())


def test_timing_stops_when_told(variants):
    default, _ = variants.step_times([plain(variants)], 50, lambda: True)
    assert all(len(taken) == 1 for taken in default.nanoseconds.values())
    assert len(variants.whole_ratios(plain(variants), 50, lambda: True)) == 1


def test_a_variant_that_computes_something_else_has_no_times(variants, monkeypatch):
    monkeypatch.setattr(measure, "_same", lambda wanted, got: wanted is got)
    _, other = variants.step_times([plain(variants)], 2, lambda: False)
    assert other.nanoseconds is None
    assert variants.whole_ratios(plain(variants), 2, lambda: False) == []
