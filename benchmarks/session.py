"""How long a session takes to open, to preview, to apply, to undo and to redo: `python benchmarks/session.py resnet18`.

The model is compiled first, into the cache; then a session opens it as everybody's next one would. Medians over some
passes of each level, in milliseconds. With `--json`, one object.
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


def milliseconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def passes(session: Session, level: Level, count: int) -> list[tuple[Any, ...]]:
    """Some passes that can be applied, from all over the model."""
    able = [one for one in session.space(levels=(level,)) if one.verdict and one.passes]
    chosen = able[:: max(len(able) // (2 * count), 1)]
    return [one.passes for one in chosen if session.why(*one.passes)][:count]


def measured(name: str, threads: int, count: int) -> dict[str, Any]:
    options = strop.Options(threads=threads)
    Session.of(name, options=options)  # compiled, and in the cache
    found: dict[str, Any] = {"model": name, "threads": threads}
    start = time.perf_counter()
    session = Session.of(name, options=options)
    found["open_ms"] = (time.perf_counter() - start) * 1e3
    found["first_look_ms"] = milliseconds(lambda: session.view("plan"))
    for level in LEVELS:
        taken: dict[str, list[float]] = {"preview": [], "apply": [], "undo": [], "redo": []}
        for one in passes(session, level, count):
            taken["preview"].append(milliseconds(lambda one=one: session.preview(*one)))
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
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = measured(given.model, given.threads, given.passes)
    if given.json:
        print(json.dumps(found))
        return
    print(f"{found['model']}: opens in {found['open_ms']:.0f} ms, shows its plan {found['first_look_ms']:.0f} ms later")
    for level in LEVELS:
        row = found[level]
        told = ", ".join(f"{what} {row[what][0]:.0f} (at most {row[what][1]:.0f})" for what in row if what != "passes")
        print(f"  {level:12} {row['passes']} passes, ms: {told}")


if __name__ == "__main__":
    main()
