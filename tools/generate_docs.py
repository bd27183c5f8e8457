"""Writes the pages of docs/ whose tables come from the code; a test fails when they drift.

python tools/generate_docs.py            # operators, passes, problems, command-line, onnx, scan, rules, adopt, …
python tools/generate_docs.py --zoo      # and library-nodes.md, which captures every network of the zoo
python tools/generate_docs.py --check    # exit 1 if a page would change
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
_SWEPT = DOCS.parent / "tests" / "goldens" / "codegen" / "opinfo.txt"
sys.path.insert(0, str(Path(__file__).resolve().parent))  # the larger pages are files beside this one
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
            [
                (f"`frontend/torch/aten/{family}.py` ({len(names)})", _words(names))
                for family, names in sorted(families.items())
            ],
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
        return f"nests (`loops/lower/{LOWERINGS[op].__module__.rpartition('.')[2]}.py`)"
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
    "partition": ("What a training step keeps", """
        `graph/passes/partition.py`. These transform a joint graph of forward and backward (`graph/joint.py`), before
        its halves become programs. The option `partition` takes them as text; they come after the planner's own."""),
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
        Level 4 (`loops/passes/primitives.py`, `loops/passes/loop_modes.py`, `loops/passes/blocking.py`,
        `loops/passes/packing.py`). Every schedule is a list of these. `print(session.nests)` shows them
        below each nest that they made."""),
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
    import onnx_page

    return _page("ONNX", *onnx_page.parts(DOCS, _table, _words))


def scan() -> str:
    """How to look for what could run as a graph, and every rule by its code."""
    import scan_page

    return _page("Scanning and fixing", *scan_page.parts(DOCS, _table, _words))


def adopt() -> str:
    """The language of the rules for kernels, and every rule."""
    import adopt_page

    return _page("Adopting faster kernels", *adopt_page.parts(_table))


def extending() -> str:
    """How to extend Strop, with examples that the tests run."""
    import extending_page

    return _page("Extending Strop", *extending_page.parts(_table))


def packages() -> str:
    """What models of other packages gave before and after."""
    import packages_page

    return _page("Packages that nobody here wrote", *packages_page.parts(DOCS, _table))


def rules() -> str:
    """The docstring of every rule."""
    from strop.source.rules import all_rules

    sections = []
    for rule in all_rules().values():
        sections.append(f"## {rule.code} {rule.name}\n\n**{rule.title}.**\n\n{rule.text}")
    return _page("Rules", "What `strop explain CODE` prints; the [overview](scan.md#rules) lists them.", *sections)


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
