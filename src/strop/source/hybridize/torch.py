"""PyTorch verdicts: which functions to compile, why not, under which assumptions.

    no tensor computation                                          → no_benefit
    a graph break that is certain                                  → keep, unsafe
    calls of libraries that nobody knows, given up                 → unknown
    Python state that every call changes (recompiles, then eager)  → keep, safe-if
    everything that calls it would be compiled                     → keep
    otherwise                                                      → to_graph

`safe` means that Dynamo captures the function as one graph; `safe-if` that it does so under the assumptions listed: a
parameter is a tensor, a Python condition does not hold, a callable that is passed in can be traced.
"""

from __future__ import annotations

import ast

from strop.source.code import Code
from strop.source.effects import Effects
from strop.source.facts import Edit, Finding, Function, Place, Reason
from strop.source.hybridize import fixes_torch, recompiles
from strop.source.hybridize.break_rules import Break
from strop.source.hybridize.breaks import own_breaks
from strop.source.hybridize.choose import Status, is_candidate, is_covered, status
from strop.source.hybridize.mutations import silent_changes, streams
from strop.source.hybridize.parameters import Evidence
from strop.source.hybridize.torch_rules import COMPILED, COVERED, NO_COMPUTATION, TO_GRAPH, UNDETERMINED
from strop.source.interpret import Program
from strop.source.rules import RULES
from strop.source.usage import undecided

_MAX_REASONS = 12
_UNCLEAR = "nobody knows whether its arguments are tensors"
_ONCE = ("__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__")
#: what a training script does around the part that is worth compiling
_DRIVING = ("training-loop", "autograd-inside", "input-output")


def judge(program: Program, effects: Effects, id: str, facts: Function, found: Evidence) -> list[Finding]:
    """Fill in verdict, safety, reasons and assumptions; the findings carry the edits."""
    code = program.code(id)
    mark = program.graph(id)
    facts.graph = mark is not None and mark.by == "torch.compile"
    state = status(program, id)
    _reasons(facts, state)
    repeated = recompiles.every_call(program, id)
    silent = silent_changes(program, effects, id)
    facts.reasons += [*repeated[:4], *silent[:4]]
    _decide(program, id, facts, state, bool(repeated))
    _rate(program, id, facts, state, bool(repeated or silent))
    if facts.graph or facts.verdict == "to_graph":
        facts.reasons += [*recompiles.per_value(program, id), *recompiles.shapes(program, id)]
    return _findings(program, code, facts, state)


def _reasons(facts: Function, state: Status) -> None:
    for b, chain in [*state.certain, *state.conditional][:_MAX_REASONS]:
        condition = f" (if `{b.unless}`)" if b.unless else ""
        facts.reasons.append(Reason(b.code, f"{b.message}{condition}", b.place, chain))


def _decide(program: Program, id: str, facts: Function, state: Status, repeated: bool) -> None:
    code = program.code(id)
    if code.short in _ONCE:
        facts.verdict = "no_benefit"
        facts.reasons[:] = [Reason(NO_COMPUTATION, f"`{code.short}` runs once per object", code.place())]
        return
    unseen = [s for s in state.strangers if not s.argument]
    if state.certain:
        facts.verdict = "no_benefit" if facts.tensor_computation is False else "keep"
    elif facts.tensor_computation is False and not undecided(code):
        facts.verdict = "no_benefit"
        facts.reasons.append(Reason(NO_COMPUTATION, "it computes nothing with tensors", code.place()))
    elif facts.tensor_computation is False:
        facts.verdict = "unknown"
        facts.reasons.append(Reason(UNDETERMINED, _UNCLEAR, code.place()))
    elif unseen or state.gave_up or not program.nodes(id):
        facts.verdict = "unknown"
        for stranger in unseen[:4]:
            message = f"nobody knows what `{stranger.text}` does"
            facts.reasons.append(Reason(UNDETERMINED, message, stranger.place, stranger.chain))
        if state.gave_up:
            facts.reasons.append(Reason(UNDETERMINED, f"it was not followed to the end: {state.gave_up}", code.place()))
    elif facts.graph:
        facts.verdict = "keep"
        if not facts.reasons:
            facts.reasons.append(Reason(COMPILED, "it is compiled already", code.place()))
    elif repeated or not is_candidate(program, id):
        facts.verdict = "keep"
    elif (caller := is_covered(program, id)) is not None:
        facts.verdict = "keep"
        name = program.code(caller).name
        facts.reasons.append(Reason(COVERED, f"it is compiled as a part of `{name}`, which calls it", code.place()))
    else:
        facts.verdict = "to_graph"


