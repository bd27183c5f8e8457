"""Layouts for all tensors together, each combination paid for with the loops that it allows.

Every tensor that windows move over may lie channels last or in blocks of a vector's worth of channels. What a nest
costs depends on the layouts of what it reads and writes, because the schedule does: each combination is scheduled, and
the cost model (`cost/model.py`) guesses its cycles. A tensor may also be kept twice, written in one layout and copied
to the other for some of its readers, which costs the copy. The cheapest of all combinations is found exactly
(`schedule/variable_elimination.py`): a chain of convolutions that would like blocks takes them if what they save pays
for its ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import numpy.typing as npt

from strop.core.memoize import remembered
from strop.core.options import Layouts
from strop.core.problem import Problem
from strop.loops.ir import Buffer, Nest, loads
from strop.loops.layout import Layout, blocked, channels_last, relayout
from strop.loops.lowered import Step, writes
from strop.loops.passes.layouts import INSIDE, TWIN, Relayout, Twin, border_copy
from strop.schedule.variable_elimination import Table, cheapest

Price = Callable[[Nest], float]
Prices = dict[tuple[int, int], float]  # by the layouts of what the contraction reads and of the rest
Pads = Mapping[Buffer, Mapping[int, tuple[int, int]]]
LAST, BLOCKS = 0, 1
PINS = {"channels_last": LAST, "blocked": BLOCKS}
NAMES = {LAST: "channels last", BLOCKS: "blocks of channels"}
MOST_STATEMENTS = 8
HOPELESS = 1.2  # times what channels last cost
MOST_APART = 5  # tensors of a nest that may lie in different ways
BLOCKS_MUST_SAVE = 0.02  # of a nest's cycles: less is within the model's error


@dataclass(frozen=True)
class StoredLayouts:
    """How a tensor is kept: the layout in which it is written, and the one to which it is copied, if any."""

    written: int
    copied: int | None = None

    @property
    def available(self) -> tuple[int, ...]:
        return (self.written,) if self.copied is None else (self.written, self.copied)


#: the ways in which a tensor may be kept
STATES = (StoredLayouts(LAST), StoredLayouts(BLOCKS), StoredLayouts(LAST, BLOCKS), StoredLayouts(BLOCKS, LAST))


@dataclass(frozen=True)
class ChosenLayouts:
    """Tensors that are kept twice, the layout of each tensor, and what it is called."""

    twins: list[Twin]
    layouts: list[Relayout]
    names: Mapping[str, str]


def choose(
    steps: Sequence[Step],
    wanted: Sequence[Buffer],
    pads: Pads,
    lanes: int,
    price: Price,
    policy: Layouts,
    channels: Mapping[Buffer, int] | None = None,
    pinned: Mapping[str, str] | None = None,
) -> ChosenLayouts:
    """Layouts for the wanted tensors, by the policy: all together, all alike, or each nest for itself.

    `channels` names the tensors whose channels are not in dimension 1, `pinned` those that have to lie in some way.
    """
    work = _LayoutSearch(steps, wanted, pads, lanes, price, channels)
    work.pin(pinned or {})
    return work.chosen(work.states(policy))


class _LayoutSearch:
    def __init__(
        self,
        steps: Sequence[Step],
        wanted: Sequence[Buffer],
        pads: Pads,
        lanes: int,
        price: Price,
        channels: Mapping[Buffer, int] | None = None,
    ) -> None:
        self.steps, self.wanted, self.price = list(steps), list(wanted), price
        self.pinned: dict[Buffer, int] = {}
        self.laid: dict[tuple[Buffer, int], tuple[Buffer, Layout]] = {}
        at = {b: (channels or {}).get(b, 1) for b in wanted}
        self.layouts = {
            b: (channels_last(len(b.shape), pads.get(b), dim), blocked(len(b.shape), lanes, pads.get(b), dim))
            for b, dim in at.items()
        }
        uneven = [b for b, dim in at.items() if b.shape[dim] % lanes or b.shape[dim] <= lanes]
        self.kept = {  # tensors that may not lie in blocks, and why
            **dict.fromkeys(_tangled(steps), "other nests write into it, too"),
            **dict.fromkeys(_summed_up(steps), "it is added up, in blocks by one long chain that costs digits"),
            **dict.fromkeys(uneven, f"its channels are no whole blocks of {lanes}"),
        }
        self.free = at.keys() - self.kept.keys()
        self.nests = [(i, step, _sides(step, self.free)) for i, step in enumerate(self.steps) if isinstance(step, Nest)]
        self.nests = [(i, nest, sides) for i, nest, sides in self.nests if sides.touched]

    def pin(self, layouts: Mapping[str, str]) -> None:
        """Let tensors lie in the layouts that are named, whatever that costs."""
        for name, layout in layouts.items():
            buffer = next((b for b in self.wanted if b.name in (name, name + INSIDE)), None)
            kind = PINS[layout]
            if buffer is None or (kind == BLOCKS and buffer not in self.free):
                why = "windows do not move over it" if buffer is None else self.kept[buffer]
                raise Problem("STR301", f"`{name}` cannot lie as `{layout}`: {why}", where=name)
            self.pinned[buffer] = kind

    # ---- what combinations cost ----

    def cycles(self, nest: Nest, inside: int, outside: int, sides: _Tensors) -> float:
        """A nest whose contraction reads one layout and whose results lie in another."""
        kinds = {b: LAST for b in (*nest.reads, *nest.writes) if b in self.layouts}
        kinds |= dict.fromkeys(sides.outside, outside) | dict.fromkeys(sides.inside, inside)
        found = self.price(relayout(nest, {b: self._laid(b, kind) for b, kind in kinds.items()}))
        return found * (1.0 + BLOCKS_MUST_SAVE * (inside + outside) / 2)

    def _laid(self, buffer: Buffer, kind: int) -> tuple[Buffer, Layout]:
        if (buffer, kind) not in self.laid:
            layout = self.layouts[buffer][kind]
            self.laid[buffer, kind] = (replace(buffer, shape=layout.shape(buffer.shape)), layout)
        return self.laid[buffer, kind]

    def prices(self, nest: Nest, sides: _Tensors) -> Prices:
        """What a nest costs in each way that it may read and write. Nests of many statements (Winograd's transforms run
        along channels) stay as they are, and where blocks alone are far too dear, mixtures are not tried."""
        found = {(LAST, LAST): self.cycles(nest, LAST, LAST, sides)}
        if len(nest.stores) > MOST_STATEMENTS:
            return found
        most = (BLOCKS if sides.inside else LAST, BLOCKS if sides.outside else LAST)
        found[most] = self.cycles(nest, *most, sides)
        if most == (BLOCKS, BLOCKS) and found[most] < HOPELESS * found[LAST, LAST]:
            for pair in ((LAST, BLOCKS), (BLOCKS, LAST)):
                found[pair] = self.cycles(nest, *pair, sides)
        return found

    def copying(self, buffer: Buffer, written: int, copied: int) -> float:
        twin = replace(buffer, name=buffer.name + TWIN)
        self.layouts.setdefault(twin, self.layouts[buffer])
        pair = {buffer: self._laid(buffer, written), twin: self._laid(twin, copied)}
        return self.price(relayout(border_copy(buffer, twin), pair))

    # ---- choosing ----

    def states(self, policy: Layouts) -> dict[Buffer, StoredLayouts]:
        if policy == "channels_last" or not self.free:
            return {b: StoredLayouts(self.pinned.get(b, LAST)) for b in self.wanted}
        if policy == "blocked":
            return {b: StoredLayouts(BLOCKS if b in self.free else LAST) for b in self.wanted}
        chosen = self._together() if policy == "joint" else self._apart()
        return {b: chosen.get(b, StoredLayouts(LAST)) for b in self.wanted}

    def _together(self) -> dict[Buffer, StoredLayouts]:
        prices_of = [self.prices(nest, sides) for _, nest, sides in self.nests]
        open_ones = self._open(prices_of)
        tables = []
        for buffer in self.wanted:
            if buffer in open_ones:
                costs = [0.0, 0.0, self.copying(buffer, LAST, BLOCKS), self.copying(buffer, BLOCKS, LAST)]
                costs = [
                    c if self.pinned.get(buffer, s.written) == s.written else np.inf for c, s in zip(costs, STATES)
                ]
                tables.append(Table((buffer,), np.array(costs)))
        for (_, _, sides), prices in zip(self.nests, prices_of):
            if not open_ones.isdisjoint(sides.touched):
                tables += self._tables(sides, prices)
        found = cheapest({b: len(STATES) for b in self.wanted if b in open_ones}, tables)
        return {b: STATES[s] for b, s in found.items()}

    def _open(self, prices_of: Sequence[Prices]) -> set[Buffer]:
        """The tensors of which something depends on how they lie: channels last is best for all others, as each nest
        of those that they meet in, directly or through others, takes longer in every other way."""
        if self.pinned:
            return set(self.free)
        some: set[Buffer] = set()
        for (_, _, sides), prices in zip(self.nests, prices_of):
            if any(cost <= prices[LAST, LAST] for pair, cost in prices.items() if pair != (LAST, LAST)):
                some |= set(sides.touched)
        left = [set(sides.touched) for _, _, sides in self.nests]
        while met := [touched for touched in left if not some.isdisjoint(touched)]:
            some.update(*met)
            left = [touched for touched in left if touched not in met]
        return some

    def _tables(self, sides: _Tensors, prices: Prices) -> list[Table[Buffer]]:
        """What each combination of the states of a nest's tensors costs; many tensors lie all alike."""
        some = sides.touched if len(sides.touched) <= MOST_APART else sides.touched[:1]
        costs = _costs(sides, tuple(prices.items()))
        alike = np.where(np.eye(len(STATES), dtype=bool), 0.0, np.inf)
        return [Table(some, costs), *(Table((some[0], other), alike) for other in sides.touched[len(some) :])]

    def _apart(self) -> dict[Buffer, StoredLayouts]:
        """What each nest would like best if it were alone; where a reader disagrees with the writer there is a copy."""
        prices_of = [self.prices(nest, sides) for _, nest, sides in self.nests]
        no_choice = [sides for (_, _, sides), prices in zip(self.nests, prices_of) if len(prices) == 1]
        chosen = {b: StoredLayouts(LAST) for sides in no_choice for b in sides.written}
        likes = []
        for (_, _, sides), found in zip(self.nests, prices_of):
            fixed = {chosen[b].written for b in sides.written if b in chosen}
            prices = {pair: cost for pair, cost in found.items() if not fixed or pair[1] in fixed}
            inside, outside = min(prices, key=prices.__getitem__)
            chosen.update({b: StoredLayouts(outside) for b in sides.written})
            likes += [(b, inside) for b in sides.inside]
            likes += [(b, outside) for b in sides.outside]
        for buffer, kind in likes:
            if kind not in chosen.setdefault(buffer, StoredLayouts(kind)).available:
                chosen[buffer] = StoredLayouts(chosen[buffer].written, kind)
        return chosen

    # ---- passes ----

    def chosen(self, states: Mapping[Buffer, StoredLayouts]) -> ChosenLayouts:
        twice = {b: state.copied for b, state in states.items() if state.copied is not None}
        kinds = {b: state.written for b, state in states.items()}
        readers: dict[Buffer, list[str]] = {b: [] for b in twice}
        for _, nest, sides in self.nests:
            kept = {b: states[b] for b in sides.touched}
            if not any(b in twice for b in sides.touched):
                continue
            prices = {pair: cost for pair, cost in self.prices(nest, sides).items() if sides.allows(*pair, kept)}
            inside, outside = min(prices, key=prices.__getitem__)
            wants = {**dict.fromkeys(sides.outside, outside), **dict.fromkeys(sides.inside, inside)}
            for b, kind in wants.items():
                if b in twice and kind != states[b].written and b not in sides.written:
                    readers[b].append(nest.name)
        twins = []
        for b in dict.fromkeys(b for _, nest, _ in self.nests for b in nest.writes if b in twice):
            twin = replace(b, name=b.name + TWIN)
            kinds[twin] = twice[b]
            self.layouts.setdefault(twin, self.layouts[b])
            twins.append(Twin(b.name, tuple(readers[b])))
        layouts = [Relayout(b.name, self.layouts[b][kind].text) for b, kind in kinds.items()]
        return ChosenLayouts(twins, layouts, {b.name: NAMES[kind] for b, kind in kinds.items()})


