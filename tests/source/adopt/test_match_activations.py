"""Activations and gated products: by their constants, in any order of factors."""

import pytest

from source.adopt.programs import function, names


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))", "gelu-written-out"),
        ("return 0.5 * (1 + torch.erf(x * 0.7071067811865475)) * x", "gelu-written-out"),
        ("h = x / 2\nreturn h * (torch.erf(x / 2**0.5) + 1)", "gelu-written-out"),
        (
            "return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))",
            "gelu-tanh-written-out",
        ),
        (
            "return 0.5 * x * (1.0 + torch.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x)))",
            "gelu-tanh-written-out",
        ),
        ("return x * torch.sigmoid(1.702 * x)", "quick-gelu-written-out"),
        ("return x * x.sigmoid()", "silu-written-out"),
        ("return torch.sigmoid(x).mul(x)", "silu-written-out"),
    ],
)
def test_activations(tmp_path, body, rule):
    assert names(tmp_path, function(body), "activation") == [rule]


@pytest.mark.parametrize(
    "body",
    [
        "return x * 0.5 * (1.0 + torch.erf(x))",
        "return x * (1.0 + torch.erf(x / math.sqrt(2.0)))",
        "return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.0447 * x**3 * x)))",
        "return x * torch.sigmoid(x + 1.0)",
        "y = x + 1\nreturn y * torch.sigmoid(x)",
        "return F.gelu(x)",
    ],
)
def test_what_only_looks_like_an_activation(tmp_path, body):
    assert names(tmp_path, function(body), "activation") == []


def test_a_constant_may_be_an_attribute(tmp_path):
    source = """
    class Gelu(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = math.sqrt(2 / math.pi)

        def forward(self, x):
            return 0.5 * x * (1 + torch.tanh(self.factor * (x + 0.044715 * torch.pow(x, 3))))
    """
    assert names(tmp_path, source, "activation") == ["gelu-tanh-written-out"]


MLP = """
ACTS = {{"relu": F.relu, "silu": F.silu}}

class Mlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate = nn.Linear(config.hidden, config.inner, bias=False)
        self.up = nn.Linear(config.hidden, config.inner, bias=False)
        self.both = nn.Linear(config.hidden, 2 * config.inner)
        self.down = nn.Linear(config.inner, config.hidden)
        self.act = {act}

    def forward(self, x, y):
        {body}
"""


@pytest.mark.parametrize(
    ("act", "body", "rule"),
    [
        ("ACTS[config.act]", "return self.down(self.act(self.gate(x)) * self.up(x))", "gated-activation"),
        ("nn.SiLU()", "return self.down(self.up(x) * self.act(self.gate(x)))", "swiglu"),
        ("F.gelu", "return self.down(self.act(self.gate(x)) * self.up(x))", "geglu"),
        ("None", "g, u = self.both(x).chunk(2, dim=-1)\n        return self.down(F.silu(g) * u)", "swiglu"),
        ("None", "g = self.gate(x)\n        return self.down(g * torch.sigmoid(g) * self.up(x))", "gated-mlp"),
    ],
)
def test_gated_mlp(tmp_path, act, body, rule):
    assert names(tmp_path, MLP.format(act=act, body=body), "gated_mlp") == [rule]


@pytest.mark.parametrize(
    "body",
    [
        "return self.down(F.silu(self.gate(x)) + self.up(x))",
        "return self.down(F.silu(self.gate(x)) * self.up(y))",
        "return self.down(F.silu(self.gate(x)) * x)",
        "return self.down(F.gelu(self.gate(x), approximate='tanh') * 2)",
    ],
    ids=["sum", "of different tensors", "not projected", "by a number"],
)
def test_what_is_no_gated_mlp(tmp_path, body):
    assert names(tmp_path, MLP.format(act="None", body=body), "gated_mlp") == []
