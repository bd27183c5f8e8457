"""What a function's own code says of its parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from source_facts import facts

_PROGRAM = """import torch
from torch import nn


def default(value, other):
    return other if value is None else value


class Attention(nn.Module):
    def forward(self, x, {name}=None):
        {name} = default({name}, x.shape[1])
        places = torch.arange({name})
        return x[:, :{name}] + places[None, :, None]
"""


def _codes(folder: Path, name: str) -> set[str]:
    return {
        reason.code for reason in facts(folder, {"program.py": _PROGRAM.format(name=name)})["Attention.forward"].reasons
    }


@pytest.mark.parametrize("name", ["query_len", "bucket_size", "num_tokens", "max_steps"])
def test_a_size_that_is_handed_on_is_a_number(tmp_path: Path, name: str) -> None:
    assert not _codes(tmp_path, name) & {"STR155", "STR156", "STR157"}


def test_what_only_tensors_have_makes_a_size_a_tensor(tmp_path: Path) -> None:
    text = _PROGRAM.format(name="chunk_size").replace("torch.arange(chunk_size)", "torch.arange(chunk_size.max())")
    reasons = facts(tmp_path, {"program.py": text})["Attention.forward"].reasons
    assert {"STR156"} & {reason.code for reason in reasons}


def test_a_dict_of_settings_holds_no_tensors_and_is_none(tmp_path: Path) -> None:
    text = "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x, {0}):\n"
    text += "        if {0}['scale'] > 1:\n            x = x * helper({0})\n        return torch.relu(x)\n"
    tensors, settings = (facts(tmp_path, {"program.py": text.format(name)}) for name in ("batch", "model_cfg"))
    assert tensors["Net.forward"].reasons and not settings["Net.forward"].reasons
