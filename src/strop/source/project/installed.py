"""Where a project's packages are installed, and which of them define models: nothing is imported to find out.

A virtual environment beside the scanned files or above them goes first, then the active one, then the packages that
Strop itself could import. A package is followed when its files import PyTorch, since the layers of a model are
defined there; what `apis/` models, and libraries of plain tensor functions, are not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

_ENVIRONMENTS = (".venv", "venv", "env")
_MAX_ABOVE = 3  #: folders above a root in which an environment is looked for
_MAX_LOOKED_AT = 40  #: files of a package that are searched for an import of PyTorch
#: tensor functions and trainers that are known by name elsewhere in the analysis, and Strop itself
_KNOWN_BY_NAME = (
    "einops einx jaxtyping beartype torch torchgen torchmetrics torchaudio functorch lightning pytorch_lightning "
    "lightning_fabric accelerate tensorboard tensorboardX wandb strop ignite fastai deepspeed onnx onnxruntime"
)
#: tables and configurations decide which model is made: every model of the package would be read, to no avail
_REGISTRIES = "timm torchvision transformers diffusers open_clip torch_geometric"
#: data, numerics and experiments: they take tensors, but define no layers, and are large
_NO_LAYERS = "datasets evaluate huggingface_hub mlflow optuna ray scipy sklearn torchdata webdataset"
_NOT_FOLLOWED = frozenset(f"{_KNOWN_BY_NAME} {_REGISTRIES} {_NO_LAYERS}".split())


def package_folders(roots: Iterable[str]) -> list[str]:
    """The folders that hold installed packages, as seen from the scanned files."""
    found: dict[str, None] = {}
    for root in roots:
        for folder in (Path(root), *list(Path(root).parents)[:_MAX_ABOVE]):
            for name in _ENVIRONMENTS:
                found.update(dict.fromkeys(_packages_of(folder / name)))
    active = os.environ.get("VIRTUAL_ENV")
    if active:
        found.update(dict.fromkeys(_packages_of(Path(active))))
    found.update(dict.fromkeys(_importable()))
    return list(found)


def _packages_of(environment: Path) -> list[str]:
    if not (environment / "pyvenv.cfg").is_file():
        return []
    return [str(path.resolve()) for path in sorted(environment.glob("lib*/python*/site-packages"))]


def _importable() -> list[str]:
    """What Python's own search path says, but for its standard library and the folder that Strop was started in."""
    given = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    given += [entry for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    return [os.path.realpath(entry) for entry in given if Path(entry).is_dir()]


@lru_cache(maxsize=512)
def defines_models(package: str) -> bool:
    """Whether a package (its folder, or the file of a single module) imports PyTorch."""
    path = Path(package)
    if path.name.removesuffix(".py") in _NOT_FOLLOWED:
        return False
    files = [path] if path.is_file() else sorted(path.rglob("*.py"), key=lambda file: (len(file.parts), file))
    return any(_imports_torch(file) for file in files[:_MAX_LOOKED_AT])


def _imports_torch(file: Path) -> bool:
    try:
        text = file.read_bytes()
    except OSError:
        return False
    return b"import torch" in text or b"from torch" in text
