"""Values that are taken out of tensors at every step of a loop that trains or evaluates."""

from __future__ import annotations

from pathlib import Path

import pytest

from strop.source.facts import Finding
from strop.source.scan import Defaults, scan

HEAD = """import torch
from torch import nn
import torch.nn.functional as F

net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loader = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(10)]
"""
LOOP = """total = 0.0
for x, y in loader:
    opt.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    opt.step()
"""


class Cuda(Defaults):
    target = "cuda"


def _found(folder: Path, text: str, cuda: bool = False) -> list[Finding]:
    file = folder / "train.py"
    file.write_text(HEAD + text, encoding="utf-8")
    return [f for f in scan([str(folder)], Cuda() if cuda else None).findings if f.code == "STR179"]


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.split("\n")[:-1])


WAITING = {
    "item": "    total += loss.item()\n",
    "float": "    total += float(loss)\n",
    "list": "    total += sum(y.tolist()[0])\n",
    "array": "    total += loss.detach().numpy()\n",
    "mean": "    total = 0.9 * total + 0.1 * loss.item()\n",
    "branch": "    if loss > 3:\n        total += 1\n",
}


@pytest.mark.parametrize("name", WAITING)
def test_a_loop_at_module_level_waits(name: str, tmp_path: Path) -> None:
    (found,) = _found(tmp_path, LOOP + WAITING[name])
    assert found.function == "<module>" and not found.fixable and "every training step" in found.message


@pytest.mark.parametrize("name", WAITING)
def test_a_loop_in_a_function_waits(name: str, tmp_path: Path) -> None:
    (found,) = _found(tmp_path, f"def train():\n{_indented(LOOP + WAITING[name])}    return total\n\n\ntrain()\n")
    assert found.function == "train"


def test_a_step_that_a_loop_calls_waits(tmp_path: Path) -> None:
    step = "def step(x, y):\n    loss = F.mse_loss(net(x), y)\n    loss.backward()\n    opt.step()\n    return loss.item()\n"
    (found,) = _found(tmp_path, f"{step}\n\nfor x, y in loader:\n    step(x, y)\n")
    assert found.function == "step"


def test_a_model_of_which_nothing_is_known_waits_too(tmp_path: Path) -> None:
    text = "def train(model, data, criterion):\n    for x, y in data:\n        loss = criterion(model(x), y)\n        loss.backward()\n        print(loss.item())\n"
    assert [f.function for f in _found(tmp_path, text)] == ["train"]


def test_an_evaluation_waits(tmp_path: Path) -> None:
    text = "@torch.no_grad()\ndef evaluate(model):\n    right = 0\n    for x, y in loader:\n        right += (model(x) == y).sum().item()\n    return right\n\n\nevaluate(net)\n"
    (found,) = _found(tmp_path, text)
    assert found.function == "evaluate" and "every batch" in found.message


SELDOM = {
    "every hundredth step": "    if opt.count % 100 == 0:\n        print(loss.item())\n",
    "on the way to an error": "    if torch.isnan(loss):\n        raise ValueError(loss.item())\n",
    "after the loop": "print(loss.item())\n",
    "a question that no data answers": "    if torch.is_inference(x):\n        x = x.clone()\n",
    "of an array": "    import numpy as np\n    total += np.ones(3).mean().item()\n",
}


@pytest.mark.parametrize("name", SELDOM)
def test_what_happens_seldom_is_left_alone(name: str, tmp_path: Path) -> None:
    assert not _found(tmp_path, LOOP + SELDOM[name])


def test_a_number_taken_out_once_per_epoch_is_left_alone(tmp_path: Path) -> None:
    assert not _found(tmp_path, f"for epoch in range(3):\n{_indented(LOOP)}    print(loss.item())\n")


def test_several_lines_of_one_step_are_one_finding(tmp_path: Path) -> None:
    (found,) = _found(tmp_path, f"{LOOP}    total += loss.item()\n    print(y.mean().item())\n")
    assert "also in line" in found.message


def test_it_says_what_it_costs_where(tmp_path: Path) -> None:
    (found,) = _found(tmp_path, LOOP + WAITING["item"])
    assert found.estimated_gain == 1.0 and "nothing on a CPU" in found.gain_reason
    (found,) = _found(tmp_path, LOOP + WAITING["item"], cuda=True)
    assert found.estimated_gain == 1.15 and "queue" in found.gain_reason


def test_a_value_that_is_taken_out_in_two_steps_waits_once(tmp_path: Path) -> None:
    (found,) = _found(tmp_path, LOOP + "    total += loss.detach().numpy().item()\n")
    assert "numpy()`" in found.message


ROLLOUT = """
def collect(policy: nn.Module, env, count):
    observation = env.reset()
    for _ in range(count):
        with torch.no_grad():
            actions = policy(observation)
        observation, reward = env.step(actions.cpu().numpy())
"""


def test_what_the_next_step_needs_is_not_told_to_wait(tmp_path: Path) -> None:
    assert not _found(tmp_path, ROLLOUT)


def test_a_function_that_measures_may_wait(tmp_path: Path) -> None:
    text = f"def {{}}():\n{_indented(LOOP + WAITING['item'])}    return total\n"
    assert _found(tmp_path, text.format("train"))
    assert not _found(tmp_path, text.format("profile_steps"))


OPTIONS = """
class Trainer:
    def __init__(self, values):
        self.settings = values["train"]
        self.decay = self.settings.get("decay", 0)
        self.every = values["every"]

    def step(self, x, y, iteration):
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        if self.decay > 0:
            self.average()
        if iteration - self.every == 0:
            self.penalty()
"""


def test_a_branch_on_an_option_of_a_constructor_asks_no_tensor(tmp_path: Path) -> None:
    assert not _found(tmp_path, OPTIONS)


def test_a_branch_on_an_option_that_a_function_takes_asks_no_tensor(tmp_path: Path) -> None:
    step = "def step(x, y, cfg):\n    loss = F.mse_loss(net(x), y)\n    loss.backward()\n"
    assert not _found(tmp_path, f"{step}    if cfg['decay'] > 0:\n        opt.step()\n")
    assert _found(tmp_path, f"{step.replace('cfg', 'batch')}    if batch['weight'] > 0:\n        opt.step()\n")
