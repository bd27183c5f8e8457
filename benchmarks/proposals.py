"""Does it pay to do what Strop proposes? Models of PyPI packages, before and after every proposal for their package.

    python benchmarks/proposals.py                 # all of them: a line each, and the median
    python benchmarks/proposals.py vit maxvit      # some
    python benchmarks/proposals.py -o found.json

A package is copied twice, and one copy is edited by `strop fix --write --unsafe`: what is safe, and what rests on an
assumption. Two processes hold the model, one from each copy, with the same weights, and take turns, so that a busy
machine slows both; a step of inference is a call, one of training is forward, backward and an update. What is told is
the ratio of medians, and what construction and the first call take.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "packages"))

_BATCH = "torch.randn(4, 3, 224, 224)"


@dataclass(frozen=True)
class Model:
    package: str  #: as in tests/packages/catalogue.py
    imports: str
    make: str
    inputs: str


MODELS = {
    "vit": Model(
        "vit-pytorch",
        "from vit_pytorch import ViT",
        "ViT(image_size=224, patch_size=16, num_classes=1000, dim=384, depth=8, heads=6, mlp_dim=1536)",
        _BATCH,
    ),
    "maxvit": Model(
        "vit-pytorch",
        "from vit_pytorch.max_vit import MaxViT",
        "MaxViT(num_classes=1000, dim=64, depth=(1, 1, 2, 1), dim_conv_stem=32, window_size=7, dim_head=32)",
        "torch.randn(2, 3, 224, 224)",
    ),
    "cait": Model(
        "vit-pytorch",
        "from vit_pytorch.cait import CaiT",
        "CaiT(image_size=224, patch_size=16, num_classes=1000, dim=192, depth=8, cls_depth=2, heads=4, mlp_dim=768)",
        _BATCH,
    ),
    "deepvit": Model(
        "vit-pytorch",
        "from vit_pytorch.deepvit import DeepViT",
        "DeepViT(image_size=224, patch_size=16, num_classes=1000, dim=192, depth=8, heads=6, mlp_dim=768)",
        _BATCH,
    ),
    "sam_encoder": Model(
        "segment-anything",
        "from segment_anything.modeling.image_encoder import ImageEncoderViT",
        "ImageEncoderViT(img_size=512, embed_dim=192, depth=6, num_heads=6, window_size=14, use_rel_pos=True,"
        " global_attn_indexes=(2, 5))",
        "torch.randn(1, 3, 512, 512)",
    ),
    "diffusion_unet": Model(
        "denoising-diffusion-pytorch",
        "from denoising_diffusion_pytorch import Unet",
        "Unet(dim=32, dim_mults=(1, 2, 4), flash_attn=False)",
        "torch.randn(2, 3, 64, 64), torch.randint(0, 1000, (2,))",
    ),
    "performer": Model(
        "performer-pytorch",
        "from performer_pytorch import PerformerLM",
        "PerformerLM(num_tokens=5000, max_seq_len=512, dim=256, depth=6, heads=4, causal=False)",
        "torch.randint(0, 5000, (2, 512))",
    ),
    "linear_attention": Model(
        "linear-attention-transformer",
        "from linear_attention_transformer import LinearAttentionTransformerLM",
        "LinearAttentionTransformerLM(num_tokens=5000, dim=256, heads=4, depth=6, max_seq_len=512, causal=False)",
        "torch.randint(0, 5000, (2, 512))",
    ),
    "conformer": Model(
        "conformer",
        "from conformer import Conformer",
        "Conformer(dim=256, depth=6, dim_head=64, heads=4)",
        "torch.randn(2, 400, 256)",
    ),
    "ft_transformer": Model(
        "tab-transformer-pytorch",
        "from tab_transformer_pytorch import FTTransformer",
        "FTTransformer(categories=(10, 5, 6, 5, 8), num_continuous=10, dim=64, dim_out=1, depth=6, heads=8)",
        "torch.randint(0, 5, (64, 5)), torch.randn(64, 10)",
    ),
    "perceiver": Model(
        "perceiver-pytorch",
        "from perceiver_pytorch import Perceiver",
        "Perceiver(input_channels=3, input_axis=2, num_freq_bands=6, max_freq=10.0, depth=2, num_latents=128,"
        " latent_dim=256, num_classes=100)",
        "torch.randn(2, 64, 64, 3)",
    ),
    "local_attention": Model(
        "local-attention",
        "from local_attention import LocalTransformer",
        "LocalTransformer(num_tokens=5000, dim=256, depth=6, max_seq_len=512, local_attn_window_size=64, causal=True)",
        "torch.randint(0, 5000, (2, 512))",
    ),
}

_WORKER = """
import sys, time, json
imports, make, inputs, threads = json.loads(sys.argv[1])
import torch
torch.set_num_threads(threads)
exec(imports)
torch.manual_seed(0)
begun = time.perf_counter()
model = eval(make)
made = time.perf_counter() - begun
torch.manual_seed(1)
given = eval(inputs)
given = given if isinstance(given, tuple) else (given,)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)

