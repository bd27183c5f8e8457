"""From matches to edits: what is written, what is removed, what is kept, what is refused."""

import ast
import textwrap
from functools import partial

import pytest

from strop.source import adopt
from strop.source.adopt.names import QuickProject
from strop.source.facts import Scan
from strop.source.fix.fixing import fix

HEAD = "import math\n\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n"


@pytest.fixture
def fixed(tmp_path):
    """The text after all safe edits (or also those that rest on assumptions), and the messages of what was left."""

    def run(body, head=HEAD, unsafe=False, strop=True):
        file = tmp_path / "model.py"
        file.write_text(head + textwrap.dedent(body))
        look = lambda: Scan(findings=adopt.findings(QuickProject([str(file)], [str(file)]), strop=strop))  # noqa: E731
        done = fix(look, unsafe=unsafe)
        text = done.plan.after.get(str(file), file.read_text())
        ast.parse(text)
        return text.removeprefix(head), [finding.message for finding in done.left.findings]

    return run


def test_a_written_out_norm_becomes_one_call(fixed):
    text, _ = fixed("""
        class Norm(nn.Module):
            def __init__(self, size, eps=1e-6):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(size))
                self.eps = eps

            def forward(self, hidden_states):
                input_dtype = hidden_states.dtype
                hidden_states = hidden_states.to(torch.float32)
                variance = hidden_states.pow(2).mean(-1, keepdim=True)
                hidden_states = hidden_states * torch.rsqrt(variance + self.eps)
                return self.weight * hidden_states.to(input_dtype)
    """)
    assert "        return strop.kernels.rms_norm(hidden_states, self.weight, self.eps)\n" in text
    assert "variance" not in text and "input_dtype" not in text and text.count("import strop.kernels") == 1


def test_comments_of_what_goes_are_kept(fixed):
    text, _ = fixed("""
        def gelu(x):
            # the exact form
            inner = x / math.sqrt(2.0)  # √2
            return x * 0.5 * (
                1.0  # one
                + torch.erf(inner)
            )
    """)
    assert "torch.nn.functional.gelu(x)" in text or "F.gelu(x)" in text
    for comment in ("# the exact form", "# √2", "# one"):
        assert comment in text


def test_a_value_that_is_read_elsewhere_stays(fixed):
    text, _ = fixed("""
        def act(x):
            s = torch.sigmoid(x)
            return x * s, s
    """)
    assert "s = torch.sigmoid(x)" in text and "silu" not in text


def test_a_shape_that_is_asked_for_keeps_its_tensor(fixed):
    text, messages = fixed("""
        def attend(q, k, v):
            scores = q @ k.transpose(-2, -1)
            n = scores.size(-1)
            return torch.softmax(scores / math.sqrt(n), dim=-1) @ v
    """)
    assert "scores = q @ k" in text and any("not edited" in message for message in messages)


def test_names_that_were_bound_again_are_not_confused(fixed):
    text, _ = fixed("""
        def act(x, y):
            s = x * torch.sigmoid(x)
            x = y + 1
            return s, x
    """)
    assert "silu(x)" in text and text.index("silu(x)") < text.index("x = y + 1")
    text, _ = fixed("""
        def act(x, y):
            s = torch.sigmoid(x)
            old = x
            x = y + 1
            return old * s, x
    """)
    assert "silu(x)" not in text.split("x = y + 1")[-1]


def test_attention_with_a_mask_that_may_be_missing(fixed):
    text, _ = fixed(
        """
        class Attention(nn.Module):
            def __init__(self, p):
                super().__init__()
                self.drop = nn.Dropout(p)
                self.scale = 0.125

            def forward(self, q, k, v, mask=None):
                scores = torch.matmul(q, k.transpose(-1, -2)) * self.scale
                if mask is not None:
                    scores = scores + mask
                weights = F.softmax(scores, dim=-1)
                weights = self.drop(weights)
                return torch.matmul(weights, v)
    """,
        unsafe=True,
    )
    assert "attn_mask=mask" in text and "scale=self.scale" in text and "if mask is not None" not in text
    assert "dropout_p=self.drop.p if self.drop.training else 0.0" in text


def test_weights_that_are_returned_forbid_the_edit(fixed):
    text, messages = fixed("""
        def attend(q, k, v):
            weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
            return weights @ v, weights
    """)
    assert "scaled_dot_product" not in text and any("returned" in message for message in messages)


def test_work_in_place_on_an_argument_is_left_alone(fixed):
    text, _ = fixed("""
        def act(x):
            return x.mul_(torch.sigmoid(x))
    """)
    assert "x.mul_(torch.sigmoid(x))" in text


def test_an_optimizer_gets_an_argument_and_nothing_else_changes(fixed):
    text, _ = fixed("""
        def make(model):
            groups = [{"params": model.parameters()}]
            return torch.optim.AdamW(
                groups,
                lr=1e-3,  # small
            )
    """, strop=False)  # fmt: skip
    assert "fused=True" in text and "groups = [" in text and "# small" in text and "lr=1e-3" in text


