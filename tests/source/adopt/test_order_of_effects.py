"""Nothing is moved past a write: in-place changes, assignments inside expressions."""

import textwrap

import pytest

from strop.source import adopt
from strop.source.adopt.names import QuickProject
from strop.source.facts import Scan
from strop.source.fixing import fix

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n"

CHANGES = {
    "method": "k.zero_()",
    "item": "k[0] = 0",
    "augmented": "k += 1",
    "augmented item": "k[:, 0] *= 2",
    "out": "torch.add(k, 1, out=k)",
    "attribute": "k.data.mul_(2)",
    "function": "nn.init.zeros_(k)",
}


@pytest.fixture
def fixed(tmp_path):
    def run(body):
        file = tmp_path / "model.py"
        file.write_text(HEAD + textwrap.dedent(body))
        look = lambda: Scan(findings=adopt.findings(QuickProject([str(file)], [str(file)])))  # noqa: E731
        done = fix(look, unsafe=True)
        return done.plan.after.get(str(file), file.read_text()).removeprefix(HEAD)

    return run


@pytest.mark.parametrize("change", CHANGES)
def test_a_product_does_not_move_past_a_change_of_its_operand(fixed, change):
    body = "def attend(q, k, v):\n    a = q @ k.mT\n    {}\n    return a.softmax(-1) @ v\n"
    assert "scaled_dot_product_attention" in fixed(body.format("b = k + 1"))
    assert "scaled_dot_product_attention" not in fixed(body.format(CHANGES[change]))


def test_a_name_that_is_assigned_inside_the_expression_is_kept(fixed):
    text = fixed("""
        def attend(q, k, v):
            out = (a := (q @ k.mT).softmax(-1)) @ v
            return out, a
    """)
    assert "(a := " in text
