"""What a trace refuses or freezes although the table of preconditions lets the function become a `tf.function`.

Each hazard turns a safe verdict into `safe-if`, with a sentence to check. They were found by running functions under
`tf.function` in TensorFlow 2.21 with Keras 3.15: a trace has no values, and no shapes where they depend on values,
variables may be made only once, methods hold their object weakly, and what Python reads is read once. Branches and
loops are in `control.py`, arguments and results in `boundary.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from strop.source.hybridize.boundary import crossing
from strop.source.hybridize.control import control
from strop.source.hybridize.dtypes import of_a_graph
from strop.source.hybridize.shapes import loose_shapes, unknown_shapes
from strop.source.hybridize.syntax import value_of
from strop.source.interpret.entries import ancestor_names
from strop.source.interpret.events import Call, Event, Iteration, Write
from strop.source.interpret.heap import Cell, Object
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import ClassAtom, Const, Primitive, Value
from strop.source.project.declarations import Class, Code

#: builtins that look at the value of a tensor, or at its identity
_LOOKS = (
    {
        f"builtins.{name}"
        for name in [
            "int",
            "float",
            "complex",
            "bool",
            "str",
            "repr",
            "format",
            "bytes",
            "list",
            "tuple",
            "set",
            "dict",
            "min",
            "max",
            "any",
            "all",
            "sorted",
            "range",
            "reversed",
            "sum",
            "enumerate",
            "zip",
            "map",
            "filter",
            "iter",
            "next",
            "hash",
            "id",
            "hasattr",
            "type",
        ]
    }
    | {f"builtins.str.{name}" for name in ("format", "join")}
    | {f"builtins.list.{name}" for name in ("index", "remove", "count")}
    | {f"builtins.dict.{name}" for name in ("get", "pop", "setdefault")}
    | {f"builtins.set.{name}" for name in ("add", "discard", "remove")}
)
_MODE = {"tensorflow.executing_eagerly", "tensorflow.Tensor.ref", "tensorflow.inside_function"}
#: attributes of tensors that a graph's tensors do not have, or answer otherwise
_EAGER_ATTRIBUTES = {"device", "backing_device", "name", "op", "graph", "_id", "is_packed", "nbytes", "itemsize"}
#: libraries whose functions do with a tensor what they are told, without looking at its value
_BLIND = ("tensorflow.", "tensorflow_probability.", "tensorflow_addons.", "builtins.", "functools.", "itertools.",
          "typing.", "collections.", "operator.", "strop.", "numpy.", "dataclasses.", "contextlib.")  # fmt: skip
_MAKES_VARIABLES = ("tensorflow.keras.layers.", "tensorflow.keras.optimizers.", "tensorflow.keras.metrics.")
_MAKES_MODELS = {"tensorflow.Variable", "tensorflow.keras.Sequential", "tensorflow.keras.Model"}
_WIDE = {"Exception", "BaseException"}

_known: WeakKeyDictionary[Program, dict[str, list[str]]] = WeakKeyDictionary()


def hazards(program: Program, id: str) -> list[str]:
    """What must hold for the function to behave as a graph as it does now, in the order of the code."""
    code = program.code(id)
    known = _known.setdefault(program, {})
    found: dict[str, None] = {}
    reached = [other for other, _ in program.reached(id)]
    inside = {program.code(other) for other in reached}
    for other in reached:
        if other not in known:
            known[other] = list(_inside(program, program.code(other)))
        found.update(dict.fromkeys(known[other]))
        found.update(dict.fromkeys(_changing(program, program.code(other), inside)))
    found.update(dict.fromkeys(unknown_shapes(program, code, reached)))
    found.update(dict.fromkeys(crossing(program, code)))
    found.update(dict.fromkeys(_weak_receiver(program, code)))
    found.update(dict.fromkeys(_keras_call(program, code)))
    found.update(dict.fromkeys(_replica(program, code, set())))
    return list(found)


def streams(program: Program, id: str) -> Iterator[str]:
    """Operations of a function's own that keep their place in a stream of random numbers."""
    if program.code(id).short == "build":
        return
    for event in program.events(id):
        if not isinstance(event, Call):
            continue
        for target in event.targets:
            api = program.apis.find(target)
            if api is not None and api.extra.get("stream"):
                yield f"`{target}` at {event.place} may draw other random numbers: a graph has streams of its own"


