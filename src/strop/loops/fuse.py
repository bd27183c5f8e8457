"""Level 3: nests that meet in a buffer become one, so that the buffer need not exist.

Two rewrites do all of it, each answering with a reason where it refuses:

    inline    a pointwise producer's expression is computed where its consumer reads it (a prologue)
    epilogue  a pointwise consumer's statement runs right after its producer's value is known, on the same point

A consumer behind a view (reshape, permute) is re-indexed by the producer's own loops: views cost nothing here either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod

from strop.core.dtypes import BYTES
from strop.core.journal import Journal
from strop.core.passes import Verdict, no, yes
from strop.loops.index import Index, Quotient, Remainder, Var, index_of
from strop.loops.ir import Apply, Buffer, Expr, Guard, Load, Loop, Nest, Store, loads, replace_loads
from strop.loops.lower.driver import LibraryCall, Lowered, Step

#: functions that cost tens of cycles: never computed twice
EXPENSIVE = frozenset((
    "exp", "exp_nonpositive", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "sigmoid", "silu", "gelu", "gelu_tanh",
    "mish", "softplus", "pow", "atan2", "fmod", "mod", "floordiv", "truncdiv", "div", "sqrt", "rsqrt", "reciprocal",
    "rank",
))  # fmt: skip
SCALE_POINTS = 400  # points of an image from which scaling weights is cheaper than scaling the image
MOST_WIDENINGS = 4  # times that a byte may be converted instead of being read as what it becomes
CHEAP_OPERATIONS = 8  # an expression of at most so many cheap functions may be computed more than once
#: an expression with more operations, or deeper, is computed into memory: compilers of all kinds recurse over it
LONGEST_EXPRESSION, DEEPEST_EXPRESSION = 256, 64


def fuse(lowered: Lowered, journal: Journal, *, keep: bool = True) -> Lowered:
    """Fuse until nothing more can be. With `keep`, what parameters alone decide is computed before any call."""
    work = _Fusion(list(lowered.nests), lowered, journal, keep)
    work.run()
    return replace(lowered, nests=tuple(step for step in work.steps if step is not None))


class _Fusion:
    """Steps in places that never change: one that went away leaves its place empty. Who reads and who writes a buffer
    is kept up to date, so that a program of a thousand steps is not searched for every one of them."""

    def __init__(self, steps: list[Step], lowered: Lowered, journal: Journal, keep: bool) -> None:
        self.steps: list[Step | None] = [None] * len(steps)
        self.kept = frozenset(lowered.outputs)
        self.decided = _decided_by_parameters(steps) if keep else frozenset()
        steps = sorted(steps, key=lambda step: not self._before_calls(step))
        self.journal = journal
        self.refused: set[tuple[str, str, str]] = set()
        self._read_at: dict[Buffer, set[int]] = {}
        self._written_at: dict[Buffer, set[int]] = {}
        for place, step in enumerate(steps):
            self._put(place, step)

    def _put(self, place: int, new: Step | None) -> None:
        for step, change in ((self.steps[place], set.discard), (new, set.add)):
            if step is not None:
                for buffer in _reads(step):
                    change(self._read_at.setdefault(buffer, set()), place)
                for buffer in _writes(step):
                    change(self._written_at.setdefault(buffer, set()), place)
        self.steps[place] = new

    def run(self) -> None:
        """Producers into consumers first (fewer, larger expressions), then consumers behind producers."""
        for rewrite in (self._inline, self._append, self._beside):
            for place, step in enumerate(self.steps):
                if isinstance(step, Nest):
                    rewrite(place, step)

    def _before_calls(self, step: Step) -> bool:
        """Whether a step can be done once, when parameters are known."""
        return isinstance(step, Nest) and self.decided.issuperset(step.writes)

    def readers(self, buffer: Buffer) -> list[int]:
        return sorted(self._read_at.get(buffer, ()))

    def writers(self, buffers: Iterable[Buffer], first: int, end: int) -> list[int]:
        """Places in first … end-1 that write any of the buffers."""
        return sorted({p for b in buffers for p in self._written_at.get(b, ()) if first <= p < end})

    def in_parts(self, buffer: Buffer) -> bool:
        """Whether several steps write a buffer: each a slice of it, or one over what another wrote."""
        return len(self._written_at.get(buffer, ())) > 1

    def _refuse(self, kind: str, a: str, b: str, verdict: Verdict) -> None:
        key = (kind, a, b)
        if key not in self.refused:
            self.refused.add(key)
            self.journal.add("refusal", a, f"{kind} with {b}: {verdict.why}")

    def _inline(self, position: int, producer: Nest) -> bool:
        """Compute `producer` inside all of its readers; True when it went away."""
        if not is_pointwise(producer) or len(producer.body) != 1:
            return False
        buffer = producer.writes[0]
        if buffer in self.kept or buffer.space != "arena":
            return False
        readers = self.readers(buffer)
        if not readers or self.in_parts(buffer):
            return False
        if len(readers) == 1 and self._scale(position, producer, readers[0]):
            return True
        for i in readers:
            consumer = self.steps[i]
            assert consumer is not None
            verdict = can_inline(producer, consumer, len(readers))
            if verdict and buffer in self.decided and not self._before_calls(consumer):
                verdict = _worth_repeating(producer)
            if not verdict:
                self._refuse("inline", producer.name, consumer.name, verdict)
                return False
        if self.writers(producer.reads, position + 1, readers[-1]):
            return False
        for i in readers:
            consumer = self.steps[i]
            assert isinstance(consumer, Nest)
            self._put(i, inline(producer, consumer))
            self.journal.add(
                "fusion", consumer.name, f"computes {producer.name} where it reads it", saved_bytes=2 * buffer.bytes
            )
        self._put(position, None)
        return True

    def _scale(self, position: int, producer: Nest, reader: int) -> bool:
        """Multiply the weights of the only reader instead of everything that they meet; True when the producer went."""
        consumer = self.steps[reader]
        if not isinstance(consumer, Nest) or self.writers(producer.reads, position + 1, reader):
            return False
        scaled = scale_weights(producer, consumer)
        if scaled is None:
            return False
        self._put(reader, scaled)
        self._put(position, None)
        saved = 2 * producer.writes[0].bytes
        self.journal.add("fusion", consumer.name, f"{producer.name} scales its weights", saved_bytes=saved)
        return True

    def _beside(self, position: int, later: Nest) -> bool:
        """Compute `later` in the loops of an earlier nest that reads the same; True when it moved."""
        if not is_pointwise(later):
            return False
        needed = set(later.reads)
        made = max(self.writers(needed, 0, position), default=-1)
        beside_it = {i for b in needed for i in self._read_at.get(b, ()) if made < i < position}
        for i in sorted(beside_it, reverse=True):
            earlier = self.steps[i]
            if not isinstance(earlier, Nest) or self._before_calls(later) > self._before_calls(earlier):
                continue
            verdict = can_share_loops(earlier, later)
            if verdict:
                self._put(i, beside(earlier, later))
                self._put(position, None)
                shared = sum(b.bytes for b in needed & set(earlier.reads))
                self.journal.add("fusion", earlier.name, f"{later.name} runs in the same loops", saved_bytes=shared)
                return True
            self._refuse("share loops", later.name, earlier.name, verdict)
        return False

    def _append(self, position: int, consumer: Nest) -> bool:
        """Run `consumer` as the epilogue of the last nest that produces what it reads; True when it moved."""
        if not is_pointwise(consumer):
            return False
        i = max(self.writers(consumer.reads, 0, position), default=-1)
        producer = self.steps[i] if i >= 0 else None
        if producer is None or isinstance(producer, LibraryCall):
            return False
        if self._before_calls(producer) > self._before_calls(consumer):
            self._refuse("epilogue", consumer.name, producer.name, no("parameters alone decide what it reads"))
            return False
        shared = [b for b in producer.writes if b in consumer.reads]
        if self.in_parts(shared[0]):
            return False
        fused, verdict = epilogue(producer, consumer, shared[0])
        if len(shared) > 1:
            fused, verdict = None, no("it reads several results, which the producer may not have at the same time")
        if fused is None:
            self._refuse("epilogue", consumer.name, producer.name, verdict)
            return False
        gone = shared[0] not in self.kept and len(self.readers(shared[0])) == 1 and shared[0].space == "arena"
        if gone:
            fused = _drop_store(fused, shared[0])
        self._put(i, fused)
        self._put(position, None)
        saved = shared[0].bytes * (2 if gone else 1)
        self.journal.add("fusion", producer.name, f"{consumer.name} became its epilogue", saved_bytes=saved)
        return True


def _decided_by_parameters(steps: Sequence[Step]) -> frozenset[Buffer]:
    """What nests compute from parameters alone, all of it."""
    found: set[Buffer] = set()
    others: set[Buffer] = set()
    for step in steps:
        if isinstance(step, Nest) and all(b.space in ("param", "const") or b in found for b in step.reads):
            found.update(b for b in step.writes if b.space == "arena" and b not in others)
        else:
            others.update(_writes(step))
            found -= others
    return frozenset(found)


def _worth_repeating(producer: Nest) -> Verdict:
    """Whether to compute at every call what could be computed once: where reading the result would cost more."""
    store = producer.body[0]
    assert isinstance(store, Store)
    if any(part.is_data for load in loads(store) for part in load.index):
        return yes("its places are checked at every call")
    cheap = not EXPENSIVE & set(_operations(store.value))
    if cheap and store.target.bytes > sum(buffer.bytes for buffer in producer.reads):
        return yes("what it is computed from is smaller")
    return no("parameters alone decide it: it is computed once, before any call")


def _reads(step: Step) -> Sequence[Buffer]:
    return step.reads if isinstance(step, Nest) else step.inputs


def _writes(step: Step) -> Sequence[Buffer]:
    return step.writes if isinstance(step, Nest) else step.outputs


def is_pointwise(nest: Nest) -> bool:
    """Only parallel loops around plain statements, each writing its own elements."""
    if any(isinstance(item, Nest) or item.reduce for item in nest.body):
        return False
    return all(loop.kind == "parallel" for loop in nest.loops) and not nest.scratch


def _plain(index: Sequence[Index], loops: Sequence[Loop]) -> bool:
    """Whether an index is exactly the loop variables, each in its own dimension."""
    found = [part.terms[0][0] for part in index if part.terms]
    ones = [loop.var for loop in loops if loop.extent > 1]
    return all(len(p.terms) <= 1 and not p.const and all(f == 1 for _, f in p.terms) for p in index) and (
        len(found) == len(ones) and set(found) == set(ones)
    )


def _once(store: Store, loops: Sequence[Loop]) -> bool:
    """Whether composite indices (tiles, blocks) visit every element exactly once; guards keep out what hangs over."""
    seen: dict[Var, list[tuple[int, int]]] = {}
    for part, extent in zip(store.index, store.target.shape):
        step = 1
        if part.const:
            return False
        for atom, factor in sorted(part.terms, key=lambda term: term[1]):
            digit = _digit(atom)
            if digit is None or factor != step:
                return False
            var, stride, size = digit
            seen.setdefault(var, []).append((stride, size))
            step *= size
        kept_in = step == extent or any(g.index == part and g.extent == extent for g in store.guards)
        if step < extent or not kept_in:
            return False
    for loop in loops:
        step = 1
        for stride, size in sorted(seen.get(loop.var, ())):
            if stride != step:
                return False
            step *= size
        if step != loop.extent:
            return False
    return True


# ---- inline ----------------------------------------------------------------------------------------------------------


def can_inline(producer: Nest, consumer: Step, readers: int) -> Verdict:
    if isinstance(consumer, LibraryCall):
        return no("a library call reads a buffer")
    store = producer.body[0]
    assert isinstance(store, Store)
    if not _plain(store.index, producer.loops):
        return no("the producer does not write whole rows in order")
    used = _operations(store.value)
    if not loads(store) and len(used) <= CHEAP_OPERATIONS:
        return yes("it reads nothing")
    if readers > 1 and any(load.guards or any(i.is_data for i in load.index) for load in loads(store)):
        return no("it is read twice and its own reads are guarded or data-dependent")
    if len(used) > LONGEST_EXPRESSION or _depth(store.value) > DEEPEST_EXPRESSION:
        return no(f"its expression has {len(used)} operations already")
    evaluations = _evaluations(consumer, store.target)
    size = max(store.target.size, 1)
    if _widens_bytes(store.value) and evaluations <= MOST_WIDENINGS * size and _in_rows(consumer, store.target):
        return yes("bytes are read instead of what they become")
    expensive = bool(EXPENSIVE & set(used))
    if readers * evaluations > size and (expensive or len(used) > 2 or evaluations > size or readers > 3):
        return no(f"it would be computed {readers * evaluations / size:.0f} times per element")
    if readers > 1 and producer.iterations > 4096 and len(producer.reads) > 1:
        return no("several readers would each read all of its inputs")
    return yes()


def _widens_bytes(value: Expr) -> bool:
    return isinstance(value, Apply) and value.op == "cast" and value.args[0].dtype in BYTES


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


def inline(producer: Nest, consumer: Nest) -> Nest:
    """The consumer with every read of the producer's result replaced by its expression."""
    store = producer.body[0]
    assert isinstance(store, Store)

    def compute(load: Load) -> Expr:
        if load.buffer != store.target:
            return load
        new = _bind(store.index, load.index)
        value = store.value.substitute(new)
        if load.guards:
            from strop.loops.lower.together import guarded

            return guarded(value, load.guards, load.other)
        return value

    made = consumer.map_stores(lambda s: _change(s, compute))
    return replace(made, note=_joined(producer.note, consumer.note))


