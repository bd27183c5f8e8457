"""Passes that say how a loop runs: unrolled, in the lanes of a vector, divided among threads.

`ready` says whether a nest whose loops have their modes can be emitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from strop.core.memoize import remembered
from strop.core.passes import Pass, Verdict, no, yes
from strop.core.values import changed
from strop.loops.index import index_of
from strop.loops.ir import Loop, Nest, Store
from strop.loops.passes.primitives import change_loop, exists, find_loop
from strop.loops.passes.targeted import MOST_VECTORS, STEPS, TargetedNest


@dataclass(frozen=True)
class _SetMode(Pass, abstract=True):
    nest: str
    loop: str

    def check(self, ir: Nest) -> Verdict:
        return exists(ir, self.loop)

    def _set(self, ir: Nest, mode: str) -> Nest:
        def change(nest: Nest, position: int) -> Nest:
            loops = list(nest.loops)
            loops[position] = changed(loops[position], mode=mode)
            return changed(nest, loops=tuple(loops))

        return change_loop(ir, self.loop, change)


@dataclass(frozen=True)
class Unroll(_SetMode):
    """for i in 0..3: S(i)   →   S(0); S(1); S(2)"""

    def check(self, ir: Nest) -> Verdict:
        found = exists(ir, self.loop)
        if not found:
            return found
        owner, position = find_loop(ir, self.loop) or (ir, 0)
        if owner.loops[position].extent > 64:
            return no(f"{owner.loops[position].extent} copies are too many", ir.name)
        return yes()

    def apply(self, ir: Nest) -> Nest:
        return self._set(ir, "unroll")

    @classmethod
    def space(cls, ir: TargetedNest) -> Iterator[Unroll]:
        """Loops of a few iterations."""
        for owner, position in ir.open_loops():
            if owner.loops[position].extent <= STEPS[-1]:
                yield cls(ir.name, owner.loops[position].name)


@dataclass(frozen=True)
class Vectorise(_SetMode):
    """for i in 0..16: S(i)   →   S(0:16) in vector registers"""

    def check(self, ir: Nest) -> Verdict:
        found = exists(ir, self.loop)
        if not found:
            return found
        return _vector_verdict(ir, self.loop, None)

    def apply(self, ir: Nest) -> Nest:
        return self._set(ir, "vector")

    @classmethod
    def space(cls, ir: TargetedNest) -> Iterator[Vectorise]:
        """Innermost loops of a few vectors."""
        for owner, position in ir.open_loops():
            loop = owner.loops[position]
            innermost = position == len(owner.loops) - 1 and not any(isinstance(item, Nest) for item in owner.body)
            if innermost and loop.extent <= MOST_VECTORS * ir.lanes and (one := cls(ir.name, loop.name)).check(ir.nest):
                yield one


def _vector_verdict(nest: Nest, name: str, outside: str | None) -> Verdict:
    """No vector loop inside another; statements write an element per lane (scratch may grow lanes) or reduce over them.

    That no serial loop is left inside it is checked when the schedule is complete (`ready`): sinking comes later.
    """
    for loop in nest.loops:
        inner = loop.name == name or loop.mode == "vector"
        if inner and outside is not None:
            return no(f"`{loop.name}` is inside the vector loop `{outside}`", nest.name)
        if inner:
            outside = loop.name
        if loop.name == name and loop.kind == "sequential":
            return no("a sequential loop runs in order", nest.name)
        if loop.name == name:
            for store in nest.stores:
                over = not any(loop.var in part.vars for part in store.index)
                if over and store.reduce is None and loop.var in store.value.vars and store.target.space != "scratch":
                    return no(f"`{store}` would be written by every lane", nest.name)
    for item in nest.body:
        if isinstance(item, Nest):
            verdict = _vector_verdict(item, name, outside)
            if not verdict:
                return verdict
    return yes()


@dataclass(frozen=True)
class Parallelise(_SetMode):
    """for i: S(i)   →   the iterations are divided among the threads

    i is the outermost loop that runs more than once, of the nest or of a part of it: the pieces of a split, the passes
    over one row, the parts of one step of a recurrent loop. Threads take the parts together and meet after each.
    """

    def check(self, ir: Nest) -> Verdict:
        found = exists(ir, self.loop)
        if not found:
            return found
        heads = [leading(part) for part in _parts(ir)]
        named = [loop for loop in heads if loop.name == self.loop]
        if not named:
            return no("only the outermost loop of a nest, or of a part of it, is divided among threads", ir.name)
        if any(loop.kind != "parallel" for loop in named):
            return no(f"`{self.loop}` is {named[0].kind}", ir.name)
        return _division(self.apply(ir))

    def apply(self, ir: Nest) -> Nest:
        return self._divided(ir) if not in_parts(ir) else changed(ir, body=tuple(map(self._part, ir.body)))

    @classmethod
    def space(cls, ir: TargetedNest) -> Iterator[Parallelise]:
        """The outermost loops, where there are threads to share them and nothing is shared yet."""
        if ir.threads < 2 or any(loop.mode == "threads" for loop in ir.nest.all_loops):
            return
        for name in dict.fromkeys(leading(part).name for part in _parts(ir.nest)):
            if (one := cls(ir.name, name)).check(ir.nest):
                yield one

    def _part(self, item: Store | Nest) -> Store | Nest:
        if not isinstance(item, Nest) or not _transparent(item):
            return self._divided(item) if isinstance(item, Nest) and item.loops else item
        return changed(item, body=tuple(map(self._part, item.body)))

    def _divided(self, nest: Nest) -> Nest:
        first = leading(nest)
        if first.name != self.loop:
            return nest
        return changed(nest, loops=tuple(changed(one, mode="threads") if one is first else one for one in nest.loops))


def _division(nest: Nest) -> Verdict:
    """Whether what is divided among threads is divided once, at the outermost loop, and shares no scratch."""
    parts = _parts(nest)
    if not parts:
        return yes()
    for part in parts:
        first, divided = leading(part), [loop for loop in part.all_loops if loop.mode == "threads" and loop.extent > 1]
        if not divided:
            continue
        if divided != [first]:
            return no(f"`{divided[-1].name}` is divided among threads, but not as the outermost loop", nest.name)
        for store in part.stores if part is not nest else ():
            if store.target in nest.scratch and first.var not in store.offset.vars:
                return no(f"iterations of `{first.name}` share the scratch `{store.target.name}`", nest.name)
    return yes()


def _parts(nest: Nest) -> list[Nest]:
    """What threads take one after another."""
    found = step_parts(nest) if in_parts(nest) else [nest]
    return [part for part in found if isinstance(part, Nest) and part.loops]


def in_parts(nest: Nest) -> bool:
    """Whether all loops around a nest's parts run once or in order."""
    return all(loop.extent == 1 or loop.kind == "sequential" for loop in nest.loops) and any(
        isinstance(item, Nest) for item in nest.body
    )


