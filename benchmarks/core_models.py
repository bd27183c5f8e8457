"""Cycles of the hottest inner loop of seven nests: Strop's model of each core beside LLVM's and OSACA's.

    python benchmarks/core_models.py                     # every described CPU
    python benchmarks/core_models.py znver3 neoverse-v2  # some
    python benchmarks/core_models.py --write             # also the table of docs/targets.md
    python benchmarks/core_models.py znver3 --rows FILE  # some, added to those that FILE has; with --write all of them
    python benchmarks/core_models.py znver5 --measure    # the same loops timed on this machine (x86-64, gcc)

Needs llvm-mca (Debian: `apt-get install llvm-19`) and OSACA (`pip install osaca`); what is missing is left out. The
default schedule of each nest is compiled to assembly, and the loop that takes most of its time is given to all three.
Both of the others are models, too: where all disagree, a measurement or a manual decides (`EXCEPTIONS`).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from rank import nest_of

from strop.cost import assembly
from strop.cost.instructions import Operation
from strop.cost.simulate import pace
from strop.driver.pipeline import assembly as assembly_of
from strop.schedule.default import schedule
from strop.target.description import TARGETS, Target

NESTS = ("conv3x3", "conv1x1", "strided", "depthwise", "matmul", "softmax", "pointwise")
WITHIN = 0.15
PAGE = Path(__file__).resolve().parent.parent / "docs" / "targets.md"
START, END = "<!-- core models: start -->", "<!-- core models: end -->"
#: whose model of llvm-mca and of OSACA a description is compared with; generic ones stand for what they were made from
MCA = {
    "x86-64": "haswell", "x86-64-v2": "haswell", "x86-64-v3": "haswell", "x86-64-v4": "icelake-server",
    "aarch64": "neoverse-n1", "cortex-a76": "neoverse-n1", "znver5": "", "apple-m1": "", "apple-m2": "", "apple-m3": "",
}  # fmt: skip
OSACA = {
    "znver2": "ZEN2", "znver3": "ZEN3", "znver4": "ZEN4", "haswell": "HSW", "x86-64": "HSW", "x86-64-v2": "HSW",
    "x86-64-v3": "HSW", "skylake-avx512": "SKX", "icelake-server": "ICX", "x86-64-v4": "ICX", "sapphirerapids": "SPR",
    "neoverse-n1": "N1", "aarch64": "N1", "cortex-a76": "N1", "neoverse-v2": "V2", "apple-m1": "M1", "apple-m2": "M1",
    "apple-m3": "M1", "cortex-a72": "A72",
}  # fmt: skip
SAME_CORES = ("cascadelake", "emeraldrapids", "graniterapids")  # as others that are compared
#: cycles that `--measure` found: an EPYC 9005, which neither of the others knows, alone on the machine; a Xeon of the
#: fifth generation, whose cores are those of the fourth and whose 512-bit multiply-adds mca halves, with others on it
MEASURED = {
    ("znver5", "conv3x3"): 39.6, ("znver5", "conv1x1"): 97.8, ("znver5", "strided"): 53.2,
    ("znver5", "depthwise"): 88.5, ("znver5", "matmul"): 106.6, ("znver5", "softmax"): 24.4,
    ("znver5", "pointwise"): 1.24,
    ("sapphirerapids", "conv3x3"): 42.5, ("sapphirerapids", "conv1x1"): 106.2, ("sapphirerapids", "strided"): 57.4,
    ("sapphirerapids", "depthwise"): 119.7, ("sapphirerapids", "matmul"): 114.2, ("sapphirerapids", "softmax"): 31.1,
    ("sapphirerapids", "pointwise"): 1.6,
}  # fmt: skip
_FRONT = "{count} instructions enter {width} at a time ({source}); OSACA leaves the front end out, mca is further away."
_HASWELL = "AnandTech, Intel's Haswell Architecture Analyzed, page 6: the front end is four wide"
_SUNNY_COVE = "WikiChip Fuse, A Look At The AMD Zen 2 Core, page 2: Sunny Cove renames five a cycle"
_ZEN_2 = "AnandTech, AMD Zen 2 Microarchitecture Analysis, page 8: six are dispatched a cycle"
_A72 = "T. Bastian's thesis on code analysers, chapter on this core, after Arm UAN 0016A: three are dispatched a cycle"
_A76 = "Wikipedia's page of the core: four macro-operations are renamed and dispatched a cycle"
_STORES = (
    "stores wait for the pipes that multiply, as timed on this core (docs/cost.md: {timed}); the others do not know."
)
_BROADCASTS = (
    "a 512-bit multiply-add a cycle is what this core does (forty in 40 cycles, timed: docs/cost.md); mca apparently "
    "counts a broadcast as two loads of a full vector, OSACA does not know the instruction."
)
#: (target, nest) → why the description is kept where both others are further away
EXCEPTIONS: dict[tuple[str, str], str] = {
    **{
        (name, "pointwise"): _FRONT.format(count=count, width=width, source=source)
        for name, count, width, source in (
            ("haswell", 7, 4, _HASWELL), ("x86-64-v3", 7, 4, _HASWELL), ("x86-64", 10, 4, _HASWELL),
            ("x86-64-v2", 10, 4, _HASWELL), ("icelake-server", 7, 5, _SUNNY_COVE), ("x86-64-v4", 7, 5, _SUNNY_COVE),
            ("znver2", 7, 6, _ZEN_2), ("cortex-a72", 8, 3, _A72), ("cortex-a76", 8, 4, _A76),
        )
    },
    ("neoverse-v1", "pointwise"): "three loads a cycle, as mca has them, too (LLVM's AArch64SchedNeoverseV1.td, after "
    "Arm's guide: load units 0, 1 and 2). mca adds an integer operation to each access by two registers: six on four "
    "pipes. Where the guide says whether one that is not shifted has it was not found.",
    ("znver3", "depthwise"): _STORES.format(timed="forty products in 20 cycles, with twenty stores in 39"),
    ("znver4", "depthwise"): _STORES.format(timed="forty products in 40 cycles, with twenty stores in 72"),
    **{("znver4", nest): _BROADCASTS for nest in ("conv3x3", "conv1x1", "strided", "matmul")},
    ("znver2", "softmax"): "40 operations on two pipes, multiply-adds of five cycles (LLVM's X86ScheduleZnver2.td: "
    "pipes 0 and 1, latency 5): OSACA counts the pipes alone (20), mca chains them (45).",
    ("znver5", "pointwise"): "the timed loop has two instructions more, which count it.",
    ("sapphirerapids", "pointwise"): "timed: at least 1.6 cycles for eight instructions, in some runs 2.5. Why "
    "it takes longer than its ports was not found. OSACA has 1.0, mca 2.0.",
    **{
        (name, "depthwise"): "three 128-bit loads a cycle (dougallj.github.io/applecpu/firestorm.html: units 8 to 10 "
        "load, up to 128 bits each), and OSACA counts a pair of registers as one load and no prefetch."
        for name in ("apple-m1", "apple-m2", "apple-m3")
    },
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """Cycles per iteration; None where a tool is missing, or does not know the core or an instruction."""

    target: str
    nest: str
    instructions: int
    ours: float
    mca: float | None
    osaca: float | None

    @property
    def nearest(self) -> float | None:
        """How far the nearest of the others is, relative to it."""
        others = (self.mca, self.osaca, MEASURED.get((self.target, self.nest)))
        apart = [abs(self.ours / other - 1) for other in others if other]
        return min(apart, default=None)

    @property
    def verdict(self) -> str:
        if self.nearest is None:
            return "not comparable"
        if self.nearest <= WITHIN:
            return "yes"
        return "exception" if (self.target, self.nest) in EXCEPTIONS else "no"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--write", action="store_true", help="write the table of docs/targets.md")
    parser.add_argument("--rows", type=Path, help="a file that keeps the rows of runs made one after the other")
    parser.add_argument(
        "--measure", action="store_true", help="time the loops here; needs gcc and the CPU that is named"
    )
    asked = parser.parse_args()
    rows: list[Row] = []
    known = [Row(**one) for one in json.loads(asked.rows.read_text())] if asked.rows and asked.rows.exists() else []
    for name in asked.targets or [name for name in TARGETS if name not in SAME_CORES]:
        for nest in NESTS:
            text, operations = hottest_loop(nest, Target.find(name))
            ours = pace(operations, Target.find(name).ports).cycles
            rows.append(Row(name, nest, len(operations), ours, mca(text, name), osaca(text, name)))
            told = [f"{one:8.2f}" if one else "       –" for one in (ours, rows[-1].mca, rows[-1].osaca)]
            print(f"{name:15} {nest:10} {len(operations):4} {' '.join(told)}  {rows[-1].verdict}", flush=True)
            if asked.measure:
                print(f"{'':15} {'measured':10} {'':4} {measured(text):8.2f}", flush=True)
    if asked.rows:
        found = {(row.target, row.nest): row for row in (*known, *rows)}
        rows = [found[name, nest] for name in TARGETS for nest in NESTS if (name, nest) in found]
        asked.rows.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    if asked.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
        PAGE.write_text(f"{before}{START}\n{table(rows)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return int(any(row.verdict == "no" for row in rows))


def table(rows: list[Row]) -> str:
    """The table of the page: a line per CPU, a column per nest, and the exceptions below."""
    lines = [f"| CPU | {' | '.join(NESTS)} |", f"| --- | {' | '.join('---:' for _ in NESTS)} |"]
    for name in dict.fromkeys(row.target for row in rows):
        cells = [_cell(row) for row in rows if row.target == name]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    told = [
        f"- **{row.target}, {row.nest}**: {EXCEPTIONS[row.target, row.nest]}"
        for row in rows
        if row.verdict == "exception"
    ]
    return "\n".join([*lines, *(["", "Exceptions (†):", "", *told] if told else [])])


def _cell(row: Row) -> str:
    timed = MEASURED.get((row.target, row.nest))
    others = " / ".join(f"{one:.1f}" if one else "–" for one in (row.mca, row.osaca))
    others = f"timed {timed:.1f}" if timed else others
    return f"{row.ours:.1f} ({others}){'†' if row.verdict == 'exception' else ''}"


# ---- the loop --------------------------------------------------------------------------------------------------------


def hottest_loop(name: str, target: Target) -> tuple[str, list[Operation]]:
    """The innermost loop of a nest's default schedule that takes most of its time, as text and as read."""
    nest = assembly.serial(schedule(nest_of(name), target, 1).nest)
    lines = [line.strip() for line in assembly_of(nest, target).splitlines()]
    lines = [re.sub(r"\s*//.*" if target.is_arm else r"\s*#.*", "", line) for line in lines]
    places = {line[:-1]: i for i, line in enumerate(lines) if line.endswith(":")}
    loops = []
    for i, line in enumerate(lines):
        jumps = re.match(r"(?:j\w+|b(?:\.\w+)?|cbn?z|tbn?z)\s+(?:.*,\s*)?(\.?L?BB\w+)$", line)
        if jumps and places.get(jumps[1], i) < i:
            loops.append((places[jumps[1]], i))
    inner = [
        one for one in loops if not any(one != other and one[0] <= other[0] and other[1] <= one[1] for other in loops)
    ]
    found = []
    for first, last in inner:
        own = [line for line in lines[first + 1 : last + 1] if line and line[0] not in ".;" and not line.endswith(":")]
        read = [line.operation for line in assembly.lines("\n".join(f"\t{line}" for line in own)) if line.operation]
        found.append(("\n".join(own), read))
    return max(found, key=lambda one: pace(one[1], target.ports).cycles)


