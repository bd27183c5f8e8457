"""`strop cache`, `strop explain` and `strop doctor`."""

from __future__ import annotations

import time
from enum import Enum
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from strop.cli.console import Json, Mode, app, entry_count, out, print_facts, print_json, size
from strop.core.cache import Cache
from strop.core.codes import CODES
from strop.core.config import Options
from strop.core.problem import Problem


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
    Mode.json = json
    if not Options.from_environment().cache:
        raise Problem(
            "STR001", "the cache is switched off by STROP_CACHE", help="unset STROP_CACHE, or give it a directory"
        )
    store = Cache()
    if action is CacheAction.path:
        print_json({"path": str(store.directory)}) if json else out.print(str(store.directory), markup=False)
        return
    if action is CacheAction.clear:
        removed = store.clear()
        print_json({"removed": removed}) if json else out.print(f"{entry_count(removed)} deleted")
        return
    entries = store.entries()
    if json:
        print_json({"path": str(store.directory), "limit": store.limit, "entries": [vars(e) for e in entries]})
        return
    table = Table("entry", "size", "last used", box=None)
    for entry in reversed(entries):
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
        table.add_row(entry.key[:16], size(entry.bytes), when)
    if entries:
        out.print(table)
    total = sum(entry.bytes for entry in entries)
    out.print(f"{entry_count(len(entries))}, {size(total)} of {size(store.limit)} in {store.directory}", markup=False)


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


@app.command()
def doctor(
    json: Json = False,
    again: Annotated[bool, typer.Option("--again", help="Measure the machine once more.")] = False,
) -> None:
    """Show this machine and what it measures, the target, torch, the thread runtime and the cache."""
    Mode.json = json
    from strop.run.doctor import examine, healthy

    facts = examine(again)
    if json:
        print_json(facts)
    else:
        for section, values in facts.items():
            print_facts(section, values)
    raise typer.Exit(0 if healthy(facts) else 1)
