"""Level 1: checked transformations of the operator graph, as values that print and parse back.

rewrite{rules=recognise}                            a family of rules, everywhere, until none applies
rewrite{rules="x·1 → x" at=layer1.mul}              one rule at one node, once
share{}                                             equal computations become one
dropmutations{}                                     what is written back unchanged is not written
merge{linears=(q,k,v)}                              linear layers of one input become one
name{}                                              every node gets a unique name that survives recompilation
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import ClassVar

from strop.core.extensions import Undo
from strop.core.passes import Level, Pass, Verdict, no, yes
from strop.core.rewrite import Recorder, Rule, Rules, applicable, rewrite, rewrite_at
from strop.graph.ir import Graph, Node
from strop.graph.passes import algebra, filters, fold, parameters, recognise, resample, transposed, views
from strop.graph.passes.cse import without_duplicates, without_idle_mutations
from strop.graph.passes.language import P
from strop.graph.passes.merge import may_merge, mergeable_groups, with_merged

_TIDY = algebra.rules + views.rules + fold.rules

#: families of rules by name; each includes what has to come to rest with it
FAMILIES: dict[str, Rules] = {
    "tidy": _TIDY,
    "recognise": _TIDY + recognise.rules,
    "parameters": _TIDY + recognise.rules + parameters.rules,
    "images": transposed.rules + filters.rules + resample.rules,
    "by hand": Rules(),  # of extensions; no step applies it
}
#: families that a family is a part of
_INCLUDED_IN = {"tidy": ("recognise", "parameters"), "recognise": ("parameters",)}


def add_rule(rule: Rule, family: str) -> Undo:
    """A rule behind those of a family and of the families that this one is a part of, and how to take it out."""
    families = (family, *_INCLUDED_IN.get(family, ()))
    for name in families:
        FAMILIES[name] += Rules(rule)

    def undo() -> None:
        for name in families:
            FAMILIES[name] = Rules(*(known for known in FAMILIES[name] if known is not rule))

    return undo


class GraphPass(Pass, abstract=True):
    """A pass on the operator graph."""

    level: ClassVar[Level] = "graph"

    def apply(self, ir: Graph) -> Graph:
        return self.changed(ir, None)

    def changed(self, graph: Graph, journal: Recorder | None) -> Graph:
        """The graph afterwards; the same object where nothing changes. Rewrites and refusals go to the journal."""
        raise NotImplementedError


def rules_called(name: str) -> Rules | None:
    """A family of rules, or the rules of this name."""
    if name in FAMILIES:
        return FAMILIES[name]
    found = [rule for rule in _every_rule() if rule.name == name]
    return Rules(*found) if found else None


def _every_rule() -> Rules:
    return Rules(*{id(rule): rule for family in FAMILIES.values() for rule in family}.values())


@dataclass(frozen=True)
class Rewrite(GraphPass):
    """a graph  →  the graph after rules were applied until none of them applies; with `at`, once, at that node

    `rules` names a family (`tidy`, `recognise`, `parameters`, `images`) or a single rule.
    """

    rules: str
    at: str = ""

    def check(self, ir: Graph) -> Verdict:
        rules = rules_called(self.rules)
        if rules is None:
            known = [*FAMILIES, *(rule.name for rule in _every_rule())]
            near = get_close_matches(self.rules, known, 3, 0.4) or list(FAMILIES)
            return no(f"there are no rules `{self.rules}`; near it: {', '.join(near)}")
        if not self.at:
            return yes()
        if all(node.name != self.at for node in ir.nodes):
            near = get_close_matches(self.at, [node.name for node in ir.nodes], 3)
            return no(f"there is no node `{self.at}`" + (f"; near it: {', '.join(near)}" if near else ""))
        reasons = _Reasons()
        if rewrite_at(ir.roots, rules, P, self.at, reasons) is None:
            return no(reasons.last or f"`{self.rules}` does not match there", self.at)
        return yes()

    def changed(self, graph: Graph, journal: Recorder | None) -> Graph:
        rules = rules_called(self.rules)
        assert rules is not None
        if self.at:
            roots = rewrite_at(graph.roots, rules, P, self.at, journal)
            return graph if roots is None else graph.with_roots(roots)
        return graph.with_roots(rewrite(graph.roots, rules, P, journal))

    @classmethod
    def space(cls, ir: Graph) -> Iterator[Rewrite]:
        """Every single rule at every node where it would change something."""
        for rule, node in applicable(ir.roots, _every_rule()):
            yield cls(rule.name, node.name)


class _Reasons:
    """Hears why a rule refused."""

    last = ""

    def add(self, kind: object, subject: object, message: str = "", **data: object) -> None:
        if kind == "refusal":
            self.last = message


@dataclass(frozen=True)
class Share(GraphPass):
    """y = f(x); z = f(x)   →   y = f(x); z = y"""

    def check(self, ir: Graph) -> Verdict:
        return yes()

    def changed(self, graph: Graph, journal: Recorder | None) -> Graph:
        return without_duplicates(graph, journal)

    @classmethod
    def space(cls, ir: Graph) -> Iterator[Share]:
        if without_duplicates(ir) is not ir:
            yield cls()


@dataclass(frozen=True)
class DropMutations(GraphPass):
    """buffer ← buffer   →   nothing"""

    def check(self, ir: Graph) -> Verdict:
        return yes()

    def changed(self, graph: Graph, journal: Recorder | None) -> Graph:
        return without_idle_mutations(graph)

    @classmethod
    def space(cls, ir: Graph) -> Iterator[DropMutations]:
        if without_idle_mutations(ir) is not ir:
            yield cls()


@dataclass(frozen=True)
class Merge(GraphPass):
    """q = linear(x, wq); k = linear(x, wk)   →   y = linear(x, cat(wq, wk)); q = y[…, :a]; k = y[…, a:]"""

    linears: tuple[str, ...]

    def check(self, ir: Graph) -> Verdict:
        nodes = {node.name: node for node in ir.nodes}
        missing = [name for name in self.linears if name not in nodes]
        if missing:
            return no(f"there is no node `{missing[0]}`")
        members = [nodes[name] for name in self.linears]
        if len(members) < 2 or any(node.op != "linear" for node in members):
            return no("two linear layers or more are merged")
        if len({(node.inputs[0], len(node.inputs)) for node in members}) > 1:
            return no("they do not read the same value, or only some have a bias")
        verdicts = [(node, may_merge(ir, node)) for node in members]
        return next((no(v.why, node.name) for node, v in verdicts if not v), yes())

    def changed(self, graph: Graph, journal: Recorder | None) -> Graph:
        nodes = {node.name: node for node in graph.nodes}
        return with_merged(graph, [nodes[name] for name in self.linears], journal)

    @classmethod
    def space(cls, ir: Graph) -> Iterator[Merge]:
        for group in mergeable_groups(ir):
            yield cls(tuple(node.name for node in group))


@dataclass(frozen=True)
class Name(GraphPass):
    """nodes of any names  →  nodes named after the module path and the operator, numbered where that is not enough"""

    def check(self, ir: Graph) -> Verdict:
        return yes()

    def changed(self, graph: Graph, journal: Recorder | None) -> Graph:
        taken: dict[str, int] = {}
        made: dict[Node, Node] = {}
        for node in graph.nodes:
            if node.op in ("input", "param"):
                made[node] = node
                taken[node.name] = 1
        for node in graph.nodes:
            if node in made:
                continue
            label = f"{node.origin.module}.{node.op}" if node.origin.module else node.op
            unique = _unique(label, taken)
            rebuilt = node.with_inputs(tuple(made[i] for i in node.inputs))
            made[node] = rebuilt if rebuilt.name == unique else replace(rebuilt, name=unique)
        return graph.with_roots([made[root] for root in graph.roots])


def _unique(label: str, taken: dict[str, int]) -> str:
    count = taken.get(label, 0) + 1
    taken[label] = count
    if count == 1:
        return label
    numbered = f"{label}_{count}"
    return numbered if numbered not in taken else _unique(label, taken)
