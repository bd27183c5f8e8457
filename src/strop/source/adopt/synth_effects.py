"""Writes that a replacement would be moved past: an operand that changes in place between its first use and the place
where the replacement computes everything, and names that are assigned inside of what is replaced."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterable, Iterator

from strop.source.adopt.architecture import Match, Node
from strop.source.adopt.build import same
from strop.source.project.declarations import last_word, walk

#: what switches gradients or precisions for the operations that follow, for a block, or for a function
_MODES = ("no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "autocast", "set_autocast_enabled")


def change_in_between(match: Match) -> ast.AST | None:
    """A write in place after the first operation of a match and before its result, other than those it covers; also
    one by a helper that is called there, to what the match reads."""
    own = [node for node in (*match.nodes, *match.skipped) if node.code is match.code and node.expression is not None]
    covered = {id(node.expression) for node in own}
    starts = [_start(node.expression) for node in own if node.expression is not None]
    end = max(_end(root.expression) for root in match.roots if root.expression is not None)
    for node in match.code.walk():
        changes = writes_in_place(node) or (isinstance(node, ast.Call) and last_word(node.func) in _MODES)
        if changes and id(node) not in covered and min(starts) <= _start(node) < end:
            return node
    read = _read(match)
    for call, written in _written_by_helpers(match):
        if min(starts) <= _start(call) < end and any(id(base) in read for base in _shared(written)):
            return call
    return None


def _written_by_helpers(match: Match) -> Iterator[tuple[ast.AST, Node]]:
    """What helpers of the match's function write to in place, each with the call in the function that leads there."""
    inside = {id(node) for node in (*match.nodes, *match.skipped)}
    for node in match.graph.nodes:
        written = written_to(node)
        if written is None or id(node) in inside:
            continue
        for code, call in node.chain:
            if code is match.code:
                yield call, written


def _read(match: Match) -> set[int]:
    """Ids of the values that a match reads or makes, and of all whose memory they may share."""
    values = [*match.nodes, *match.skipped, *match.bound.values()]
    return {id(base) for node in values for one in (node, *node.inputs) for base in _shared(one)}


def other_block(match: Match) -> Node | None:
    """A part of a match in another `with` block than its result, or in a function with such a decorator: gradients may
    be switched off there, or another precision on. The replacement would be in one of the two."""
    around = [(node, _blocks_around(node)) for node in (*match.nodes, *match.skipped) if node.expression is not None]
    own = {id(root) for root in match.roots}
    wanted = next((blocks for node, blocks in around if id(node) in own), None)
    return next((node for node, blocks in around if wanted is not None and blocks != wanted), None)


def _blocks_around(node: Node) -> frozenset[int]:
    """Ids of the `with` statements around an operation, of its function and of those that it was reached through."""
    places = [*node.chain, (node.code, node.expression)]
    found: set[int] = set()
    for code, at in places:
        found |= {id(one) for one in code.walk() if isinstance(one, (ast.With, ast.AsyncWith)) and _holds(one, at)}
    return frozenset(found | {id(code.node) for code, _ in places[1:] if code.decorated(*_MODES)})


def _holds(block: ast.With | ast.AsyncWith, at: ast.AST | None) -> bool:
    return at is not None and _start(block.body[0]) <= _start(at) < _end(block)


