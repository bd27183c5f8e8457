"""Whether a function that can become a `tf.function` should: what runs once, is tiny or compiled anyway is left alone.

The verdict stays what the preconditions make it. But an edit is only proposed where a graph pays: calling a graph
function costs about as much as four operations in eager mode, tracing it as much as some thousand, and Keras' `fit`,
`predict` and `evaluate`, `tf.data` and other graph functions make graphs of what they call by themselves.
"""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Iterator

from strop.source.facts import Place
from strop.source.hybridize.calling import is_run, is_test
from strop.source.hybridize.parameters import own_parameters
from strop.source.interpret.entries import SPECULATIVE, ancestor_names
from strop.source.interpret.events import Call
from strop.source.interpret.interpreter import Program
from strop.source.project.declarations import Code
from strop.source.rules import declare

NOT_WORTH_IT = declare(
    "STR187",
    "graph-not-worth-it",
    """The function could run as a graph, and would gain nothing by it.

    It runs once or twice, or no loop over data or steps calls it; it computes so little that calling a graph costs
    more; it is test code; or something makes a graph of it already: Keras' `fit`, `predict` and `evaluate`, `tf.data`,
    or the graph functions that call it. In a library, it is users who put functions into graphs, as a whole.
    """,
)
MIN_OPERATIONS = 5  #: a call of a graph function costs about as much as four operations in eager mode
MIN_CALLS = 3

