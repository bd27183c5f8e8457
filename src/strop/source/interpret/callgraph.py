"""Who may call whom, per context: reachability and recursion, computed once after the fixed point.

Nodes of one strongly connected component reach the same; a component's reach is one integer used as a bit set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strop.source.facts import Place
from strop.source.interpret.heap import FunctionContext
from strop.source.project.declarations import Code, Module

if TYPE_CHECKING:
    from strop.source.interpret.interpreter import Program


class CallGraph:
    """`inside(a, b)`: may `b` run during a call of `a`?"""

    def __init__(self, program: Program) -> None:
        self.nodes: list[FunctionContext] = [node for code in program.codes() for node in code.nodes.values()]
        known = set(self.nodes)
        for node in self.nodes:
            for _, callee in node.callees:
                if callee not in known:
                    known.add(callee)
                    self.nodes.append(callee)
        self.index = {node: i for i, node in enumerate(self.nodes)}
        self.next = [list(dict.fromkeys(self.index[callee] for _, callee in node.callees)) for node in self.nodes]
        self.component = [0] * len(self.nodes)
        self.reach: list[int] = []
        self._reached: dict[tuple[Module, Code | None], int] = {}
        self.cyclic: list[bool] = []
        self.order: list[list[int]] = []  #: components, callees first
        self._components()

    def inside(self, node: FunctionContext, other: FunctionContext) -> bool:
        """Whether `other` is `node` or something that it calls, directly or not."""
        i, j = self.index.get(node), self.index.get(other)
        return i is not None and j is not None and bool(self.reach[self.component[i]] >> j & 1)

    def reached_from_module(self, module: Module, but: Code | None = None) -> int:
        """The set of nodes that a module's own code and its functions reach, themselves included, but for one of
        them."""
        found = self._reached.get((module, but))
        if found is None:
            found = 0
            for code in (module.code, *module.functions):
                for node in code.nodes.values() if code is not but else ():
                    if node in self.index:
                        found |= self.reach[self.component[self.index[node]]]
            self._reached[module, but] = found
        return found

    def is_recursive(self, code: Code) -> bool:
        """Whether a call of a function may call the same function again, in whatever context."""
        mine = 0
        for node in code.nodes.values():
            mine |= 1 << self.index[node]
        for node in code.nodes.values():
            i = self.index[node]
            if self.cyclic[self.component[i]]:
                return True
            if any(self.reach[self.component[j]] & mine for j in self.next[i]):
                return True
        return False

    def chains(self, code: Code) -> dict[FunctionContext, tuple[Place, ...]]:
        """Everything that a function reaches, each with the shortest chain of calls that leads there."""
        found: dict[FunctionContext, tuple[Place, ...]] = dict.fromkeys(code.nodes.values(), ())
        queue = list(found)
        for node in queue:
            for at, callee in node.callees:
                if callee not in found:
                    found[callee] = (*found[node], node.code.place(at))
                    queue.append(callee)
        return found

    def _components(self) -> None:
        """Tarjan's algorithm without recursion."""
        count = len(self.nodes)
        number, low = [-1] * count, [0] * count
        on_stack = [False] * count
        stack: list[int] = []
        counter = 0
        for root in range(count):
            if number[root] >= 0:
                continue
            work = [(root, 0)]
            while work:
                v, position = work.pop()
                if position == 0:
                    number[v] = low[v] = counter
                    counter += 1
                    stack.append(v)
                    on_stack[v] = True
                descended = False
                successors = self.next[v]
                while position < len(successors):
                    w = successors[position]
                    position += 1
                    if number[w] < 0:
                        work += [(v, position), (w, 0)]
                        descended = True
                        break
                    if on_stack[w]:
                        low[v] = min(low[v], number[w])
                if descended:
                    continue
                if low[v] == number[v]:
                    self._close(v, stack, on_stack)
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[v])

    def _close(self, v: int, stack: list[int], on_stack: list[bool]) -> None:
        members = []
        while True:
            w = stack.pop()
            on_stack[w] = False
            self.component[w] = len(self.order)
            members.append(w)
            if w == v:
                break
        here = len(self.order)
        bits = 0
        for w in members:
            bits |= 1 << w
        cyclic = len(members) > 1
        for w in members:
            for successor in self.next[w]:
                if self.component[successor] != here:
                    bits |= self.reach[self.component[successor]]
                else:
                    cyclic = True
        self.order.append(members)
        self.reach.append(bits)
        self.cyclic.append(cyclic)
