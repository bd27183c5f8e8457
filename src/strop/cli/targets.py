"""`strop targets`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from strop.cli.console import Json, Mode, app, out, print_json, size
from strop.core.extensions import registry
from strop.core.problem import Problem

targets = typer.Typer(no_args_is_help=False, help="The CPUs that Strop can compile for.", rich_markup_mode=None)
app.add_typer(targets, name="targets", context_settings={"help_option_names": ["-h", "--help"]})


@targets.callback(invoke_without_command=True)
def list_targets(context: typer.Context, json: Json = False) -> None:
    """List the CPUs that Strop can compile for.

    Files in the folders that STROP_TARGETS lists (separated by colons) are among them, and go before shipped ones.
    """
    if context.invoked_subcommand is not None:
        return
    Mode.json = json
    from strop.target.description import TARGETS

    registry.load()
    found = [TARGETS[name] for name in TARGETS]
    if json:
        print_json([{**asdict(target), "core": None} for target in found])
        return
    table = Table("name", "vectors", "FMA/cycle", "L1", "L2", "L3", "GHz", "bytes", box=None)
    for target in found:
        caches = (size(target.l1), size(target.l2), size(target.l3))
        vectors = f"{target.vector_registers} × {target.vector_bits} bits"
        table.add_row(
            target.name, vectors, f"{target.fma_per_cycle:g}", *caches, f"{target.ghz:g}", target.byte_products or "–"
        )
    out.print(table)
    from strop.target.host import described_host

    out.print(f"this machine is {described_host().name}, which is planned for without --target")
    out.print("strop targets show NAME prints a description with its sources; --target takes a name or a file")


@targets.command()
def show(
    name: Annotated[str, typer.Argument(help="A name of the list, or a file: mine.toml.")], json: Json = False
) -> None:
    """Print the description of a CPU: the file that holds it, with its sources."""
    Mode.json = json
    from pathlib import Path

    from strop.target.description import TARGETS, Descriptions, Target

    registry.load()
    target = Target.find(name)
    if json:
        print_json(asdict(target))
        return
    assert isinstance(TARGETS, Descriptions)
    file = Path(name) if name.endswith(".toml") else TARGETS.file(name)
    if file is None:
        raise Problem("STR402", f"`{name}` was added by an extension, it has no file", help="--json prints its numbers")
    print(file.read_text(encoding="utf-8"), end="")
