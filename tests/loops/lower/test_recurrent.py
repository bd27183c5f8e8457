"""LSTM, GRU and RNN: the nests compute what torch computes."""

import numpy as np
import pytest
import torch

from loops.interpret import compute, context_of
from strop.loops.lower import CHECKS
from strop.loops.lower import recurrent as lower

KINDS = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}


def same(result, expected):
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-5, atol=1e-5)


def check(kind, time, batch, width, units, *, layers=1, bidirectional=False, batch_first=False, bias=True, **extra):
    if kind == "rnn":
        extra = {"nonlinearity": "tanh", **extra}
    module = KINDS[kind](width, units, layers, bias=bias, batch_first=batch_first, bidirectional=bidirectional, **extra)
    x = torch.randn((batch, time, width) if batch_first else (time, batch, width))
    directions = 2 if bidirectional else 1
    h = torch.randn(layers * directions, batch, units)
    state = (h, torch.randn(h.shape)) if kind == "lstm" else h
    with torch.no_grad():
        out, end = module(x, state)
    begins = list(state) if kind == "lstm" else [h]
    ends = list(end) if kind == "lstm" else [end]
    results = compute(
        kind,
        [x, *begins, *(w.detach() for w in module._flat_weights)],
        [("f32", r.shape) for r in (out, *ends)],
        layers=layers,
        bidirectional=bidirectional,
        batch_first=batch_first,
        has_bias=bias,
        **extra,
    )
    for result, expected in zip(results, (out, *ends), strict=True):
        same(result, expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(5, 2, 3, 4), (1, 1, 1, 1), (7, 1, 5, 3)])
def test_one_layer(kind, shape):
    check(kind, *shape)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bidirectional", [True, False])
def test_layers_directions_and_batch_first(kind, bidirectional):
    check(kind, 4, 3, 2, 5, layers=2, bidirectional=bidirectional, batch_first=True)
    check(kind, 3, 2, 4, 3, layers=3, bidirectional=bidirectional)


@pytest.mark.parametrize("kind", KINDS)
def test_without_bias(kind):
    check(kind, 3, 2, 4, 3, bias=False, bidirectional=True)


@pytest.mark.parametrize("nonlinearity", ["tanh", "relu"])
def test_nonlinearity_of_a_plain_rnn(nonlinearity):
    check("rnn", 4, 2, 3, 3, nonlinearity=nonlinearity)


def test_the_walk_through_time_is_one_sequential_nest():
    arrays = [np.zeros(s, np.float32) for s in ((9, 1, 3), (1, 1, 4), (1, 1, 4), (16, 3), (16, 4))]
    attrs = {"layers": 1, "bidirectional": False, "batch_first": False, "has_bias": False}
    types = [("f32", (9, 1, 4)), ("f32", (1, 1, 4)), ("f32", (1, 1, 4))]
    context = context_of("lstm", arrays, types, attrs)
    nests = {nest.name: nest for nest in lower.recurrent(context)}
    assert list(nests) == ["lstm.begin", "lstm.in0", "lstm.0", "lstm.end"]
    assert [loop.kind for loop in nests["lstm.0"].loops] == ["sequential"]


def test_projected_state_is_refused_with_a_reason():
    arrays = [np.zeros(s, np.float32) for s in ((9, 1, 3), (1, 1, 2), (1, 1, 4), (16, 3), (16, 2), (2, 4))]
    attrs = {"layers": 1, "bidirectional": False, "batch_first": False, "has_bias": False}
    types = [("f32", (9, 1, 2)), ("f32", (1, 1, 2)), ("f32", (1, 1, 4))]
    verdict = CHECKS["lstm"](context_of("lstm", arrays, types, attrs).node)
    assert not verdict and "projection" in verdict.why
