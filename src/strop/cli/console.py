"""What every command shares: the application, the two consoles, options, and how things are printed."""

from __future__ import annotations

import json as json_text
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from strop.core.journal import StropWarning
from strop.core.problem import Problem

app = typer.Typer(
    name="strop",
    help="Finds what could run faster in deep-learning Python, fixes it, and compiles models to native CPU code.",
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


class Mode:
    """How errors are shown; commands set it before they start."""

    debug = False
    json = False


Threads = Annotated[int | None, typer.Option(min=1, help="Threads to run with (default: as many as torch uses).")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Shape = Annotated[list[str] | None, typer.Option(help="An ONNX input's shape, such as x=1,3,224,224; repeatable.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print problems only.")]


@contextmanager
def working(what: str, silent: bool) -> Iterator[Callable[[str], None]]:
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


def given(**settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def needs(option: str, value: object, other: str, present: bool) -> None:
    """Refuse an option that would be ignored because another one is missing."""
    if value is not None and not present:
        raise Problem("STR001", f"{option} has no effect without {other}", help=f"add {other}, or leave {option} out")


def print_json(value: object) -> None:
    print(json_text.dumps(value, default=str, indent=2))


def print_facts(title: str, facts: dict[str, Any]) -> None:
    table = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        label = name.removesuffix("_bytes").removesuffix("_seconds").replace("_", " ")
        table.add_row(f"  {label}", escape(_fact(name, value)))
    out.print(f"[bold]{title}[/bold]")
    out.print(table)


def _fact(name: str, value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_fact(name, item)}" for key, item in value.items()) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and (name.endswith("bytes") or name == "limit"):
        return size(value)
    if isinstance(value, float):
        return f"{value:.3g} s" if name.endswith("_seconds") else f"{value:.3g}"
    return str(value)


def entry_count(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def size(count: int) -> str:
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GB"


def show_warning(
    message: Any, category: type[Warning], filename: str, lineno: int, file: Any = None, line: str | None = None
) -> None:
    if issubclass(category, StropWarning):
        err.print("[yellow]warning[/]: ", end="")
        err.print(str(message), markup=False)
        return
    sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))
