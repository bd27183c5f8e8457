"""Level 3: nests that meet in a buffer become one, so that the buffer need not exist.

    parametersfirst{}                      what parameters alone decide moves in front of everything else
    inline{nest=bn.mul}                    a pointwise nest is computed where others read its result
    scaleweights{nest=se.mul into=proj}    a factor per channel multiplies the weights of its only reader
    epilogue{nest=relu of=conv1}           a pointwise nest runs behind the nest whose result it reads
    shareloops{nest=b of=a}                two pointwise nests that read the same run in one set of loops
    hoist{}                                what parameters alone decide is computed once, before any call

`check` says whether a pass is legal. Whether it pays is the planner's question (`schedule/fuse.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from strop.core.memoize import remembered
from strop.core.passes import Verdict, no, yes
from strop.loops.ir import CONSTANT, Buffer, Nest, Store
from strop.loops.lowered import LibraryCall, Lowered, Step, reads, writes
from strop.loops.passes.layouts import NestsPass
from strop.loops.passes.merging import (
    beside,
    can_share_loops,
    epilogue,
    inline,
    is_plain,
    is_pointwise,
    scale_weights,
    without_store,
)
from strop.loops.rewriting import rename


class Steps:
    """The steps of a program during fusion. Positions never change: a step that is fused away leaves its position
    empty. Who reads and who writes a buffer is kept up to date, so that a program of a thousand steps is not
    searched for every one of them."""

    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered
        self.kept = frozenset(lowered.outputs)
        self.at: list[Step | None] = [None] * len(lowered.nests)
        self._place: dict[str, int] = {}
        self._read_at: dict[Buffer, set[int]] = {}
        self._written_at: dict[Buffer, set[int]] = {}
        for place, step in enumerate(lowered.nests):
            self.put(place, step)

    def put(self, place: int, new: Step | None) -> None:
        old = self.at[place]
        for step, change in ((old, set.discard), (new, set.add)):
            if step is not None:
                for buffer in reads(step):
                    change(self._read_at.setdefault(buffer, set()), place)
                for buffer in writes(step):
                    change(self._written_at.setdefault(buffer, set()), place)
        if old is not None:
            self._place.pop(old.name, None)
        if new is not None:
            self._place[new.name] = place
        self.at[place] = new

    def closed(self) -> Lowered:
        return replace(self.lowered, nests=tuple(step for step in self.at if step is not None))

    def place(self, name: str) -> int | None:
        return self._place.get(name)

    def nest(self, name: str) -> Nest:
        found = self.at[self._place[name]]
        assert isinstance(found, Nest)
        return found

    def readers(self, buffer: Buffer) -> list[int]:
        return sorted(self._read_at.get(buffer, ()))

    def writers(self, buffers: Iterable[Buffer], first: int, end: int) -> list[int]:
        """Places in first … end-1 that write any of the buffers."""
        return sorted({p for b in buffers for p in self._written_at.get(b, ()) if first <= p < end})

    def may_move(self, name: str, to: str) -> Verdict:
        """Whether a nest may run where an earlier one does: nobody in between reads what lies where it writes."""
        for buffer in self.nest(name).writes:
            if any(self._place[to] < reader < self._place[name] for reader in self._read_at.get(buffer, ())):
                return no(f"what `{buffer.name}` holds before is read in between", name, _OWN_MEMORY)
        return yes()

    def in_parts(self, buffer: Buffer) -> bool:
        """Whether several steps write a buffer: each a slice of it, or one over what another wrote."""
        return len(self._written_at.get(buffer, ())) > 1

    def reading_the_same(self, nest: Nest, place: int) -> list[int]:
        """Places of steps that read what a nest reads, after the last step that writes any of it; the nearest first."""
        made = max(self.writers(nest.reads, 0, place), default=-1)
        return sorted({i for b in nest.reads for i in self._read_at.get(b, ()) if made < i < place}, reverse=True)


class FusionPass(NestsPass, abstract=True):
    """A pass on steps that are open: `can` and `do` are `check` and `apply` for several of a kind in a row."""

    def can(self, steps: Steps) -> Verdict:
        raise NotImplementedError

    def do(self, steps: Steps) -> None:
        raise NotImplementedError

    @classmethod
    def joining(cls, producer: str, consumer: str) -> FusionPass:
        """The pass of this kind that makes one nest of two, of which the second reads what the first writes."""
        raise NotImplementedError

    def check(self, ir: Lowered) -> Verdict:
        return self.can(Steps(ir))

    def apply(self, ir: Lowered) -> Lowered:
        return self.apply_all(ir, (self,))

    @classmethod
    def apply_all(cls, ir: Lowered, passes: Sequence[FusionPass]) -> Lowered:
        steps = Steps(ir)
        for one in passes:
            one.do(steps)
        return steps.closed()


_POINTWISE_PRODUCER = "a producer of parallel loops around one statement, without a sum"
_POINTWISE_CONSUMER = "a consumer of parallel loops around plain statements: a sum begins a nest of its own"
_OWN_MEMORY = "a result that no other tensor shares its memory with"
_STEADY = "inputs that stay as they are until its readers run"


def _are_nests(steps: Steps, *names: str) -> Verdict:
    for name in names:
        place = steps.place(name)
        if place is None:
            return no(f"there is no nest `{name}`", name)
        if isinstance(steps.at[place], LibraryCall):
            return no(f"`{name}` is a library call", name, "a lowering of its operator to nests")
    return yes()


@dataclass(frozen=True)
class Inline(FusionPass):
    """for i: b[i] = f(i); for j: S(b[j])   →   for j: S(f(j))     (in every nest that reads b)"""

    nest: str

    @classmethod
    def joining(cls, producer: str, consumer: str) -> Inline:
        return cls(producer)

    def can(self, steps: Steps) -> Verdict:
        found = _are_nests(steps, self.nest)
        if not found:
            return found
        producer = steps.nest(self.nest)
        if not is_pointwise(producer) or len(producer.body) != 1:
            return no("it is not pointwise with one result", self.nest, _POINTWISE_PRODUCER)
        buffer = producer.writes[0]
        if buffer in steps.kept or buffer.space != "arena":
            return no(f"`{buffer.name}` is returned", self.nest, "a model that does not return it")
        readers = steps.readers(buffer)
        if not readers:
            return no(f"nobody reads `{buffer.name}`", self.nest, "a reader")
        if steps.in_parts(buffer):
            return no(f"others write into `{buffer.name}`, too", self.nest, "one nest that writes all of it")
        store = producer.body[0]
        assert isinstance(store, Store)
        if not is_plain(store.index, producer.loops):
            return no(
                "it does not write whole rows in order", self.nest, "a producer that writes each element in order, once"
            )
        for place in readers:
            step = steps.at[place]
            if isinstance(step, LibraryCall):
                return no("a library call reads a buffer", step.name, "readers that are nests")
        if steps.writers(producer.reads, (steps.place(self.nest) or 0) + 1, readers[-1]):
            return no("what it reads is written again before it would be computed", self.nest, _STEADY)
        return yes()

    def do(self, steps: Steps) -> None:
        producer = steps.nest(self.nest)
        for place in steps.readers(producer.writes[0]):
            consumer = steps.at[place]
            assert isinstance(consumer, Nest)
            steps.put(place, inline(producer, consumer))
        gone = steps.place(self.nest)
        assert gone is not None
        steps.put(gone, None)

    @classmethod
    def space(cls, ir: Lowered) -> Iterator[Inline]:
        steps = Steps(ir)
        for step in ir.nests:
            if isinstance(step, Nest) and (one := cls(step.name)).can(steps):
                yield one


@dataclass(frozen=True)
class ScaleWeights(FusionPass):
    """Σ (x·s)·w   →   Σ x·(s·w), where s is the same for all of an image: squeeze-and-excite before a projection"""

    nest: str
    into: str

    @classmethod
    def joining(cls, producer: str, consumer: str) -> ScaleWeights:
        return cls(producer, consumer)

    def can(self, steps: Steps) -> Verdict:
        found = _are_nests(steps, self.nest, self.into)
        if not found:
            return found
        if not Inline(self.nest).can(steps):
            return Inline(self.nest).can(steps)
        producer, consumer = steps.nest(self.nest), steps.nest(self.into)
        if steps.readers(producer.writes[0]) != [steps.place(self.into)]:
            return no(f"`{self.into}` is not its only reader", self.nest, "a result that only this nest reads")
        if scale_weights(producer, consumer) is None:
            return no("it is not an image times a factor per channel that a sum of products reads", self.nest,
                      "x · s in front of a convolution or a linear layer, s the same for all of an image")  # fmt: skip
        return yes()

    def do(self, steps: Steps) -> None:
        scaled = scale_weights(steps.nest(self.nest), steps.nest(self.into))
        at, gone = steps.place(self.into), steps.place(self.nest)
        assert scaled is not None and at is not None and gone is not None
        steps.put(at, scaled)
        steps.put(gone, None)

    @classmethod
    def space(cls, ir: Lowered) -> Iterator[ScaleWeights]:
        steps = Steps(ir)
        for step in (step for step in ir.nests if isinstance(step, Nest) and len(step.writes) == 1):
            names = [reader.name for at in steps.readers(step.writes[0]) if (reader := steps.at[at]) is not None]
            if len(names) == 1 and (one := cls(step.name, names[0])).can(steps):
                yield one


@dataclass(frozen=True)
class Epilogue(FusionPass):
    """for i: b[i] = f(i); for j: c[j] = g(b[j])   →   for i: {v = f(i); c[i] = g(v)}   (b stays if others read it)"""

    nest: str
    of: str

    @classmethod
    def joining(cls, producer: str, consumer: str) -> Epilogue:
        return cls(consumer, producer)

    def can(self, steps: Steps) -> Verdict:
        return self._fused(steps)[1]

    def _fused(self, steps: Steps) -> tuple[Nest | None, Verdict]:
        found = _are_nests(steps, self.nest, self.of)
        if not found:
            return None, found
        producer, consumer = steps.nest(self.of), steps.nest(self.nest)
        if not is_pointwise(consumer):
            return None, no("it is not pointwise", self.nest, _POINTWISE_CONSUMER)
        if max(steps.writers(consumer.reads, 0, steps.place(self.nest) or 0), default=-1) != steps.place(self.of):
            why = f"`{self.of}` is not the last nest that writes what it reads"
            return None, no(why, self.nest, "a consumer whose other inputs are there before this producer runs")
        shared = [b for b in producer.writes if b in consumer.reads]
        if steps.in_parts(shared[0]):
            return None, no(f"several nests write `{shared[0].name}`", self.nest, "one nest that writes all of it")
        moves = steps.may_move(self.nest, self.of)
        if not moves:
            return None, moves
        fused, verdict = epilogue(producer, consumer, shared[0])
        if len(shared) > 1:
            why = "it reads several results, which the producer may not have at the same time"
            return None, no(why, self.nest, "a producer of one result")
        if fused is not None and self._gone(steps, shared[0]):
            fused = without_store(fused, shared[0])
        return fused, verdict

    def _gone(self, steps: Steps, buffer: Buffer) -> bool:
        return buffer not in steps.kept and len(steps.readers(buffer)) == 1 and buffer.space == "arena"

    def do(self, steps: Steps) -> None:
        fused, _ = self._fused(steps)
        at, gone = steps.place(self.of), steps.place(self.nest)
        assert fused is not None and at is not None and gone is not None
        steps.put(at, fused)
        steps.put(gone, None)

    def saved(self, steps: Steps) -> int:
        """Bytes that need not be moved any more."""
        shared = next(b for b in steps.nest(self.of).writes if b in steps.nest(self.nest).reads)
        return shared.bytes * (2 if self._gone(steps, shared) else 1)

    @classmethod
    def space(cls, ir: Lowered) -> Iterator[Epilogue]:
        steps = Steps(ir)
        for place, step in enumerate(ir.nests):
            if isinstance(step, Nest) and is_pointwise(step):
                producer = max(steps.writers(step.reads, 0, place), default=-1)
                if producer >= 0 and (one := cls(step.name, ir.nests[producer].name)).can(steps):
                    yield one


@dataclass(frozen=True)
class ShareLoops(FusionPass):
    """for i: S(x[i]); for j: T(x[j])   →   for i: {S(x[i]); T(x[i])}"""

    nest: str
    of: str

    @classmethod
    def joining(cls, producer: str, consumer: str) -> ShareLoops:
        return cls(consumer, producer)

    def can(self, steps: Steps) -> Verdict:
        found = _are_nests(steps, self.nest, self.of)
        if not found:
            return found
        earlier, later = steps.nest(self.of), steps.nest(self.nest)
        if not is_pointwise(later):
            return no("it is not pointwise", self.nest, _POINTWISE_CONSUMER)
        if steps.place(self.of) not in steps.reading_the_same(later, steps.place(self.nest) or 0):
            why = f"`{self.of}` reads nothing of what it reads, or that is written in between"
            return no(why, self.nest, "a tensor that both read")
        return steps.may_move(self.nest, self.of) and can_share_loops(earlier, later)

    def do(self, steps: Steps) -> None:
        at, gone = steps.place(self.of), steps.place(self.nest)
        assert at is not None and gone is not None
        steps.put(at, beside(steps.nest(self.of), steps.nest(self.nest)))
        steps.put(gone, None)

    @classmethod
    def space(cls, ir: Lowered) -> Iterator[ShareLoops]:
        steps = Steps(ir)
        for place, step in enumerate(ir.nests):
            if isinstance(step, Nest) and is_pointwise(step):
                for other in steps.reading_the_same(step, place):
                    if (one := cls(step.name, ir.nests[other].name)).can(steps):
                        yield one


def decided_by_parameters(steps: Sequence[Step]) -> frozenset[Buffer]:
    """What nests compute from parameters alone, all of it."""
    found: set[Buffer] = set()
    others = _used_in_turns(steps)
    for step in steps:
        if isinstance(step, Nest) and all(b.space in ("param", "const") or b in found for b in step.reads):
            found.update(b for b in step.writes if b.space == "arena" and b not in others)
        else:
            others.update(writes(step))
            found -= others
    return frozenset(found)


@dataclass(frozen=True)
class ParametersFirst(NestsPass):
    """steps in the order of the graph  →  first those that parameters alone decide, then the others"""

    def check(self, ir: Lowered) -> Verdict:
        return yes()

    def apply(self, ir: Lowered) -> Lowered:
        decided = decided_by_parameters(ir.nests)
        nests = sorted(ir.nests, key=lambda step: not (isinstance(step, Nest) and decided.issuperset(step.writes)))
        return replace(ir, nests=tuple(nests))

    @classmethod
    def space(cls, ir: Lowered) -> Iterator[ParametersFirst]:
        if cls().apply(ir).nests != ir.nests:
            yield cls()


@dataclass(frozen=True)
class Hoist(NestsPass):
    """nests that read nothing but parameters  →  the parameter program, which runs when parameters change

    What they write is kept in the space `packed`.
    """

    def check(self, ir: Lowered) -> Verdict:
        return no("that has been done already") if ir.once else yes()

    def apply(self, ir: Lowered) -> Lowered:
        shared = _written_per_call(ir.nests)
        kept: dict[Buffer, Buffer] = {}
        once: list[Nest] = []
        rest: list[Step] = []
        for step in ir.nests:
            if isinstance(step, LibraryCall):
                rest.append(replace(step, inputs=tuple(kept.get(b, b) for b in step.inputs)))
                continue
            step = _over(step, tuple((b, kept[b]) for b in (*step.reads, *step.writes) if b in kept))
            constant = all(b.space in CONSTANT for b in step.reads)
            if constant and all(b.space in ("arena", "packed") for b in step.writes) and not set(step.writes) & shared:
                new = {b: replace(b, space="packed") for b in step.writes}
                kept.update(new)
                once.append(_over(step, tuple(new.items())))
                continue
            rest.append(step)
        return replace(ir, nests=tuple(rest), once=tuple(once))


@remembered(maxsize=4096)
def _over(nest: Nest, new: tuple[tuple[Buffer, Buffer], ...]) -> Nest:
    """The nest over other buffers. A program that is planned again gets the same nests, and what is known of them."""
    return rename(nest, dict(new))


def _written_per_call(steps: Sequence[Step]) -> set[Buffer]:
    """Buffers that several steps fill, not all of them from parameters alone, or one after the other."""
    changing = _used_in_turns(steps)
    for step in steps:
        if isinstance(step, LibraryCall):
            changing.update(step.outputs)
        elif any(b.space not in ("param", "const") and (b.space != "arena" or b in changing) for b in step.reads):
            changing.update(step.writes)
    return changing


def _used_in_turns(steps: Sequence[Step]) -> set[Buffer]:
    """Buffers that are written once more after somebody has read them: each reader wants what was there in its turn."""
    read: set[Buffer] = set()
    found: set[Buffer] = set()
    for step in steps:
        written = set(writes(step))
        found |= written & read
        read.update(buffer for buffer in reads(step) if buffer not in written)
    return found
