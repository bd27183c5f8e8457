"""`strop show-architecture`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strop.cli.console import app
from strop.core.problem import Problem


@app.command("show-architecture")
def show_architecture(
    model: Annotated[str, typer.Argument(metavar="FILE[:NAME]", help="A file, and a class or function of it.")],
) -> None:
    """Print what was understood of a model: its layers, and what its forward computes.

    The language is that of the rules for kernels to adopt; `%3` is the value of the operation with that number.
    """
    from strop.source.adopt import show

    file, name = (model, "") if Path(model).exists() else model.rpartition(":")[::2]
    if not Path(file).is_file():
        raise Problem("STR001", f"there is no file `{file or model}`")
    typer.echo(show.file(file, name), nl=False)
