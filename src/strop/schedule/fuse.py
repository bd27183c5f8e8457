"""The planner of level 3: which nests are fused, and why others are not.

Producers go into consumers first (fewer, larger expressions), then consumers behind producers, then side by side. A
fusion that is legal may still not pay; each refusal has a reason, which the journal keeps.
"""

from __future__ import annotations

from collections.abc import Callable

from strop.core.dtypes import BYTES
from strop.core.extents import UnknownExtent
from strop.core.journal import Journal
from strop.core.memoize import remembered
from strop.core.passes import Pass, Verdict, no, yes
from strop.loops.ir import Apply, Buffer, Expr, Load, Nest, Store, loads
from strop.loops.lowered import LibraryCall, Lowered, Step
from strop.loops.passes.fusion import (
    Epilogue,
    FusionPass,
    Inline,
    ParametersFirst,
    ScaleWeights,
    ShareLoops,
    Steps,
    decided_by_parameters,
)
from strop.loops.passes.merging import is_plain, is_pointwise

#: functions that cost tens of cycles: never computed twice
EXPENSIVE = frozenset((
    "exp", "exp_nonpositive", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "sigmoid", "silu", "gelu", "gelu_tanh",
    "mish", "softplus", "pow", "atan2", "fmod", "mod", "floordiv", "truncdiv", "div", "sqrt", "rsqrt", "reciprocal",
    "rank",
))  # fmt: skip
MOST_WIDENINGS = 4  # how often a number may be converted to a wider one before storing that pays
SMALL_INPUTS = 16  # how much smaller those beside the largest are that each of several readers may read as well
CHEAP_OPERATIONS = 8  # an expression of at most so many cheap functions may be computed more than once
#: an expression with more operations, or deeper, is computed into memory: compilers of all kinds recurse over it
LONGEST_EXPRESSION, DEEPEST_EXPRESSION = 256, 64


Apart = frozenset[frozenset[str]]
#: what the passes of fusion are called in sentences
_RULES = {"inline": "inline", "epilogue": "epilogue", "shareloops": "share loops", "scaleweights": "scale weights"}


def fuse(lowered: Lowered, journal: Journal, *, keep: bool = True) -> Lowered:
    """Fuse until nothing more can be. With `keep`, what parameters alone decide is computed before any call."""
    return fused(lowered, journal, keep=keep)[0]


def fused(
    lowered: Lowered, journal: Journal, *, keep: bool = True, apart: Apart = frozenset()
) -> tuple[Lowered, list[Pass]]:
    """The fused program and the passes that made it. Nests that are to be kept `apart` are not fused, nor is what they
    have become a part of."""
    planner = _Planner(lowered, journal, keep, apart)
    planner.run()
    return planner.steps.closed(), planner.passes


