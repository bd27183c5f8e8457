"""Attention: any spelling, order, mask and helper; never what is no attention."""

import pytest

from source.adopt.programs import function, matches, names

WRITTEN = "attention-written-out"
VARIANT = "attention-with-steps-between"


@pytest.mark.parametrize(
    "body",
    [
        "return torch.softmax(q @ k.transpose(-2, -1), -1) @ v",
        "w = F.softmax(torch.matmul(q, k.transpose(2, 3)) * scale, dim=-1, dtype=torch.float32).to(q.dtype)\n"
        "return torch.matmul(F.dropout(w, p=0.1, training=True), v)",
        "s = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.size(-1))\ns = s + mask\nreturn torch.bmm(s.softmax(-1), v)",
        "s = q.matmul(k.permute(0, 1, 3, 2)).div(8)\ns = s.masked_fill(mask == 0, float('-inf'))\n"
        "return F.softmax(s, dim=-1).matmul(v)",
        "s = torch.einsum('bhid,bhjd->bhij', q, k) * scale\nreturn torch.einsum('bhij,bhjd->bhid', s.softmax(dim=-1), v)",
        "s = q @ k.mT\nif mask is not None:\n    s = s + mask\nreturn torch.softmax(s, dim=-1) @ v",
        "s = torch.baddbmm(mask, q, k.transpose(1, 2), beta=1.0, alpha=0.125)\nreturn s.softmax(-1) @ v",
        "s = (q @ k.mT) * scale\ns = torch.where(mask, s, torch.finfo(s.dtype).min)\nreturn s.softmax(-1) @ v",
        "def soft(s):\n    return F.softmax(s, dim=-1)\nreturn soft(q @ k.mT) @ v",
        "s = (q @ k.mT).view(2, 3, 4, 4) + mask\nreturn s.view(6, 4, 4).softmax(-1) @ v",
    ],
)
def test_attention(tmp_path, body):
    assert names(tmp_path, function(body, "q, k, v, mask=None, scale=1.0"), "attention") == [WRITTEN]


def test_what_is_bound(tmp_path):
    body = "s = q @ k.transpose(-2, -1) * scale\ns = s + mask\nreturn F.dropout(s.softmax(-1), 0.1) @ v"
    (match,) = matches(tmp_path, function(body, "q, k, v, mask, scale: float"), family="attention")
    assert [match.bound[name].text for name in ("q", "k", "v", "mask", "scale")] == ["q", "k", "v", "mask", "scale"]
    assert match.bound["maybe_p"].value == 0.1
    assert (match.place.line, match.place.end_line) == (7, 9)
    assert match.fixable


def test_a_mask_of_one_branch_is_conditional(tmp_path):
    body = "s = q @ k.mT\nif mask is not None:\n    s = s + mask\nreturn s.softmax(-1) @ v"
    (match,) = matches(tmp_path, function(body, "q, k, v, mask=None"), family="attention")
    assert match.conditions == {"mask": "mask is not None"}


@pytest.mark.parametrize(
    "body",
    [
        "return torch.softmax(q @ k.mT, dim=1) @ v",
        "return torch.sigmoid(q @ k.mT) @ v",
        "return torch.softmax(q + k, dim=-1) @ v",
        "return torch.softmax(q @ k.mT, dim=-1) * v",
        "return F.scaled_dot_product_attention(q, k, v)",
    ],
    ids=["another dimension", "sigmoid", "a sum", "no second product", "fused already"],
)
def test_what_is_no_attention(tmp_path, body):
    found = matches(tmp_path, function(body, "q, k, v"), family="attention")
    assert [match.rule.name for match in found if match.rule.use] == []


@pytest.mark.parametrize(
    "body",
    [
        "s = torch.tanh(q @ k.mT / 50.0) * 50.0\nreturn s.softmax(-1) @ v",
        "s = (q @ k.mT) * mask\nreturn s.softmax(-1) @ v",
        "return ((q @ k.mT).softmax(-1) * mask) @ v",
        "s = torch.cat([q @ k.mT, mask], dim=-1)\nreturn s.softmax(-1)[..., :-1] @ v",
    ],
    ids=["capped", "mask multiplied before", "mask multiplied after", "sinks"],
)
def test_variants_are_reported_and_never_edited(tmp_path, body):
    (match,) = matches(tmp_path, function(body, "q, k, v, mask: torch.Tensor"), family="attention")
    assert match.rule.name == VARIANT and not match.fixable


def test_returned_weights_are_a_reason(tmp_path):
    body = "w = F.softmax(q @ k.mT, dim=-1)\nw = F.dropout(w, 0.1)\nreturn w @ v, w"
    (match,) = matches(tmp_path, function(body, "q, k, v"), family="attention")
    assert not match.fixable
    assert "the weights are returned (line 9)" in match.refusals[0].reason


def test_a_branch_that_computes_something_else_is_a_reason(tmp_path):
    body = "s = q @ k.mT\nif fancy:\n    s = F.linear(s, mask)\nreturn s.softmax(-1) @ v"
    (match,) = matches(tmp_path, function(body, "q, k, v, mask, fancy"), family="attention")
    assert not match.fixable and "fancy" in match.refusals[0].reason
