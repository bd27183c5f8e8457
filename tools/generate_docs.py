"""Writes the pages of docs/ whose tables come from the code; a test fails when they drift.

python tools/generate_docs.py            # operators, passes, problems, command-line, onnx, scan, rules, extending
python tools/generate_docs.py --zoo      # and library-nodes.md, which captures every network of the zoo
python tools/generate_docs.py --check    # exit 1 if a page would change
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import math
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
_SWEPT = DOCS.parent / "tests" / "goldens" / "codegen" / "opinfo.txt"
_MADE = "<!-- made by tools/generate_docs.py: change the code, then run it -->"


def operators() -> str:
    """The operator set, what becomes of each operator, and which ATen operators lead to it."""
    from strop.core.dtypes import NATIVE
    from strop.frontend.torch import normalize
    from strop.frontend.torch.registry import RULES
    from strop.graph.operators import ACTIVATIONS, BINARY, COMPARE, OTHER, UNARY
    from strop.loops.lower import load_families

    assert normalize  # importing it registers the rules
    load_families()
    families: dict[str, list[str]] = {}
    for target, rule in sorted(RULES.items()):
        _, here, family = rule.__module__.partition("strop.frontend.torch.aten.")
        if here:  # operators that readers of files add come and go with them
            families.setdefault(family, []).append(target.removeprefix("aten."))
    ruled = sum(map(len, families.values()))
    described = {**ACTIVATIONS, **OTHER}
    sweep = json.loads((DOCS / "opinfo-sweep.json").read_text(encoding="utf-8"))
    by_dtype = ", ".join(f"{count:,} {dtype}" for dtype, count in sweep["dtypes"].items())
    partly = sum("~" in line for line in _SWEPT.read_text(encoding="utf-8").splitlines())
    return _page(
        "The operator set",
        f"""
        Every front door is brought to these operators, and `loops/lower` expands each of them; rules see linear
        layers, attention, norms and recurrent networks whole. `graph/operators.py` is the contract, this page its
        print-out.
        Generated code computes with {_words(NATIVE)}; a node of any other dtype, or in a form that its lowering
        refuses, runs as a [library node](library-nodes.md).
        """,
        "## Pointwise",
        "Shapes broadcast; dtypes never do (capture inserts `cast`). All of these fuse into whatever is beside them.",
        _table(
            ("kind", "operators"),
            [
                ("one input", _words(UNARY)),
                ("two inputs", _words(BINARY)),
                ("comparisons, result bool", _words(COMPARE)),
            ],
        ),
        "## Activations and everything else",
        _table(
            ("operator", "computes", "becomes", "not in this form"),
            [(f"`{name}`", text, _becomes(name), "; ".join(_refusals(name))) for name, text in described.items()],
        ),
        "## From ATen",
        f"{ruled} overloads have a rule in `frontend/torch/aten/*.py`. Others are decomposed by torch, as far as that "
        "reaches this set, or become library nodes.",
        _table(
            ("family", "overloads"),
            [(f"`aten/{family}.py` ({len(names)})", _words(names)) for family, names in sorted(families.items())],
        ),
        "## How many of PyTorch's own samples pass",
        f"""
        Of the operators for which PyTorch keeps samples (`OpInfo`), {sweep["operators"]} become native code, {partly}
        of them in some forms only. `make test` compiles {sweep["samples"]:,} samples ({by_dtype}), chosen to differ
        from each other, and compares every result with eager's: all pass. `make test-slow` tries all samples.
        [opinfo.txt](../tests/goldens/codegen/opinfo.txt) names the operators and dtypes.
        """,
    )


def _becomes(op: str) -> str:
    from strop.graph.operators import ACTIVATIONS
    from strop.loops.lower import LOWERINGS, VIEW_MAPS
    from strop.loops.lower.graph import SOURCES

    if op in VIEW_MAPS:
        return "an index map: nothing moves"
    if op in SOURCES:
        return "an expression where it is read"
    if op in ACTIVATIONS or op in ("where", "cast"):
        return "a pointwise expression"
    if op in LOWERINGS:
        return f"nests (`lower/{LOWERINGS[op].__module__.rpartition('.')[2]}.py`)"
    leaves = {"input": "the caller's memory", "param": "the caller's memory", "item": "one of several buffers"}
    return leaves.get(op) or {"constant": "a literal, or data in the code", "aten": "a library call"}[op]


def _refusals(op: str) -> list[str]:
    """What the lowering's check says no to, read from its source."""
    from strop.loops.lower import CHECKS

    check = CHECKS.get(op)
    return [] if check is None else list(dict.fromkeys(_reasons(check, op, set())))


