"""What Dynamo really does with a case: compiled as one graph, and compiled the default way.

A function breaks when `fullgraph=True` is refused, when the default way counts a graph break, or when it gives the whole
function up without counting (a break inside a comprehension).
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "torch_cases"
_FUNCTION = re.compile(r"^# function: (\S+)$", re.M)
_BREAKS = re.compile(r"^# breaks: (.+?)( \(not with fullgraph=True\))?$", re.M)
_SAYS = re.compile(r"^# says: (\w+) ([\w-]+) ?(.*)$", re.M)


@dataclass(frozen=True)
class Case:
    """A program with a function `f`, arguments for it, and what is expected of both Dynamo and Strop."""

    path: Path
    function: str
    breaks: tuple[str, ...]
    soft: bool  #: only the default way breaks
    verdict: str
    safety: str
    codes: tuple[str, ...]


def read(path: Path) -> Case:
    text = path.read_text(encoding="utf-8")
    function, breaks, says = _FUNCTION.search(text), _BREAKS.search(text), _SAYS.search(text)
    assert breaks and says, f"{path.name} does not say what it expects"
    names = () if breaks[1] == "none" else tuple(breaks[1].split("; "))
    return Case(
        path, function[1] if function else "f", names, bool(breaks[2]), says[1], says[2], tuple(says[3].split())
    )


def cases() -> list[Case]:
    return [read(path) for path in sorted(CASES.glob("*.py"))]


@dataclass(frozen=True)
class Truth:
    whole: bool  #: one graph, with `fullgraph=True`
    counted: tuple[str, ...]  #: graph breaks of the default way
    given_up: bool  #: the default way makes no graph where `fullgraph=True` does

    @property
    def breaks(self) -> bool:
        return not self.whole or bool(self.counted) or self.given_up


def truth(path: Path) -> Truth:
    """Run the case's function under `torch.compile`, both ways, from a fresh module each time."""
    whole, _, captured = _run(path, fullgraph=True)
    _, counted, kept = _run(path, fullgraph=False)
    return Truth(whole, counted, captured > 0 and kept == 0)


def _run(path: Path, *, fullgraph: bool) -> tuple[bool, tuple[str, ...], int]:
    import torch
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    module = _fresh(path)
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.compile(module.f, backend="eager", fullgraph=fullgraph)(*module.args())
            worked = True
        except Exception:
            worked = False
    names = tuple(text.split("\n")[0] for text in counters["graph_break"])
    return worked, names, counters["stats"]["calls_captured"]


def _fresh(path: Path) -> Any:
    name = f"torch_case_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module
