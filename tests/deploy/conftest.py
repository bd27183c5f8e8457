"""Small models as files, and the C runtime built once."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from strop.core.journal import Journal
from strop.core.options import Options
from strop.deploy.object_file import RUNTIME
from strop.runtime.save_model import save
from strop.schedule import default

Saver = Callable[..., Path]


class Table(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(11, 24)

    def forward(self, index: Tensor) -> dict[str, Tensor]:
        found = self.table(index)
        return {"rows": found.relu(), "total": found.sum((1, 2))}


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTM(24, 48)

    def forward(self, x: Tensor) -> Tensor:
        return self.cell(x)[0]


def images() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 48, 3, padding=1)
    )


class Functions(nn.Module):
    """In part functions of the C library, in f64."""

    def forward(self, x: Tensor) -> Tensor:
        return x.sin() + x.cos() + x.abs().pow(0.3) + x.floor() + torch.fmod(x, 0.7)


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Tensor]]] = {
    "products": (lambda: nn.Sequential(nn.Linear(75, 130), nn.GELU(), nn.Linear(130, 33)), lambda: torch.randn(21, 75)),
    "images": (images, lambda: torch.randn(1, 32, 20, 20)),
    "recurrent": (Recurrent, lambda: torch.randn(6, 1, 24)),
    "functions": (Functions, lambda: torch.linspace(-9, 9, 203, dtype=torch.float64)),
    "table": (Table, lambda: torch.arange(14).reshape(2, 7) % 11),
}


def made(name: str) -> tuple[nn.Module, Tensor, list[Tensor]]:
    """A model, its input, and what eager makes of it."""
    torch.manual_seed(0)
    make, example = MODELS[name]
    model, x = make().eval(), example()
    with torch.no_grad():
        return model, x, torch.utils._pytree.tree_leaves(model(x))


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saver:
    """Writes a model of `MODELS` to a file, once for each set of arguments; small nests are shared by threads, too."""
    folder, known = tmp_path_factory.mktemp("models"), {}

    def write(name: str, *targets: str, threads: int = 1, **options: Any) -> Path:
        key = (name, targets, threads, *sorted(options.items()))
        if key not in known:
            model, x, _ = made(name)
            path = folder / f"{len(known)}.strop"
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(default, "PARALLEL_EFFORT", 0)
                save(model, (x,), None, path, targets, Options(threads=threads, **options), Journal(), name)
            known[key] = path
        return known[key]

    return write


def built(folder: Path, compiler: str, *arguments: str | Path) -> Path:
    """A program of some C files and the runtime."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    program = folder / "program"
    strict = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{RUNTIME}")
    ends = ("-o", str(program), "-lpthread", "-lm")
    command = [compiler, *strict, *map(str, arguments), str(RUNTIME / "strop.c"), *ends]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return program


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example program for this machine."""
    return built(tmp_path_factory.mktemp("c"), "gcc", RUNTIME / "example.c")