def _reasons(function: Callable[..., Any], op: str, seen: set[str]) -> Iterator[str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    seen.add(function.__name__)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        if call.func.id == "no":
            yield _template(call.args[0], op)
        other = getattr(inspect.getmodule(function), call.func.id, None)
        if inspect.isfunction(other) and other.__module__ == function.__module__ and call.func.id not in seen:
            yield from _reasons(other, op, seen)


def _template(text: ast.expr, op: str) -> str:
    """An f-string with its holes as `…`, the operator's own name filled in."""
    if isinstance(text, ast.Constant):
        return str(text.value)
    parts = text.values if isinstance(text, ast.JoinedStr) else []
    names = {"node.op": op}
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else names.get(ast.unparse(part.value), "…") for part in parts
    )


#: what the levels of passes are called on the page, and what is said about each
_LEVELS = {
    "graph": ("The operator graph", """
        Level 1 (`graph/passes/rewrites.py`). A family of rules is applied until none of them applies; `at` applies one
        rule at one node."""),
    "lowering": ("How nodes are lowered", """
        Level 2 (`schedule/lowering.py`). A node that no pass names is computed by the sums that define it."""),
    "constraints": (
        "What planners have to keep to",
        """
        `schedule/constraints.py`. These change no nest: they say what later planners may not decide otherwise.""",
    ),
    "nests": ("Nests that meet, and where tensors lie", """
        Level 3 and 4 (`loops/passes/fusion.py`, `loops/passes/layouts.py`, `loops/passes/compute_at.py`). Layouts are
        compositions of the steps in `loops/layout.py`: split, reorder, fuse, pad, unfold."""),
    "loops": ("The loops of one nest", """
        Level 4 (`loops/passes/primitives.py`, `loops/passes/blocking.py`, `loops/passes/packing.py`). Every schedule is
        a list of these. `print(session.nests)` shows them below each nest that they made."""),
    "windows": ("Nests that take turns", "Level 4 (`schedule/sliding_window.py`)."),
    "memory": ("Places in memory", "Level 4 (`schedule/memory.py`)."),
}  # fmt: skip


def passes() -> str:
    """Every pass, by the level of what it transforms."""
    from strop.core.passes import LEVELS, Pass
    from strop.schedule.program import PASSES

    names = [module.__name__ for module in PASSES]
    titles = ("pass", "from", "to", "")
    sections = []
    for level in LEVELS:
        title, text = _LEVELS[level]
        found = [kind for kind in Pass.registry.values() if kind.level == level and kind.__module__ in names]
        kinds = sorted(found, key=lambda kind: (names.index(kind.__module__), inspect.getsourcelines(kind)[1]))
        sections += [f"## {title}", text, _table(titles, [_pass_row(kind) for kind in kinds])]
    return _page(
        "Passes",
        """
        A program is a captured graph and a list of passes (`schedule/program.py`): nothing else changes it, and
        replaying the list (`session.history`) makes the same code again. A pass is a value. It prints as text that
        parses back, its `check` says whether it applies and why not, and it leaves what it was given alone.
        `session.apply` takes more of them, and `session.why` says why one is refused.
        """,
        *sections,
    )


def _pass_row(kind: Any) -> tuple[str, ...]:
    change, _, details = inspect.getdoc(kind).partition("\n\n")
    before, _, after = change.partition("→")
    written = f"{kind.title}{{{' '.join(f'{f.name}=…' for f in dataclasses.fields(kind))}}}"
    return f"`{written}`", f"`{_joined(before)}`", f"`{_joined(after)}`", _joined(details)


def problems() -> str:
    """Every problem code."""
    from strop.core.codes import CODES

    sections = [f"## {code}: {known.title}\n\n{textwrap.fill(known.text, 120)}" for code, known in CODES.items()]
    return _page("Problems", "What `strop explain CODE` prints.", *sections)


