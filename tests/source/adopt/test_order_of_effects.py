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
        ("nn.Embedding(9, 4, None, None, 2.0, False, True)", False),
        ("nn.Embedding(9, 4, None, None, 2.0, False, False)", True),
        ("nn.Embedding.from_pretrained(torch.zeros(9, 4), False, None, None, 2.0, False, True)", False),
        ("nn.ParameterList([torch.zeros(3, dtype=torch.cfloat)])", False),
        ("nn.ParameterList([nn.Parameter(torch.complex(torch.zeros(3), torch.ones(3)))])", False),
        ("nn.ParameterList([nn.Parameter(torch.randn(3) * 1j)])", False),
        ("nn.ParameterList([nn.Parameter(torch.fft.rfft(torch.randn(8)))])", False),
    ],
)
def test_an_optimizer_is_not_fused_where_gradients_may_be_sparse_or_complex(edited, model, fused):
    text = edited(f"def train():\n    model = {model}\n    return torch.optim.Adam(model.parameters())\n")
    assert ("fuse_optimizer" in text) is fused


@pytest.mark.parametrize(
    "chosen",
    [
        "{'adam': torch.optim.Adam, 'rmsprop': torch.optim.RMSprop}[name]",
        "torch.optim.Adam if name else torch.optim.RMSprop",
        "dict(adam=torch.optim.Adam, lbfgs=torch.optim.LBFGS)[name]",
        "next(c for c in (torch.optim.Adam, torch.optim.RMSprop) if c.__name__ == name)",
    ],
)
def test_an_optimizer_that_may_be_another_one_gets_no_argument(edited, chosen):
    """`RMSprop` takes no `fused`: what may be one of several classes was taken for the first of them."""
    assert "fuse" not in edited(f"def train(model, name):\n    kind = {chosen}\n    return kind(model.parameters())\n")
    returned = (
        f"def kind(name):\n    return {chosen}\n\ndef train(model, name):\n    return kind(name)(model.parameters())\n"
    )
    assert "fuse" not in edited(returned)


def test_a_name_that_a_dead_statement_assigns_inside_stays(edited):
    text = edited("""
        def f(x, z):
            y = (t := x + z) + t.tanh()
            return t * 0.5 * (1 + torch.erf(t * 0.7071067811865476))
    """)
    assert "(t := x + z)" in text


def test_what_nobody_used_before_stays(edited):
    text = edited("""
        def f(x, y):
            y += 1
            unused = torch.relu(x)
            return x * torch.sigmoid(x)
    """)
    assert "y += 1" in text and "unused = torch.relu(x)" in text and "silu(x)" in text


@pytest.mark.parametrize("write", ["x[0] = 0.25", "x.add_(1)", "x.view(-1).zero_()", "torch.relu_(x)", "x += 1"])
def test_an_operand_that_is_written_to_later_is_left_alone(edited, write):
    """The kernel keeps its input for the gradient; autograd refuses when that was changed."""
    body = f"""
        def f(x):
            y = 0.5 * x * (1.0 + torch.erf(x * 0.7071067811865476))
            {write}
            return x + y
    """
    assert "gelu" not in edited(body)


def test_a_result_that_is_written_to_later_is_left_alone(edited):
    text = edited("""
        def f(x):
            e = x.exp()
            y = e / e.sum(-1, keepdim=True)
            y.add_(1)
            return y
    """)
    assert "softmax" not in text


def test_alpha_of_a_sum_is_part_of_it(edited):
    text = edited("""
        def f(q, k, v, m):
            s = (q @ k.transpose(-2, -1)).add(m, alpha=0.5)
            return torch.softmax(s, dim=-1) @ v
    """)
    assert "attn_mask=m," not in text


@pytest.mark.parametrize("write", ["y.transpose(0, 1).add_(1)", "y[0].zero_()", "y.view(-1)[0] = 1"])
def test_a_copy_that_is_written_to_through_a_view_is_another_value(edited, write):
    body = f"""
        def f(x):
            y = x.clone()
            {write}
            return y * torch.sigmoid(x)
    """
    assert "silu" not in edited(body)


@pytest.mark.parametrize(
    "write",
    [
        "F.relu(y, inplace=True)",
        "y.index_fill_(1, torch.tensor([0]), 0.5)",
        "[y][0].add_(0.5)",
        "seen = {0: y}; seen[0].clamp_(min=0)",
        "F.relu(x, inplace=True)",
        "x.index_fill_(1, torch.tensor([0]), 0.5)",
    ],
)
@pytest.mark.parametrize("copy", ["x.clone()", "x.contiguous()", "x.float()", "x.clone().contiguous()"])
def test_a_copy_is_another_value_once_one_of_the_two_was_written_to(edited, write, copy):
    body = f"""
        def f(x):
            y = {copy}
            {write}
            return y * torch.sigmoid(x)
    """
    assert "silu" not in edited(body)


@pytest.mark.parametrize("write", ["F.relu(x, inplace=True)", "x.index_fill_(1, torch.tensor([0]), 0.5)"])
def test_what_is_computed_before_and_after_a_write_is_two_values(edited, write):
    body = f"""
        def f(x):
            y = x + 1
            {write}
            z = x + 1
            return y * torch.sigmoid(z)
    """
    assert "silu" not in edited(body)


@pytest.mark.parametrize("write", ["log.add_(1)", "F.relu(log, inplace=True)", "x = x.clone()"])
def test_a_copy_that_nobody_writes_to_is_the_same_value(edited, write):
    body = f"""
        def f(x, log):
            y = x.clone()
            {write}
            return y * torch.sigmoid(x)
    """
    assert "silu" in edited(body)