def scale_weights(producer: Nest, consumer: Nest) -> Nest | None:
    """Σ (x·s)·w   →   Σ x·(s·w), where s is the same for all of an image: squeeze-and-excite before a projection.

    Pays where an image has many more points than a register tile has rows, which share each product s·w.
    """
    made = producer.body[0]
    assert isinstance(made, Store)
    space = {loop.var for loop in producer.loops[2:] if loop.extent > 1}
    points = prod(var.extent for var in space)
    if points < SCALE_POINTS or not _plain(made.index, producer.loops):
        return None
    value = made.value
    if not isinstance(value, Apply) or value.op != "mul" or not all(isinstance(a, Load) for a in value.args):
        return None
    image, scale = sorted(value.args, key=lambda arg: -len(arg.vars & space))
    if scale.vars & space or not space <= image.vars:
        return None
    products = [s for s in consumer.stores if any(load.buffer == made.target for load in loads(s))]
    if len(products) != 1 or products[0].reduce != "sum":
        return None
    product = products[0].value
    if not isinstance(product, Apply) or product.op != "mul":
        return None
    read, weight = sorted(product.args, key=lambda arg: not (isinstance(arg, Load) and arg.buffer == made.target))
    if not isinstance(read, Load) or read.buffer != made.target or read.guards or not isinstance(weight, Load):
        return None
    if weight.vars & frozenset().union(*(part.vars for part in read.index[2:])):
        return None
    bound = _bind(made.index, read.index)
    scaled = Apply("mul", (scale.substitute(bound), weight), weight.dtype)
    new = Apply("mul", (image.substitute(bound), scaled), product.dtype)
    changed = consumer.map_stores(lambda s: replace(s, value=new) if s is products[0] else s)
    return replace(changed, note=_joined(producer.note, consumer.note))