def command_line() -> str:
    """The help of every command."""
    import typer.main

    from strop.cli import app

    os.environ["COLUMNS"] = "110"
    group: Any = typer.main.get_command(app)
    sections = []
    for name in ("", *group.commands):
        command = group.commands[name] if name else group
        context = command.make_context(f"strop {name}".strip(), [], resilient_parsing=True)
        text = re.sub(r"[ \t]+$", "", command.get_help(context), flags=re.MULTILINE).strip()
        sections.append(f"## {f'strop {name}'.strip()}\n\n```text\n{text}\n```")
    return _page("The command line", "What `strop --help` and `strop COMMAND --help` print.", *sections)


def onnx() -> str:
    """Which ONNX operators there are functions for, and how many of ONNX's own tests pass."""
    from onnx import defs

    from strop.frontend.onnx.ops import NEWEST, OLDEST, operators

    counts = json.loads((DOCS / "onnx-suite.json").read_text(encoding="utf-8"))
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
        f"### {domain or 'ai.onnx'}\n\n{_table(('operator', 'opsets', 'file'), found)}"
        for domain, found in sorted(domains.items())
    ]
    passed, tests, usual = counts["passed"], counts["tests"], counts["usual"]
    return _page(
        "ONNX",
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
        *_onnx_models(),
        "## Files that are not trusted",
        """
        Names, types, shapes, sizes and paths are checked before anything is computed: damaged, truncated, circular and
        wrongly typed files, results larger than memory, external data outside the model's folder (through `..`,
        absolute paths or links) end in a `Problem` with a code and the node. `pytest
        tests/frontend/onnx/test_refusals.py tests/frontend/onnx/test_fuzz.py` holds each of them to seconds and bounded
        memory, on mutated files too.
        """,
        "## Operators",
        f"Defined by ONNX in terms of others, and interpreted that way: {_words(defined) or 'none'}.",
        f"Not covered: {_words(missing) or 'none'}.",
        *sections,
    )


