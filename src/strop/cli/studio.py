"""`strop studio` and `strop report`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strop.cli.console import Json, Mode, Quiet, Shape, Threads, app, err, given, out, print_json, size, working
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from strop.session import Session
    from strop.studio.workspace import Opening, Workspace

Opened = Annotated[
    str, typer.Argument(help="net.onnx, package.module:factory, a zoo name, or a saved session (.json).")
]
Training = Annotated[bool, typer.Option("--training", help="The training step: forward, backward, what is stored.")]
Trust = Annotated[bool, typer.Option("--trust", help="Import the module that a saved session names: it is mine.")]
_ROUNDS = 20


@app.command()
def studio(
    model: Opened,
    shape: Shape = None,
    threads: Threads = None,
    training: Training = False,
    trust: Trust = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to serve on; 0 takes the first free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Open a local page that looks into a compilation and steers it.

    The page is served on 127.0.0.1 only, under an address that holds a token. From another machine, forward the port:
    ssh -L 8765:127.0.0.1:8765 host.
    """
    _require_extra()
    with working(f"loading {model}", False):
        workspace = _unopened(model, shape, threads, training, trust, _told)
    from strop.studio import serve

    try:
        serve(workspace, port=port, browser=browser, tell=_tell_address)
    except KeyboardInterrupt:  # how a studio is ended
        err.print("the studio has ended")


@app.command()
def report(
    model: Opened,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    shape: Shape = None,
    threads: Threads = None,
    training: Training = False,
    trust: Trust = False,
    measure: Annotated[bool, typer.Option("--measure/--no-measure", help="Run it and show measured times.")] = True,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the views of the studio as one HTML file that loads nothing."""
    Mode.json = json
    _require_extra()
    if not output.absolute().parent.is_dir():
        raise Problem("STR001", f"--output {output}: there is no folder `{output.parent}`", help="make it first")
    with working(f"loading {model}", quiet or json) as tell:
        workspace = _unopened(model, shape, threads, training, trust)
        with workspace.heard(lambda event: tell(f"compiling {model}: {event.message}")):
            workspace.open()
        tell("checking")
        workspace.session.check()
        if measure:
            tell("measuring")
            for program in workspace.programs:
                program.measure(_ROUNDS)
        from strop.studio import write_report

        written = write_report(workspace, output, tell)
    if json:
        print_json({"model": workspace.name, "report": str(output), "bytes": written})
    elif not quiet:
        out.print(f"{output}: {size(written)}", markup=False)


def _told(opening: Opening) -> Opening:
    """The page shows why a model cannot be opened; the terminal does, too."""

    def told(journal: Journal) -> Session:
        try:
            return opening(journal)
        except Problem as problem:
            if problem.code != "STR014":
                print(problem.render(color=err.is_terminal), file=sys.stderr)
            raise

    return told


def _unopened(
    model: str,
    shape: list[str] | None,
    threads: int | None,
    training: bool,
    trust: bool,
    wrapped: Callable[[Opening], Opening] = lambda opening: opening,
) -> Workspace:
    """A studio of a model that is there, but not compiled."""
    from strop.session import Session
    from strop.studio.workspace import Workspace

    if model.endswith(".json"):
        told = (("--shape", shape), ("--threads", threads), ("--training", training))
        if ignored := [name for name, value in told if value]:
            raise Problem("STR001", f"{ignored[0]} does not go with a saved session", help="the file says it itself")
        return Workspace(None, Path(model).stem, wrapped(_reading(model, trust)))
    if trust:
        raise Problem("STR001", "--trust goes with a saved session", help="a model that you name is yours to run")
    from strop.runtime.load_model import load
    from strop.runtime.onnx.spec import with_shapes

    spec = with_shapes(model, shape or [])
    found = load(spec)
    options = Options.from_environment(**given(threads=threads))

    def opening(journal: Journal) -> Session:
        return Session(found.module, found.inputs, found.kwargs, options, journal, spec=spec, training=training)

    return Workspace(None, found.name, wrapped(opening))


def _reading(path: str, trust: bool) -> Opening:
    from strop.session import Session

    try:
        return Session.reading(path, trust=trust)
    except Problem as problem:
        if "trust=True" not in problem.help:
            raise
        raise Problem(
            problem.code, problem.message, where=problem.where, help="if the file is yours: --trust"
        ) from problem


def _tell_address(address: str) -> None:
    print(f"the studio is at {address}\nCtrl-C ends it.", flush=True)


def _require_extra() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("starlette", "uvicorn", "websockets", "pygments") if find_spec(name) is None]
    if missing:
        raise Problem(
            "STR004", f"the studio needs {missing[0]}, which is not installed", help="pip install 'strop[studio]'"
        )
