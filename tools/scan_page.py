"""docs/scan.md: how to look for what could run as a graph, what the edits were worth, every rule by its code."""

from __future__ import annotations

import inspect
import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import proposals_table

Table = Callable[[tuple[str, ...], list[tuple[str, ...]]], str]
Words = Callable[[Any], str]


def parts(docs: Path, table: Table, words: Words) -> list[str]:
    """How to look for what could run as a graph, and every rule by its code."""
    from strop.source.facts import Finding, Function, Place, Scan
    from strop.source.hybridize.torch_operations import WORTH_SAYING
    from strop.source.hybridize.update_share import NOTICED
    from strop.source.project import settings
    from strop.source.rules import all_rules

    finding = Finding("", "", Place("", 1), "", "", "safe")
    layout = Scan([Function("", "", 0)], [finding]).to_json()
    example = inspect.cleandoc(settings.__doc__).partition("\n\n")[2]
    rows = [(f"[{code}](rules.md#{_anchor(rule)})", f"`{rule.name}`", rule.title) for code, rule in all_rules().items()]
    return [
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
        table(
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
        configurations (timm, torchvision, transformers, diffusers) are not read, and some models have more options than
        the analysis can follow; both are offered to Strop's backend, on the assumption that they can be traced. A model
        with more than ten assumptions is left alone.
        """,
        """
        What a graph is worth depends on what the model is for. A file that calls `backward` trains, and dropout is dear
        in a training step that Inductor compiles; a model that no calling file trains is only run. With `--with-strop`
        models are compiled by Strop (`model.compile(backend="strop")`) and estimated by what that gains, otherwise by
        PyTorch's own backend.
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
        f"""
        What is a part of something larger is weighed as such. A function is compiled where the largest thing that leads
        to a call of it becomes {WORTH_SAYING} times as fast: boxes that overlap are not, beside the network that finds
        them. A fused optimizer is offered unless the models that it updates are known, and its update is less than a
        noticeable part ({NOTICED} times) of their step: so it is in models with attention, recurrence or sums over
        edges, where each weight meets hundreds of rows at a step.
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
        f"A function: {words(layout['functions'][0])}.",
        f"A finding: {words(layout['findings'][0])}.",
        "## Exit codes",
        table(
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

        How fast a cold scan is depends on how much calls what: packages in which everything calls everything are the
        slowest. A function is run again when something that it read has grown; of its statements only those that
        would do something else. By processor time of one core of a Zen 5 (19 November 2026, as `scanned` in
        `tests/packages/judge.py` measures, the other core in use), lines a second, in brackets by the code of that
        morning (imagen-pytorch and torchdyn in the same run, the others in one that also compiled Strop's own files,
        0.15 s): imagen-pytorch 3,122 (2,574), torchdyn 3,214 (3,138), escnn 3,137 (2,331), dalle2-pytorch 3,877
        (3,225), gpytorch 3,935 (3,622), e3nn 3,954 (3,573), x-transformers 4,185 (3,451), alphafold3-pytorch 4,763
        (4,530), compressai 5,662 (4,884), fair-esm 5,990 (5,845), pytorch-lightning 2,840 (306). Of 56 packages that
        were scanned for the first time, most came to 5,000 to 12,000, and these to less than 3,000: opacus 2,474,
        mosaicml 2,124, tensordict 2,065, sentence-transformers 2,533 (1,476 an hour before), and torchao, which did not
        end within 120 seconds. By the code of that morning, and not measured since: ultralytics 1,159.
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
        *_loops(docs, table),
        *proposals_table.parts(docs, table),
        *_truth(docs, table),
        "## Rules",
        table(("code", "name", "what"), rows),
    ]


def _loops(docs: Path, table: Table) -> list[str]:
    """What the edits were worth on the loops of examples/loops, as benchmarks/hybridize.py kept it."""
    rows = json.loads((docs / "hybridize.json").read_text(encoding="utf-8"))
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
        table(("loop", "edits", "results", "eager, ms", "graphs, ms", "faster", "graph breaks"), cells),
    ]


def _truth(docs: Path, table: Table) -> list[str]:
    """How the cases of tests/source stand up to their judges, as benchmarks/hybridize_truth.py kept it."""
    known = json.loads((docs / "hybridize-truth.json").read_text(encoding="utf-8"))
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
        *_tensorflow_packages(docs, table),
    ]


#: what reasons not to run a function have in common
_NOT_RUN = {
    "arguments": "no arguments",
    "object": "a method or",
    "module": "does not come up",
    "name": "no such attribute",
}


def _tensorflow_packages(docs: Path, table: Table) -> list[str]:
    """TensorFlow code that nobody here wrote, as benchmarks/tensorflow_packages.py kept it."""
    rows = json.loads((docs / "tensorflow-packages.json").read_text(encoding="utf-8"))
    run, different = sum(row["run"] for row in rows), sum(len(row["different"]) for row in rows)
    named = "".join(f" (`{one.split(': ')[0]}`)" for row in rows for one in row["different"])
    cells = [
        (row["package"], f"{row['functions']:,}", str(row["safe"]), str(row["edits"]), str(row["run"]),
         str(len(row["different"])))
        for row in rows
    ]  # fmt: skip
    reasons: Counter[str] = Counter()
    for row in rows:
        reasons.update(row["not_run"])
    missing = {what: sum(count for why, count in reasons.items() if start in why) for what, start in _NOT_RUN.items()}
    return [
        f"""
        Code that nobody here wrote: `make test-packages-tensorflow` takes wheels from PyPI, and runs the functions that
        the scan calls safe to change, in eager mode and as graphs, three calls each with arguments that are made from
        what the scan knows of parameters. {run} functions of {len(rows)} packages were run, {different} gave something
        else{named}. A method gets an object of its class, built with arguments that are tried; a function in a function
        is taken out of a call of the one around it; what does not come up with Keras 3 gets Keras 2. The other
        {sum(reasons.values())} could not be run by themselves: for {missing["arguments"]} no arguments were found that
        they take and give tensors for, {missing["object"]} belong to an object or a function that was not made or did
        not call them, {missing["module"] + missing["name"]} are in modules that need what is not installed, and
        {sum(reasons.values()) - sum(missing.values())} end TensorFlow's process or take too long. They run in a process
        with a time limit; where a check of TensorFlow's ends it, its function counts as not run, or as different once
        its eager calls were over. An edit is only proposed where a loop over data or steps calls the function, so there
        are few in libraries.
        """,
        table(("package", "functions", "safe to change", "edits", "run", "different"), cells),
    ]


def _anchor(rule: Any) -> str:
    return f"{rule.code} {rule.name}".lower().replace(" ", "-")
