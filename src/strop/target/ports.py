"""What the cores of a target do with instructions: execution ports, latencies, the front end. The numbers are data:
`target/cpus/*.toml`, with their sources.

A `Use` says on which ports one operation of a class can run, how many cycles it keeps its port, and after how many
cycles its result can be used. Ports are single characters; their names only tell them apart. Where vectors are wider
than a pipe, an operation takes several passes; where a core has other ports for its widest vectors, `wide` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Use:
    """Operations of one class: the ports that can run them, cycles a port is busy, cycles until the result."""

    ports: str
    latency: float = 1.0
    cycles: float = 1.0
    slots: int = 1  # places in the front end


@dataclass(frozen=True)
class Ports:
    """One kind of core as its instructions see it."""

    name: str
    width: float  # instructions that enter per cycle
    window: int  # instructions in flight
    pipe_bits: int  # what one pass of a vector pipe handles
    uses: Mapping[str, Use]
    wide: Mapping[str, Use] = field(default_factory=dict)  # in place of `uses` for vectors wider than 256 bits
    load_bits: int = 256  # what one pass of a load port brings
    store_bits: int = 256
    fetch: float = 8.0  # instructions that are found per cycle, up to a taken branch
    taken: float = 0.15  # cycles that finding them loses at a taken branch
    load_latency: float = 7.0  # into a vector register
    forward: float = 6.0  # from a store to what a load of the same address brings
    masked: float = 12.0  # the same beyond that, where the store was masked: it has to reach the cache first
    waiting: int = 64  # instructions that can wait for their operands at once
    renames: int = 160  # vector results in flight
    mispredict: float = 15.0  # lost when a loop ends that is too long to be foreseen
    foreseen: int = 32  # branches in a loop, from its start to its end, up to which the end is foreseen
    stale: str = ""  # ports of multiply-adds, which wait while a vector is stored that was not computed just now
    stale_passes: float = 1.6  # of these ports, for each pass of such a store
    fresh: bool = False  # whether they wait while one is stored that was computed just now as well
    stores: int = 64  # stores that wait for their lines
    free_moves: bool = True  # whether copies between vector registers need no port
    crossing: float = 1.4  # more passes of a load port, for a vector that reaches over the end of a line
    crossing_store: float = 0.0  # the same of a store port

    def use(self, kind: str, bits: int) -> Use:
        """What an operation of a class on vectors of so many bits takes."""
        return self.wide.get(kind, self.uses[kind]) if bits > 256 else self.uses[kind]
