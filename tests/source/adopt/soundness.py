"""Soundness by execution: random programs before and after every kernel edit, in one process.

    python tests/source/adopt/soundness.py --programs 20000

All edits are applied, also those that rest on assumptions: the inputs satisfy them (each row of scores shows something,
no row is zero, targets are in range). Results, gradients of inputs and parameters, and inputs that were written to must
agree in float64, in training and in eval mode. The share of programs that were edited is printed: a generator whose
programs are never edited proves nothing.
"""

from __future__ import annotations

import argparse
import gc
import random
import re
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
from strop.source.fix.edit import plan
from strop.source.fix.fixing import fix, wanted

_BATCH = 40  #: programs in one file
_TOLERANCE = 1e-6  #: norms of rows that are almost even magnify roundings


@dataclass
class Counts:
    programs: int = 0
    edited: int = 0  #: and run in both versions
    failing: int = 0  #: edited programs that raise or overflow as they were: nothing to compare
    rules: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        rules = ", ".join(f"{name} {count}" for name, count in self.rules.most_common())
        share = 100 * self.edited / max(self.programs, 1)
        return (
            f"{self.programs} programs, {self.edited} edited and run in both versions ({share:.0f}%), "
            f"{self.failing} edited that raise or overflow as they were, {len(self.differences)} different\n{rules}"
        )


def check(first: int, count: int, folder: Path, *, strop: bool = False, counts: Counts | None = None) -> Counts:
    """Programs of the seeds from `first` on."""
    counts = counts or Counts()
    for start in range(first, first + count, _BATCH):
        seeds = range(start, min(start + _BATCH, first + count))
        gc.collect()
        _check_file(seeds, folder / "programs.py", strop, counts)
    return counts


def _check_file(seeds: range, file: Path, strop: bool, counts: Counts) -> None:
    text = HEAD + "\n\n".join(Program(seed).text(f"f{seed}") for seed in seeds)
    file.write_text(text)
    look = lambda: Scan(findings=adopt.findings(QuickProject([str(file)], [str(file)]), strop=strop))  # noqa: E731
    if seeds[0] // _BATCH % 4 == 0:
        done = fix(look, unsafe=True)
        after, applied = done.plan.after.get(str(file), text), done.applied
    else:  # one round only: edits that overlap wait, and others are seen alone
        planned = plan(wanted(look(), unsafe=True))
        after, applied = planned.after.get(str(file), text), planned.applied
    sides: list[dict[str, Any]] = [{}, {}]
    for names, source in zip(sides, (text, after)):
        exec(compile(source, str(file), "exec"), names)
    bodies = [_bodies(source) for source in (text, after)]
    counts.rules.update(finding.rule for finding in applied)
    for seed in seeds:
        name = f"f{seed}"
        counts.programs += 1
        if bodies[0][name] == bodies[1][name]:
            continue
        runs = [[_ran(names[name], seed, training) for names in sides] for training in (False, True)]
        if any(before is None for before, _ in runs):
            counts.failing += 1
            continue
        counts.edited += 1
        why = next((why for before, after in runs if (why := _difference(before or [], after))), "")
        if why:
            counts.differences.append(f"seed {seed}: {why}")


def _bodies(source: str) -> dict[str, str]:
    """The text of each function and class of a file."""
    found = re.split(r"^(?:def|class) (\w+)", source, flags=re.MULTILINE)
    return {name: body.strip() for name, body in zip(found[1::2], found[2::2])}


def _ran(made: Any, seed: int, training: bool) -> list[torch.Tensor] | None:
    """Results, gradients, what became of the inputs, and what a second call gives; None if it raises or overflows."""
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
    found = [one.detach().clone() for one in (*results, *gradients, *given)]
    try:
        with torch.no_grad():  # what the first call left behind: counters, buffers, kept lists
            again = model(*(leaf.detach() * 0.5 for leaf in leaves), w, hide, 1 - seed % 2)
    except Exception:
        return None
    return found + [*(again if isinstance(again, tuple) else [again])]


def _difference(before: list[torch.Tensor], after: list[torch.Tensor] | None) -> str:
    if after is None:
        return "only the edited program raises, or is not finite"
    least = 0.01 * max(
        float(one.nan_to_num(0, 0, 0).abs().max()) for one in before
    )  # tiny tensors beside large ones are roundings
    for number, (one, two) in enumerate(zip(before, after)):
        if one.shape != two.shape:
            return f"tensor {number} has another shape"
        finite = one.isfinite()  # a second call may give the masked scores themselves
        if not torch.allclose(one[~finite], two[~finite], equal_nan=True):
            return f"tensor {number} is infinite elsewhere"
        scale = max(float(one.where(finite, 0.0).abs().max()), least, 1e-3)
        error = float((one - two).where(finite, 0.0).abs().max()) / scale
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
    gc.disable()  # trees and graphs of a file live until it is done
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
