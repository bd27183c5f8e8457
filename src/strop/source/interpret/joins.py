"""Joins: the value that may be either of two, widened so that a loop's values settle.

Sets of atoms grow only finitely often: many constants become their type, many tensors of one kind one tensor, tuples of
one length are joined item by item, and several reasons for not knowing something become one.
"""

from __future__ import annotations

from collections.abc import Iterable

from strop.source.interpret.values import (
    NOTHING,
    SERIAL,
    Atom,
    Const,
    Primitive,
    Tensor,
    Tuple,
    Unknown,
    Value,
    intern_atom,
    intern_value,
    joined_values,
    primitive,
    tuple_of,
    unknown,
)

MAX_ATOMS = 16
#: as many layers of an `nn.Sequential` are told apart. Objects of the project's own classes count as other atoms: each
#: of their methods would be run for each of them, which took four times as long in a package of operator overloads
MAX_INSTANCES = 64
MAX_CONSTANTS = 6
_SEVERAL = "one of several things that nobody knows"


def join(a: Value, b: Value) -> Value:
    """Either of the two; grows only finitely often, since long sets are widened."""
    if a is b or not b.atoms:
        return a
    if not a.atoms:
        return b
    key = (a, b)
    known = joined_values.get(key)
    if known is not None:
        return known
    if b.as_set() <= a.as_set():
        result = a
    else:
        atoms = sorted(a.as_set() | b.as_set(), key=SERIAL)
        result = intern_value(tuple(atoms)) if _is_narrow(atoms) else _widened(atoms)
    joined_values[key] = result
    return result


def grown(old: Value, new: Value) -> Value:
    """The join, for what others read again when it grows: a second reason for not knowing something is no news."""
    joined = join(old, new)
    if joined is old or not old.is_unknown():
        return joined
    if any(not isinstance(atom, Unknown) and atom not in old.as_set() for atom in joined.atoms):
        return joined
    before = all(atom.before for atom in old.atoms if isinstance(atom, Unknown))
    return old if before == all(atom.before for atom in joined.atoms if isinstance(atom, Unknown)) else joined


def join_all(values: Iterable[Value]) -> Value:
    result = NOTHING
    for value in values:
        result = join(result, value)
    return result


def _is_narrow(atoms: list[Atom]) -> bool:
    """Whether a sorted set is small enough in every respect that `_widened` looks at."""
    tuples = constants = tensors = unknowns = instances = 0
    types: set[str] = set()
    primitives: set[str] = set()
    for atom in atoms:
        if atom.is_object:
            instances += atom.is_library_instance()
        elif isinstance(atom, Const):
            constants += atom.constant is not None
            types.add(atom.type)
        elif isinstance(atom, Tensor):
            tensors += 4 if atom.merged else 1
        elif isinstance(atom, Unknown):
            unknowns += 3 if atom.why == _SEVERAL else 1
        elif isinstance(atom, Primitive):
            primitives.add(atom.type)
        elif isinstance(atom, Tuple):
            tuples += 1
    if instances > MAX_INSTANCES or len(atoms) - instances > MAX_ATOMS:
        return False
    if tuples > 1 or constants > MAX_CONSTANTS or tensors > 3 or unknowns > 2:
        return False
    return primitives.isdisjoint(types)


def _widened(atoms: list[Atom]) -> Value:
    tuples = [atom for atom in atoms if isinstance(atom, Tuple)]
    if len(tuples) > 1:
        atoms = _merge_tuples(atoms, tuples)
    constants = [atom for atom in atoms if isinstance(atom, Const) and atom.constant is not None]
    if len(constants) > MAX_CONSTANTS:
        atoms = [a for a in atoms if a not in constants] + [primitive(c.type).atoms[0] for c in constants]
    else:
        kinds = {atom.type for atom in atoms if isinstance(atom, Primitive)}
        if kinds:
            atoms = [a for a in atoms if not (isinstance(a, Const) and a.type in kinds)]
    tensors = [atom for atom in atoms if isinstance(atom, Tensor)]
    if len(tensors) > 3 or any(t.merged for t in tensors):
        groups = [[t for t in tensors if (t.framework, t.kind) == kind] for kind in _kinds(tensors)]
        merged = [_merge_tensors(group) for group in groups]
        atoms = [*(atom for atom in atoms if not isinstance(atom, Tensor)), *merged]
    unknowns = [atom for atom in atoms if isinstance(atom, Unknown)]
    if len(unknowns) > 2 or any(atom.why == _SEVERAL for atom in unknowns):
        before = all(atom.before for atom in unknowns)
        atoms = [a for a in atoms if not isinstance(a, Unknown)] + [unknown(_SEVERAL, before).atoms[0]]
    kept = sorted(set(atoms), key=SERIAL)
    instances = [atom for atom in kept if atom.is_library_instance()]
    others = [atom for atom in kept if not atom.is_library_instance()]
    if len(instances) > MAX_INSTANCES or len(others) > MAX_ATOMS:
        # one word for what is left out, and what joins have merged first: a later join of the same changes nothing
        known = [atom for atom in others if not isinstance(atom, Unknown)]
        known.sort(key=lambda atom: not isinstance(atom, (Tensor, Tuple, Primitive)))
        kept = sorted({*instances[:MAX_INSTANCES], unknown(_SEVERAL).atoms[0], *known[: MAX_ATOMS - 1]}, key=SERIAL)
    return intern_value(tuple(kept))


def _kinds(tensors: list[Tensor]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((t.framework, t.kind) for t in tensors))  # in order: a scan says the same each time


def _merge_tensors(tensors: list[Tensor]) -> Tensor:
    dtypes = {t.dtype for t in tensors}
    shape = merged_shape([t.shape for t in tensors])
    first = tensors[0]
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    key = ("tensor", first.framework, first.kind, dtype, shape, "merged")
    return intern_atom(key, Tensor, first.framework, first.kind, dtype, shape, True)  # type: ignore[no-any-return]


def merged_shape(shapes: list[tuple[int | None, ...] | None]) -> tuple[int | None, ...] | None:
    """The most precise shape that all of these fit; None for different ranks."""
    ranks = {None if shape is None else len(shape) for shape in shapes}
    if len(ranks) != 1 or None in ranks:
        return None
    columns = zip(*[shape for shape in shapes if shape is not None])
    return tuple(column[0] if len(set(column)) == 1 else None for column in columns)


def _merge_tuples(atoms: list[Atom], tuples: list[Tuple]) -> list[Atom]:
    """Tuples of one length are joined item by item, so that a value holds at most one tuple per length."""
    kept: list[Atom] = [atom for atom in atoms if not isinstance(atom, Tuple)]
    for length in sorted({len(t.items) for t in tuples}):
        same = [t for t in tuples if len(t.items) == length]
        columns = zip(*[t.items for t in same])
        items = tuple(join_all(column) for column in columns)
        kept += tuple_of(items).atoms
    return kept


def widen_constants(old: Value, new: Value) -> Value:
    """The join at the head of a loop: constants that change from round to round keep only their type."""
    if old is new or not old.atoms:
        return new
    both = join(old, new)
    if both is old:
        return old
    fresh = [atom for atom in both.atoms if isinstance(atom, Const) and type(atom.constant) in (int, float, str)]
    if len(fresh) < 2:
        return both
    types = [a.type for a in fresh]
    many = {t for t in types if types.count(t) > 1}
    kept = [a for a in both.atoms if not (isinstance(a, Const) and a.type in many)]
    return _widened(kept + [primitive(t).atoms[0] for t in many])
