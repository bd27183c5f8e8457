"""Few elements of a parameter read through its packed copy, so that the parameter itself need not be kept.

A language model reads rows of the table that its last product has packed. `p[n÷by, k, n mod by] = w[n, k]` holds every
element, so `w[<token>, k]` is `p[<token>÷by, k, <token> mod by]`: slower for a nest that reads all of it, but one that
reads few does not notice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from strop.core.passes import Pass, Verdict, no, yes
from strop.loops.calls import Call, PlannedStep
from strop.loops.index import ZERO, Index, IndexMap, Var
from strop.loops.ir import Buffer, Load, Nest, loads
from strop.loops.rewriting import rename

FEW = 8  # a nest reads few elements of a parameter if they are less than one in so many


@dataclass(frozen=True)
class ReadPacked(Pass):
    """… w[n, k] …   →   … p[n÷by, k, n mod by] …     (p is the copy of w that another nest has packed)

    The first pass of a schedule: what follows is done to the nest that reads the copy. Which copies there are is known
    when all other nests have their schedules.
    """

    nest: str

    def check(self, ir: Nest) -> Verdict:
        read = any(buffer.space in ("param", "packed") for buffer in ir.reads)
        return yes() if read else no("it reads no parameter", ir.name)

    def apply(self, ir: Nest) -> Nest:
        return ir


def worth_reading_packed(steps: Sequence[PlannedStep], prepare: Sequence[Call]) -> list[Call]:
    """Calls that read few elements of a parameter of which there is a packed copy. A parameter that some other step
    reads as it is stays in any case, and so do its readers."""
    found: set[str] = set()
    for parameter in _copied(prepare):
        readers = [step for step in steps if parameter in _read(step)]
        calls = [step for step in readers if isinstance(step, Call)]
        if len(calls) == len(readers) and all(_reads_few(call.source, parameter) for call in calls):
            found.update(call.name for call in calls)
    return [step for step in steps if isinstance(step, Call) and step.name in found]


def reading_packed(nest: Nest, prepare: Sequence[Call]) -> Nest:
    """The nest over packed copies in the place of the parameters that they were made of."""
    for parameter, (copy, places) in _copied(prepare).items():
        if parameter in nest.reads:
            nest = rename(nest, {parameter: copy.writes[0]}, places)
    return nest


def _copied(prepare: Sequence[Call]) -> dict[Buffer, tuple[Nest, IndexMap]]:
    """Parameters of which there is a packed copy of all elements, and where each lies in it."""
    copies = {copy.source.reads[0]: copy.source for copy in prepare if len(copy.source.reads) == 1}
    found = {parameter: (copy, _places(copy, parameter)) for parameter, copy in copies.items()}
    return {parameter: (copy, places) for parameter, (copy, places) in found.items() if places is not None}


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
