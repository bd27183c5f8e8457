"""What the page can do to a program. Each step is checked beside eager mode, and the check is part of the answer."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.studio.workspace import Workspace

ROUNDS, MOST_ROUNDS = 20, 100_000  # of a measurement


def state(workspace: Workspace, half: str = "") -> dict[str, Any]:
    """Where the session stands: what the program moves and takes, and what can be taken back."""
    session = workspace.half(half)
    steps = session.timeline()
    current = next((one for one in session.branches if one.current), None)
    return {
        "bytes": steps[-1].bytes,
        "predicted_us": steps[-1].predicted_us,
        "measured_us": steps[-1].measured_us,
        "check": steps[-1].check.to_json() if steps[-1].check is not None else None,
        "edits": len(steps) - 1,
        "undone": current.undone if current is not None else 0,
        "branches": [{"name": one.name, "current": one.current, "edits": len(one.edits)} for one in session.branches],
        "digest": workspace.session.digest,  # what an exported script prints: of a training step, of both halves
    }


def apply(workspace: Workspace, passes: str, half: str = "") -> dict[str, Any]:
    """Apply passes, given as text."""
    workspace.half(half).apply(passes)
    return _checked(workspace, half)


def apply_everywhere(workspace: Workspace, passes: str, half: str = "") -> dict[str, Any]:
    """Apply a pass wherever one of its kind, with the same numbers, may come next. What is refused after others were
    taken is left out and told."""
    session = workspace.half(half)
    wanted = Pass.parse_all(passes)
    if len(wanted) != 1:
        raise Problem("STR001", "one pass is applied everywhere, not several", help="apply them one by one")
    alike = [one for one in session.space(levels=(wanted[0].level,)) if one.verdict and _alike(one.change, wanted[0])]
    taken: list[Pass] = list(wanted)
    left_out = []
    for one in alike:
        workspace.checkpoint()
        if one.change in taken:
            continue
        verdict = session.why(*taken, *one.passes)
        if verdict:
            taken += one.passes
        else:
            left_out.append({"pass": str(one.change), "why": verdict.why})
    workspace.checkpoint()
    session.apply(*taken)
    return {**_checked(workspace, half), "applied": list(map(str, taken)), "left_out": left_out}


def _alike(one: Pass, other: Pass) -> bool:
    """Whether two passes differ in names only."""
    if type(one) is not type(other):
        return False
    pairs = [(getattr(one, f.name), getattr(other, f.name)) for f in fields(one)]
    return all(a == b or (isinstance(a, str) and isinstance(b, str)) for a, b in pairs)


def undo(workspace: Workspace, half: str = "") -> dict[str, Any]:
    """Take back the last step."""
    workspace.half(half).undo()
    return _checked(workspace, half)


def redo(workspace: Workspace, half: str = "") -> dict[str, Any]:
    """Do again what was taken back last."""
    workspace.half(half).redo()
    return _checked(workspace, half)


def replace(workspace: Workspace, index: int, passes: str, half: str = "") -> dict[str, Any]:
    """Other passes in the place of an earlier step; none: it is taken out."""
    workspace.half(half).replace(index, *([passes] if passes else []))
    return _checked(workspace, half)


def fuse(workspace: Workspace, a: str, b: str, half: str = "") -> dict[str, Any]:
    """Make one nest of two."""
    workspace.half(half).fuse(a, b)
    return _checked(workspace, half)


def keep_apart(workspace: Workspace, a: str, b: str, half: str = "") -> dict[str, Any]:
    """Never make one nest of two."""
    workspace.half(half).keep_apart(a, b)
    return _checked(workspace, half)


def pin(workspace: Workspace, tensor: str, layout: str, half: str = "") -> dict[str, Any]:
    """Set the layout of a tensor by hand."""
    workspace.half(half).pin(tensor, layout)
    return _checked(workspace, half)


def algorithm(workspace: Workspace, node: str, use: str, half: str = "") -> dict[str, Any]:
    """Compute a node by an algorithm."""
    workspace.half(half).algorithm(node, use)
    return _checked(workspace, half)


def partition(workspace: Workspace, passes: str, half: str = "") -> dict[str, Any]:
    """Store a value of a training step for backward, or compute it again."""
    workspace.session.partition(passes)
    return _checked(workspace, half)


def branch(workspace: Workspace, name: str, half: str = "") -> dict[str, Any]:
    """Start a branch here, and work on it."""
    workspace.half(half).branch(name)
    return {"state": state(workspace, half)}


def switch(workspace: Workspace, name: str, half: str = "") -> dict[str, Any]:
    """Work on another branch."""
    workspace.half(half).switch(name)
    return {"state": state(workspace, half)}


def measure(workspace: Workspace, rounds: int = ROUNDS, half: str = "") -> dict[str, Any]:
    """Run the program and time every step."""
    if not 1 <= rounds <= MOST_ROUNDS:
        raise Problem("STR001", f"a measurement takes 1 to {MOST_ROUNDS} rounds, not {rounds}")
    found = workspace.half(half).measure(rounds)
    return {"profile": found.to_json(), "state": state(workspace, half)}


def check(workspace: Workspace, half: str = "") -> dict[str, Any]:
    """Compare the program's numbers with eager mode."""
    return _checked(workspace, half)


def save(workspace: Workspace) -> dict[str, Any]:
    """The session as text of a file that `strop studio` opens; the page keeps it where its user says."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.json"
        workspace.session.save(path)
        return {"text": path.read_text(encoding="utf-8")}


def _checked(workspace: Workspace, half: str) -> dict[str, Any]:
    workspace.checkpoint()
    found = workspace.session.check()
    return {"check": found.to_json(), "state": state(workspace, half)}


STEERING: Sequence[Callable[..., Any]] = (
    apply, apply_everywhere, undo, redo, replace, fuse, keep_apart, pin, algorithm, partition, branch, switch, measure,
    check, save,
)  # fmt: skip