def test_a_second_run_changes_nothing(fixed, tmp_path):
    body = """
        class Mlp(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.up, self.gate = nn.Linear(d, d), nn.Linear(d, d)

            def forward(self, x):
                y = self.gate(x)
                return 0.5 * y * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (y + 0.044715 * torch.pow(y, 3.0))))
    """
    once, _ = fixed(body)
    again, _ = fixed(once, head="")
    assert again == once and "kernels.gelu" in once


def test_line_ends_and_tabs_are_kept(tmp_path):
    file = tmp_path / "model.py"
    file.write_bytes(b"import torch\r\n\r\n\r\ndef act(x):\r\n\ts = torch.sigmoid(x)\r\n\treturn x * s\r\n")
    done = fix(lambda: Scan(findings=adopt.findings(QuickProject([str(file)], [str(file)]), strop=True)), unsafe=False)
    done.plan.write()
    data = file.read_bytes()
    assert b"\treturn torch.nn.functional.silu(x)\r\n" in data and b"\n" not in data.replace(b"\r\n", b"")


def test_what_where_keeps_is_not_hidden(fixed):
    text, _ = fixed(
        """
        def attend(q, k, v, keep):
            scores = torch.where(keep, q @ k.transpose(-2, -1), -1e9)
            return torch.softmax(scores, dim=-1) @ v
    """,
        unsafe=True,
    )
    assert "attn_mask=torch.where(keep, torch.zeros((), dtype=q.dtype), torch.finfo(q.dtype).min)" in text


def test_a_buffer_that_holds_one_number_hides_scores(fixed):
    text, _ = fixed(
        """
        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("low", torch.tensor(-1e9))

            def forward(self, q, k, v, keep):
                scores = torch.matmul(q.to(torch.float32), k.to(torch.float32).transpose(-1, -2))
                scores = torch.where(keep, scores, self.low.to(scores.dtype))
                weights = torch.softmax(scores, dim=-1).to(v.dtype)
                return torch.matmul(weights, v)
    """,
        unsafe=True,
    )
    assert "torch.where(keep, torch.zeros((), dtype=q.dtype), torch.finfo(q.dtype).min)" in text


CONVOLUTION = """
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 8, 3)
            self.norm = nn.BatchNorm2d(8)
            self.both = nn.Sequential(nn.Conv2d(8, 8, 1), nn.BatchNorm2d(8), nn.ReLU())

        def forward(self, x):
            x = self.conv(x)
            return self.both(self.norm(x))
"""


def test_batch_norm_is_folded_where_both_layers_are_called_by_name(fixed):
    text, left = fixed(CONVOLUTION)
    assert "self.both(strop.kernels.folded_norm(self.conv, self.norm, x))" in text and "self.conv(x)" not in text
    assert any("called together with other layers" in message for message in left)


def test_no_grad_is_replaced_as_a_decorator_where_nothing_is_kept(tmp_path):
    file = tmp_path / "run.py"
    file.write_text(
        "import torch\n\n\n@torch.no_grad()\ndef score(model, x):\n    return model(x).sum().item()\n\n\n"
        "@torch.no_grad()\ndef reset(model):\n    model.weight.normal_()\n"
    )
    look = partial(adopt.findings, asked=["STR778"])
    done = fix(lambda: Scan(findings=look(QuickProject([str(file)], [str(file)]))), unsafe=True)
    assert "@torch.inference_mode()\ndef score" in done.plan.after[str(file)]
    assert "@torch.no_grad()\ndef reset" in done.plan.after[str(file)]
    assert any("works in place" in finding.message for finding in done.left.findings)


def test_an_einsum_keeps_the_views_that_it_takes_of_its_operands(fixed):
    text, _ = fixed("""
        def attend(q, k, v, h):
            w = torch.einsum("bct,bcs->bts", q.view(h, 4, -1), k.view(h, 4, -1))
            return torch.einsum("bts,bsc->btc", torch.softmax(w, -1), v.view(h, -1, 4))
    """)
    assert "q.view(h, 4, -1).transpose(-2, -1)" in text and "k.view(h, 4, -1).transpose(-2, -1)" in text


def test_an_einsum_that_permutes_its_result_is_kept(fixed):
    text, left = fixed("""
        def attend(q, k, v):
            w = torch.softmax(torch.einsum("bct,bcs->bts", q, k), -1)
            return torch.einsum("bts,bcs->bct", w, v)
    """)
    assert text.count("torch.einsum") == 2 and any("permutes its result" in message for message in left)


@pytest.mark.parametrize("made", ["def __init__(self):\n        super().__init__()\n        self.p = 0.2", "p = 0.2"])
def test_a_rate_that_is_an_attribute_stays_one(fixed, made):
    text, _ = fixed(f"""
class Attention(nn.Module):
    {made}

    def forward(self, q, k, v):
        weights = (q @ k.transpose(-2, -1)).softmax(-1)
        return F.dropout(weights, self.p, self.training) @ v
""")
    assert "dropout_p=self.p if self.training else 0.0" in text
