"""The order in which a small reduction is written out.

A window that slides over a tile of several rows and columns reads each element for many products. In loop order, more
elements are live between two uses than there are registers. In the order of their addresses each element is loaded
once, used for all of its products and then dead, so that only accumulators and weights stay live.

Statements that add products of sums up need more operands each than a product does. Written out statement by statement
and not element by element, a tile holds those of one statement at a time.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from itertools import product

from strop.codegen.expressions import is_product
from strop.loops.index import Var
from strop.loops.ir import Apply, Buffer, Load, Loop, Nest, Store, loads


def by_place(
    nest: Nest, registers: Container[Buffer], lanes: int
) -> tuple[Store, Loop, list[Mapping[Var, int]]] | None:
    """The statement of a nest of loops that are all written out, its vector loop, and its iterations by what they read.

    Every sum adds its products by place, too: in the order of the loops, as long as a window fits its rows.
    """
    loops, store = _single(nest)
    if store is None or store.reduce != "sum" or store.guards or store.target not in registers:
        return None
    vectors = [loop for loop in loops if loop.mode == "vector"]
    written = [loop for loop in loops if loop.mode == "unroll" and loop.extent > 1]
    rows = [loop.var for loop in written if loop.kind == "parallel"]
    steps = [loop.var for loop in written if loop.kind == "reduce"]
    if len(vectors) != 1 or not rows or any(loop.extent > 1 for loop in loops if loop not in (*vectors, *written)):
        return None
    slid = [load for load in loads(store) if all(load.offset.coefficient(var) for var in (*rows, vectors[0].var))]
    if len(slid) != 1 or not steps or any((slid[0].offset.coefficient(var) or 0) <= 0 for var in steps):
        return None
    if len(rows) == 1 and not _along_lines(slid[0], vectors[0].var, rows[0], steps):
        return None
    values = (range(0, loop.extent, lanes) if loop.mode == "vector" else range(loop.extent) for loop in loops)
    found = [dict(zip((loop.var for loop in loops), each)) for each in product(*values)]

    outer = steps[:-1] if len(rows) == 1 else []

    def place(at: Mapping[Var, int]) -> tuple[int, ...]:
        return (*(at[var] for var in outer), slid[0].offset.bind(at).const)

    return store, vectors[0], sorted(found, key=place)


def by_statement(nest: Nest, registers: Container[Buffer]) -> list[Nest] | None:
    """A nest of loops that are all written out, once for each statement, where these are sums in registers and some
    multiply sums. Every sum adds its products in the same order as before."""
    if len(nest.body) < 2 or not any(loop.mode == "vector" for loop in nest.loops):
        return None
    if any(loop.mode not in ("unroll", "vector") and loop.extent > 1 for loop in nest.loops):
        return None
    stores = [item for item in nest.body if isinstance(item, Store) and item.reduce == "sum" and not item.guards]
    if len(stores) < len(nest.body) or any(store.target not in registers for store in stores):
        return None
    return [replace(nest, body=(store,)) for store in stores] if any(map(multiplies_sums, stores)) else None


def multiplies_sums(store: Store) -> bool:
    """Whether a statement adds up (a + b)·(c + d), as products of pairs do."""
    return store.reduce == "sum" and is_product(store.value) and bool(summed_factors(store))


def summed_factors(store: Store) -> list[Apply]:
    """The factors of a product that are sums or differences; a sign does not count."""
    assert isinstance(store.value, Apply)
    return [one for one in store.value.args if isinstance(one, Apply) and one.op in ("add", "sub")]


def _along_lines(load: Load, lane: Var, row: Var, steps: list[Var]) -> bool:
    """Whether vectors lie along the lines of an image whose rows are `row`, and the last step goes from row to row."""
    step, last = load.offset.coefficient(row), load.offset.coefficient(steps[-1])
    return load.offset.coefficient(lane) == 1 and last is not None and step is not None and step % last == 0 != last


def _single(nest: Nest) -> tuple[list[Loop], Store | None]:
    """The loops around the only statement of a nest."""
    loops = list(nest.loops)
    while len(nest.body) == 1 and isinstance(nest.body[0], Nest) and not nest.scratch:
        nest = nest.body[0]
        loops += nest.loops
    only = nest.body[0] if len(nest.body) == 1 and not nest.scratch else None
    return loops, only if isinstance(only, Store) else None
