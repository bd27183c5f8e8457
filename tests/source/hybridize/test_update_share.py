"""A faster update is offered where it is a noticeable part of the step, and not where it is lost beside the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from strop.source.scan import Defaults, scan

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\nfrom package import strange\n\n\n"
STEP = """
class Runner:
    def __init__(self, net):
        self.net = {net}
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=1e-3)

    def run(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            (F.cross_entropy(self.net(x), y){loss}).backward()
            self.optimizer.step()


runner = Runner(None)
for epoch in range(9):
    runner.run(strange.loader())
"""
WORDS = """class Words(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        h = self.norm1(x)
        x = x + ATTENTION
        return x + self.down(F.gelu(self.up(self.norm2(x))))

"""
NETWORKS = {
    "attention by its kernel": (
        WORDS.replace("ATTENTION", "F.scaled_dot_product_attention(self.q(h), self.k(h), self.v(h))"), "Words()", False
    ),
    "attention written out": (
        WORDS.replace("ATTENTION", "torch.softmax(self.q(h) @ self.k(h).mT / 16, -1) @ self.v(h)"), "Words()", False
    ),
    "sums over edges": (
        "class Graph(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.message, self.update = nn.Linear(64, 64), nn.Linear(64, 64)\n\n"
        "    def forward(self, x):\n        m = F.silu(self.message(x))\n"
        "        return self.update(torch.zeros_like(x).index_add_(0, torch.arange(9), m)) * torch.sigmoid(m)\n", "Graph()", False
    ),
    "windows of sequences": ("", f"nn.Sequential({', '.join(['nn.Conv1d(9, 9, 3), nn.Linear(99, 99), nn.ReLU()'] * 8)})", False),
    "images": ("", f"nn.Sequential({', '.join(['nn.Conv2d(9, 9, 3), nn.BatchNorm2d(9), nn.ReLU()'] * 8)})", True),
    "examples": ("", "nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))", True),
    "something unknown beside a known loss": ("class Loss(nn.Module):\n    def forward(self, x):\n        return x.softmax(-1).sum()\n", "strange(9)\n        self.loss = Loss()", True),
    "something unknown": ("", "strange(9)", True),
}  # fmt: skip


def _step(net: str) -> str:
    return STEP.format(net=net, loss=" + self.loss(x)" if "self.loss" in net else "")


@pytest.mark.parametrize("name", NETWORKS)
def test_an_update_is_worth_what_it_is_of_the_step(name: str, tmp_path: Path) -> None:
    classes, net, worth_it = NETWORKS[name]
    (tmp_path / "train.py").write_text(HEAD + classes + _step(net), encoding="utf-8")
    assert ("STR775" in {found.code for found in scan([str(tmp_path)]).findings}) is worth_it


def test_an_update_that_is_asked_for_is_told(tmp_path: Path) -> None:
    class Asked(Defaults):
        select = ("STR775",)

    classes, net, _ = NETWORKS["attention by its kernel"]
    (tmp_path / "train.py").write_text(HEAD + classes + _step(net), encoding="utf-8")
    assert "STR775" in {found.code for found in scan([str(tmp_path)], Asked()).findings}


@pytest.mark.parametrize(
    ("layers", "worth_it"),
    [("self.log = nn.Parameter(torch.zeros(1))", False), ("self.one = nn.Linear(4, 1)", False),
     ("self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 1)", True), ("self.one = strange.Layer(4)", True)],
)  # fmt: skip
def test_a_handful_of_tensors_needs_no_faster_update(layers: str, worth_it: bool, tmp_path: Path) -> None:
    model = f"class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {layers}\n\n\n"
    made = "class Agent:\n    def __init__(self):\n        self.model = Model()\n"
    made += "        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)\n"
    (tmp_path / "train.py").write_text(HEAD + model + made, encoding="utf-8")
    assert ("STR775" in {found.code for found in scan([str(tmp_path)]).findings}) is worth_it


def test_of_two_models_the_optimizer_counts_for_the_one_that_it_updates(tmp_path: Path) -> None:
    classes, words, _ = NETWORKS["attention by its kernel"]
    _, images, _ = NETWORKS["images"]
    others = {"Runner": "Other", "runner": "other", "self.net": "self.cnn"}
    both = _step(images)
    for name, other in others.items():
        both = both.replace(name, other)
    (tmp_path / "train.py").write_text(HEAD + classes + _step(words) + both, encoding="utf-8")
    found = [one for one in scan([str(tmp_path)]).findings if one.code == "STR775"]
    assert [one.function for one in found] == ["Other.__init__"]
