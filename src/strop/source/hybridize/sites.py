"""Models that are best compiled where they are made: `model.compile()` after the assignment.

A class of a library, or of a file outside the scan, has no `forward` here that could carry a decorator, and what calls
the model is often a loop that cannot be compiled itself. `Module.compile()` keeps the object, its type and the names of
its parameters as they are. It is offered, never taken for safe: whether a model runs often enough to pay for compiling
is not in its constructor.

    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU())   →   net = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
                                                          net.compile()
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from strop.source.code import Class, Code
from strop.source.entries import ancestor_names
from strop.source.events import Call
from strop.source.facts import Edit, Finding, Place
from strop.source.heap import Object
from strop.source.hybridize.choose import is_chosen, status
from strop.source.hybridize.recompiles import is_in_loop
from strop.source.hybridize.syntax import value_of
from strop.source.hybridize.torch_rules import TO_GRAPH
from strop.source.interpret import Program
from strop.source.values import Unknown, Value, join_all

_MODELS = frozenset(
    f"torch.nn.{name}"
    for name in ("Sequential", "Transformer", "TransformerEncoder", "TransformerDecoder", "TransformerEncoderLayer")
)
#: libraries of models, whose constructors say nothing of what they return
_MAKERS = ("torchvision.models.", "timm.create_model", "transformers.Auto", "segmentation_models_pytorch.")
_RECURRENT = ("torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN")
_COMPILES = frozenset(["torch.compile", "torch.nn.Module.compile", "torch.jit.script", "torch.jit.trace"])
_MAX_NESTING = 6


def findings(program: Program) -> list[Finding]:
    """The places in scanned files where a model could be compiled at once."""
    found = []
    for module in program.modules.values():
        if "torch" not in module.imports:
            continue
        for code in (module.code, *module.functions):
            found += [_finding(code, statement) for statement in _assignments(code) if _pays(program, code, statement)]
    return found


def _assignments(code: Code) -> Iterator[ast.Assign]:
    """`name = call(…)`, and `self.name = call(…)`, alone on their lines."""
    statements = [node for node in code.own() if isinstance(node, ast.stmt)]
    for node in statements:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.value, ast.Call):
            continue
        alone = all(other is node or other.lineno != node.end_lineno for other in statements)
        if alone and isinstance(node.targets[0], (ast.Name, ast.Attribute)) and node.col_offset == _indent(node):
            yield node


def _indent(node: ast.stmt) -> int:
    return node.targets[0].col_offset if isinstance(node, ast.Assign) else node.col_offset


def _pays(program: Program, code: Code, statement: ast.Assign) -> bool:
    target = statement.targets[0]
    if isinstance(target, ast.Attribute) and (
        not isinstance(target.value, ast.Name) or code.cls is None or _is_module(program, code.cls)
    ):
        return False  # a part of another model is compiled with it
    value = value_of(program, code, statement.value)
    if value is None or not value.atoms:
        return False
    models = value.objects()
    if models and len(models) == len(value.atoms):
        found = all(_is_model(program, model) and _is_run_eagerly(program, model) for model in models)
    else:
        found = _comes_from_library(value) and isinstance(target, ast.Name) and _is_called(code, target.id)
    return found and not _is_repeated(program, code, statement)


def _is_repeated(program: Program, code: Code, statement: ast.Assign) -> bool:
    """In a loop, or in a function that loops call: every new model would be compiled anew."""
    if is_in_loop(code, code.place(statement)):
        return True
    return any(is_in_loop(program.code(caller), place) for caller, place in program.callers(code.id))


def _is_module(program: Program, cls: Class) -> bool:
    return "torch.nn.Module" in ancestor_names(program, cls)


def _is_model(program: Program, obj: Object) -> bool:
    """A model whose class is not of the scanned files, and which holds together as one graph."""
    if isinstance(obj.cls, Class):
        outside = obj.cls.module not in program.modules.values()
        return outside and _is_module(program, obj.cls) and _holds_together(program, obj, _MAX_NESTING)
    return obj.cls in _MODELS and _holds_together(program, obj, _MAX_NESTING)


def _holds_together(program: Program, obj: Object, depth: int) -> bool:
    if isinstance(obj.cls, Class):
        forwards = [c for c in obj.cls.module.codes.values() if c.cls is obj.cls and c.short == "forward" and c.nodes]
        return bool(forwards) and all(status(program, code.id).whole for code in forwards)
    if obj.cls.startswith(_RECURRENT) or not depth:
        return False
    parts = join_all([obj.contents(), *(cell.value for cell in obj.attributes.values())])
    return not parts.is_unknown() and all(_holds_together(program, part, depth - 1) for part in parts.objects())


def _is_run_eagerly(program: Program, obj: Object) -> bool:
    """Something calls the model that is not, and will not be, compiled; and nothing compiles the model yet."""
    users = program.users_of(obj)
    if not users or _is_compiled(program, obj):
        return False
    return any(
        isinstance(program.code(user).node, ast.Module) or not is_chosen(program, user, frozenset()) for user in users
    )


def _is_compiled(program: Program, obj: Object) -> bool:
    for id in [module.code.id for module in program.modules.values()] + list(program.functions):
        for event in program.events(id):
            if isinstance(event, Call) and not _COMPILES.isdisjoint(event.targets):
                given = [*event.args, *([event.receiver] if event.receiver is not None else [])]
                if any(obj in value.atoms for value in given):
                    return True
    return False


def _comes_from_library(value: Value) -> bool:
    return all(isinstance(a, Unknown) and a.why.removeprefix("result of `").startswith(_MAKERS) for a in value.atoms)


def _is_called(code: Code, name: str) -> bool:
    """`name(…)` is there, and `name.compile()` and `torch.compile(name)` are not."""
    called = False
    for node in code.module.code.walk():
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == name:
            called = True
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "compile":
            owner = node.func.value
            if any(isinstance(part, ast.Name) and part.id == name for part in (owner, *node.args)):
                return False
    return called


def _finding(code: Code, statement: ast.Assign) -> Finding:
    name = ast.unparse(statement.targets[0])
    file, last = code.module.file, statement.end_lineno or statement.lineno
    call = " " * statement.col_offset + f"{name}.compile()"
    if last < code.module.lines:
        edit = Edit(Place(file, last + 1, 0, last + 1, 0), f"{call}\n")
    else:
        column = statement.end_col_offset or 0
        edit = Edit(Place(file, last, column, last, column), f"\n{call}")
    message = f"`{name}` can be compiled where it is made: `{name}.compile()`, if it runs often enough to pay for that"
    return Finding(TO_GRAPH, "compile", code.place(statement), code.name, message, "safe-if", (edit,))
