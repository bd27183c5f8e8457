"""What keeps a function from becoming a `tf.function` although its parameters and side effects would allow it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from strop.source.facts import Place, Reason
from strop.source.hybridize.boundary import refused_result
from strop.source.hybridize.control import raised
from strop.source.hybridize.dtypes import conflicts
from strop.source.hybridize.parameters import holds_array, is_symbolic, own_parameters
from strop.source.hybridize.syntax import node_at
from strop.source.interpret.events import Call, Event, Iteration, Other, Read
from strop.source.interpret.heap import Object
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import Const, Primitive, Unknown
from strop.source.project.declarations import Code
from strop.source.rules import declare

EAGER_ONLY = declare(
    "STR138",
    "eager-only-call",
    """A call that works in eager mode only.

    `.numpy()`, Keras' `fit`, `predict`, `evaluate` and `*_on_batch`, checkpoints and the like need values, and a graph
    has none while it is traced. Move the call out of the function, or use an operation that stays in the graph.
    """,
)
NUMPY = declare(
    "STR139",
    "numpy-on-tensor",
    """A NumPy function or method is applied to a parameter.

    Tensors and arrays that are passed to a `tf.function` are tensors without a value while the graph is traced: NumPy
    raises an error, or computes once and freezes the result. Write the same with `tf.` functions
    (`tf.experimental.numpy` has most names).
    """,
)
NAME = declare(
    "STR140",
    "name-is-no-string",
    """The `name` of an operation is given something that is not a string.

    Eager mode ignores the `name` of an operation, a graph does not: it raises `TypeError`. It is the last parameter of
    most operations and easily given by position, as in `tf.sqrt(x, tf.float64)`. Pass a string, or nothing.
    """,
)
STALE = declare(
    "STR141",
    "stale-variables",
    """The variables of a model are read before the model has been called.

    Keras makes variables at the first call. A list that is read earlier is empty, and a graph would keep it that way.
    Read `model.trainable_variables` after the model was called.
    """,
)
ITERATION = declare(
    "STR142",
    "iterates-over-tensor",
    """A loop walks over a tensor parameter.

    In a graph this needs AutoGraph, which unrolls or fails depending on the shape. Use `tf.map_fn`, `tf.while_loop` or
    operations on the whole tensor.
    """,
)
RAISE = declare(
    "STR186",
    "raise-under-tensor",
    """A `raise` stands in a branch or loop that a tensor decides on.

    A graph contains both sides of such a branch, so both are traced: the exception is raised while the graph is made,
    whatever the tensor's value is.

    Instead of:  if tf.reduce_any(tf.math.is_nan(x)): raise ValueError("not a number")
    Write:       tf.debugging.assert_all_finite(x, "not a number")
    """,
)
RESULT = declare(
    "STR188",
    "result-is-no-tensor",
    """The function returns something that a graph cannot return.

    A `tf.function` gives back tensors, datasets, numbers and structures of these. For an operation (`tf.group`, an
    assertion, `.op`), an optimizer, a model, a function or an object of a class of your own it raises `TypeError`. A
    method under `tf.custom_gradient` fails likewise, because its object is taken for a tensor.
    """,
)
SYMBOLIC = declare(
    "STR145",
    "keras-symbolic",
    """The function is called with symbolic Keras inputs.

    `keras.Input` gives placeholders that only Keras layers and operations accept; a `tf.function` refuses them. The
    model that is built this way already runs as a graph.
    """,
)


def blockers(program: Program, id: str) -> list[Reason]:
    """Every reason, with places, in the order of the code."""
    found: dict[tuple[str, Place], Reason] = {}
    events = program.events(id)
    blocked = program.reaches(id, "blocked", lambda code: bool(_blocking(program, code)))
    reads = any(isinstance(event, Read) and event.kind == "variables" for event in events)
    reached = program.reached(id) if blocked or reads else []
    for reason in (
        *(replace(r, chain=chain) for other, chain in reached for r in _blocking(program, program.code(other))),
        *_iterations(program, id, events),
        *(_stale(program, id, {other for other, _ in reached}) if reads else ()),
        *conflicts(program, id),
        *_results(program, id),
        *_symbolic(program, id),
    ):
        found.setdefault((reason.code, reason.place), reason)
    return list(found.values())


def _blocking(program: Program, code: Code) -> list[Reason]:
    """Calls that a graph cannot contain, and exceptions that every trace raises; found once for each function."""
    return program.once("blocking", code, lambda: list(_found_blocking(program, code)))


def _found_blocking(program: Program, code: Code) -> Iterator[Reason]:
    events = program.events(code.id)
    arrays: set[str] | None = None
    for event in events:
        if not isinstance(event, Call):
            continue
        for target in event.targets:
            api = program.apis.find(target)
            if api is not None and api.eager:
                yield Reason(EAGER_ONLY, f"`{target}` works in eager mode only", event.place)
            if target.startswith("numpy."):
                if arrays is None:
                    arrays = _array_names(program, code)
                if _takes_tensor(event):
                    yield Reason(NUMPY, f"`{target}` is applied to a tensor", event.place)
                elif arrays and (name := _mentioned(program, code, event, target, arrays)):
                    message = f"`{target}` is applied to `{name}`, an array that a graph would get as a tensor"
                    yield Reason(NUMPY, message, event.place)
            if target.startswith("tensorflow.") and _bad_name(program, target, event):
                yield Reason(NAME, f"the `name` of `{target}` is no string", event.place)
    if any(isinstance(event, Other) and event.kind == "raise" for event in events):
        for place in raised(code, events):
            yield Reason(RAISE, "a tensor decides on this `raise`: it fires in every trace", place)


def _takes_tensor(event: Call) -> bool:
    return any(value.holds_tensor() for value in [*event.args, *(value for _, value in event.kwargs)])


def _array_names(program: Program, code: Code) -> set[str]:
    """Parameters that are NumPy arrays, and variables that are computed from them."""
    if isinstance(code.node, (ast.Module, ast.ClassDef)):
        return set()
    names = {name for name, facts in own_parameters(program, code.id).items() if holds_array(facts.value)}
    grown = bool(names)
    while grown:
        grown = False
        for node in code.own():
            if not isinstance(node, ast.Assign) or not _names(node.value) & names or _converts(node.value):
                continue
            targets = {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
            grown = grown or not targets <= names
            names |= targets
    return names


def _converts(node: ast.expr) -> bool:
    """`x.shape` and `len(x)` of an array are numbers."""
    return isinstance(node, ast.Attribute) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
    )


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _mentioned(program: Program, code: Code, event: Call, target: str, arrays: set[str]) -> str:
    """The array that a NumPy call takes, or whose method it is."""
    node = node_at(program, code, event.place)
    if isinstance(node, ast.BinOp):  # an operator of arrays is one of tensors, too
        return ""
    if not isinstance(node, ast.Call):
        return ""
    parts: list[ast.expr] = [*node.args, *(keyword.value for keyword in node.keywords)]
    if isinstance(node.func, ast.Attribute) and target.startswith("numpy.ndarray."):
        parts.append(node.func.value)
    for part in parts:
        if isinstance(part, ast.Attribute) and part.attr in ("shape", "dtype", "ndim"):
            continue
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Attribute) and part.value.attr == "shape":
            continue
        if found := sorted(_names(part) & arrays):
            return found[0]
    return ""


def _bad_name(program: Program, target: str, event: Call) -> bool:
    """Some call passes something else than text or None for the name of an operation."""
    value = dict(event.kwargs).get("name")
    at = program.apis.name_positions.get(target)
    if value is None and at is not None and at < len(event.args):
        value = event.args[at]
    known = [atom for atom in value.atoms if not isinstance(atom, Unknown)] if value is not None else []
    return any(not (isinstance(a, (Const, Primitive)) and a.type in ("str", "NoneType")) for a in known)


def _iterations(program: Program, id: str, events: list[Event]) -> Iterator[Reason]:
    code = program.code(id)
    names = own_parameters(program, id)
    loops: dict[tuple[int, int], str] = {}
    for node in code.walk():
        over = node.iter if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) else None
        if (
            isinstance(over, ast.Call)
            and isinstance(over.func, ast.Name)
            and over.func.id in ("enumerate", "zip", "reversed")
        ):
            over = next((a for a in over.args if isinstance(a, ast.Name) and a.id in names), None)
        if isinstance(over, ast.Name) and over.id in names:
            loops[over.lineno, over.col_offset] = over.id
    for event in events:
        place = event.place.line, event.place.column
        if isinstance(event, Iteration) and event.over.is_tensor() and place in loops:
            yield Reason(ITERATION, f"a loop walks over the tensor `{loops[place]}`", event.place)
    for (line, column), name in loops.items():
        if names[name].value.is_tensor():
            yield Reason(ITERATION, f"a loop walks over the tensor `{name}`", Place(code.module.file, line, column))


def _stale(program: Program, id: str, inside: set[str]) -> Iterator[Reason]:
    events = program.events(id)
    for event in events:
        if not isinstance(event, Read) or event.kind != "variables" or event.of is None:
            continue
        for model in event.of.objects():
            users = program.users_of(model)
            if model.kind != "instance" or not users or any(user not in inside for user in users):
                continue
            if not _called_before(program, events, model, event.place):
                message = f"`{event.target}` is read before the model is called for the first time"
                yield Reason(STALE, message, event.place)


def _called_before(program: Program, events: list[Event], model: Object, place: Place) -> bool:
    """Whether the model is called before a place, by the function itself or by something that it calls."""
    users = set(program.users_of(model))
    for event in events:
        if not isinstance(event, Call) or not event.place < place:
            continue
        if event.callee is not None and model in event.callee.atoms:
            return True
        if any(other in users for function in event.functions for other, _ in program.reached(function)):
            return True
    return False


def _results(program: Program, id: str) -> Iterator[Reason]:
    code = program.code(id)
    if code.decorated("custom_gradient"):
        if code.receiver() is not None:
            message = "`tf.custom_gradient` makes a tensor of the object of a method, which fails in a graph"
            yield Reason(RESULT, message, code.place())
    elif text := refused_result(program, code):
        yield Reason(RESULT, f"the result holds {text}, which a graph cannot return", code.place())


def _symbolic(program: Program, id: str) -> Iterator[Reason]:
    for name, facts in own_parameters(program, id).items():
        for flow in facts.flows:
            if is_symbolic(flow.value, all):
                yield Reason(SYMBOLIC, f"`{name}` is a symbolic Keras input in this call", flow.place)
                break
