"""The function being written: its scopes, what its loop variables are bound to, and values that may be used again.

Each loop body is a `LoopScope` with two blocks: `hoist`, at its top, takes what depends on this loop and outer ones
only (addresses, values of read-only data), `code` takes the rest in order. So invariant work leaves inner loops as it
is emitted, and no optimisation pass is needed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from strop.codegen.builder import CodeBlock, Names
from strop.loops.index import Index, Indirect, Quotient, Remainder, Var
from strop.loops.ir import Buffer


@dataclass
class LoopScope:
    """One loop body (or the function's)."""

    depth: int
    hoist: CodeBlock
    code: CodeBlock
    values: dict[int, str] = field(default_factory=dict)  # emitted in `code`, by the numbers of their keys
    hoisted: dict[int, str] = field(default_factory=dict)  # emitted in `hoist`
    held: int = 0  # values kept in registers from `hoist`


class Chunk(NamedTuple):
    """The part of a vector loop that one instruction covers: lanes first … first+width-1 of `var`."""

    var: Var
    first: int
    lanes: int
    active: int

    @property
    def partial(self) -> bool:
        return self.active < self.lanes


@dataclass(frozen=True)
class Expanded:
    """An unrolled loop that is being written out: how often it runs, and the scope that it is in."""

    extent: int
    depth: int


class Frame:
    """Names, scopes and bindings of one LLVM function."""

    def __init__(self, fused: bool = True) -> None:
        self.names = Names(fused)
        self.blocks: list[CodeBlock] = []
        self.scopes: list[LoopScope] = []
        self.bound: dict[Var, int | str] = {}
        self.home: dict[Var, int] = {}
        self.chunk: Chunk | None = None
        self.unrolled: dict[Var, Expanded] = {}
        self.label = "entry"
        self.strip = 0  # the scope of the strip loop around, outside of which its rows may not be there
        self.globals: dict[str, str] = {}
        self._numbers: dict[Hashable, int] = {}

    # ---- blocks and scopes ----

    def new_block(self) -> CodeBlock:
        block = CodeBlock(self.names)
        self.blocks.append(block)
        return block

    def open_scope(self) -> LoopScope:
        scope = LoopScope(len(self.scopes), self.new_block(), self.new_block())
        self.scopes.append(scope)
        return scope

    def close_scope(self) -> None:
        self.scopes.pop()
        self.scopes[-1].code = self.new_block()

    @property
    def scope(self) -> LoopScope:
        return self.scopes[-1]

    @property
    def code(self) -> CodeBlock:
        return self.scope.code

    @contextmanager
    def at(self, depth: int) -> Iterator[None]:
        """Emit into the top of an outer scope for a while."""
        if depth >= len(self.scopes) - 1:
            yield
            return
        inner = self.scopes[depth + 1 :]
        del self.scopes[depth + 1 :]
        outer = self.scopes[depth]
        code, values = outer.code, outer.values
        outer.code, outer.values = outer.hoist, outer.hoisted
        try:
            yield
        finally:
            outer.code, outer.values = code, values
            self.scopes.extend(inner)

    def find(self, key: Hashable) -> str | None:
        """A value emitted before under this key, in this scope or one around it."""
        number = self._numbers.get(key)  # keys are long: they are looked at once, and not in every scope
        if number is None:
            return None
        for scope in reversed(self.scopes):
            found = scope.values.get(number) or scope.hoisted.get(number)
            if found is not None:
                return found
        return None

    def number(self, key: Hashable) -> int:
        """What stands for a key in scopes."""
        return self._numbers.setdefault(key, len(self._numbers))

    def keep(self, key: Hashable, value: str) -> str:
        """A value that was emitted in this scope, under a key to find it by."""
        self.scope.values[self.number(key)] = value
        return value

    def once(self, key: Hashable, make: Callable[[], str]) -> str:
        """A value that is emitted once in this scope and those inside."""
        found = self.find(key)
        if found is None:
            found = self.keep(key, make())
        return found

    # ---- indices ----

    def depth_of(self, index: Index) -> int:
        """The innermost scope that an index depends on."""
        deepest = 0
        for var in index.vars:
            if type(self.bound.get(var)) is str:
                deepest = max(deepest, self.home.get(var, 0))
        return deepest

    def settle(self, index: Index) -> Index:
        """The index with every unrolled variable replaced by its number (the vector variable by its first lane)."""
        return index.bind(self.bound) if index.terms else index

    def scalar(self, index: Index) -> str:
        """The value of a settled index as an i64."""
        if index.is_const:
            return str(index.const)
        key = ("index", index)
        found = self.find(key)
        if found is not None:
            return found
        with self.at(self.depth_of(index)):
            total = None
            for atom, factor in index.terms:
                part = self._atom(atom)
                if factor != 1:
                    part = self.code.let(f"mul nsw i64 {part}, {factor}")
                total = part if total is None else self.code.let(f"add nsw i64 {total}, {part}")
            assert total is not None
            if index.const:
                total = self.code.let(f"add nsw i64 {total}, {index.const}")
            self.keep(key, total)
        return total

    def _atom(self, atom: Var | Quotient | Remainder | Indirect) -> str:
        if isinstance(atom, Var):
            value = self.bound[atom]
            return str(value)
        if isinstance(atom, Indirect):
            raise AssertionError("data-dependent atoms are bound before their index is used")
        value = self.scalar(atom.of)
        low, _ = atom.of.bounds
        if isinstance(atom, Quotient):
            if low >= 0:
                return self.code.let(f"udiv i64 {value}, {atom.by}")
            return self._floor_divide(value, atom.by)
        if low >= 0:
            return self.code.let(f"urem i64 {value}, {atom.by}")
        quotient = self._floor_divide(value, atom.by)
        product = self.code.let(f"mul nsw i64 {quotient}, {atom.by}")
        return self.code.let(f"sub nsw i64 {value}, {product}")

    def _floor_divide(self, value: str, by: int) -> str:
        quotient = self.code.let(f"sdiv i64 {value}, {by}")
        rest = self.code.let(f"srem i64 {value}, {by}")
        negative = self.code.let(f"icmp slt i64 {rest}, 0")
        return self.code.let(f"add i64 {quotient}, {self.code.let(f'sext i1 {negative} to i64')}")


@dataclass
class Storage:
    """Where a buffer's memory is inside the function: an argument, a stack slot or a thread's scratch."""

    buffer: Buffer
    pointer: str
