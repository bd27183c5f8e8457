"""Which statement of a nest an instruction was emitted for, told by LLVM's debug locations.

Statement n of a nest is line n + 1 of its function. Locations are written only into text that people look at: they
change no instruction, but LLVM takes longer with them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SUBPROGRAM, _FIRST = 3, 100  # numbers of metadata: of the function, and of the location of statement 0
_LOC = re.compile(r"\s*\.loc\s+\d+\s+(\d+)")
_LABEL = re.compile(r"([.\w$]+):")
_UNSEEN = (".Lfunc_begin", ".Lfunc_end", ".Ltmp")  # labels that only the directives of a debugger use


class Locations:
    """The locations of one function in the making."""

    def __init__(self) -> None:
        self._numbers: set[int] = set()

    def of(self, number: int | None) -> str:
        """What is written behind an instruction that belongs to a statement."""
        if number is None:
            number = -1  # line 0 is nobody's
        self._numbers.add(number)
        return f", !dbg !{_FIRST + number}"

    @property
    def function(self) -> str:
        """What is written into the head of the function."""
        return f" !dbg !{_SUBPROGRAM}"

    @property
    def metadata(self) -> str:
        """What the module has to hold."""
        lines = [
            "!llvm.dbg.cu = !{!0}",
            "!llvm.module.flags = !{!2}",
            "!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, isOptimized: true, runtimeVersion: 0, "
            "emissionKind: LineTablesOnly)",
            '!1 = !DIFile(filename: "nest", directory: "")',
            '!2 = !{i32 2, !"Debug Info Version", i32 3}',
            f'!{_SUBPROGRAM} = distinct !DISubprogram(name: "nest", scope: !1, file: !1, line: 1, type: !4, '
            "scopeLine: 1, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)",
            "!4 = !DISubroutineType(types: !5)",
            "!5 = !{}",
        ]
        lines += [f"!{_FIRST + n} = !DILocation(line: {n + 1}, scope: !{_SUBPROGRAM})" for n in sorted(self._numbers)]
        return "\n".join(lines)


@dataclass(frozen=True)
class LocatedInstruction:
    """An instruction of a function, the label in front of it, and the statement that it belongs to."""

    text: str
    label: str
    statement: int | None


def located(assembly: str) -> list[LocatedInstruction]:
    """The instructions of assembly text that was made with locations.

    An instruction without a directive of its own (a spill, a copy between registers) belongs to the statement of the
    one before it, as in a debugger. What LLVM says is nobody's (line 0: constants and addresses that it has moved or
    made of several equal ones, saved registers) is there for what follows, and belongs to the next statement.
    """
    found: list[tuple[str, str, int | None]] = []
    label, statement, started = "", None, False
    for raw in assembly.splitlines():
        if (loc := _LOC.match(raw)) is not None:
            statement = int(loc[1]) - 1 if int(loc[1]) else None
            continue
        line = raw.split("#")[0].split("//")[0].strip()
        if (named := _LABEL.match(line)) is not None:
            if not line.startswith(_UNSEEN):
                label, started = named[1], True
            continue
        if line and started and not line.startswith("."):
            found.append((line, label, statement))
            label = ""
    last = next((number for *_, number in reversed(found) if number is not None), None)
    made: list[LocatedInstruction] = []
    for text, before, number in reversed(found):
        last = number if number is not None else last
        made.append(LocatedInstruction(text, before, last))
    return made[::-1]
