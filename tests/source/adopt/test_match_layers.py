"""Rotations, projections, convolutions with batch norm, losses, optimizers: the rest of the rules."""

import pytest

from source.adopt.programs import function, matches, names


@pytest.mark.parametrize(
    ("rotate", "rule"),
    [
        (
            "x1 = x[..., : x.shape[-1] // 2]\nx2 = x[..., x.shape[-1] // 2 :]\nreturn torch.cat((-x2, x1), dim=-1)",
            "rotary-embedding",
        ),
        ("x1, x2 = x.chunk(2, dim=-1)\nreturn torch.cat((-x2, x1), dim=-1)", "rotary-embedding"),
        ("return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)", "rotary-embedding-of-neighbours"),
    ],
)
def test_rotary(tmp_path, rotate, rule):
    helper = "def rotate(x):\n    " + rotate.replace("\n", "\n    ") + "\n\n"
    source = helper + function("return (x * cos) + (rotate(x) * sin)", "x, cos, sin")
    (match,) = matches(tmp_path, source, family="rotary")
    assert match.rule.name == rule and match.code.name == "f"


def test_complex_rotary(tmp_path):
    body = "z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))\nreturn torch.view_as_real(z * freqs).flatten(3)"
    assert names(tmp_path, function(body, "x, freqs"), "rotary") == ["rotary-embedding-of-pairs"]


def test_a_sum_of_products_is_no_rotation(tmp_path):
    body = "return x * cos + torch.cat((x[..., 4:], x[..., :4]), dim=-1) * sin"
    assert names(tmp_path, function(body, "x, cos, sin"), "rotary") == []


ATTENTION = """
class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q = nn.Linear(d, d)
        self.k = nn.Linear(d, d)
        self.v = nn.Linear(d, d)
        self.o = nn.Linear(d, d)

    def forward(self, x, y=None):
        {}
        return self.o(F.scaled_dot_product_attention(q, k, v))
"""


def test_projections(tmp_path):
    source = ATTENTION.format("q, k, v = self.q(x), self.k(x), self.v(x)")
    (match,) = matches(tmp_path, source, family="qkv")
    assert set(match.definitions) >= {"q", "k", "v"} and match.fixable


def test_projections_that_share_their_input_in_one_branch(tmp_path):
    source = ATTENTION.format("s = x if y is None else y\n        q, k, v = self.q(x), self.k(s), self.v(s)")
    (match,) = matches(tmp_path, source, family="qkv")
    assert not match.fixable and "one branch only" in match.refusals[0].reason


@pytest.mark.parametrize(
    "body",
    ["q, k, v = self.q(x), self.k(y), self.v(y)", "q, k, v = self.q(x), self.q(x), self.v(x)"],
    ids=["another input", "the same layer"],
)
def test_projections_of_other_things(tmp_path, body):
    assert names(tmp_path, ATTENTION.format(body), "qkv") == []


def test_projections_in_different_branches(tmp_path):
    body = (
        "if y is None:\n            q = k = v = self.q(x) + self.k(x)\n        else:\n            q = k = v = self.v(x)"
    )
    assert names(tmp_path, ATTENTION.format(body), "qkv") == []


@pytest.mark.parametrize(
    ("elsewhere", "why"),
    [
        ("    def tie(self, other):\n        self.q.weight = other\n", "`Attention`"),
        ("\ndef _init_weights(module):\n    module.q.weight.data.normal_()\n", "`module.q`"),
        ("\nPLAN = {'layers.*.q': 'colwise'}\n", "layers.*.q"),
        ("\nclass Other(Attention):\n    def extra(self, x):\n        return self.q(x)\n", "`Other`"),
        ("\ndef watch(m):\n    m.register_forward_hook(print)\n", "hooks"),
    ],
)
def test_a_layer_that_is_used_elsewhere_stays(tmp_path, elsewhere, why):
    source = ATTENTION.format("q, k, v = self.q(x), self.k(x), self.v(x)") + elsewhere
    (match,) = [m for m in matches(tmp_path, source, family="qkv") if m.code.name == "Attention.forward"]
    assert not match.fixable
    assert any(why in refusal.reason for refusal in match.refusals), match.refusals


NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.block = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())

    def forward(self, x):
        return {}
