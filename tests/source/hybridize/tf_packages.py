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

import ast
import contextlib
import io
import multiprocessing
import os
import signal
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from source.hybridize.tf_arguments import Candidate, Parameters, known
from source.hybridize.tf_arguments import calls as arguments
from source.hybridize.tf_functions import Seen, functions
from source.hybridize.tf_stand_ins import StandIn, standing_in
from source.hybridize.tf_truth import same, typed
from strop.source.hybridize.parameters import own_parameters
from strop.source.interpret.effects import Effects
from strop.source.interpret.interpreter import Program
from strop.source.project.declarations import Code
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
            yield _candidate(program, code, ".".join(parts))
        program.release()


def _candidate(program: Program, code: Code, module: str) -> Candidate:
    outermost, around = code.parent, None
    while outermost is not None:
        around = outermost if isinstance(outermost.node, (ast.FunctionDef, ast.AsyncFunctionDef)) else around
        outermost = outermost.parent
    builder = program.functions.get(f"{code.cls.id}.__init__") if code.cls is not None else None
    return Candidate(
        module,
        code.name,
        _parameters(program, code),
        None if builder is None else _parameters(program, builder),
        None if around is None else _candidate(program, around, module),
    )


def _parameters(program: Program, code: Code) -> Parameters:
    return tuple((p.name, p.kind, known(p)) for p in own_parameters(program, code.id).values())


def examine(folder: Path, tally: Tally) -> None:
    """Run everything that is called safe in one unpacked package; what needs Keras 2, with that."""
    left = list(candidates(folder, tally))
    for keras_2 in (False, True):
        outcomes: list[Outcome] = []
        while len(outcomes) < len(left):
            outcomes += _examined_by_one_process(folder, left[len(outcomes) :], keras_2)
        for candidate, (not_run, different) in zip(left, outcomes):
            tally.run += not not_run
            if different:
                tally.different.append(f"{candidate.module}:{candidate.function}: {different}")
        left = [candidate for candidate, (not_run, _) in zip(left, outcomes) if not_run]
        tally.not_run = Counter(not_run for not_run, _ in outcomes if not_run)


def _examined_by_one_process(folder: Path, found: list[Candidate], keras_2: bool) -> Iterator[Outcome]:
    """What became of the functions that a process came to: all of them, or up to the one that ended it."""
    os.environ["TF_USE_LEGACY_KERAS"] = str(int(keras_2))
    processes = multiprocessing.get_context("spawn")
    ours, theirs = processes.Pipe(duplex=False)
    process = processes.Process(target=_answer, args=(folder, found, theirs), daemon=True)
    process.start()
    theirs.close()
    lives = True
    for _ in found:
        outcome, lives = _told(ours, process)
        yield outcome
        if not lives:
            break
    process.kill()
    process.join()


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
    why = "a method or a function in a function: what it belongs to was not made or did not call it"
    try:
        for function, seen in functions(candidate, _works):
            plain = getattr(function, "python_function", function)  # a `tf.function` as it was written
            calls = seen or [(plain, given) for given in arguments(candidate.parameters, partial(_says, plain)) or ()]
            if calls and all(_says(one, *given) for one, given in calls):
                theirs.send(None)
                return "", _different(calls)
            why = "no arguments were found that it takes and gives tensors for"
    except AttributeError:
        return "TensorFlow, Keras or the package has no such attribute", ""
    except Exception as error:
        return f"its module does not come up: {type(error).__name__}", ""
    return why, ""


def _different(calls: list[Seen]) -> str:
    graphs = {id(one): tf.function(one) for one, _ in calls}
    for plain, (args, kwargs) in calls:
        graph = graphs[id(plain)]
        eager = _outcome(plain, args, kwargs)
        if not same(eager, made := _outcome(graph, args, kwargs)) and not _only_rounding(plain, graph, args, kwargs):
            return f"{eager!r:.300} became {made!r:.300}"
    return ""


def _works(function: Any, args: Any, kwargs: Any) -> bool:
    return not isinstance(_outcome(function, args, kwargs), str)


def _says(function: Any, args: Any, kwargs: Any) -> bool:
    """Whether it works, and there is something to compare."""
    found = _outcome(function, args, kwargs)
    return not isinstance(found, str) and _holds_numbers(found) and not _holds_stand_in(found)


def _holds_numbers(found: Any) -> bool:
    if isinstance(found, dict):
        return any(map(_holds_numbers, found.values()))
    if isinstance(found, list):
        return any(map(_holds_numbers, found))
    return isinstance(found, (int, float, complex, np.ndarray, np.generic))


def _holds_stand_in(found: Any) -> bool:
    values = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return any(map(_holds_stand_in, values)) or (isinstance(found, list) and found[:1] == [StandIn.__name__])


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
