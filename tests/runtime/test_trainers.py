"""Trainers of others: Hugging Face's and Lightning's train through the backend to eager's losses.

`make test-trainers` installs what they need; elsewhere these tests are skipped.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from strop.runtime.dynamo import JOURNAL

pytestmark = pytest.mark.slow
STEPS = 6
#: of eager's loss
TOLERANCE = 1e-4


def close(found: list[float], wanted: list[float]) -> None:
    assert len(found) == len(wanted) >= STEPS
    for mine, theirs in zip(found, wanted):
        assert abs(mine - theirs) <= TOLERANCE * abs(theirs), (found, wanted)
    assert wanted[-1] < wanted[0]


def compiled_halves(before: int) -> int:
    """How many programs the backend has made since, and that nothing was left to Python."""
    events = JOURNAL.events[before:]
    assert not [event for event in events if "runs eager" in event.message]
    return len([event for event in events if event.subject == "compile a variant"])


def hugging_face(backend: str | None, folder: Path) -> list[float]:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    torch._dynamo.reset()
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=2, n_embd=32, n_head=2, n_positions=16, vocab_size=64)
    tokens = torch.randint(64, (2, 16)).repeat(STEPS, 1)
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), max_steps=STEPS, per_device_train_batch_size=2, logging_steps=1, learning_rate=5e-3,
        report_to=[], use_cpu=True, save_strategy="no", seed=1, data_seed=1, disable_tqdm=True,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config)
    if backend is not None:
        model.compile(backend=backend)  # `torch_compile_backend` of the arguments takes a fixed list of names
    trainer = transformers.Trainer(
        model,
        arguments,
        train_dataset=[{"input_ids": row, "labels": row} for row in tokens],
    )
    trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def test_hugging_face_trainer(tmp_path: Path) -> None:
    wanted = hugging_face(None, tmp_path / "eager")
    before = len(JOURNAL.events)
    close(hugging_face("strop", tmp_path / "strop"), wanted)
    assert compiled_halves(before) >= 2


def test_lightning(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning")

    class Task(lightning.LightningModule):
        def __init__(self, model: nn.Module) -> None:
            super().__init__()
            self.model, self.losses = model, []

        def training_step(self, batch: Any, number: int) -> Tensor:
            loss = F.cross_entropy(self.model(batch[0]), batch[1])
            self.losses.append(loss.item())
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), lr=1e-2)

    torch._dynamo.reset()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.1), nn.Flatten(),
                          nn.Linear(8 * 6 * 6, 4))  # fmt: skip
    data = TensorDataset(torch.randn(4 * STEPS - 1, 3, 8, 8), torch.randint(4, (4 * STEPS - 1,)))

    def train(model: Any) -> list[float]:
        task = Task(model)
        trainer = lightning.Trainer(
            max_epochs=2, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False, barebones=False,
            enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
        )  # fmt: skip
        torch.manual_seed(1)
        trainer.fit(task, DataLoader(data, batch_size=4))
        return task.losses

    wanted = train(copy.deepcopy(model))
    before = len(JOURNAL.events)
    close(train(torch.compile(model, backend="strop")), wanted)
    assert compiled_halves(before) >= 2
