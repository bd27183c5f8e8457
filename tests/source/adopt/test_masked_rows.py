"""Attention whose rows may be hidden completely: what is safe, what rests on an assumption, and what both give."""

import pytest
import torch

from source.adopt.programs import HEADER
from strop.source import adopt
from strop.source.adopt.names import QuickProject
from strop.source.facts import Scan
from strop.source.fix.fixing import fix

NO_ROW = "no row of scores is hidden completely"


@pytest.fixture
def look(tmp_path):
    def run(source):
        file = tmp_path / "model.py"
        file.write_text(HEADER + source)
        (found,) = [f for f in adopt.findings(QuickProject([str(file)], [str(file)])) if f.code == "STR701"]
        return found

    return run


def attend(steps, parameters="q, k, v, mask"):
    lines = "".join(f"    {step}\n" for step in steps)
    return (
        f"def f({parameters}):\n    s = q @ k.transpose(-2, -1) * 0.3\n{lines}    return torch.softmax(s, dim=-1) @ v\n"
    )


@pytest.mark.parametrize(
    "steps",
    [
        [],
        ["s = s.masked_fill(torch.triu(torch.ones(5, 5, dtype=torch.bool), diagonal=1), float('-inf'))"],
        ["n = q.size(-2)", "s = s.masked_fill(torch.tril(torch.ones(n, n)) == 0, float('-inf'))"],
        ["s = s + (mask > 0).float() * -10000.0"],
    ],
    ids=["no mask", "upper triangle", "lower triangle", "finite numbers added"],
)
def test_rows_that_show_something_are_safe(look, steps):
    found = look(attend(steps))
    assert found.fixable and found.safety == "safe" and not found.assumptions


@pytest.mark.parametrize(
    "steps",
    [
        ["s = s + mask"],
        ["s = s.masked_fill(mask, float('-inf'))"],
        ["s = s.masked_fill(mask == 0, -1e9)"],
        ["s = torch.where(mask, s, -1e9)"],
        ["s = s.masked_fill(torch.tril(torch.ones(4, 5)) == 0, float('-inf'))"],
        ["s = s.masked_fill(torch.tril(torch.ones(5, 5)) != 0, float('-inf'))"],
        ["s = s.masked_fill(torch.triu(torch.ones(5, 5), diagonal=0) == 1, float('-inf'))"],
    ],
)
def test_rows_that_may_be_hidden_rest_on_an_assumption(look, steps):
    found = look(attend(steps))
    assert found.fixable and found.safety == "safe-if" and found.assumptions == (NO_ROW,)


CAUSAL = """class Attention(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("bias", torch.tril(torch.ones(n, n)).view(1, 1, n, n))

    def forward(self, q, k, v):
        t = q.size(2)
        s = q @ k.transpose(-2, -1) * 0.3
        s = s.masked_fill(self.bias[:, :, :{rows}, :t] == 0, float("-inf"))
        return F.softmax(s, dim=-1) @ v
"""


def test_a_buffer_that_is_a_triangle_is_safe_when_it_is_cut_alike(look):
    assert look(CAUSAL.format(rows="t")).safety == "safe"
    assert look(CAUSAL.format(rows="s")).assumptions == (NO_ROW,)


@pytest.mark.parametrize(
    ("body", "parameters", "safety"),
    [
        ("return torch.softmax(q @ k.mT, dim=3) @ v", "q, k, v", "safe-if"),
        ("q = q.view(2, 3, 5, 8)\n    return torch.softmax(q @ k.mT, dim=3) @ v", "q, k, v", "safe"),
        ("return torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)), dim=2), v)", "q, k, v", "safe"),
    ],
)
def test_a_dimension_that_is_counted_from_the_front_is_last_if_the_rank_is_known(look, body, parameters, safety):
    assert look(f"def f({parameters}):\n    {body}\n").safety == safety


def test_a_softmax_over_queries_is_no_attention(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(HEADER + "def f(q, k, v):\n    q = q.view(2, 3, 5, 8)\n    return (q @ k.mT).softmax(2) @ v\n")
    assert not [f for f in adopt.findings(QuickProject([str(file)], [str(file)])) if f.code == "STR701"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1.0, 1e5])
@pytest.mark.parametrize(
    "steps",
    [
        ["s = s + mask.float() * -10000.0"],
        ["s = s + torch.zeros(5, 5).masked_fill(mask, -1e9)"],
        ["s = s.masked_fill(mask, -1e9)"],
        ["s = torch.where(mask, torch.finfo(s.dtype).min, s)"],
    ],
    ids=["added", "added from a fill", "filled", "limit of the dtype"],
)
def test_hidden_rows_give_the_same_values_with_finite_numbers(tmp_path, steps, size, dtype):
    """Forward, also where a row is hidden completely: the edit keeps what is added, and hides all of it alike."""
    file = tmp_path / "model.py"
    file.write_text(HEADER + attend(steps))
    done = fix(lambda: Scan(findings=adopt.findings(QuickProject([str(file)], [str(file)]))), unsafe=True)
    assert "scaled_dot_product_attention" in done.plan.after[str(file)]
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 3, 5, 8, dtype=dtype) for _ in range(3))
    mask = torch.rand(2, 1, 5, 5) < 0.4
    mask[0, 0, 2] = True
    results = []
    for text in (file.read_text(), done.plan.after[str(file)]):
        names = {}
        exec(text, names)
        results.append(names["f"](q * size, k, v, mask))
    torch.testing.assert_close(*results)
