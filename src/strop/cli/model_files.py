"""`strop run` and `strop unpack`: files that `strop compile -o` wrote. Neither needs PyTorch or LLVM."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strop.cli.console import Json, Mode, Quiet, app, out, print_facts, print_json
from strop.core.problem import Problem

if TYPE_CHECKING:
    from strop.deploy.loaded_model import LoadedModel

File = Annotated[Path, typer.Argument(help="A file that `strop compile MODEL -o FILE` wrote.")]


@app.command()
def run(
    file: File,
    given: Annotated[
        list[str] | None,
        typer.Option("--input", "-i", help="An input: x.npy, or name=x.npy; repeatable, in the model's order."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the results: y.npy, or y.npz where there are several.")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Compare all weights with their checksums first.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a model file on this machine. Its code is executed: run files of people whom you trust.

    Without inputs, it says what the file holds and runs nothing.
    """
    Mode.json = json
    from strop.deploy.loaded_model import load

    if not given:
        facts = _facts(file)
        if json:
            print_json(facts)
        elif not quiet:
            print_facts(str(facts.pop("model")), facts)
        return
    import numpy as np

    model = load(file, verify=verify)

    several = len(model.outputs) > 1
    if output is not None and several and output.suffix != ".npz":
        raise Problem("STR001", f"--output {output}: the model has {len(model.outputs)} results",
                      help=f"{output.with_suffix('.npz')} holds them all, by name")  # fmt: skip
    try:
        results = model(**_inputs(model, given))
    except IndexError as error:
        raise Problem("STR001", f"{error}: an input holds one that its table does not have") from error
    made = results if isinstance(results, tuple) else (results,)
    if output is not None:
        try:
            if output.suffix != ".npz":
                np.save(output, made[0])
            else:
                named: dict[str, Any] = {info.name: array for info, array in zip(model.outputs, made)}
                np.savez(output, **named)
        except OSError as error:
            raise Problem("STR001", f"--output {output}: {error}") from error
    rows = {str(info): _range(array) for info, array in zip(model.outputs, made)}
    if json:
        print_json({"target": model.variant.target, "threads": model.variant.threads, "outputs": rows})
    elif not quiet:
        print_facts(f"{file.name} on {model.variant.target}", rows)


@app.command()
def unpack(
    file: File,
    folder: Annotated[Path, typer.Argument(help="Where to write; it is made if it is not there.")],
    name: Annotated[
        str, typer.Option("--name", help="What names in C begin with, so that several models link into one program.")
    ] = "strop",
    quiet: Quiet = False,
) -> None:
    """Write a model file's code as object files, and the C runtime that runs them, for linking into a program."""
    import mmap

    from strop.deploy.model_file import not_a_model, unpack
    from strop.deploy.object_file import unpack_code

    try:
        with file.open("rb") as opened:
            if not file.stat().st_size:
                raise not_a_model("it is empty")
            data = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
            written = unpack_code(unpack(data, len(data)), data, folder, name)
    except OSError as error:
        raise Problem("STR507", f"{error}", where=str(file)) from error
    if not quiet:
        for path in written:
            out.print(str(path), markup=False)


def _inputs(model: LoadedModel, given: list[str]) -> dict[str, Any]:
    import numpy as np

    known = [info.name for info in model.inputs]
    free = iter(name for name in known if not any(text.startswith(f"{name}=") for text in given))
    found: dict[str, Any] = {}
    for text in given:
        name, has, path = text.partition("=")
        if not has or name not in known:
            path = text
            name = next(free, "")
        if name in found:
            raise Problem("STR001", f"--input {text}: `{name}` was given before")
        if not name:
            raise Problem("STR001", f"--input {text}: the model takes {len(known)} inputs: {', '.join(known)}")
        try:
            found[name] = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            told = "numpy.save writes such files; NAME=FILE names an input: " + ", ".join(known)
            raise Problem("STR001", f"--input {text}: {error}", help=told) from error
    return found


def _range(array: Any) -> str:
    if not array.size:
        return "empty"
    wide = array.astype("float64")
    return f"from {wide.min():.6g} to {wide.max():.6g}, mean {wide.mean():.6g}"


def _facts(file: Path) -> dict[str, Any]:
    from strop.deploy.cpu_features import choose
    from strop.deploy.loaded_model import describe

    tables, about = describe(file)
    try:
        here = choose(tables.variants).target
    except Problem as problem:
        here = f"nothing: {problem.message}"
    return {
        "model": str(about.get("model", file.name)),
        "made by": f"Strop {about.get('strop', '?')}",
        "inputs": ", ".join(map(str, tables.inputs)),
        "outputs": ", ".join(map(str, tables.outputs)),
        "variants": {
            one.target: f"({one.machine}, {one.threads} threads) needs {' '.join(one.features) or 'nothing'}"
            for one in tables.variants
        },
        "runs here as": here,
    }
