"""What the page can ask for without changing anything. Each is a few calls on the session, answered as plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from strop.core.problem import Problem
from strop.loops.calls import Call
from strop.loops.ir import Nest
from strop.session.steering import Steering
from strop.session.views import NestDiff, ProgramView
from strop.studio import steering
from strop.studio.drawings import drawn, groups
from strop.studio.drawings import outline as outlined
from strop.studio.highlight import highlighted, sources
from strop.studio.messages import Command
from strop.studio.workspace import Workspace


def about(workspace: Workspace) -> dict[str, Any]:
    """Which model this studio is of, and whether it is compiled."""
    return {"model": workspace.name, "open": workspace.is_open}


def open_model(workspace: Workspace) -> dict[str, Any]:
    """Compile the model, where that was not done."""
    workspace.open()
    return about(workspace)


def overview(workspace: Workspace, half: str = "") -> dict[str, Any]:
    """What is open, on which machine, and where the session stands."""
    session = workspace.half(half)
    target = session.target
    return {
        "model": workspace.name,
        "spec": workspace.session.spec,
        "target": target.name,
        "levels": list(session.levels),
        "halves": list(workspace.halves),
        "peak": {"gflops": target.peak_gflops, "gigabytes": _bandwidths(session)},
        "state": steering.state(workspace, half),
    }


def _bandwidths(session: Steering) -> dict[str, float]:
    """GB/s of one core from each memory."""
    target = session.target
    return {name: rate * target.ghz for name, rate in zip(("L1", "L2", "L3", "DRAM"), target.bandwidth)}


def outline(workspace: Workspace, level: str, half: str = "") -> dict[str, Any]:
    """Every node of a level: the tree and the search work on it."""
    return workspace.once(
        ("outline", level, half), lambda: outlined(_view(workspace, level, half), _prepared(workspace, half))
    )


def graph(workspace: Workspace, level: str, open: list[str], half: str = "") -> dict[str, Any]:
    """A level as a drawing, with these groups open."""
    return drawn(_view(workspace, level, half), open, _prepared(workspace, half))


def modules(workspace: Workspace, level: str, half: str = "") -> list[str]:
    """The paths of all groups of a level."""
    return groups(_view(workspace, level, half), _prepared(workspace, half))


def _view(workspace: Workspace, level: str, half: str) -> ProgramView:
    session = workspace.half(half)
    if level not in session.levels:
        raise Problem("STR001", f"there is no level `{level:.40}`", help=f"there are: {', '.join(session.levels)}")
    return workspace.once(("view", level, half), lambda: session.view(level))


def _prepared(workspace: Workspace, half: str) -> frozenset[str]:
    return workspace.once(("prepared", half), lambda: frozenset(workspace.half(half).preparation.names))


def nest(workspace: Workspace, name: str, half: str = "") -> dict[str, Any]:
    """A nest as text, beside its machine code and the user's source, with what links them."""
    return workspace.once(("nest", name, half), lambda: _nest(workspace.half(half), name))


def _nest(session: Steering, name: str) -> dict[str, Any]:
    code = session.code(name)
    text = highlighted("\n".join(line for line, _ in code.text), "nest")
    machine = highlighted("\n".join(one.text for one in code.instructions), "assembly")
    places = [(origin.file, origin.line) for one in code.statements for origin in one.origins]
    return {
        "nest": name,
        "text": [{"words": words, "statement": at} for words, (_, at) in zip(text, code.text)],
        "assembly": [
            {"words": words, "statement": one.statement, "label": one.label, "ports": dict(one.ports)}
            for words, one in zip(machine, code.instructions)
        ],
        "statements": [
            {"text": one.text, "lines": [[origin.file, origin.line] for origin in one.origins]}
            for one in code.statements
        ],
        "sources": sources(dict.fromkeys(places)),
        "mapped": code.mapped,
    }


def runners_up(workspace: Workspace, name: str, half: str = "") -> dict[str, Any]:
    """The cost terms of a nest, the bound that holds it, what was nearly chosen and why it lost."""
    session = workspace.half(half)
    alike: Nest | str = next((s.nest for s in session.plan.steps if isinstance(s, Call) and s.name == name), name)
    first, text = workspace.once(("runners", alike, half), lambda: (name, session.runners_up(name)))
    return {"text": text.replace(first, name, 1)}  # nests that are alike have the same neighbours


