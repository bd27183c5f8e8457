"""TensorFlow verdicts: the table of preconditions for `tf.function`, and every reason for saying no.

    P1  eager, a tensor parameter, no primitive one, no side effects, not recursive            → to_graph
    P2  graph function, no tensor parameter, no side effects                                   → to_eager
    P3  graph function, tensor and primitive parameters, no side effects                       → to_eager
    P4  graph function, tensor, no primitive, no side effects, not recursive, no signature,
        and one can be inferred                                                                → add_signature
    P6  graph function, a tensor parameter but no tensor computation, no side effects          → to_eager

Rows P2 to P6 are for functions without an `input_signature`: one that has it keeps it.
P3 becomes `lift_primitive` when the primitive is provably used in tensor arithmetic of its own dtype only; otherwise
lifting is mentioned in the reason. P4 is proposed only where signatures are asked for. A function that passes no row
keeps its form: `no_benefit` when a graph would bring nothing (no tensor parameter, no tensor computation, only graph
functions call it), `unknown` when a precondition cannot be determined, `keep` for every other reason. TensorFlow 1 code
is left alone (`tensorflow1.py`), and a verdict brings an edit only where that pays (`tensorflow_worth.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from strop.source.facts import Action, Edit, Finding, Function, Place, Reason
from strop.source.hybridize import signature
from strop.source.hybridize.blockers import blockers
from strop.source.hybridize.boundary import crossing
from strop.source.hybridize.calling import is_test
from strop.source.hybridize.parameters import Evidence, origin, own_parameters
from strop.source.hybridize.tensorflow1 import TENSORFLOW_1, is_tensorflow_1
from strop.source.hybridize.tensorflow_rules import (
    ADD_SIGNATURE,
    GRAPH_CALLERS,
    NO_COMPUTATION,
    NO_TENSORS,
    OPTIMAL,
    PRIMITIVE,
    RECURSIVE,
    SIDE_EFFECTS,
    TO_EAGER,
    TO_GRAPH,
    UNKNOWN_EFFECTS,
    UNKNOWN_RECURSION,
    UNKNOWN_TENSORS,
)
from strop.source.hybridize.tensorflow_worth import NOT_WORTH_IT, why_not
from strop.source.hybridize.tracing import hazards, streams
from strop.source.interpret.effects import Effects
from strop.source.interpret.events import Call, Read
from strop.source.interpret.interpreter import Program
from strop.source.interpret.queries import ParameterFacts
from strop.source.interpret.values import Const, LibraryValue
from strop.source.project.declarations import Code

_WHO = {"tensorflow.function"}


def judge(program: Program, effects: Effects, id: str, facts: Function, found: Evidence) -> list[Finding]:
    """Fill in verdict, safety, reasons and assumptions; the findings carry the edits."""
    mark = program.graph(id)
    is_graph = mark is not None and mark.by in _WHO
    facts.graph = facts.graph and (mark is None or is_graph or facts.framework != "tensorflow")
    if old := is_tensorflow_1(program, program.code(id)):
        facts.verdict, facts.safety = "keep", "unsafe"
        facts.reasons.append(Reason(TENSORFLOW_1, old, program.code(id).place()))
        return []
    _common_reasons(program, effects, id, facts)
    verdict = _graph_function(program, id, facts, found) if is_graph else _eager_function(program, id, facts, found)
    facts.verdict = verdict
    facts.assumptions += _ASSUMPTIONS.get(verdict, _nothing)(program, id, facts)
    _rate(facts)
    return _findings(program, id, facts)


def _rate(facts: Function) -> None:
    """Forbidding reasons make a function unsafe to change; assumptions make it safe under conditions."""
    if facts.verdict in ("keep", "unknown"):
        harmless = {OPTIMAL}
        facts.safety = "safe" if all(reason.code in harmless for reason in facts.reasons) else "unsafe"
    else:
        facts.safety = "safe-if" if facts.assumptions else "safe"


def _common_reasons(program: Program, effects: Effects, id: str, facts: Function) -> None:
    code = program.code(id)
    if facts.side_effects:
        for effect in [e for e in effects.of(id) if e.certain][:8]:
            facts.reasons.append(Reason(SIDE_EFFECTS, effect.message, effect.place, effect.chain))
    elif facts.side_effects is None:
        unknown = effects.of(id)[:4]
        for effect in unknown:
            facts.reasons.append(Reason(UNKNOWN_EFFECTS, effect.message, effect.place, effect.chain))
        if not unknown:
            why = program.gave_up(id) or "the function was never reached"
            facts.reasons.append(Reason(UNKNOWN_EFFECTS, f"side effects cannot be determined: {why}", code.place()))
    if facts.recursive:
        facts.reasons.append(Reason(RECURSIVE, f"`{code.name}` may call itself", code.place()))
    elif facts.recursive is None:
        facts.reasons.append(Reason(UNKNOWN_RECURSION, "recursion cannot be determined", code.place()))


def _eager_function(program: Program, id: str, facts: Function, found: Evidence) -> Action:
    code = program.code(id)
    if facts.tensor_parameter is False:
        facts.reasons.append(Reason(NO_TENSORS, "no parameter is a tensor", code.place()))
        return "no_benefit"
    if facts.tensor_parameter is None:
        names = ", ".join(f"`{name}`" for name in found.undetermined)
        facts.reasons.append(Reason(UNKNOWN_TENSORS, f"nothing tells whether {names} may be a tensor", code.place()))
    if facts.primitive_parameter:
        facts.reasons += _primitive_reasons(program, id, found)
    facts.reasons += blockers(program, id)
    forbidding = [r for r in facts.reasons if r.code not in (UNKNOWN_EFFECTS, UNKNOWN_RECURSION, UNKNOWN_TENSORS)]
    if forbidding:
        return "keep"
    if facts.reasons:
        return "unknown"
    if facts.tensor_computation is False:
        facts.reasons.append(Reason(NO_COMPUTATION, "nothing is computed with tensors", code.place()))
        return "no_benefit"
    if _only_graph_callers(program, code, set()):
        place = next((place for _, place in program.callers(id)), code.place())
        facts.reasons.append(Reason(GRAPH_CALLERS, "every caller is a graph function already", place))
        return "no_benefit"
    tensors = list(found.tensors)
    place, chain = origin(program, id, tensors[0])
    how = {"hint": "by its type hint", "speculation": "by the function's name"}.get(
        found.tensors[tensors[0]], "in a call"
    )
    facts.reasons.append(
        Reason(TO_GRAPH, f"P1: `{tensors[0]}` is a tensor {how}, and nothing speaks against a graph", place, chain)
    )
    return "to_graph"


def _graph_function(program: Program, id: str, facts: Function, found: Evidence) -> Action:
    code = program.code(id)
    if facts.side_effects:
        return "keep"
    if facts.side_effects is None:
        return "unknown"
    if signature.has_signature(program, id):
        message = "its signature makes tensors of what callers pass, and is what an exported model offers"
        facts.reasons.append(Reason(OPTIMAL, message, code.place()))
        return "keep"
    if facts.tensor_parameter is False:
        facts.reasons.append(Reason(NO_TENSORS, "P2: a graph function without a tensor parameter", code.place()))
        return "to_eager"
    if facts.tensor_parameter is None:
        names = ", ".join(f"`{name}`" for name in found.undetermined)
        facts.reasons.append(Reason(UNKNOWN_TENSORS, f"nothing tells whether {names} may be a tensor", code.place()))
        return "unknown"
    if facts.tensor_computation is False:
        facts.reasons.append(Reason(NO_COMPUTATION, "P6: nothing is computed with tensors", code.place()))
        return "to_eager"
    if facts.primitive_parameter:
        facts.reasons += _primitive_reasons(program, id, found)
        return "lift_primitive" if all(can_lift(program, id, name) for name in found.primitives) else "to_eager"
    if facts.recursive:
        return "keep"
    if facts.recursive is None:
        return "unknown"
    facts.signature = signature.infer(program, id, tensorflow_name(program, code))
    if facts.signature is not None:
        facts.reasons.append(
            Reason(ADD_SIGNATURE, "P4: callers agree on dtypes, one graph can serve them all", code.place())
        )
        return "add_signature"
    facts.reasons.append(Reason(OPTIMAL, "the graph function is well as it is", code.place()))
    return "keep"


def _primitive_reasons(program: Program, id: str, found: Evidence) -> list[Reason]:
    reasons = []
    for name in found.primitives:
        facts = program.parameters(id)[name]
        place = facts.flows[0].place if facts.flows else program.code(id).place()
        text = facts.value.describe()
        reasons.append(
            Reason(
                PRIMITIVE,
                f"P3: `{name}` is a Python value ({text}), each new one is traced again; a tensor is not",
                place,
            )
        )
    return reasons


def can_lift(program: Program, id: str, name: str) -> bool:
    """Whether a number may become a tensor: it only meets tensors of the dtype that it would get, in arithmetic."""
    code = program.code(id)
    value = own_parameters(program, id)[name].value
    dtype = "float32" if value.only("float") else "int32" if value.only("int") else None
    if dtype is None:
        return False
    operators = {}
    for event in program.events(id):
        if isinstance(event, Call) and any(t.startswith("tensorflow.Tensor.__") for t in event.targets):
            operators[event.place.line, event.place.column, event.place.end_column] = event
    operands = 0
    for node in code.walk():
        if isinstance(node, ast.BinOp):
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if (
                    not isinstance(side, ast.Name)
                    or side.id != name
                    or (isinstance(other, ast.Name) and other.id == name)
                ):
                    continue
                place = code.place(node)
                call = operators.get((place.line, place.column, place.end_column))
                if call is None or call.receiver is None or not call.args:
                    return False
                against = call.args[0] if side is node.left else call.receiver
                if not against.only_tensors() or any(t.dtype != dtype for t in against.tensors()):
                    return False
                operands += 1
    uses = sum(
        isinstance(node, ast.Name) and node.id == name for statement in code.body for node in ast.walk(statement)
    )
    return uses == operands > 0


def _only_graph_callers(program: Program, code: Code, seen: set[Code]) -> bool:
    """Whether everything that calls a function, and is called itself, is a graph function or called by one."""
    callers = [program.code(caller) for caller, _ in program.callers(code.id)]
    callers = [caller for caller in callers if _is_called(program, caller)] or callers
    if not callers or code in program.escaped or any(node.entry for node in code.nodes.values()):
        return False
    seen.add(code)
    return all(
        caller in program.graphs or (caller not in seen and _only_graph_callers(program, caller, seen))
        for caller in callers
        if caller is not code
    )


def _is_called(program: Program, code: Code) -> bool:
    return isinstance(code.node, ast.Module) or bool(program.callers(code.id)) or code in program.escaped


def _becomes_graph(program: Program, id: str, facts: Function) -> list[str]:
    """What a graph freezes or refuses: values of variables that something writes later, clocks, random numbers."""
    found: dict[str, None] = {}
    if facts.primitive_parameter is None:
        found["no caller outside the project passes Python numbers"] = None
    for other, _ in program.reached(id):
        if other != id and program.recursive(other):
            found[f"the recursion of `{program.code(other).name}`, which it calls, ends while the graph is traced"] = (
                None
            )
    found.update(dict.fromkeys(_frozen(program, id, "the same")))
    found.update(dict.fromkeys(hazards(program, id)))
    return list(found)


def _becomes_eager(program: Program, id: str, facts: Function) -> list[str]:
    """What the graph had frozen, and eager code reads anew at every call; and what was a tensor at the boundary."""
    return list(dict.fromkeys([*_frozen(program, id, "another"), *crossing(program, program.code(id))]))


def _gets_signature(program: Program, id: str, facts: Function) -> list[str]:
    found = ["no caller outside the scanned files passes other shapes or dtypes"]
    if "shape=None" in (facts.signature or ""):
        found.append("the function needs no more of its tensors than their dtypes while it is traced")
    if "None" in (facts.signature or ""):
        found += [text for other, _ in program.reached(id) for text in streams(program, other)]
    return found


def _nothing(program: Program, id: str, facts: Function) -> list[str]:
    return []


_ASSUMPTIONS: dict[Action, Callable[[Program, str, Function], list[str]]] = {
    "to_graph": _becomes_graph,
    "lift_primitive": _becomes_graph,
    "to_eager": _becomes_eager,
    "add_signature": _gets_signature,
}


def _frozen(program: Program, id: str, value: str) -> Iterator[str]:
    """What Python reads once for a graph and at every call without: other verdicts see the same from either side."""
    for other, _ in program.reached(id):
        for event in program.events(other):
            if isinstance(event, Read) and event.kind != "variables":
                if not any(isinstance(atom, LibraryValue) for atom in event.value.atoms):
                    yield f"`{event.target}`, read at {event.place}, does not change between calls"
            elif isinstance(event, Call):
                for target in event.targets:
                    api = program.apis.find(target)
                    if api is not None and api.extra.get("frozen"):
                        yield f"`{target}` at {event.place} may give {value} value at every call"
        yield from streams(program, other)


def tensorflow_name(program: Program, code: Code) -> str:
    """What the module calls TensorFlow; `tf` where it does not import it."""
    for name, cell in program.module_frame(code.module).cells.items():
        if any(isinstance(atom, LibraryValue) and atom.dotted == "tensorflow" for atom in cell.value.atoms):
            return name
    return "tf"


def _findings(program: Program, id: str, facts: Function) -> list[Finding]:
    makers = {"to_graph": _to_graph, "to_eager": _to_eager, "add_signature": _add_signature}
    if facts.verdict == "lift_primitive":
        message = f"`{facts.function}` is traced again for every new number: pass it as a tensor"
        code = program.code(id)
        return [Finding(PRIMITIVE, "primitive-parameter", code.place(), facts.function, message, facts.safety)]
    maker = makers.get(facts.verdict)
    found = maker(program, program.code(id), facts) if maker is not None else None
    return [found] if found is not None else []


def _head(code: Code) -> Place:
    """The line of `def`, not the whole body."""
    node = code.node
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    return Place(code.module.file, node.lineno, node.col_offset, node.lineno, node.col_offset)


def _to_graph(program: Program, code: Code, facts: Function) -> Finding | None:
    if useless := why_not(program, code.id):
        facts.reasons.append(Reason(NOT_WORTH_IT, f"no edit: {useless}", code.place()))
        return None
    tf = tensorflow_name(program, code)
    head = _head(code)
    edit = Edit(head, f"@{tf}.function\n{' ' * head.column}")
    message = f"`{facts.function}` can run as a graph"
    return Finding(TO_GRAPH, "to-graph", head, facts.function, message, facts.safety, (edit,), _imports(tf))


def _imports(tf: str) -> tuple[str, ...]:
    return ("import tensorflow as tf",) if tf == "tf" else ()


def _decorator(program: Program, code: Code) -> ast.expr | None:
    mark = program.graphs.get(code)
    if mark is None or not mark.decorator:
        return None
    return next((d for d in code.decorators if d.lineno == mark.place.line and d.col_offset == mark.place.column), None)


def _to_eager(program: Program, code: Code, facts: Function) -> Finding | None:
    """Where the function computes nothing, the decorator goes. One that computes gains by its graph, whatever its
    parameters are; only if a number changes from call to call there is something to say. One that only raises stands
    for a method that a class does not offer."""
    if is_test(program, code) or isinstance(code.body[-1], ast.Raise):
        return None
    varying = [name for name, facts in own_parameters(program, code.id).items() if _varies(facts)]
    if facts.tensor_computation is not False and not varying:
        return None
    if varying:
        message = f"`{facts.function}` is traced again for every new value of `{varying[0]}`"
        return Finding(TO_EAGER, "to-eager", _head(code), facts.function, message, "safe-if")
    decorator = _decorator(program, code)
    edits: tuple[Edit, ...] = ()
    head = _head(code)
    if decorator is not None:
        following = [d for d in code.decorators if d.lineno > decorator.lineno]
        next_line = following[0].lineno if following else head.line
        edits = (Edit(Place(code.module.file, decorator.lineno, head.column, next_line, head.column), ""),)
    message = f"`{facts.function}` gains nothing from `tf.function`"
    return Finding(TO_EAGER, "to-eager", head, facts.function, message, facts.safety, edits)


def _varies(facts: ParameterFacts) -> bool:
    """Calls pass different numbers, or one that nobody knows beforehand."""
    values = [flow.value for flow in facts.flows]
    numbers = {
        atom for value in values for atom in value.atoms if isinstance(atom, Const) and atom.type in ("int", "float")
    }
    return len(numbers) > 1 or any(value.only("int", "float") and not value.constants() for value in values)


def _add_signature(program: Program, code: Code, facts: Function) -> Finding | None:
    if not program.signatures:
        return None
    decorator = _decorator(program, code)
    edits: tuple[Edit, ...] = ()
    text = f"input_signature={facts.signature}"
    if isinstance(decorator, (ast.Name, ast.Attribute)):
        end = Place(code.module.file, decorator.end_lineno or 0, decorator.end_col_offset or 0)
        spot = Place(end.file, end.line, end.column, end.line, end.column)
        edits = (Edit(spot, f"({text})"),)
    elif isinstance(decorator, ast.Call):
        line, column = decorator.end_lineno or 0, (decorator.end_col_offset or 1) - 1
        separator = ", " if decorator.args or decorator.keywords else ""
        edits = (Edit(Place(code.module.file, line, column, line, column), f"{separator}{text}"),)
    if "shape=None" in text:  # inside such a graph the rank is unknown too, and Keras layers refuse that
        edits = ()
    message = f"`{facts.function}` could have one signature for all callers"
    imports = _imports(tensorflow_name(program, code))
    return Finding(ADD_SIGNATURE, "add-signature", _head(code), facts.function, message, facts.safety, edits, imports)