def _inside(program: Program, code: Code) -> Iterator[str]:
    """Hazards of one function's own statements; they are its callers', too."""
    if code.short == "build" or isinstance(code.node, (ast.ClassDef, ast.Module)):
        return
    events = program.events(code.id)
    for event in events:
        if isinstance(event, Call):
            yield from _call(event)
            yield from of_a_graph(program, event)
            yield from loose_shapes(event)
        elif isinstance(event, Iteration) and event.kind != "for" and event.over.only_tensors():
            yield f"the tensor that is taken apart at {event.place} has a value while the graph is traced"
    yield from _arrays(code, events)
    yield from _attributes_of_tensors(program, code)
    yield from _identities(program, code)
    yield from control(program, code, events)
    yield from _exceptions(code)


def _call(event: Call) -> Iterator[str]:
    arguments = [*event.args, *(value for _, value in event.kwargs)]
    for target in event.targets:
        if target in _LOOKS and any(value.is_tensor() for value in arguments):
            yield f"`{target.removeprefix('builtins.')}()` at {event.place} does not need the value of a tensor"
        elif target == "tensorflow.Tensor.__mod__" and event.receiver is not None and event.receiver.only("str"):
            yield f"the text at {event.place} does not need the value of a tensor"
        elif not target.startswith(_BLIND) and any(value.is_tensor() for value in arguments):
            yield f"`{target}` at {event.place} does not need the value of a tensor"
        elif target == "tensorflow.constant" and arguments and arguments[0].holds_tensor():
            yield f"`tf.constant` at {event.place} is given no tensor: a graph refuses one (use `tf.convert_to_tensor`)"
        elif target in _MODE:
            yield f"`{target}` at {event.place} gives the same answer in a graph"
        elif target.endswith((".add_loss", ".add_metric")):
            yield f"`{target}` at {event.place} is given nothing that only the graph can see"
        elif _makes_variables(target, event):
            yield f"what `{target}` makes at {event.place} keeps no variables: a graph may make them only once"


def _makes_variables(target: str, event: Call) -> bool:
    if target in _MAKES_MODELS:
        return True
    made = any(o.kind == "instance" and o.cls == target for o in event.result.objects())
    return made and target.startswith(_MAKES_VARIABLES)


