"""Numbers that leave their tensor at every step of a loop that trains or evaluates.

A GPU works through a queue. `.item()`, `.tolist()`, `.numpy()`, `float(loss)` and an `if` on a tensor wait until the
queue is empty, and nothing is in it while Python prepares the next step. Found in functions and in module-level code:
in the innermost loop around `backward()` or around a call of the model under `no_grad`, and in functions of one step.
What happens once every so many steps, or only to report an error, is left alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from strop.source.facts import Finding
from strop.source.hybridize.calling import how_often, is_forward, is_test
from strop.source.hybridize.syntax import parents_of, span
from strop.source.hybridize.torch_rules import WAITS
from strop.source.hybridize.torch_worth import MODEL_NAMES
from strop.source.interpret.events import Branch, Call
from strop.source.interpret.heap import Object
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import Tensor, Unknown, Value
from strop.source.project.declarations import Code

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_TAKING = ("item", "tolist", "numpy")
_NUMBERS = ("float", "int", "bool")
_SELDOM = re.compile(
    r"%|log|print|verbose|debug|rank|main_process|is_main|freq|interval|every|save|plot|last|isnan|isinf|isfinite"
)
#: functions that keep a value or tell it
_KEEPING = re.compile(
    r"append|extend|add|update|log|record|report|write|print|info|debug|set_(postfix|description)|format|track|push"
)
_PASSING = ("float", "int", "str", "round", "dict", "list", "tuple", "sum", "mean", "numpy", "cpu", "detach", "array")
_MEASURING = re.compile(r"_*(profile|bench|time_|measure)")  #: functions that wait in order to measure
_NO_GRADIENTS = ("no_grad", "inference_mode")


@dataclass(frozen=True)
class Step:
    """What runs once per batch: the body of a loop, or a function that such a loop calls."""

    code: Code
    body: list[ast.stmt]
    trains: bool


def findings(program: Program, target: str) -> list[Finding]:
    """One finding per kind of waiting and step."""
    found: list[Finding] = []
    for module in program.modules.values():
        if "torch" not in module.imports:
            continue
        for code in (module.code, *module.functions):
            if code.calls.isdisjoint((*_TAKING, *_NUMBERS)) and not code.calls & {"backward", "no_grad"}:
                continue
            if code in program.graphs or is_test(program, code) or _MEASURING.match(code.short):
                continue
            for step in _steps(program, code):
                found += _in_step(program, step, target)
    return found


def _steps(program: Program, code: Code) -> Iterator[Step]:
    """The innermost loops around training or evaluation, or the function itself where it is one step."""
    parents = parents_of(program, code)
    seen: set[ast.AST] = set()
    for node in code.own():
        if not isinstance(node, ast.Call):
            continue
        trains = _is_backward(node)
        if not trains and not (_is_model_call(program, code, node) and _is_without_gradients(code, node, parents)):
            continue
        loop = _around(node, parents, _LOOPS)
        if loop is not None:
            if loop not in seen and isinstance(loop, _LOOPS):
                seen.add(loop)
                yield Step(code, loop.body, trains)
        elif trains and code not in seen and not isinstance(code.node, (ast.Module, ast.ClassDef)):  # type: ignore[comparison-overlap]
            seen.add(code.node)
            if how_often(program, code) != "once":
                yield Step(code, code.body, trains)


def _is_backward(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr in ("backward", "manual_backward")


def _is_model_call(program: Program, code: Code, node: ast.Call) -> bool:
    if not isinstance(node.func, (ast.Name, ast.Attribute)):
        return False
    if MODEL_NAMES.match(ast.unparse(node.func)):
        return True
    at = span(code.place(node))
    for event in program.events(code.id):
        if isinstance(event, Call) and span(event.place) == at:
            return any(is_forward(program, program.code(id)) for id in event.functions)
    return False


def _is_without_gradients(code: Code, node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    if code.decorated(*_NO_GRADIENTS):
        return True
    inner: ast.AST | None = node
    while inner is not None:
        if isinstance(inner, ast.With) and any(
            word in ast.unparse(i.context_expr) for i in inner.items for word in _NO_GRADIENTS
        ):
            return True
        inner = parents.get(inner)
    return False


def _around(node: ast.AST, parents: dict[ast.AST, ast.AST], kinds: tuple[type[ast.AST], ...]) -> ast.AST | None:
    """The innermost of these around a node, within its function."""
    inner = parents.get(node)
    while inner is not None and not isinstance(inner, kinds):
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return None
        inner = parents.get(inner)
    return inner


# -- what waits --------------------------------------------------------------------------------------------------------


def _in_step(program: Program, step: Step, target: str) -> Iterator[Finding]:
    code = step.code
    parents = parents_of(program, code)
    values = {span(e.place): e for e in program.events(code.id) if isinstance(e, (Call, Branch))}
    trained = {
        node.func.value.id
        for node in code.own()
        if isinstance(node, ast.Call) and _is_backward(node)
        and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
    }  # fmt: skip
    kinds: dict[str, list[ast.expr]] = {}
    for node in _direct(step.body):
        kind = _kind(code, node, values, trained)
        if kind == "branch" and not step.trains:
            continue  # a loop that generates runs until the data say so
        if not kind or not isinstance(node, ast.expr) or _is_seldom(node, parents, step.body):
            continue
        if kind == "branch" or _is_collected(step, node, parents):
            kinds.setdefault(kind, []).append(node)
    for kind, nodes in kinds.items():
        yield _finding(step, kind, sorted(nodes, key=lambda n: (n.lineno, n.col_offset)), target)


def _direct(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The syntax of statements, without functions; loops inside are part of the step."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack += ast.iter_child_nodes(node)


def _kind(code: Code, node: ast.AST, values: dict[tuple[int, int, int, int], Call | Branch], trained: set[str]) -> str:
    """`number`, `array` or `branch`; empty for what does not wait."""
    if isinstance(node, ast.Call):
        event = values.get(span(code.place(node)))
        if isinstance(node.func, ast.Attribute) and node.func.attr in _TAKING and not node.args:
            if any(isinstance(n, ast.Attribute) and n.attr in _TAKING for n in ast.walk(node.func.value)):
                return ""  # `x.numpy().item()` waits once
            receiver = event.receiver if isinstance(event, Call) else None
            fits = receiver is None or not receiver.atoms or _may_be_tensor(receiver)
            return ("array" if node.func.attr == "numpy" else "number") if fits else ""
        if isinstance(node.func, ast.Name) and node.func.id in _NUMBERS and len(node.args) == 1:
            if isinstance(event, Call) and event.args and _is_tensor(event.args[0]):
                return "number"
            return "number" if isinstance(node.args[0], ast.Name) and node.args[0].id in trained else ""
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        return ""
    if isinstance(node, ast.expr):
        event = values.get(span(code.place(node)))
        if isinstance(event, Branch) and event.kind in ("if", "while", "ifexp") and _is_tensor(event.condition):
            return "branch"
    return ""


def _is_tensor(value: Value) -> bool:
    return any(isinstance(a, Tensor) and a.kind != "array" for a in value.atoms) and all(
        isinstance(a, (Tensor, Unknown)) for a in value.atoms
    )


def _may_be_tensor(value: Value) -> bool:
    if any(isinstance(a, Object) for a in value.atoms):
        return False
    return any(isinstance(a, (Tensor, Unknown)) and getattr(a, "kind", "") != "array" for a in value.atoms)


def _is_seldom(node: ast.AST, parents: dict[ast.AST, ast.AST], body: list[ast.stmt]) -> bool:
    """Under a condition that holds every so many steps, in an exception handler, or on the way to `raise`."""
    inner, outer = node, parents.get(node)
    top = set(map(id, body))
    while outer is not None:
        if isinstance(outer, (ast.ExceptHandler, ast.Raise, ast.Assert)):
            return True
        if (
            isinstance(outer, (ast.If, ast.IfExp))
            and inner is not outer.test
            and _SELDOM.search(ast.unparse(outer.test))
        ):
            return True
        if isinstance(outer, ast.If) and inner is outer.test and any(isinstance(s, ast.Raise) for s in outer.body):
            return True
        if id(outer) in top and not isinstance(outer, (ast.If, ast.With, ast.Try)):
            return False
        inner, outer = outer, parents.get(outer)
    return False


def _is_collected(step: Step, node: ast.expr, parents: dict[ast.AST, ast.AST], deep: bool = True) -> bool:
    """Whether a value is only added up, kept in a list or told, which could wait until after the loop."""
    inner: ast.AST = node
    outer = parents.get(inner)
    while outer is not None:
        if isinstance(outer, ast.AugAssign):
            return True
        if isinstance(outer, ast.Call) and inner is not outer.func:
            name = outer.func.attr if isinstance(outer.func, ast.Attribute) else getattr(outer.func, "id", "")
            if _KEEPING.match(name):
                return True
            if name not in _PASSING:
                return False
        elif isinstance(outer, ast.Assign):
            return all(_is_kept(step, target, outer, parents, deep) for target in outer.targets)
        elif isinstance(outer, (ast.Return, ast.Yield)):
            return True
        elif isinstance(outer, (ast.stmt, ast.Compare)) or (isinstance(outer, ast.Subscript) and inner is outer.slice):
            return False
        inner, outer = outer, parents.get(outer)
    return False


def _is_kept(step: Step, target: ast.expr, statement: ast.Assign, parents: dict[ast.AST, ast.AST], deep: bool) -> bool:
    """`losses[name] = …`, `self.loss = …`, a running mean, or a variable that is only collected in turn."""
    if not isinstance(target, ast.Name):
        return not isinstance(target, ast.Tuple)
    own = set(map(id, ast.walk(statement)))
    reads = (n for n in _direct(step.body) if isinstance(n, ast.Name) and n.id == target.id and id(n) not in own)
    return deep and all(
        _is_collected(step, read, parents, False) or _is_seldom(read, parents, step.body)
        for read in reads
        if isinstance(read.ctx, ast.Load)
    )


_ADVICE = {
    "number": "keep sums on the device (`total += loss.detach()`) and take the number out once, after the loop",
    "array": "collect the tensors and convert them once, after the loop",
    "branch": "use `torch.where`, or decide every so many steps",
}


def _finding(step: Step, kind: str, nodes: list[ast.expr], target: str) -> Finding:
    code, first = step.code, nodes[0]
    text = ast.unparse(first)
    text = text if len(text) <= 60 else text[:57] + "…"
    lines = sorted({node.lineno for node in nodes} - {first.lineno})
    more = f" (also in line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:6]))})" if lines else ""
    what = "the truth of a tensor is asked" if kind == "branch" else "a value is taken out of a tensor"
    when = "training step" if step.trains else "batch"
    message = f"`{text}`: {what} at every {when}{more}; {_ADVICE[kind]}"
    cuda = target == "cuda" or _mentions_gpu(code)
    reason = (
        "the GPU's queue runs empty at every step while Python waits"
        if cuda
        else "nothing on a CPU; on a GPU its queue runs empty at every step"
    )
    gain = 1.15 if cuda else 1.0
    return Finding(
        WAITS, "waits-every-step", code.place(first), code.name, message, "safe-if", (), (), gain,
        gain_reason=reason, assumptions=("nothing in the loop needs the number itself",), worth=4.0 if cuda else 0.5,
    )  # fmt: skip


def _mentions_gpu(code: Code) -> bool:
    """Whether a file moves anything to a device."""
    for node in code.module.code.walk():
        if isinstance(node, ast.Attribute) and node.attr in ("cuda", "device"):
            return True
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("cuda"):
            return True
    return False
