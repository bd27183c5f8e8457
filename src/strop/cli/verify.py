"""`strop verify`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from strop.cli.console import Json, Mode, Quiet, app, err, out, print_json, working

if TYPE_CHECKING:
    from strop.verify.as_graphs import Verification


@app.command()
def verify(
    target: Annotated[str, typer.Argument(help="file.py:function, package.module:function, script.py, or tests.")],
    tests: Annotated[bool, typer.Option("--tests", help="The target is a file or folder of tests for pytest.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Compare with a copy that `strop fix` has edited.")] = False,
    unsafe: Annotated[bool, typer.Option("--unsafe", help="Like --fix, with edits that rest on assumptions.")] = False,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="The target is a file: run its models with and without faster kernels.")
    ] = False,
    entry: Annotated[
        str, typer.Option(metavar="FUNCTION", help="With --adopt: a function that returns a model and its inputs.")
    ] = "",
    with_strop: Annotated[
        bool | None, typer.Option("--with-strop", help="With --adopt: also Strop's own kernels.")
    ] = None,
    python: Annotated[
        str, typer.Option(help="The Python that has the project's packages.", show_default="this one")
    ] = sys.executable,
    rounds: Annotated[int, typer.Option(min=1, help="Timed calls, at least.")] = 5,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for each of the runs.")] = 600.0,
    memory: Annotated[float, typer.Option(min=0.1, help="Gigabytes for each of the runs.")] = 8.0,
    tolerance: Annotated[float, typer.Option(min=0, help="Error allowed, relative to a tensor's scale.")] = 1e-3,
    seed: Annotated[int, typer.Option(help="Seed of every random generator.")] = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run code eagerly and as graphs, compare the results, count graphs, and time both. This executes the code.

    A function is called without arguments. Exit codes: 0 equal, 1 different, 2 it could not be run. With `--adopt`, the
    edits that `strop fix` would make for faster kernels are tried on random weights; 1 also if some were not run.
    """
    from strop.verify import as_graphs as verifying
    from strop.verify.edited_copy import edited_copy

    Mode.json = json
    limits = verifying.Limits(
        timeout=timeout,
        memory=int(memory * verifying.GIGABYTE),
        rounds=rounds,
        tolerance=tolerance,
        seed=seed,
    )
    err.print(f"[yellow]warning[/]: this executes {target} in processes of its own", highlight=False)
    if adopt:
        from strop.cli.proof import verify_adopted
        from strop.verify import prove

        raise typer.Exit(
            verify_adopted(target, prove.Ways(entry, limits, python), unsafe, with_strop, json=json, quiet=quiet)
        )
    job = verifying.job_of(target, tests=tests)
    with working(f"running {target} eagerly and as graphs", quiet or json):
        if fix or unsafe:
            with edited_copy(job, unsafe=unsafe) as hybridised:
                found = verifying.verify(job, limits, python=python, hybridised=hybridised)
        else:
            found = verifying.verify(job, limits, python=python)
    if json:
        print_json(found.to_json())
    elif not quiet or not found.equal:
        _print(found)
    raise typer.Exit(0 if found.equal else 1)


def _print(found: Verification) -> None:
    table = Table("", "eager", "graphs", box=None)
    eager, graph = found.eager, found.graph
    table.add_row("first call", f"{eager.first_seconds:.3f} s", f"{graph.first_seconds:.3f} s")
    table.add_row("later calls", f"{eager.seconds * 1e3:.2f} ms", f"{graph.seconds * 1e3:.2f} ms")
    table.add_row("processor time", f"{eager.cpu_seconds * 1e3:.2f} ms", f"{graph.cpu_seconds * 1e3:.2f} ms")
    table.add_row("memory", f"{eager.peak_bytes / 2**20:.0f} MB", f"{graph.peak_bytes / 2**20:.0f} MB")
    table.add_row("graphs", "", str(graph.graphs))
    table.add_row("graph breaks", "", str(sum(count for _, count in graph.breaks)))
    table.add_row("retraces", "", str(graph.retraces))
    out.print(table)
    for reason, count in graph.breaks:
        out.print(f"  break ×{count}: {reason}", markup=False)
    pays = f", pays after {found.pays_after} calls" if found.pays_after else ""
    out.print(f"speed-up {found.speedup:.2f}× ({found.cpu_speedup:.2f}× in processor time){pays}")
    if not graph.graphs:
        out.print("nothing ran as a graph: `strop fix --write` first, or give --fix")
    if found.equal:
        out.print(f"equal results{_compared(found)} (largest error {found.largest_error:.1g} of a tensor's scale)")
        return
    out.print(
        "[bold red]different[/] results"
        if found.deterministic
        else "[bold]not deterministic[/]: eager differs from itself"
    )
    for difference in found.differences:
        out.print(f"  {difference.where}: {difference.message}", markup=False)


def _compared(found: Verification) -> str:
    """Of tests: how much was compared besides their outcomes."""
    if "tests" not in found.eager.answer:
        return ""
    tensors, tests = found.tensors
    return f": {tensors} tensors of {tests} tests" if tensors else " of tests, without a tensor that could be compared"
