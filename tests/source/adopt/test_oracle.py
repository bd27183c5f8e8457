"""The oracle's recognisers on small modules: what is the computation, and what only looks like it."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from oracle_compare import Match, compare
from oracle_flow import Flow
from oracle_recognise import recognise
from oracle_record import record

HERE = Path(__file__).resolve()


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.c = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.weight, self.bias = nn.Parameter(torch.rand(8)), nn.Parameter(torch.rand(8))


class Attention(Layers):
    def forward(self, x):
        q, k, v = self.a(x), self.b(x), self.c(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(8)
        return functional.dropout(scores.softmax(-1), 0.1, self.training) @ v


class SoftCapped(Layers):
    def forward(self, x):
        scores = torch.matmul(self.a(x), self.b(x).mT) * 0.3
        return torch.matmul(torch.softmax(torch.tanh(scores / 5) * 5, dim=-1), x)


class Router(Layers):
    def forward(self, x):
        return torch.softmax(x @ self.a.weight, dim=-1) @ self.b.weight


class CrossAttention(Layers):
    def forward(self, x):
        other = x.flip(1)
        return torch.softmax(self.a(x) @ self.b(other).transpose(1, 2), -1) @ self.c(other)


class RMSNorm(Layers):
    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class LayerNorm(Layers):
    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * self.weight + self.bias


class UnbiasedNorm(Layers):
    def forward(self, x):
        return self.weight * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt()


class LibraryNorm(Layers):
    def forward(self, x):
        return functional.layer_norm(x, (8,), self.weight, self.bias)


class TanhGelu(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


class ErfGelu(nn.Module):
    def forward(self, x):
        return x * (1 + torch.erf(x / 2**0.5)) / 2


class AlmostGelu(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.05 * x**3)))


class Gated(Layers):
    def forward(self, x):
        return self.c(functional.silu(self.a(x)) * self.b(x))


class GatedByAnother(Layers):
    def forward(self, x):
        return self.c(functional.silu(self.a(x)) * self.b(x.flip(1)))


def turned(x):
    return torch.cat((-x[..., 4:], x[..., :4]), -1)


class Rotary(nn.Module):
    def forward(self, x):
        angle = torch.arange(x.shape[1])[:, None] * torch.tensor([1.0, 0.5, 0.2, 0.1]).repeat(2)
        return x * angle.cos() + turned(x) * angle.sin()


class NoRotation(nn.Module):
    def forward(self, x):
        angle = torch.arange(x.shape[1])[:, None] * torch.tensor([1.0, 0.5, 0.2, 0.1]).repeat(2)
        return x * angle.cos() + turned(x) * (2 * angle).sin()


class ConvNorm(nn.Module):
    def __init__(self, shared):
        super().__init__()
        self.conv, self.norm, self.shared = nn.Conv1d(5, 6, 3), nn.BatchNorm1d(6), shared

    def forward(self, x):
        y = self.conv(x)
        z = self.norm(y)
        return z + y if self.shared else z


def seen(model, training=False):
    found = recognise(Flow(record(model.train(training), {"x": torch.randn(2, 5, 8)}, HERE.parent)))
    return {(each.family, each.variant) for each in found}, found


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (Attention(), {("attention", "sdpa"), ("qkv", "three")}),
        (SoftCapped(), {("attention", "near:tanh")}),
        (Router(), set()),
        (CrossAttention(), {("attention", "sdpa"), ("qkv", "near:kv")}),
        (RMSNorm(), {("norm", "rms")}),
        (LayerNorm(), {("norm", "layer")}),
        (UnbiasedNorm(), set()),
        (LibraryNorm(), set()),
        (TanhGelu(), {("activation", "gelu_tanh")}),
        (ErfGelu(), {("activation", "gelu")}),
        (AlmostGelu(), set()),
        (Gated(), {("gated_mlp", "separate")}),
        (GatedByAnother(), set()),
        (Rotary(), {("rotary", "real")}),
        (NoRotation(), set()),
        (ConvNorm(shared=False), {("conv_bn", "conv1d")}),
        (ConvNorm(shared=True), set()),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_what_runs_is_recognised_by_its_values(model, expected):
    assert seen(model)[0] == expected
    assert seen(model, training=True)[0] == expected


def test_a_place_is_the_function_and_the_lines_of_its_operations():
    lines = HERE.read_text(encoding="utf-8").splitlines()
    (found,) = (each for each in seen(Attention())[1] if each.family == "attention")
    assert (found.place.file, found.place.function) == (HERE.name, "Attention.forward")
    assert "scores = q @ k" in lines[found.place.first - 1]
    assert "softmax(-1), 0.1" in lines[found.place.last - 1]


def test_a_helper_is_a_part_of_the_place():
    (found,) = seen(Rotary())[1]
    assert found.place.function == "Rotary.forward"
    assert {part.function for part in found.parts} == {"Rotary.forward", "turned"}


def test_in_place_operations_make_new_values():
    class InPlace(nn.Module):
        def forward(self, x):
            y = x * 1.702
            y.sigmoid_()
            y *= x
            return y

    assert seen(InPlace())[0] == {("activation", "quick_gelu")}


def observed(*places, lines=range(100)):
    fields = ("family", "variant", "file", "function", "first", "last")
    given = [dict(zip(fields, place, strict=True)) | {"model_type": "m", "ops": [], "parts": []} for place in places]
    return {"places": given, "lines": {"f.py": list(lines)}}


def match(family, first, last, fixable=True):
    lines = tuple(("f.py", line) for line in (first, last))
    return Match(family, "rule", "f.py", "C.forward", first, last, lines, "", fixable)


def test_matches_are_right_wrong_or_unknown_by_place():
    truth = observed(
        ("norm", "rms", "f.py", "C.forward", 3, 5), ("norm", "rms", "f.py", "D.forward", 50, 52), lines=range(60)
    )
    score = compare(truth, [match("norm", 4, 6), match("norm", 20, 22), match("norm", 70, 71)], {"f.py"})["norm"]
    assert (len(score.right), len(score.wrong), len(score.unknown)) == (1, 1, 1)
    assert (score.precision, score.recall) == (0.5, 0.5)
    assert [place.first for place in score.missed] == [50]


def test_something_close_to_a_family_may_be_reported_but_not_edited():
    truth = observed(("attention", "near:tanh", "f.py", "C.forward", 3, 5))
    score = compare(truth, [match("attention", 3, 5, fixable=False)], {"f.py"})["attention"]
    assert (len(score.variant), len(score.wrong), len(score.true)) == (1, 0, 0)
    assert len(compare(truth, [match("attention", 3, 5)], {"f.py"})["attention"].wrong) == 1


def test_places_in_files_that_were_not_scanned_do_not_count():
    truth = observed(("norm", "rms", "f.py", "C.forward", 3, 5))
    assert compare(truth, [], {"other.py"})["norm"].true == []
