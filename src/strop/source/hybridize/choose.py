"""Which functions to compile: the outermost that hold together as one graph, not every leaf.

A function is *covered* when everything that calls it would be compiled itself. What is not worth a graph of its own
(constructors, properties, parts of datasets, both halves of an autograd function) is never chosen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from strop.source.facts import Place
from strop.source.hybridize.break_rules import Break
from strop.source.hybridize.break_table import lookup
from strop.source.hybridize.breaks import breaks, own_breaks
from strop.source.hybridize.mutations import streams
from strop.source.hybridize.parameters import computes_tensors
from strop.source.hybridize.syntax import guards_of, node_at, reaching
from strop.source.hybridize.torch_worth import layer_of, library_targets
from strop.source.interpret.entries import ancestor_names
from strop.source.interpret.events import Call
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import Unknown
from strop.source.project.declarations import Code

#: libraries without a model here, whose functions Dynamo is known to follow
TRACEABLE = (
    "torchvision",
    "timm",
    "transformers",
    "torchaudio",
    "opt_einsum",
    "torchmetrics",
    "jaxtyping",
    "typing_extensions",
)
_NOT_TENSORS = (
    "torch.utils.data.Dataset",
    "torch.optim.Optimizer",
    "torch.autograd.Function",
    "torch.optim.lr_scheduler.LRScheduler",
)


@dataclass(frozen=True)
class Stranger:
    """A call of something that the analysis cannot see."""

    text: str
    place: Place
    chain: tuple[Place, ...]
    argument: bool  #: it was passed in or computed, and may well be traceable; else: a library without a model
    package: str = ""  #: it is a layer of this package


@dataclass
class Status:
    """Everything that a verdict rests on."""

    certain: list[tuple[Break, tuple[Place, ...]]] = field(default_factory=list)
    conditional: list[tuple[Break, tuple[Place, ...]]] = field(default_factory=list)
    strangers: list[Stranger] = field(default_factory=list)
    gave_up: str = ""

    @property
    def whole(self) -> bool:
        """It holds together as one graph, as far as can be seen."""
        return not self.certain and not self.gave_up and all(s.argument for s in self.strangers)


_strange: WeakKeyDictionary[Program, dict[Code, tuple[Stranger, ...]]] = WeakKeyDictionary()
_statuses: WeakKeyDictionary[Program, dict[str, Status]] = WeakKeyDictionary()


def status(program: Program, id: str) -> Status:
    cache = _statuses.setdefault(program, {})
    if id not in cache:
        found = Status(gave_up=program.gave_up(id))
        for b, chain in [*breaks(program, id), *_around(program, id)]:
            (found.conditional if b.unless else found.certain).append((b, chain))
        found.strangers = _strangers(program, id)
        cache[id] = found
    return cache[id]


def _around(program: Program, id: str) -> list[tuple[Break, tuple[Place, ...]]]:
    """Breaks of the function that a decorator puts in its place: that is what gets compiled."""
    code = program.code(id)
    wrapper = program.wrappers.get(code)
    return [(b, (code.place(),)) for b in own_breaks(program, wrapper.id)] if wrapper is not None else []


def _strangers(program: Program, id: str) -> list[Stranger]:
    if not program.reaches(id, "torch strangers", lambda code: bool(_own_strangers(program, code))):
        return []
    found: dict[str, Stranger] = {}
    for other, chain in reaching(program, id):
        for stranger in _own_strangers(program, program.code(other)):
            found.setdefault(stranger.text, replace(stranger, chain=chain))
    return list(found.values())


def _own_strangers(program: Program, code: Code) -> tuple[Stranger, ...]:
    kept = _strange.setdefault(program, {})
    if code not in kept:
        kept[code] = () if isinstance(code.node, (ast.Module, ast.ClassDef)) else tuple(_unseen(program, code))
    return kept[code]


def _unseen(program: Program, code: Code) -> Iterator[Stranger]:
    for event in program.events(code.id):
        if not isinstance(event, Call) or event.functions:
            continue
        targets = library_targets(program, event)
        unseen = [t for t in targets if program.apis.find(t) is None and lookup(program, code, event, t) is None]
        unseen = [t for t in unseen if not t.startswith(("strop.", "builtins."))]
        atoms = event.callee.atoms if event.callee is not None and not targets else ()
        unknown = [atom for atom in atoms if isinstance(atom, Unknown)]
        if not unseen and not unknown:
            continue
        reached = guards_of(program, code).reached(event.place)[0]
        if reached == "never" or guards_of(program, code).is_raising(event.place):
            continue
        layers = [layer for atom in unknown if (layer := layer_of(atom))]
        if layers and len(layers) == len(unknown) and not unseen:
            package = layers[0].partition(".")[0]
            yield Stranger(f"layers of `{package}`", event.place, (), True, package)
            continue
        known = all(t.startswith(TRACEABLE) for t in unseen) and not any(_from_library(atom) for atom in unknown)
        argument = known or reached == "maybe" or code.module.installed
        yield Stranger(_text(program, code, event, unseen), event.place, (), argument)


def _from_library(atom: Unknown) -> bool:
    """A call into a library without a model gave it, and it is no layer: nothing says what it is."""
    return atom.why.startswith("result of `") and not layer_of(atom)


def _text(program: Program, code: Code, event: Call, unseen: list[str]) -> str:
    if unseen:
        return unseen[0]
    node = node_at(program, code, event.place)
    return ast.unparse(node.func) if isinstance(node, ast.Call) else "something unknown"


def is_candidate(program: Program, id: str) -> bool:
    """Whether a function could be compiled by itself at all."""
    code = program.code(id)
    short = code.short
    if short.startswith("__") and short != "__call__":
        return False
    if code.decorated(
        "property", "cached_property", "setter", "getter", "deleter", "lru_cache", "cache", "contextmanager", "fixture"
    ):
        return False
    if code.decorated("disable", "allow_in_graph", "script", "jit", "abstractmethod", "overload"):
        return False
    if code.cls is None:
        return True
    ancestors = ancestor_names(program, code.cls)
    return not any(name in ancestors or name.rpartition(".")[2] in ancestors for name in _NOT_TENSORS)


def is_nested(code: Code) -> bool:
    """A function in a function, which is made anew at every call."""
    return code.parent is not None and not isinstance(code.parent.node, (ast.Module, ast.ClassDef))


def is_covered(program: Program, id: str, seen: frozenset[str] = frozenset()) -> str | None:
    """The function that it is compiled with, if everything that calls it would be compiled."""
    callers = [caller for caller, _ in program.callers(id) if caller != id]
    if not callers:
        return None
    for caller in callers:
        code = program.code(caller)
        if isinstance(code.node, (ast.Module, ast.ClassDef)) or caller in seen:
            return None
        if not isinstance(code.node, ast.Lambda) and not is_chosen(program, caller, seen | {id}):
            return None
        if code not in program.graphs and streams(program, caller) and not streams(program, id):
            return None  # the caller is chosen on weaker grounds
    return callers[0]


def is_chosen(program: Program, id: str, seen: frozenset[str]) -> bool:
    """Compiled already, to be compiled, or covered in turn."""
    mark = program.graph(id)
    if mark is not None and mark.by == "torch.compile":
        return True
    if not status(program, id).whole or not computes_tensors(program, id):
        return False
    return is_candidate(program, id) or is_covered(program, id, seen) is not None