def links(workspace: Workspace, kind: str, name: str, index: int = -1, half: str = "") -> dict[str, Any]:
    """What belongs to a line, a node, a nest, a statement or an instruction, at every other level."""
    if kind not in ("line", "node", "nest", "statement", "instruction"):
        raise Problem("STR001", f"there are no links from a `{kind:.40}`")
    what: Any = (name, index) if kind in ("statement", "instruction") else name
    found: dict[str, Any] = workspace.half(half).at(**{kind: what}).to_json()
    return found


def prediction(workspace: Workspace, half: str = "") -> dict[str, Any]:
    """Every step, predicted and (where it was measured) measured, and the modules that it belongs to."""
    session = workspace.half(half)
    found: dict[str, Any] = session.predicted_vs_measured().to_json()
    modules = {node.name: node.module for node in _view(workspace, "plan", half).nodes}
    for step in found["steps"]:
        step["module"] = modules.get(step["name"], "")
    return found


def memory(workspace: Workspace, half: str = "") -> dict[str, Any]:
    """The arena over the steps of a call."""
    found: dict[str, Any] = workspace.half(half).memory().to_json()
    return found


def timeline(workspace: Workspace, half: str = "") -> list[dict[str, Any]]:
    """What each step by hand has brought."""
    return [step.to_json() for step in workspace.half(half).timeline()]


def step_diff(workspace: Workspace, index: int, half: str = "") -> list[dict[str, Any]]:
    """The nests that a step by hand has changed, before and after."""
    return [_diff(one) for one in workspace.half(half).step_diff(index)]


def _diff(one: NestDiff) -> dict[str, Any]:
    return {"name": one.name, "lines": highlighted(one.unified, "diff")}


def why_not(workspace: Workspace, a: str, b: str, half: str = "") -> dict[str, Any]:
    """Why two neighbours are not one nest, and what it would take."""
    found: dict[str, Any] = workspace.half(half).why_not(a, b).to_json()
    return found


def algorithms(workspace: Workspace, name: str, half: str = "") -> list[dict[str, Any]]:
    """How the nodes of a nest are computed, and how else they could be."""
    return [one.to_json() for one in workspace.half(half).algorithms(name)]


def fusions(workspace: Workspace, half: str = "") -> list[dict[str, Any]]:
    """Which nests became one, by which rule, and what that saved."""
    return [one.to_json() for one in workspace.half(half).fusions()]


def space(workspace: Workspace, at: str, levels: list[str], half: str = "") -> list[dict[str, Any]]:
    """What could be done at a node, a nest or a tensor, and what could not and why. Nothing is predicted yet."""
    session = workspace.half(half)
    found = session.space(at, levels=levels) if levels else session.space(at)  # type: ignore[arg-type]
    return [
        {
            "change": str(one.change),
            "level": one.change.level,
            "passes": " ".join(map(str, one.passes)),
            "instead": str(one.instead) if one.instead is not None else "",
            "allowed": bool(one.verdict),
            "why": one.verdict.why,
        }
        for one in found
    ]


def preview(workspace: Workspace, passes: str, half: str = "") -> dict[str, Any]:
    """What some passes would change, before they are applied."""
    found = workspace.half(half).preview(passes)
    return {**found.to_json(), "diffs": [_diff(one) for one in found.diffs]}


def compare(workspace: Workspace, a: str, b: str, half: str = "") -> dict[str, Any]:
    """Two branches in bytes, microseconds and nests."""
    found = workspace.half(half).compare(a, b)
    return {**found.to_json(), "changed": [_diff(one) for one in found.changed]}


def compare_assembly(workspace: Workspace, a: str, b: str, nest: str, half: str = "") -> dict[str, Any]:
    """The machine code of a nest in two branches."""
    texts = workspace.half(half).compare(a, b).assembly(nest)
    return {"nest": nest, "sides": [highlighted(text, "assembly") for text in texts]}


def stored(workspace: Workspace) -> list[dict[str, Any]]:
    """What a training step keeps for backward, what it computes again, and what either costs."""
    return [one.to_json() for one in workspace.session.stored()] if workspace.session.training else []


def script(workspace: Workspace) -> dict[str, Any]:
    """The session as a Python program."""
    text = workspace.session.script()
    return {"text": text, "words": highlighted(text, "python")}


LOOKING: Sequence[Callable[..., Any]] = (
    about, open_model, overview, outline, graph, modules, nest, runners_up, links, prediction, memory, timeline,
    step_diff, why_not, algorithms, fusions, space, preview, compare, compare_assembly, stored, script,
)  # fmt: skip
COMMANDS = {one.__name__: Command.of(one) for one in (*LOOKING, *steering.STEERING)}
