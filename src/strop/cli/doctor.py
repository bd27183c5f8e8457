"""`strop doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from strop.cli.console import Json, Mode, app, print_facts, print_json


@app.command()
def doctor(
    json: Json = False,
    again: Annotated[bool, typer.Option("--again", help="Measure the machine once more.")] = False,
) -> None:
    """Show this machine and what it measures, the target, torch, the thread runtime and the cache."""
    Mode.json = json
    from strop.runtime.doctor import examine, healthy

    facts = examine(again)
    if json:
        print_json(facts)
    else:
        for section, values in facts.items():
            print_facts(section, values)
    raise typer.Exit(0 if healthy(facts) else 1)
