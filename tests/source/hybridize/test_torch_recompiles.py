"""What is compiled again and again, and what only looks like it: each a kind that was found in a package."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from strop.source.scan import scan

HEAD = "import os\nimport torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n"
HEAD += "    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(4, 4)\n\n"
HEAD += "    def forward(self, x):\n        return torch.tanh(self.fc(x)) * torch.sigmoid(x) + x.exp()\n\n\n"


def _codes(folder: Path, text: str) -> list[str]:
    (folder / "program.py").write_text(HEAD + text, encoding="utf-8")
    return [finding.code for finding in scan([str(folder)]).findings]


@pytest.mark.parametrize(
    "text",
    [
        "net = Net()\nfor x in torch.randn(8, 2, 4):\n    y = torch.compile(net)(x)\n",
        "net = Net()\nfor x in torch.randn(8, 2, 4):\n    net = torch.compile(net)\n    y = net(x)\n",
        "def run(net, x):\n    return torch.compile(net)(x)\n\n\nnet = Net()\n"
        "for x in torch.randn(8, 2, 4):\n    run(net, x)\n",
        "for x in torch.randn(8, 2, 4):\n    y = torch.compile(lambda a: a.exp() + x)(x)\n",
    ],
)
def test_one_thing_compiled_in_every_round_is_reported(tmp_path: Path, text: str) -> None:
    assert "STR172" in _codes(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "nets = [Net(), Net()]\nfor i, net in enumerate(nets):\n    nets[i] = torch.compile(net)\n",
        "for width in range(3):\n    net = Net()\n    fast = torch.compile(net)\n    fast(torch.randn(2, 4))\n",
        "fast = [torch.compile(net) for net in (Net(), Net())]\n",
        "class Predictor:\n    def load(self):\n        self.net = Net()\n        if 'FAST' in os.environ:\n"
        "            self.net = torch.compile(self.net)\n\n\nfor fold in range(3):\n    Predictor().load()\n",
        "class Loss(nn.Module):\n    def __init__(self, part):\n        super().__init__()\n        self.part = part\n\n"
        "    def forward(self, x):\n        return self.part(x).sum()\n\n\ndef build(fast):\n    loss = Loss(Net())\n"
        "    if fast:\n        loss.part = torch.compile(loss.part)\n    return loss\n\n\nclass Trainer:\n"
        "    def __init__(self):\n        self.loss = build(True)\n\n    def step(self, x):\n        self.loss(x).backward()\n\n\n"
        "trainer = Trainer()\nfor x in torch.randn(8, 2, 4):\n    trainer.step(x)\n",
        "def later(fn):\n    compiled = None\n\n    def wrapper(x):\n        nonlocal compiled\n        if compiled is None:\n"
        "            compiled = torch.compile(fn)\n        return compiled(x)\n\n    return wrapper\n\n\nrun = later(Net())\n"
        "for x in torch.randn(8, 2, 4):\n    run(x)\n",
    ],
)
def test_each_round_may_compile_a_model_of_its_own(tmp_path: Path, text: str) -> None:
    assert "STR172" not in _codes(tmp_path, text)


COMPILED = """class Loss(nn.Module):
    @torch.compile
    def forward(self, x, mask=None):
        if {test}:
            x = x * 2
        return x.exp().sum()


loss = Loss()
for x in torch.randn(8, 4):
    loss(x, None)
    loss(x, {one})
    loss(x, {two})
"""


@pytest.mark.parametrize("test", ["mask is not None", "mask", "not mask", "isinstance(mask, int)"])
def test_an_argument_that_is_there_or_not_makes_two_graphs(tmp_path: Path, test: str) -> None:
    assert "STR171" not in _codes(tmp_path, COMPILED.format(test=test, one=1, two=2))


@pytest.mark.parametrize("test", ["mask > 1", "mask is not None and mask <= 3", "0 < mask"])
def test_a_number_that_is_compared_by_size_makes_a_graph_for_each_answer(tmp_path: Path, test: str) -> None:
    """Numbers become symbols when they differ: eight values made three graphs (`test_dynamo…` counts them)."""
    assert "STR171" not in _codes(tmp_path, COMPILED.format(test=test, one=1, two=2))


def test_dynamo_makes_few_graphs_of_numbers_that_are_compared_by_size() -> None:
    graphs = []

    def compiler(module: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> torch.fx.GraphModule:
        graphs.append(module)
        return module

    def clipped(x: torch.Tensor, limit: int) -> torch.Tensor:
        return x * 2 if limit > 3 else x + limit

    torch._dynamo.reset()
    for limit in range(1, 9):
        torch.compile(clipped, backend=compiler)(torch.ones(3), limit)
    assert len(graphs) <= 3


def test_an_argument_whose_value_decides_makes_a_graph_for_each(tmp_path: Path) -> None:
    assert "STR171" in _codes(tmp_path, COMPILED.format(test="mask == 1", one=1, two=2))


@pytest.mark.parametrize(
    "test", ['"a" in batch.keys()', 'not ("a" in batch.keys() and "b" in batch)', '"a" in batch or f"{n}" not in batch']
)
def test_keys_of_a_dict_are_no_branch_on_a_tensor(tmp_path: Path, test: str) -> None:
    text = f"""@torch.compile
def step(batch: torch.Tensor, n: int = 1):
    if {test}:
        return batch * 2
    return batch.exp() + 1


for x in torch.randn(8, 4):
    step(x)
"""
    assert "STR155" not in _codes(tmp_path, text)
    assert "STR155" in _codes(tmp_path, text.replace(f"if {test}:", "if batch.sum() > 0:"))


CONTAINERS = """class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = []

    @torch.compile
    def forward(self, x, **kwargs):
        times = []
        self.timed(x, times)
        mask = kwargs.pop("mask", None)
        {line}
        return x.exp() if mask is None else x.exp() * mask

    def timed(self, x, times):
        times.append(x.shape[0])


encoder = Encoder()
for x in torch.randn(8, 2, 4):
    encoder(x, mask=x)
"""


def test_containers_that_a_call_gets_or_makes_are_no_state(tmp_path: Path) -> None:
    assert "STR170" not in _codes(tmp_path, CONTAINERS.format(line="pass"))
    assert "STR170" in _codes(tmp_path, CONTAINERS.format(line="self.seen.append(1)"))
