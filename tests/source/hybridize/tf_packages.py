"""Code that nobody here wrote: functions of PyPI packages that the scan calls safe, run in eager mode and as graphs.

A package is unpacked, not installed (`tf_stand_ins.py`); a module that does not come up like that is counted as such.
Arguments are made from what the scan knows of parameters (`tf_arguments.py`); where it does not know enough, some are
tried until the function runs in eager mode. Then it is called three times, with other values each time and other shapes
at the end, and as a `tf.function` with the same arguments; results with their types must be the same.

They run in a process of their own, with a limit on the time of each: TensorFlow ends the process where one of its own
checks fails. Then that is one function that was not run, or, once its eager calls were over, one that is different, and
a new process goes on with the next.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import signal
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import tensorflow as tf

from source.hybridize.tf_arguments import Candidate, calls, known
from source.hybridize.tf_stand_ins import imported, standing_in
from source.hybridize.tf_truth import same, typed
from strop.source.hybridize.parameters import own_parameters
from strop.source.interpret.effects import Effects
from strop.source.interpret.interpreter import Program
from strop.source.project.files import find, read_bytes
from strop.source.project.modules import Project
from strop.source.project.units import units
from strop.source.scan import judge_function

SECONDS = 20  #: of the processor, for one call
LIMIT = 180.0  #: seconds by the clock, for one function
#: what became of a function: why it was not run, or how it differs; neither where it was run and is the same
Outcome = tuple[str, str]


@dataclass
class Tally:
    """What became of the functions of one package."""

    package: str
    functions: int = 0  #: of TensorFlow, that the scan looked at
    safe: int = 0  #: `to_graph` or `to_eager`, without an assumption
    edits: int = 0  #: that `strop fix --write` would make
    run: int = 0  #: called three times in eager mode and as graphs
    not_run: Counter[str] = field(default_factory=Counter)  #: why not
    different: list[str] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        return {**vars(self), "not_run": dict(self.not_run)}


def unpack(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as wheel:
        wheel.extractall(folder, [name for name in wheel.namelist() if name.endswith(".py")])


def candidates(folder: Path, tally: Tally) -> Iterator[Candidate]:
    """The functions that the scan calls safe to change, with what it knows of their parameters."""
    names, _ = find([str(folder)])
    contents = {name: data for name in names if isinstance(data := read_bytes(name), bytes)}
    for files in units(contents, [str(folder)]):
        program = Program(Project(files, [str(folder)]))
        program.run()
        effects = Effects(program)
        for id, code in program.functions.items():
            facts, findings = judge_function(program, effects, id)
            if facts.framework != "tensorflow":
                continue
            tally.functions += 1
            tally.edits += sum(finding.safety == "safe" and finding.fixable for finding in findings)
            if facts.safety != "safe" or facts.verdict not in ("to_graph", "to_eager"):
                continue
            tally.safe += 1
            relative = Path(code.module.file).resolve().relative_to(folder.resolve()).with_suffix("")
            parts = [part for part in relative.parts if part != "__init__"]
            parameters = tuple((p.name, p.kind, known(p)) for p in own_parameters(program, id).values())
            yield Candidate(".".join(parts), code.name, parameters)
        program.release()


def examine(folder: Path, tally: Tally) -> None:
    """Run everything that is called safe in one unpacked package."""
    left = list(candidates(folder, tally))
    while left:
        left = left[_examined_by_one_process(folder, left, tally) :]


def _examined_by_one_process(folder: Path, found: list[Candidate], tally: Tally) -> int:
    """How many functions a process came to: all of them, or up to the one that ended it."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload([__name__])
    ours, theirs = processes.Pipe(duplex=False)
    process = processes.Process(target=_answer, args=(folder, found, theirs), daemon=True)
    process.start()
    theirs.close()
    done, lives = 0, True
    while lives and done < len(found):
        (not_run, different), lives = _told(ours, process)
        candidate = found[done]
        done += 1
        if not_run:
            tally.not_run[not_run] += 1
            continue
        tally.run += 1
        if different:
            tally.different.append(f"{candidate.module}:{candidate.function}: {different}")
    process.kill()
    process.join()
    return done


def _told(ours: Connection, process: Any) -> tuple[Outcome, bool]:
    """What a process says of its next function, or what its end says; and whether it lives."""
    eager_is_over = False
    try:
        while ours.poll(LIMIT):
            told = ours.recv()
            if told is not None:
                return told, True
            eager_is_over = True
    except EOFError:
        process.join()
        how = f"TensorFlow ends the process (signal {-process.exitcode})"
        return (("", f"as a graph, {how}") if eager_is_over else (how, "")), False
    return ("it takes too long", ""), False


def _answer(folder: Path, found: list[Candidate], theirs: Connection) -> None:
    with standing_in(folder):
        for candidate in found:
            try:
                theirs.send(_examined(candidate, theirs))
            except _Late:
                theirs.send(("it takes too long", ""))


def _examined(candidate: Candidate, theirs: Connection) -> Outcome:
    try:
        with _quietly():
            function = _resolved(candidate)
    except AttributeError:
        return "a function in a function, or an object that has no such attribute", ""
    except BaseException:
        return "its module or object does not come up", ""
    given = calls(candidate, lambda args, kwargs: not isinstance(_outcome(function, args, kwargs), str))
    if given is None:
        return "no arguments were found that it takes", ""
    theirs.send(None)
    graph = tf.function(function)
    for args, kwargs in given:
        eager = _outcome(function, args, kwargs)
        if not same(eager, made := _outcome(graph, args, kwargs)) and not _only_rounding(function, graph, args, kwargs):
            return "", f"{eager!r:.300} became {made!r:.300}"
    return "", ""


def _resolved(candidate: Candidate) -> Any:
    found: Any = imported(candidate.module)
    owner = None
    for part in candidate.function.split("."):
        owner, found = found, getattr(found, part)
    name = candidate.function.rpartition(".")[2]
    if isinstance(owner, type) and not isinstance(owner.__dict__.get(name), (staticmethod, classmethod)):
        return getattr(owner(), name)
    return found


def _only_rounding(function: Any, graph: Any, args: Any, kwargs: Any) -> bool:
    """Whether the difference goes away in double precision: a graph may compute in another order."""

    def wide(value: Any) -> Any:
        return tf.cast(value, tf.float64) if isinstance(value, tf.Tensor) and value.dtype == tf.float32 else value

    args, kwargs = tf.nest.map_structure(wide, (args, kwargs))
    eager = _outcome(function, args, kwargs)
    return not isinstance(eager, str) and same(eager, _outcome(graph, args, kwargs))


def _outcome(function: Any, args: Any, kwargs: Any) -> Any:
    try:
        with _quietly():
            return typed(function(*args, **kwargs))
    except Exception as error:
        return f"fails: {type(error).__name__}"


class _Late(BaseException):
    """The time for one call is over; not an `Exception`, which the code that runs may catch."""


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """No output, and a limit on the processor's time."""

    def stop(number: int, frame: Any) -> None:
        raise _Late

    old = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)
