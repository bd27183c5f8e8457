"""What a trace refuses or freezes although the table of preconditions lets the function become a `tf.function`.

Each hazard turns a safe verdict into `safe-if`, with a sentence to check. They were found by running functions under
`tf.function` in TensorFlow 2.21 with Keras 3.15: a trace has no values, variables may be made only once, AutoGraph
turns branches and loops over tensors into operations that want the same types and shapes on every path, results and
arguments must be structures of tensors, methods hold their object weakly, and what Python reads is read once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from strop.source.code import Class, Code
from strop.source.entries import ancestor_names
from strop.source.events import Branch, Call, Event, Iteration, Write
from strop.source.heap import Cell, Object
from strop.source.hybridize.parameters import own_parameters
from strop.source.interpret import Program
from strop.source.values import Bound, ClassAtom, Const, Function, Partial, Primitive, Tuple, Value

#: builtins that look at the value of a tensor, or at its identity
_LOOKS = {
    f"builtins.{name}"
    for name in ("int", "float", "complex", "bool", "str", "repr", "format", "bytes", "list", "tuple", "set", "dict")
} | {"builtins.hash", "builtins.id", "builtins.hasattr", "builtins.str.format", "builtins.str.join"}
_MODE = {"tensorflow.executing_eagerly", "tensorflow.Tensor.ref", "tensorflow.inside_function"}
_RESHAPES = {f"tensorflow.{name}" for name in ("concat", "stack", "pad", "tile", "repeat", "boolean_mask", "where")}
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
    found.update(dict.fromkeys(_result(program, code)))
    found.update(dict.fromkeys(_arguments(program, code)))
    found.update(dict.fromkeys(_weak_receiver(program, code)))
    found.update(dict.fromkeys(_keras_call(program, code)))
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
        elif isinstance(event, Iteration) and event.kind != "for" and event.over.only_tensors():
            yield f"the tensor that is taken apart at {event.place} has a value while the graph is traced"
    yield from _arrays(code, events)
    yield from _control(code, events)
    yield from _exceptions(code)


def _call(event: Call) -> Iterator[str]:
    arguments = [*event.args, *(value for _, value in event.kwargs)]
    for target in event.targets:
        if target in _LOOKS and any(value.is_tensor() for value in arguments):
            yield f"`{target.removeprefix('builtins.')}()` at {event.place} does not need the value of a tensor"
        elif target == "tensorflow.Tensor.__mod__" and event.receiver is not None and event.receiver.only("str"):
            yield f"the text at {event.place} does not need the value of a tensor"
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


def _control(code: Code, events: list[Event]) -> Iterator[str]:
    """Branches and loops that AutoGraph turns into operations."""
    conditions = {
        (e.place.line, e.place.column) for e in events if isinstance(e, Branch) and e.condition.only_tensors()
    }
    walked = {(e.place.line, e.place.column) for e in events if isinstance(e, Iteration) and e.over.only_tensors()}
    bound_before = {parameter.name: 0 for parameter in code.parameters}
    for node in code.own():
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound_before[node.id] = min(bound_before.get(node.id, node.lineno), node.lineno)
    for node in code.own():
        if isinstance(node, ast.If) and _at(node.test, node) & conditions:
            yield from _branches(code, node, bound_before)
        elif isinstance(node, (ast.While, ast.For)):
            looks = (node.test, conditions) if isinstance(node, ast.While) else (node.iter, walked)
            if _at(looks[0], node) & looks[1]:
                yield from _loop(code, node, events)


def _at(*nodes: ast.expr | ast.stmt) -> set[tuple[int, int]]:
    return {(node.lineno, node.col_offset) for node in nodes}


def _branches(code: Code, node: ast.If, bound: dict[str, int]) -> Iterator[str]:
    sides = [_stored(node.body), _stored(node.orelse)]
    leaves = [any(isinstance(s, (ast.Return, ast.Raise)) for s in side) for side in (node.body, node.orelse)]
    for name in sorted(sides[0] ^ sides[1]):
        side = 0 if name in sides[0] else 1
        if leaves[side] or leaves[1 - side] or bound.get(name, node.lineno) < node.lineno:
            continue
        if any(isinstance(n, ast.Name) and n.id == name and n.lineno > _end(node) for n in code.own()):
            yield f"`{name}` has a value on both sides of the branch on a tensor at {code.place(node)}"
    returns = [n for n in ast.walk(node) if isinstance(n, ast.Return)]
    kinds = {_empty(r) for r in returns}
    if returns and (len(kinds) > 1 or (False in kinds and _falls_through(code, node))):
        yield f"every path from the branch on a tensor at {code.place(node)} returns a tensor"


def _empty(statement: ast.Return) -> bool:
    return statement.value is None or (isinstance(statement.value, ast.Constant) and statement.value.value is None)


def _falls_through(code: Code, node: ast.If) -> bool:
    """Whether another path ends without a value."""
    later = [n for n in code.own() if isinstance(n, ast.Return) and n.lineno > _end(node)]
    both = all(any(isinstance(s, (ast.Return, ast.Raise)) for s in side) for side in (node.body, node.orelse))
    return not both and (not later or any(_empty(r) for r in later))


def _loop(code: Code, node: ast.While | ast.For, events: list[Event]) -> Iterator[str]:
    inside = range(node.lineno, _end(node) + 1)
    stored = _stored(node.body)
    for event in events:
        if isinstance(event, Write) and event.outside is False and event.place.line in inside:
            if event.to is not None and any(o.kind in ("list", "dict", "set") for o in event.to.objects()):
                yield f"the container that the loop over tensors at {code.place(node)} fills is not used after it"
        elif (
            isinstance(event, Call)
            and event.place.line in inside
            and _RESHAPES & set(event.targets)
            and _assigned_at(node, event.place.line) & stored & _read(node)
        ):
            yield f"the loop over tensors at {code.place(node)} changes no shape"


def _assigned_at(loop: ast.AST, line: int) -> set[str]:
    return {
        n.id
        for statement in ast.walk(loop)
        if isinstance(statement, (ast.Assign, ast.AugAssign)) and statement.lineno <= line <= _end(statement)
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _read(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _stored(body: list[ast.stmt]) -> set[str]:
    return {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _exceptions(code: Code) -> Iterator[str]:
    for node in code.own():
        if isinstance(node, ast.ExceptHandler):
            written = "" if node.type is None else ast.unparse(node.type)
            if not written or "errors." in written or written in _WIDE or written.endswith("ArgumentError"):
                yield f"no operation fails in the `try` at {code.place(node)}: a graph raises its errors elsewhere"


def _result(program: Program, code: Code) -> Iterator[str]:
    if code.is_generator:
        yield "nobody needs the generator: a graph cannot yield"
    if code.is_async:
        yield "nobody awaits the function: a graph is no coroutine"
        return
    for node in code.nodes.values():
        for text in _refused(program, node.result, 3):
            yield f"the result is made of tensors, not of {text}"


def _refused(program: Program, value: Value, depth: int) -> Iterator[str]:
    for atom in value.atoms:
        if isinstance(atom, (Const, Primitive)) and atom.type in ("str", "bytes"):
            yield "text"
        elif isinstance(atom, (Function, Bound, Partial)):
            yield "functions"
        elif isinstance(atom, Object) and isinstance(atom.cls, Class) and not _is_named_tuple(program, atom.cls):
            yield f"objects of `{atom.cls.name}`"
        elif isinstance(atom, Object) and atom.kind in ("set", "frozenset", "generator", "iterator"):
            yield f"a {atom.kind}"
        elif depth and isinstance(atom, Tuple):
            for item in atom.items:
                yield from _refused(program, item, depth - 1)
        elif depth and isinstance(atom, Object) and atom.kind in ("list", "dict", "tuple"):
            yield from _refused(program, atom.contents(), depth - 1)


def _is_named_tuple(program: Program, cls: Class) -> bool:
    return any(
        name.rpartition(".")[2] in ("NamedTuple", "namedtuple", "tuple") for name in ancestor_names(program, cls)
    )


def _arguments(program: Program, code: Code) -> Iterator[str]:
    for name, facts in own_parameters(program, code.id).items():
        for obj in facts.value.objects():
            if obj.kind == "set" or (isinstance(obj.cls, Class) and _unhashable(obj.cls)):
                yield f"`{name}` can be hashed: `tf.function` refuses other objects as arguments"


def _unhashable(cls: Class) -> bool:
    frozen = [ast.unparse(d) for d in cls.node.decorator_list if "dataclass" in ast.unparse(d)]
    members = {n.name for n in cls.node.body if isinstance(n, ast.FunctionDef)}
    by_hand = "__eq__" in members and "__hash__" not in members
    return by_hand or any("frozen=True" not in text and "eq=False" not in text for text in frozen)


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
