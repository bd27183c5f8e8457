"""How long a session takes to open, to preview, to apply, to undo and to redo: `python benchmarks/session.py resnet18`.

The model is compiled first, into the cache; then a session opens it as everybody's next one would. Medians over some
passes of each level, in milliseconds. With `--json`, one object. With `--cpu`, milliseconds of CPU time, which tell
more where others use the machine, too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import strop
from strop.core.passes import Level
from strop.session import Session

LEVELS: tuple[Level, ...] = ("lowering", "constraints", "nests", "loops")


clock = time.perf_counter


def milliseconds(work: Callable[[], Any]) -> float:
    start = clock()
    work()
    return (clock() - start) * 1e3


def passes(session: Session, level: Level, count: int) -> list[tuple[Any, ...]]:
    """Some passes that may be applied, from all over the model; nothing was planned with them yet."""
    able = [one for one in session.space(levels=(level,)) if one.verdict and one.passes]
    return [one.passes for one in able[:: max(len(able) // (2 * count), 1)]]


def measured(name: str, threads: int, count: int) -> dict[str, Any]:
    options = strop.Options(threads=threads)
    first = passes(Session.of(name, options=options), "lowering", 1)[0]  # compiled, and in the cache
    found: dict[str, Any] = {"model": name, "threads": threads}
    start = clock()
    session = Session.of(name, options=options)
    found["open_ms"] = (clock() - start) * 1e3
    found["first_preview_ms"] = milliseconds(lambda: session.preview(*first))
    found["first_look_ms"] = milliseconds(lambda: session.view("plan"))
    for level in LEVELS:
        taken: dict[str, list[float]] = {"preview": [], "apply": [], "undo": [], "redo": []}
        for one in passes(session, level, count):
            if len(taken["preview"]) == count:
                break
            try:
                taken["preview"].append(milliseconds(lambda one=one: session.preview(*one)))
            except strop.Problem:  # a later planner refuses it
                continue
            taken["apply"].append(milliseconds(lambda one=one: session.apply(*one)))
            taken["undo"].append(milliseconds(session.undo))
            taken["redo"].append(milliseconds(session.redo))
            session.undo()
        rows = {what: [statistics.median(some), max(some)] for what, some in taken.items() if some}
        found[level] = {"passes": len(taken["preview"]), **rows}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("model", nargs="?", default="resnet18")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--passes", type=int, default=4, help="of each level")
    parser.add_argument("--cpu", action="store_true", help="CPU time, of all threads")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.cpu:
        global clock
        clock = time.process_time
    found = measured(given.model, given.threads, given.passes)
    if given.json:
        print(json.dumps(found))
        return
    print(f"{found['model']}: opens in {found['open_ms']:.0f} ms; then the first preview takes "
          f"{found['first_preview_ms']:.0f} ms, and its plan {found['first_look_ms']:.0f} ms")  # fmt: skip
    for level in LEVELS:
        row = found[level]
        told = ", ".join(f"{what} {row[what][0]:.0f} (at most {row[what][1]:.0f})" for what in row if what != "passes")
        print(f"  {level:12} {row['passes']} passes, ms: {told}")


if __name__ == "__main__":
    main()
