"""Layers that somebody hooks are not bypassed without saying so; two names are not merged into one operand."""

import pytest

from source.adopt.programs import HEADER
from strop.source import adopt
from strop.source.adopt import hooks
from strop.source.adopt.names import QuickProject

MODEL = """class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn_drop = nn.Dropout(0.1)

    def forward(self, q, k, v):
        a = (q @ k.transpose(-2, -1) * 0.3).softmax(dim=-1)
        return self.attn_drop(a) @ v
"""


@pytest.fixture
def attention(tmp_path):
    def run(other="", name="other.py"):
        file = tmp_path / "model.py"
        file.write_text(HEADER + MODEL)
        (tmp_path / name).write_text(other)
        hooks._places.cache_clear()
        hooks._replacements.cache_clear()
        (found,) = [f for f in adopt.findings(QuickProject([str(file)], [str(file)]), strop=True) if f.code == "STR701"]
        return found

    return run


def test_a_layer_that_nobody_watches_may_be_bypassed(attention):
    assert attention().safety == "safe"


@pytest.mark.parametrize(
    "line",
    [
        "model.blocks[0].attn_drop.register_forward_hook(save)",
        "model.attn_drop.register_full_backward_hook(save)",
        "model.get_submodule('block.attn_drop').register_forward_pre_hook(save)",
        "create_feature_extractor(model, ['attn_drop'])",
        "IntermediateLayerGetter(model, return_layers={'attn_drop': 'a'})",
    ],
)
def test_a_layer_that_another_file_hooks_is_left_alone(attention, line):
    found = attention(f"{line}\n")
    assert not found.fixable and "other.py:1 hooks `attn_drop`" in found.message


@pytest.mark.parametrize(
    "line",
    [
        "model.blocks[0].attn_drop = nn.Identity()",
        "model.attn_drop.forward = recorded",
        "setattr(model, 'attn_drop', Recorder())",
        "for block in model.blocks:\n    block.attn_drop = nn.AlphaDropout(0.1)",
    ],
)
def test_a_layer_that_another_file_replaces_is_left_alone(attention, line):
    found = attention(f"{line}\n")
    assert not found.fixable and "puts something else in the place of `attn_drop`" in found.message


def test_attributes_of_other_names_and_comparisons_replace_nothing(attention):
    found = attention("model.proj_drop = nn.Identity()\nassert model.attn_drop == drop\nself.attn_drop = drop\n")
    assert found.fixable and found.safety == "safe"


def test_hooks_on_some_layer_are_an_assumption(attention):
    found = attention("for module in model.modules():\n    module.register_forward_hook(save)\n")
    assert found.fixable and found.safety == "safe-if"
    assert found.assumptions == ("nothing hooks `attn_drop` (other.py:2 registers hooks)",)


def test_a_layer_that_is_still_called_is_not_bypassed(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(
        f"{HEADER}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.conv = nn.Conv2d(3, 8, 3)\n        self.norm = nn.BatchNorm2d(8)\n\n"
        "    def forward(self, x):\n        return self.norm(self.conv(x))\n"
    )
    (tmp_path / "other.py").write_text("model.conv.register_forward_hook(save)\n")
    hooks._places.cache_clear()
    (found,) = adopt.findings(QuickProject([str(file)], [str(file)]), strop=True)
    assert found.code == "STR761" and found.fixable and found.safety == "safe"


@pytest.mark.parametrize(
    "body",
    [
        "k = v = x\n    return torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v",
        "y = x\n    return y * torch.sigmoid(x)",
    ],
)
def test_two_names_of_one_value_are_not_merged(tmp_path, body):
    file = tmp_path / "model.py"
    file.write_text(f"{HEADER}def f(q, x):\n    {body}\n")
    (found,) = adopt.findings(QuickProject([str(file)], [str(file)]), strop=True)
    assert not found.fixable and "would become one operand" in found.message
