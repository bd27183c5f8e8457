"""What a plan is made of: calls of scheduled nests, and of the library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Union

from strop.core.passes import Pass
from strop.loops.ir import Buffer, Nest
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
