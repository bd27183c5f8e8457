"""Machine descriptions: data that code generation and the cost model read, never code.

One file per CPU in `target/cpus/`, with its sources; `target/cpu_file.py` reads them, those of users too. Bandwidths
are what one core sustains when reading, in bytes per cycle, from L1, L2, L3 and memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path

from strop.core.dtypes import SIZES
from strop.core.problem import Problem
from strop.target.ports import Ports

KB, MB = 2**10, 2**20

LINUX_X86 = "x86_64-unknown-linux-gnu"
_ARM = ("aarch64", "arm64")
_CPUS = Path(__file__).parent / "cpus"


@dataclass(frozen=True)
class Target:
    """One kind of CPU core with its caches. `features` is LLVM's `+a,-b` text; empty means what `cpu` implies, and
    `provides` lists those of them that generated code may use."""

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
    l1_ways: int = 8  #: lines that a set of L1 holds; more of them evict each other
    l2_ways: int = 8
    l3_ways: int = 16
    l3_share: float = 0.15  #: of L3, that others leave to a program from one run to the next
    tlb: int = 64  #: pages that the first data TLB knows
    page: int = 4096
    cores: int = 1  #: that share an L3
    sve_bits: int = 0  #: width of the scalable vectors; generated code uses vectors of `vector_bits`
    provides: tuple[str, ...] = ()
    known_by: tuple[str, ...] = ()  #: features of a machine whose name is not described that tell that it is this one
    core: Ports | None = field(default=None, hash=False, repr=False)

    @property
    def vector_bytes(self) -> int:
        return self.vector_bits // 8

    @property
    def is_arm(self) -> bool:
        return self.triple.startswith(_ARM)

    @property
    def ports(self) -> Ports:
        """The execution ports of its cores; those of a generic description where they are not described."""
        if self.core is not None:
            return self.core
        generic = {128: "aarch64" if self.is_arm else "x86-64", 256: "x86-64-v3"}
        return TARGETS[generic.get(self.vector_bits, "x86-64-v4")].ports

    @property
    def fma_latency(self) -> float:
        """Cycles from one multiply-add of whole vectors to one that uses its result."""
        return self.ports.use("fma", self.vector_bits).latency

    @property
    def fma_pipes(self) -> int:
        """Pipes that multiply and add."""
        return len(self.ports.use("fma", self.vector_bits).ports)

    @property
    def l1_way(self) -> int:
        """Bytes after which addresses fall on the same set of L1 again."""
        return self.l1 // self.l1_ways

    @property
    def all_features(self) -> tuple[str, ...]:
        """The features that generated code may use, by LLVM's names: what `features` says, or what `cpu` implies."""
        on = _parse(self.features)
        if on:
            return tuple(name for name in on if on[name])
        return self.provides or (TARGETS[self.cpu].provides if self.cpu in TARGETS else ())

    def has(self, feature: str) -> bool:
        return feature in self.all_features

    @property
    def code_features(self) -> str:
        """What LLVM is told: no SSE4a, which Intel's CPUs lack, so that code for Zen runs wherever its vectors do."""
        if self.is_arm:
            return self.features
        return f"{self.features},-sse4a" if self.features else "-sse4a"

    @property
    def has_fma(self) -> bool:
        """Whether one instruction multiplies and adds, rounding once."""
        return self.is_arm or self.has("fma")

    @property
    def has_masks(self) -> bool:
        """Whether instructions can leave out lanes, and read one element for all of them."""
        return self.has("avx512vl")

    @property
    def broadcasts_apart(self) -> bool:
        """Whether an element that several vectors are combined with is better loaded by an instruction of its own than
        by each of those: pipes that take whole vectors leave no turns of the load ports for reading it twice.
        Instructions that read one element for all lanes come with vectors of 512 bits; plans for such a core stay the
        same where they run in the instructions of another one."""
        return self.vector_bits == 512 and self.ports.pipe_bits >= self.vector_bits

    @property
    def byte_products(self) -> str:
        """How it multiplies bytes: four products at once into 32 bits (`vnni`, `usdot`: unsigned by signed bytes;
        `sdot`: signed ones), products of pairs of 16 bits (`pairs`), or not at all."""
        if self.is_arm:
            return "usdot" if self.has("i8mm") else "sdot" if self.has("dotprod") else ""
        if self.vector_bits == 512:
            return "vnni" if self.has("avx512vnni") else "pairs" if self.has("avx512bw") else ""
        return "pairs" if self.has("avx2") else ""

    def runs_on(self, host: Target) -> bool:
        """Whether a machine has the instructions that code for this one may use."""
        if self.triple.partition("-")[0] != host.triple.partition("-")[0]:
            return False
        return set(self.all_features) <= set(host.all_features)

    def emulated_on(self, host: Target) -> Target:
        """The same registers, caches and ports to plan for, in instructions of another machine.

        LLVM divides vectors that are wider than the machine's: nests, tiles and algorithms can be tried without the CPU
        that they are meant for. The code says nothing about how fast that CPU would be.
        """
        return replace(self, triple=host.triple, cpu=host.cpu, features=host.features, provides=host.provides)

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
        return repr((astuple(replace(self, core=None)), self.ports))

    @property
    def instruction_set(self) -> str:
        """What decides whether code runs, and what LLVM makes of a text."""
        return f"{self.triple} {self.cpu} {self.features} {self.vector_bits}x{self.vector_registers}"

    def lanes(self, dtype: str) -> int:
        """Elements of a dtype in one vector register, by their size in memory."""
        return max(1, self.vector_bytes // SIZES[dtype])

    @staticmethod
    def find(name: str) -> Target:
        """A description by its name: a shipped one, one of the folders that STROP_TARGETS lists, or a file."""
        if name.endswith(".toml"):
            from strop.target.cpu_file import read_cpu

            return read_cpu(Path(name))
        if name not in TARGETS:
            raise Problem(
                "STR402",
                f"there is no description of `{name}`",
                help=f"known: {', '.join(TARGETS)}; or the path of a file: mine.toml; none for the machine at hand",
            )
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

        The features decide the vector width, not the name: a virtual machine may hide what the core has, and may call
        itself after another CPU. Sizes of caches that were found out are taken before those of the description.
        """
        on = _parse(features) if isinstance(features, str) else dict(features)
        cpu = cpu if cpu in TARGETS else _known_by(on) or cpu
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


NARROWEST = 4  # lanes of the shortest vectors that are worth their own instructions


def narrowest(active: int, lanes: int) -> int:
    """The lanes of the shortest vector that holds some elements: halves and quarters of whole vectors exist too."""
    while lanes // 2 >= max(active, NARROWEST):
        lanes //= 2
    return lanes


def _parse(features: str) -> dict[str, bool]:
    names = [name.strip() for name in features.split(",") if name.strip()]
    return {name.lstrip("+-"): not name.startswith("-") for name in names}


def _known_by(on: Mapping[str, bool]) -> str:
    """The CPU that is known by most of the features that a machine has, or none."""
    found = [one for one in TARGETS.values() if one.known_by and all(on.get(name) for name in one.known_by)]
    return max(found, key=lambda one: len(one.known_by)).name if found else ""


def _match(cpu: str, on: Mapping[str, bool], triple: str) -> tuple[Target, int, int]:
    """The nearest description, with the vector width and the register count that the features allow."""
    if on.get("avx512f") and on.get("avx512vl", True):
        return TARGETS.get(cpu, TARGETS["x86-64-v4"]), 512, 32
    if on.get("avx2") and on.get("fma"):
        return TARGETS.get(cpu, TARGETS["x86-64-v3"]), 256, 16
    if on.get("neon") or triple.startswith(_ARM):
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


class Descriptions(MutableMapping[str, Target]):
    """Descriptions by name: files of this package and of the folders that STROP_TARGETS lists, each read when it is
    first asked for, and what extensions add."""

    def __init__(self) -> None:
        self._added: dict[str, Target] = {}
        self._read: dict[Path, Target] = {}

    def file(self, name: str) -> Path | None:
        """The file that describes a CPU; a user's goes before a shipped one."""
        return next((file for folder in _folders() if (file := folder / f"{name}.toml").is_file()), None)

    def __getitem__(self, name: str) -> Target:
        if name in self._added:
            return self._added[name]
        file = self.file(name)
        if file is None:
            raise KeyError(name)
        if file not in self._read:
            from strop.target.cpu_file import read_cpu

            self._read[file] = read_cpu(file)
        return self._read[file]

    def __setitem__(self, name: str, target: Target) -> None:
        self._added[name] = target

    def __delitem__(self, name: str) -> None:
        del self._added[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._added or self.file(name) is not None)

    def __iter__(self) -> Iterator[str]:
        files = [file.stem for folder in _folders() for file in sorted(folder.glob("*.toml"))]
        return iter(dict.fromkeys((*files, *self._added)))

    def __len__(self) -> int:
        return len(list(iter(self)))


def _folders() -> list[Path]:
    own = os.environ.get("STROP_TARGETS", "")
    return [*(Path(folder).expanduser() for folder in own.split(os.pathsep) if folder), _CPUS]


#: name → description. Caches: L1 and L2 of one core, L3 of one complex or socket.
TARGETS: MutableMapping[str, Target] = Descriptions()
