"""Models that are best compiled where they are made: `model.compile()` after the assignment.

`Module.compile()` keeps the object, its type and the names of its parameters as they are, and a model that is made but
never called costs nothing. It is offered, never taken for safe: whether a model runs often enough to pay for compiling
is not in its constructor.

    net = Net(64).to(device)   →   net = Net(64).to(device)
                                   net.compile()
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from strop.source.facts import Edit, Finding, Place
from strop.source.hybridize.calling import exported, forwards_of, how_often, is_module, is_test
from strop.source.hybridize.choose import status
from strop.source.hybridize.purpose import backend_of, is_trained, table_of
from strop.source.hybridize.syntax import owner_of, span
from strop.source.hybridize.torch_operations import WORTH_SAYING
from strop.source.hybridize.torch_rules import TO_GRAPH
from strop.source.hybridize.torch_worth import Estimate, estimate, event_estimate, loops_around
from strop.source.interpret.events import Call
from strop.source.interpret.heap import Object
from strop.source.interpret.interpreter import Program
from strop.source.interpret.joins import join_all
from strop.source.interpret.values import Atom, Unknown, Value
from strop.source.project.declarations import Class, Code

_MODELS = frozenset(
    f"torch.nn.{name}"
    for name in ("Sequential", "Transformer", "TransformerEncoder", "TransformerDecoder", "TransformerEncoderLayer")
)
#: what makes models in libraries whose tables and configurations decide which
_MAKERS = re.compile(
    r"torchvision\.models\.|timm\.create_model$|segmentation_models_pytorch\.|"
    r"(transformers|diffusers)\.(\w*Model|\w+For[A-Z]\w+)(\.from_\w+)?$"
)
_RECURRENT = ("torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN")
_COMPILES = frozenset(
    ["torch.compile", "torch.nn.Module.compile", "torch.jit.script", "torch.jit.trace", "torch.onnx.export"]
)
_MAX_NESTING = 6
_MAX_ASSUMPTIONS = 4  #: assumptions about code of installed packages that are spelled out
_MAX_DOUBTS = 10  #: a class with more has options by the dozen: counting all of them says nothing of one model
#: units of a model that a registry or a configuration makes, by the tables under which most of them gain
_UNSEEN = {"cuda": (45.0, 36.0), "cpu, strop": (45.0, 26.0), "cpu, strop, training": (45.0, 30.0)}
_OFTEN_ENOUGH = "it runs often enough to pay for compiling it"

Site = tuple[Code, ast.Assign]


class _KnownSites:
    """Assignments of models, and what is compiled already, found once per program."""

    def __init__(self, program: Program) -> None:
        self.sites = [
            (code, statement, value)
            for module in program.modules.values()
            if "torch" in module.imports or any(name in module.imports for name in ("timm", "lightning"))
            for code in (module.code, *module.functions)
            for statement, value in _models(program, code)
        ]
        self.compiled: set[Object] = set()
        for id in [module.code.id for module in program.modules.values()] + list(program.functions):
            for event in program.events(id):
                if isinstance(event, Call) and not _COMPILES.isdisjoint(event.targets):
                    given = [*event.args, *([event.receiver] if event.receiver is not None else [])]
                    self.compiled |= {obj for value in given for obj in value.objects()}


_known: WeakKeyDictionary[Program, _KnownSites] = WeakKeyDictionary()


def _of(program: Program) -> _KnownSites:
    found = _known.get(program)
    if found is None:
        found = _known[program] = _KnownSites(program)
    return found


def _models(program: Program, code: Code) -> Iterator[tuple[ast.Assign, Value]]:
    """`name = call(…)`, and `self.name = call(…)` in what is no model itself, alone on their lines."""
    statements = [node for node in code.own() if isinstance(node, ast.stmt)]
    lines = Counter(line for node in statements for line in {node.lineno, node.end_lineno})
    results: dict[tuple[int, int, int, int], Value] = {}
    for node in statements:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.value, ast.Call):
            continue
        target = node.targets[0]
        if not isinstance(target, (ast.Name, ast.Attribute)) or node.col_offset != target.col_offset:
            continue
        if isinstance(target, ast.Attribute) and (
            not isinstance(target.value, ast.Name) or code.cls is None or is_module(program, code.cls)
        ):
            continue  # a part of another model is compiled with it
        if lines[node.end_lineno or 0] > 1 or ast.unparse(node.value.func).endswith("deepcopy"):
            continue  # a copy is for an average or for saving
        if not results:
            results = {span(e.place): e.result for e in program.events(code.id) if isinstance(e, Call)}
        value = results.get(span(code.place(node.value)))
        if value is not None and value.atoms:
            yield node, value


def compiled_forwards(program: Program) -> list[Code]:
    """The `forward` of every model that is compiled as an object: `model.compile()`, `torch.compile(model)`."""
    models = sorted(_of(program).compiled, key=lambda obj: obj.line)
    return [code for obj in models if isinstance(obj.cls, Class) for code in forwards_of(program, obj.cls)]


def made_at(program: Program, forward: Code) -> list[Site]:
    """The lines that make a model of this class which something calls again and again, the best one first."""
    found = []
    for code, statement, models in run_often(program):
        if all(isinstance(m.cls, Class) and forward in forwards_of(program, m.cls) for m in models):
            found.append((_is_returned(code, statement), code, statement))
    return [(code, statement) for _, code, statement in sorted(found, key=lambda site: site[0])]


def run_often(program: Program) -> Iterator[tuple[Code, ast.Assign, list[Object]]]:
    """The lines that make models which something calls again and again and nothing compiles, with those models."""
    for code, statement, value in _of(program).sites:
        models = value.objects()
        if not models or len(models) != len(value.atoms) or is_test(program, code):
            continue
        if _is_run_often(program, models) and not _is_repeated(program, code, statement):
            yield code, statement, models


def is_made(program: Program, forward: Code) -> bool:
    """Whether a scanned file makes the model for itself, outside of other models and of tests."""
    for code, _, value in _of(program).sites:
        if is_test(program, code) or isinstance(code.node, ast.Module):
            continue
        for obj in value.objects():
            if isinstance(obj.cls, Class) and forward in forwards_of(program, obj.cls) and program.users_of(obj):
                return True
    return False


def _is_returned(code: Code, statement: ast.Assign) -> bool:
    """A factory makes the model for somebody else."""
    name = ast.unparse(statement.targets[0])
    return any(isinstance(n, ast.Return) and n.value is not None and ast.unparse(n.value) == name for n in code.own())


def _is_run_often(program: Program, models: list[Object]) -> bool:
    if not _of(program).compiled.isdisjoint(models):
        return False
    return any(True for obj in models for _ in hot_calls(program, obj))


def hot_calls(program: Program, obj: Object) -> Iterator[Call]:
    """Calls of a model in loops, or in functions that run often, and are not compiled."""
    for user in dict.fromkeys(program.users_of(obj)):
        code = program.code(user)
        if code in program.graphs or is_test(program, code):
            continue
        module = isinstance(code.node, (ast.Module, ast.ClassDef))
        often = not module and how_often(program, code) == "often"
        for event in program.events(user):
            if not isinstance(event, Call) or event.callee is None or obj not in event.callee.atoms:
                continue
            if often or loops_around(program, code, event.place):
                yield event


def _is_repeated(program: Program, code: Code, statement: ast.Assign) -> bool:
    """In a loop, or in a function that loops call: every new model would be compiled anew."""
    if loops_around(program, code, code.place(statement)):
        return True
    return any(loops_around(program, program.code(caller), place) for caller, place in program.callers(code.id))


# -- models without a class in the scanned files -----------------------------------------------------------------------


def library_models(program: Program, target: str, with_strop: bool) -> list[tuple[Finding, float]]:
    """Models of library classes and of files outside the scan, which have no `forward` here that could be decorated."""
    found = []
    taken: set[Object] = set()
    unseen = [(code, statement) for code, statement, _ in unseen_models(program)]
    for code, statement, value in _of(program).sites:
        if is_test(program, code) or _is_repeated(program, code, statement):
            continue
        models = value.objects()
        if models and len(models) == len(value.atoms):
            table = _figures(program, models, target, with_strop)
            if taken.isdisjoint(models) and table in _UNSEEN and _is_followed_in_vain(program, models):
                taken |= set(models)
                found.append(_unseen(code, statement, table))
            if not taken.isdisjoint(models) or not all(_is_library_model(program, model) for model in models):
                continue
            worth = call_estimate(program, models, table)
            if worth is None or worth.gain < WORTH_SAYING or not _of(program).compiled.isdisjoint(models):
                continue
            assumed = _assumed(program, models)
            if len(assumed) > _MAX_DOUBTS:
                continue
            taken |= set(models)
            rest = len(assumed) - _MAX_ASSUMPTIONS
            told = assumed if rest <= 0 else (*assumed[:_MAX_ASSUMPTIONS], f"{rest} more of this kind")
            found.append((finding(code, statement, worth, told, table), worth.saved))
        elif (code, statement) in unseen:
            table = table_of(target, is_trained(program, [code.module]), with_strop)
            if table in _UNSEEN:
                found.append(_unseen(code, statement, table))
    return found


def _unseen(code: Code, statement: ast.Assign, table: str) -> tuple[Finding, float]:
    """What most models of packages gain, where nothing is known of this one."""
    worth = Estimate(*_UNSEEN[table])
    return finding(code, statement, worth, ("layers of the package can be traced",), table), worth.saved


def _is_followed_in_vain(program: Program, models: list[Object]) -> bool:
    """Models of packages that are run often, whose options are too many for the analysis, with nothing that ends a
    graph for certain."""
    if not _is_run_often(program, models):
        return False
    for obj in models:
        if not isinstance(obj.cls, Class) or not obj.cls.module.installed or not is_module(program, obj.cls):
            return False
        found = [status(program, forward.id) for forward in forwards_of(program, obj.cls)]
        if not found or any(one.certain or not one.gave_up for one in found):
            return False
    return True


def unseen_models(program: Program) -> Iterator[tuple[Code, ast.Assign, str]]:
    """The lines that have a registry or a configuration make a model which something calls again and again, with the
    name of what makes it."""
    for code, statement, value in _of(program).sites:
        makers = [_maker(atom) for atom in value.atoms]
        if is_test(program, code) or _is_repeated(program, code, statement) or not all(map(_MAKERS.match, makers)):
            continue
        if _is_called_in_loop(program, code, statement):
            yield code, statement, makers[0]


def _figures(program: Program, models: list[Object], target: str, with_strop: bool) -> str:
    users = {program.code(id).module: None for obj in models for id in program.users_of(obj)}
    return table_of(target, is_trained(program, users), with_strop)


def _assumed(program: Program, models: list[Object]) -> tuple[str, ...]:
    """What tracing the forward of a followed class rests on."""
    found: dict[str, None] = {}
    for obj in models:
        for forward in forwards_of(program, obj.cls) if isinstance(obj.cls, Class) else ():
            state = status(program, forward.id)
            for stranger in state.strangers:
                found[f"{stranger.text if stranger.package else f'`{stranger.text}`'} can be traced"] = None
            for one, _ in state.conditional:
                found[f"not (`{one.unless}`) whenever it runs compiled: otherwise {one.message}"] = None
    return tuple(found)


def _is_library_model(program: Program, obj: Object) -> bool:
    """A model whose class is not of the scanned files, and which holds together as one graph."""
    if isinstance(obj.cls, Class):
        outside = obj.cls.module not in program.modules.values()
        return outside and is_module(program, obj.cls) and _holds_together(program, obj, _MAX_NESTING)
    return obj.cls in _MODELS and _holds_together(program, obj, _MAX_NESTING)


def _holds_together(program: Program, obj: Object, depth: int) -> bool:
    if isinstance(obj.cls, Class):
        forwards = [code for code in forwards_of(program, obj.cls) if code.nodes]
        out = exported(program)
        return bool(forwards) and all(status(program, c.id).whole and c not in out for c in forwards)
    if obj.cls.startswith(_RECURRENT) or not depth:
        return False
    parts = join_all([obj.contents(), *(cell.value for cell in obj.attributes.values())])
    return not parts.is_unknown() and all(_holds_together(program, part, depth - 1) for part in parts.objects())


def call_estimate(program: Program, models: list[Object], target: str) -> Estimate | None:
    """What a call of the model costs; None when nothing calls it again and again."""
    for obj in models:
        for event in hot_calls(program, obj):
            forwards = forwards_of(program, obj.cls) if isinstance(obj.cls, Class) else []
            return estimate(program, forwards[0], target) if forwards else event_estimate(program, event, target)
    return None


def _maker(atom: Atom) -> str:
    return atom.why.removeprefix("result of `").rstrip("`") if isinstance(atom, Unknown) else ""


def _is_called_in_loop(program: Program, code: Code, statement: ast.Assign) -> bool:
    """Something of its name is called in a loop or in what runs often, and nothing of its name is compiled."""
    name = ast.unparse(statement.targets[0])
    called = False
    for node in code.module.code.walk():
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr == "compile":
            if name in (ast.unparse(part) for part in (node.func.value, *node.args)):
                return False
        elif ast.unparse(node.func) == name:
            place = code.place(node)
            owner = owner_of(program, place) or code
            often = not isinstance(owner.node, (ast.Module, ast.ClassDef)) and how_often(program, owner) == "often"
            called = called or often or loops_around(program, owner, place) > 0
    return called


def line_after(code: Code, statement: ast.Assign, text: str) -> Edit:
    """A new line behind a statement."""
    file, last = code.module.file, statement.end_lineno or statement.lineno
    line = " " * statement.col_offset + text
    if last < code.module.lines:
        return Edit(Place(file, last + 1, 0, last + 1, 0), f"{line}\n")
    column = statement.end_col_offset or 0
    return Edit(Place(file, last, column, last, column), f"\n{line}")


def finding(code: Code, statement: ast.Assign, worth: Estimate, assumptions: tuple[str, ...], table: str) -> Finding:
    """`name.compile()` on the line after the statement."""
    name = ast.unparse(statement.targets[0])
    compiling = f"{name}.compile{backend_of(table) or '()'}"
    return Finding(
        TO_GRAPH,
        "compile",
        code.place(statement),
        code.name,
        f"`{name}` can be compiled where it is made: `{compiling}`",
        "safe-if",
        (line_after(code, statement, compiling),),
        (),
        round(worth.gain, 2),
        gain_reason=worth.reason() if worth.kinds else "most models of such libraries gain so much",
        assumptions=(*assumptions, _OFTEN_ENOUGH),
        worth=worth.saved,
    )
