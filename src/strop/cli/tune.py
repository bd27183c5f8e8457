"""`strop tune` and `strop tuned`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strop.cli.console import Json, Mode, Quiet, Shape, Threads, app, err, given, needs, out, print_json, working
from strop.core.options import Options
from strop.core.problem import Problem
from strop.core.tuning_database import TuningDatabase, TuningRecord, default_path

if TYPE_CHECKING:
    from strop.core.tasks import TaskPool
    from strop.tune.measured import Verdicts
    from strop.tune.tuner import NestSearch

Database = Annotated[
    str | None, typer.Option(help="The tuning database (default: STROP_TUNING, or tuning.sqlite beside the cache).")
]
Ray = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Use a Ray cluster: its address, or auto.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes, or CPUs of the cluster (default: all).")]
_SEARCHING = 0.6  # of the seconds, where the rest is for measuring
_ROWS = 30


class TunedAction(str, Enum):
    list = "list"
    export = "export"
    load = "import"
    merge = "merge"
    path = "path"


@app.command()
def tune(
    models: Annotated[list[str], typer.Argument(help="Zoo names, package.module:factory, .onnx files.")],
    shape: Shape = None,
    target: Annotated[str | None, typer.Option(help="Tune for another CPU, such as znver3; nothing is run.")] = None,
    seconds: Annotated[
        float | None, typer.Option(min=1, help="Stop after so long (default: when every search has ended).")
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Time what is found here, and keep what is faster.")
    ] = False,
    ray: Ray = None,
    workers: Workers = None,
    threads: Threads = None,
    database: Database = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Search for faster schedules of a model's loop nests; compilations use them from then on.

    What is found is committed round by round: the same command goes on where an interrupted one stopped.
    """
    Mode.json = json
    from strop.core.journal import Journal
    from strop.runtime.cross_compile import is_foreign
    from strop.runtime.load_model import load
    from strop.runtime.onnx.spec import with_shapes
    from strop.tune.measured import measure_program
    from strop.tune.nests import nest_groups, programs_of
    from strop.tune.tuner import Tuner

    started, store = time.monotonic(), TuningDatabase(database)
    store.records()  # a database that cannot be used is found out first
    options = Options.from_environment(**given(threads=threads, target=target))
    if measure and is_foreign(options):
        raise Problem("STR001", f"--measure does not go with --target {target}: nothing is run for it here",
                      help="without it, schedules are chosen by the static model")  # fmt: skip
    with _telling(quiet or json) as tell:
        programs = []
        for model in models:
            tell(f"compiling {model}")
            programs += programs_of(load(with_shapes(model, shape or [])), options, Journal())
        groups = nest_groups(programs)
        tuner = Tuner(groups, store, tell)
        share = None if seconds is None else seconds * (_SEARCHING if measure else 1.0)
        left = None if share is None else max(0.0, share - (time.monotonic() - started))
        if any(not one.ended for one in tuner.searches):
            pool = _pool(ray, workers)
            try:
                tuner.search(pool, left)
            finally:
                pool.close()
        ends = None if seconds is None else started + seconds
        verdicts: list[Verdicts] = []
        late: list[str] = []
        for one in programs if measure else ():
            if verdicts and ends is not None and time.monotonic() >= ends:
                late.append(one.model)
            else:
                verdicts.append(measure_program(one, tuner.searches, store, ends, tell))
    if json:
        print_json(_document(tuner.searches, verdicts, store))
    elif not quiet:
        _print_report(tuner.searches, verdicts, store, time.monotonic() - started)
        if late:
            out.print(f"Time was up before these were measured: {', '.join(late)}", markup=False)


def _pool(ray: str | None, workers: int | None) -> TaskPool:
    from strop.core.ray_tasks import RayPool
    from strop.core.tasks import LocalPool, available_processors
    from strop.tune.tuner import SEARCH

    if ray is not None:
        return RayPool(ray, *SEARCH, workers)
    return LocalPool(*SEARCH, workers or available_processors())


def _telling(silent: bool) -> Any:
    """A line that changes on a terminal; elsewhere a line every ten seconds."""
    if silent or err.is_terminal:
        return working("", silent)
    return _Lines()


class _Lines:
    EVERY = 10.0

    def __enter__(self) -> Callable[[str], None]:
        self.last = -self.EVERY
        return self.tell

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is KeyboardInterrupt:
            err.print("interrupted; what is committed stays, and the same command goes on from there")
            raise SystemExit(130) from None

    def tell(self, text: str) -> None:
        if time.monotonic() - self.last >= self.EVERY:
            self.last = time.monotonic()
            err.print(text, markup=False)


# ---- reports ---------------------------------------------------------------------------------------------------------


