"""`strop explain`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from strop.cli.console import app, out
from strop.core.codes import CODES
from strop.core.problem import Problem


@app.command()
def explain(
    code: Annotated[
        str | None, typer.Argument(help="A code such as STR101, or a rule's name; all are listed without one.")
    ] = None,
) -> None:
    """Say what a code means and what to do: of a problem, or of a rule of `strop scan`."""
    from strop.source.rules import all_rules

    rules = all_rules()
    if code is None:
        table = Table("code", "meaning", box=None)
        titles = {name: known.title for name, known in CODES.items()}
        titles |= {name: known.title for name, known in rules.items()}
        for name, title in sorted(titles.items()):
            table.add_row(name, escape(title))
        out.print(table)
        return
    asked = code.upper()
    by_name = next((rule for rule in rules.values() if rule.name == code.lower()), None)
    rule = rules.get(asked, by_name)
    if rule is not None:
        out.print(f"[bold]{rule.code}[/bold] {rule.name}: {escape(rule.title)}\n")
        out.print(rule.text, markup=False)
        return
    found = CODES.get(asked)
    if found is None:
        raise Problem("STR001", f"there is no code `{code}`", help="`strop explain` lists all of them")
    out.print(f"[bold]{asked}[/bold]: {found.title}\n\n{found.text}", soft_wrap=False)
