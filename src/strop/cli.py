"""The command line: it parses, calls, prints, and computes nothing of its own.

Exit codes: 0 all well, 1 a check failed, 2 the call or the input was wrong, 70 a bug in Strop, 130 interrupted.
Heavy imports stay inside the commands, so that `strop --help` and `strop explain` start without torch.
"""

from __future__ import annotations

import json as json_text
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from strop.core.cache import Cache
from strop.core.codes import CODES
from strop.core.config import Options
from strop.core.journal import Journal, StropWarning
from strop.core.problem import Problem
from strop.core.version import __version__

if TYPE_CHECKING:
    from strop.session import Session

#: problems that mean "it ran, and the result is not good" rather than "it could not run"
CHECKS = ("STR601",)
_PROFILE_ROWS = 25

app = typer.Typer(
    name="strop",
    help="Compiles PyTorch models to native CPU code and says what it did and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)
if not out.is_terminal:
    out.width = 160


class _Mode:
    """How errors are shown; commands set it before they start."""

    debug = False
    json = False


Threads = Annotated[int | None, typer.Option(min=1, help="Threads to run with (default: as many as torch uses).")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Shape = Annotated[list[str] | None, typer.Option(help="An ONNX input's shape, such as x=1,3,224,224; repeatable.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print problems only.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"strop {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    _Mode.debug = debug


@app.command()
def compile(
    model: Annotated[str, typer.Argument(help="net.onnx, package.module:factory, file.py:factory, or a zoo name.")],
    shape: Shape = None,
    threads: Threads = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print the journal: what was done, and why not.")] = False,
    json: Json = False,
    nests: Annotated[bool, typer.Option("--nests", help="Print every loop nest as it was scheduled.")] = False,
    profile: Annotated[bool, typer.Option("--profile", help="Run it and print where the time goes.")] = False,
    rounds: Annotated[int, typer.Option(min=1, help="Runs that --profile takes medians over.")] = 30,
    pack: Annotated[bool | None, typer.Option("--pack/--no-pack", help="Prepack weights (default).")] = None,
    cache: Annotated[bool | None, typer.Option("--cache/--no-cache", help="Use the disk cache (default).")] = None,
    quiet: Quiet = False,
) -> None:
    """Compile a model and print what was done.

    The factory takes no arguments and returns (module, inputs) or (module, inputs, kwargs).
    """
    _Mode.json = json
    with _working(f"loading {model}", quiet or json) as tell:
        options = Options.from_environment(**_given(threads=threads, pack=pack, cache=cache))
        from strop.run.load import load
        from strop.run.onnx_spec import with_shapes

        loaded = load(with_shapes(model, shape or []))
        from strop.session import Session

        tell(f"compiling {loaded.name}")
        journal = Journal(on_step=lambda step: tell(f"compiling {loaded.name}: {step}"))
        session = Session(loaded.module, loaded.inputs, kwargs=loaded.kwargs, options=options, journal=journal)
        summary = session.summary()
        listing = _listing(session) if nests else None
        explained = session.explain() if explain else None
        timed = session.profile(rounds) if profile else None
    if json:
        events = [event.to_json() for event in session.journal.events]
        times = timed.to_json() if timed else None
        told = {"model": loaded.name, "summary": summary, "nests": listing, "profile": times, "events": events}
        _print_json(told)
        return
    if quiet:
        return
    for text in (listing, explained):
        if text is not None:
            out.print(text, end="\n\n", markup=False)
    _print_facts(loaded.name, summary)
    if timed is not None:
        out.print(f"\n[bold]where the time goes[/bold] (medians of {timed.rounds} runs, each step timed alone)")
        out.print(timed.table(_PROFILE_ROWS), markup=False)


@app.command()
def bench(
    models: Annotated[list[str] | None, typer.Argument(help="Zoo names, package.module:factory, .onnx files.")] = None,
    shape: Shape = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads for every contender.")] = 1,
    contenders: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often each contender has its turn.")] = 10,
    seconds: Annotated[float, typer.Option(min=0, help="Measuring time per model.")] = 30.0,
    json: Json = False,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write the JSON to this file.")] = None,
    quiet: Quiet = False,
) -> None:
    """Measure models side by side with eager, inductor, ONNX Runtime and OpenVINO."""
    _Mode.json = json
    with _working("", silent=True):
        from strop.run.bench import main as run
        from strop.run.onnx_spec import with_shapes

        code = run(
            [with_shapes(model, shape or []) for model in models or []],
            threads=threads,
            json_path=output or ("-" if json else None),
            contenders=contenders.split(",") if contenders else None,
            rounds=rounds,
            seconds=seconds,
            quiet=quiet,
        )
    raise typer.Exit(code)


class CacheAction(str, Enum):
    list = "list"
    clear = "clear"
    path = "path"


@app.command()
def cache(
    action: Annotated[CacheAction, typer.Argument(help="What to do.")] = CacheAction.list,
    json: Json = False,
) -> None:
    """Look into the cache of compiled code, or clear it."""
    _Mode.json = json
    store = Cache()
    if action is CacheAction.path:
        _print_json({"path": str(store.directory)}) if json else out.print(str(store.directory), markup=False)
        return
    if action is CacheAction.clear:
        removed = store.clear()
        _print_json({"removed": removed}) if json else out.print(f"{_entries(removed)} deleted")
        return
    entries = store.entries()
    if json:
        _print_json({"path": str(store.directory), "limit": store.limit, "entries": [vars(e) for e in entries]})
        return
    table = Table("entry", "size", "last used", box=None)
    for entry in reversed(entries):
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
        table.add_row(entry.key[:16], _size(entry.bytes), when)
    if entries:
        out.print(table)
    total = sum(entry.bytes for entry in entries)
    out.print(f"{_entries(len(entries))}, {_size(total)} of {_size(store.limit)} in {store.directory}", markup=False)


@app.command()
def explain(
    code: Annotated[str | None, typer.Argument(help="A code such as STR101; all are listed without one.")] = None,
) -> None:
    """Say what a problem code means and what to do."""
    if code is None:
        table = Table("code", "meaning", box=None)
        for name, known in CODES.items():
            table.add_row(name, known.title)
        out.print(table)
        return
    found = CODES.get(code.upper())
    if found is None:
        raise Problem("STR001", f"there is no code `{code}`", help="`strop explain` lists all of them")
    out.print(f"[bold]{code.upper()}[/bold]: {found.title}\n\n{found.text}", soft_wrap=False)


@app.command()
def doctor(json: Json = False) -> None:
    """Show this machine, the target, torch, the thread runtime and the cache."""
    _Mode.json = json
    from strop.run.doctor import examine, healthy

    facts = examine()
    if json:
        _print_json(facts)
    else:
        for section, values in facts.items():
            _print_facts(section, values)
    raise typer.Exit(0 if healthy(facts) else 1)


def main() -> None:
    """The entry point of the `strop` script."""
    warnings.showwarning = _show_warning
    _Mode.debug = _Mode.json = False
    try:
        app()
    except Problem as problem:
        _fail(problem)
    except KeyboardInterrupt:
        err.print("interrupted")
        raise SystemExit(130) from None
    except Exception as error:
        if _Mode.debug:
            raise
        err.print(f"[bold red]bug in Strop[/]: {type(error).__name__}: ", end="")
        err.print(str(error), markup=False)
        err.print("  `strop --debug …` shows the traceback; please report it with that")
        raise SystemExit(70) from None


def _fail(problem: Problem) -> None:
    if _Mode.debug:
        traceback.print_exception(problem)
    if _Mode.json:
        _print_json({"problem": problem.to_json()})
    else:
        print(problem.render(color=err.is_terminal), file=sys.stderr)
    raise SystemExit(1 if problem.code in CHECKS else 2)


@contextmanager
def _working(what: str, silent: bool) -> Iterator[Callable[[str], None]]:
    """A spinner on a terminal, and a way to change its text; Ctrl-C leaves with the conventional code."""
    try:
        if silent or not err.is_terminal:
            yield lambda text: None
        else:
            with err.status(escape(what)) as status:
                yield lambda text: status.update(escape(text))
    except KeyboardInterrupt:
        err.print("interrupted")
        raise SystemExit(130) from None


def _given(**settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _print_json(value: object) -> None:
    print(json_text.dumps(value, default=str, indent=2))


def _print_facts(title: str, facts: dict[str, Any]) -> None:
    table = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        label = name.removesuffix("_bytes").removesuffix("_seconds").replace("_", " ")
        table.add_row(f"  {label}", escape(_fact(name, value)))
    out.print(f"[bold]{title}[/bold]")
    out.print(table)


def _listing(session: Session) -> str:
    """The nests of every call, then those that run when parameters change."""
    parts = [str(session.nests)]
    if session.preparation:
        parts.append(f"# ---- runs when parameters change ----\n\n{session.preparation}")
    return "\n\n".join(parts)


def _fact(name: str, value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_fact(name, item)}" for key, item in value.items()) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and (name.endswith("bytes") or name == "limit"):
        return _size(value)
    if isinstance(value, float):
        return f"{value:.3g} s" if name.endswith("_seconds") else f"{value:.3g}"
    return str(value)


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _size(count: int) -> str:
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GB"


def _show_warning(
    message: Any, category: type[Warning], filename: str, lineno: int, file: Any = None, line: str | None = None
) -> None:
    if issubclass(category, StropWarning):
        err.print("[yellow]warning[/]: ", end="")
        err.print(str(message), markup=False)
        return
    sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))
