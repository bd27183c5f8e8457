"""Squares of elements turned inside registers: as many vectors as they have lanes, rows in and columns out."""

from __future__ import annotations

from collections.abc import Sequence

from strop.codegen.builder import CodeBlock, type_of
from strop.core.dtypes import SIZES

BLOCK_BYTES = 16  # within which neighbours are interleaved by one cheap instruction


def columns(code: CodeBlock, rows: Sequence[str], dtype: str) -> list[str]:
    """Vector j of the result holds element j of every row. A power of two of rows, each with as many elements."""
    lanes = len(rows)
    block = min(BLOCK_BYTES // SIZES[dtype], lanes)
    made = list(rows)
    width = 1
    while width < block:  # pairs of rows, each block for itself: afterwards a vector holds whole columns of blocks
        made = _interleaved(code, made, dtype, width, block)
        width *= 2
    return _blocks(code, made, dtype, block)


def _interleaved(code: CodeBlock, rows: list[str], dtype: str, width: int, block: int) -> list[str]:
    """Rows of runs of `width` elements, in groups of 2·width: run by run from the two halves of the group."""
    made = list(rows)
    lanes = len(rows)
    for group in range(0, lanes, 2 * width):
        for i in range(width):
            a, b = rows[group + i], rows[group + width + i]
            for half in range(2):
                picks = []
                for start in range(0, lanes, block):
                    for run in range(block // (2 * width)):
                        at = start + half * block // 2 + run * width
                        picks += [*range(at, at + width), *range(lanes + at, lanes + at + width)]
                made[group + 2 * i + half] = _shuffle(code, a, b, dtype, lanes, picks)
    return made


def _blocks(code: CodeBlock, rows: list[str], dtype: str, block: int) -> list[str]:
    """Row g·block + c holds column c of each block for the rows of group g: blocks change places between groups."""
    lanes = len(rows)
    groups = lanes // block
    found: dict[int, str] = {}
    for c in range(block):
        parts = [rows[g * block + c] for g in range(groups)]
        order = list(range(groups))
        step = 1
        while step < groups:
            parts, order = _exchanged(code, parts, order, dtype, lanes, block, step)
            step *= 2
        found.update({q * block + c: part for q, part in zip(order, parts)})
    return [found[j] for j in range(lanes)]


def _exchanged(
    code: CodeBlock, parts: list[str], order: list[int], dtype: str, lanes: int, block: int, step: int
) -> tuple[list[str], list[int]]:
    """One round: each pair of vectors gives one with the even blocks of both and one with the odd ones."""
    groups = lanes // block
    made, kept = list(parts), list(order)
    for base in range(0, groups, 2 * step):
        for i in range(step):
            a, b = parts[base + i], parts[base + step + i]
            for odd in range(2):
                half = [block * q + e for q in range(odd, groups, 2) for e in range(block)]
                picks = [*half, *(lanes + e for e in half)]
                made[base + odd * step + i] = _shuffle(code, a, b, dtype, lanes, picks)
                kept[base + odd * step + i] = i + odd * step
    return made, kept


def _shuffle(code: CodeBlock, a: str, b: str, dtype: str, lanes: int, picks: Sequence[int]) -> str:
    if a == b == "poison":
        return "poison"
    return code.shuffle(type_of(dtype, lanes), a, b, picks)