"""


@pytest.mark.parametrize("body", ["self.norm(self.conv(x))", "self.block(x)", "F.relu(self.norm(self.conv(x)))"])
def test_conv_and_batch_norm(tmp_path, body):
    assert names(tmp_path, NET.format(body), "conv_bn") == ["conv-batch-norm"]


@pytest.mark.parametrize("body", ["self.norm(F.relu(self.conv(x)))", "self.conv(self.norm(x))"])
def test_conv_and_batch_norm_apart(tmp_path, body):
    assert names(tmp_path, NET.format(body), "conv_bn") == []


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (
            "e = torch.exp(x - x.max(dim=-1, keepdim=True)[0])\nreturn e / e.sum(-1, keepdim=True)",
            "softmax-written-out",
        ),
        ("return torch.log(torch.softmax(x, dim=1))", "log-of-softmax"),
        ("return F.nll_loss(F.log_softmax(x, dim=-1), y)", "cross-entropy-in-two-steps"),
        ("return -F.log_softmax(x, -1).gather(-1, y).mean()", "cross-entropy-by-gather"),
        ("return torch.optim.AdamW(x, lr=0.1)", "strop-optimizer"),
        ("return torch.optim.Adagrad(x, lr=0.1)", "fused-optimizer"),
        ("return torch.optim.Adam(x, foreach=False)", "optimizer-without-foreach"),
        ("for p in x.parameters():\n    p.data -= 0.1 * p.grad", "update-tensor-by-tensor"),
        ("with torch.no_grad():\n    return x(y)", "no-grad-as-inference-mode"),
        ("return torch.utils.data.DataLoader(x, batch_size=4)", "data-loader-in-the-main-process"),
        ("return torch.einsum('bij,bjk->bik', x, y)", "einsum-as-matmul"),
        (
            "x = x.permute(0, 2, 3, 1).contiguous()\nreturn x.permute(0, 3, 1, 2).contiguous()",
            "permute-contiguous-twice",
        ),
    ],
)
def test_rules_at_call_sites(tmp_path, body, rule):
    assert rule in names(tmp_path, function(body, "x, y"))


@pytest.mark.parametrize(
    "body",
    [
        "return torch.optim.AdamW(x, lr=0.1, fused=True)",
        "return torch.optim.LBFGS(x)",
        "return torch.utils.data.DataLoader(x, num_workers=4)",
        "return torch.einsum('bij,bkj->bki', x, y)",
        "return F.nll_loss(F.log_softmax(x, dim=0), y)",
        "return x.permute(0, 2, 3, 1).contiguous().permute(0, 2, 3, 1).contiguous()",
    ],
)
def test_what_is_fine_already(tmp_path, body):
    assert names(tmp_path, function(body, "x, y")) == []


def test_cuda_kernels_only_for_cuda(tmp_path):
    source = function("return torch.softmax(q @ k.transpose(-2, -1), -1) @ v", "q, k, v")
    assert [m.rule.code for m in matches(tmp_path, source, family="attention")] == ["STR701"]
    assert [m.rule.code for m in matches(tmp_path, source, family="attention", target="cuda")] == ["STR703"]


CROSS = """
class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q = nn.Linear(d, d)
        self.k = nn.Linear(d, d)
        self.v = nn.Linear(d, d)

    def forward(self, x, other=None):
        source = x if other is None else other
        return self.q(x), self.k(source), self.v(source)


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attention = Attention(d)

    def forward(self, x, memory=None):
        return self.attention(x, other=memory)


class Stack(nn.Module):
    def __init__(self, d):
        super().__init__()
        layers = []
        for _ in range(2):
            layers.append(Layer(d))
        self.layers = nn.ModuleList(layers)

    def forward(self, x, memory=None):
        for layer in self.layers:
            x = layer(x, CALL)
        return x
"""


@pytest.mark.parametrize(("call", "found"), [("None", ["separate-projections"]), ("memory", []), ("x * 2", [])])
def test_projections_are_of_one_input_unless_a_caller_gives_another(tmp_path, call, found):
    assert names(tmp_path, CROSS.replace("CALL", call), "qkv") == found


def test_a_shifted_projection_is_no_gated_mlp(tmp_path):
    body = "gate, up = x.chunk(2, dim=-1)\nreturn (up + SHIFT) * F.silu(gate)"
    assert names(tmp_path, function(body.replace("SHIFT", "bias"), "x, bias"), "gated_mlp") == ["swiglu"]
    assert names(tmp_path, function(body.replace("SHIFT", "1"), "x, bias"), "gated_mlp") == []


def test_angles_repeated_by_halves_turn_no_pairs(tmp_path):
    body = (
        "cos = cos.repeat(1, 1, 1, 2)\nturned = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)\n"
        "return x * cos + turned * sin"
    )
    assert names(tmp_path, function(body, "x, cos, sin"), "rotary") == []
