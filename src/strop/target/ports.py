"""What the cores of a target do with instructions: execution ports, latencies, the front end. Data, not code.

A `Use` says on which ports one operation of a class can run, how many cycles it keeps its port, and after how many
cycles its result can be used. Ports are single characters; their names only tell them apart. Where vectors are wider
than a pipe, an operation takes several passes; where a core has other ports for its widest vectors, `wide` says so.

Sources: znver3 and znver4: AMD's Software Optimization Guides for families 19h (publications 56665 and 57647); those
of both were timed as well, loads, broadcasts, stores, shuffles, gathers, divisions and store forwarding among them.
Intel's: the Optimization Reference Manual (248966) and its instruction throughput tables. neoverse-n1 and -v1: Arm's
Software Optimization Guides (PJDOC-466751330-9707, PJDOC-466751330-10325). apple-m1: Apple's CPU Optimization Guide.
Where these leave a gap, numbers are rounded from neighbours: they are meant for ranking.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


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
    crossing: float = 1.4  # more passes of a load port, for a vector that reaches over the end of a line
    crossing_store: float = 0.0  # the same of a store port

    def use(self, kind: str, bits: int) -> Use:
        """What an operation of a class on vectors of so many bits takes."""
        return self.wide.get(kind, self.uses[kind]) if bits > 256 else self.uses[kind]


_ZEN = {
    "fma": Use("01", 4), "mul": Use("01", 3), "add": Use("23", 3), "max": Use("01", 2), "compare": Use("01", 4),
    "logic": Use("0123", 1), "vector int": Use("0123", 1), "shift": Use("12", 1), "vector mul": Use("03", 3),
    "shuffle": Use("123", 1), "cross": Use("12", 4), "convert": Use("23", 3), "round": Use("23", 3),
    "estimate": Use("01", 4), "div": Use("1", 11, 3), "sqrt": Use("1", 15, 5), "scalar div": Use("1", 10.5, 3),
    "scalar sqrt": Use("1", 14, 5), "transfer": Use("23", 4), "mask": Use("12", 3), "blend": Use("0123", 1),
    "gather": Use("1", 24, 14, 24), "load": Use("LM", 4), "store": Use("S", 1), "int store": Use("ST", 1),
    "int": Use("abcd", 1), "multiply": Use("b", 3), "divide": Use("c", 18, 8, 2), "branch": Use("ae", 1),
    "call": Use("abcd", 20, 20, 20), "select": Use("0123", 1), "insert": Use("0123", 1),
    "masked store": Use("S", 1, 11, 60),
}  # fmt: skip

#: where the core before it was found to differ
_ZEN3 = {
    **_ZEN, "max": Use("23", 1), "compare": Use("23", 1), "select": Use("01", 1), "shuffle": Use("12", 1),
    "cross": Use("0", 3), "insert": Use("0", 3), "transfer": Use("2", 4), "gather": Use("01", 24, 20, 39),
    "div": Use("1", 11, 3.5), "scalar div": Use("1", 10.5, 3.5),
}  # fmt: skip

_INTEL = {
    "fma": Use("01", 4), "mul": Use("01", 4), "add": Use("01", 4), "max": Use("01", 4), "compare": Use("01", 4),
    "logic": Use("015", 1), "vector int": Use("015", 1), "shift": Use("01", 1), "vector mul": Use("01", 5),
    "shuffle": Use("5", 1), "cross": Use("5", 3), "convert": Use("01", 4), "round": Use("01", 8, 1, 2),
    "estimate": Use("0", 4), "div": Use("0", 11, 5), "sqrt": Use("0", 12, 6), "scalar div": Use("0", 11, 3),
    "scalar sqrt": Use("0", 12, 3), "transfer": Use("05", 2), "mask": Use("05", 3), "blend": Use("015", 1),
    "gather": Use("LM", 20, 4, 8), "load": Use("LM", 5), "store": Use("S", 1), "int store": Use("S", 1),
    "int": Use("0156", 1), "multiply": Use("1", 3), "divide": Use("0", 26, 6, 10), "branch": Use("06", 1),
    "call": Use("0156", 20, 20, 20), "select": Use("015", 2, 1, 2), "insert": Use("015", 1),
    "masked store": Use("S", 1, 1, 4),
}  # fmt: skip

#: two 512-bit pipes: the fused pair 0+1 and port 5
_INTEL_WIDE = {
    "fma": Use("05", 4), "mul": Use("05", 4), "add": Use("05", 4), "max": Use("05", 4), "compare": Use("5", 4),
    "logic": Use("05", 1), "vector int": Use("05", 1), "shift": Use("0", 1), "vector mul": Use("05", 5),
    "convert": Use("05", 4), "round": Use("05", 8, 1, 2), "estimate": Use("05", 7, 2), "div": Use("0", 17, 10),
    "sqrt": Use("0", 19, 12), "blend": Use("05", 1),
}  # fmt: skip

_ARM = {
    "fma": Use("vw", 4), "mul": Use("vw", 3), "add": Use("vw", 2), "max": Use("vw", 2), "compare": Use("vw", 2),
    "logic": Use("vw", 2), "vector int": Use("vw", 2), "shift": Use("w", 2), "vector mul": Use("v", 4),
    "shuffle": Use("vw", 2), "cross": Use("vw", 2), "convert": Use("v", 3), "round": Use("v", 3),
    "estimate": Use("v", 3), "div": Use("v", 10, 8), "sqrt": Use("v", 12, 9), "scalar div": Use("v", 9, 5),
    "scalar sqrt": Use("v", 10, 6), "transfer": Use("w", 3), "mask": Use("vw", 2), "blend": Use("vw", 2),
    "gather": Use("LM", 12, 4, 8), "load": Use("LM", 4), "store": Use("LM", 1), "int store": Use("LM", 1),
    "int": Use("abm", 1), "multiply": Use("m", 2), "divide": Use("m", 12, 12), "branch": Use("x", 1),
    "call": Use("abm", 20, 20, 20),
}  # fmt: skip

_WIDE_ARM = {name: replace(use, ports="vwyz") if use.ports in ("vw", "v") else use for name, use in _ARM.items()}

ZEN4 = Ports("znver4", 6, 320, 256, _ZEN, load_bits=256, store_bits=256, forward=11.0, stale="01")
ZEN3 = replace(
    ZEN4, name="znver3", uses=_ZEN3, window=256, forward=10.0, masked=18.0, renames=140, stale_passes=2.0, fresh=True,
    crossing=1.0, crossing_store=1.0,
)  # fmt: skip
ZEN5 = replace(
    ZEN4, name="znver5", width=8, fetch=12.0, window=448, waiting=96, renames=340, pipe_bits=512, load_bits=512,
    store_bits=512,    uses={**_ZEN, "add": Use("23", 2), "int": Use("abcdfg", 1)},
)  # fmt: skip
HASWELL = Ports("haswell", 4, 192, 256, {**_INTEL, "fma": Use("01", 5), "mul": Use("01", 5), "add": Use("1", 3)})
SKYLAKE = Ports(
    "skylake-avx512", 4, 224, 512, _INTEL, _INTEL_WIDE, load_bits=512, store_bits=512, waiting=97, renames=136
)
ICELAKE = replace(SKYLAKE, name="icelake-server", width=5, window=352, renames=190)
GOLDEN_COVE = replace(SKYLAKE, name="sapphirerapids", width=6, window=512, renames=290)
NEOVERSE_N1 = Ports(
    "neoverse-n1", 4, 128, 128, _ARM, load_bits=128, store_bits=128, load_latency=6.0, forward=5.0, renames=96
)
NEOVERSE_V1 = replace(NEOVERSE_N1, name="neoverse-v1", width=8, window=256, uses=_WIDE_ARM, renames=128)
APPLE_M1 = replace(
    NEOVERSE_V1, name="apple-m1", window=630, load_latency=5.0, renames=350, waiting=140,
    uses={
        **_WIDE_ARM, "load": Use("LMN", 4), "store": Use("ST", 1), "int store": Use("ST", 1), "int": Use("abcdmn", 1),
    },
)  # fmt: skip

#: name of a target → its cores; the generic names stand for the machines that they were made for
PORTS: Mapping[str, Ports] = {
    **{ports.name: ports for ports in (
        ZEN3, ZEN4, ZEN5, HASWELL, SKYLAKE, ICELAKE, GOLDEN_COVE, NEOVERSE_N1, NEOVERSE_V1, APPLE_M1,
    )},
    "neoverse-v2": NEOVERSE_V1,
    "x86-64": replace(HASWELL, name="x86-64", pipe_bits=128, load_bits=128, store_bits=128),
    "x86-64-v3": HASWELL,
    "x86-64-v4": ICELAKE,
}  # fmt: skip
