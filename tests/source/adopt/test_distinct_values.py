"""Values that a program keeps apart stay apart: through unpacking, comprehensions, map, zip, loops and lists."""

import pytest

from strop.source import adopt
from strop.source.adopt.names import QuickProject

GATED = {
    "comprehension": "a, b = [t + 1 for t in x.chunk(2, -1)]",
    "generator": "a, b = (t + 1 for t in x.chunk(2, -1))",
    "map": "a, b = map(lambda t: t + 1, x.chunk(2, -1))",
    "list of map": "a, b = list(map(lambda t: t + 1, x.chunk(2, -1)))",
    "zip": "(a, c), (b, d) = zip(x.chunk(2, -1), y.chunk(2, -1))",
    "enumerate": "(_, a), (_, b) = enumerate(x.chunk(2, -1))",
    "appended": "parts = []\n    for t in x.chunk(2, -1):\n        parts.append(t + 1)\n    a, b = parts",
    "index": "parts = [t + 1 for t in x.chunk(2, -1)]\n    a, b = parts[0], parts[1]",
    "star": "a, *rest = [t + 1 for t in x.chunk(3, -1)]\n    b = rest[0]",
    "extended": "parts = [x]\n    parts.extend(t + 1 for t in x.chunk(2, -1))\n    a, b = parts[1], parts[2]",
    "popped": "parts = [t + 1 for t in x.chunk(2, -1)]\n    a, b = parts.pop(), parts.pop()",
    "appended in a branch": "parts = [x, y]\n    if x.shape[0] > 2:\n        parts.append(x)\n    a, b = parts[-1], parts[0]",
    "dict": "parts = {i: t for i, t in enumerate(x.chunk(2, -1))}\n    a, b = parts[0], parts[1]",
}


@pytest.mark.parametrize("unpacking", GATED)
def test_two_parts_of_one_tensor_are_not_one_operand(edited, unpacking):
    text = edited(f"def gate(x, y):\n    {GATED[unpacking]}\n    return a * torch.sigmoid(b)\n")
    assert "silu" not in text


@pytest.mark.parametrize(
    "loops",
    [
        "for a in x.chunk(2, -1):\n        for b in x.chunk(2, -1):\n            out.append(a * torch.sigmoid(b))",
        "for a in parts:\n        for b in parts:\n            out.append(a * torch.sigmoid(b))",
        "out = [a * torch.sigmoid(b) for a in parts for b in parts]",
    ],
)
def test_the_variables_of_two_loops_are_two_values(edited, loops):
    text = edited(f"def gate(x):\n    out, parts = [], [t + 1 for t in x.chunk(2, -1)]\n    {loops}\n    return out\n")
    assert "silu" not in text


def test_one_variable_of_a_loop_is_one_value(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(
        "import torch\n\n\ndef gate(x):\n    for a in x.chunk(2, -1):\n        yield a * torch.sigmoid(a)\n"
    )
    (finding,) = adopt.findings(QuickProject([str(file)], [str(file)]))
    assert "silu" in finding.message


def test_queries_keys_and_values_by_map_stay_three(edited):
    text = edited("""
        class Attention(nn.Module):
            def __init__(self, dim, heads):
                super().__init__()
                self.heads, self.scale = heads, (dim // heads) ** -0.5
                self.qkv = nn.Linear(dim, 3 * dim, bias=False)

            def forward(self, x):
                qkv = self.qkv(x).chunk(3, dim=-1)
                q, k, v = map(lambda t: t.unflatten(-1, (self.heads, -1)).transpose(1, 2), qkv)
                attn = (torch.matmul(q, k.transpose(-1, -2)) * self.scale).softmax(dim=-1)
                return torch.matmul(attn, v)
    """)
    assert "attention(v, v" not in text and "attention(q, q" not in text


@pytest.mark.parametrize("order", ["reversed([a, b])", "sorted([b, a], key=len)", "reversed(torch.stack([a, b]))"])
def test_another_order_is_another_value(edited, order):
    text = edited(f"""
        def f(a, b):
            first, second = list({order})
            return b * torch.sigmoid(second)
    """)
    assert "silu" not in text
