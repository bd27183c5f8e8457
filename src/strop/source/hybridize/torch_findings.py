"""PyTorch findings of a whole program: what to compile, what ends the graphs that are or should be made, what waits.

Verdicts are given function by function (`torch.py`); advice is given per model. A graph break is reported only inside
of a function that is compiled, or in a model that would be worth compiling but for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from strop.source.facts import Finding, Function, Reason
from strop.source.hybridize import allocator, fixes_torch, memory_format, recompiles, waiting
from strop.source.hybridize.break_rules import Break
from strop.source.hybridize.choose import Status, status
from strop.source.hybridize.syntax import owner_of
from strop.source.hybridize.torch_proposals import Proposal, compiled, propose
from strop.source.hybridize.torch_worth import Estimate, estimate
from strop.source.hybridize.update_share import slight_updates
from strop.source.interpret.interpreter import Program
from strop.source.project.declarations import Code
from strop.source.rules import RULES

_RECOMPILING = ("STR170", "STR171", "STR173", "STR175", "STR176")
_HALVES = "what lies on both sides of a break is not fused, and the function is entered twice"


@dataclass
class Advice:
    """Findings, which functions (by file and name) are or would be in graphs, and where optimizers start that are a
    small part of their step."""

    findings: list[Finding] = field(default_factory=list)
    proposals: list[Proposal] = field(default_factory=list)
    compiled: set[tuple[str, str]] = field(default_factory=set)
    slight_updates: set[tuple[str, int, int]] = field(default_factory=set)

    def is_compiled(self, finding: Finding) -> bool:
        return (finding.place.file, finding.function) in self.compiled


def advise(
    program: Program, judged: Mapping[str, tuple[Function, list[Finding]]], target: str, with_strop: bool = False
) -> Advice:
    """Everything that PyTorch's rules have to say of a program whose functions have been judged."""
    proposals, mended = propose(program, judged, target, with_strop)
    inside = compiled(program)
    found = [proposal.finding for proposal in proposals]
    broken: list[Finding] = []
    taken: set[tuple[str, object]] = set()
    for root in dict.fromkeys(inside.values()):
        worth = estimate(program, root, target)
        for found_break in _breaks_in(program, root, status(program, root.id), worth):
            key = found_break.rule, found_break.place
            if key not in taken:
                taken.add(key)
                broken.append(found_break)
        if root.id in judged:
            found += _recompilations(program, root, judged[root.id][0], worth)
    for candidate in mended:
        for found_break in _breaks_in(program, candidate.code, candidate.state, candidate.estimate):
            key = found_break.rule, found_break.place
            if key not in taken:
                taken.add(key)
                broken.append(found_break)
    found += _one_per_function(broken)
    for module in program.modules.values():
        if "torch" in module.imports:
            for code in (module.code, *module.functions):
                found += [_plain(code, reason) for reason in recompiles.compiled_in_loops(program, code)]
    found += memory_format.findings(program, proposals, target)
    found += allocator.findings(program, proposals, target)
    found += waiting.findings(program, target)
    names = {(program.code(id).module.file, program.code(id).name) for id in inside}
    return Advice(found, proposals, names, slight_updates(program, found) if target == "cpu" else set())


def _one_per_function(broken: list[Finding]) -> list[Finding]:
    """Breaks of one kind in one function are mended together: the first tells the lines of the others."""
    kept: dict[tuple[object, ...], list[Finding]] = {}
    for number, one in enumerate(broken):
        key = (number,) if one.edits else (one.code, one.rule, one.place.file, one.function)
        kept.setdefault(key, []).append(one)
    found = []
    for first, *others in kept.values():
        lines = sorted({other.place.line for other in others} - {first.place.line})
        more = f"; also in line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:6]))}" if lines else ""
        found.append(replace(first, message=first.message + more))
    return found


def _breaks_in(program: Program, root: Code, state: Status, worth: Estimate) -> Iterator[Finding]:
    """The breaks that every call of a function comes to, in scanned files."""
    for b, _ in state.certain:
        owner = owner_of(program, b.place)
        if not b.doubt and owner is not None and owner.module in program.modules.values():
            yield _break(program, owner, b, root, worth)


def _break(program: Program, code: Code, b: Break, root: Code, worth: Estimate) -> Finding:
    fix = fixes_torch.fix(program, code, b)
    condition = f" (if `{b.unless}`)" if b.unless else ""
    whole = f"; it ends the graph of `{root.name}`" if root is not code else ""
    gain = round(worth.gain, 2) if worth.gain > 1 else None
    return Finding(
        b.code,
        b.rule,
        b.place,
        code.name,
        f"{b.message}{condition}{whole}",
        fix.safety,
        fix.edits,
        fix.imports,
        gain,
        gain_reason=f"`{root.name}` as one graph: {worth.reason()}; {_HALVES}" if gain else "",
        assumptions=fix.assumptions,
        worth=0.3 * worth.saved,
    )


def _recompilations(program: Program, code: Code, facts: Function, worth: Estimate) -> Iterator[Finding]:
    files = {module.file for module in program.modules.values()}
    for reason in facts.reasons:
        if reason.code in _RECOMPILING and reason.place.file in files:
            yield _plain(code, reason, 0.3 * worth.saved)
    yield from fixes_torch.lifted_numbers(program, code)


def _plain(code: Code, reason: Reason, worth: float = 5.0) -> Finding:
    rule = RULES[reason.code].name
    return Finding(reason.code, rule, reason.place, code.name, reason.message, "safe-if", worth=worth)