def _arrays(code: Code, events: list[Event]) -> Iterator[str]:
    """Elements of numpy arrays or Python lists by tensors, and the other way round."""
    arrays = {e.place.line for e in events if isinstance(e, Call) and e.result.arrays()}
    computed = {e.place.line for e in events if isinstance(e, Call) and e.result.is_tensor()}
    tensors = set(_tensor_parameters(code))
    filled = {
        target.id
        for node in code.own()
        if isinstance(node, ast.Assign) and node.lineno in arrays
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in code.own():
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            continue
        if isinstance(node.ctx, ast.Store) and node.value.id in filled and node.lineno in computed:
            yield f"the array at {code.place(node)} takes no values of tensors"
        elif isinstance(node.slice, ast.Name) and node.slice.id in tensors and node.value.id not in tensors:
            yield f"`{ast.unparse(node)}` at {code.place(node)} is no Python container indexed by a tensor"


def _tensor_parameters(code: Code) -> Iterator[str]:
    """Parameters that are only tensors in every call."""
    for parameter in code.parameters:
        values = [node.parameters[parameter.name] for node in code.nodes.values() if parameter.name in node.parameters]
        if values and all(value.only_tensors() for value in values):
            yield parameter.name


def _attributes_of_tensors(program: Program, code: Code) -> Iterator[str]:
    for node in code.own():
        if isinstance(node, ast.Attribute) and node.attr in _EAGER_ATTRIBUTES:
            value = value_of(program, code, node.value)
            if value is not None and value.is_tensor():
                yield f"`{ast.unparse(node)}` at {code.place(node)} is the same in a graph"


def _identities(program: Program, code: Code) -> Iterator[str]:
    """`x in seen` and `x is y` of tensors ask for values and identities that a trace does not have."""
    for node in code.own():
        if not isinstance(node, ast.Compare):
            continue
        if not any(isinstance(op, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for op in node.ops):
            continue
        sides = [node.left, *node.comparators]
        if any(isinstance(side, ast.Constant) and side.value is None for side in sides):
            continue
        values = [value_of(program, code, side) for side in sides]
        if any(value is not None and value.holds_tensor() for value in values):
            yield f"`{ast.unparse(node)}` at {code.place(node)} does not need values or identities of tensors"


def _read(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _exceptions(code: Code) -> Iterator[str]:
    for node in code.own():
        if isinstance(node, ast.ExceptHandler):
            written = "" if node.type is None else ast.unparse(node.type)
            if not written or "errors." in written or written in _WIDE or written.endswith("ArgumentError"):
                yield f"no operation fails in the `try` at {code.place(node)}: a graph raises its errors elsewhere"


def _weak_receiver(program: Program, code: Code) -> Iterator[str]:
    """`Net().step(x)`: a graph method holds its object weakly, and a temporary one is gone before it runs."""
    receiver = code.receiver()
    if receiver is None or code.is_class_method or not {receiver, "super"} & _read(code.node):
        return
    for caller, place in program.callers(code.id):
        for node in program.code(caller).own():
            if not isinstance(node, ast.Call) or (node.lineno, node.col_offset) != (place.line, place.column):
                continue
            inner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if isinstance(inner, ast.Call) and ast.unparse(inner.func) != "super":
                yield f"something holds the object whose method is called at {place}"


def _keras_call(program: Program, code: Code) -> Iterator[str]:
    """Keras 3 builds a class without its own `build` by tracing `call` in a scratch graph, layers inside included. A
    graph function that is traced there for the first time gives no gradients ever after."""
    if code.short != "call" or code.cls is None or not _is_keras(program, code.cls):
        return
    callers = [program.code(caller) for caller, _ in program.callers(code.id)]
    inside = any(c is not code and c.short == "call" and c.cls is not None for c in callers)
    if _defines(program, code.cls, "build"):
        traced = inside
    else:
        cells = [cell for o in program.objects_of(code.cls) for cell in o.attributes.values()]
        traced = any(_holds_layers(program, cell.value, 2) for cell in cells)
    if traced:
        yield f"`build()` has made the variables of `{code.cls.name}` before gradients of them are taken"


def _replica(program: Program, code: Code, seen: set[Code]) -> Iterator[str]:
    """What `Strategy.run` runs on every replica: a graph of its own in there refuses optimizers and reductions."""
    seen.add(code)
    for caller, place in program.callers(code.id):
        if (place.file, place.line, place.column) in _replicated(program):
            yield f"nothing that `Strategy.run` runs at {place} needs other replicas: they cannot meet in this graph"
        elif program.code(caller) not in seen:
            yield from _replica(program, program.code(caller), seen)


_runs: WeakKeyDictionary[Program, set[tuple[str, int, int]]] = WeakKeyDictionary()


def _replicated(program: Program) -> set[tuple[str, int, int]]:
    """Where the program calls `Strategy.run`."""
    found = _runs.get(program)
    if found is None:
        found = _runs[program] = set()
        for code in program.codes():
            for event in program.events(code.id) if code.nodes else ():
                apis = [program.apis.find(target) for target in event.targets] if isinstance(event, Call) else []
                if any(api is not None and api.extra.get("replicas") for api in apis):
                    found.add((event.place.file, event.place.line, event.place.column))
    return found


def _is_keras(program: Program, cls: Class) -> bool:
    return any(name.startswith(("tensorflow.keras.", "keras.")) for name in ancestor_names(program, cls))


def _defines(program: Program, cls: Class, name: str) -> bool:
    if any(isinstance(n, ast.FunctionDef) and n.name == name for n in cls.node.body):
        return True
    bases = [a.cls for value in program.bases.get(cls, ()) for a in value.atoms if isinstance(a, ClassAtom)]
    return any(_defines(program, base, name) for base in bases if base is not cls)


def _holds_layers(program: Program, value: Value, depth: int) -> bool:
    for obj in value.objects():
        if isinstance(obj.cls, str):
            if obj.cls.startswith(
                ("tensorflow.keras.layers.", "tensorflow.keras.Sequential", "tensorflow.keras.Model")
            ):
                return True
            if depth and obj.kind in ("list", "dict", "tuple") and _holds_layers(program, obj.contents(), depth - 1):
                return True
        elif _is_keras(program, obj.cls):
            return True
    return False


def _changing(program: Program, code: Code, inside: set[Code]) -> Iterator[str]:
    """Containers from outside that something fills or changes while the program runs, and captured variables that
    are bound again after the function was made. What functions of `inside` make is not from outside."""
    if isinstance(code.node, (ast.ClassDef, ast.Module)):
        return
    mutated = {o for o in _mutated(program) if o.owner is None or o.owner.code not in inside}
    outer = code.parent if code.parent not in inside else None
    for name in sorted(code.reads - code.locals):
        cell = _cell(program, code, name)
        if cell is None:
            continue
        if any(o in mutated for o in cell.value.objects()):
            yield f"what `{name}` holds does not change between calls"
        elif outer is not None and _rebound(outer, code, name) and _is_python(cell.value):
            yield f"`{name}` does not change between calls"
    receiver = code.receiver()
    if receiver is None or code.cls is None:
        return
    for attribute in sorted(_attributes(code.node, receiver)):
        cells = [o.attributes[attribute] for o in program.objects_of(code.cls) if attribute in o.attributes]
        if any(o in mutated for cell in cells for o in cell.value.objects()):
            yield f"what `{receiver}.{attribute}` holds does not change between calls"


def _cell(program: Program, code: Code, name: str) -> Cell | None:
    parent = code.parent
    while parent is not None:
        if isinstance(parent.node, ast.Module):
            return program.module_frame(code.module).cells.get(name)
        for node in parent.nodes.values():
            if name in node.frame.cells:
                return node.frame.cells[name]
        parent = parent.parent
    return None


def _is_python(value: Value) -> bool:
    return any(isinstance(atom, (Const, Primitive)) for atom in value.atoms)


def _rebound(outer: Code, code: Code, name: str) -> bool:
    """Whether the variable is assigned after the function was defined, or in a loop around nothing in particular."""
    start = getattr(code.node, "lineno", 0)
    looping = [n for n in outer.own() if isinstance(n, (ast.For, ast.While))]
    for node in outer.own():
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Store):
            continue
        if node.lineno > start or any(loop.lineno <= node.lineno <= _end(loop) for loop in looping):
            first = all(n.lineno >= node.lineno for n in outer.own() if isinstance(n, ast.Name) and n.id == name)
            if not first:
                return True
    return False


def _attributes(node: ast.AST, receiver: str) -> set[str]:
    return {
        n.attr
        for n in ast.walk(node)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == receiver
    }


_mutations: WeakKeyDictionary[Program, set[Object]] = WeakKeyDictionary()


def _mutated(program: Program) -> set[Object]:
    """Objects that functions, or loops of module bodies, change after they were made."""
    found = _mutations.get(program)
    if found is not None:
        return found
    found = _mutations[program] = set()
    for code in program.codes():
        if not code.nodes or code.short in ("__init__", "build"):
            continue
        loops = [n for n in code.own() if isinstance(n, (ast.For, ast.While))]
        in_module = isinstance(code.node, ast.Module)
        for event in program.events(code.id):
            if not isinstance(event, Write) or event.to is None or event.kind not in ("element", "method", "delete"):
                continue
            if in_module and not any(n.lineno <= event.place.line <= _end(n) and _calls(n) for n in loops):
                continue
            if in_module or event.outside is not False:
                found.update(event.to.objects())
    return found


def _calls(loop: ast.AST) -> bool:
    """A loop that calls functions by name, beside methods such as `append`."""
    return any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) for n in ast.walk(loop))
