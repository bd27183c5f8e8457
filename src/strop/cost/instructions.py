"""One line of assembly as an operation: its class, what it reads, writes and touches in memory.

Two dialects: x86-64 as LLVM prints it (AT&T, destination last) and AArch64 (destination first). An instruction that no
pattern knows counts as integer work, which is what is left once vectors, memory and branches are known.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from strop.core.memoize import remembered


@dataclass(frozen=True)
class Operation:
    """`kind` is a class of `strop.target.ports`, or empty where nothing is executed (moves between registers)."""

    kind: str
    bits: int = 64
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    load: int = 0  # bits read from memory
    store: int = 0  # bits written to memory
    address: str = ""
    near: tuple[str, ...] = ()  # registers of the address
    to: str = ""  # the label that a branch goes to
    broadcast: bool = False  # an element from memory in every lane
    masked: bool = False
    stack: bool = False
    back: bool = False  # a branch that is taken: to the start of its loop


_X86_KINDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"vf(n?m(add|sub)|maddsub|msubadd)|vpdp", "fma"),
        (r"v?(add|sub)[ps][sd]$|vaddsub", "add"),
        (r"v?mul[ps][sd]$", "mul"),
        (r"v?(max|min)[ps][sd]$", "max"),
        (r"v?cmp\w*[ps][sd]$|v?u?comis|vptest|vtest|vfpclass", "compare"),
        (r"v?p?blendv", "select"),
        (r"v?p?blend", "blend"),
        (r"v?(and|andn|or|xor)p[sd]$|vpandn?[dq]?$|vpx?or[dq]?$|vpternlog|p(and|or|xor)", "logic"),
        (r"v?div[p][sd]$", "div"),
        (r"v?sqrtp", "sqrt"),
        (r"v?divs[sd]$", "scalar div"),
        (r"v?sqrts", "scalar sqrt"),
        (r"vp?gather", "gather"),
        (r"v?r(cp|sqrt)", "estimate"),
        (r"v?cvt", "convert"),
        (r"v?(rndscale|round|scalef|getexp|getmant|reduce|range|fixupimm)", "round"),
        (r"v?pmul|vpmadd", "vector mul"),
        (r"vpermil", "shuffle"),
        (r"v?p?(broadcast|perm|expand|compress)|vinsert[fi]|vextract[fi]|vshuf[fi]|valign", "cross"),
        (r"v?(insert|extract|shuf|unpck|movlhps|movhlps|mov\w?dup|pinsr|pextr|pshuf|punpck|pack|palign|psrldq|pslldq)|vmov[hl]p",
         "shuffle"),
        (r"vp(mov[mbwdq]2?|test)[mdqbw]", "mask"),
        (r"vp(unpck|shuf|ack|align|srldq|slldq|insr|extr)", "shuffle"),
        (r"vp(sll|srl|sra|rol|ror|mov[sz]x|lzcnt|popcnt)", "shift"),
        (r"vp?(add|sub|min|max|cmp|abs|sign)", "vector int"),
        (r"k[a-z]+", "mask"),
        (r"i?mul", "multiply"),
        (r"i?div", "divide"),
        (r"j[a-z]+", "branch"),
        (r"call", "call"),
    )
)  # fmt: skip

_VECTOR = re.compile(r"%([xyz])mm(\d+)")
_EMBEDDED = re.compile(r"\{1to(\d+)\}")
_MASK = re.compile(r"\{%k\d\}")
_GENERAL = re.compile(r"%([a-z][a-z0-9]*)")
_BITS = {"x": 128, "y": 256, "z": 512}
_NARROW = {"ss": 32, "sd": 64}
_WHOLE = {
    name: full
    for full, names in {
        "rax": "eax ax al ah", "rbx": "ebx bx bl bh", "rcx": "ecx cx cl ch", "rdx": "edx dx dl dh",
        "rsi": "esi si sil", "rdi": "edi di dil", "rbp": "ebp bp bpl", "rsp": "esp sp spl",
        **{f"r{n}": f"r{n}d r{n}w r{n}b" for n in range(8, 16)},
    }.items()
    for name in names.split()
}  # fmt: skip
_NO_RESULT = re.compile(r"(cmp|test|v?u?comis|vptest$|vtest|bt|prefetch|push)")
_ONLY_WRITES = re.compile(r"(mov|lea|set|v|k|pop|bsf|bsr|tzcnt|lzcnt|rorx|shlx|shrx|sarx|mulx|pdep|pext|andn)")
_FMA = re.compile(r"vf(n?m(add|sub)|maddsub|msubadd)|vpternlog|vperm[it]2|vpdp|vfixup")


@functools.cache
def _x86_kind(mnemonic: str) -> str:
    return next((kind for pattern, kind in _X86_KINDS if pattern.match(mnemonic)), "")


@remembered(maxsize=65536)
def x86(text: str) -> Operation | None:
    """An AT&T line; None for what is no instruction."""
    mnemonic, _, rest = text.partition("\t")
    mnemonic = mnemonic.strip()
    if mnemonic.startswith(("ret", "push", "pop", "vzeroupper", "nop", "data16")):
        return None  # the frame of a function that is one only here
    if mnemonic in ("rep", "lock"):
        return Operation("call")
    operands = _split(rest.split("#")[0])
    kind = _x86_kind(mnemonic)
    if kind == "branch" or mnemonic == "jmp":
        return Operation("branch", to=operands[0] if operands else "")
    if kind == "call":
        return Operation(kind)
    masked = any(_MASK.search(o) for o in operands)
    zeroing = any("{z}" in o for o in operands)
    masks = tuple(f"k{m[3]}" for o in operands for m in _MASK.findall(o))
    memory = next((o for o in operands if "(" in o), None)
    vectors = [_BITS[v] for o in operands for v, _ in _VECTOR.findall(o)]
    bits = max(vectors, default=64)
    if kind == "gather":
        bits = vectors[-1]
    scalar = _scalar(mnemonic)
    width = scalar or bits
    last = operands[-1] if operands else ""
    into_memory = memory is not None and last is memory and not _NO_RESULT.match(mnemonic)
    registers = [_registers(o) for o in operands if o is not memory]
    address = re.sub(r"\s*\{[^}]*\}", "", memory or "")
    near = _registers(address)
    moved = _touched(mnemonic, memory or "", bits, scalar)
    writes: tuple[str, ...] = ()
    reads = [r for names in registers for r in names] + list(masks)
    if operands and memory is not last and not _NO_RESULT.match(mnemonic):
        writes = _registers(last)
        only = _ONLY_WRITES.match(mnemonic) and not _FMA.match(mnemonic) and not (masked and not zeroing)
        if only and len(operands) > 1:
            for name in writes:
                if reads.count(name) == 1 or not vectors:
                    reads.remove(name)
    if _is_zero(mnemonic, operands):
        return Operation("", width, (), writes)
    plain = re.match(r"(v?mov(?!mskp|[hl]p|\w?dup)|vlddqu|movabs)", mnemonic) is not None
    if kind == "cross" and memory is not None and re.match(r"vp?broadcast", mnemonic):
        plain, kind = True, ""
    if kind == "cross" and memory is not None and "insert" in mnemonic:
        kind = "insert"
    if plain:
        kind = "transfer" if vectors and memory is None and len(vectors) < len(operands) else ""
        if kind and any(o.startswith("$") for o in operands):
            kind = ""
    elif not kind:
        kind = "int" if mnemonic[0] not in "v" else "vector int"
    if mnemonic.startswith("prefetch"):
        kind = ""
    if re.match(r"vp?maskmov", mnemonic):
        masked, kind = into_memory, "masked store" if into_memory else ""
    load = moved if memory is not None and not into_memory and not mnemonic.startswith("lea") else 0
    store = moved if into_memory else 0
    if into_memory and not plain and kind in ("int", "multiply"):
        load = moved
    return Operation(
        kind, width, tuple(reads) + near, writes, load, store, address, near, "",
        "1to" in (memory or "") or "broadcast" in mnemonic,
        masked,
        memory is not None and "rsp" in near,
    )  # fmt: skip


def _is_zero(mnemonic: str, operands: list[str]) -> bool:
    """`xor r, r` makes a zero at no cost, and depends on nothing."""
    if not re.match(r"v?p?xor", mnemonic):
        return False
    names = [_registers(o) for o in operands]
    return len(set(names[:2])) == 1 and bool(names[0])


def _scalar(mnemonic: str) -> int:
    found = re.search(r"(ss|sd)$", mnemonic)
    return _NARROW[found.group()] if found and mnemonic[0] in "vamdsu" and mnemonic[1:] != "movsd" else 0


def _touched(mnemonic: str, memory: str, bits: int, scalar: int) -> int:
    """Bits that an access to memory moves."""
    if not memory:
        return 0
    if (embedded := _EMBEDDED.search(memory)) is not None:
        return bits // int(embedded[1])  # the arithmetic unit repeats it: the load port brings one element
    if "broadcast" in mnemonic:
        return bits  # into a register: as many passes as for a whole vector where load ports are narrower than one
    if re.match(r"v(insert|extract)[fi]", mnemonic):
        return 256 if (re.search(r"x[48]$", mnemonic) and "64x4" in mnemonic) or "32x8" in mnemonic else 128
    if re.match(r"v(insertps|extractps|movd$|movss|pinsrd|pextrd)", mnemonic):
        return 32
    return scalar or bits


def _registers(operand: str | None) -> tuple[str, ...]:
    found = [f"v{number}" for _, number in _VECTOR.findall(operand or "")]
    for name in _GENERAL.findall(_VECTOR.sub("", operand or "")):
        if name != "rip":
            found.append(_WHOLE.get(name, name))
    return tuple(found)


def _split(text: str) -> list[str]:
    """Operands, separated by commas that are in no bracket."""
    parts, depth, current = [], 0, ""
    for letter in text.strip():
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += letter
    return [*parts, current.strip()] if current.strip() else parts


# ---- AArch64 ---------------------------------------------------------------------------------------------------------

_ARM_KINDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"fn?ml[as]|fn?madd|fn?msub|us?dot|sdot", "fma"),
        (r"f(add|sub|abd|addp)$", "add"),
        (r"fn?mul", "mul"),
        (r"f(max|min)", "max"),
        (r"fcm|fac|fccmp|fcsel", "compare"),
        (r"bsl|bit|bif|fcsel|csel", "blend"),
        (r"fdiv", "div"),
        (r"fsqrt", "sqrt"),
        (r"fre|frsq", "estimate"),
        (r"[fsu]cvt|[su]cvtf|fcvt", "convert"),
        (r"frint|fscale", "round"),
        (r"dup|ins|ext$|zip|uzp|trn|tbl|tbx|rev|mov|movi|fmov|umov|smov", "shuffle"),
        (r"[su]?div", "divide"),
        (r"mul|madd|msub|mla|mls|[su]mul", "multiply"),
        (r"b\.|b$|cbn?z|tbn?z", "branch"),
        (r"bl|br$", "call"),
    )
)  # fmt: skip
_ARM_REGISTER = re.compile(r"\b([vqdsbh])(\d+)|\b([xw])(\d+|zr)\b|\b(sp|wsp)\b")
_ARM_BITS = {"v": 128, "q": 128, "d": 64, "s": 32, "h": 16, "b": 8}


def aarch64(text: str) -> Operation | None:
    """A line with the destination first."""
    mnemonic, _, rest = text.partition("\t")
    if not mnemonic.startswith("b."):  # Apple's way of writing: `fadd.4s v0, v1, v2`
        mnemonic = mnemonic.partition(".")[0]
    operands = _split(rest.split("//")[0].split(";")[0])
    names = [_arm_registers(o) for o in operands]
    if mnemonic in ("nop", "hint", "ret"):
        return None
    kind = next((kind for pattern, kind in _ARM_KINDS if pattern.match(mnemonic)), "")
    if kind == "branch":
        return Operation("branch", reads=tuple(r for n in names[:-1] for r in n), to=operands[-1] if operands else "")
    if kind == "call":
        return Operation(kind)
    widths = [_ARM_BITS[m[0]] for o in operands for m in _ARM_REGISTER.findall(o) if m[0]]
    bits = max(widths, default=64)
    memory = next((o for o in operands if o.startswith("[")), None)
    if memory is not None:
        near = _arm_registers(memory)
        count = sum(1 for o in operands if o is not memory and _arm_registers(o))
        held = tuple(r for o, n in zip(operands, names) if o is not memory for r in n)
        stack, moved = "sp" in near, (32 if mnemonic == "ld1r" else bits * max(count, 1))
        if mnemonic.startswith("st"):
            return Operation("", bits, (*held, *near), (), 0, moved, memory, near, stack=stack)
        if mnemonic.startswith("prf"):
            return Operation("", bits, near, (), 64, 0, memory, near)
        also = held if "[" in operands[0][1:] else ()
        return Operation("", bits, (*near, *also), held, moved, 0, memory, near, stack=stack)
    vector = bool(widths)
    if mnemonic.startswith(("cmp", "tst", "cmn", "fcmp", "ccmp")):
        return Operation(kind if vector else "int", bits, tuple(r for n in names for r in n))
    writes = names[0] if names else ()
    reads = tuple(r for n in names[1:] for r in n)
    if kind == "fma" and mnemonic.startswith(("fml", "us", "ud", "sd")):
        reads += writes
    if mnemonic in ("bsl", "bit", "bif", "ins", "mla", "mls") or ("[" in operands[0] if operands else False):
        reads += writes
    if kind == "shuffle" and not vector:
        return Operation("", 64, reads, writes)
    if kind == "shuffle" and mnemonic in ("mov", "movi") and "[" not in text:
        return Operation("", bits, reads, writes)
    if kind in ("multiply",) and vector:
        kind = "vector mul"
    if kind in ("div", "sqrt") and bits < 128:
        kind = f"scalar {kind}"
    if not kind or (kind == "blend" and not vector):
        kind = "vector int" if vector else "int"
    return Operation(kind, bits, reads, writes)


def _arm_registers(operand: str) -> tuple[str, ...]:
    found = []
    for vector, number, general, which, stack in _ARM_REGISTER.findall(operand):
        if vector:
            found.append(f"v{number}")
        elif general and which != "zr":
            found.append(f"x{which}")
        elif stack:
            found.append("sp")
    return tuple(found)
