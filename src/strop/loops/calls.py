"""What a plan is made of: calls of scheduled nests, and of the library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, count
from typing import Union

from strop.core.memoize import remembered
from strop.core.passes import Pass
from strop.core.values import changed
from strop.graph.ir import NOWHERE
from strop.loops.ir import Buffer, Nest, shared
from strop.loops.lowered import LibraryCall
from strop.loops.rewriting import rename


@dataclass(frozen=True)
class Call:
    """A scheduled nest (with canonical names) and the buffers that it runs on."""

    name: str
    nest: Nest
    actual: Mapping[Buffer, Buffer]
    source: Nest
    passes: tuple[Pass, ...] = ()

    def __hash__(self) -> int:
        return hash((self.name, self.nest))

    @property
    def touched(self) -> tuple[Buffer, ...]:
        return tuple(self.actual.values())

    @property
    def written(self) -> tuple[Buffer, ...]:
        return tuple(self.actual[b] for b in self.nest.writes)


PlannedStep = Union[Call, LibraryCall]


@remembered(maxsize=4096)
def canonicalise(nest: Nest) -> tuple[Nest, Mapping[Buffer, Buffer]]:
    """The nest with names that say nothing, and which buffer each stands for."""
    found = list(dict.fromkeys((*nest.reads, *nest.writes)))
    new = {b: Buffer(f"b{i}", b.dtype, b.shape, b.space) for i, b in enumerate(found)}
    scratch: dict[Buffer, Buffer] = {}
    taken: set[str] = set()
    for held in nest.all_scratch:  # the last part of a name says what it is for; what is before it is the model's
        last = held.name.rpartition(".")[2]
        name = next(name for name in chain((last,), (f"{last}{i}" for i in count(1))) if name not in taken)
        taken.add(name)
        scratch[held] = changed(held, name=name)
    plain = changed(_anonymous(rename(nest, {**new, **scratch}, number=True), scratch), name="k")
    return shared(plain), {short: b for b, short in new.items()}


def _anonymous(nest: Nest, scratch: Mapping[Buffer, Buffer]) -> Nest:
    body = tuple(_anonymous(item, scratch) if isinstance(item, Nest) else item for item in nest.body)
    held = tuple(scratch[s] for s in nest.scratch)
    return changed(nest, body=body, scratch=held, name="", origin=NOWHERE, note="")