# ---- the others ------------------------------------------------------------------------------------------------------


def mca(text: str, name: str) -> float | None:
    """Cycles per iteration in the steady state, by llvm-mca."""
    tool = next((found for version in ("-19", "-18", "") if (found := shutil.which(f"llvm-mca{version}"))), None)
    cpu = MCA.get(name, TARGETS[name].cpu)
    if tool is None or not cpu:
        return None
    cycles = []
    for iterations in (100, 300):
        triple = TARGETS[name].triple.replace("arm64-apple-darwin", "aarch64-unknown-linux-gnu")
        command = [tool, f"-mtriple={triple}", f"-mcpu={cpu}", f"-iterations={iterations}", "-"]
        done = subprocess.run(command, input=_within_block(text), capture_output=True, text=True)
        found = re.search(r"Total Cycles:\s+(\d+)", done.stdout)
        if found is None:
            return None
        cycles.append(int(found[1]))
    return (cycles[1] - cycles[0]) / 200


def _within_block(text: str) -> str:
    """Branches go to a label in front of the loop."""
    return "loop:\n" + re.sub(r"\.?L?BB\w+", "loop", text) + "\n"


def osaca(text: str, name: str) -> float | None:
    """Cycles per iteration by OSACA: the busiest port, or the longest chain from one iteration to the next."""
    if name not in OSACA or importlib.util.find_spec("osaca") is None:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".s") as file:
        file.write(_within_block(text))
        file.flush()
        command = [
            sys.executable,
            "-m",
            "osaca",
            "--arch",
            OSACA[name],
            "--ignore-unknown",
            "--lcd-timeout",
            "5",
            file.name,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
    totals = [line for line in done.stdout.splitlines() if re.fullmatch(r"[\d.\s]+", line) and len(line.split()) > 5]
    if not totals:
        return None
    *ports, _path, chain = map(float, totals[-1].split())
    return max(*ports, chain)


# ---- measuring -------------------------------------------------------------------------------------------------------

_HARNESS = """
#include <stdio.h>
#include <stdint.h>
#include <time.h>
void body(long, void *);
void chain(long, void *);
static char memory[1 << 24] __attribute__((aligned(4096)));
static double seconds(void (*run)(long, void *), long count, double best) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    run(count, memory + (1 << 23));
    clock_gettime(CLOCK_MONOTONIC, &b);
    double took = (b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) * 1e-9;
    return took < best ? took : best;
}
int main(void) {
    double cycles = 1e9, iterations = 1e9;
    for (int i = 0; i < 400; i++) {
        cycles = seconds(chain, 5000, cycles);
        iterations = seconds(body, 5000, iterations);
    }
    printf("%f", iterations / 5000 / (cycles / 5000 / 64));
    return 0;
}
"""
_SAVED = ("%rbx", "%rbp", "%r12", "%r13", "%r14", "%r15")
_REGISTERS = (*_SAVED, "%rax", "%rcx", "%rdx", "%r8", "%r9", "%r10", "%r11")


def measured(text: str) -> float:
    """Cycles per iteration on this machine, everything in L1. Registers that address memory stand still: what adds to
    them adds nothing. A chain of additions, a cycle each, tells the clock."""
    own = [re.sub(r"\$-?\d+", "$0", line) if re.match(r"(add|sub)q", line) else line for line in text.splitlines()[:-1]]
    if own and re.match(r"(cmp|test)", own[-1]):  # the count of the timing decides, with as many instructions
        del own[-1]
    own = [re.sub(r"^(inc|dec)q\s+", "addq $0, ", line) for line in own]
    own = [
        "nop" if re.match(r"(leaq|shlq|shrq|mulxq|imulq|andq|orq|movq|xor|prefetch)", line) else line for line in own
    ]
    bases = set(re.findall(r"\((%\w+)", text))
    indices = set(re.findall(r",\s*(%r\w+)[,)]", text)) - bases
    apart = 8192 + 192  # between registers, so that no load finds what another register's store left
    start = [f"lea {i * apart}(%rsi), {register}" for i, register in enumerate(sorted(bases))]
    start += [f"xor {one}, {one}" for one in indices]
    free = [name for name in _REGISTERS if name not in text and name[:-1] not in text]
    if "%rsp" in text:
        own, start = ([line.replace("%rsp", free[-1]) for line in lines] for lines in (own, start))
    saved = [f"push {register}" for register in _SAVED]
    restored = [f"pop {register}" for register in reversed(_SAVED)]
    zeros = [f"vxorps %xmm{i}, %xmm{i}, %xmm{i}" for i in range(16)]
    lines = [
        ".text",
        ".globl body, chain",
        "body:",
        *saved,
        *zeros,
        f"mov %rdi, {free[0]}",
        *start,
        ".p2align 6",
        "1:",
        *own,
    ]
    lines += [f"dec {free[0]}", "jnz 1b", *restored, "vzeroupper", "ret", "chain:", "xor %eax, %eax", "2:"]
    lines += [*["add %rdi, %rax", "xor %rsi, %rax"] * 32, "dec %rdi", "jnz 2b", "ret"]
    lines += ['.section .note.GNU-stack,"",@progbits', ""]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "loop.s").write_text("\n".join(lines))
        (Path(folder) / "main.c").write_text(_HARNESS)
        program = Path(folder) / "program"
        subprocess.run(["gcc", "-O2", "-o", program, Path(folder) / "main.c", Path(folder) / "loop.s"], check=True)
        return float(subprocess.run([program], capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    raise SystemExit(main())
