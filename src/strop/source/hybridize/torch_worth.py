"""What compiling a function is worth: the units of all operations in it and in what it calls, with and without a graph.

Operations in loops count several times, whichever alternative is called counts by the mean, and the estimate says in
words what it rests on.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from strop.source.facts import Place
from strop.source.hybridize.guards import Span
from strop.source.hybridize.syntax import node_at, owner_of
from strop.source.hybridize.torch_operations import ENTRY, FUSED, UNCHANGED, cost_of, kind_of
from strop.source.interpret.events import Call
from strop.source.interpret.heap import Object
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import Const, Primitive, Unknown, Value
from strop.source.project.declarations import Code

_ROUNDS = 4.0  #: what a loop whose length nobody knows counts for
_MAX_WEIGHT = 64.0
_SMALL = 256  #: features up to which a layer is mostly overhead
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
#: what models are called
MODEL_NAMES = re.compile(
    r"(\w+\.)*_*(model|net|network|generator|discriminator|actor|critic|policy|encoder|decoder|classifier|unet|"
    r"transformer|backbone|denoiser|feature_extractor|\w+_(model|net))$"
)
_NOUNS = {
    "product": "matrix products",
    "small product": "small matrix products",
    "convolution": "convolutions",
    "transposed convolution": "transposed convolutions",
    "1-d convolution": "convolutions of sequences",
    "attention": "attention kernels",
    "transformer": "transformer layers",
    "recurrent": "recurrent layers",
    "library": "library calls",
    "layer": "layers of other packages",
    "model": "models that are passed in",
}


@dataclass
class Estimate:
    """Units of a function: by itself, compiled, and how many operations of each kind."""

    eager: float = 0.0
    compiled: float = 0.0
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, other: Estimate, weight: float = 1.0) -> None:
        self.eager += weight * other.eager
        self.compiled += weight * other.compiled
        for kind, count in other.kinds.items():
            self.kinds[kind] += count * weight  # type: ignore[assignment]

    @property
    def operations(self) -> float:
        """Tensor operations; views are none."""
        return sum(count for kind, count in self.kinds.items() if kind != "free")

    @property
    def gain(self) -> float:
        """How many times as fast a compiled call is."""
        return self.eager / (self.compiled + ENTRY) if self.eager else 1.0

    @property
    def saved(self) -> float:
        return max(0.0, self.eager - self.compiled - ENTRY)

    def reason(self) -> str:
        """What the gain rests on, in words."""
        every = max(self.operations, 1.0)
        fused = sum(self.kinds[kind] for kind in FUSED) / every
        kept = {_NOUNS[kind]: self.kinds[kind] / every for kind in UNCHANGED if self.kinds[kind] >= 0.005 * every}
        text = f"{fused:.0%} of its operations are element-wise, reductions or norms, which fuse"
        if kept:
            text += "; " + ", ".join(f"{share:.0%} {noun}" for noun, share in kept.items()) + " stay as they are"
        return text


#: a part of a file: its name, first and last position
Region = tuple[str, Span]
_NOTHING: frozenset[Region] = frozenset()


class _KnownWorth:
    def __init__(self) -> None:
        self.estimates: dict[tuple[Code, str, frozenset[Region], Code | None], Estimate] = {}
        self.masks: dict[Code, int] = {}
        self.loops: dict[Code, list[tuple[ast.AST, int, int]]] = {}
        self.counts: dict[tuple[Object, int], Counter[str]] = {}


_known: WeakKeyDictionary[Program, _KnownWorth] = WeakKeyDictionary()


def _of(program: Program) -> _KnownWorth:
    found = _known.get(program)
    if found is None:
        found = _known[program] = _KnownWorth()
    return found


def estimate(
    program: Program,
    code: Code,
    target: str,
    left_out: frozenset[Region] = _NOTHING,
    compiled: Code | None = None,
) -> Estimate:
    """The units of a function and of everything that it calls, but for regions of which it is assumed that they do
    not run; with one function that it calls compiled already, if that is asked."""
    if compiled is code:
        found = estimate(program, code, target, left_out)
        return Estimate(found.compiled + ENTRY, found.compiled, found.kinds)
    if compiled is not None and not leads_to(program, code, compiled):
        compiled = None
    kept = _of(program).estimates
    key = code, target, left_out, compiled
    if key not in kept:
        kept[key] = Estimate()  # a function that calls itself counts once
        found = Estimate()
        for event in program.events(code.id):
            if isinstance(event, Call) and not _is_left_out(event.place, left_out):
                part = event_estimate(program, event, target, left_out, compiled)
                found.add(part, rounds(program, code, event.place))
        kept[key] = found
    return kept[key]


def leads_to(program: Program, code: Code, inner: Code) -> bool:
    """Whether a call of one function may come to a call of the other."""
    graph, masks = program.graph_of_calls(), _of(program).masks
    if inner not in masks:
        masks[inner] = sum(1 << graph.index[node] for node in inner.nodes.values() if node in graph.index)
    mask = masks[inner]
    return any(
        graph.reach[graph.component[graph.index[node]]] & mask for node in code.nodes.values() if node in graph.index
    )


def _is_left_out(place: Place, left_out: frozenset[Region]) -> bool:
    at = place.line, place.column
    return any(file == place.file and start <= at < end for file, (start, end) in left_out)


def event_estimate(
    program: Program,
    event: Call,
    target: str,
    left_out: frozenset[Region] = _NOTHING,
    compiled: Code | None = None,
) -> Estimate:
    """The units of one call: of one of its alternatives, or of all members of an `nn.Sequential`."""
    parts: list[Estimate] = []
    sequence = "torch.nn.Sequential.__call__" in event.targets
    counts = _counted(program, event.callee.objects()) if sequence and event.callee is not None else Counter[str]()
    for name in library_targets(program, event):
        if name.startswith("torch.Tensor.") and _may_be_text(event.receiver):
            continue  # an option, which only passes where tensors pass, too
        kind = kind_of(name)
        if kind == "product" and _is_small(event, name):
            kind = "small product"
        if kind == "dropout" and _drops_nothing(program, event, name):
            kind = "free"
        if kind != "free":
            cost, part = cost_of(kind, target), Estimate()
            weight = max(counts[name.removesuffix(".__call__")], 1.0)
            part.add(Estimate(cost.eager, cost.compiled, Counter({kind: 1})), weight)
            parts.append(part)
    for id in event.functions:
        code = program.code(id)
        if code.short != "__init__" and not isinstance(code.node, ast.ClassDef):
            part = Estimate()
            times = max(counts[code.cls.name] if code.cls is not None else 1.0, 1.0)
            part.add(estimate(program, code, target, left_out, compiled), times)
            parts.append(part)
    if not parts and not event.functions and is_unknown_layer(program, event):
        made = (
            any(isinstance(atom, Unknown) and layer_of(atom) for atom in event.callee.atoms) if event.callee else False
        )
        kind = "layer" if made else "model"
        cost = cost_of(kind, target)
        parts.append(Estimate(cost.eager, cost.compiled, Counter({kind: 1})))
    whole = Estimate()
    share = 1.0 if sequence else 1.0 / max(len(parts), 1)
    for part in parts:
        whole.add(part, share)
    return whole


def _may_be_text(value: Value | None) -> bool:
    return value is not None and any(isinstance(a, (Const, Primitive)) and a.type == "str" for a in value.atoms)


def _counted(program: Program, models: list[Object], depth: int = 4) -> Counter[str]:
    """How often each class is a member of `nn.Sequential`s, on the mean; as often as a loop where a loop makes it."""
    found: Counter[str] = Counter()
    for model in models:
        for obj in _held(model):
            share = _times(program, obj) / len(models)
            found[obj.class_name()] += share  # type: ignore[assignment]
            if depth and obj.cls == "torch.nn.Sequential":
                for name, count in _counted_in(program, obj, depth - 1).items():
                    found[name] += share * count  # type: ignore[assignment]
    return found


def _counted_in(program: Program, model: Object, depth: int) -> Counter[str]:
    """The same for one model, which many others may hold."""
    kept = _of(program).counts
    if (model, depth) not in kept:
        kept[model, depth] = _counted(program, [model], depth)
    return kept[model, depth]


def _held(model: Object) -> list[Object]:
    """The layers that a model of the library holds."""
    return [*model.contents().objects(), *(obj for cell in model.attributes.values() for obj in cell.value.objects())]


def _times(program: Program, obj: Object) -> float:
    if obj.owner is None:
        return 1.0
    code = obj.owner.code
    around = [first <= obj.line <= last for _, first, last in _loops(program, code)]
    return min(_ROUNDS ** sum(around), _MAX_WEIGHT)


def is_unknown_layer(program: Program, event: Call) -> bool:
    """A layer that another package made is called."""
    atoms = event.callee.atoms if event.callee is not None and not library_targets(program, event) else ()
    if any(isinstance(atom, Unknown) and layer_of(atom) for atom in atoms):
        return True
    unknown = any(isinstance(atom, Unknown) for atom in atoms)
    return unknown and any(value.holds_tensor() for value in event.args) and _is_named_model(program, event)


def _is_named_model(program: Program, event: Call) -> bool:
    """`model(x)`, `self.net(x)`: what stands around it is small beside it."""
    owner = owner_of(program, event.place)
    node = node_at(program, owner, event.place) if owner is not None else None
    return isinstance(node, ast.Call) and MODEL_NAMES.match(ast.unparse(node.func)) is not None


def library_targets(program: Program, event: Call) -> list[str]:
    """The library functions that a call may mean; a method that no layer has, like `nn.ReLU.lower`, is none."""
    found = []
    for target in event.targets:
        owner, _, name = target.rpartition(".")
        is_method = owner.startswith("torch.nn.") and not name.startswith("__") and program.apis.is_class(owner)
        api = program.apis.find(target) if is_method else None
        if api is None or api.listed:
            found.append(target)
    return found


def layer_of(atom: Unknown) -> str:
    """The class or factory of another package that made a value: `timm.layers.Mlp`; empty when it is no layer."""
    made = atom.why.removeprefix("result of `").rstrip("`") if atom.why.startswith("result of `") else ""
    last = made.rpartition(".")[2]
    if made.partition(".")[0] in sys.stdlib_module_names:
        return ""
    return made if "." in made and (last[:1].isupper() or last.startswith(("create_", "get_", "build_"))) else ""


def _is_small(event: Call, name: str) -> bool:
    """A layer whose sizes are constants, and few: launching it costs more than computing it."""
    if not name.endswith(".__call__") or event.callee is None:
        return False
    word = name.removesuffix(".__call__").rpartition(".")[2]
    layers = [obj for obj in _members(event.callee.objects()) if obj.class_name().rpartition(".")[2] == word]
    return bool(layers) and all(_has_small_sizes(obj, word) for obj in layers)


def _drops_nothing(program: Program, event: Call, name: str) -> bool:
    """`nn.Dropout(0.0)`, which models keep for those who want it."""
    if not name.endswith(".__call__") or event.callee is None:
        return False
    word = name.removesuffix(".__call__")
    layers = [obj for obj in _members(event.callee.objects()) if obj.cls == word]
    return bool(layers) and all(_is_made_with_zero(program, obj) for obj in layers)


def _is_made_with_zero(program: Program, obj: Object) -> bool:
    for made in program.events(obj.owner.code.id) if obj.owner is not None else ():
        if isinstance(made, Call) and obj in made.result.atoms:
            given = made.args[0] if made.args else dict(made.kwargs).get("p")
            return given is not None and all(isinstance(a, Const) and a.constant == 0 for a in given.atoms)
    return False


def _members(objects: list[Object], depth: int = 3) -> list[Object]:
    found = list(objects)
    for obj in objects if depth else ():
        found += _members(_held(obj), depth - 1)
    return found


def _has_small_sizes(obj: Object, word: str) -> bool:
    if obj.owner is None:
        return False
    code = obj.owner.code
    defaults = {p.name: p.default for p in code.parameters}
    for node in code.walk():
        if not isinstance(node, ast.Call) or node.lineno != obj.line:
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called == word and len(node.args) >= 2:
            return all(_is_few(size, defaults) for size in node.args[:2])
    return False


def _is_few(size: ast.expr, defaults: dict[str, ast.expr | None]) -> bool:
    if isinstance(size, ast.Name):
        default = defaults.get(size.id)
        return default is not None and _is_few(default, {})
    if isinstance(size, ast.BinOp) and isinstance(size.op, ast.Mult):
        return _is_few(size.left, defaults) and _is_few(size.right, defaults)
    return isinstance(size, ast.Constant) and isinstance(size.value, int) and size.value <= _SMALL


def rounds(program: Program, code: Code, place: Place) -> float:
    """What a place counts for by the loops of its function around it."""
    return min(_ROUNDS ** loops_around(program, code, place), _MAX_WEIGHT)


def loops_around(program: Program, code: Code, place: Place) -> int:
    """How many loops of its function run a place again and again; a loop over a short display counts as none."""
    found = _loops(program, code)
    return sum(first <= place.line <= last and not _is_header(node, place) for node, first, last in found)


def sources_around(program: Program, code: Code, place: Place) -> list[ast.expr]:
    """What the loops of a function around a place walk over."""
    loops = [(node, last) for node, _, last in _loops(program, code) if isinstance(node, (ast.For, ast.AsyncFor))]
    return [node.iter for node, last in loops if node.body[0].lineno <= place.line <= last]


def _loops(program: Program, code: Code) -> list[tuple[ast.AST, int, int]]:
    kept = _of(program).loops
    if code not in kept:
        kept[code] = [
            (node, node.lineno, node.end_lineno or node.lineno) for node in code.own() if isinstance(node, _LOOPS)
        ]
    return kept[code]


def _is_header(node: ast.AST, place: Place) -> bool:
    """What stands in `for … in HERE:` runs once, and so does what stands around a comprehension on its lines."""
    at = place.line, place.column
    if isinstance(node, (ast.For, ast.AsyncFor)):
        first = node.body[0]
        return at < (first.lineno, first.col_offset) or _is_after(node, at)
    if isinstance(node, ast.While):
        return _is_after(node, at)
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return not _holds(node, at) or _holds(node.generators[0].iter, at)
    return False


def _holds(node: ast.expr, at: tuple[int, int]) -> bool:
    return (node.lineno, node.col_offset) <= at < (node.end_lineno or 0, node.end_col_offset or 0)


def _is_after(node: ast.For | ast.AsyncFor | ast.While, at: tuple[int, int]) -> bool:
    """The `else` of a loop runs once."""
    return bool(node.orelse) and at >= (node.orelse[0].lineno, node.orelse[0].col_offset)