class _Planner:
    def __init__(self, lowered: Lowered, journal: Journal, keep: bool, apart: Apart = frozenset()) -> None:
        self.apart = apart
        self.within: dict[str, frozenset[str]] = {}  # nests that a nest is made of, where it is more than one
        self.decided = decided_by_parameters(lowered.nests) if keep else frozenset()
        self.passes: list[Pass] = [ParametersFirst()] if keep else []
        self.steps = Steps(ParametersFirst().apply(lowered) if keep else lowered)
        self.journal = journal
        self.refused: set[tuple[str, str, str]] = set()

    def run(self) -> None:
        plans: tuple[Callable[[int, Nest], None], ...] = (self._inline, self._epilogue, self._share_loops)
        for plan in plans:
            for place, step in enumerate(self.steps.at):
                if isinstance(step, Nest):
                    plan(place, step)

    def _parts(self, name: str) -> frozenset[str]:
        return self.within.get(name, frozenset((name,)))

    def _may_meet(self, a: str, b: str) -> Verdict:
        """Whether nobody wants two nests, or two of their parts, to be kept apart."""
        if self.apart and any(frozenset((x, y)) in self.apart for x in self._parts(a) for y in self._parts(b)):
            return no("they are to be kept apart", needs="the pass keepapart taken back")
        return yes()

    def _met(self, gone: str, stays: str) -> None:
        if self.apart:
            self.within[stays] = self._parts(stays) | self._parts(gone)

    def _do(self, one: FusionPass, gone: str, subject: str, message: str, saved: int) -> None:
        one.do(self.steps)
        self._met(gone, subject)
        self.passes.append(one)
        self._tell(one, gone, subject, message, saved)

    def _tell(self, one: FusionPass, gone: str, stays: str, message: str, saved: int) -> None:
        behind = isinstance(one, Epilogue | ShareLoops)
        producer, consumer = (stays, gone) if behind else (gone, stays)
        self.journal.add(
            "fusion", stays, message, producer=producer, consumer=consumer, rule=one.title, saved_bytes=saved
        )

    def _refuse(self, one: FusionPass, a: str, b: str, verdict: Verdict) -> None:
        """That a nest is not fused with another, by a rule; `a` is the one that would go."""
        key = (one.title, a, b)
        if key not in self.refused:
            self.refused.add(key)
            producer, consumer = (b, a) if isinstance(one, Epilogue | ShareLoops) else (a, b)
            self.journal.add(
                "refusal", a, f"{_RULES[one.title]} with {b}: {verdict.why}",
                producer=producer, consumer=consumer, rule=one.title, reason=verdict.why, needs=verdict.needs,
            )  # fmt: skip

    def _before_calls(self, step: Step) -> bool:
        """Whether a step can be done once, when parameters are known."""
        return isinstance(step, Nest) and self.decided.issuperset(step.writes)

    def _inline(self, position: int, producer: Nest) -> None:
        """Compute a nest inside all of its readers."""
        steps = self.steps
        if not is_pointwise(producer) or len(producer.body) != 1:
            return
        buffer = producer.writes[0]
        if buffer in steps.kept or buffer.space != "arena":
            return
        readers = steps.readers(buffer)
        if not readers or steps.in_parts(buffer):
            return
        consumers = [step for i in readers if (step := steps.at[i]) is not None]
        if len(consumers) == 1 and isinstance(consumers[0], Nest):
            scaling = ScaleWeights(producer.name, consumers[0].name)
            if self._may_meet(producer.name, consumers[0].name) and scaling.can(steps):
                told = f"{producer.name} scales its weights"
                self._do(scaling, producer.name, consumers[0].name, told, 2 * buffer.bytes)
                return
        for consumer in consumers:
            verdict = self._may_meet(producer.name, consumer.name) and _worth_inlining(producer, consumer, len(readers))
            if verdict and buffer in self.decided and not self._before_calls(consumer):
                verdict = _worth_repeating(producer)
            if not verdict:
                self._refuse(Inline(producer.name), producer.name, consumer.name, verdict)
                return
        if steps.writers(producer.reads, position + 1, readers[-1]):
            return
        one = Inline(producer.name)
        one.do(steps)
        self.passes.append(one)
        for consumer in consumers:
            self._met(producer.name, consumer.name)
            told = f"computes {producer.name} where it reads it"
            self._tell(one, producer.name, consumer.name, told, 2 * buffer.bytes)

    def _share_loops(self, position: int, later: Nest) -> None:
        """Compute a nest in the loops of an earlier one that reads the same."""
        if not is_pointwise(later):
            return
        for i in self.steps.reading_the_same(later, position):
            earlier = self.steps.at[i]
            if not isinstance(earlier, Nest) or self._before_calls(later) > self._before_calls(earlier):
                continue
            one = ShareLoops(later.name, earlier.name)
            verdict = self._may_meet(later.name, earlier.name) and one.can(self.steps)
            if verdict:
                shared = sum(b.bytes for b in set(later.reads) & set(earlier.reads))
                self._do(one, later.name, earlier.name, f"{later.name} runs in the same loops", shared)
                return
            self._refuse(one, later.name, earlier.name, verdict)

    def _epilogue(self, position: int, consumer: Nest) -> None:
        """Run a nest behind the last one that produces what it reads."""
        if not is_pointwise(consumer):
            return
        i = max(self.steps.writers(consumer.reads, 0, position), default=-1)
        producer = self.steps.at[i] if i >= 0 else None
        if producer is None or isinstance(producer, LibraryCall):
            return
        one = Epilogue(consumer.name, producer.name)
        if self._before_calls(producer) > self._before_calls(consumer):
            once = no("parameters alone decide what it reads", needs="nothing: that is computed once, before any call")
            self._refuse(one, consumer.name, producer.name, once)
            return
        if self.steps.in_parts(next(b for b in producer.writes if b in consumer.reads)):
            return
        verdict = self._may_meet(consumer.name, producer.name) and one.can(self.steps)
        if not verdict:
            self._refuse(one, consumer.name, producer.name, verdict)
            return
        told = f"{consumer.name} became its epilogue"
        self._do(one, consumer.name, producer.name, told, one.saved(self.steps))