def reads_names_by_text(match: Match) -> ast.Call | None:
    """A call that may read any variable: what is dead by its name is not dead then."""
    calls = (node for node in match.code.walk() if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    return next((call for call in calls if _reads_by_text(call)), None)


def _reads_by_text(call: ast.Call) -> bool:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    return name in ("locals", "eval", "exec") or (name == "vars" and not call.args)


def names_of_one_value(match: Match) -> tuple[str, str] | None:
    """Two names of the source that the analysis takes for one value, both read by a match.

    They may be one value; if the analysis is wrong, the replacement would take one of them twice.
    """
    graph = match.graph
    inside = {id(node) for node in (*match.nodes, *match.skipped)}
    held: dict[int, str] = {}
    for node in match.nodes:
        if node.code is not graph.code or node.chain or node.expression is None:
            continue
        for read in walk([node.expression]):
            if not isinstance(read, ast.Name) or read.id not in graph.bindings:
                continue
            value = graph.value(read.id, node.number)
            if value is None or value.is_scalar or id(value) in inside:
                continue
            other = held.setdefault(id(value), read.id)
            if other != read.id:
                return other, read.id
    return None


def change_afterwards(match: Match) -> Node | None:
    """A write in place, after a match, to one of its operands or its result, or through a view of what it reads.

    A kernel keeps other tensors for its gradient than the formula did: with such a write autograd would refuse it, or
    would have refused the formula.
    """
    if all(node.definition is not None for node in match.nodes):
        return None  # layers that are called as before wherever gradients are wanted
    inside = {id(node) for node in (*match.nodes, *match.skipped)}
    kept = {id(base) for node in match.bound.values() if id(node) not in inside for base in _shared(node)}
    if match.rule.family not in _KEEP_OPERANDS:
        kept |= {id(base) for root in match.roots for base in _shared(root)}
    touched = _read(match)
    first = min(root.number for root in match.roots)
    for node in match.graph.nodes:
        written = written_to(node)
        if written is None or id(node) in inside or written.is_scalar:
            continue
        if written.kind in _VIEWS and any(id(base) in touched for base in _shared(written)):
            return node  # a write through a view: the names of what it changes still hold the old value for the graph
        if (node.number > first or _in_loop(match, node)) and any(id(base) in kept for base in _shared(written)):
            return node
    return None


def change_of_a_copy(match: Match) -> Node | None:
    """A write in place to one of two values that a match takes for one: a tensor and its copy, or what is computed
    twice from one tensor. A write that gives a name its new value in the graph makes two values of them by itself."""
    through = match.rule.patterns[0].through
    values = {id(one): one for node in match.nodes for one in node.inputs if not one.is_scalar}
    inside = {id(node) for node in (*match.nodes, *match.skipped)}
    writes = [(node, to) for node in match.graph.nodes if id(node) not in inside and (to := written_to(node))]
    for one, other in itertools.combinations(values.values(), 2) if writes else ():
        chains = _chain(one, through), _chain(other, through)
        if not same(chains[0][-1], chains[1][-1]):
            continue
        sides = [{id(node): node for last in chain[-1:] for node in (*chain, *_made_of(last))} for chain in chains]
        apart = [
            node for node in (*sides[0].values(), *sides[1].values()) if id(node) not in sides[0].keys() & sides[1]
        ]
        touched = {id(base) for side in sides for node in side.values() for base in _shared(node)}
        first = min((node.number for node in apart), default=match.root.number)
        for node, written in writes:
            if node.number > first and any(id(base) in touched for base in _shared(written)):
                return node
    return None


def _chain(node: Node, through: Collection[str]) -> list[Node]:
    """A value, and what it is a copy of, step by step."""
    chain = [node]
    while chain[-1].kind in through and chain[-1].inputs:
        chain.append(chain[-1].inputs[0])
    return chain


def _made_of(node: Node, depth: int = 3) -> Iterator[Node]:
    """What a value is computed from, as far as two computations are compared."""
    for one in node.inputs if depth else ():
        yield one
        yield from _made_of(one, depth - 1)


def written_to(node: Node) -> Node | None:
    """The value that an operation writes to, if it does: `x.add_(y)`, `x += y`, `x[0] = y`, `relu(x, inplace=True)`."""
    if not node.inputs or node.expression is None:
        return None
    if node.kind == "setitem" or node.attribute("inplace") is True or writes_in_place(node.expression):
        return node.inputs[0]
    return None


#: operations whose result may share memory with their operand
_VIEWS = frozenset({
    "view", "flatten", "unflatten", "permute", "transpose", "transpose2", "squeeze", "unsqueeze", "expand", "slice",
    "index", "item", "element", "chunk", "split", "unbind", "narrow", "cast", "contiguous", "detach", "phi", "loop",
    "tuple", "list", "setitem", "dropout", "identity", "unknown", "call",
})  # fmt: skip
#: families whose kernels keep nothing of their result
_KEEP_OPERANDS = ("activation", "norm", "gated_mlp", "rotary")


def _shared(node: Node) -> Iterator[Node]:
    """A value and everything whose memory it may share."""
    seen: set[int] = set()
    todo = [node]
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if one.kind in _VIEWS:
            todo += one.inputs
        elif (written := written_to(one)) is not None:
            todo.append(written)


def _in_loop(match: Match, node: Node) -> bool:
    """Whether a loop runs an operation again after the match."""
    loops = [n for n in match.code.walk() if isinstance(n, (ast.For, ast.While, ast.AsyncFor))]
    lines = [one.place.line for one in (node, match.root) if one.code is match.code]
    return any(all(n.lineno <= line <= (n.end_lineno or 0) for line in lines) for n in loops)


def assigned_inside(expressions: Iterable[ast.AST]) -> ast.NamedExpr | None:
    """`(a := …)` within expressions."""
    return next((n for one in expressions for n in ast.walk(one) if isinstance(n, ast.NamedExpr)), None)


def writes_in_place(node: ast.AST) -> bool:
    """`x.add_(y)`, `init.zeros_(x)`, `x += y`, `x[i] = y`, `f(…, out=x)`, `relu(x, inplace=True)`, and methods whose
    name is found while the program runs: `getattr(x, name)(y)`"""
    if isinstance(node, ast.AugAssign):
        return True
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, (ast.Store, ast.Del))
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if isinstance(node.func, ast.Call) and getattr(node.func.func, "id", "") == "getattr" and len(node.func.args) > 1:
        name = getattr(node.func.args[1], "value", "any_")
    if name.endswith("_") and not name.startswith("_"):
        return True
    return any(
        keyword.arg == "out" or (keyword.arg == "inplace" and getattr(keyword.value, "value", True) is not False)
        for keyword in node.keywords
    )


def _start(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
