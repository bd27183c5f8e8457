"""`strop scan` and `strop fix`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strop.cli.console import Json, Mode, Quiet, app, err, given, needs, out, print_json
from strop.core.cache import Cache
from strop.core.options import Options
from strop.core.problem import Problem
from strop.source.facts import Finding, Scan

if TYPE_CHECKING:
    from strop.source.fix.edit import Refused
    from strop.source.fix.fixing import Fixed
    from strop.source.project.settings import Settings


class Format(str, Enum):
    text = "text"
    json = "json"
    sarif = "sarif"
    github = "github"
    html = "html"


_BEST = 10  #: findings that are printed unless `--all` is given
_SECONDS = 180.0  #: to run the kernels of a file

Paths = Annotated[list[str], typer.Argument(help="Files and folders to read; they are never imported or run.")]
Select = Annotated[list[str] | None, typer.Option(help="Only codes that begin so, such as STR15; repeatable.")]
Ignore = Annotated[list[str] | None, typer.Option(help="No codes that begin so; repeatable.")]
Exclude = Annotated[list[str] | None, typer.Option(help="Names or paths to leave out; repeatable.")]
Speculate = Annotated[
    bool | None, typer.Option("--speculate/--no-speculate", help="Take names such as `train_step` at their word.")
]
Baseline = Annotated[str | None, typer.Option(help="Report only what this baseline does not know.")]
Since = Annotated[str | None, typer.Option(metavar="REV", help="Report only lines changed since a git revision.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Processes to scan with (default: one per processor).")]
Cached = Annotated[bool | None, typer.Option("--cache/--no-cache", help="Reuse earlier results (default).")]
Rules = Annotated[
    list[str] | None, typer.Option(metavar="DIR", help="Also the kernel rules in this folder; repeatable.")
]
TargetName = Annotated[
    str | None, typer.Option("--target", help="Where the kernels are to run: cpu (default) or cuda.")
]
WithStrop = Annotated[
    bool | None,
    typer.Option(
        "--with-strop/--without-strop", help="Also Strop's own kernels and backend, on which the program then depends."
    ),
]
Config = Annotated[str | None, typer.Option(help="Read [tool.strop] from this file instead of pyproject.toml.")]


@app.command()
def scan(
    paths: Paths,
    format: Annotated[Format, typer.Option(help="How to print what was found.")] = Format.text,
    json: Json = False,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write the report to this file.")] = None,
    verdicts: Annotated[bool, typer.Option("--verdicts", help="Print every function's verdict and reasons.")] = False,
    statistics: Annotated[bool, typer.Option("--statistics", help="Count rules, verdicts and reasons.")] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Print every finding; without it, the ten that are worth most.")
    ] = False,
    select: Select = None,
    ignore: Ignore = None,
    exclude: Exclude = None,
    speculate: Speculate = None,
    baseline: Baseline = None,
    write_baseline: Annotated[str | None, typer.Option(help="Store what is found today in this file.")] = None,
    changed_since: Since = None,
    jobs: Jobs = None,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Scan on a Ray cluster: its address, or auto.")
    ] = None,
    cache: Cached = None,
    rules: Rules = None,
    target: TargetName = None,
    with_strop: WithStrop = None,
    config: Config = None,
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit with 0 even if something is found.")] = False,
    quiet: Quiet = False,
) -> None:
    """Say what could run as a graph, and why not.

    Exit codes: 0 nothing found, 1 findings, 2 a wrong call, or nothing that was given could be read.
    """
    chosen = Format.json if json else format
    Mode.json = chosen is Format.json
    known = None if write_baseline else baseline
    settings = _settings(paths, config, select, ignore, exclude, speculate, known, rules, target, with_strop)
    silent = quiet or (output is None and chosen is not Format.text)
    found = _look(paths, settings, jobs, cache, silent, changed_since, ray)()
    if write_baseline is not None:
        from strop.source.report.baseline import write_baseline as write

        count = write(write_baseline, found.findings)
        if not quiet:
            out.print(f"{count} finding{'s' if count != 1 else ''} stored in {write_baseline}", markup=False)
        raise typer.Exit(_code(found, zero=True))
    _print_report(found, chosen, output, verdicts, statistics, quiet, None if every or output else _BEST)
    raise typer.Exit(_code(found, exit_zero))


@app.command()
def fix(
    paths: Annotated[
        list[str], typer.Argument(help="Files and folders to edit; --write runs those that kernels are proposed for.")
    ],
    diff: Annotated[bool, typer.Option("--diff", help="Print the edits and change nothing (default).")] = False,
    write: Annotated[bool, typer.Option("--write", help="Apply the safe edits.")] = False,
    unsafe: Annotated[bool, typer.Option("--unsafe", help="Also the edits that rest on an assumption.")] = False,
    unproven: Annotated[
        bool, typer.Option("--unproven", help="Also kernels that could not be run beside the old code.")
    ] = False,
    entry: Annotated[
        str, typer.Option(metavar="FUNCTION", help="What returns a model and its inputs to run kernels with.")
    ] = "",
    python: Annotated[
        str, typer.Option(help="The Python that has the project's packages.", show_default="this one")
    ] = sys.executable,
    timeout: Annotated[
        float | None, typer.Option(min=1, help=f"Seconds to run the kernels of one file (default: {_SECONDS:g}).")
    ] = None,
    json: Json = False,
    select: Select = None,
    ignore: Ignore = None,
    exclude: Exclude = None,
    speculate: Speculate = None,
    baseline: Baseline = None,
    changed_since: Since = None,
    jobs: Jobs = None,
    cache: Cached = None,
    rules: Rules = None,
    target: TargetName = None,
    with_strop: WithStrop = None,
    config: Config = None,
    quiet: Quiet = False,
) -> None:
    """Edit the sources so that what can run as a graph does, and faster kernels are used.

    With `--write`, kernels (STR7…) are written only after the edited code was run beside the old code, in a process of
    its own, and gave the same. Exit codes: 0 nothing to do, or done; 1 edits were shown and not written; 2 a wrong call
    or unreadable input.
    """
    from strop.cli.proof import print_proofs, print_to_prove
    from strop.source.fix import fixing
    from strop.verify import as_graphs, prove

    Mode.json = json
    if diff and write:
        raise Problem("STR001", "`--diff` changes nothing and `--write` does", help="give one of the two")
    for option, value in (("--unproven", unproven or None), ("--entry", entry or None), ("--timeout", timeout)):
        needs(option, value, "--write", write)
    settings = _settings(paths, config, select, ignore, exclude, speculate, baseline, rules, target, with_strop)
    look = _look(paths, settings, jobs, cache, quiet or json, changed_since)
    proofs: list[prove.Proof] = []
    if write:
        limits = as_graphs.Limits(timeout=timeout or _SECONDS)
        ways = prove.Ways(entry, limits, python, lambda file: _say_running(file, quiet or json))
        done, proofs = prove.fix_proven(look, ways, unsafe=unsafe, unproven=unproven)
        done.plan.write()
    else:
        done = fixing.fix(look, unsafe=unsafe)
    if json:
        told = {"written": write, "applied": _rows(done.applied), "refused": _refusals(done.refused)}
        shown = {"to_prove": prove.to_prove(done)} if not write else {"proofs": [one.to_json() for one in proofs]}
        print_json({**told, **shown, "files": done.files, "diff": done.plan.diff()})
    elif not quiet:
        print_proofs(proofs, written=done.applied)
        _print_fixes(done, written=write)
        if not write:
            print_to_prove(prove.to_prove(done))
    raise typer.Exit(1 if done.files and not write else _code(done.left, zero=True))


def _say_running(file: str, silent: bool) -> None:
    if not silent:
        err.print(f"running the kernels of {file} in both versions", markup=False)


def _settings(
    paths: list[str],
    config: str | None,
    select: list[str] | None,
    ignore: list[str] | None,
    exclude: list[str] | None,
    speculate: bool | None,
    baseline: str | None,
    rules: list[str] | None,
    target: str | None,
    with_strop: bool | None,
) -> Settings:
    from strop.source.project.settings import Settings

    for path in paths:
        if not os.path.lexists(path):
            raise Problem("STR001", f"there is no file or folder `{path}`")
    lists = {"select": select, "ignore": ignore, "exclude": exclude, "rules": rules}
    chosen: dict[str, Any] = {name: tuple(value) for name, value in lists.items() if value}
    said = {"speculate": speculate, "baseline": baseline, "target": target, "with_strop": with_strop}
    return Settings.of(paths, config=config, **said, **chosen)


def _look(
    paths: list[str],
    settings: Settings,
    jobs: int | None,
    cache: bool | None,
    silent: bool,
    since: str | None,
    ray: str | None = None,
) -> Callable[[], Scan]:
    """A scan with a progress bar, to be made as often as needed."""
    from strop.core.tasks import available_processors
    from strop.source.scan_project import scan_project

    use_cache = Options.from_environment(**given(cache=cache)).cache

    def look() -> Scan:
        with _progress(silent) as progress:
            return scan_project(
                paths,
                settings,
                jobs=jobs or available_processors(),
                cache=Cache() if use_cache else None,
                progress=progress,
                changed_since=since,
                ray=ray,
            )

    return look


@contextmanager
def _progress(silent: bool) -> Iterator[Callable[[int, int], None]]:
    if silent or not err.is_terminal:
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("scanning"), BarColumn(), MofNCompleteColumn(), TextColumn("lines"), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("scan", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print_report(
    found: Scan, chosen: Format, output: str | None, verdicts: bool, statistics: bool, quiet: bool, limit: int | None
) -> None:
    from strop.source import report as reports

    if chosen is Format.text:
        colour = output is None and out.is_terminal
        report = (
            reports.statistics(found)
            if statistics
            else reports.text(found, colour=colour, verdicts=verdicts, limit=limit)
        )
    else:
        report = reports.FORMATS[chosen.value](found)
    if output is None:
        if not (quiet and chosen is Format.text and not found.findings):
            typer.echo(report, nl=False)
        return
    try:
        Path(output).write_text(report, encoding="utf-8")
    except OSError as error:
        raise Problem("STR001", f"{output} cannot be written: {error.strerror or error}") from None
    if not quiet:
        from strop.source.report.text import summary

        err.print(f"{summary(found)}: see {output}", markup=False)


def _print_fixes(done: Fixed, *, written: bool) -> None:
    if not written:
        typer.echo(done.plan.diff(), nl=False)
    for refused in done.refused:
        err.print(f"{refused.finding.place} {refused.finding.code} not applied: {refused.why}", markup=False)
    count, files = len(done.applied), len(done.files)
    if not files:
        err.print("nothing to change")
    elif written:
        err.print(f"{count} edit{'s' if count != 1 else ''} applied in {files} file{'s' if files != 1 else ''}")


def _rows(findings: list[Finding]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = Scan(findings=findings).to_json()["findings"]
    return rows


def _refusals(refused: list[Refused]) -> list[dict[str, Any]]:
    rows = _rows([one.finding for one in refused])
    return [{**row, "why": one.why} for row, one in zip(rows, refused)]


def _code(found: Scan, zero: bool = False) -> int:
    if found.skipped and not found.files:
        return 2
    return 0 if zero or not found.findings else 1
