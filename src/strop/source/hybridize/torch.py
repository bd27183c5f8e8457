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

from strop.source.facts import Finding, Function, Reason
from strop.source.hybridize import recompiles
from strop.source.hybridize.choose import Status, is_candidate, is_covered, is_nested, status
from strop.source.hybridize.mutations import silent_changes, streams
from strop.source.hybridize.parameters import Evidence
from strop.source.hybridize.torch_rules import COMPILED, COVERED, NO_COMPUTATION, UNDETERMINED
from strop.source.interpret.effects import Effects
from strop.source.interpret.interpreter import Program
from strop.source.interpret.usage import undecided

_MAX_REASONS = 12
_UNCLEAR = "nobody knows whether its arguments are tensors"
_ONCE = ("__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__")


def judge(program: Program, effects: Effects, id: str, facts: Function, found: Evidence) -> list[Finding]:
    """Fill in verdict, safety, reasons and assumptions; what to do about them is chosen in `torch_findings.py`."""
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
    return []


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
        if is_nested(program.code(id)):
            facts.assumptions.append("the function around it runs once, since every new function is compiled anew")
        facts.assumptions += streams(program, id)
    for stranger in state.strangers:
        facts.assumptions.append(f"{stranger.text if stranger.package else f'`{stranger.text}`'} can be traced")
    facts.safety = "safe-if" if facts.assumptions or changes else "safe"
