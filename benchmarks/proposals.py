"""Does it pay to do what Strop proposes? Projects as users write them, before and after `strop fix`.

    python benchmarks/proposals.py                 # all of them: a line each, and the medians
    python benchmarks/proposals.py pinn nano_gpt   # some
    python benchmarks/proposals.py --write         # and keep the figures for docs/scan.md

Each project of `benchmarks/projects` trains or serves a model, of a package from PyPI or of its own. It is copied; one
copy is edited by `strop fix --write --unsafe --unproven`, which is everything that is proposed, and another with
`--with-strop`, which allows Strop's own backend. The scripts run in processes of their own (`paced.py`) and take turns,
on one thread and one CPU, so that a busy machine slows all of them. The project as it was runs twice: how far the two
differ is the noise, below which a difference says nothing. What is told is the median of the ratios of steps after
warm-up, and how long the start of the script and its first step take, which all copies do at the same time.

    python benchmarks/proposals.py --prepare --cache FOLDER   # compile only, and keep what was compiled
    python benchmarks/proposals.py --cache FOLDER             # then measure, without compiling on a machine at rest
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks" / "projects"
STORED = ROOT / "docs" / "proposals.json"
sys.path.insert(0, str(ROOT / "tests" / "packages"))

_SECONDS = 0.25  #: what one turn of a process takes
_WARM_UP = 3


@dataclass(frozen=True)
class Project:
    script: str
    kind: str  #: training or inference
    model: str  #: and where it comes from


PROJECTS = {
    "conformer_ctc": Project("train.py", "training", "Conformer (conformer)"),
    "convnext_finetune": Project("finetune.py", "training", "ConvNeXt (timm)"),
    "ddpm_train": Project("train.py", "training", "diffusion U-Net (denoising-diffusion-pytorch)"),
    "nano_gpt": Project("train.py", "training", "GPT (its own)"),
    "pinn": Project("burgers.py", "training", "sine network (its own)"),
    "resnet_cifar": Project("train.py", "training", "ResNet (its own)"),
    "segmentation": Project("train.py", "training", "U-Net (segmentation-models-pytorch)"),
    "tabular": Project("train.py", "training", "FT-Transformer (tab-transformer-pytorch)"),
    "vit_trainer": Project("train.py", "training", "ViT (vit-pytorch)"),
    "x_transformers_lm": Project("train.py", "training", "decoder (x-transformers)"),
    "dcgan": Project("main.py", "training", "DCGAN (its own)"),
    "mamba_bytes": Project("train.py", "training", "selective state spaces (its own)"),
    "molecules": Project("train.py", "training", "message passing (its own)"),
    "sentiment_gru": Project("train.py", "training", "GRU with attention (its own)"),
    "swin_flowers": Project("train.py", "training", "Swin transformer (its own)"),
    "diffusers_sampler": Project("sample.py", "inference", "UNet2DModel (diffusers)"),
    "llama_generate": Project("serve.py", "inference", "Llama (its own)"),
    "mobilenet_batches": Project("infer.py", "inference", "MobileNetV3 (torchvision)"),
    "perceiver_service": Project("serve.py", "inference", "Perceiver (perceiver-pytorch)"),
    "performer_scores": Project("score.py", "inference", "Performer (performer-pytorch)"),
    "ssd_camera": Project("detect.py", "inference", "one-stage detector (its own)"),
    "text_embeddings": Project("embed.py", "inference", "BERT (transformers)"),
}
#: arguments of `strop fix --write` by what they are called in the results
LEVELS = {"pytorch": ("--unsafe", "--unproven"), "strop": ("--unsafe", "--unproven", "--with-strop")}


@dataclass(frozen=True)
class Settings:
    scratch: Path  #: where the copies are
    cache: Path  #: of what Inductor compiles
    rounds: int
    cpu: int
    prepare: bool

    @property
    def prepared(self) -> Path:
        """What is known of first steps from when their code was compiled."""
        return self.cache / "first-steps.json"


class Worker:
    """A process that runs a script, and as many of its steps as it is told to."""

    def __init__(self, script: Path, cache: Path, errors: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "benchmarks" / "paced.py"), script.name],
            cwd=script.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment() | {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_CACHE_DIR": str(cache)},
        )

    def run(self, count: int = 1) -> float:
        """Seconds of a step."""
        self.tell(str(count))
        return self.answer()

    def tell(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def answer(self) -> float:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process ended with code {self.process.wait()}")
        return float(json.loads(line))

    def close(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def environment() -> dict[str, str]:
    """The packages of the catalogue are importable, for the scripts and for the scan."""
    from catalogue import site

    path = os.pathsep.join(map(str, (ROOT / "src", site())))
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def edited(name: str, level: str, scratch: Path) -> tuple[Path, dict[str, int]]:
    """A copy of the project with all proposals in it, and how many of each rule there were."""
    folder = scratch / level / name
    shutil.copytree(FOLDER / name, folder)
    command = [sys.executable, "-m", "strop", "fix", str(folder), "--write", *LEVELS[level], "--json", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    if done.returncode not in (0, 1):
        raise RuntimeError(f"strop fix failed on {name}: {done.stderr}")
    codes = [one["code"] for one in json.loads(done.stdout)["applied"]]
    return folder, {code: codes.count(code) for code in sorted(set(codes))}


def prepare(name: str, folders: dict[str, Path], settings: Settings) -> dict[str, float]:
    """Seconds of the first step of every copy, one after the other, with nothing compiled before."""
    found = {}
    with (settings.scratch / f"{name}.log").open("w") as errors:
        for level, folder in folders.items():
            worker = Worker(folder / PROJECTS[name].script, settings.cache, errors)
            worker.answer()
            found[level] = round(worker.run(), 2)
            worker.run()
            worker.close()
    known = json.loads(settings.prepared.read_text()) if settings.prepared.exists() else {}
    settings.prepared.write_text(json.dumps({**known, name: found}))
    return found


def measure(name: str, folders: dict[str, Path], settings: Settings) -> dict[str, dict[str, Any]]:
    """For each edited copy: seconds of a step before and after, in turns; of the first step; until the first step."""
    script = PROJECTS[name].script
    with (settings.scratch / f"{name}.log").open("w") as errors:
        workers = {level: Worker(folder / script, settings.cache, errors) for level, folder in folders.items()}
        start = {level: worker.answer() for level, worker in workers.items()}
        for worker in workers.values():
            worker.tell("1")
        first = {level: worker.answer() for level, worker in workers.items()}
        if settings.prepared.exists():
            first |= json.loads(settings.prepared.read_text()).get(name, {})
        for worker in workers.values():
            worker.tell(f"pin {settings.cpu}")
            warm = [worker.run() for _ in range(_WARM_UP)]
        count = max(1, round(_SECONDS / warm[-1]))
        times: dict[str, list[float]] = {level: [] for level in workers}
        for _ in range(settings.rounds):
            for level, worker in workers.items():
                times[level].append(worker.run(count))
        for worker in workers.values():
            worker.close()
    before = times["before"]
    return {
        level: {
            "before_ms": round(statistics.median(before) * 1e3, 2),
            "after_ms": round(statistics.median(after) * 1e3, 2),
            "speedup": round(statistics.median(old / new for old, new in zip(before, after)), 3),
            "first_s": [round(first["before"], 2), round(first[level], 2)],
            "start_s": [round(start["before"], 2), round(start[level], 2)],
        }
        for level, after in times.items()
        if level != "before"
    }


def run(name: str, settings: Settings) -> dict[str, Any]:
    """One project: what is proposed at each level, and what it gains."""
    project, scratch = PROJECTS[name], settings.scratch
    before = scratch / "before" / name
    shutil.copytree(FOLDER / name, before)
    folders = {"before": before}
    row: dict[str, Any] = {"kind": project.kind, "model": project.model}
    for level in LEVELS:
        folder, edits = edited(name, level, scratch)
        row[level] = {"edits": edits}
        if edits and all(_text(folder) != _text(other) for other in folders.values()):
            folders[level] = folder
    if settings.prepare:
        row["prepared"] = prepare(name, folders, settings)
        return row
    found = measure(name, {**folders, "again": before}, settings) if len(folders) > 1 else {}
    if found:
        row["noise"] = round(abs(found.pop("again")["speedup"] - 1.0), 3)
    for level, figures in found.items():
        row[level] |= figures
    if "strop" in row and "strop" not in folders and "pytorch" in folders and row["strop"]["edits"]:
        row["strop"] = row["pytorch"]  # the same edits
    return row


def _text(folder: Path) -> list[str]:
    return [file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.py"))]


def lines_of(name: str, row: dict[str, Any]) -> list[str]:
    found = [f"{name:18} first steps {row['prepared']}"] if "prepared" in row else []
    for level in LEVELS if "prepared" not in row else ():
        one = row.get(level)
        if one is None:
            continue
        if "speedup" not in one:
            found.append(f"{name:18} {level:8} nothing is proposed")
            continue
        edits = " ".join(f"{code}×{count}" for code, count in one["edits"].items())
        first, start = (" -> ".join(f"{s:.1f}" for s in one[key]) for key in ("first_s", "start_s"))
        step = f"{one['before_ms']:.1f} -> {one['after_ms']:.1f} ms ({one['speedup']:.2f}x)"
        noise = f", noise {row['noise']:.1%}" if "noise" in row else ""
        found.append(f"{name:18} {level:8} {row['kind']} {step}{noise}; first step {first} s, start {start} s; {edits}")
    return found


def summaries(rows: dict[str, Any]) -> dict[str, dict[str, float]]:
    """For each level and kind: over how many projects something is proposed, the median and the least of the gains."""
    found: dict[str, dict[str, float]] = {}
    for level in LEVELS:
        for kind in ("training", "inference"):
            told = [row[level] for row in rows.values() if row["kind"] == kind and level in row]
            gains = [one["speedup"] for one in told if "speedup" in one]
            if gains:
                found[f"{level}, {kind}"] = {
                    "projects": len(told),
                    "proposed": len(gains),
                    "median": round(statistics.median(gains), 3),
                    "least": min(gains),
                }
    return found


def main() -> int:
    from catalogue import fetch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="*", metavar="PROJECT", help=", ".join(PROJECTS))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="where steps are timed")
    parser.add_argument(
        "--keep", metavar="FOLDER", type=Path, help="work in this new folder and leave the copies there"
    )
    parser.add_argument("--cache", metavar="FOLDER", type=Path, help="where Inductor keeps what it compiles")
    parser.add_argument("--prepare", action="store_true", help="compile, and measure nothing")
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {STORED.relative_to(ROOT)}")
    given = parser.parse_args()
    fetch()
    rows: dict[str, Any] = {}
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="strop-proposals-") as folder:
        scratch = (given.keep or Path(folder)).resolve()
        scratch.mkdir(parents=True, exist_ok=True)
        cache = (given.cache or scratch / "inductor").resolve()
        cache.mkdir(parents=True, exist_ok=True)
        settings = Settings(scratch, cache, given.rounds, given.cpu, given.prepare)
        for name in given.projects or PROJECTS:
            rows[name] = run(name, settings)
            print("\n".join(lines_of(name, rows[name])), flush=True)
            if given.write and not given.prepare:
                known = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
                kept = {key: (known | rows)[key] for key in PROJECTS if key in known | rows}
                STORED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    for what, one in summaries(rows).items():
        said = f"{one['proposed']} of {one['projects']} projects"
        print(f"{what}: median {one['median']:.2f}x, least {one['least']:.2f}x where something is proposed, {said}")
    print(f"{time.perf_counter() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
