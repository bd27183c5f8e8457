"""Which of the functions that can run as graphs are reported: the outermost ones.

A graph includes whatever it calls, so decorating the callees as well gains nothing, and saying so of each is noise. It
can also break: a Keras model whose `call` is a graph function inside a graph function that trains it finds no gradients
when its variables are made in the first trace. The verdicts stay as they are; once the callers are graphs, "every
caller is a graph" holds.
"""

from __future__ import annotations

from collections.abc import Mapping

from strop.source.facts import Finding, Function
from strop.source.hybridize.tensorflow_rules import TO_GRAPH
from strop.source.interpret.interpreter import Program

_RANK = {"safe": 0, "safe-if": 1, "unsafe": 2}


def only_outermost(program: Program, judged: Mapping[str, tuple[Function, list[Finding]]]) -> list[Finding]:
    """All findings but those of functions that callers will cover."""
    becoming = {
        id: _RANK[facts.safety]
        for id, (facts, findings) in judged.items()
        if facts.verdict == "to_graph" and any(finding.code == TO_GRAPH and finding.fixable for finding in findings)
    }
    kept: list[Finding] = []
    for id, (_, findings) in judged.items():
        covered = id in becoming and _covered(program, id, becoming, becoming[id], {id})
        kept += [finding for finding in findings if not (covered and finding.code == TO_GRAPH)]
    return kept


def _covered(program: Program, id: str, becoming: Mapping[str, int], rank: int, seen: set[str]) -> bool:
    """Is it called only from graphs, or from functions that become graphs on no weaker grounds than its own?"""
    code = program.code(id)
    callers = [caller for caller, _ in program.callers(id) if caller not in seen]
    if not callers or code in program.escaped or any(node.entry for node in code.nodes.values()):
        return False
    return all(
        program.code(caller) in program.graphs
        or becoming.get(caller, rank + 1) <= rank
        or _covered(program, caller, becoming, rank, seen | {caller})
        for caller in callers
    )