def _tangled(steps: Sequence[Step]) -> set[Buffer]:
    """Results of nests that write several, where others write into one of them, too."""
    writers: dict[Buffer, int] = {}
    for step in steps:
        for buffer in writes(step):
            writers[buffer] = writers.get(buffer, 0) + 1
    several = [writes(step) for step in steps if len(writes(step)) > 1]
    return {b for results in several if any(writers[r] > 1 for r in results) for b in results}


def _summed_up(steps: Sequence[Step]) -> set[Buffer]:
    """What is added up as it is (means, norms): in blocks that would be one long chain, which costs digits."""
    return {buffer for step in steps if isinstance(step, Nest) for buffer in _sums(step)}


@remembered(maxsize=4096)
def _sums(nest: Nest) -> frozenset[Buffer]:
    found: set[Buffer] = set()
    scratch = set(nest.all_scratch)
    for store in nest.stores:
        read = {load.buffer for load in loads(store)} - scratch if store.reduce == "sum" else ()
        if len(read) == 1:
            found.update(read)
    return frozenset(found)


@dataclass(frozen=True)
class _Tensors:
    """The tensors of a nest that may lie in more than one way: those that its contraction reads, and the others, which
    lie alike: results, and what is read where they are finished."""

    inside: tuple[Buffer, ...]
    outside: tuple[Buffer, ...]
    written: tuple[Buffer, ...]

    @property
    def touched(self) -> tuple[Buffer, ...]:
        return (*self.inside, *self.outside)

    def allows(self, inside: int, outside: int, kept: Mapping[Buffer, StoredLayouts]) -> bool:
        reads = all(inside in kept[b].available for b in self.inside)
        others = all(outside in kept[b].available for b in self.outside if b not in self.written)
        return reads and others and all(outside == kept[b].written for b in self.written)


@remembered(maxsize=4096)
def _costs(sides: _Tensors, prices: tuple[tuple[tuple[int, int], float], ...]) -> npt.NDArray[np.float64]:
    """The least that a nest costs by the states of its tensors; of too many, where all are in one state."""
    some = sides.touched if len(sides.touched) <= MOST_APART else sides.touched[:1]
    costs = np.empty([len(STATES)] * len(some))
    for states in product(STATES, repeat=len(some)):
        kept = dict(zip(some, states)) if len(some) > 1 else dict.fromkeys(sides.touched, states[0])
        allowed = [cost for pair, cost in prices if sides.allows(*pair, kept)]
        costs[tuple(map(STATES.index, states))] = min(allowed, default=np.inf)
    costs.flags.writeable = False
    return costs


def _sides(nest: Nest, free: set[Buffer]) -> _Tensors:
    scratch = set(nest.all_scratch)
    written = tuple(b for b in nest.writes if b in free)
    finishing = {load.buffer for s in nest.stores if s.target not in scratch for load in loads(s)}
    reads = [b for b in nest.reads if b in free and b not in written]
    inside = tuple(b for b in reads if b not in finishing)
    return _Tensors(inside, (*written, *(b for b in reads if b in finishing)), written)
