"""Facts of parameters: is one a tensor, is one a Python number or string that differs from call to call?

A parameter is a tensor by, in this order, its type hint, a tensor or a container of tensors that some call passes, or
speculation on the function's name (always recorded as an assumption; `speculate = false` switches it off). To
`tf.function` a NumPy array is a tensor as well: it becomes one when it is passed.
A parameter is *primitive* when some call passes a number or a string, alone or inside tuples, lists and dicts, whatever
other calls pass: each new value makes `tf.function` trace again. Booleans and None do not count, and a default that no
call overrides is exempt. For `torch.compile` every value has to be one. None as an answer means that it cannot be
determined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from strop.source.facts import Function, Place
from strop.source.interpret.effects import Effects
from strop.source.interpret.entries import speculation
from strop.source.interpret.events import Call
from strop.source.interpret.heap import Object
from strop.source.interpret.interpreter import Program
from strop.source.interpret.queries import ParameterFacts, chain_to
from strop.source.interpret.values import Atom, Const, Primitive, Tuple, Unknown, Value

NUMBERS_AND_TEXTS = ("int", "float", "str", "bytes", "complex")


@dataclass
class Evidence:
    """What makes a function's facts what they are."""

    tensors: dict[str, str] = field(default_factory=dict)  #: parameter → hint, flow or speculation
    primitives: list[str] = field(default_factory=list)
    undetermined: list[str] = field(default_factory=list)  #: parameters that may or may not be tensors
    speculation: str = ""


def own_parameters(program: Program, id: str) -> dict[str, ParameterFacts]:
    """All but `self` and `cls`."""
    receiver = program.code(id).receiver()
    return {name: facts for name, facts in program.parameters(id).items() if name != receiver}


def evidence(program: Program, id: str) -> Evidence:
    """Why parameters are tensors or primitive."""
    code = program.code(id)
    found = Evidence()
    guessed = program.speculated.get(code, ())
    torch = program.framework(id) == "torch"
    why = speculation(program, code) if program.speculate else ""
    for name, parameter in own_parameters(program, id).items():
        if parameter.hint is not None and parameter.hint.holds_tensor():
            found.tensors[name] = "hint"
        elif name in guessed:
            found.tensors[name] = "speculation"
        elif parameter.value.holds_tensor() or (not torch and holds_array(parameter.value)):
            found.tensors[name] = "flow"
        elif not _known(parameter):
            found.undetermined.append(name)
        if is_primitive(parameter, torch):
            found.primitives.append(name)
    if not found.tensors and why:
        for name in found.undetermined:
            found.tensors[name] = "speculation"
        found.undetermined = [] if found.tensors else found.undetermined
    if "speculation" in found.tensors.values():
        found.speculation = why
    return found


def _known(parameter: ParameterFacts) -> bool:
    """Whether the parameter is certainly no tensor, given that nothing shows that it is one."""
    if parameter.hint is not None and parameter.hint.is_known():
        return True
    return bool(parameter.value.atoms) and not _holds_unknown(parameter.value)


def _holds_unknown(value: Value, depth: int = 3) -> bool:
    if value.is_unknown():
        return True
    for atom in value.atoms:
        items = getattr(atom, "items", None)
        if depth and isinstance(items, tuple) and any(_holds_unknown(item, depth - 1) for item in items):
            return True
    return any(depth and o.kind != "instance" and _holds_unknown(o.contents(), depth - 1) for o in value.objects())


def is_primitive(parameter: ParameterFacts, torch: bool = True) -> bool:
    """Whether Python numbers or texts are passed; to `torch.compile` only where nothing else is."""
    if parameter.hint is not None and parameter.hint.holds_tensor():
        return False
    if not parameter.called and parameter.hint is not None and parameter.default is None:
        return parameter.hint.is_primitive()
    if torch:
        return parameter.given and parameter.value.is_primitive()
    return any(holds_primitive(flow.value) for flow in parameter.flows)


def holds_primitive(value: Value, depth: int = 3) -> bool:
    """A number or a text, or a tuple, list or dict with one in it."""
    for atom in value.atoms:
        if isinstance(atom, (Const, Primitive)) and atom.type in NUMBERS_AND_TEXTS:
            return True
        if depth and isinstance(atom, Tuple) and any(holds_primitive(item, depth - 1) for item in atom.items):
            return True
        if depth and _is_container(atom) and holds_primitive(atom.contents(), depth - 1):
            return True
    return False