def _rate(program: Program, id: str, facts: Function, state: Status, changes: bool) -> None:
    unclear = facts.verdict == "unknown" and [r.message for r in facts.reasons if r.code == UNDETERMINED] == [_UNCLEAR]
    if state.certain or (facts.verdict == "unknown" and not unclear):
        facts.safety = "unsafe"
        return
    if unclear:
        facts.assumptions.append("its arguments are tensors or numbers")
    for b, _ in state.conditional:
        text = f"not (`{b.unless}`) whenever it runs compiled: otherwise {b.message}"
        if text not in facts.assumptions:
            facts.assumptions.append(text)
    if facts.verdict == "to_graph":
        facts.assumptions += streams(program, id)
    for stranger in state.strangers:
        facts.assumptions.append(f"`{stranger.text}` can be traced")
    facts.safety = "safe-if" if facts.assumptions or changes else "safe"


# -- findings ----------------------------------------------------------------------------------------------------------


def _findings(program: Program, code: Code, facts: Function, state: Status) -> list[Finding]:
    found = []
    if facts.verdict == "to_graph":
        found.append(_compile(program, code, facts))
    if facts.graph or _worth_reporting(program, code, facts, state):
        found += [_break(program, code, b) for b in own_breaks(program, code.id) if not b.doubt]
    if facts.graph or facts.verdict == "to_graph":
        codes = ("STR170", "STR171", "STR173", "STR175", "STR176")
        found += [_plain(code, reason) for reason in facts.reasons if reason.code in codes]
        found += fixes_torch.lifted_numbers(program, code)
    found += [_plain(code, reason) for reason in recompiles.compiled_in_loops(program, code)]
    if code is code.module.functions[0]:
        found += [_plain(code.module.code, r) for r in recompiles.compiled_in_loops(program, code.module.code)]
    return found


def _worth_reporting(program: Program, code: Code, facts: Function, state: Status) -> bool:
    """Breaks matter where tensors are computed, outside of the loop that drives training."""
    if not facts.tensor_computation or not is_candidate(program, code.id):
        return False
    return not any(b.rule in _DRIVING for b, _ in state.certain)


def _break(program: Program, code: Code, b: Break) -> Finding:
    fix = fixes_torch.fix(program, code, b)
    message = b.message + (f" (if `{b.unless}`)" if b.unless else "")
    return Finding(b.code, b.rule, b.place, code.name, message, fix.safety, fix.edits, fix.imports)


def _plain(code: Code, reason: Reason) -> Finding:
    return Finding(reason.code, RULES[reason.code].name, reason.place, code.name, reason.message, "safe-if")


def _compile(program: Program, code: Code, facts: Function) -> Finding:
    """`@torch.compile` above the function, below `@staticmethod` and its like."""
    node = code.node
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    outer = [d for d in node.decorator_list if ast.unparse(d) in ("staticmethod", "classmethod")]
    first = next((d for d in node.decorator_list if d not in outer), None)
    line = first.lineno if first is not None else node.lineno
    column = node.col_offset
    place = Place(code.module.file, line, column, line, column)
    nested = code.parent is not None and not isinstance(code.parent.node, (ast.Module, ast.ClassDef))
    if nested:
        facts.assumptions.append("the function around it runs once, since every new function is compiled anew")
        facts.safety = "safe-if"
    edit = Edit(place, "@torch.compile\n" + " " * column)
    head = Place(code.module.file, node.lineno, node.col_offset, node.lineno, node.col_offset + 4 + len(node.name))
    message = f"`{code.name}` can be compiled as one graph"
    return Finding(TO_GRAPH, "compile", head, code.name, message, facts.safety, (edit,), ("import torch",))
