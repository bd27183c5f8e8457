"""Nests over other buffers, and expressions with other reads in their places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count

from strop.core.values import changed
from strop.loops.index import Index, IndexMap, Indirect, Quotient, Remainder, index_of, indirect
from strop.loops.ir import Apply, Buffer, Expr, Guard, Load, Nest, Number, Store


def replace_loads(expr: Expr, change: Callable[[Load], Expr]) -> Expr:
    """The expression with every load replaced (loads inside data-dependent indices too)."""
    if isinstance(expr, Load):
        if expr.is_indirect:
            index = tuple(_replace_in_index(i, change) for i in expr.index)
            guards = tuple(Guard(_replace_in_index(g.index, change), g.extent) for g in expr.guards)
            return change(changed(expr, index=index, guards=guards))
        return change(expr)
    if isinstance(expr, Apply):
        args = tuple(replace_loads(a, change) for a in expr.args)
        return expr if all(a is b for a, b in zip(args, expr.args)) else Apply(expr.op, args, expr.dtype)
    if isinstance(expr, Number) and expr.index.is_data:
        return Number(_replace_in_index(expr.index, change), expr.dtype)
    return expr


def _replace_in_index(index: Index, change: Callable[[Load], Expr]) -> Index:
    if not index.is_data:
        return index
    result = Index(const=index.const)
    for atom, factor in index.terms:
        if isinstance(atom, Indirect):
            part = indirect(replace_loads(atom.value, change), atom.extent, sure=atom.sure)
        elif isinstance(atom, Quotient):
            part = _replace_in_index(atom.of, change) // atom.by
        elif isinstance(atom, Remainder):
            part = _replace_in_index(atom.of, change) % atom.by
        else:
            part = index_of(atom)
        result = result + part * factor
    return result


def rename(
    nest: Nest, new: Mapping[Buffer, Buffer], move: IndexMap = lambda index: index, *, number: bool = False
) -> Nest:
    """The nest over other buffers, where elements lie in the places that `move` tells. With `number`, its statements
    are numbered, and say no more which nodes they compute."""
    if not number and not any(b in new for b in (*nest.reads, *nest.writes)):
        return nest
    numbers = count()

    def read(load: Load) -> Load:
        return changed(load, buffer=new[load.buffer], index=move(load.index)) if load.buffer in new else load

    def change(store: Store) -> Store:
        index = Load(store.target, store.index)
        moved = replace_loads(index, read)
        assert isinstance(moved, Load)
        value = replace_loads(store.value, read)
        if number:
            store = changed(store, nodes=(), number=next(numbers))
        elif moved is index and value is store.value:
            return store
        return changed(store, target=moved.buffer, index=moved.index, value=value)

    return nest.map_stores(change)