def _onnx_models() -> list[str]:
    """Trained models from PyPI wheels against ONNX Runtime, as last measured."""
    rows = json.loads((DOCS / "onnx-models.json").read_text(encoding="utf-8"))
    ratios = [row["ratio"] for row in rows]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    cells = [
        (f"`{row['name']}`", row["package"], row["file"], str(row["operators"]), f"{row['strop_ms']:.3g}",
         f"{row['onnxruntime_ms']:.3g}", f"{row['ratio']:.2f}×", f"{row['error']:.0e}", f"{row['compile_s']:.0f} s")
        for row in rows
    ]  # fmt: skip
    slow = _words([row["name"] for row in rows if row["ratio"] < 0.9]) or "none"
    return [
        f"""
        Models that ship inside wheels on PyPI, at their usual shapes, one thread each, calls of both alternating, by
        the calling thread's clock: geometric mean {mean:.2f}× ONNX Runtime's speed over {len(rows)} models; under 0.9×:
        {slow}. The difference is the largest of any output, relative to that output's scale; then comes the processor
        time that compiling took. `python benchmarks/onnx_models.py --write` fetches and measures them;
        `make test-models` only compares.
        """,
        _table(
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


def scan() -> str:
    """How to look for what could run as a graph, and every rule by its code."""
    from strop.source.facts import Finding, Function, Place, Scan
    from strop.source.hybridize.torch_operations import WORTH_SAYING
    from strop.source.project import settings
    from strop.source.rules import all_rules

    finding = Finding("", "", Place("", 1), "", "", "safe")
    layout = Scan([Function("", "", 0)], [finding]).to_json()
    example = inspect.cleandoc(settings.__doc__).partition("\n\n")[2]
    rows = [(f"[{code}](rules.md#{_anchor(rule)})", f"`{rule.name}`", rule.title) for code, rule in all_rules().items()]
    return _page(
        "Scanning and fixing",
        """
        `strop scan` reads a project without importing or running it, and says for every function whether it can and
        should run as a graph (`torch.compile`, `tf.function`), why, under which assumptions, and where graphs would
        break. `strop fix` makes the edit, `strop verify` runs the code both ways and compares.
        """,
        "```text\n"
        "strop scan src                          the ten findings that are worth most; --all prints every one\n"
        "strop scan src --verdicts               and the verdict of every function\n"
        "strop scan src --statistics             how often each rule and reason occurs\n"
        "strop scan src --json                   everything, for machines; also --format sarif, github, html\n"
        "strop scan src --write-baseline b.json  remember what is found today …\n"
        "strop scan src --baseline b.json        … and report only what is new\n"
        "strop scan src --changed-since main     only on lines that differ from a git revision\n"
        "strop fix src                           the edits as a diff\n"
        "strop fix src --write                   apply the safe ones; --unsafe also those that rest on an assumption;\n"
        "                                        kernels are run first, and written if equal (--unproven: all)\n"
        "strop verify train.py:main              run it eagerly and as graphs, compare, count, time\n"
        "strop verify tests --tests              the same with the project's own tests\n"
        "strop explain STR161                    what a code means\n"
        "```",
        "## Verdicts",
        _table(
            ("verdict", "meaning"),
            [
                ("`to_graph`", "it can run as a graph, and gains by it"),
                ("`to_eager`", "it is a graph function, and would be better off without"),
                ("`add_signature`", "a graph function whose `input_signature` can be told"),
                ("`lift_primitive`", "a graph function that is traced anew for every value of a Python number"),
                ("`no_benefit`", "a graph would gain nothing"),
                ("`keep`", "as it should be, or there is a reason to leave it"),
                ("`unknown`", "it cannot be determined; the reasons say why"),
            ],
        ),
        """
        Each comes with its safety: `safe`, `safe-if` (the assumptions are listed, such as a parameter that is taken
        for a tensor by the function's name; `--no-speculate` assumes nothing by names) or `unsafe` (the reasons say
        what would change). A fact that cannot be determined is `null` in JSON.
        """,
        """
        A function that draws random numbers is `safe-if`, seeded or not: the stateful random operations of TensorFlow
        begin streams of their own in a graph, and Inductor draws other numbers than eager PyTorch. Stateless
        operations, `tf.random.Generator`, Keras' own layers and a `torch.Generator` draw the same.
        """,
        "## What is proposed",
        """
        Verdicts are given function by function; advice is given per model. One proposal is made for a model or a step:
        the outermost that holds together as one graph. A model that a script makes and calls again and again is
        compiled where it is made (`model.compile()`); a model of a library, by `@torch.compile` on the outermost
        class's `forward`; a step that a loop calls, as a function, with the model inside.
        """,
        """
        Models of installed packages are followed: packages that import PyTorch are read from the environment beside the
        project (`.venv`, `venv`, `env`), from the active one, or from where Strop is installed, as far as a model uses
        them. What is not found there is an assumption that is named. Libraries that build models from tables and
        configurations (timm, torchvision, transformers, diffusers) are not read; their models are offered to Strop's
        backend where they are only run, on the assumption that they can be traced. A model with more than ten
        assumptions is left alone.
        """,
        """
        What a graph is worth depends on what the model is for. A file that calls `backward` trains, and dropout is dear
        in a compiled training step; a model that no calling file trains is only run. With `--with-strop` such a model
        is compiled by Strop (`model.compile(backend="strop")`), otherwise by PyTorch's own backend.
        """,
        f"""
        Never proposed: what runs once (constructors, initialisers, factories, loaders, what only module-level code
        outside of loops calls), five operations or fewer, tests, datasets and what loads data, optimizers, what is
        traced, scripted or exported (`torch.jit`, `torch.onnx`, `torch.export`, `torch.fx`) with everything inside of
        it, and what is compiled already, also behind a flag. Graph breaks are reported where something is compiled, or
        would be worth {WORTH_SAYING} times or more but for a few breaks.
        """,
        f"""
        Each finding has an estimate of how many times faster its code becomes, with the reason in words. For graphs it
        counts the operations of a function and of all that it calls: element-wise operations, reductions and norms
        fuse; products, convolutions, attention kernels and recurrent layers are library calls with or without a graph.
        Loops count several times. The figures were fitted to steps that were measured on CPUs, where training networks
        of convolutions and plain transformers gains nothing: nothing is said of those. Those of `--target cuda` are
        guesses. Below {WORTH_SAYING} times nothing is proposed; kernels with a smaller estimate are reported when their
        code is selected. Findings are sorted by `worth`, the estimate of what they save in the same units.
        """,
        """
        Of a graph and the kernels (STR7xx) that would be inside of it, the one that is worth more is proposed, and its
        message names the other: a kernel of Strop's is not used inside of a graph. Attention that has a fused branch
        already is left alone. Versions that the project pins (pyproject.toml, setup.py, setup.cfg, requirements and
        environment files beside or above the scanned files) are read: with `torch<2` there is no `torch.compile`, and
        one line says so.
        """,
        "## JSON",
        """
        `strop scan --json` prints `functions`, every function with its facts, verdict, safety, reasons (code, message,
        file, line and the chain of calls that leads there), assumptions and signature; `findings`, what may be changed,
        each with its estimate, the reason for it, its assumptions and its worth; `skipped`; and `notes`, such as a
        pinned version that rules something out. The other formats hold the findings.
        """,
        f"A function: {_words(layout['functions'][0])}.",
        f"A finding: {_words(layout['findings'][0])}.",
        "## Exit codes",
        _table(
            ("code", "`scan`", "`fix`", "`verify`"),
            [
                ("0", "nothing found", "nothing to do, or done with `--write`", "equal results"),
                ("1", "findings", "edits were shown, not written", "different results"),
                ("2", "wrong call, or nothing could be read", "the same", "the code could not be run"),
            ],
        ),
        """
        A file that cannot be read (syntax errors, Python 2, wrong encodings, nesting without end, generated files of
        50,000 lines) is reported as skipped with the reason, and the rest is scanned; the exit code is 2 only when
        nothing is left.
        """,
        "## Silencing",
        """
        `# strop: ignore[STR161]` at the end of a line, or alone on the line above, silences a code there;
        `# strop: ignore-file[STR161]` in the whole file; without brackets, every code. A comment that silences nothing
        is reported (STR196), and `strop fix` deletes it.
        """,
        "## Settings",
        f"In `pyproject.toml`; what is given on the command line goes first.\n\n```toml\n{example}\n```",
        "## In CI",
        "```yaml\n# .pre-commit-config.yaml\n- repo: https://example.org/strop  # where you have it\n  rev: v0.1.0\n"
        "  hooks:\n  - id: strop-scan\n```",
        """
        On GitHub, `strop scan --format github --changed-since origin/main` annotates the lines of a pull request, and
        `--format sarif -o strop.sarif` is for code scanning. With `--changed-since` or a baseline the exit code says
        whether there is anything new: the gate "no new graph breaks".
        """,
        "## How it scales",
        """
        Files that imports connect are interpreted together; groups that know nothing of each other go to several
        processes (`--jobs`). Results are stored under a digest of the files, the settings and Strop's own code: what
        did not change is not looked at again (`--no-cache` looks anyway).
        """,
        "## Verification",
        """
        `strop verify` executes your code, and says so. It runs it in processes of their own, once with graphs switched
        off and once with them: three calls from the same seed are compared (results, models by their parameters,
        printed text but for its numbers), later calls are timed by the wall clock and by the processor's. Graphs, graph
        breaks and retraces are counted. A time limit and a memory cap end a run with everything that it started. If the
        results differ, eager mode runs once more, to tell code that differs from itself. `--fix` compares with an
        edited copy instead of the files as they are; `--python` names the Python that has your packages.
        """,
        """
        With `--tests`, pytest runs in both versions, each test from the same seed. Not only outcomes are compared: the
        results of outermost modules (PyTorch's and Keras's), the losses that `backward` is called on, and what
        `torch.testing.assert_close`, `torch.allclose` and `numpy.testing.assert_allclose` were given are recorded, and
        a test that passes with other numbers is a difference. How many tensors were compared is said.
        """,
        *_loops(),
        *_proposals(),
        *_truth(),
        "## Rules",
        _table(("code", "name", "what"), rows),
    )


def _loops() -> list[str]:
    """What the edits were worth on the loops of examples/loops, as benchmarks/hybridize.py kept it."""
    rows = json.loads((DOCS / "hybridize.json").read_text(encoding="utf-8"))
    speeds = [row["speedup"] for row in rows]
    mean, geometric = sum(speeds) / len(speeds), math.exp(sum(map(math.log, speeds)) / len(speeds))
    cells = [
        (f"`{row['loop']}`", str(row["edits"]), "equal" if row["equal"] else "different", f"{row['eager_ms']:.1f}",
         f"{row['graph_ms']:.1f}", f"{row['speedup']:.2f}×", str(row["breaks"]))
        for row in rows
    ]  # fmt: skip
    return [
        f"""
        On the loops of `examples/loops`, one thread, what `strop fix --write` does to them, as `strop verify` sees it:
        mean speed-up {mean:.2f}× (geometric mean {geometric:.2f}×). The times are those of a whole run of the loop in
        its steady state, as it was written and as it was fixed: the first calls, which trace and compile, are not in
        them. `python benchmarks/hybridize.py --write` measures anew.
        """,
        _table(("loop", "edits", "results", "eager, ms", "graphs, ms", "faster", "graph breaks"), cells),
    ]


def _proposals() -> list[str]:
    """What proposals gain, as benchmarks/proposals.py kept it."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import proposals_table

    return proposals_table.parts(DOCS, _table)


def _truth() -> list[str]:
    """How the cases of tests/source stand up to their judges, as benchmarks/hybridize_truth.py kept it."""
    known = json.loads((DOCS / "hybridize-truth.json").read_text(encoding="utf-8"))
    torch, tensorflow = known["torch"], known["tensorflow"]
    return [
        "## How true it is",
        f"""
        Every verdict of the {torch["cases"] + tensorflow["cases"]:,} programs in `tests/source` was put to a judge;
        `python benchmarks/hybridize_truth.py torch --write` (and `tensorflow`) does it again.
        """,
        f"""
        PyTorch {torch["version"]}: Dynamo compiled {torch["cases"]:,} functions, of which {torch["breaking"]} break
        graphs. {torch["agree"]} verdicts ({torch["agree"] / torch["cases"]:.1%}) agree with it; {torch["unknown"]} are
        `unknown` ({torch["unknown"] / torch["cases"]:.1%}); of {torch["safe"]} functions that are called `safe`,
        {torch["safe_that_break"]} break.
        """,
        f"""
        TensorFlow {tensorflow["version"]}: {tensorflow["agree"]:,} of {tensorflow["facts"]:,} facts, verdicts and
        reasons of {tensorflow["cases"]} programs are as their authors stated them. {tensorflow["safe_changes"]}
        changes in {tensorflow["programs_run"]} programs are called `safe`; each was made and run three times beside
        the program as it was, and {tensorflow["programs_that_differ"]} programs gave other results, text, files or
        values of variables. The three calls take the program's arguments, other values, and one row more; results must
        be of the same types, too.
        """,
        *_tensorflow_packages(),
    ]


def _tensorflow_packages() -> list[str]:
    """TensorFlow code that nobody here wrote, as benchmarks/tensorflow_packages.py kept it."""
    rows = json.loads((DOCS / "tensorflow-packages.json").read_text(encoding="utf-8"))
    run, different = sum(row["run"] for row in rows), sum(len(row["different"]) for row in rows)
    cells = [
        (row["package"], f"{row['functions']:,}", str(row["safe"]), str(row["edits"]), str(row["run"]),
         str(len(row["different"])))
        for row in rows
    ]  # fmt: skip
    return [
        f"""
        Code that nobody here wrote: `make test-packages-tensorflow` takes wheels from PyPI, and runs the functions that
        the scan calls safe to change, in eager mode and as graphs, three calls each with arguments that are made from
        what the scan knows of parameters. {run} functions of {len(rows)} packages were run, {different} gave something
        else. The rest could not be run by itself: functions in functions, modules that need what is not installed,
        arguments that are no tensors. An edit is only proposed where a loop over data or steps calls the function, so
        there are few in libraries.
        """,
        _table(("package", "functions", "safe to change", "edits", "run", "different"), cells),
    ]


def adopt() -> str:
    """The language of the rules for kernels, and every rule."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import adopt_page

    return _page("Adopting faster kernels", *adopt_page.parts(_table))


def extending() -> str:
    """How to extend Strop, with examples that the tests run."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import extending_page

    return _page("Extending Strop", *extending_page.parts(_table))


def packages() -> str:
    """What models of other packages gave before and after."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import packages_page

    return _page("Packages that nobody here wrote", *packages_page.parts(DOCS, _table))


def rules() -> str:
    """The docstring of every rule."""
    from strop.source.rules import all_rules

    sections = []
    for rule in all_rules().values():
        sections.append(f"## {rule.code} {rule.name}\n\n**{rule.title}.**\n\n{rule.text}")
    return _page("Rules", "What `strop explain CODE` prints; the [overview](scan.md#rules) lists them.", *sections)


def _anchor(rule: Any) -> str:
    return f"{rule.code} {rule.name}".lower().replace(" ", "-")


def library_nodes() -> str:
    """What runs through ATen kernels in the zoo, and why."""
    from strop import zoo
    from strop.core.journal import Journal
    from strop.frontend.torch.export import capture
    from strop.graph.passes.simplify import simplify
    from strop.loops.lower.graph import lower

    used: dict[tuple[str, str], dict[str, int]] = {}
    for name in zoo.NAMES:
        model, inputs = zoo.load(name)
        for call in lower(simplify(capture(model, inputs).graph, Journal())).library:
            where = used.setdefault((call.target, call.why), {})
            where[name] = where.get(name, 0) + 1
    rows = [
        (f"`{target}`", why, ", ".join(f"{name} ({count})" for name, count in where.items()))
        for (target, why), where in sorted(used.items())
    ]
    found = _table(("call", "reason", "networks (calls)"), rows) if rows else "None: every operator of it is compiled."
    return _page(
        "Library nodes",
        """
        An operator without a lowering runs through its own ATen kernel, between native steps, on views of the arena.
        Every model runs that way, and the journal says how many calls there are and why: `strop compile MODEL`
        counts them, `--explain` gives each reason, `--profile` their time. A call costs what the kernel costs plus a
        few microseconds, and it ends fusion: what is before and after it goes through memory.
        """,
        "## In the zoo",
        f"Captured from {len(zoo.NAMES)} networks: {', '.join(zoo.NAMES)}.",
        found,
        "## In general",
        _table(
            ("kind", "why"),
            [
                (
                    "random numbers (`dropout` in training, `rand`, `bernoulli`)",
                    "the order of torch's generator is kept",
                ),
                (
                    "sorting more than 32 elements, top-k, `unique`, `nonzero`",
                    "no loop nest of known extents describes them well",
                ),
                (
                    "linear algebra (`svd`, `inverse`), FFTs, complex numbers",
                    "LAPACK and the FFT are libraries already",
                ),
                (
                    "float16, bfloat16, int16",
                    "generated code does not compute with these dtypes yet; int8 and uint8 are read, moved, converted "
                    "and, as int32, computed natively",
                ),
            ],
        ),
        "## Half precision",
        """
        Library calls are eager's own kernels: a program that consists of them cannot be faster than the original
        module. So the multiply-adds and bytes of all operators are counted when a PyTorch model is captured, and where
        more than three quarters of them are in float16 or bfloat16, the original module runs. The journal has the
        share; nothing is timed. An island of half precision in a float32 model stays a few library calls between
        native code. ONNX files have no original module to fall back to: what they compute in half precision are
        always library calls.
        """,
    )


PAGES: dict[str, Callable[[], str]] = {
    "operators.md": operators,
    "passes.md": passes,
    "problems.md": problems,
    "command-line.md": command_line,
    "onnx.md": onnx,
    "scan.md": scan,
    "rules.md": rules,
    "adopt.md": adopt,
    "extending.md": extending,
    "packages.md": packages,
}
ZOO_PAGES: dict[str, Callable[[], str]] = {"library-nodes.md": library_nodes}


def _page(title: str, *parts: str) -> str:
    texts = (textwrap.fill(_joined(part), 120) if part.startswith("\n") else part for part in parts)
    return "\n\n".join((f"# {title}", _MADE, *texts)) + "\n"


def _joined(text: str) -> str:
    return " ".join(text.split())


def _table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [titles, tuple("---" for _ in titles), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _words(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a page would change")
    parser.add_argument("--zoo", action="store_true", help="the pages that need the zoo, too")
    given = parser.parse_args()
    stale = 0
    for name, make in {**PAGES, **(ZOO_PAGES if given.zoo else {})}.items():
        path, text = DOCS / name, make()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        print(f"{'stale' if given.check else 'written'}: docs/{name}")
        if not given.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 1 if given.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
