"""Packages that are installed where the project is: which are read, and how much of them."""

from __future__ import annotations

from pathlib import Path

from strop.source.project.installed import defines_models, package_folders
from strop.source.scan import scan

LAYER = (
    "import torch\nfrom torch import nn\n\nclass Layer(nn.Module):\n    def forward(self, x):\n        return x + 1\n"
)


def _installed(folder: Path, files: dict[str, str]) -> Path:
    """A virtual environment in a folder, with these files in its packages."""
    packages = folder / ".venv" / "lib" / "python3.12" / "site-packages"
    for name, text in files.items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(text, encoding="utf-8")
    (folder / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n", encoding="utf-8")
    return packages


def _followed(folder: Path, script: str) -> list[str]:
    """The names of the installed files that a scan of a script reads."""
    (folder / "train.py").write_text(script, encoding="utf-8")
    return [Path(file).name for file in scan([str(folder / "train.py")]).followed]


def test_the_environment_beside_the_project_goes_first(tmp_path: Path) -> None:
    packages = _installed(tmp_path, {"models/__init__.py": LAYER})
    assert package_folders([str(tmp_path)])[0] == str(packages)
    assert package_folders([str(tmp_path / "src")])[0] == str(packages)


def test_a_folder_without_an_environment_has_none(tmp_path: Path) -> None:
    (tmp_path / "venv" / "lib" / "python3.12" / "site-packages").mkdir(parents=True)
    assert not any(folder.startswith(str(tmp_path)) for folder in package_folders([str(tmp_path)]))


def test_a_package_defines_models_when_it_imports_torch(tmp_path: Path) -> None:
    packages = _installed(tmp_path, {"models/deep/layers.py": LAYER, "tables/__init__.py": "import csv\n"})
    assert defines_models(str(packages / "models"))
    assert not defines_models(str(packages / "tables"))


def test_only_what_is_used_of_a_package_is_read(tmp_path: Path) -> None:
    init = "from .one import Layer as One\nfrom .two import Layer as Two\n"
    _installed(tmp_path, {"models/__init__.py": init, "models/one.py": LAYER, "models/two.py": LAYER})
    assert _followed(tmp_path, "import torch\nfrom models import One\nnet = One()\n") == ["__init__.py", "one.py"]
    assert _followed(tmp_path, "import torch\nimport models\nnet = models.Two()\n") == ["__init__.py", "two.py"]


def test_a_package_without_models_is_not_read(tmp_path: Path) -> None:
    _installed(tmp_path, {"tables/__init__.py": "import csv\n\ndef load():\n    return 1\n"})
    assert _followed(tmp_path, "import torch\nfrom tables import load\nload()\n") == []


def test_registries_of_models_are_not_read(tmp_path: Path) -> None:
    _installed(tmp_path, {"timm/__init__.py": LAYER})
    assert _followed(tmp_path, "import timm\nimport torch\nnet = timm.create_model('resnet18')\n") == []


def test_an_import_in_an_installed_module_does_not_mean_its_neighbour(tmp_path: Path) -> None:
    files = {"models/__init__.py": f"import queue\n{LAYER}q = queue.Queue()\n", "models/queue.py": "import torch\n"}
    _installed(tmp_path, files)
    assert _followed(tmp_path, "import torch\nfrom models import Layer\nnet = Layer()\n") == ["__init__.py"]