def _print_report(searches: list[NestSearch], verdicts: list[Verdicts], store: TuningDatabase, seconds: float) -> None:
    refused = {name: why for one in verdicts for name, why in one.refused.items()}
    shown = sorted(searches, key=lambda one: one.record.ratio if one.record is not None else 1.0)
    for one in shown[:_ROWS]:
        out.print(_row(one, refused.get(one.group.name, "")), markup=False)
    if len(shown) > _ROWS:
        out.print(f"… and {len(shown) - _ROWS} nests more", markup=False)
    ended, faster = sum(one.ended for one in searches), sum(bool(one.record and one.record.passes) for one in searches)
    use = "Compilations use" if store.path == default_path() else "With STROP_TUNING set to it, compilations use"
    out.print(f"{faster} of {len(searches)} nests got another schedule, {ended} searches have ended; {seconds:.0f} s. "
              f"{use} {store.path} from now on.", markup=False)  # fmt: skip


def _row(one: NestSearch, refused: str) -> str:
    state, record = one.state, one.record
    if one.failed:
        return f"  failed  {one.group.name}: {one.failed}"
    if record is None:
        return f"    -     {one.group.name}: not begun"
    verdict = f"{record.ratio:7.3f}" if record.passes else "   kept"
    tried = f"{state.rounds} rounds, {state.guessed} guessed, {state.estimated} estimated"
    why = refused or _why_kept(one)
    rejected = "; ".join(f"{count} {reason}" for reason, count in state.rejected.items())
    return f"  {verdict}  {one.group.name}: by {record.source}; {tried}" + (f"; {why}" if why else "") + f"; {rejected}"


def _why_kept(one: NestSearch) -> str:
    from strop.loops.analysis import contraction
    from strop.tune.search import WORTH

    if one.record is None or one.record.passes:
        return ""
    if contraction(one.group.tuned.nest) is None and one.state.ratio <= WORTH:
        return f"an estimate of {one.state.ratio:.3f} is not believed of rows and copies: --measure would tell"
    return f"the best estimate is {one.state.ratio:.3f} of the default's, and {WORTH} would be believed"


def _document(searches: list[NestSearch], verdicts: list[Verdicts], store: TuningDatabase) -> dict[str, Any]:
    refused = {name: why for one in verdicts for name, why in one.refused.items()}
    nests = [
        {
            "nest": one.group.name, "ended": one.ended, "failed": one.failed, "rounds": one.state.rounds,
            "guessed": one.state.guessed, "estimated": one.state.estimated, "rejected": one.state.rejected,
            "estimated_ratio": one.state.ratio, "refused": refused.get(one.group.name, ""),
            "passes": one.record.passes if one.record else "", "source": one.record.source if one.record else "",
            "ratio": one.record.ratio if one.record else 1.0,
        }
        for one in searches
    ]  # fmt: skip
    return {"database": str(store.path), "nests": nests}


# ---- the database ----------------------------------------------------------------------------------------------------


@app.command()
def tuned(
    action: Annotated[TunedAction, typer.Argument(help="What to do.")] = TunedAction.list,
    files: Annotated[list[str] | None, typer.Argument(help="Exports to import, databases to merge.")] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Export to this file.")] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Look into the tuning database; carry it to other machines.

    Records of other machines and versions are kept, and used by those to whom they belong.
    """
    Mode.json = json
    store = TuningDatabase(database)
    needs("--output", output, "export", action is TunedAction.export)
    if files and action not in (TunedAction.load, TunedAction.merge):
        raise Problem("STR001", f"`{action.value}` takes no files", help="import and merge do")
    if not files and action in (TunedAction.load, TunedAction.merge):
        raise Problem("STR001", f"`{action.value}` needs files", help="strop tuned import tuning.jsonl")
    if action is TunedAction.path:
        print_json({"path": str(store.path)}) if json else out.print(str(store.path), markup=False)
    elif action is TunedAction.export:
        if output is None:
            sys.stdout.write(store.export())
        else:
            Path(output).write_text(store.export(), encoding="utf-8")
    elif action is TunedAction.list:
        _list(store.records(), store, json)
    else:
        count = store.merge([record for file in files or () for record in _records(file, action)])
        print_json({"taken": count}) if json else out.print(
            f"{count} records taken over into {store.path}", markup=False
        )


def _records(file: str, action: TunedAction) -> list[TuningRecord]:
    if not Path(file).is_file():
        raise Problem("STR001", f"there is no file `{file}`")
    if action is TunedAction.merge:
        return TuningDatabase(file).records()
    try:
        return TuningDatabase.parse(Path(file).read_text(encoding="utf-8"), file)
    except UnicodeDecodeError:
        raise Problem("STR505", f"{file} is no export of a tuning database", help="a database is merged") from None


def _list(records: list[TuningRecord], store: TuningDatabase, json: bool) -> None:
    if json:
        print_json({"path": str(store.path), "records": [vars(one) for one in records]})
        return
    for one in sorted(records, key=lambda one: (one.machine, one.ratio)):
        told = f"{one.ratio:.3f}" if one.passes else "kept"
        out.print(f"{told:>6}  {one.machine}, {one.threads} threads, {one.source}: {one.shape}", markup=False)
    out.print(f"{len(records)} records in {store.path}", markup=False)
