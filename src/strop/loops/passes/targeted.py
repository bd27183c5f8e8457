"""What the `space` of a pass on loops looks at: a nest as earlier passes have left it, and the machine it is for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from strop.loops.ir import Loop, Nest

MOST_ROWS, MOST_VECTORS = 14, 6  # of a register tile
STEPS = (2, 4, 8)  # of a reduction that are written out


@dataclass(frozen=True)
class TargetedNest:
    """A nest, the f32 lanes of a vector register, and the threads that may share its work."""

    nest: Nest
    lanes: int
    threads: int = 1

    @property
    def name(self) -> str:
        return self.nest.name

    def open_loops(self) -> Iterator[tuple[Nest, int]]:
        """Loops that run more than once, in any order, and are not yet written out, vectors or divided among threads:
        the (sub)nest that owns each, and its position there. Of several loops of one name, the first."""
        seen: set[str] = set()
        for owner in nests_of(self.nest):
            for position, loop in enumerate(owner.loops):
                if loop.name not in seen and is_open(loop):
                    seen.add(loop.name)
                    yield owner, position


def is_open(loop: Loop) -> bool:
    return loop.mode == "serial" and loop.kind != "sequential" and loop.extent > 1 and not loop.until


def nests_of(nest: Nest) -> Iterator[Nest]:
    """A nest and those inside it."""
    yield nest
    for item in nest.body:
        if isinstance(item, Nest):
            yield from nests_of(item)
