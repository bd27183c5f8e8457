"""docs/onnx.md: which ONNX operators there are functions for, how many of ONNX's own tests pass, trained models."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

Table = Callable[[tuple[str, ...], list[tuple[str, ...]]], str]
Words = Callable[[Any], str]


def parts(docs: Path, table: Table, words: Words) -> list[str]:
    """Which ONNX operators there are functions for, and how many of ONNX's own tests pass."""
    from onnx import defs

    from strop.frontend.onnx.ops import NEWEST, OLDEST, operators

    counts = json.loads((docs / "onnx-suite.json").read_text(encoding="utf-8"))
    rows: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for entry in operators():
        until = "" if entry.until == NEWEST else str(entry.until)
        since = str(entry.since) if entry.since > OLDEST or entry.domain else ""
        span = f"{since}–{until}" if since or until else "all"
        rows.setdefault((entry.domain, entry.name), []).append((span, entry.function.__module__.rpartition(".")[2]))
    domains: dict[str, list[tuple[str, ...]]] = {}
    for (domain, name), spans in rows.items():
        ranges = ", ".join(span for span, _ in spans)
        domains.setdefault(domain, []).append((f"`{name}`", ranges, f"`{spans[0][1]}.py`"))
    schemas = {s.name: s for s in defs.get_all_schemas() if s.domain == "" and not s.deprecated}
    defined = sorted(name for name, s in schemas.items() if s.has_function and ("", name) not in rows)
    missing = sorted(name for name, s in schemas.items() if not s.has_function and ("", name) not in rows)
    sections = [
        f"### {domain or 'ai.onnx'}\n\n{table(('operator', 'opsets', 'file'), found)}"
        for domain, found in sorted(domains.items())
    ]
    passed, tests, usual = counts["passed"], counts["tests"], counts["usual"]
    return [
        f"""
        Each ONNX operator is a small Python function over torch operators (`frontend/onnx/ops/`), and a model is traced
        through them into the same graph as a PyTorch model. {len(rows)} operators have a function, by opset where their
        meaning changed; opset {OLDEST} and up.
        """,
        "## How many of ONNX's own tests pass",
        f"""
        Of the {tests:,} node tests of onnx {counts["onnx"]}, driven by its own runner, {passed:,} pass
        ({passed / tests:.1%}), {counts["interpreted"]} of them in the interpreter instead of compiled code (texts, and
        loops whose length data decides). Without strings, sequences, optionals, narrow types and the preview and ml
        domains: {counts["usual_passed"]:,} of {usual:,} ({counts["usual_passed"] / usual:.1%}).
        [excluded.txt](../tests/frontend/onnx/excluded.txt) lists the others, each with its reason. `make test-onnx`
        counts them.
        """,
        "## Trained models",
        *_models(docs, table, words),
        "## Files that are not trusted",
        """
        Names, types, shapes, sizes and paths are checked before anything is computed: damaged, truncated, circular and
        wrongly typed files, results larger than memory, external data outside the model's folder (through `..`,
        absolute paths or links) end in a `Problem` with a code and the node. `pytest
        tests/frontend/onnx/test_refusals.py tests/frontend/onnx/test_fuzz.py` holds each of them to seconds and bounded
        memory, on mutated files too.
        """,
        "## Operators",
        f"Defined by ONNX in terms of others, and interpreted that way: {words(defined) or 'none'}.",
        f"Not covered: {words(missing) or 'none'}.",
        *sections,
    ]


def _models(docs: Path, table: Table, words: Words) -> list[str]:
    """Trained models from PyPI wheels against ONNX Runtime, as last measured."""
    rows = json.loads((docs / "onnx-models.json").read_text(encoding="utf-8"))
    ratios = [row["ratio"] for row in rows]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    cells = [
        (f"`{row['name']}`", row["package"], row["file"], str(row["operators"]), f"{row['strop_ms']:.3g}",
         f"{row['onnxruntime_ms']:.3g}", f"{row['ratio']:.2f}×", f"{row['error']:.0e}", f"{row['compile_s']:.0f} s")
        for row in rows
    ]  # fmt: skip
    slow = words([row["name"] for row in rows if row["ratio"] < 0.9]) or "none"
    return [
        f"""
        Models that ship inside wheels on PyPI, at their usual shapes, one thread each, calls of both alternating, by
        the calling thread's clock: geometric mean {mean:.2f}× ONNX Runtime's speed over {len(rows)} models; under 0.9×:
        {slow}. The difference is the largest of any output, relative to that output's scale; then comes the processor
        time that compiling took. `python benchmarks/onnx_models.py --write` fetches and measures them;
        `make test-models` only compares.
        """,
        table(
            (
                "model",
                "package",
                "file",
                "operators",
                "Strop, ms",
                "ONNX Runtime, ms",
                "faster",
                "difference",
                "compiled in",
            ),
            cells,
        ),
        """
        Products of quantised tensors with known weights run on bytes, four to an instruction where the CPU has one, and
        are exact. What is rounded between them (QuantizeLinear around every operator) is the same up to the first
        rounding that falls the other way; from there on a deep network differs from ONNX Runtime as much as that one's
        optimised and plain forms differ from each other: the quantised file of efficientword-net by 0.1 of its output,
        against 0.08 between the two; an LSTM whose state is rounded at every step (`rawi_v2.int8.onnx` of
        text2tashkeel) by 1.5e-3. Probabilities that are all below 1e-4 (detectors that find nothing) differ by as much
        as ONNX Runtime's sigmoid is off there, which its own two forms do as well. `whisper128.onnx` of onnx-asr
        differs by 2e-3 where sound is near silence: ONNX Runtime's STFT differs as much from its own result for the
        same transform as a convolution, with which Strop
        agrees to 3e-5 both ways.
        """,
    ]
