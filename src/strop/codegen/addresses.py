"""Where elements lie: a pointer for the loop variables plus a constant, so that unrolled code shares one register and
uses the displacement of the instruction.

Some buffers have a separate pointer for every vector of a tile. LLVM then cannot merge the loads of an
element into one: each becomes the memory operand of the instruction that uses it, which takes no issue slot of its own.
"""

from __future__ import annotations

from dataclasses import replace

from strop.codegen.builder import MEMORY
from strop.codegen.frame import Frame
from strop.core.dtypes import SIZES
from strop.loops.index import Index
from strop.loops.ir import Buffer

OWN = "~"


class Addresses:
    """The pointers of one function."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.pointers: dict[Buffer, str] = {}
        self.apart: frozenset[Buffer] = frozenset()
        self.origins: dict[Buffer, Buffer] = {}

    def pointer(self, buffer: Buffer, offset: Index) -> str:
        """The address of a settled offset without its constant part, plus that constant."""
        frame = self.frame
        base = self._moving(buffer, Index(offset.terms))
        if not offset.const:
            return base
        key = ("gep", base, offset.const, SIZES[buffer.dtype])
        found = frame.find(key)
        if found is None:
            found = frame.code.let(f"getelementptr {MEMORY[buffer.dtype]}, ptr {base}, i64 {offset.const}")
            frame.keep(key, found)
        return found

    def _moving(self, buffer: Buffer, terms: Index) -> str:
        """The pointer for the variable part: one step per loop depth, each where it changes least often."""
        frame = self.frame
        if terms.is_const:
            return self.pointers[buffer]
        key = ("ptr", buffer, terms)
        found = frame.find(key)
        if found is not None:
            return found
        depth = frame.depth_of(terms)
        inner = Index(tuple(t for t in terms.terms if frame.depth_of(Index((t,))) == depth))
        outer = Index(tuple(t for t in terms.terms if frame.depth_of(Index((t,))) != depth))
        base = self._moving(buffer, outer)
        with frame.at(depth):
            step = frame.scalar(inner)
            made = frame.code.let(f"getelementptr inbounds {MEMORY[buffer.dtype]}, ptr {base}, i64 {step}")
            frame.keep(key, made)
        return made

    def own(self, buffer: Buffer) -> Buffer:
        """The buffer under the pointer that the current vector has for it. LLVM does not know that both pointers are
        equal."""
        chunk = self.frame.chunk
        if buffer not in self.apart or chunk is None or not chunk.first:
            return buffer
        found = replace(buffer, name=f"{buffer.name}{OWN}{chunk.first}")
        if found not in self.pointers:
            with self.frame.at(0):
                self.pointers[found] = self.frame.code.let(f'call ptr asm "", "=r,0"(ptr {self.pointers[buffer]})')
            self.origins[found] = buffer
        return found

    def origin(self, buffer: Buffer) -> Buffer:
        return self.origins.get(buffer, buffer)
