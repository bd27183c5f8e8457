"""What to compile: one proposal per model or step, the outermost one that holds together as one graph.

    a model that a script makes and calls often        `model.compile()` after the line that makes it
    a model of a library, made by whoever uses it      `@torch.compile` on the outermost class's `forward`
    a function that loops call, with its own work      `@torch.compile` on it; the model it calls is inside

Nothing is proposed below an estimate of `WORTH_SAYING`, nor for what `calling.py` knows to run once, in tests, in
workers or under an exporter. A part of a model that is worth compiling as a whole is never proposed by itself; a part
of a model that cannot be compiled as a whole only where the whole gains by it. What runs a loop over the length of its
input is left to its body.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from strop.source.facts import Edit, Finding, Function, Place
from strop.source.hybridize import sites
from strop.source.hybridize.breaks import excluded
from strop.source.hybridize.calling import exported, how_often, is_forward, is_loading, is_module, is_test, is_update
from strop.source.hybridize.choose import Status, is_candidate, is_nested, status
from strop.source.hybridize.mutations import streams
from strop.source.hybridize.purpose import backend_of, figures
from strop.source.hybridize.recompiles import every_call
from strop.source.hybridize.reservations import reservation
from strop.source.hybridize.syntax import guards_of
from strop.source.hybridize.torch_operations import WORTH_SAYING
from strop.source.hybridize.torch_rules import TO_GRAPH
from strop.source.hybridize.torch_worth import Estimate, estimate, leads_to
from strop.source.hybridize.unrolled import is_unrolled
from strop.source.interpret.events import Call
from strop.source.interpret.interpreter import Program
from strop.source.project.declarations import Class, Code

_TINY = 5.5  #: operations up to which a graph is not worth its entry
_FEW = 6.0  #: units: what saves less and is no model in a loop is a loss or metric beside a model of hundreds
_NOTICED = 10.0  #: units that a model of which nobody knows how often it runs must save
_FEW_BREAKS = 3  #: a model with so many is worth mending
#: what a training script does around the part that is worth compiling
_DRIVING = ("training-loop", "autograd-inside", "input-output", "recurrent-module", "asked-for-break", "generator")
_COLLECTIVES = tuple(f"torch.distributed.{name}" for name in ("all_", "reduce", "broadcast", "gather", "scatter"))
_PARTS = ("layers", "layer", "blocks", "block", "ops", "op", "modules", "activations", "attention", "norms", "norm")
_STEPS = ("step", "loss", "denoise", "criterion")


@dataclass(frozen=True)
class Candidate:
    """A function that could be compiled, with everything that speaks for and against it."""

    code: Code
    state: Status
    estimate: Estimate
    covers: frozenset[str]  #: ids of the functions that would be compiled with it
    repeated: bool  #: it changes Python state that its own guards read
    figures: str  #: the table that the estimate was made with
    reservation: str  #: why nothing is said of it all the same

    @property
    def whole(self) -> bool:
        return self.state.whole and not self.repeated and not self.reservation


@dataclass(frozen=True)
class Proposal:
    """A finding that compiles something, and what would be inside."""

    finding: Finding
    covers: frozenset[tuple[str, str]]  #: functions by file and name
    saved: float


def propose(
    program: Program, judged: Mapping[str, tuple[Function, list[Finding]]], target: str, with_strop: bool = False
) -> tuple[list[Proposal], list[Candidate]]:
    """What to compile, and the models that would be worth it but for a few graph breaks."""
    found = list(_candidates(program, target, with_strop))
    whole = [one for one in found if one.whole]
    broken = [one for one in found if not one.whole and _can_be_mended(one)]
    outer = [one for one in whole if not any(_is_inside(one, other) for other in whole)]
    outer = [one for one in outer if _pays_for_its_models(program, one)]
    mended = [one for one in broken if not any(_is_inside(one, other) for other in (*whole, *broken))]
    mended = [one for one in mended if is_forward(program, one.code) and _pays_for_its_models(program, one)]
    outer = [one for one in outer if not any(_is_inside(one, other) for other in mended)]
    mended = [one for one in mended if not any(b.doubt for b, _ in one.state.certain)]
    proposals = []
    for one in outer:
        proposal = _proposal(program, one, judged[one.code.id][0])
        if proposal is not None:
            proposals.append(proposal)
    libraries = sites.library_models(program, target, with_strop)
    proposals += [Proposal(made, frozenset(), saved) for made, saved in libraries]
    return proposals, mended


def compiled(program: Program) -> dict[str, Code]:
    """The functions that run inside of `torch.compile`, each with the one that is compiled."""
    found: dict[str, Code] = {}
    for code, mark in program.graphs.items():
        if mark.by == "torch.compile" and not is_test(program, code):
            found[code.id] = code
    found |= {code.id: code for code in sites.compiled_forwards(program)}
    out = exported(program)
    found = {id: code for id, code in found.items() if code not in out}  # scripts have breaks of their own
    for code in list(found.values()):
        for id, _ in program.reached(code.id):
            if program.code(id).module in program.modules.values():
                found.setdefault(id, code)
    return found


def _candidates(program: Program, target: str, with_strop: bool) -> Iterator[Candidate]:
    out, inside = exported(program), compiled(program)
    for id, code in program.functions.items():
        if code in out or id in inside or code in program.graphs or not _is_eligible(program, code):
            continue
        table = figures(program, code, target, with_strop)
        worth = estimate(program, code, table)
        if not _is_worth_saying(program, code, worth) or is_unrolled(program, id, table):
            continue
        state = status(program, id)
        left_out = frozenset(region for b, chain in state.conditional if (region := excluded(program, b, chain)))
        worth = estimate(program, code, table, left_out)
        if not _is_worth_saying(program, code, worth):
            continue
        if not is_forward(program, code) and any(b.rule == "input-output" for b, _ in state.conditional):
            continue  # one of its branches reads or writes files: it drives a model
        covers = frozenset(other for other, _ in program.reached(id))
        if any(program.code(other) in program.graphs for other in covers):
            continue  # a part is compiled already: whoever did so chose
        doubt = reservation(program, code, state, worth)
        yield Candidate(code, state, worth, covers, bool(every_call(program, id)), table, doubt)


def _is_worth_saying(program: Program, code: Code, worth: Estimate) -> bool:
    if worth.operations <= _TINY or worth.gain < WORTH_SAYING:
        return False
    return worth.saved >= _FEW or (is_forward(program, code) and how_often(program, code) == "often")


def _is_eligible(program: Program, code: Code) -> bool:
    if program.framework(code.id) != "torch" or not is_candidate(program, code.id) or code.is_generator:
        return False
    folders = code.module.name.split(".")
    if any("metric" in part for part in folders[1:] or folders):
        return False  # computed once per epoch or batch, beside a model
    if is_nested(code) or is_test(program, code) or is_loading(program, code) or is_update(program, code):
        return False
    often = how_often(program, code)
    if is_forward(program, code):
        return often != "once"
    if program.reaches(code.id, "collectives", lambda other: _exchanges(program, other)):
        return False  # processes wait for each other there
    return often == "often" or (often == "unknown" and not code.cls and any(word in code.short for word in _STEPS))


def _exchanges(program: Program, code: Code) -> bool:
    """Whether a function exchanges tensors with other processes, whatever else it does."""
    calls = [event for event in program.events(code.id) if isinstance(event, Call)]
    exchanging = [event for event in calls if any(target.startswith(_COLLECTIVES) for target in event.targets)]
    return any(guards_of(program, code).reached(event.place)[0] == "always" for event in exchanging)


def _can_be_mended(one: Candidate) -> bool:
    """A few breaks, none of which is what the function is for; shapes that depend on data need another algorithm."""
    certain = [b for b, _ in one.state.certain]
    if one.reservation or any("requires_grad_" in b.gb for b in certain):
        return False  # it computes forces: gradients with respect to its inputs are its purpose
    return 0 < len(certain) <= _FEW_BREAKS and not any(b.rule in (*_DRIVING, "dynamic-shape") for b in certain)


def _is_inside(one: Candidate, other: Candidate) -> bool:
    """Whether compiling the other compiles this one; of two that call each other, the larger."""
    if one is other or one.code.id not in other.covers:
        return False
    return other.code.id not in one.covers or (other.estimate.eager, other.code.id) > (one.estimate.eager, one.code.id)


def _pays_for_its_models(program: Program, one: Candidate) -> bool:
    """What it saves must be worth saying for the model that it is a part of, and a function's for all that is done
    around it: boxes that overlap are found in no time beside the detector. Parts of which nobody sees a whole are
    left."""
    if is_forward(program, one.code):
        around = [code for code in program.functions.values() if is_forward(program, code)]
    else:
        around = [*program.functions.values(), *(module.code for module in program.modules.values())]
    around = [code for code in around if code is not one.code and leads_to(program, code, one.code)]
    around = [code for code in around if not is_test(program, code)]
    if not around:
        often = how_often(program, one.code) == "often"
        return not _is_part(program, one.code) and (often or one.estimate.saved >= _NOTICED)
    largest = max(around, key=lambda code: estimate(program, code, one.figures).eager)
    before = estimate(program, largest, one.figures).eager
    after = estimate(program, largest, one.figures, compiled=one.code).eager
    return before / max(after, 1.0) >= WORTH_SAYING


def _is_part(program: Program, code: Code) -> bool:
    """A layer that other models are made of, by the names that their classes mention, or by its folder."""
    if not is_forward(program, code) or how_often(program, code) == "often":
        return False
    assert code.cls is not None
    folders = code.module.name.split(".")
    if any(part in _PARTS for part in folders[1:]) or folders[-1] in _PARTS:
        return True
    name = code.cls.name.rpartition(".")[2]
    return name in _mentioned(program, code.cls)


def _mentioned(program: Program, cls: Class) -> set[str]:
    """Names in the bodies of other modules of the same files or of those that import it, and in tables of classes."""
    found: set[str] = set()
    for module in program.modules.values():
        if cls.module is not module and cls.name not in module.code.locals:
            continue
        for other in module.classes.values():
            if other is not cls and is_module(program, other):
                found |= {node.id for node in other.code.walk() if isinstance(node, ast.Name)} - _bases(other)
        for statement in module.code.body:
            if isinstance(statement, (ast.Assign, ast.AnnAssign)) and isinstance(statement.value, (ast.Dict, ast.Call)):
                found |= {node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)} & {cls.name}
    return found


def _bases(cls: Class) -> set[str]:
    return {node.id for base in cls.node.bases for node in ast.walk(base) if isinstance(node, ast.Name)}


# -- as findings -------------------------------------------------------------------------------------------------------


def _proposal(program: Program, one: Candidate, facts: Function) -> Proposal | None:
    assumptions = tuple(dict.fromkeys([*facts.assumptions, *streams(program, one.code.id)]))
    covers = frozenset((program.code(id).module.file, program.code(id).name) for id in one.covers)
    if is_forward(program, one.code):
        places = sites.made_at(program, one.code)
        if places:
            made = sites.finding(*places[0], one.estimate, assumptions, one.figures)
            return Proposal(made, covers, one.estimate.saved)
        if sites.is_made(program, one.code) and how_often(program, one.code) != "often":
            return None  # the script that makes it calls it once
    return Proposal(_decorated(one, assumptions), covers, one.estimate.saved)


def _decorated(one: Candidate, assumptions: tuple[str, ...]) -> Finding:
    """`@torch.compile` above the function, below `@staticmethod` and its like."""
    code, node = one.code, one.code.node
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    outer = [d for d in node.decorator_list if ast.unparse(d) in ("staticmethod", "classmethod")]
    first = next((d for d in node.decorator_list if d not in outer), None)
    line = first.lineno if first is not None else node.lineno
    column = node.col_offset
    decorator = f"@torch.compile{backend_of(one.figures)}"
    edit = Edit(Place(code.module.file, line, column, line, column), f"{decorator}\n{' ' * column}")
    head = Place(code.module.file, node.lineno, node.col_offset, node.lineno, node.col_offset + 4 + len(node.name))
    return Finding(
        TO_GRAPH,
        "compile",
        head,
        code.name,
        f"`{code.name}` can be compiled as one graph",
        "safe-if" if assumptions else "safe",
        (edit,),
        ("import torch",),
        round(one.estimate.gain, 2),
        gain_reason=one.estimate.reason(),
        assumptions=assumptions,
        worth=one.estimate.saved,
    )
