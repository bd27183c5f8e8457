"""What a plan is made of: calls of scheduled nests, and of the library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Union

from strop.core.passes import Pass
from strop.loops.index import IndexMap
from strop.loops.ir import Buffer, Load, Nest, Store, replace_loads
from strop.loops.lower.driver import LibraryCall


@dataclass(frozen=True)
class Call:
    """A scheduled nest (with canonical names) and the buffers that it runs on."""

    name: str
    nest: Nest
    actual: Mapping[Buffer, Buffer]
    source: Nest
    passes: tuple[Pass, ...] = ()

    @property
    def touched(self) -> tuple[Buffer, ...]:
        return tuple(self.actual.values())

    @property
    def written(self) -> tuple[Buffer, ...]:
        return tuple(self.actual[b] for b in self.nest.writes)


PlannedStep = Union[Call, LibraryCall]


def rename(nest: Nest, new: Mapping[Buffer, Buffer], move: IndexMap = lambda index: index) -> Nest:
    """The nest over other buffers, where elements lie in the places that `move` tells."""
    if not any(b in new for b in (*nest.reads, *nest.writes)):
        return nest

    def read(load: Load) -> Load:
        return replace(load, buffer=new[load.buffer], index=move(load.index)) if load.buffer in new else load

    def change(store: Store) -> Store:
        index = Load(store.target, store.index)
        moved = replace_loads(index, read)
        assert isinstance(moved, Load)
        value = replace_loads(store.value, read)
        if moved is index and value is store.value:
            return store
        return replace(store, target=moved.buffer, index=moved.index, value=value)

    return nest.map_stores(change)
