"""The command line: it parses, calls, prints, and computes nothing of its own.

Exit codes: 0 all well or nothing found, 1 findings or a check failed, 2 the call or the input was wrong, 70 a bug in
Strop, 130 interrupted. Heavy imports stay inside the commands, so that `strop --help`, `strop explain` and `strop scan`
start without torch.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from typing import Annotated

import typer

# isort: off
from strop.cli import models, model_files, targets, tune, studio, source, architecture, verify, cache, explain, doctor

# isort: on
from strop.cli.console import Mode, app, err, out, print_json, show_warning
from strop.core.problem import Problem
from strop.core.version import __version__

__all__ = ["app", "main"]

#: problems that mean "it ran, and the result is not good" rather than "it could not run"
CHECKS = ("STR601", "STR602")
assert (
    models
    and model_files
    and targets
    and tune
    and studio
    and source
    and architecture
    and verify
    and cache
    and explain
    and doctor
)  # importing them registers their commands


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
    Mode.debug = debug


def main() -> None:
    """The entry point of the `strop` script."""
    warnings.showwarning = show_warning
    Mode.debug = Mode.json = False
    try:
        app()
    except Problem as problem:
        _fail(problem)
    except KeyboardInterrupt:
        err.print("interrupted")
        raise SystemExit(130) from None
    except Exception as error:
        if Mode.debug:
            raise
        err.print(f"[bold red]bug in Strop[/]: {type(error).__name__}: ", end="")
        err.print(str(error), markup=False)
        err.print("  `strop --debug …` shows the traceback; please report it with that")
        raise SystemExit(70) from None


def _fail(problem: Problem) -> None:
    if Mode.debug:
        traceback.print_exception(problem)
    if Mode.json:
        print_json({"problem": problem.to_json()})
    else:
        print(problem.render(color=err.is_terminal), file=sys.stderr)
    raise SystemExit(1 if problem.code in CHECKS else 2)
