"""`strop compile` and `strop bench`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strop.cli.console import (
    Json,
    Mode,
    Quiet,
    Shape,
    Threads,
    app,
    given,
    needs,
    out,
    print_facts,
    print_json,
    working,
)
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem

if TYPE_CHECKING:
    from strop.runtime.load_model import Model
    from strop.session import Session

_PROFILE_ROWS = 25
_PROFILE_ROUNDS = 30


@app.command()
def compile(
    model: Annotated[str, typer.Argument(help="net.onnx, package.module:factory, file.py:factory, or a zoo name.")],
    shape: Shape = None,
    threads: Threads = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print the journal: what was done, and why not.")] = False,
    json: Json = False,
    nests: Annotated[bool, typer.Option("--nests", help="Print every loop nest as it was scheduled.")] = False,
    profile: Annotated[bool, typer.Option("--profile", help="Run it and print where the time goes.")] = False,
    rounds: Annotated[
        int | None, typer.Option(min=1, help=f"Runs that --profile takes medians over (default: {_PROFILE_ROUNDS}).")
    ] = None,
    pack: Annotated[bool | None, typer.Option("--pack/--no-pack", help="Prepack weights (default).")] = None,
    cache: Annotated[bool | None, typer.Option("--cache/--no-cache", help="Use the disk cache (default).")] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(help="For another CPU: a name of `strop targets`, or a file. With --output, repeatable."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write code and weights to a file: model.strop.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Compile a model and print what was done.

    With --output, code for each --target (default: this CPU) and the weights go to one file, which `strop run`,
    `strop.load` and programs in C run without PyTorch. With --target alone, the model is planned and estimated for that
    CPU, and nothing is run.

    The factory takes no arguments and returns (module, inputs) or (module, inputs, kwargs).
    """
    Mode.json = json
    with working(f"loading {model}", quiet or json) as tell:
        needs("--rounds", rounds, "--profile", profile)
        targets = target or []
        single = targets[0] if len(targets) == 1 else None
        if len(targets) > 1 and output is None:
            raise Problem("STR001", f"{len(targets)} targets have no effect without --output",
                          help="name one, or add -o model.strop")  # fmt: skip
        told = given(threads=threads, pack=pack, cache=cache, target=single)
        options = Options.from_environment(**told)
        from strop.runtime.load_model import load
        from strop.runtime.onnx.spec import with_shapes

        loaded = load(with_shapes(model, shape or []))
        from strop.runtime.cross_compile import is_foreign
        from strop.session import Session

        tell(f"compiling {loaded.name}")
        journal = Journal(on_step=lambda step: tell(f"compiling {loaded.name}: {step}"))
        switches = (("--nests", nests), ("--profile", profile))
        ignored = [name for name, asked in switches if asked]
        if output is not None:
            if ignored or explain:
                raise Problem("STR001", f"{[*ignored, '--explain'][0]} does not go with --output",
                              help="leave one of them out")  # fmt: skip
            _save(loaded, output, targets, options, journal, json, quiet)
            return
        if is_foreign(options):
            if ignored:
                raise Problem("STR001", f"{ignored[0]} does not go with --target {single}: nothing is run for it here",
                              help="--explain tells what holds each nest there")  # fmt: skip
            _abroad(loaded, options, journal, explain, json or quiet)
            return
        session = Session(
            loaded.module, loaded.inputs, kwargs=loaded.kwargs, options=options, journal=journal, plan=False
        )
        summary = session.summary()
        listing = _listing(session) if nests else None
        explained = session.explain() if explain else None
        timed = session.profile(rounds or _PROFILE_ROUNDS) if profile else None
    if json:
        events = [event.to_json() for event in session.journal.events]
        times = timed.to_json() if timed else None
        told = {"model": loaded.name, "summary": summary, "nests": listing, "profile": times, "events": events}
        print_json(told)
        return
    if quiet:
        return
    for text in (listing, explained):
        if text is not None:
            out.print(text, end="\n\n", markup=False)
    print_facts(loaded.name, summary)
    if timed is not None:
        out.print(f"\n[bold]where the time goes[/bold] (medians of {timed.rounds} runs, each step timed alone)")
        out.print(timed.table(_PROFILE_ROWS), markup=False)


@app.command()
def bench(
    models: Annotated[list[str] | None, typer.Argument(help="Zoo names, package.module:factory, .onnx files.")] = None,
    shape: Shape = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads for every contender.")] = 1,
    contenders: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often each contender has its turn.")] = 10,
    seconds: Annotated[float, typer.Option(min=0, help="Measuring time per model.")] = 30.0,
    ops: Annotated[
        bool, typer.Option("--ops", help="Single operators (families or shapes as arguments), not models.")
    ] = False,
    json: Json = False,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write the JSON to this file.")] = None,
    quiet: Quiet = False,
) -> None:
    """Measure models side by side with eager, inductor, ONNX Runtime and OpenVINO."""
    Mode.json = json
    json_path = output or ("-" if json else None)
    with working("", silent=True):
        Options.from_environment(threads=threads)
        if output and output != "-" and not Path(output).absolute().parent.is_dir():
            raise Problem(
                "STR001", f"--output {output}: there is no folder `{Path(output).parent}`", help="make it first"
            )
        if ops:
            from strop.bench.ops import main as measure

            raise typer.Exit(measure(models or [], threads=threads, rounds=rounds, json_path=json_path, quiet=quiet))
        from strop.bench.harness import main as run
        from strop.runtime.onnx.spec import with_shapes

        code = run(
            [with_shapes(model, shape or []) for model in models or []],
            threads=threads,
            json_path=json_path,
            contenders=contenders.split(",") if contenders else None,
            rounds=rounds,
            seconds=seconds,
            quiet=quiet,
        )
    raise typer.Exit(code)


def _abroad(loaded: Model, options: Options, journal: Journal, explain: bool, terse: bool) -> None:
    """For a machine that is not at hand: plan and estimate."""
    from strop.runtime.cross_compile import cross_compile

    found = cross_compile(loaded.module, loaded.inputs, loaded.kwargs, options, journal)
    if Mode.json:
        events = [event.to_json() for event in journal.events]
        print_json({"model": loaded.name, "summary": found.summary(), "events": events})
    if terse:
        return
    if explain:
        out.print(f"what holds each nest, by the static model\n{found.explain()}", end="\n\n", markup=False)
    print_facts(loaded.name, found.summary())


def _save(
    loaded: Model, path: Path, targets: list[str], options: Options, journal: Journal, json: bool, quiet: bool
) -> None:
    """Write a model file, and say what is in it."""
    from strop.runtime.save_model import save

    if not path.absolute().parent.is_dir():
        raise Problem("STR001", f"--output {path}: there is no folder `{path.parent}`", help="make it first")
    saved = save(loaded.module, loaded.inputs, loaded.kwargs, path, targets, options, journal, loaded.name)
    facts = {
        "file": str(path),
        "file_bytes": path.stat().st_size,
        "inputs": ", ".join(map(str, saved.inputs)),
        "outputs": ", ".join(map(str, saved.outputs)),
        "targets": ", ".join(f"{one.target} ({one.threads} threads)" for one in saved.variants),
    }
    if json:
        print_json({"model": loaded.name, "summary": facts, "events": [event.to_json() for event in journal.events]})
    elif not quiet:
        print_facts(loaded.name, facts)


def _listing(session: Session) -> str:
    """The nests of every call, then those that run when parameters change."""
    parts = [str(session.nests)]
    if session.preparation:
        parts.append(f"# ---- runs when parameters change ----\n\n{session.preparation}")
    return "\n\n".join(parts)
