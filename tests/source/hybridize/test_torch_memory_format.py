"""Networks of convolutions that are offered to be stored channels last."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from strop.source.fix import fixing
from strop.source.scan import scan

HEAD = "import torch\nfrom torch import nn\n\n"
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Conv2d(3, 8, 3)]
        for _ in range(4):
            layers += [nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.conv1 = nn.Conv2d(8, 8, 3)
        self.conv2 = nn.Conv2d(8, 8, 3)
        self.conv3 = nn.Conv2d(8, 8, 3)
        self.conv4 = nn.Conv2d(8, 8, 3)
        self.conv5 = nn.Conv2d(8, 8, 3)
        self.bn = nn.BatchNorm2d(8)
        self.head = nn.Linear(8 * 36, 2)

    def forward(self, x):
        x = self.body(x)
        x = self.bn(self.conv2(torch.relu(self.conv1(x))))
        x = self.conv5(self.conv4(self.conv3(x)))
        return self.head({flat})

"""
TRAIN = """
opt = torch.optim.SGD(net.parameters(), lr=0.1, fused=True)
for _ in range(3):
    loss = net(torch.ones(2, 3, 26, 26)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
"""
LINE = "net.to(memory_format=torch.channels_last)"


def _fixed(tmp_path: Path, text: str) -> str:
    file = tmp_path / "train.py"
    file.write_text(HEAD + text, encoding="utf-8")
    fixing.fix(lambda: scan([str(tmp_path)]), unsafe=True).plan.write()
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("flat", ["x.flatten(1)", "x.reshape(x.size(0), -1)"])
def test_a_network_that_is_trained_gets_a_line_where_it_is_made(tmp_path: Path, flat: str) -> None:
    before = f"{NET.format(flat=flat)}net = Net()\n{TRAIN}"
    assert _fixed(tmp_path, before) == HEAD + before.replace("net = Net()\n", f"net = Net()\n{LINE}\n")


def test_views_become_reshapes_and_the_program_still_runs(tmp_path: Path) -> None:
    text = f"{NET.format(flat='x.view(x.size(0), -1)')}torch.manual_seed(0)\nnet = Net()\n{TRAIN}"
    (tmp_path / "before.py").write_text(HEAD + text, encoding="utf-8")
    (tmp_path / "after").mkdir()
    fixed = _fixed(tmp_path / "after", text)
    assert LINE in fixed and "x.reshape(x.size(0), -1)" in fixed
    losses = [
        float(subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True).stdout)
        for file in (tmp_path / "before.py", tmp_path / "after" / "train.py")
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_fixing_twice_changes_nothing(tmp_path: Path) -> None:
    once = _fixed(tmp_path, f"{NET.format(flat='x.view(x.size(0), -1)')}net = Net()\n{TRAIN}")
    fixing.fix(lambda: scan([str(tmp_path)]), unsafe=True).plan.write()
    assert (tmp_path / "train.py").read_text(encoding="utf-8") == once


def test_it_is_offered_and_never_called_safe(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(f"{HEAD}{NET.format(flat='x.flatten(1)')}net = Net()\n{TRAIN}", encoding="utf-8")
    offered = [finding for finding in scan([str(file)]).findings if finding.code == "STR180"]
    assert [finding.safety for finding in offered] == ["safe-if"]


@pytest.mark.parametrize(
    ("flat", "made"),
    [
        ("x.contiguous().flatten(1)", "net = Net()"),
        ("x.as_strided((2, 288), (288, 1))", "net = Net()"),
        ("x.flatten(1)", "net = torch.compile(Net())"),
        ("x.flatten(1)", "net = Net().to(memory_format=torch.channels_last)"),
    ],
    ids=["asks for a layout", "asks for strides", "compiled", "stored so already"],
)
def test_it_is_left_alone(tmp_path: Path, flat: str, made: str) -> None:
    text = f"{NET.format(flat=flat)}{made}\n{TRAIN}"
    assert _fixed(tmp_path, text) == HEAD + text


RUN = "for _ in range(9):\n    print(net(torch.ones(2, 3, 26, 26)).shape)\n"


def test_a_network_that_is_only_run_gets_the_line_too(tmp_path: Path) -> None:
    text = f"{NET.format(flat='x.flatten(1)')}net = Net()\n{RUN}"
    assert _fixed(tmp_path, text) == HEAD + text.replace("net = Net()\n", f"net = Net()\n{LINE}\n")


@pytest.mark.parametrize(
    ("made", "trained", "run"),
    [
        ("vgg16()", False, True),
        ("squeezenet1_0()", False, True),
        ("resnet50()", False, False),
        ("vit_b_16()", False, False),
    ],
)
def test_other_families_gain_where_they_are_only_run(tmp_path: Path, made: str, trained: bool, run: bool) -> None:
    made = f"import torchvision\n\nnet = torchvision.models.{made}\n"
    assert (LINE in _fixed(tmp_path, made + TRAIN)) is trained
    assert (LINE in _fixed(tmp_path, made + RUN)) is run


@pytest.mark.parametrize(
    ("made", "offered"),
    [
        ("timm.create_model('mobilenetv3_small_100')", True),
        ("torchvision.models.efficientnet_b0()", True),
        ("timm.create_model('vit_small_patch16_224')", False),
    ],
)
def test_families_of_registries_that_gain_are_known_by_name(tmp_path: Path, made: str, offered: bool) -> None:
    fixed = _fixed(tmp_path, f"import timm\nimport torchvision\n\nnet = {made}\n{TRAIN}")
    assert (LINE in fixed) == offered


def test_a_network_of_transposed_convolutions_gains_nothing_by_it(tmp_path: Path) -> None:
    layers = ", ".join(["nn.ConvTranspose2d(8, 8, 4, 2, 1)"] * 8)
    made = f"net = nn.Sequential(nn.Conv2d(3, 8, 1), {layers})\n"
    assert LINE not in _fixed(tmp_path, made + TRAIN)
    assert LINE in _fixed(tmp_path, made.replace("ConvTranspose2d", "Conv2d") + TRAIN)


@pytest.mark.parametrize("base", ["nn.Sequential", "stranger.Net", "nn.Module"])
def test_a_model_whose_class_has_no_forward_of_its_own_is_weighed_by_its_call(tmp_path: Path, base: str) -> None:
    made = f"import stranger\n\nclass Net({base}):\n    pass\n\nnet = Net(nn.Conv2d(3, 8, 3))\n"
    assert LINE not in _fixed(tmp_path, made + TRAIN)
    assert LINE not in _fixed(tmp_path, made + RUN)