def _change(store: Store, compute: object) -> Store:
    value = replace_loads(store.value, compute)  # type: ignore[arg-type]
    dummy = Load(store.target, store.index)
    changed = replace_loads(dummy, lambda load: load if load.buffer == store.target else compute(load))  # type: ignore[operator]
    assert isinstance(changed, Load)
    return replace(store, index=changed.index, value=value)


def _bind(pattern: Sequence[Index], index: Sequence[Index]) -> dict[Var, Index]:
    bound = {}
    for part, given in zip(pattern, index):
        if part.terms:
            var = part.terms[0][0]
            assert isinstance(var, Var)
            bound[var] = given
    return bound


# ---- side by side ----------------------------------------------------------------------------------------------------


def can_share_loops(earlier: Nest, later: Nest) -> Verdict:
    """Whether two pointwise nests that read the same may run in one set of loops."""
    if not is_pointwise(earlier):
        return no("it is not pointwise")
    if [loop.extent for loop in earlier.loops] != [loop.extent for loop in later.loops]:
        return no("its loops have other extents")
    if set(later.writes) & set(earlier.writes):
        return no("both write the same tensor")
    bound = {b.var: index_of(a.var) for a, b in zip(earlier.loops, later.loops)}
    reads = {load for s in earlier.stores for load in loads(s)}
    if not reads & {load for s in later.stores for load in loads(s.substitute(bound))}:
        return no("they read the shared tensor in another order")
    return yes()


