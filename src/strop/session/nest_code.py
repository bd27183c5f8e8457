"""A nest beside its machine code, and the links between lines of Python, nodes, nests, statements and instructions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from strop.core.problem import Problem
from strop.cost import instructions
from strop.cost.simulate import passes
from strop.driver import pipeline
from strop.graph.ir import Origin
from strop.loops.calls import Call
from strop.loops.ir import Nest
from strop.loops.lowered import LibraryCall
from strop.loops.text import nest_lines
from strop.schedule.program import as_nest
from strop.session.provenance import Provenance
from strop.session.views import Instruction, Links, NestCode, Statement
from strop.target.description import Target

StatementRef = tuple[str, int]  # a nest, and a number among its statements


class NestCodes:
    """The code of a program's nests, made when it is first looked at; alike nests are compiled once."""

    def __init__(self, links: Provenance, target: Target) -> None:
        self.links, self.target = links, target
        self._read = instructions.aarch64 if target.triple.startswith("aarch64") else instructions.x86
        self._made: dict[str, NestCode] = {}
        self._alike: dict[Nest, tuple[Instruction, ...]] = {}

    def code(self, name: str) -> NestCode:
        if name not in self._made:
            call = self.links.call(name)
            if isinstance(call, LibraryCall):
                raise Problem("STR304", f"`{name}` calls {call.target}: its code is torch's", help=call.why)
            text = tuple((line, store.number if store else None) for line, store in nest_lines(as_nest(call)))
            self._made[name] = NestCode(name, text, self.statements(call), self._instructions(call))
        return self._made[name]

    def statements(self, call: Call) -> tuple[Statement, ...]:
        source = call.source
        return tuple(
            Statement(call.name, i, str(store), self.links.lines(store, source))
            for i, store in enumerate(source.stores)
        )

    def _instructions(self, call: Call) -> tuple[Instruction, ...]:
        if call.nest not in self._alike:
            self._alike[call.nest] = tuple(self._read_instructions(call))
        return tuple(replace(one, nest=call.name) for one in self._alike[call.nest])

    def _read_instructions(self, call: Call) -> Iterable[Instruction]:
        for i, one in enumerate(pipeline.located_assembly(call.nest, self.target)):
            operation = self._read(one.text)
            used: dict[str, float] = {}
            for kind, _, cycles in passes(operation, self.target.ports) if operation is not None else ():
                used[kind] = used.get(kind, 0.0) + cycles
            yield Instruction(call.name, i, one.text, one.statement, used, one.label)

    # ---- links ----

    def at_line(self, line: str) -> Links:
        """Everything that came from a line of Python: `net.py:9`, or with as much of the path as tells it apart."""
        found = re.fullmatch(r"(.+):(\d+)", line)
        if found is None:
            raise Problem("STR001", f"a line is written `net.py:9`, got `{line:.60}`")
        file, number = found[1], int(found[2])

        def is_it(origin: Origin) -> bool:
            return origin.line == number and (origin.file == file or origin.file.endswith(f"/{file}"))

        nodes = tuple(name for name, node in self.links.nodes.items() if any(map(is_it, node.origins)))
        some = [
            (call.name, one.index)
            for call in self._calls()
            for one in self.statements(call)
            if any(map(is_it, one.origins))
        ]
        library = [c.name for c in self.links.calls.values() if isinstance(c, LibraryCall) and c.name in nodes]
        lines = tuple(dict.fromkeys(o for n in nodes for o in self.links.nodes[n].origins if is_it(o)))
        return self._linked(some, nodes=nodes, lines=lines, nests=library)

    def at_node(self, name: str) -> Links:
        node = self.links.nodes.get(name)
        if node is None:
            raise Problem("STR304", f"there is no node `{name}`", help="print(session.graph) shows all of them")
        some = [
            (call.name, i)
            for call in self._calls()
            for i, store in enumerate(call.source.stores)
            if name in self.links.computed(store)
        ]
        return self._linked(some, nodes=(name,), lines=node.origins, nests=self.links.computing.get(name, ()))

    def at_nest(self, name: str) -> Links:
        call = self.links.call(name)
        if isinstance(call, LibraryCall):
            return Links(call.node.origins, (call.name,), (name,), (), ())
        return self._linked([(name, i) for i in range(len(call.source.stores))])

    def at_statement(self, nest: str, index: int) -> Links:
        code = self.code(nest)
        if not 0 <= index < len(code.statements):
            raise Problem("STR304", f"`{nest}` has {len(code.statements)} statements, there is no {index}")
        return self._linked([(nest, index)])

    def at_instruction(self, nest: str, index: int) -> Links:
        code = self.code(nest)
        if not 0 <= index < len(code.instructions):
            raise Problem("STR304", f"`{nest}` has {len(code.instructions)} instructions, there is no {index}")
        statement = code.instructions[index].statement
        linked = self._linked([(nest, statement)] if statement is not None else [], nests=(nest,))
        return Links(linked.lines, linked.nodes, linked.nests, linked.statements, ((nest, index),))

    def _calls(self) -> list[Call]:
        return [call for call in self.links.calls.values() if isinstance(call, Call)]

    def _linked(
        self,
        statements: list[StatementRef],
        *,
        nodes: Iterable[str] = (),
        lines: Iterable[Origin] = (),
        nests: Iterable[str] = (),
    ) -> Links:
        wanted, found_nodes, found_lines = set(statements), list(nodes), list(lines)
        for name, index in statements:
            call = self.links.call(name)
            assert isinstance(call, Call)
            store = call.source.stores[index]
            if not nodes:
                found_nodes += self.links.computed(store)
            if not lines:
                found_lines += self.links.lines(store, call.source)
        names = tuple(dict.fromkeys((*(name for name, _ in statements), *nests)))
        told = [
            (name, one.index)
            for name in dict.fromkeys(name for name, _ in statements)
            for one in self.code(name).instructions
            if (name, one.statement) in wanted
        ]
        return Links(
            tuple(dict.fromkeys(found_lines)), tuple(dict.fromkeys(found_nodes)), names, tuple(statements), tuple(told)
        )
