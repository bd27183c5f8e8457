"""Norms: in every spelling, and not what only looks like one."""

import pytest

from source.adopt.programs import function, matches, names

RMS = "rms-norm-written-out"
NORM = """
class Norm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d))
        self.eps = eps

    def forward(self, x):
        {}
"""


def of_class(body):
    return NORM.format(body.replace("\n", "\n        "))


@pytest.mark.parametrize(
    "body",
    [
        "return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))",
        "return x * torch.rsqrt((x * x).mean(dim=-1, keepdim=True) + self.eps) * self.weight",
        "return x / torch.sqrt(torch.mean(x**2, dim=-1, keepdim=True) + self.eps) * self.weight",
        "v = torch.square(x).mean((-1,), keepdim=True)\nx = x * (v + self.eps) ** -0.5\nreturn self.weight * x",
        "h = x.to(torch.float32)\nv = h.pow(2).mean(-1, keepdim=True)\nh = h * torch.rsqrt(v + self.eps)\n"
        "return self.weight * h.to(x.dtype)",
        "x *= torch.rsqrt(x.pow(2).mean(-1, keepdim=True).add(self.eps))\nx.mul_(self.weight)\nreturn x",
        "return x * (self.weight * (x.pow(2).mean(-1, True) + self.eps).sqrt().reciprocal())",
    ],
)
def test_rms_norm(tmp_path, body):
    assert names(tmp_path, of_class(body), "norm") == [RMS]


@pytest.mark.parametrize(
    "body",
    [
        "return self.weight * (x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + self.eps))",
        "return self.weight * (x / (torch.sqrt(x.pow(2).mean(-1, keepdim=True)) + self.eps))",
        "return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1) + self.eps))",
        "return self.weight * (x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + self.eps))",
        "return self.weight * (x * torch.rsqrt(self.bias.pow(2).mean(-1, keepdim=True) + self.eps))",
        "return self.weight * (x * torch.rsqrt(x.pow(3).mean(-1, keepdim=True) + self.eps))",
    ],
    ids=["other dimension", "eps outside", "no keepdim", "sum", "of another value", "cube"],
)
def test_what_only_looks_like_rms_norm(tmp_path, body):
    assert names(tmp_path, of_class(body), "norm") == []


def test_one_plus_weight_is_another_norm(tmp_path):
    body = "return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * (1.0 + self.weight.float())"
    assert names(tmp_path, of_class(body), "norm") == ["rms-norm-one-plus-weight"]


def test_a_helper_method_is_followed_and_the_caller_reported(tmp_path):
    source = (
        NORM.format("return self._norm(x.float()) * self.weight")
        + "\n    def _norm(self, y):\n        return y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps)\n"
    )
    (match,) = matches(tmp_path, source, family="norm")
    assert match.rule.name == RMS
    assert match.code.name == "Norm.forward"
    assert {node.code.name for node in match.nodes} == {"Norm.forward", "Norm._norm"}


@pytest.mark.parametrize(
    "body",
    [
        "u = x.mean(-1, keepdim=True)\ns = (x - u).pow(2).mean(-1, keepdim=True)\n"
        "return self.weight * ((x - u) / torch.sqrt(s + self.eps)) + self.bias",
        "c = x - x.mean(-1, keepdim=True)\nreturn c * torch.rsqrt(x.var(-1, keepdim=True, unbiased=False) + self.eps)"
        " * self.weight + self.bias",
    ],
)
def test_layer_norm(tmp_path, body):
    assert names(tmp_path, of_class(body), "norm") == ["layer-norm-written-out"]


@pytest.mark.parametrize(
    "body",
    [
        "c = x - x.mean(-1, keepdim=True)\nreturn c * torch.rsqrt(x.var(-1, keepdim=True) + self.eps) * self.weight + self.bias",
        "c = x - x.mean(-1, keepdim=True)\nreturn c / (x.std(-1, keepdim=True, unbiased=False) + self.eps) * self.weight",
    ],
    ids=["unbiased variance", "eps outside"],
)
def test_what_only_looks_like_layer_norm(tmp_path, body):
    assert names(tmp_path, of_class(body), "norm") == []


def test_layer_norm_over_channels(tmp_path):
    body = (
        "u = x.mean(1, keepdim=True)\ns = (x - u).pow(2).mean(1, keepdim=True)\n"
        "x = (x - u) / torch.sqrt(s + self.eps)\n"
        "return self.weight[:, None, None] * x + self.bias[:, None, None]"
    )
    assert names(tmp_path, of_class(body), "norm") == ["layer-norm-over-channels"]


def test_a_library_norm_is_no_finding(tmp_path):
    assert names(tmp_path, function("return F.layer_norm(x, (x.shape[-1],))"), "norm") == []
