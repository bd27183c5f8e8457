"""Machine descriptions: data that code generation and the cost model read, never code.

Bandwidths are what one core sustains when reading, in bytes per cycle, from L1, L2, L3 and memory. Those of
znver3 were measured; the others are rounded from the vendors' optimisation guides and are meant for ranking only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace

from strop.core.dtypes import SIZES
from strop.core.problem import Problem
from strop.target.ports import PORTS, Ports

KB, MB = 2**10, 2**20

LINUX_X86 = "x86_64-unknown-linux-gnu"
LINUX_ARM = "aarch64-unknown-linux-gnu"
MAC_ARM = "arm64-apple-darwin"


@dataclass(frozen=True)
class Target:
    """One kind of CPU core with its caches. `features` is LLVM's `+a,-b` text; empty means what `cpu` implies."""

    name: str
    triple: str
    cpu: str
    vector_bits: int
    vector_registers: int
    fma_per_cycle: float  #: whole vectors of `vector_bits` that are multiplied and added per cycle
    l1: int
    l2: int
    l3: int
    ghz: float
    bandwidth: tuple[float, float, float, float]
    features: str = ""
    line: int = 64
    fork_join_us: float = 1.5
    latency: tuple[float, float, float] = (14.0, 50.0, 300.0)  #: cycles until a line of L2, L3, memory is there
    hopped: float = 1.0  #: how much longer lines beyond L2 take in short runs, many of them by turns
    l1_ways: int = 8  #: lines of L1 whose addresses are 4 KB apart; more of them evict each other
    l3_share: float = 0.15  #: of L3, that others leave to a program from one run to the next

    @property
    def vector_bytes(self) -> int:
        return self.vector_bits // 8

    @property
    def ports(self) -> Ports:
        """The execution ports of its cores; those of the nearest description where the CPU is not described."""
        generic = {128: "neoverse-n1" if self.triple.startswith(("aarch64", "arm64")) else "x86-64", 256: "x86-64-v3"}
        return PORTS.get(self.name) or PORTS[generic.get(self.vector_bits, "x86-64-v4")]

    def has(self, feature: str) -> bool:
        """Whether its instructions include a feature, by LLVM's name: what `features` says, or what `cpu` implies."""
        on = _parse(self.features)
        return on.get(feature, False) if on else feature in _implied(self.cpu)

    @property
    def has_masks(self) -> bool:
        """Whether instructions can leave out lanes, and read one element for all of them."""
        return self.has("avx512vl")

    @property
    def byte_products(self) -> str:
        """How it multiplies bytes: `vnni` (four at once into 32 bits), `pairs` (of 16 bits), or not at all."""
        if self.vector_bits == 512:
            return "vnni" if self.has("avx512vnni") else "pairs" if self.has("avx512bw") else ""
        return "pairs" if self.has("avx2") else ""

    def runs_on(self, host: Target) -> bool:
        """Whether a machine has the instructions that code for this one may use."""
        if self.triple.partition("-")[0] != host.triple.partition("-")[0]:
            return False
        return all(host.has(feature) for feature in _VECTORS if self.has(feature))

    def emulated_on(self, host: Target) -> Target:
        """The same registers, caches and ports to plan for, in instructions of another machine.

        LLVM divides vectors that are wider than the machine's: nests, tiles and algorithms can be tried without the CPU
        that they are meant for. The code says nothing about how fast that CPU would be.
        """
        return replace(self, triple=host.triple, cpu=host.cpu, features=host.features)

    @property
    def peak_gflops(self) -> float:
        """What one core could do in fp32 at most."""
        return 2 * self.fma_per_cycle * self.lanes("f32") * self.ghz

    @property
    def l3_ours(self) -> float:
        """Bytes that stay in L3 from one run to the next: others use it too."""
        return self.l3_share * self.l3

    @property
    def key(self) -> str:
        """Everything that plans and code depend on, for the cache key: every field, and the ports."""
        return repr((astuple(self), self.ports))

    @property
    def instruction_set(self) -> str:
        """What decides whether code runs, and what LLVM makes of a text."""
        return f"{self.triple} {self.cpu} {self.features} {self.vector_bits}x{self.vector_registers}"

    def lanes(self, dtype: str) -> int:
        """Elements of a dtype in one vector register, by their size in memory."""
        return max(1, self.vector_bytes // SIZES[dtype])

    @staticmethod
    def find(name: str) -> Target:
        """A shipped description by its name."""
        if name not in TARGETS:
            raise Problem("STR402", f"there is no description of `{name}`", help=f"known: {', '.join(TARGETS)}")
        return TARGETS[name]

    @staticmethod
    def from_features(
        cpu: str,
        features: Mapping[str, bool] | str,
        *,
        triple: str = "",
        l1: int | None = None,
        l2: int | None = None,
        l3: int | None = None,
    ) -> Target:
        """The description of a machine by what its CPU says of itself.

        The features decide the vector width, not the name: a virtual machine may hide what the core has. Sizes of
        caches that were found out are taken before those of the description.
        """
        on = _parse(features) if isinstance(features, str) else dict(features)
        base, bits, registers = _match(cpu, on, triple)
        return replace(
            base,
            name=cpu,
            cpu=cpu,
            triple=triple or base.triple,
            vector_bits=bits,
            vector_registers=registers,
            fma_per_cycle=_narrowed(base, bits),
            features=",".join(f"{'+' if on[name] else '-'}{name}" for name in sorted(on)),
            l1=l1 or base.l1,
            l2=l2 or base.l2,
            l3=l3 or base.l3,
        )


_VECTORS = ("avx2", "fma", "avx512f", "avx512bw", "avx512vl")  # x86 features that vectors of code depend on
_AVX2 = 2  # how many of them come with vectors of 256 bits

NARROWEST = 4  # lanes of the shortest vectors that are worth their own instructions


def narrowest(active: int, lanes: int) -> int:
    """The lanes of the shortest vector that holds some elements: halves and quarters of whole vectors exist too."""
    while lanes // 2 >= max(active, NARROWEST):
        lanes //= 2
    return lanes


def _parse(features: str) -> dict[str, bool]:
    names = [name.strip() for name in features.split(",") if name.strip()]
    return {name.lstrip("+-"): not name.startswith("-") for name in names}


def _implied(cpu: str) -> tuple[str, ...]:
    """The vector features of a shipped description."""
    if cpu not in TARGETS or not TARGETS[cpu].triple.startswith("x86_64"):
        return ()
    count = {256: _AVX2, 512: len(_VECTORS)}.get(TARGETS[cpu].vector_bits, 0)
    return (*_VECTORS[:count], *(("avx512vnni",) if cpu in VNNI else ()))


def _match(cpu: str, on: Mapping[str, bool], triple: str) -> tuple[Target, int, int]:
    """The nearest description, with the vector width and the register count that the features allow."""
    if on.get("avx512f") and on.get("avx512vl", True):
        return TARGETS.get(cpu, TARGETS["x86-64-v4"]), 512, 32
    if on.get("avx2") and on.get("fma"):
        return TARGETS.get(cpu, TARGETS["x86-64-v3"]), 256, 16
    if on.get("neon") or triple.startswith(("aarch64", "arm64")):
        return TARGETS.get(cpu, TARGETS["neoverse-n1"]), 128, 32
    if on.get("sse2") or on.get("sse") or triple.startswith(("x86_64", "i686")):
        return TARGETS.get(cpu, TARGETS["x86-64"]), 128, 16
    if cpu in TARGETS and not on:
        return TARGETS[cpu], TARGETS[cpu].vector_bits, TARGETS[cpu].vector_registers
    raise Problem(
        "STR402",
        f"`{cpu}` names no vector unit that Strop knows",
        help="AVX-512, AVX2 with FMA, NEON or SSE2 is needed; eager mode keeps working",
    )


def _narrowed(base: Target, bits: int) -> float:
    """FMA vectors per cycle at another width: x86 cores have two pipes, which may be narrower than the registers."""
    if bits == base.vector_bits:
        return base.fma_per_cycle
    return min(2.0, base.fma_per_cycle * base.vector_bits / bits)


def _x86(name: str, bits: int, fma: float, l1: int, l2: int, l3: int, ghz: float, *bandwidth: float) -> Target:
    a, b, c, d = bandwidth
    return Target(name, LINUX_X86, name, bits, 32 if bits == 512 else 16, fma, l1, l2, l3, ghz, (a, b, c, d))


def _arm(name: str, fma: float, l1: int, l2: int, l3: int, ghz: float, *bandwidth: float) -> Target:
    a, b, c, d = bandwidth
    return Target(name, LINUX_ARM, name, 128, 32, fma, l1, l2, l3, ghz, (a, b, c, d))


#: shipped descriptions of CPUs that multiply bytes four at once
VNNI = frozenset(("znver4", "znver5", "icelake-server", "sapphirerapids"))

#: name → description. Caches: L1 and L2 of one core, L3 of one complex or socket.
TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        #    name             bits  FMA  L1       L2         L3       GHz  L1   L2  L3  memory
        replace(_x86("znver3",  256, 2, 32 * KB, 512 * KB, 32 * MB, 3.2,  59, 32, 25, 5.9), hopped=1.4),
        _x86("znver4",          512, 1, 32 * KB, 1 * MB,   32 * MB, 3.5,  64, 32, 18, 6.0),
        replace(_x86("znver5",  512, 2, 48 * KB, 1 * MB,   32 * MB, 4.0, 128, 64, 20, 7.0), l1_ways=12),
        _x86("haswell",         256, 2, 32 * KB, 256 * KB, 8 * MB,  3.0,  64, 32, 16, 5.0),
        _x86("skylake-avx512",  512, 2, 32 * KB, 1 * MB,   22 * MB, 2.7, 128, 48, 10, 4.5),
        replace(_x86("icelake-server", 512, 2, 48 * KB, 1280 * KB, 36 * MB, 2.9, 128, 48, 12, 5.0), l1_ways=12),
        replace(_x86("sapphirerapids", 512, 2, 48 * KB, 2 * MB, 60 * MB, 3.0, 128, 48, 10, 5.0), l1_ways=12),
        _x86("x86-64",          128, 1, 32 * KB, 256 * KB, 8 * MB,  2.5,  32, 16, 10, 4.0),
        _x86("x86-64-v3",       256, 2, 32 * KB, 256 * KB, 8 * MB,  3.0,  64, 32, 16, 5.0),
        _x86("x86-64-v4",       512, 1, 32 * KB, 1 * MB,   16 * MB, 3.0, 128, 48, 12, 5.0),
        _arm("neoverse-n1",          2, 64 * KB, 1 * MB,   32 * MB, 2.6,  32, 20, 12, 6.0),
        _arm("neoverse-v1",          4, 64 * KB, 1 * MB,   32 * MB, 2.6,  48, 32, 16, 8.0),
        _arm("neoverse-v2",          4, 64 * KB, 2 * MB,   36 * MB, 2.8,  48, 32, 16, 9.0),
        replace(_arm("apple-m1",     4, 128 * KB, 12 * MB, 8 * MB,  3.2,  48, 32, 20, 15.0), triple=MAC_ARM, line=128),
    )
}  # fmt: skip
