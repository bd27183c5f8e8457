"""docs/packages.md: what the judge of `tests/packages` found, from docs/packages.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

SMALLEST = 5_000  #: lines below which starting takes longer than scanning, so that a speed says nothing
TITLES = ("package", "version", "lines", "lines/s", "findings", "edits", "models", "ran edited code", "wrong")


def parts(docs: Path, table: Callable[[tuple[str, ...], list[tuple[str, ...]]], str]) -> list[str]:
    rows = json.loads((docs / "packages.json").read_text(encoding="utf-8"))
    built = sum(row["built"] for row in rows)
    exact = sum(row["float64"] for row in rows)
    harder = [row for row in rows if "unproven" in row]
    return [
        """
        Strop's own test programs show what we thought of. Packages that nobody here wrote show the rest: `make
        test-packages` takes them from PyPI, scans them, edits a copy with `strop fix --write`, and runs their models
        before and after. `tests/packages/cases_*.py` says how each model is made.
        """,
        f"""
        {len(rows)} packages, {built} models with random weights, {exact} of them also in float64. A model is built
        from the original and from the edited copy, in processes of their own, with the same parameters and inputs.
        Compared are all outputs, the gradients of all parameters and inputs, buffers after training and the keys of the
        state, in eval mode with and without gradients and in training, on two inputs. Allowed is an error of 1e-9 of a
        tensor's scale in float64, and 1e-4 in float32 (or four times as far from float64 as the original is).
        `torch.compile` compiles with the `eager` backend here: graphs are captured and run, code is not generated.
        """,
        """
        Twenty packages (213 models, 18 ran edited code) were judged again on 19 November 2026. The rows of timm,
        torchvision, diffusers, vit-pytorch, monai, kornia, speechbrain, asteroid, torch-geometric, tsai and
        denoising-diffusion-pytorch are of earlier trees.
        """,
        """
        Where nothing is written, the two trees are the same and a model is run once. A model that reaches nothing that
        was edited is compared in float32 only. Only those that ran edited code can show a mistake: their number is the
        one that counts.
        """,
        "## What is written by default",
        f"{_total(rows, 'default', 'edits')} edits, {_total(rows, 'default', 'ran_edited')} models that ran edited "
        f"code, **{sum(len(row['default']['wrong']) for row in rows)} wrong**.",
        table(TITLES, [_row(row, "default") for row in rows]),
        "## With every kernel",
        """
        The harder test: `--unproven --with-strop` also writes kernels that were not run beside the code that they
        replace, and Strop's own. What the matcher takes for a kernel has to be one.
        """,
        f"{_total(harder, 'unproven', 'edits')} edits in {len(harder)} packages, "
        f"{_total(harder, 'unproven', 'ran_edited')} models that ran edited code, "
        f"**{sum(len(row['unproven']['wrong']) for row in harder)} wrong**.",
        table(TITLES, [_row(row, "unproven") for row in harder]),
        """
        Lines per second are those of a cold scan in one process, by its processor time; of packages with less than
        5,000 lines it is not told, because starting takes longer than scanning. `python tests/packages/judge.py
        --unproven --write` makes the tables anew. Rows were made at different times: those of timm, torchvision,
        diffusers, segmentation models, MONAI and kornia (without its row of every kernel) by newer rules and on a
        faster CPU than the others, so findings and lines per second do not compare across them.
        [A sample of the findings](packages-sample.md) was judged by reading, and one of
        [packages that no rule was mended on](packages-held-out.md).
        """,
    ]


def _row(row: dict[str, Any], how: str) -> tuple[str, ...]:
    one = row[how]
    name = row["package"] + "".join(f", `{part}`" for part in row["parts"])
    speed = f"{row['lines_per_second']:,}" if row["lines"] >= SMALLEST else ""
    counts = (one["edits"], row["built"], one["ran_edited"], len(one["wrong"]))
    return (name, row["version"], f"{row['lines']:,}", speed, str(row["findings"]), *map(str, counts))


def _total(rows: list[dict[str, Any]], how: str, what: str) -> int:
    return sum(int(row[how][what]) for row in rows)
