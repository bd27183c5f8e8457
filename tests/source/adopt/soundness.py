"""Soundness by execution: random programs before and after every kernel edit, in one process.

    python tests/source/adopt/soundness.py --programs 20000

All edits are applied, also those that rest on assumptions: the inputs satisfy them (each row of scores shows something,
no row is zero, targets are in range). Results, gradients of inputs and parameters, and inputs that were written to must
agree in float64, in training and in eval mode. The share of programs that were edited is printed: a generator whose
programs are never edited proves nothing.
"""

from __future__ import annotations

import argparse
import ast
import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from source.adopt.random_programs import HEAD, Program
from strop.kernels import autograd
from strop.source import adopt
from strop.source.adopt.names import QuickProject
from strop.source.facts import Scan
from strop.source.fixing import fix

_BATCH = 20  #: programs in one file
_TOLERANCE = 1e-7


@dataclass
class Counts:
    programs: int = 0
    failing: int = 0  #: programs that raise or overflow as they are: nothing to compare
    edited: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        ran = self.programs - self.failing
        rules = ", ".join(f"{name} {count}" for name, count in self.rules.most_common())
        share = 100 * self.edited / max(ran, 1)
        return (
            f"{self.programs} programs, {ran} ran, {self.edited} of them edited ({share:.0f}%), "
            f"{len(self.differences)} different\n{rules}"
        )


def check(first: int, count: int, folder: Path, *, strop: bool = False, counts: Counts | None = None) -> Counts:
    """Programs of the seeds from `first` on."""
    counts = counts or Counts()
    for start in range(first, first + count, _BATCH):
        seeds = range(start, min(start + _BATCH, first + count))
        _check_file(seeds, folder / "programs.py", strop, counts)
    return counts


def _check_file(seeds: range, file: Path, strop: bool, counts: Counts) -> None:
    text = HEAD + "\n\n".join(Program(seed).text(f"f{seed}") for seed in seeds)
    file.write_text(text)
    done = fix(lambda: Scan(findings=adopt.findings(QuickProject([str(file)], [str(file)]), strop=strop)), unsafe=True)
    after = done.plan.after.get(str(file), text)
    sides: list[dict[str, Any]] = [{}, {}]
    for names, source in zip(sides, (text, after)):
        exec(compile(source, str(file), "exec"), names)
    bodies = [_bodies(source) for source in (text, after)]
    counts.rules.update(finding.rule for finding in done.applied)
    for seed in seeds:
        name = f"f{seed}"
        counts.programs += 1
        edited = bodies[0][name] != bodies[1][name]
        for training in (False, True):
            before = _ran(sides[0][name], seed, training)
            if before is None:
                counts.failing += 1
                break
            if not edited:
                break
            why = _difference(before, _ran(sides[1][name], seed, training))
            if why:
                counts.differences.append(f"seed {seed}: {why}")
                break
        else:
            counts.edited += edited


def _bodies(source: str) -> dict[str, str]:
    made = (node for node in ast.parse(source).body if isinstance(node, (ast.FunctionDef, ast.ClassDef)))
    return {node.name: ast.dump(node) for node in made}


def _ran(made: Any, seed: int, training: bool) -> list[torch.Tensor] | None:
    """Results, gradients and what became of the inputs; None if it raises or overflows."""
    torch.manual_seed(seed)
    leaves = [torch.randn(3, 4, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    w = (torch.rand(4, dtype=torch.float64) + 0.5).requires_grad_()
    hide = torch.rand(4, 4) < 0.4
    hide.fill_diagonal_(False)
    given = [leaf * 1.0 for leaf in leaves]
    model = made().train(training) if isinstance(made, type) else made
    try:
        result = model(*given, w, hide, seed % 2)
        results = [*(result if isinstance(result, tuple) else [result])]
        if not all(bool(torch.isfinite(one).all()) and one.abs().max() < 1e8 for one in results):
            return None
        weight = torch.linspace(0.5, 1.5, 48, dtype=torch.float64).view(3, 4, 4)
        torch.stack([(one * weight).mean() for one in results]).sum().backward()
    except Exception:
        return None
    parameters = list(model.parameters()) if isinstance(model, torch.nn.Module) else []
    gradients = [leaf.grad if leaf.grad is not None else torch.zeros(1) for leaf in (*leaves, w, *parameters)]
    if not all(bool(torch.isfinite(one).all()) for one in gradients):
        return None
    return [one.detach().clone() for one in (*results, *gradients, *given)]


def _difference(before: list[torch.Tensor], after: list[torch.Tensor] | None) -> str:
    if after is None:
        return "only the edited program raises, or is not finite"
    for number, (one, two) in enumerate(zip(before, after)):
        if one.shape != two.shape:
            return f"tensor {number} has another shape"
        scale = max(float(one.abs().max()), 1e-3)
        error = float((one - two).abs().max()) / scale
        if not error <= _TOLERANCE:
            return f"tensor {number} differs by {error:.2g} of its scale"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Random programs before and after every kernel edit.")
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, help="print one program and what becomes of it")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for name in autograd.SMALLEST:
        autograd.SMALLEST[name] = 1
    with tempfile.TemporaryDirectory() as folder:
        if given.show is not None:
            return _show(given.show, Path(folder))
        total, began = Counts(), time.monotonic()
        for start in range(given.seed, given.seed + given.programs, 1000):
            count = min(1000, given.seed + given.programs - start)
            check(start, count, Path(folder), strop=start % 2000 == 0, counts=total)
            print(f"{total.programs} programs, {time.monotonic() - began:.0f} s, {len(total.differences)} different")
            print("\n".join(total.differences[-5:]), flush=True)
    print(total)
    print("\n".join(total.differences[:40]))
    return 1 if total.differences else 0


def _show(seed: int, folder: Path) -> int:
    file = folder / "programs.py"
    file.write_text(HEAD + Program(seed).text(f"f{seed}"))
    for strop in (False, True):
        look = lambda: Scan(findings=adopt.findings(QuickProject([str(file)], [str(file)]), strop=strop))  # noqa: B023, E731
        print(fix(look, unsafe=True).plan.diff() or file.read_text().removeprefix(HEAD))
    return 0


if __name__ == "__main__":
    random.seed(0)
    sys.exit(main())
