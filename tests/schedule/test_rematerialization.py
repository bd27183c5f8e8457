"""What training keeps: exact cuts, budgets that are kept to, and reasons in the journal. Planned for znver4."""

from __future__ import annotations

import itertools

import pytest

from strop.core.journal import Journal
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.graph.ir import Graph, Node, Type
from strop.graph.joint import JointGraph
from strop.schedule.rematerialization import Rematerialization, _eased, plan_partition
from strop.target.description import Target

ROWS, WIDTH, LAYERS = 512, 1024, 3
TYPE = Type("f32", (ROWS, WIDTH))
ZEN4 = Target.find("znver4")


def chain(drawn: bool = False) -> JointGraph:
    """Layers of a product, a sum and neg; backward reads every product and every neg."""
    x, tangent = (Node("input", (), {"index": i}, (TYPE,), name) for i, name in enumerate(("x", "tangent")))
    weights = [Node("param", (), {"key": f"w{i}"}, (Type("f32", (WIDTH, WIDTH)),), f"w{i}") for i in range(LAYERS)]
    value, late = x, tangent
    pairs = []
    for i, weight in enumerate(weights):
        product = Node("linear", (value, weight), {}, (TYPE,), f"product{i}")
        plus = Node("add", (product, x), {}, (TYPE,), f"plus{i}")
        value = Node("neg", (plus,), {}, (TYPE,), f"neg{i}")
        pairs.append((product, value))
    for i, (product, neg) in enumerate(reversed(pairs)):
        late = Node("mul", (late, neg), {}, (TYPE,), f"late{i}")
        late = Node("add", (late, product), {}, (TYPE,), f"gradient{i}")
    graph = Graph((x, tangent), tuple(weights), (value, late))
    keepable = frozenset(node.name for pair in pairs for node in pair) | {f"plus{i}" for i in range(LAYERS)}
    return JointGraph.of(graph, 1, 1, keepable, frozenset(("neg0",)) if drawn else frozenset())


def test_the_cut_is_the_cheapest_of_all_divisions() -> None:
    costs = Rematerialization(chain(), ZEN4)
    names = sorted(costs.joint.keepable)
    kept = (frozenset(chosen) for n in range(len(names) + 1) for chosen in itertools.combinations(names, n))
    assert costs.cut().cycles == pytest.approx(min(costs.priced(each).cycles for each in kept))


def test_pointwise_operators_are_computed_again_and_products_are_not() -> None:
    journal = Journal()
    made, passes = plan_partition(chain(), ZEN4, "fastest", journal)
    assert all(node.op == "linear" for node in made.handed_over)
    assert not any(node.op == "linear" for node in made.computed_again)
    assert passes and [Pass.parse(str(one)) for one in passes] == passes
    told = {event.subject: event for event in journal.of("choice")}
    assert told["product1"].message.startswith("keep{value=product1}")
    assert told["product1"].data["computing_cycles"] > told["product1"].data["keeping_cycles"]


@pytest.mark.parametrize("share", [1.0, 0.7, 0.5, 0.34, 0.0])
def test_a_budget_is_kept_to_and_a_smaller_one_takes_longer(share: float) -> None:
    costs = Rematerialization(chain(), ZEN4)
    fastest = costs.cut()
    budget = int(share * fastest.bytes)
    journal = Journal()
    made, _ = plan_partition(chain(), ZEN4, budget, journal)
    assert made.kept_bytes <= budget
    note = next(event for event in journal.of("note") if event.subject == "partition")
    assert note.data["bound"] <= note.data["cycles"] + 1 and note.data["cycles"] >= int(fastest.cycles)
    names = sorted(costs.joint.keepable)
    every = (costs.priced(frozenset(c)) for n in range(len(names) + 1) for c in itertools.combinations(names, n))
    best = min(choice.cycles for choice in every if choice.bytes <= budget)
    assert note.data["bound"] <= best + 1


def test_balanced_keeps_less_for_little_time() -> None:
    costs = Rematerialization(chain(), ZEN4)
    fastest = costs.cut()
    balanced = costs.priced(plan_partition(chain(), ZEN4, "balanced", Journal())[0].kept)
    assert balanced.bytes <= fastest.bytes and balanced.cycles <= fastest.cycles + 0.03 * costs.step


def test_balanced_finds_divisions_between_two_cuts() -> None:
    """Cuts under prices keep all products or none: what 3% of a step pays for lies between."""
    costs = Rematerialization(chain(), ZEN4)
    fastest = costs.cut()
    limit = fastest.cycles + 0.5 * (costs.priced(frozenset()).cycles - fastest.cycles)
    eased = _eased(costs, costs.priced(frozenset()), limit)
    assert eased.cycles <= limit and 0 < eased.bytes < fastest.bytes


def test_a_budget_that_random_draws_exceed_is_refused() -> None:
    with pytest.raises(Problem, match=f"at least {TYPE.bytes} bytes") as refused:
        plan_partition(chain(drawn=True), ZEN4, 100, Journal())
    assert refused.value.code == "STR308" and f"memory={TYPE.bytes}" in str(refused.value)


def test_passes_by_hand_come_last_and_are_checked() -> None:
    made, passes = plan_partition(chain(), ZEN4, "fastest", Journal(), [Pass.parse("keep{value=plus0}")])
    assert "plus0" in made.kept and str(passes[-1]) == "keep{value=plus0}"
    with pytest.raises(Problem, match="no value `plus9`"):
        plan_partition(chain(), ZEN4, "fastest", Journal(), [Pass.parse("keep{value=plus9}")])