_KERAS = ("tensorflow.keras.", "keras.")
_DRIVERS = frozenset(
    f"tensorflow.keras.Model.{name}"
    for name in [
        "fit",
        "evaluate",
        "predict",
        "compile",
        "train_on_batch",
        "test_on_batch",
        "predict_on_batch",
        "fit_generator",
        "evaluate_generator",
    ]
)
_DRIVING = re.compile(r"_*(main|train|fit|run|evaluate|eval|test|validate|learn|optimize|play)(_|$)")
_LOOPS = (ast.For, ast.While, ast.AsyncFor, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def why_not(program: Program, id: str) -> str:
    """Why a graph would not pay; empty where it would."""
    code = program.code(id)
    if is_test(program, code):
        return "it is test code"
    if code.decorated(
        "property", "cached_property", "abstractmethod", "overload", "setter", "fixture", "custom_gradient"
    ):
        return "a decorator makes something else of it"
    if code.short.startswith("__") and code.short != "__call__":
        return f"`{code.short}` is called by Python itself"
    if is_keras_method(program, code) and not _is_called_model(program, code):
        return "Keras calls it, in graphs of its own"
    if _compiled_anyway(program, code, set()):
        return "Keras, `tf.data` or a graph function makes a graph of it already"
    if _is_made_anew(program, code):
        return "it is a function in a function: every call of the outer one would trace it again"
    if not _runs_often(program, code, set()):
        return "nothing shows that it runs often in eager mode"
    if _operations(program, id) < MIN_OPERATIONS:
        return "it computes too little for a graph of its own"
    return ""


def _compiled_anyway(program: Program, code: Code, seen: set[Code]) -> bool:
    """Every call comes from Keras' own drivers, from a dataset, or from a function that is a graph or traced itself."""
    if code in seen:
        return True
    seen.add(code)
    callers = [(program.code(caller), place) for caller, place in program.callers(code.id)]
    keras = is_keras_method(program, code)
    if any(node.entry for node in code.nodes.values()) and not keras:
        return False
    if not callers:
        return keras
    return all(
        caller in program.graphs or _is_traced(program, caller, place) or _compiled_anyway(program, caller, seen)
        for caller, place in callers
        if caller is not code
    )


def is_keras_method(program: Program, code: Code) -> bool:
    """A method of a layer, model, loss, metric, optimizer: Keras calls it, in graphs of its own."""
    if code.cls is None:
        return False
    return any(name.startswith(_KERAS) for name in ancestor_names(program, code.cls))


def _is_called_model(program: Program, code: Code) -> bool:
    """A model, not a layer, that a loop over data or steps calls itself."""
    assert code.cls is not None
    if "tensorflow.keras.Model" not in ancestor_names(program, code.cls):
        return False
    callers = [(program.code(caller), place) for caller, place in program.callers(code.id)]
    return any(_is_driver(program, caller) and _repeats(caller, place) for caller, place in callers)


def _is_traced(program: Program, caller: Code, place: Place) -> bool:
    """Whether the call at a place is made by something that traces: `dataset.map`, `model.fit`."""
    for event in program.events(caller.id):
        if isinstance(event, Call) and (event.place.line, event.place.column) == (place.line, place.column):
            for target in event.targets:
                api = program.apis.find(target)
                if target in _DRIVERS or (api is not None and api.extra.get("traces")):
                    return True
    return False


def _is_made_anew(program: Program, code: Code) -> bool:
    """A nested function, unless the outer one runs a loop over data that calls it."""
    outer = code.parent
    if outer is None or isinstance(outer.node, (ast.Module, ast.ClassDef)):
        return False
    calls = [place for caller, place in program.callers(code.id) if caller == outer.id]
    return not _is_driver(program, outer) or not any(_repeats(outer, place) for place in calls)


def _runs_often(program: Program, code: Code, seen: set[tuple[Code, int]], below: int = 0) -> bool:
    """A loop over data or steps calls it, or several places of a script do, or its name says that it is a step of such
    a loop.

    What a library's functions call in loops says nothing: users put those functions into graphs as a whole. Nor do
    several calls in a function, which may itself run once. What lies more than one function with tensors below the
    loop is a part of a part of the step: a graph of its own would be a fragment.
    """
    if (code, below) in seen or below > 1:
        return False
    seen.add((code, below))
    if isinstance(code.node, (ast.Module, ast.ClassDef)) or code.short in ("__init__", "build", "main"):
        return False
    callers = [(program.code(caller), place) for caller, place in program.callers(code.id)]
    if not callers:
        return any(fnmatch.fnmatchcase(code.short.lower(), pattern) for pattern in SPECULATIVE["tensorflow"])
    driving = [(caller, place) for caller, place in callers if _is_driver(program, caller)]
    if sum(isinstance(caller.node, ast.Module) for caller, _ in driving) >= MIN_CALLS:
        return True
    if any(_repeats(caller, place) for caller, place in driving):
        return True
    others = [caller for caller, _ in callers if not is_keras_method(program, caller)]
    return any(_runs_often(program, caller, seen, below + _takes_tensors(program, caller)) for caller in others)


def _is_driver(program: Program, code: Code) -> bool:
    """Module-level code, or a function that runs a loop over data: it takes no tensors, and a script runs it, or its
    name says what it does. What a library's function does in a loop is a part of somebody's step."""
    if isinstance(code.node, ast.Module):
        return True
    if isinstance(code.node, ast.ClassDef) or is_test(program, code) or is_keras_method(program, code):
        return False
    if code.parent is not None and not isinstance(code.parent.node, (ast.Module, ast.ClassDef)):
        return _is_driver(program, code.parent)
    if not _DRIVING.match(code.short) and not is_run(program, code):
        return False
    return not _takes_tensors(program, code)


def _takes_tensors(program: Program, code: Code) -> bool:
    parameters = own_parameters(program, code.id).values()
    return any(p.value.is_tensor() or (p.hint is not None and p.hint.is_tensor()) for p in parameters)


def _repeats(code: Code, place: Place) -> bool:
    """Whether a loop that drives a program stands around a call; comprehensions are mostly over parts of one result."""
    if isinstance(code.node, ast.Module) or _DRIVING.match(code.short):
        return _in_loop(code, place)
    return any(_spans(node, place) for node in code.own() if isinstance(node, (ast.For, ast.While, ast.AsyncFor)))


def _in_loop(code: Code, place: Place) -> bool:
    return any(_spans(node, place) for node in code.own() if isinstance(node, _LOOPS))


def _spans(node: ast.AST, place: Place) -> bool:
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    start, end = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0)
    return (first, start) <= (place.line, place.column) < (last, end)


def _operations(program: Program, id: str) -> int:
    """Operations of a call, in the function and in what it calls; one in a loop counts for many."""
    return sum(_own_operations(program, program.code(other)) for other, _ in program.reached(id))


def _own_operations(program: Program, code: Code) -> int:
    if isinstance(code.node, (ast.Module, ast.ClassDef)) or code.short in ("build", "__init__"):
        return 0
    return sum(_weight(code, event) for event in _computing(program, code))


def _weight(code: Code, event: Call) -> int:
    layers = any(t.endswith(".__call__") or ".gradient" in t or ".apply_gradients" in t for t in event.targets)
    return (4 if layers else 1) * (MIN_OPERATIONS if _in_loop(code, event.place) else 1)


def _computing(program: Program, code: Code) -> Iterator[Call]:
    for event in program.events(code.id):
        if not isinstance(event, Call):
            continue
        for target in event.targets:
            api = program.apis.find(target) if target.startswith("tensorflow.") else None
            if api is not None and api.computes is not False:
                values = [event.result, *event.args, *([event.receiver] if event.receiver is not None else [])]
                if api.computes or any(value.holds_tensor() for value in values):
                    yield event
                    break
