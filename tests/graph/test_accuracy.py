"""Which values must be accurate element by element: decided by what they flow into."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from graph.tracing import traced
from strop.core.journal import Journal
from strop.core.options import Options
from strop.graph.accuracy import ABSORB, ASK, LINEAR, PASS, Need, needs
from strop.graph.operators import ALL, COMPARE
from strop.schedule.algorithms import choose_algorithms
from strop.target.description import Target

LEAVES = {"input", "param", "constant", "full", "arange"}
BY_OPERAND = {*COMPARE, "div", "pow", "copysign", "attention", "attention_forward", "aten"}
WHOLE_NUMBERS = {"not", "and", "or", "xor", "shl", "shr", "any", "all"}


def conv(x, w):
    return F.conv2d(x, w, padding=1)


def need_of_conv(function) -> Need | None:
    graph = traced(function, torch.rand(1, 16, 8, 8) + 0.1, w=torch.rand(16, 16, 3, 3))
    node = next(node for node in graph.nodes if node.op == "conv")
    return needs(graph).get(node)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: torch.log(conv(x, w) + 1e-6),
        lambda x, w: torch.log(F.relu(conv(x, w)) + 1e-6),
        lambda x, w: (conv(x, w) ** 2).cumsum(1).clamp_min(1e-6).log(),
        lambda x, w: x / conv(x, w),
        lambda x, w: F.max_pool2d(conv(x, w), 2).rsqrt(),
        lambda x, w: conv(x, w).abs() ** 0.3,
        lambda x, w: torch.where(conv(x, w) > 0, x, -x),
        lambda x, w: torch.atan2(conv(x, w), x),
        lambda x, w: torch.fft.rfft(conv(x, w)).abs(),
    ],
    ids=["log", "behind relu", "power", "divisor", "rsqrt", "root", "threshold at zero", "angle", "unknown library"],
)
def test_what_depends_on_small_elements_asks_for_them(function):
    need = need_of_conv(function)
    assert need is not None and not need.handed_out and "depends on small elements" in need.why


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: torch.log(torch.sigmoid(conv(x, w))),
        lambda x, w: torch.log_softmax(conv(x, w).flatten(1), -1),
        lambda x, w: torch.log(torch.softmax(conv(x, w), 1)),
        lambda x, w: F.layer_norm(conv(x, w), (8, 8)).abs().sqrt(),
        lambda x, w: torch.exp(conv(x, w) * 0.01).reciprocal(),
        lambda x, w: F.normalize(F.relu(conv(x, w)).mean((2, 3)), dim=1),
        lambda x, w: torch.where(conv(x, w) > 0.5, 1.0, 2.0),
        lambda x, w: F.relu(conv(x, w)),
        lambda x, w: F.gelu(conv(x, w)) + x,
    ],
    ids=["sigmoid", "log_softmax", "softmax", "norm", "exp", "l2 norm", "threshold away from zero", "relu", "gelu"],
)
def test_norms_and_saturating_activations_absorb_an_absolute_error(function):
    assert need_of_conv(function) is None


def test_what_the_caller_gets_as_it_is_must_be_accurate_element_by_element():
    for function in (conv, lambda x, w: (conv(x, w) * 2 + x).flatten(1), lambda x, w: conv(x, w) / (1 + x.abs())):
        need = need_of_conv(function)
        assert need is not None and need.handed_out


def test_an_earlier_convolution_is_asked_through_a_later_one():
    graph = traced(
        lambda x, w, v: torch.log(conv(F.relu(conv(x, w)), v) + 1e-6),
        torch.rand(1, 16, 8, 8),
        w=torch.rand(16, 16, 3, 3),
        v=torch.rand(16, 16, 3, 3),
    )
    asked = needs(graph)
    assert all(node in asked for node in graph.nodes if node.op == "conv")


def test_every_operator_is_classified():
    known = ASK | ABSORB | PASS | LEAVES | BY_OPERAND | WHOLE_NUMBERS
    assert known == ALL
    assert not ASK & ABSORB and not ASK & PASS and not ABSORB & PASS and LINEAR <= PASS


@pytest.mark.parametrize("target", ["znver3", "znver4", "neoverse-n1"])
def test_by_default_a_convolution_is_direct_where_small_elements_matter_and_the_journal_says_why(target):
    x, w = torch.rand(1, 64, 56, 56), torch.rand(64, 64, 3, 3)
    for function, refused in ((lambda x, w: torch.log(conv(x, w)), True), (lambda x, w: conv(x, w).relu(), False)):
        graph, journal = traced(function, x, w=w), Journal()
        chosen = choose_algorithms(graph, Target.find(target), 1, Options(), journal)
        assert bool(chosen) is not refused
        reasons = [event.message for event in journal.events if event.kind == "refusal"]
        assert bool(reasons) is refused and all("`log`" in reason for reason in reasons)
        assert choose_algorithms(graph, Target.find(target), 1, Options(numerics="fast"))
        assert not choose_algorithms(graph, Target.find(target), 1, Options(numerics="exact"))
