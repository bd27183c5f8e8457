"""Quick fixes for graph breaks: edits that keep what the function computes.

    if c: y = a                     y = torch.where(c, a, b)
    else: y = b

    return a if c else b            return torch.where(c, a, b)

    x / x.max().item()              x / x.max().detach()

    print(x.shape)                  if not torch.compiler.is_compiling():
                                        print(x.shape)

`torch.where` computes both sides; the fix is safe when both are plain arithmetic on the same tensors with whole numbers
(so shapes and dtypes agree), and rests on that assumption otherwise. A guarded print says nothing once compiled: that
is an assumption, too.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from strop.source.facts import Edit, Finding, Place, Safety
from strop.source.hybridize import recompiles
from strop.source.hybridize.break_rules import Break
from strop.source.hybridize.syntax import node_at, parents_of
from strop.source.hybridize.torch_rules import RECOMPILES_PER_VALUE
from strop.source.interpret.events import Call
from strop.source.interpret.interpreter import Program
from strop.source.project.declarations import Code

_PURE = """
abs exp log sqrt relu sigmoid tanh sin cos neg square clamp round floor ceil detach clone contiguous float double log1p
expm1 softmax log_softmax rsqrt reciprocal sign erf
"""
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult)


@dataclass(frozen=True)
class Fix:
    """The edits for one break, if there are any, and what they rest on."""

    edits: tuple[Edit, ...] = ()
    safety: Safety = "unsafe"
    imports: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()


NO_FIX = Fix()


def fix(program: Program, code: Code, b: Break) -> Fix:
    """The quick fix for a break, or none."""
    maker = {
        "data-dependent-branch": _where,
        "tensor-to-python": _detach,
        "print-or-log": _guarded,
    }.get(b.rule)
    return maker(program, code, b) if maker is not None else NO_FIX


# -- torch.where -------------------------------------------------------------------------------------------------------


def _where(program: Program, code: Code, b: Break) -> Fix:
    test = node_at(program, code, b.place)
    if not isinstance(test, ast.expr):
        return NO_FIX
    parent = parents_of(program, code).get(test)
    if isinstance(parent, ast.IfExp) and parent.test is test:
        return _replaced(program, code, parent, test, parent.body, parent.orelse, "{}")
    if not isinstance(parent, ast.If) or parent.test is not test:
        return NO_FIX
    body, other = _single(parent.body), _single(parent.orelse)
    if isinstance(body, ast.Assign) and isinstance(other, ast.Assign) and len(body.targets) == len(other.targets) == 1:
        target = body.targets[0]
        if isinstance(target, ast.Name) and ast.dump(target) == ast.dump(other.targets[0]):
            return _replaced(program, code, parent, test, body.value, other.value, f"{target.id} = {{}}")
    if isinstance(body, ast.Return) and not parent.orelse:
        other = _next(program, code, parent)
        if isinstance(other, ast.Return) and body.value is not None and other.value is not None:
            return _replaced(program, code, parent, test, body.value, other.value, "return {}", other)
    if (
        isinstance(body, ast.Return)
        and isinstance(other, ast.Return)
        and body.value is not None
        and other.value is not None
    ):
        return _replaced(program, code, parent, test, body.value, other.value, "return {}")
    return NO_FIX


def _single(statements: list[ast.stmt]) -> ast.stmt | None:
    return statements[0] if len(statements) == 1 else None


def _next(program: Program, code: Code, node: ast.stmt) -> ast.stmt | None:
    parent = parents_of(program, code).get(node)
    block: list[ast.stmt] = getattr(parent, "body", [])
    index = block.index(node) if node in block else len(block)
    return block[index + 1] if index + 1 < len(block) else None


def _replaced(
    program: Program,
    code: Code,
    old: ast.AST,
    test: ast.expr,
    yes: ast.expr,
    no: ast.expr,
    form: str,
    end: ast.AST | None = None,
) -> Fix:
    if not (_is_pure(program, code, yes) and _is_pure(program, code, no)):
        return NO_FIX
    first, last = code.place(old), code.place(end or old)
    place = Place(first.file, first.line, first.column, last.end_line, last.end_column)
    text = form.format(f"torch.where({ast.unparse(test)}, {ast.unparse(yes)}, {ast.unparse(no)})")
    same = _is_plain(yes) and _is_plain(no) and _names(yes) == _names(no) and len(_names(yes)) == 1
    if same:
        return Fix((Edit(place, text),), "safe", ("import torch",))
    return Fix((Edit(place, text),), "safe-if", ("import torch",), ("both sides have the same shape and dtype",))


def _is_pure(program: Program, code: Code, node: ast.expr) -> bool:
    """Tensor arithmetic without effects: evaluating it when it is not needed changes nothing."""
    tensors = False
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            event = _event(program, code, inner)
            if event is None or event.functions or not event.targets or not all(_is_harmless(t) for t in event.targets):
                return False
        elif not isinstance(
            inner,
            (
                ast.BinOp,
                ast.UnaryOp,
                ast.Name,
                ast.Constant,
                ast.Attribute,
                ast.operator,
                ast.unaryop,
                ast.expr_context,
            ),
        ):
            return False
        tensors = tensors or isinstance(inner, ast.Name)
    return tensors


def _is_harmless(target: str) -> bool:
    last = target.rpartition(".")[2]
    return target.startswith(("torch.", "torch.nn.functional.")) and last in _PURE.split()


def _is_plain(node: ast.expr) -> bool:
    """Names and whole numbers under `+`, `-` and `*`: shape and dtype are those of the name."""
    if isinstance(node, ast.Name):
        return True
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, (ast.USub, ast.UAdd)) and _is_plain(node.operand)
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, _ARITHMETIC)
        and _is_plain(node.left)
        and _is_plain(node.right)
    )


def _names(node: ast.expr) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _event(program: Program, code: Code, node: ast.AST) -> Call | None:
    place = code.place(node)
    return next((e for e in program.events(code.id) if isinstance(e, Call) and e.place == place), None)


# -- .item() -----------------------------------------------------------------------------------------------------------


def _detach(program: Program, code: Code, b: Break) -> Fix:
    """`.item()` that only goes into tensor arithmetic becomes `.detach()`: without dimensions it acts like a number."""
    node = node_at(program, code, b.place)
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or node.func.attr != "item"
        or node.args
    ):
        return NO_FIX
    parent = parents_of(program, code).get(node)
    if isinstance(parent, ast.BinOp):
        fits = _meets_tensor(program, code, parent)
    elif isinstance(parent, ast.Assign) and parent.value is node and isinstance(parent.targets[0], ast.Name):
        fits = _used_in_arithmetic(program, code, parent.targets[0].id)
    else:
        return NO_FIX
    if not fits:
        return NO_FIX
    end = code.place(node)
    start = code.place(node.func.value)
    place = Place(end.file, start.end_line, start.end_column, end.end_line, end.end_column)
    return Fix((Edit(place, ".detach()"),), "safe")


def _meets_tensor(program: Program, code: Code, node: ast.BinOp) -> bool:
    event = _event(program, code, node)
    return (
        event is not None and any(t.startswith("torch.Tensor.") for t in event.targets) and event.result.only_tensors()
    )


def _used_in_arithmetic(program: Program, code: Code, name: str) -> bool:
    """Every use of the variable is an operand of an operator whose result is a tensor."""
    parents = parents_of(program, code)
    uses = [n for n in code.walk() if isinstance(n, ast.Name) and n.id == name]
    loads = [n for n in uses if isinstance(n.ctx, ast.Load)]
    if len(uses) - len(loads) != 1 or not loads:
        return False
    return all(isinstance(p := parents.get(n), ast.BinOp) and _meets_tensor(program, code, p) for n in loads)


# -- print -------------------------------------------------------------------------------------------------------------


def _guarded(program: Program, code: Code, b: Break) -> Fix:
    """A statement that only prints is skipped while a graph is made."""
    node = node_at(program, code, b.place)
    parent = parents_of(program, code).get(node) if node is not None else None
    if not isinstance(parent, ast.Expr) or parent.lineno != parent.end_lineno:
        return NO_FIX
    siblings = parents_of(program, code).get(parent)
    block = [s for name in ("body", "orelse", "finalbody") for s in getattr(siblings, name, ())]
    if (
        any(s is not parent and s.lineno == parent.lineno for s in block)
        or getattr(siblings, "lineno", 0) == parent.lineno
    ):
        return NO_FIX
    column = parent.col_offset
    place = Place(code.module.file, parent.lineno, column, parent.lineno, column)
    text = "if not torch.compiler.is_compiling():\n" + " " * (column + 4)
    return Fix((Edit(place, text),), "safe-if", ("import torch",), ("nobody needs the text once it is compiled",))


# -- numbers as arguments ----------------------------------------------------------------------------------------------


def lifted_numbers(program: Program, code: Code) -> list[Finding]:
    """Numbers that differ from call to call, as tensors: one graph for all of them."""
    found = []
    for name, place in recompiles.numbers(program, code.id):
        message = f"`{name}` is a Python number that differs from call to call: one more compilation; pass a tensor"
        edits = _lifted(program, code, name)
        found.append(
            Finding(
                RECOMPILES_PER_VALUE,
                "recompiles-per-value",
                place,
                code.name,
                message,
                "safe-if",
                edits,
                ("import torch",),
                assumptions=("the function computes the same with a tensor of no dimensions",),
                worth=2.0,
            )
        )
    return found


def _lifted(program: Program, code: Code, name: str) -> tuple[Edit, ...]:
    """`f(x, k)` → `f(x, torch.tensor(k))` at every call, where the number is a plain positional or keyword argument."""
    index = [p.name for p in code.parameters if p.name != code.receiver()].index(name)
    edits = []
    for caller, place in program.callers(code.id):
        node = next(
            (
                n
                for n in program.code(caller).walk()
                if isinstance(n, ast.Call) and (n.lineno, n.col_offset) == (place.line, place.column)
            ),
            None,
        )
        if node is None or any(isinstance(a, ast.Starred) for a in node.args):
            return ()
        argument = next(
            (k.value for k in node.keywords if k.arg == name), node.args[index] if len(node.args) > index else None
        )
        if argument is None:
            continue
        spot = program.code(caller).place(argument)
        edits.append(Edit(Place(spot.file, spot.line, spot.column, spot.line, spot.column), "torch.tensor("))
        edits.append(Edit(Place(spot.file, spot.end_line, spot.end_column, spot.end_line, spot.end_column), ")"))
    return tuple(edits)