def step_parts(nest: Nest) -> list[Store | Nest]:
    """The body of a nest; pieces that a split has made of a part count as parts."""
    found: list[Store | Nest] = []
    for item in nest.body:
        if isinstance(item, Nest) and _transparent(item):
            found += step_parts(item.substitute({loop.var: index_of(0) for loop in item.loops}))
        else:
            found.append(item)
    return found


def _transparent(nest: Nest) -> bool:
    """Pieces under loops that run once."""
    once = all(loop.extent == 1 for loop in nest.loops) and not nest.scratch
    return once and all(isinstance(item, Nest) for item in nest.body)


def leading(nest: Nest) -> Loop:
    """The outermost loop that runs more than once, if one does."""
    return next((loop for loop in nest.loops if loop.extent > 1), nest.loops[0])


@remembered(maxsize=4096)
def ready(nest: Nest) -> Verdict:
    """Whether a scheduled nest can be emitted."""
    return _flat_vectors(nest, None) and _division(nest)


def _flat_vectors(nest: Nest, vector: Loop | None) -> Verdict:
    """Every loop inside a vector loop is unrolled, and no scratch inside it would be shared by lanes that hold
    different values."""
    for loop in nest.loops:
        if vector is not None and loop.mode != "unroll" and loop.extent > 1:
            return no(f"`{loop.name}` stays a loop inside the vector loop `{vector.name}`", nest.name)
        if loop.mode == "vector":
            vector = loop
    if vector is not None:
        held = set(nest.scratch)
        for store in nest.stores:
            differs = vector.var in store.value.vars and not any(vector.var in part.vars for part in store.index)
            if store.target in held and differs:
                why = f"lanes of `{vector.name}` would share `{store.target.name}`: sink the loop first"
                return no(why, nest.name)
    found = (_flat_vectors(item, vector) for item in nest.body if isinstance(item, Nest))
    return next((verdict for verdict in found if not verdict), yes())
