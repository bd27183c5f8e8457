"""The rewriting engine, apart from any particular rule."""

from __future__ import annotations

import time

import pytest

from graph.evaluating import graph_of, refusals, tensor, weight
from strop.core.journal import Journal
from strop.core.passes import no
from strop.core.patterns import Bind, PatternVar
from strop.core.problem import Problem
from strop.core.rewrite import Match, Rule, Rules, rewrite
from strop.graph import build
from strop.graph.ir import Node, Origin
from strop.graph.passes.language import P, x, y
from strop.graph.passes.rewrites import Name
from strop.graph.passes.simplify import simplify


def _apply(node: Node, *rules: Rule, journal: Journal | None = None) -> Node:
    return rewrite((node,), Rules(*rules), P, journal)[0]


def test_a_variable_that_occurs_twice_must_be_the_same_node() -> None:
    rule = Rule("max(x, x) → x", P.maximum(x, x), lambda x: x)
    a, b = tensor(3), tensor(3, index=1)
    assert _apply(build.maximum(a, a), rule) is a
    assert _apply(build.maximum(a, b), rule).op == "maximum"


def test_commutative_operators_match_both_ways_and_others_do_not() -> None:
    rule = Rule("x + 1", P.add(x, 1.0), lambda x: build.exp(x))
    assert _apply(build.add(1.0, tensor(3)), rule).op == "exp"
    rule = Rule("x − 1", P.sub(x, 1.0), lambda x: build.exp(x))
    assert _apply(build.sub(1.0, tensor(3)), rule).op == "sub"


def test_the_sign_of_a_zero_counts() -> None:
    rule = Rule("x + -0.0 → x", P.add(x, -0.0), lambda x: x)
    assert _apply(build.add(tensor(3), -0.0), rule).op == "input"
    assert _apply(build.add(tensor(3), 0.0), rule).op == "add"


def test_a_product_matches_in_any_grouping() -> None:
    rule = Rule("x·y·2", P.product(x, P.exp(y), 2.0), lambda x, y: build.sub(x, y))
    a, b = tensor(3), tensor(3, index=1)
    e = build.exp(b)
    for form in (
        build.mul(build.mul(a, e), 2.0),
        build.mul(a, build.mul(2.0, e)),
        build.mul(build.mul(2.0, a), e),
    ):
        assert _apply(form, rule).op == "sub"
    assert _apply(build.mul(a, e), rule).op == "mul"


def test_attributes_are_compared_bound_or_asked() -> None:
    total = build.reduce("sum", tensor(2, 3), (1,), True)
    assert _apply(total, Rule("", P.sum(x, keepdim=True), lambda x: x)).op == "input"
    assert _apply(total, Rule("", P.sum(x, keepdim=False), lambda x: x)).op == "sum"
    assert _apply(total, Rule("", P.sum(x, dims=lambda d: len(d) == 2), lambda x: x)).op == "sum"
    got = _apply(total, Rule("", P.sum(x, dims=PatternVar("d")), lambda x, d: build.reduce("amax", x, d, True)))
    assert got.attrs["dims"] == (1,)


def test_new_nodes_inherit_name_and_origin_of_what_they_replace() -> None:
    where = Origin("net.py", 41, "layers.0")
    old = build.make("maximum", (tensor(3), build.full(0.0, "f32")), like=Node("relu", name="act", origin=where))
    new = _apply(old, Rule("", P.maximum(x, 0.0), lambda x: build.neg(build.exp(x))))
    assert (new.name, new.origin) == ("act", where)
    assert new.inputs[0].origin == where


def test_rewriting_reaches_what_a_rule_made() -> None:
    rules = (
        Rule("exp → neg∘neg", P.exp(x), lambda x: build.neg(build.neg(x))),
        Rule("neg∘neg → x", P.neg(P.neg(x)), lambda x: x),
    )
    a = tensor(3)
    assert _apply(build.exp(build.exp(a)), *rules) is a


def test_a_refusal_is_told_with_its_reason() -> None:
    journal = Journal()
    _apply(build.exp(tensor(3)), Rule("never", P.exp(x), lambda x: x, lambda: no("it is Tuesday")), journal=journal)
    assert refusals(journal) == "never: it is Tuesday"


def test_a_guard_that_answers_false_is_silent() -> None:
    journal = Journal()
    _apply(build.exp(tensor(3)), Rule("never", P.exp(x), lambda x: x, lambda: False), journal=journal)
    assert not journal.events


def test_every_rewrite_is_recorded() -> None:
    journal = Journal()
    node = Name()(graph_of(build.neg(build.neg(tensor(3))))).outputs[0]
    _apply(node, Rule("neg∘neg → x", P.neg(P.neg(x)), lambda x: x), journal=journal)
    (event,) = journal.of("rewrite")
    assert (event.subject, event.message) == (node.name, "neg∘neg → x")


def test_intermediate_values_that_others_use_are_seen() -> None:
    inner = build.exp(tensor(3))
    rule = Rule("log∘exp", P.log(P.exp(x)), lambda x: x, lambda match: match.alone())
    log = build.unary("log", inner)
    assert rewrite((log,), Rules(rule), P)[0].op == "input"
    assert rewrite((log, inner), Rules(rule), P)[0].op == "log"
    assert rewrite((build.add(log, inner),), Rules(rule), P)[0].inputs[0].op == "log"


def test_uses_are_counted_while_the_graph_changes() -> None:
    """The second user of exp is rewritten away in the same sweep; then the first may be rewritten too."""
    inner = build.exp(tensor(3))
    dying = build.where(build.full(True, "bool", (3,)), tensor(3, index=1), inner)
    rules = Rules(
        Rule("where true", P.where(True, x, y), lambda x: x),
        Rule("log∘exp", P.log(P.exp(x)), lambda x: x, lambda match: match.alone()),
    )
    out = rewrite((build.add(dying, build.unary("log", inner)),), rules, P)[0]
    assert [i.op for i in out.inputs] == ["input", "input"]


def test_rules_that_never_end_are_named() -> None:
    swap = Rule("round and round", P.add(x, y), lambda x, y: build.add(y, x))
    with pytest.raises(Problem, match="round and round"):
        _apply(build.add(tensor(3), weight(3)), swap)


def test_binding_a_whole_subpattern() -> None:
    def make(inner: Node, match: Match) -> Node:
        assert match.interior == (match.root, inner)
        return inner

    assert _apply(build.neg(build.exp(tensor(3))), Rule("", P.neg(Bind("inner", P.exp(x))), make)).op == "exp"


def test_a_chain_of_thousands_of_nodes_is_quick_and_does_not_recurse() -> None:
    node = tensor(8)
    for _ in range(1000):
        node = build.neg(build.relu(build.add(build.mul(node, 1.0), 2.0)))
    start = time.process_time()
    after = simplify(graph_of(node))
    assert time.process_time() - start < 5
    assert [n.op for n in after.nodes[-3:]] == ["sub", "relu", "neg"]
    assert len(after.nodes) == 2003