def holds_array(value: Value, depth: int = 3) -> bool:
    """A NumPy array, or a tuple, list or dict with one in it."""
    if value.arrays():
        return True
    for atom in value.atoms if depth else ():
        if isinstance(atom, Tuple) and any(holds_array(item, depth - 1) for item in atom.items):
            return True
        if _is_container(atom) and holds_array(atom.contents(), depth - 1):
            return True
    return False


def is_symbolic(value: Value, quantifier: Callable[[Iterable[bool]], bool], depth: int = 3) -> bool:
    """Whether all tensors of a value, or any, are inputs of Keras' functional models, alone or inside tuples."""
    found = [tensor.kind == "symbolic" for tensor in value.tensors()]
    for atom in value.atoms if depth else ():
        if isinstance(atom, Tuple):
            found += [is_symbolic(item, quantifier, depth - 1) for item in atom.items if item.holds_tensor()]
    return bool(found) and quantifier(found)


def _is_container(atom: Atom) -> bool:
    return isinstance(atom, Object) and atom.kind in ("list", "dict", "tuple")


def primitive_fact(program: Program, id: str, found: Evidence) -> bool | None:
    if found.primitives:
        return True
    for name, parameter in own_parameters(program, id).items():
        if name in found.tensors or not parameter.value.is_unknown():
            continue
        if not parameter.given and (parameter.called or parameter.default is not None):
            continue
        if parameter.hint is not None and parameter.hint.is_known():
            continue
        open_ended = all(isinstance(atom, (Unknown, Const, Primitive)) for atom in parameter.value.atoms)
        if open_ended and parameter.kind not in ("args", "kwargs"):
            return None
    return False


def tensor_fact(program: Program, id: str, found: Evidence) -> bool | None:
    if found.tensors:
        return True
    return None if found.undetermined else False


def computes_tensors(program: Program, id: str) -> bool | None:
    """Whether a function, or what it calls, computes with tensors; None when it calls things that nobody knows."""
    if program.reaches(id, "computes", lambda code: _has_computation(program, code.id)):
        return True
    strangers = program.reaches(id, "strangers", lambda code: _calls_stranger(program, code.id))
    return None if strangers or program.gave_up(id) or not program.nodes(id) else False


def _has_computation(program: Program, id: str) -> bool:
    calls = (event for event in program.events(id) if isinstance(event, Call))
    return any(_computes(program, target, event) for event in calls for target in event.targets)


def _calls_stranger(program: Program, id: str) -> bool:
    calls = (event for event in program.events(id) if isinstance(event, Call))
    return any(
        not event.targets and not event.functions and event.callee is not None and event.callee.is_unknown()
        for event in calls
    )


def _computes(program: Program, target: str, event: Call) -> bool:
    if not target.startswith(("tensorflow.", "torch.")):
        return False
    api = program.apis.find(target)
    if api is not None and api.computes is not None:
        return api.computes
    values = [event.result, *event.args, *(value for _, value in event.kwargs)]
    values += [event.receiver] if event.receiver is not None else []
    return any(value.holds_tensor() for value in values)


def describe(program: Program, effects: Effects, id: str) -> tuple[Function, Evidence]:
    """The facts of a function, before anybody judges."""
    code = program.code(id)
    found = evidence(program, id)
    facts = Function(code.module.file, code.name, code.line, framework=program.framework(id))
    facts.graph = program.graph(id) is not None
    facts.tensor_parameter = tensor_fact(program, id, found)
    facts.primitive_parameter = primitive_fact(program, id, found)
    facts.side_effects = effects.has(id)
    facts.recursive = program.recursive(id)
    facts.tensor_computation = computes_tensors(program, id)
    if found.speculation:
        names = ", ".join(f"`{name}`" for name, by in found.tensors.items() if by == "speculation")
        facts.assumptions.append(f"{names} {'are tensors' if ',' in names else 'is a tensor'}: {found.speculation}")
    return facts, found


def origin(program: Program, id: str, name: str) -> tuple[Place, tuple[Place, ...]]:
    """The first call that passes a parameter, and the calls that lead there."""
    code = program.code(id)
    flows = program.parameters(id)[name].flows
    flow = next((f for f in flows if f.value.holds_tensor()), flows[0] if flows else None)
    if flow is None:
        return code.place(), ()
    caller = program.code(flow.caller) if flow.caller else None
    before = chain_to(program, caller) if caller is not None and not caller.name.startswith("<module") else ()
    return code.place(), (*before, flow.place)
