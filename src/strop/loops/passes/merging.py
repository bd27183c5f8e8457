"""Two nests that meet in a buffer as one: the transformations behind the passes of `loops/passes/fusion.py`.

    inline         a pointwise producer's expression is computed where its consumer reads it (a prologue)
    epilogue       a pointwise consumer's statement runs right after its producer's value is known, on the same point
    beside         two pointwise nests that read the same run in one set of loops
    scale_weights  a factor per channel multiplies the weights of a projection instead of the image in front of it

A consumer behind a view (reshape, permute) is re-indexed by the producer's own loops: views cost nothing here either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from strop.core.memoize import remembered
from strop.core.passes import Verdict, no, yes
from strop.loops.index import Index, Quotient, Remainder, Var, index_of
from strop.loops.ir import Apply, Buffer, Expr, Guard, Load, Loop, Nest, Store, loads
from strop.loops.lower.concat_pad import guarded
from strop.loops.rewriting import replace_loads

SCALE_POINTS = 400  # points of an image from which scaling weights is cheaper than scaling the image


def is_pointwise(nest: Nest) -> bool:
    """Only parallel loops around plain statements, each writing its own elements."""
    if any(isinstance(item, Nest) or item.reduce for item in nest.body):
        return False
    return all(loop.kind == "parallel" for loop in nest.loops) and not nest.scratch


def is_plain(index: Sequence[Index], loops: Sequence[Loop]) -> bool:
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


@remembered(maxsize=4096)
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
            return guarded(value, load.guards, load.other)
        return value

    made = consumer.map_stores(lambda s: _computing(_change(s, compute), s, store))
    return replace(made, note=_joined(producer.note, consumer.note))


def scale_weights(producer: Nest, consumer: Nest) -> Nest | None:
    """Σ (x·s)·w   →   Σ x·(s·w), where s is the same for all of an image: squeeze-and-excite before a projection.

    Pays where an image has many more points than a register tile has rows, which share each product s·w.
    """
    made = producer.body[0]
    assert isinstance(made, Store)
    space = {loop.var for loop in producer.loops[2:] if loop.extent > 1}
    points = prod(var.extent for var in space)
    if points < SCALE_POINTS or not is_plain(made.index, producer.loops):
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
    scaling = replace(products[0], value=new)
    changed = consumer.map_stores(lambda s: _computing(scaling, s, made) if s is products[0] else s)
    return replace(changed, note=_joined(producer.note, consumer.note))


def _computing(new: Store, old: Store, producer: Store) -> Store:
    """A statement that computes its producer's nodes, too, if it was changed."""
    return new if new == old else replace(new, nodes=tuple(dict.fromkeys((*producer.nodes, *old.nodes))))


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
        return no("it is not pointwise", needs="two nests of parallel loops around plain statements")
    if [loop.extent for loop in earlier.loops] != [loop.extent for loop in later.loops]:
        return no("its loops have other extents", needs="results of one shape")
    if set(later.writes) & set(earlier.writes):
        return no("both write the same tensor", needs="results that lie apart")
    bound = {b.var: index_of(a.var) for a, b in zip(earlier.loops, later.loops)}
    reads = {load for s in earlier.stores for load in loads(s)}
    if not reads & {load for s in later.stores for load in loads(s.substitute(bound))}:
        return no("they read the shared tensor in another order", needs="the same index at the same point of the loops")
    return yes()


def beside(earlier: Nest, later: Nest) -> Nest:
    """One nest for both."""
    bound = {b.var: index_of(a.var) for a, b in zip(earlier.loops, later.loops)}
    body = (*earlier.body, *later.substitute(bound).body)
    return replace(earlier, body=body, note=_joined(earlier.note, later.note))


# ---- epilogue --------------------------------------------------------------------------------------------------------


@remembered(maxsize=4096)
def epilogue(producer: Nest, consumer: Nest, buffer: Buffer) -> tuple[Nest | None, Verdict]:
    """The producer with the consumer's statements right after the point where `buffer` gets its value."""
    path = _writer(producer, buffer)
    if path is None:
        return None, no(
            "the value is written in more than one place or in parts",
            needs="a producer that writes it by one statement, outside of its sums",
        )
    store, loops = path
    if not (is_plain(store.index, loops) or _once(store, loops)):
        return None, no(
            "the producer does not visit each element once", needs="a producer that writes each element once"
        )
    reads = {load.index for s in consumer.stores for load in loads(s) if load.buffer == buffer}
    if len(reads) != 1:
        return None, no(
            "the consumer reads more than one element per point", needs="a consumer that reads one element per point"
        )
    if any(load.guards for s in consumer.stores for load in loads(s) if load.buffer == buffer):
        return None, no("the consumer reads past the edge", needs="a consumer without padding")
    mapping = invert(next(iter(reads)), store.index, buffer.shape, consumer.loops)
    if mapping is None:
        return None, no(
            "the consumer's elements do not correspond one to one", needs="a consumer that reads each element once"
        )
    if buffer.size != consumer.iterations:
        return None, no(
            "the consumer visits more points than the producer", needs="results of as many elements as it reads"
        )
    if set(consumer.writes) & set(producer.reads):
        return None, no("the consumer writes what the producer reads", needs="results that lie apart")
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
            body.append(replace(store, target=held, index=(), guards=()))
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


@remembered(maxsize=4096)
def without_store(nest: Nest, buffer: Buffer) -> Nest:
    """The nest without its statements that write a buffer which nobody reads."""
    body = tuple(
        without_store(item, buffer) if isinstance(item, Nest) else item
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
