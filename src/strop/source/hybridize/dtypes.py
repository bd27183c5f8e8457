"""Arrays that meet tensors of another dtype: eager mode converts them there, a graph has converted them before.

A Python number, list or NumPy array that an operation takes beside a tensor becomes a tensor of that one's dtype. As an
argument of a `tf.function` an array becomes a tensor of its own dtype, before any operation sees it, and operations
refuse tensors of two dtypes. A Python number before a tensor is made a tensor first in a graph, of a dtype that only
depends on itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from strop.source.facts import Place, Reason
from strop.source.hybridize.parameters import own_parameters
from strop.source.hybridize.syntax import node_at
from strop.source.interpret.events import Call
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import Const, Primitive, Tensor, Tuple, Value
from strop.source.project.declarations import Code
from strop.source.rules import declare

DTYPES = declare(
    "STR144",
    "conflicting-dtypes",
    """A parameter meets an operand of another dtype than its own.

    A Python number, list or NumPy array is converted anew at every operation in eager mode, to the dtype of the tensor
    that it meets. As an argument of a `tf.function` it is converted once, an array to its own dtype (float64 unless it
    says otherwise), and the operation then fails. Convert it explicitly with `tf.cast`.
    """,
)


def conflicts(program: Program, id: str) -> Iterator[Reason]:
    """Parameters that are not tensors yet and meet tensors of other dtypes in one operation."""
    code = program.code(id)
    coerced = {
        name: facts.value
        for name, facts in own_parameters(program, id).items()
        if any(not isinstance(atom, Tensor) or atom.kind == "array" for atom in facts.value.atoms)
        and not facts.value.is_unknown()
    }
    met: dict[str, dict[str, Place]] = {}
    for name, partners, place in _operands(program, code, set(coerced)) if coerced else ():
        for tensor in (tensor for partner in partners for tensor in partner.tensors()):
            if tensor.dtype is not None:
                met.setdefault(name, {}).setdefault(tensor.dtype, place)
    for name, dtypes in met.items():
        own = {array.dtype for array in coerced[name].arrays() if array.dtype is not None}
        foreign = sorted(set(dtypes) - own)
        if len(dtypes) > 1:
            first, second = sorted(dtypes)[:2]
            yield Reason(DTYPES, f"`{name}` meets both {first} and {second}", max(dtypes.values()))
        elif own and foreign:
            message = f"`{name}` is an array of {min(own)} and meets {foreign[0]}, which fails once it is a tensor"
            yield Reason(DTYPES, message, dtypes[foreign[0]])


#: what a Python number is in a graph where no tensor before it says otherwise
_OF_NUMBERS = {"float": "float32", "int": "int32"}
_BRANCHING = ("tensorflow.cond", "tensorflow.case", "tensorflow.switch_case")


def of_a_graph(program: Program, event: Call) -> Iterator[str]:
    """What must hold of dtypes in one call: eager mode asks all operands for theirs, and runs one branch only."""
    for target in event.targets:
        api = program.apis.find(target)
        first = api.extra.get("first_decides") if api is not None else None
        if first is not None:
            yield from _number_first(target, event, event.args[first:])
        elif target in _BRANCHING and any(len(dtypes) > 1 for dtypes in _dtypes(event.result)):
            yield f"all functions of `{target}` at {event.place} give tensors of one dtype: a graph has all of them"


def _number_first(target: str, event: Call, given: tuple[Value, ...]) -> Iterator[str]:
    operands = given or [value for name, value in event.kwargs if name in ("x", "y")]
    if len(operands) < 2:
        return
    kinds = {
        atom.type for atom in operands[0].atoms if isinstance(atom, (Const, Primitive)) and atom.type in _OF_NUMBERS
    }
    for kind in sorted(kinds):
        if any(tensor.dtype != _OF_NUMBERS[kind] for tensor in operands[1].tensors()):
            yield (
                f"the tensor after the number in `{target}` at {event.place} is of {_OF_NUMBERS[kind]}: a graph makes "
                "one of the number first"
            )


def _dtypes(value: Value) -> Iterator[set[str | None]]:
    """The dtypes that a result may have; of several results, of each."""
    yield {tensor.dtype for tensor in value.tensors()}
    for atom in value.atoms:
        if isinstance(atom, Tuple):
            for item in atom.items:
                yield {tensor.dtype for tensor in item.tensors()}


def _operands(program: Program, code: Code, names: set[str]) -> Iterator[tuple[str, list[Value], Place]]:
    """Where one of `names` is an operand and no tensor yet, and the other operands of that operation."""
    for event in program.events(code.id):
        if not isinstance(event, Call):
            continue
        node = node_at(program, code, event.place)
        if isinstance(node, ast.BinOp):
            written = [node.left, node.right]
        elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
            written = [node.left, node.comparators[0]]
        elif isinstance(node, ast.Call) and _wants_one_dtype(program, event):
            written = [*node.args, *(k.value for k in sorted(node.keywords, key=lambda k: k.arg or ""))]
        else:
            continue
        values = [*event.args, *(value for _, value in event.kwargs)]
        if not isinstance(node, ast.Call):
            values = [event.receiver, *values] if event.receiver is not None else []
        if len(values) != len(written):
            continue
        for at, side in enumerate(written):
            if isinstance(side, ast.Name) and side.id in names and not values[at].only_tensors():
                yield side.id, [value for other, value in enumerate(values) if other != at], event.place


def _wants_one_dtype(program: Program, event: Call) -> bool:
    found = [program.apis.find(target) for target in event.targets]
    return bool(found) and all(api is not None and api.extra.get("one_dtype") for api in found)