def beside(earlier: Nest, later: Nest) -> Nest:
    """One nest for both."""
    bound = {b.var: index_of(a.var) for a, b in zip(earlier.loops, later.loops)}
    body = (*earlier.body, *later.substitute(bound).body)
    return replace(earlier, body=body, note=_joined(earlier.note, later.note))


# ---- epilogue --------------------------------------------------------------------------------------------------------


def epilogue(producer: Nest, consumer: Nest, buffer: Buffer) -> tuple[Nest | None, Verdict]:
    """The producer with the consumer's statements right after the point where `buffer` gets its value."""
    path = _writer(producer, buffer)
    if path is None:
        return None, no("the value is written in more than one place or in parts")
    store, loops = path
    if not (_plain(store.index, loops) or _once(store, loops)):
        return None, no("the producer does not visit each element once")
    reads = {load.index for s in consumer.stores for load in loads(s) if load.buffer == buffer}
    if len(reads) != 1:
        return None, no("the consumer reads more than one element per point")
    if any(load.guards for s in consumer.stores for load in loads(s) if load.buffer == buffer):
        return None, no("the consumer reads past the edge")
    mapping = invert(next(iter(reads)), store.index, buffer.shape, consumer.loops)
    if mapping is None:
        return None, no("the consumer's elements do not correspond one to one")
    if buffer.size != consumer.iterations:
        return None, no("the consumer visits more points than the producer")
    if set(consumer.writes) & set(producer.reads):
        return None, no("the consumer writes what the producer reads")
    held = Buffer(f"{buffer.name}.value", buffer.dtype, (), "scratch")
    body = [s for s in consumer.body if isinstance(s, Store)]
    added = [_read_held(s, buffer, held).substitute(mapping) for s in body]
    fused = _insert(producer, store, held, added)
    return replace(fused, note=_joined(producer.note, consumer.note)), yes()


