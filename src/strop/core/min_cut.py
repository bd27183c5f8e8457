"""The minimum cut of a directed graph with capacities, by Dinic's maximum flow."""

from __future__ import annotations

from collections import deque

INFINITE = float("inf")


class FlowNetwork:
    """Nodes are numbers; `add` makes an edge. `cut` may be called once."""

    def __init__(self) -> None:
        self._edges: list[list[int]] = []  # by node: its edges' numbers; edge e and its reverse e ^ 1
        self._to: list[int] = []
        self._room: list[float] = []

    def node(self) -> int:
        self._edges.append([])
        return len(self._edges) - 1

    def add(self, a: int, b: int, capacity: float) -> None:
        for start, end, room in ((a, b, capacity), (b, a, 0.0)):
            self._edges[start].append(len(self._to))
            self._to.append(end)
            self._room.append(room)

    def cut(self, source: int, sink: int) -> list[bool]:
        """For each node, whether it is on the source's side of a minimum cut; the side is the smallest of those."""
        while True:
            level = self._levels(source)
            if level[sink] < 0:
                return [found >= 0 for found in level]
            first = [0] * len(self._edges)
            while self._augment(source, sink, level, first):
                pass

    def _levels(self, source: int) -> list[int]:
        level = [-1] * len(self._edges)
        level[source] = 0
        queue = deque((source,))
        while queue:
            node = queue.popleft()
            for edge in self._edges[node]:
                if self._room[edge] > 0 and level[self._to[edge]] < 0:
                    level[self._to[edge]] = level[node] + 1
                    queue.append(self._to[edge])
        return level

    def _augment(self, source: int, sink: int, level: list[int], first: list[int]) -> bool:
        """Push as much as one path along the levels takes; `first` skips edges that lead nowhere any more."""
        path: list[int] = []
        node = source
        while node != sink:
            edges = self._edges[node]
            while first[node] < len(edges):
                edge = edges[first[node]]
                if self._room[edge] > 0 and level[self._to[edge]] == level[node] + 1:
                    break
                first[node] += 1
            else:
                if not path:
                    return False
                back = path.pop()
                node = self._to[back ^ 1]
                first[node] += 1
                continue
            path.append(edge)
            node = self._to[edge]
        pushed = min(self._room[edge] for edge in path)
        if pushed == INFINITE:
            raise ValueError("a path of infinite capacity leads from the source to the sink")
        for edge in path:
            self._room[edge] -= pushed
            self._room[edge ^ 1] += pushed
        return True
