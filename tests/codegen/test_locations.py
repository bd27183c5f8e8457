"""Assembly with debug locations is read back: each instruction with its label and the statement that it belongs to."""

from __future__ import annotations

from strop.codegen.locations import Locations, located

ASSEMBLY = """
\t.text
\t.file\t"nest"
\t.globl\tnest0
nest0:
.Lfunc_begin0:
\t.loc\t1 1 0
\t.cfi_startproc
\tpushq\t%rbp
.Ltmp0:
\t.loc\t1 0 0 is_stmt 0
\tvmovaps\t.LCPI0_0(%rip), %zmm0
.LBB0_1:                                # =>This Inner Loop Header: Depth=1
\t.loc\t1 3 0 is_stmt 1
\tvfmadd231ps\t(%rsi), %zmm0, %zmm1       # zmm1 = (zmm0 * mem) + zmm1
\tvmovups\t%zmm1, -64(%rsp)               # 64-byte Spill
\tjne\t.LBB0_1
\t.loc\t1 0 0
\tretq
.Lfunc_end0:
"""


def test_instructions_belong_to_the_statement_that_was_told_last() -> None:
    found = located(ASSEMBLY)
    assert [(one.text.split()[0], one.statement) for one in found] == [
        ("pushq", 0), ("vmovaps", 2), ("vfmadd231ps", 2), ("vmovups", 2), ("jne", 2), ("retq", 2),
    ]  # fmt: skip


def test_labels_stand_before_what_they_name_and_comments_are_gone() -> None:
    found = located(ASSEMBLY)
    assert [one.label for one in found] == ["nest0", "", ".LBB0_1", "", "", ""]
    assert found[2].text == "vfmadd231ps\t(%rsi), %zmm0, %zmm1"


def test_without_locations_nothing_belongs_to_anything() -> None:
    assert [one.statement for one in located("nest0:\n\tnop\n\tret\n")] == [None, None]


def test_metadata_names_every_statement_that_was_written() -> None:
    locations = Locations()
    assert locations.of(4) == locations.of(4) != locations.of(None)
    lines = [line for line in locations.metadata.splitlines() if "DILocation" in line]
    assert [line.partition("line: ")[2].partition(",")[0] for line in lines] == ["0", "5"]