def _read_held(store: Store, buffer: Buffer, held: Buffer) -> Store:
    return _change(store, lambda load: Load(held, ()) if load.buffer == buffer else load)


def _writer(nest: Nest, buffer: Buffer, around: tuple[Loop, ...] = ()) -> tuple[Store, tuple[Loop, ...]] | None:
    """The only plain store to a buffer, if nothing else writes it, and the parallel loops around it."""
    if sum(store.target == buffer for store in nest.stores) != 1:
        return None
    loops = (*around, *nest.loops)
    for item in nest.body:
        if isinstance(item, Nest):
            if any(store.target == buffer for store in item.stores):
                return _writer(item, buffer, loops)
        elif item.target == buffer:
            if item.reduce or any(loop.kind == "reduce" for loop in loops):
                return None
            return item, loops
    return None


def _insert(nest: Nest, store: Store, held: Buffer, added: Sequence[Store]) -> Nest:
    """Hold the stored value in scratch, then run the added statements."""
    body: list[Store | Nest] = []
    scratch = nest.scratch
    for item in nest.body:
        if item is store:
            body.append(Store(held, (), store.value))
            body.append(replace(store, value=Load(held, ())))
            body.extend(_under(s, store.guards) for s in added)
            scratch = (*scratch, held)
        elif isinstance(item, Nest):
            body.append(_insert(item, store, held, added))
        else:
            body.append(item)
    return replace(nest, body=tuple(body), scratch=scratch)


