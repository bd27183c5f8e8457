"""Few elements of a parameter read through its packed copy, so that the parameter itself need not be kept.

A language model reads rows of the table that its last product has packed. `p[n÷by, k, n mod by] = w[n, k]` holds every
element, so `w[<token>, k]` is `p[<token>÷by, k, <token> mod by]`: slower for a nest that reads all of it, but one that
reads few does not notice.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from strop.loops.index import ZERO, Index, IndexMap, Var
from strop.loops.ir import Buffer, Load, Nest, loads
from strop.plan.calls import Call, PlannedStep, rename

FEW = 8  # a nest reads few elements of a parameter if they are less than one in so many


def through_packed(steps: Sequence[PlannedStep], prepare: Sequence[Call]) -> dict[int, Nest]:
    """Steps, by position, that can read a packed copy instead of the parameter that it was made of, as nests that do.
    A parameter that some other step reads as it is stays in any case, and so do its readers."""
    copies = {copy.source.reads[0]: copy.source for copy in prepare if len(copy.source.reads) == 1}
    found: dict[int, Nest] = {}
    for parameter, copy in copies.items():
        places = _places(copy, parameter)
        readers = [i for i, step in enumerate(steps) if parameter in _read(step)]
        if places is None or not readers:
            continue
        nests = {i: found.get(i, step.source) for i in readers if isinstance(step := steps[i], Call)}
        if len(nests) == len(readers) and all(_reads_few(nest, parameter) for nest in nests.values()):
            packed = {parameter: copy.writes[0]}
            found |= {i: rename(nest, packed, places) for i, nest in nests.items()}
    return found


def _read(step: PlannedStep) -> Sequence[Buffer]:
    return step.touched if isinstance(step, Call) else step.inputs


def _reads_few(nest: Nest, parameter: Buffer) -> bool:
    reads = {load for store in nest.stores for load in loads(store) if load.buffer == parameter}
    return all(prod(var.extent for var in load.vars) * FEW < parameter.size for load in reads)


def _places(copy: Nest, parameter: Buffer) -> IndexMap | None:
    """Where a packed copy holds each element of the parameter; None where it is no copy of all elements.

    Each index of the parameter must be a number in mixed radix, `128·block + lane`, whose digits are loop variables.
    """
    if parameter.space != "param" or len(copy.stores) != 1:
        return None
    (store,) = copy.stores
    read = store.value
    if not isinstance(read, Load) or read.buffer != parameter:
        return None
    if store.target.space != "packed" or store.target.dtype != parameter.dtype or store.guards:
        return None
    digits: dict[Var, tuple[int, int]] = {}  # which index of the parameter a variable is a digit of, and its weight
    for position, (index, extent) in enumerate(zip(read.index, parameter.shape)):
        weight = 1
        for atom, factor in sorted(index.terms, key=lambda term: term[1]):
            if not isinstance(atom, Var) or factor != weight or atom in digits:
                return None
            digits[atom] = position, weight
            weight *= atom.extent
        if index.const or weight < extent:
            return None
    if any((guard.index, guard.extent) not in zip(read.index, parameter.shape) for guard in read.guards):
        return None  # more is left out than what lies past the parameter's end
    variables = [_variable(index) for index in store.index]
    if any(index.terms and (var is None or var not in digits) for index, var in zip(store.index, variables)):
        return None
    if {var for var in variables if var is not None} != set(digits):
        return None

    def places(index: tuple[Index, ...]) -> tuple[Index, ...]:
        found = []
        for var in variables:
            if var is None:
                found.append(ZERO)
                continue
            position, weight = digits[var]
            part = index[position] // weight
            whole = weight * var.extent >= parameter.shape[position]
            found.append(part if whole else part % var.extent)
        return tuple(found)

    return places


def _variable(index: Index) -> Var | None:
    """The loop variable that an index is, if it is just that."""
    (atom, factor), *rest = index.terms or ((None, 0),)
    return atom if isinstance(atom, Var) and factor == 1 and not rest and not index.const else None
