"""`strop cache`."""

from __future__ import annotations

import time
from enum import Enum
from typing import Annotated

import typer
from rich.table import Table

from strop.cli.console import Json, Mode, app, entry_count, out, print_json, size
from strop.core.cache import Cache
from strop.core.options import Options
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