def _under(store: Store, guards: tuple[Guard, ...]) -> Store:
    """A statement that runs only where the guards hold: it neither writes nor reads elsewhere."""
    if not guards:
        return store

    def read(load: Load) -> Load:
        return load if load.buffer.space == "scratch" else replace(load, guards=(*load.guards, *guards))

    return replace(store, value=replace_loads(store.value, read), guards=(*store.guards, *guards))


def _drop_store(nest: Nest, buffer: Buffer) -> Nest:
    """The nest without its statements that write a buffer which nobody reads."""
    body = tuple(
        _drop_store(item, buffer) if isinstance(item, Nest) else item
        for item in nest.body
        if isinstance(item, Nest) or item.target != buffer
    )
    return replace(nest, body=body)


def invert(
    read: Sequence[Index], written: Sequence[Index], shape: Sequence[int], loops: Sequence[Loop]
) -> Mapping[Var, Index] | None:
    """The consumer's variables as indices over the producer's, such that `read` becomes `written`; None without any.

    Per dimension of the buffer the consumer's index is a plain variable, digits of one (v÷k, v mod k) or a mixed-radix
    sum of several; digits are put together again, sums are taken apart.
    """
    digits: dict[Var, list[tuple[int, int, Index]]] = {}
    for part, value, extent in zip(read, written, shape):
        if part.is_const:
            if part.const or not value.is_const:
                return None
            continue
        if part.const or not value.terms:
            return None
        terms = sorted(part.terms, key=lambda term: term[1])
        step = 1
        for atom, factor in terms:
            digit = _digit(atom)
            if digit is None or factor != step:
                return None
            var, stride, size = digit
            taken = (value // step) % size if step * size < extent else value // step
            digits.setdefault(var, []).append((stride, size, taken))
            step *= size
        if step != extent:
            return None
    mapping = {}
    for loop in loops:
        if loop.extent == 1:
            continue
        total, step = Index(), 1
        for stride, size, taken in sorted(digits.get(loop.var, ()), key=lambda d: d[0]):
            if stride != step:
                return None
            total = total + taken * stride
            step *= size
        if step != loop.extent:
            return None
        mapping[loop.var] = total
    return mapping


def _digit(atom: object) -> tuple[Var, int, int] | None:
    """(variable, stride, size) of ⌊v/stride⌋ mod size."""
    if isinstance(atom, Var):
        return atom, 1, atom.extent
    if isinstance(atom, Quotient):
        inner = _single(atom.of)
        return None if inner is None or inner.extent % atom.by else (inner, atom.by, inner.extent // atom.by)
    if isinstance(atom, Remainder):
        inner = _single(atom.of)
        if inner is not None:
            return inner, 1, atom.by
        if len(atom.of.terms) == 1 and not atom.of.const and atom.of.terms[0][1] == 1:
            quotient = atom.of.terms[0][0]
            if isinstance(quotient, Quotient) and (var := _single(quotient.of)) is not None:
                return var, quotient.by, atom.by
    return None


def _single(index: Index) -> Var | None:
    if len(index.terms) == 1 and not index.const and index.terms[0][1] == 1:
        atom = index.terms[0][0]
        return atom if isinstance(atom, Var) else None
    return None


def _joined(*notes: str) -> str:
    return " + ".join(note for note in notes if note)