def _worth_repeating(producer: Nest) -> Verdict:
    """Whether to compute at every call what could be computed once: where reading the result would cost more."""
    store = producer.body[0]
    assert isinstance(store, Store)
    if any(part.is_data for load in loads(store) for part in load.index):
        return yes("its places are checked at every call")
    cheap = not EXPENSIVE & set(_operations(store.value))
    if cheap and store.target.bytes > sum(buffer.bytes for buffer in producer.reads):
        return yes("what it is computed from is smaller")
    return no("parameters alone decide it: it is computed once, before any call", needs="nothing: no call computes it")


@remembered(maxsize=4096)
def _worth_inlining(producer: Nest, consumer: Step, readers: int) -> Verdict:
    """Whether computing a nest wherever its result is read costs less than reading and writing it."""
    if isinstance(consumer, LibraryCall):
        return no("a library call reads a buffer", needs="a lowering of its operator to nests")
    store = producer.body[0]
    assert isinstance(store, Store)
    if not is_plain(store.index, producer.loops):
        return no(
            "the producer does not write whole rows in order", needs="a producer that writes each element in order"
        )
    used = _operations(store.value)
    if not loads(store) and len(used) <= CHEAP_OPERATIONS:
        return yes("it reads nothing")
    if readers > 1 and any(load.guards or any(i.is_data for i in load.index) for load in loads(store)):
        return no(
            "it is read twice and its own reads are guarded or data-dependent", needs="one reader, or plain reads"
        )
    if len(used) > LONGEST_EXPRESSION or _depth(store.value) > DEEPEST_EXPRESSION:
        return no(f"its expression has {len(used)} operations already", needs="a shorter expression")
    evaluations = _evaluations(consumer, store.target)
    size = max(store.target.size, 1)
    if _widens(store.value) and evaluations <= MOST_WIDENINGS * size and _in_rows(consumer, store.target):
        return yes("what it converts takes fewer bytes")
    expensive = bool(EXPENSIVE & set(used))
    light = len(used) <= (CHEAP_OPERATIONS if readers > 1 and _reads_as_much(producer) else 2)
    if readers * evaluations > size and (expensive or not light or evaluations > size or readers > 3):
        return no(
            f"it would be computed {readers * evaluations / size:.0f} times per element",
            needs="a consumer that reads each element once, or a producer that is cheaper to compute than to read",
        )
    if readers > 1 and producer.iterations > 4096 and not _reads_as_much(producer):
        return no("several readers would each read all of its inputs", needs="one reader, or one large input")
    return yes()


def _reads_as_much(producer: Nest) -> bool:
    """Whether a nest reads hardly more than it writes: one large input, and values per channel."""
    if len(producer.reads) < 2:
        return True
    written = producer.writes[0].bytes
    try:
        return bool(SMALL_INPUTS * (sum(b.bytes for b in producer.reads) - written) <= written)
    except UnknownExtent:
        return False


def _widens(value: Expr) -> bool:
    """Whether it only converts a byte, or a number of single precision to one of double precision."""
    if not isinstance(value, Apply) or value.op != "cast":
        return False
    (narrow,) = value.args
    return narrow.dtype in BYTES or (isinstance(narrow, Load) and (narrow.dtype, value.dtype) == ("f32", "f64"))


def _in_rows(nest: Nest, buffer: Buffer) -> bool:
    """Whether a nest never reads a buffer at places that data give to each point of its innermost loops: bytes can't be
    gathered by one instruction."""
    for item in nest.body:
        if isinstance(item, Nest):
            if not _in_rows(item, buffer):
                return False
            continue
        inner = nest.loops[-1].var if nest.loops else None
        read = (part for load in loads(item) if load.buffer == buffer for part in load.index)
        if any(part.is_data and inner in part.vars for part in read):
            return False
    return True


def _operations(expr: Expr) -> list[str]:
    if not isinstance(expr, Apply):
        return []
    return [expr.op, *(op for arg in expr.args for op in _operations(arg))]


def _depth(expr: Expr) -> int:
    return 1 + max(map(_depth, expr.args), default=0) if isinstance(expr, Apply) else 0


def _evaluations(nest: Nest, buffer: Buffer, around: int = 1) -> int:
    """How often a nest reads elements of a buffer."""
    around *= nest.iterations
    count = 0
    for item in nest.body:
        if isinstance(item, Nest):
            count += _evaluations(item, buffer, around)
        else:
            count += around * len({load for load in loads(item) if load.buffer == buffer})
    return count
