"""Why a schedule was taken: its terms, the bound that holds it, and what the runners-up would have lost."""

from __future__ import annotations

from collections.abc import Sequence

from strop.core.cache import Cache
from strop.cost.model import Cost, estimate
from strop.loops.calls import Call, canonicalise
from strop.loops.ir import Nest
from strop.schedule.builder import ScheduleBuilder
from strop.schedule.mutations import Ranked, made, ranked, short
from strop.schedule.sampling import Schedule
from strop.schedule.scheduler import anonymised
from strop.target.description import Target

_TERMS = ("ports", "front end", "latency", "L2", "L3", "DRAM", "TLB")


def explain(
    nest: Nest,
    candidates: Sequence[Schedule],
    target: Target,
    *,
    threads: int = 1,
    limit: int = 4,
    cache: Cache | None = None,
) -> str:
    """The best candidate for a nest with its terms, then the runners-up and why they lost."""
    if not candidates:
        return f"{nest.name}: as it is, there was nothing to choose from"
    costs = [(estimate(one.nest, target, threads, cache), one) for one in candidates]
    return compare(nest.name, [(cost, str(one)) for cost, one in sorted(costs, key=lambda pair: pair[0].cycles)], limit)


def nest(name: str, source: Nest, chosen: ScheduleBuilder, *, limit: int = 3, cache: Cache | None = None) -> str:
    """Why a nest has the schedule that it has: its terms, what holds it, and what is near it."""
    near = ranked(source, chosen, 2 * limit + 2, cache)
    own = next((one for one in near if one.recipe.nest == chosen.nest), None)
    if own is None:  # everything near it is better by the guess: it is still what runs
        own = Ranked(estimate(chosen.nest, chosen.target, chosen.threads, cache), chosen)
    others = [one for one in near if one is not own]
    return compare(name, [(own.cost, str(own)), *((one.cost, changed(own, one)) for one in others)], limit)


def changed(chosen: Ranked, other: Ranked) -> str:
    """The passes that are not those of the chosen schedule."""
    known = set(map(short, chosen.recipe.passes))
    new = [short(one) for one in other.recipe.passes if short(one) not in known]
    gone = len(known - set(map(short, other.recipe.passes)))
    return " ".join(new) or f"without {gone} of its passes"


def recipe_of(call: Call, target: Target, threads: int, pack: bool) -> ScheduleBuilder | None:
    """The schedule of a planned call, under canonical names, to be varied."""
    source, actual = canonicalise(call.source)
    passes = tuple(anonymised(one, call.source, actual) for one in call.passes)
    return made(source, passes, ScheduleBuilder(source, target, threads, pack))


def closely(
    calls: Sequence[Call], target: Target, threads: int, pack: bool, *, count: int = 3, cache: Cache | None = None
) -> str:
    """The slowest nests one by one, equal ones once."""
    known: dict[Nest, tuple[float, Call]] = {}
    for call in calls:
        if call.nest not in known:
            known[call.nest] = (estimate(call.nest, target, threads, cache).cycles, call)
    texts = []
    for _, call in sorted(known.values(), key=lambda pair: -pair[0])[:count]:
        recipe = recipe_of(call, target, threads, pack)
        if recipe is not None:
            texts.append(nest(call.name, canonicalise(call.source)[0], recipe, cache=cache))
    return "\n".join(texts)


def compare(name: str, ranked: Sequence[tuple[Cost, str]], limit: int = 4) -> str:
    """Costs in order, the best first, each with the text of its schedule."""
    best, schedule = ranked[0]
    lines = [f"{name}: {best.why}", f"  {terms(best)}", f"  {schedule}"]
    for cost, other in ranked[1 : 1 + limit]:
        lines.append(f"  not {other}")
        lines.append(f"    {cost.cycles / best.cycles - 1:+.0%}: {lost(best, cost)}")
    if len(ranked) > 1 + limit:
        last = ranked[-1][0]
        lines.append(f"  and {len(ranked) - 1 - limit} more, up to {last.cycles / best.cycles:.1f} times as long")
    return "\n".join(lines)


def terms(cost: Cost) -> str:
    """Each bound as it would be alone."""
    named = [f"{name} {cost.terms[name]:,.0f}" for name in _TERMS if cost.terms.get(name, 0.0) >= 0.5]
    if cost.overhead:
        named.append(f"loops {cost.overhead:,.0f}")
    return "cycles if alone: " + ", ".join(named)


def lost(best: Cost, other: Cost) -> str:
    """What makes the other one slower: the term that grew most."""
    if other.cycles < best.cycles:
        return (
            "within what the model can tell"
            if other.cycles > 0.95 * best.cycles
            else "`strop tune --measure` would tell"
        )
    grown = {name: other.terms.get(name, 0.0) - best.terms.get(name, 0.0) for name in _TERMS}
    name = max(grown, key=lambda term: grown[term])
    if other.spills > best.spills:
        return f"{other.spills} spills in a tile ({other.bound} {other.terms[other.bound]:,.0f} cycles)"
    if grown[name] <= 0.0:
        return f"more loops around its tiles ({other.overhead:,.0f} cycles)"
    return f"{name} {other.terms.get(name, 0.0):,.0f} cycles instead of {best.terms.get(name, 0.0):,.0f}"


def what_holds(steps: Sequence[tuple[str, Nest]], target: Target, threads: int = 1, cache: Cache | None = None) -> str:
    """What holds each of several scheduled nests, the slowest first; equal ones are counted once."""
    known: dict[Nest, Cost] = {}
    rows = []
    for name, nest in steps:
        if nest not in known:
            known[nest] = estimate(nest, target, threads, cache)
        rows.append((known[nest], name))
    rows.sort(key=lambda row: -row[0].cycles)
    total = sum(cost.cycles for cost, _ in rows) or 1.0
    return "\n".join(f"{cost.cycles / total:6.1%}  {name}: {cost.why}" for cost, name in rows)
