"""The checks that rules may ask for under `where:` and `refuse unless:`; each answers with a reason when it says no."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from strop.source.adopt.architecture import Match, Node
from strop.source.adopt.build import same as is_same
from strop.source.adopt.callers import callers
from strop.source.adopt.flow import exclusive
from strop.source.adopt.masks import is_finite, shows_diagonal
from strop.source.adopt.ranks import rank
from strop.source.project.declarations import Module, last_word, walk

Check = Callable[..., str]
GUARDS: dict[str, Check] = {}


def guard(check: Check) -> Check:
    """Register a check under its name; its first argument is the match, the others what the rule gives."""
    GUARDS[check.__name__] = check
    return check


def _node(match: Match, name: str) -> Node | None:
    return match.bound.get(name)


def _plain(node: Node) -> Node:
    while node.kind in ("cast", "contiguous", "clone") and node.inputs:
        node = node.inputs[0]
    return node


@guard
def scalar(match: Match, name: str) -> str:
    """`x` is a number, not a tensor, or a buffer that holds one (absent counts)."""
    node = _node(match, name)
    plain = _plain(node) if node is not None else None
    held = plain is None or plain.is_scalar or plain.number_held is not None
    return "" if held else f"`{name}` may be a tensor"


@guard
def tensor(match: Match, name: str) -> str:
    """`x` is not known to be a number."""
    node = _node(match, name)
    return "" if node is None or not _plain(node).is_scalar else f"`{name}` is a number"


@guard
def parameter(match: Match, name: str) -> str:
    """`x` is a parameter or buffer of the model."""
    node = _node(match, name)
    return "" if node is None or _plain(node).kind in ("parameter", "input", "phi") else f"`{name}` is not a parameter"


@guard
def number(match: Match, name: str, value: Any = None) -> str:
    """`x` is a constant (of this value)."""
    node = _node(match, name)
    if node is None or (node.kind == "const" and (value is None or node.value == value)):
        return ""
    return f"`{name}` is not the constant {value}" if value is not None else f"`{name}` is not a constant"


@guard
def bound(match: Match, name: str) -> str:
    """The optional part is there."""
    return "" if name in match.bound else f"there is no `{name}`"


_PROJECTIONS = ("linear", "matmul", "conv1d", "conv2d", "einsum", "module", "call", "unknown", "index", "setitem")
_ON_THE_WAY = (
    "item", "element", "chunk", "split", "index", "unbind", "slice", "view", "cast", "contiguous", "clone", "transpose",
    "permute", "dropout", "add", "mul", "clamp", "flatten", "squeeze", "unsqueeze",
)  # fmt: skip


@guard
def projected(match: Match, name: str) -> str:
    """`x` comes from a linear layer (or a part of its result)."""
    node = _node(match, name)
    if node is None:
        return ""
    return "" if _projection(node) is not None or _is_half(node) else f"`{name}` does not come from a projection"


def _is_half(node: Node) -> bool:
    """A part of one tensor, as `chunk` and its kin give it."""
    for _ in range(4):
        if node.kind == "item" and node.inputs[0].kind in ("chunk", "split", "unbind"):
            return True
        if node.kind == "slice" and "step" in node.attributes:
            return True
        if node.kind not in ("cast", "clamp", "contiguous", "clone", "add") or not node.inputs or _shifts(node):
            return False
        node = node.inputs[0]
    return False


def _projection(node: Node) -> Node | None:
    for _ in range(8):
        node = node.inputs[0] if node.kind == "phi" else node
        if node.kind in ("linear", "matmul", "conv1d", "conv2d", "einsum") or _is_projection_module(node):
            return node
        if node.kind not in _ON_THE_WAY or not node.inputs or _shifts(node):
            return None
        node = node.inputs[0]
    return None


def _shifts(node: Node) -> bool:
    """`x + 1`: no longer a projection, as `x + bias` still is."""
    return node.kind == "add" and any(one.is_scalar for one in node.inputs)


def _is_projection_module(node: Node) -> bool:
    if node.kind not in ("module", "call"):
        return False
    made = node.definition.made_by if node.definition is not None else node.text
    return any(word in made.lower() for word in ("linear", "conv1d", "proj", "dense"))


@guard
def same_source(match: Match, one: str, other: str) -> str:
    """Two values that are not the same come from projections of one tensor, or are parts of one."""
    left, right = _node(match, one), _node(match, other)
    if left is None or right is None:
        return ""
    if is_same(_unscaled(left), _unscaled(right)):
        return f"`{one}` and `{other}` are one value"
    sources = [_sources(left), _sources(right)]
    common = any(is_same(a, b) for a in sources[0] for b in sources[1])
    return "" if common else f"`{one}` and `{other}` are made of different tensors"


def _unscaled(node: Node) -> Node:
    """A value without casts and factors that are numbers."""
    node = _plain(node)
    while node.kind == "mul" and any(one.is_scalar for one in node.inputs):
        node = _plain(next((one for one in node.inputs if not one.is_scalar), node.inputs[0]))
    return node


def _sources(node: Node) -> list[Node]:
    """What a value is made of, step by step back to what its projection reads."""
    found = []
    for _ in range(12):
        node = node.inputs[0] if node.kind == "phi" else node
        found.append(node)
        if not node.inputs or (node.kind not in _ON_THE_WAY and _projection(node) is not node):
            break
        node = node.inputs[0]
    return found


@guard
def may_be(match: Match, one: str, other: str) -> str:
    """`one` is `other`, unless an argument is given that no caller in the file gives."""
    left, right = _node(match, one), _node(match, other)
    if left is None or right is None or is_same(left, right):
        return ""
    held = _unless_given(match, left, right) or _unless_given(match, right, left)
    return "" if held else f"`{one}` is another value than `{other}`"


def _unless_given(match: Match, choice: Node, value: Node) -> bool:
    """One branch of `choice` is the value, the others are arguments that are never given."""
    if choice.kind != "phi":
        return False
    others = [_plain(arm) for arm in choice.inputs if not is_same(arm, value)]
    if len(others) == len(choice.inputs) or not all(_is_optional(match, arm) for arm in others):
        return False
    return not any(_is_given(match, arm) for arm in others)


@guard
def one_way(match: Match, *names: str) -> str:
    """No other branch calls one of these layers with an argument that is given only sometimes."""
    for name in names:
        call = _node(match, name)
        if call is None:
            continue
        for other in match.graph.nodes:
            again = other.kind == call.kind and other.definition is call.definition and bool(other.inputs)
            if again and other is not call and exclusive(other, call) and _is_given(match, _plain(other.inputs[0])):
                return f"another branch gives other values to `{name}`"
    return ""


def _is_given(match: Match, node: Node) -> bool:
    """An optional argument of the method that some caller gives."""
    cls, code = match.graph.cls, match.graph.code
    if cls is None or not _is_optional(match, node):
        return False
    return callers(code.module).give(cls, code, node.text)


def _is_optional(match: Match, node: Node) -> bool:
    parameter = next((p for p in match.graph.code.parameters if p.name == node.text), None)
    default = parameter.default if node.kind == "input" and parameter is not None else None
    return isinstance(default, ast.Constant) and default.value is None


@guard
def equal(match: Match, one: str, other: str) -> str:
    """Two metavariables are always the same value."""
    left, right = _node(match, one), _node(match, other)
    if left is None or right is None or is_same(left, right):
        return ""
    return f"`{one}` and `{other}` are the same value in one branch only"


@guard
def named(match: Match, name: str, text: str) -> str:
    """An attribute or call of this name: `named(g, ".grad")`."""
    node = _node(match, name)
    return "" if node is None or node.text == text else f"`{name}` is not `{text}`"


@guard
def looped(match: Match, name: str) -> str:
    """`x` is the variable of a loop: some element of what is iterated over."""
    node = _node(match, name)
    while node is not None and node.kind in ("element", "detach") and node.inputs:
        node = node.inputs[0]
    index = node.attributes.get("index") if node is not None and node.kind == "item" else None
    return "" if index is not None and index.kind == "symbol" else f"`{name}` is not the variable of a loop"


@guard
def plain_product(match: Match, one: str, other: str) -> str:
    """Neither operand of an einsum has to be permuted to be a matrix product."""
    views = [_node(match, one), _node(match, other)]
    moved = any(node is not None and "equation" in node.attributes for node in (*views, *match.root.users))
    return "something would have to be permuted" if moved else ""


@guard
def inverse(match: Match, one: str, other: str) -> str:
    """Two permutations undo each other."""
    orders = [node.value for name in (one, other) if (node := _node(match, name)) is not None]
    if len(orders) != 2 or not all(isinstance(order, tuple) and order for order in orders):
        return "the permutations are not known"
    there, back = ([dim % len(order) for dim in order] for order in orders)
    undone = len(there) == len(back) and [there[dim] for dim in back] == list(range(len(there)))
    return "" if undone else "the permutations do not undo each other"


@guard
def fusable_gradients(match: Match) -> str:
    """No file of the project makes sparse gradients or complex parameters, which fused optimizers do not take."""
    project = match.graph.project
    modules = (match.code.module,) if project is None else tuple(project.scanned.values())
    return next((why for module in modules if (why := _unfusable(module))), "")


@guard
def not_given_to(match: Match, function: str) -> str:
    """The call is no argument of this function, nor is a name that it is assigned to."""
    call = match.root.expression
    names = {
        target.id
        for node in walk(match.code.module.tree.body)
        if isinstance(node, ast.Assign) and node.value is call
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    calls = (node for node in walk(match.code.module.tree.body) if isinstance(node, ast.Call))
    taken = (arg for c in calls if function in (getattr(c.func, s, "") for s in ("attr", "id")) for arg in c.args)
    given = any(arg is call or (isinstance(arg, ast.Name) and arg.id in names) for arg in taken)
    return f"it is given to `{function}`" if given else ""


@lru_cache(maxsize=512)
def _unfusable(module: Module) -> str:
    for node in walk(module.tree.body):
        if isinstance(node, ast.keyword) and node.arg == "sparse" and getattr(node.value, "value", True):
            return f"line {node.value.lineno} of {module.name} may make sparse gradients"
        if isinstance(node, ast.Attribute) and node.attr in _COMPLEX:
            return f"line {node.lineno} of {module.name} makes complex tensors"
        if isinstance(node, ast.Call) and _is_sparse_lookup(node):
            return f"line {node.lineno} of {module.name} may make sparse gradients"
        makes = isinstance(node, ast.Call) and last_word(node.func) in ("Parameter", "register_parameter")
        if isinstance(node, ast.Call) and makes and any(map(_makes_complex, walk(node.args))):
            return f"line {node.lineno} of {module.name} makes complex tensors"
    return ""


_COMPLEX = ("complex64", "complex128", "cfloat", "cdouble", "chalf", "view_as_complex")
_COMPLEX_RESULTS = ("complex", "polar", "fft", "rfft", "ifft", "fft2", "rfft2", "fftn", "rfftn")
_LOOKUPS = {"Embedding": 6, "EmbeddingBag": 6, "from_pretrained": 6, "embedding": 6, "embedding_bag": 7}


def _is_sparse_lookup(call: ast.Call) -> bool:
    """An embedding that is told by position that its gradients are sparse."""
    given = call.args[_LOOKUPS.get(last_word(call.func), len(call.args)) :][:1]
    return any(getattr(value, "value", True) for value in given)


def _makes_complex(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return last_word(node.func) in _COMPLEX_RESULTS
    return isinstance(node, ast.Constant) and isinstance(node.value, complex)


@guard
def one_path(match: Match, *names: str) -> str:
    """The values are computed in one call of the function, not in different branches of an `if`."""
    nodes = [node for name in names if (node := _node(match, name)) is not None]
    apart = any(exclusive(a, b) for i, a in enumerate(nodes) for b in nodes[:i])
    return "they stand in different branches" if apart else ""


@guard
def own_call(match: Match, *names: str) -> str:
    """Each of these is called by an expression of its own, not as a member of a Sequential."""
    for name in names:
        node = _node(match, name)
        if node is not None and any(
            other.expression is node.expression and other is not node and not other.is_leaf
            for other in match.graph.nodes
        ):
            return f"`{name}` is called together with other layers"
    return ""


@guard
def keeps_nothing(match: Match) -> str:
    """The function neither stores into attributes or elements nor works in place."""
    for node in match.code.walk():
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            return f"line {node.lineno} stores something that outlives the function"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
            return f"line {node.lineno} works in place"
    return ""


@guard
def not_returned(match: Match, name: str) -> str:
    """An inner value is not also a result of the function, as it is or after a cast, a view, dropout."""
    statement = next(_returning(match, name), None)
    return f"the {name} are returned (line {statement.lineno})" if statement is not None else ""


def always_returned(match: Match, name: str) -> bool:
    """An inner value is a result of every call: no kernel that does without it can take the place."""
    returns = [node for node in match.code.own() if isinstance(node, ast.Return)]
    return bool(returns) and set(returns) <= set(_returning(match, name))


def _returning(match: Match, name: str) -> Iterator[ast.stmt]:
    """The statements that return an inner value."""
    node = _node(match, name)
    todo = [node] if node is not None else []
    seen = set(todo)
    while todo:
        one = todo.pop()
        if one not in match.roots:
            yield from (statement for value, statement in match.graph.returns if value is one)
        for user in one.users:
            if user not in seen and user.kind in _STILL_THE_SAME:
                seen.add(user)
                todo.append(user)


_STILL_THE_SAME = ("cast", "dropout", "phi", "view", "contiguous", "clone", "detach", "tuple", "list", "setitem")


@guard
def hides(match: Match, name: str) -> str:
    """`x` is so low that a score of it never counts, also when it is added instead of put in place."""
    node = _node(match, name)
    if node is None:
        return ""
    node = _plain(node)
    node = node.number_held or node
    if node.kind == "const" and isinstance(node.value, (int, float)) and node.value <= -1e7:
        return ""
    if node.kind == "symbol" and ("finfo" in node.text or "inf" in node.text):
        return ""
    return f"hidden scores become `{node.text or node.value}`, which may still count where a whole row is hidden"


@guard
def vector(match: Match, name: str) -> str:
    """The parameter `x` is not known to have other than one dimension."""
    node = _node(match, name)
    return "" if node is None else _not_a_vector(node)


def _not_a_vector(node: Node, depth: int = 4) -> str:
    given = _plain(node)
    if given.kind == "phi":
        return next((why for arm in given.inputs if depth and (why := _not_a_vector(arm, depth - 1))), "")
    found = _parameter_rank(given)
    if found is None and given.kind == "input" and not _VECTORS.fullmatch(given.text):
        return f"`{given.text}` may have more than one dimension"
    return "" if found in (None, 1) else f"`{given.text}` has {found} dimensions"


@guard
def vector_known(match: Match, name: str) -> str:
    """The parameter `x` is made with one dimension."""
    node = _node(match, name)
    return "" if node is None or _parameter_rank(node) is not None else f"`{_plain(node).text}` has one dimension"


_VECTORS = re.compile(r"(.*_)?(w|b|g|weights?|bias|gamma|beta|gain|scale|shift|alpha)")  #: names of arguments


def _parameter_rank(node: Node | None) -> int | None:
    definition = _plain(node).definition if node is not None else None
    made = next(iter(definition.arguments.values()), None) if definition is not None else None
    return None if made is None else rank(_plain(made))


@guard
def over_last(match: Match, name: str) -> str:
    """A softmax takes the last dimension, a transpose the last two, as far as the number of dimensions is known."""
    node = _node(match, name)
    if node is None:
        return ""
    wanted, found = _wanted_rank(node), rank(node)
    if wanted in (None, 1, 2) or (found is not None and wanted not in (0, found)):
        return f"line {node.place.line} takes other dimensions than the last"
    return ""


@guard
def rank_known(match: Match, name: str) -> str:
    """The number of dimensions that makes a dimension the last one is known."""
    node = _node(match, name)
    wanted = 0 if node is None else _wanted_rank(node) or 0
    if node is None or not wanted or wanted in (rank(node), *map(rank, node.users)):
        return ""
    return f"line {node.place.line} has {wanted} dimensions"


def _wanted_rank(node: Node) -> int | None:
    """With how many dimensions an operation takes the last one or two; 0 if with any, None if with no number."""
    dims = [node.attribute(key) for key in ("dim", "dim0", "dim1") if key in node.attributes]
    if not dims or not all(isinstance(dim, int) for dim in dims):
        return None
    counted = [dim for dim in dims if dim >= 0]
    if len(counted) == 2 or (counted and len(dims) == 1):
        whole = max(counted) + 1
    else:
        whole = counted[0] + (2 if -1 in dims else 1) if counted else 0
    last = {(dim + whole) % whole if whole else dim for dim in dims}
    wanted = set(range(whole - len(dims), whole)) if whole else set(range(-len(dims), 0))
    return whole if last == wanted else None


@guard
def leaves_some(match: Match, hide: str, shown: str, *masks: str) -> str:
    """Something of each row stays visible: a triangle with its diagonal, or numbers that are added and are finite."""
    hidden, seen, added = _node(match, hide), _node(match, shown), [_node(match, mask) for mask in masks]
    whole = hidden is None or shows_diagonal(hidden, hides=True)
    whole = whole and (seen is None or shows_diagonal(seen, hides=False))
    rest = [mask for mask in added if mask is not None and not is_finite(mask)]
    if whole and not rest:
        return ""
    return "no row of scores is hidden completely"


@guard
def by_pairs(match: Match, name: str) -> str:
    """The angles of `x` are those of neighbouring pairs, not of halves one after the other."""
    node = _node(match, name)
    node = _plain(node) if node is not None else None
    return f"`{name}` is repeated by halves" if node is not None and node.kind == "repeat" else ""


@guard
def halves(match: Match) -> str:
    """Slices and chunks of the match divide the last dimension in the middle, without leaving anything out."""
    for node in match.nodes:
        step = node.attributes.get("step")
        if node.kind == "slice" and step is not None and not (step.kind == "const" and step.value in (None, 1)):
            return f"line {node.place.line} takes every other element"
        bound = node.attributes.get("start") or node.attributes.get("stop")
        if node.kind == "slice" and bound is not None and not (bound.text.rstrip(")").endswith("// 2")):
            return f"line {node.place.line} may not divide in the middle"
        if node.kind == "chunk" and (node.attribute("n") != 2 or node.attribute("dim", -1) not in (-1, 3)):
            return f"line {node.place.line} may not divide in the middle"
    return ""


from strop.source.adopt import guards_numbers  # noqa: E402, F401 - its checks register themselves with the above
