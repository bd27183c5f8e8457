"""Nothing is moved past a write: in-place changes, assignments inside expressions."""

import pytest

CHANGES = {
    "method": "k.zero_()",
    "item": "k[0] = 0",
    "augmented": "k += 1",
    "augmented item": "k[:, 0] *= 2",
    "out": "torch.add(k, 1, out=k)",
    "attribute": "k.data.mul_(2)",
    "function": "nn.init.zeros_(k)",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_product_does_not_move_past_a_change_of_its_operand(edited, change):
    body = "def attend(q, k, v):\n    a = q @ k.mT\n    {}\n    return a.softmax(-1) @ v\n"
    assert "scaled_dot_product_attention" in edited(body.format("b = k + 1"))
    assert "scaled_dot_product_attention" not in edited(body.format(CHANGES[change]))


def test_a_name_that_is_assigned_inside_the_expression_is_kept(edited):
    text = edited("""
        def attend(q, k, v):
            out = (a := (q @ k.mT).softmax(-1)) @ v
            return out, a
    """)
    assert "(a := " in text


@pytest.mark.parametrize(
    ("model", "fused"),
    [
        ("nn.Embedding(9, 4)", True),
        ("nn.Embedding(9, 4, sparse=True)", False),
        ("nn.EmbeddingBag(9, 4, sparse=True)", False),
        ("nn.ParameterList([torch.zeros(3, dtype=torch.cfloat)])", False),
    ],
)
def test_an_optimizer_is_not_fused_where_gradients_may_be_sparse_or_complex(edited, model, fused):
    text = edited(f"def train():\n    model = {model}\n    return torch.optim.Adam(model.parameters())\n")
    assert ("fused=True" in text) is fused
