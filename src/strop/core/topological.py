"""The nodes of an acyclic graph in topological order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, TypeVar


class HasInputs(Protocol):
    """A node that names the nodes it reads."""

    @property
    def inputs(self) -> tuple[Any, ...]: ...


N = TypeVar("N", bound=HasInputs)


def topological(roots: Iterable[N]) -> Iterator[N]:
    """Every node that `roots` need, inputs before users, in a fixed order."""
    done: set[N] = set()
    for root in roots:
        stack: list[tuple[N, bool]] = [(root, False)]
        while stack:
            node, expanded = stack.pop()
            if node in done:
                continue
            if expanded:
                done.add(node)
                yield node
            else:
                stack.append((node, True))
                stack.extend((used, False) for used in reversed(node.inputs))
