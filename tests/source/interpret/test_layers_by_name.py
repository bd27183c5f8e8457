"""Layers and tensors that are reached by names: members of a `ModuleDict`, static methods, results of einops."""

from __future__ import annotations

from pathlib import Path

from strop.source.interpret.interpreter import Program
from strop.source.project.modules import Project


def _calls(tmp_path: Path, text: str, function: str) -> set[str]:
    """The library functions that a function calls."""
    file = tmp_path / "net.py"
    file.write_text(text, encoding="utf-8")
    program = Program(Project([str(file)], [str(tmp_path)]))
    program.run()
    return {target for event in program.events(f"net:{function}") for target in getattr(event, "targets", ())}


def test_members_of_a_module_dict_are_attributes(tmp_path: Path) -> None:
    text = (
        "import torch\nfrom torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.parts = nn.ModuleDict(dict(up=nn.Linear(4, 8), act=nn.GELU()))\n\n"
        "    def forward(self, x):\n        return self.parts.act(self.parts.up(x))\n\nNet()(torch.ones(1, 4))\n"
    )
    assert _calls(tmp_path, text, "Net.forward") == {"torch.nn.Linear.__call__", "torch.nn.GELU.__call__"}


def test_what_einops_returns_is_a_tensor_of_the_framework_that_it_was_given(tmp_path: Path) -> None:
    text = (
        "import torch\nfrom einops import pack, rearrange\n\ndef f(x):\n    y = rearrange(x, 'a b -> b a').softmax(-1)\n"
        "    z, shapes = pack([y], '* b')\n    return z.relu()\n\nf(torch.ones(2, 3))\n"
    )
    assert {"torch.Tensor.softmax", "torch.Tensor.relu"} <= _calls(tmp_path, text, "f")


def test_layers_of_einops_pass_tensors_on(tmp_path: Path) -> None:
    text = (
        "import torch\nfrom einops.layers.torch import Rearrange\nfrom torch import nn\n\n"
        "net = nn.Sequential(Rearrange('a b -> b a'), nn.Linear(2, 2))\n\n"
        "def f(x):\n    return net(x).tanh()\n\nf(torch.ones(2, 3))\n"
    )
    found = _calls(tmp_path, text, "f")
    assert {"torch.nn.Linear.__call__", "torch.Tensor.tanh"} <= found


def test_a_static_method_that_is_assigned_to_a_class_is_followed(tmp_path: Path) -> None:
    text = (
        "import torch\n\nclass Maker:\n    pass\n\ndef make(x):\n    return x.exp()\n\n"
        "Maker.make = staticmethod(make)\n\ndef f(x):\n    return Maker.make(x).sin() + Maker().make(x)\n\n"
        "f(torch.ones(2))\n"
    )
    assert "torch.Tensor.sin" in _calls(tmp_path, text, "f")
    assert _calls(tmp_path, text, "make") == {"torch.Tensor.exp"}