def tensors(found):
    if isinstance(found, torch.Tensor):
        return [found] if found.is_floating_point() else []
    parts = found.values() if isinstance(found, dict) else found if isinstance(found, (list, tuple)) else ()
    return [tensor for part in parts for tensor in tensors(part)]

def inference():
    with torch.no_grad():
        model(*given)

def training():
    sum(t.float().square().mean() for t in tensors(model(*given))).backward()
    optimizer.step()
    optimizer.zero_grad()

steps = {"inference": inference, "training": training}
out = sys.stdout
sys.stdout = sys.stderr
print(json.dumps({"construction": made}), file=out, flush=True)
for line in sys.stdin:
    kind, count = line.split()
    model.train(kind == "training")
    begun = time.perf_counter()
    for _ in range(int(count)):
        steps[kind]()
    print(json.dumps((time.perf_counter() - begun) / int(count)), file=out, flush=True)
"""


class Worker:
    """A process that holds a model, and runs steps when it is told to."""

    def __init__(self, model: Model, tree: Path, threads: int, errors: Any) -> None:
        from catalogue import site

        given = json.dumps((model.imports, model.make, model.inputs, threads))
        path = os.pathsep.join(map(str, (tree, ROOT / "src", site())))
        self.process = subprocess.Popen(
            [sys.executable, "-c", _WORKER, given],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        self.construction: float = self._answer()["construction"]

    def run(self, kind: str, count: int = 1) -> float:
        """Seconds of a step."""
        assert self.process.stdin
        self.process.stdin.write(f"{kind} {count}\n")
        self.process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> Any:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process ended with code {self.process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def measure(model: Model, trees: tuple[Path, Path], threads: int, rounds: int, log: Path) -> dict[str, Any]:
    """Seconds of steps before and after, in turns."""
    with log.open("w") as errors:
        before, after = workers = [Worker(model, tree, threads, errors) for tree in trees]
        found: dict[str, Any] = {"construction": [worker.construction for worker in workers]}
        for kind in ("inference", "training"):
            first = [worker.run(kind) for worker in workers]
            again = [worker.run(kind) for worker in workers]
            count = max(1, round(0.3 / max(again)))
            pairs = [(before.run(kind, count), after.run(kind, count)) for _ in range(rounds)]
            old, new = (statistics.median(times) for times in zip(*pairs))
            found[kind] = {"before": old, "after": new, "speedup": old / new, "first": first}
        for worker in workers:
            worker.close()
    return found


def edited(package: Any, scratch: Path) -> tuple[tuple[Path, Path], dict[str, int]]:
    """The package as it is and with all proposals in it, and how many of each kind there were."""
    from judge import environment, site

    before, after = scratch / package.folder / "before", scratch / package.folder / "after"
    if not before.exists():
        package.copied_to(before)
        folder = package.copied_to(after)
        command = [sys.executable, "-m", "strop", "fix", *package.sources(folder), "--write", "--unsafe", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment(site()))
        told = json.loads(done.stdout)
        codes = [one["code"] for one in told["applied"]]
        (scratch / package.folder / "applied.json").write_text(
            json.dumps({c: codes.count(c) for c in sorted(set(codes))})
        )
    return (before, after), json.loads((scratch / package.folder / "applied.json").read_text())


def line_of(name: str, row: dict[str, Any]) -> str:
    parts = []
    for kind in ("inference", "training"):
        one = row[kind]
        old, new = one["before"] * 1e3, one["after"] * 1e3
        first = " -> ".join(f"{seconds:.1f}" for seconds in one["first"])
        parts.append(f"{kind} {old:.1f} -> {new:.1f} ms ({one['speedup']:.2f}x), first call {first} s")
    made = " -> ".join(f"{seconds:.2f}" for seconds in row["construction"])
    return f"{name:18} {'; '.join(parts)}; construction {made} s"


def main() -> int:
    from catalogue import fetch, named

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--keep", metavar="FOLDER", help="work in this folder and leave the trees there")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    fetch()
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="strop-proposals-") as folder:
        scratch = Path(given.keep or folder)
        for name in given.models or MODELS:
            model = MODELS[name]
            begun = time.perf_counter()
            trees, codes = edited(named([model.package])[0], scratch)
            row = {"package": model.package, "edits": codes, "fix_seconds": time.perf_counter() - begun}
            row |= measure(model, trees, given.threads, given.rounds, scratch / f"{name}.log")
            rows[name] = row
            print(line_of(name, row), flush=True)
            if given.output:
                given.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    for kind in ("inference", "training"):
        ratios = [row[kind]["speedup"] for row in rows.values()]
        print(f"{kind}: median {statistics.median(ratios):.2f}x, least {min(ratios):.2f}x over {len(ratios)} models")
    return 0


if __name__ == "__main__":
    sys.exit(main())
