"""What a compiled function does otherwise than an eager one, without anybody saying so.

Dynamo of PyTorch 2.13 replays writes to globals, attributes, lists, dicts, sets, closures and buffers after the graph
has run, so those are kept. Three things are not: the streams of random numbers, PyTorch's (Inductor draws its own
unless `torch._inductor.config.fallback_random` is set) and NumPy's, and the cache of `functools.lru_cache`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from strop.source.facts import Reason
from strop.source.hybridize.break_table import random_names
from strop.source.hybridize.syntax import reaching
from strop.source.hybridize.torch_rules import CACHE_BYPASSED, OTHER_RANDOM_NUMBERS
from strop.source.interpret.effects import Effects
from strop.source.interpret.events import Call
from strop.source.interpret.interpreter import Program
from strop.source.project.declarations import Code

_CACHES = ("lru_cache", "cache")
_ATTENTION = "torch.nn.functional.scaled_dot_product_attention"


def silent_changes(program: Program, effects: Effects, id: str) -> list[Reason]:
    """Reasons for results or effects that differ once the function is compiled."""
    if not program.reaches(id, "torch silent", lambda code: any(_draws(program, code)) or _is_cached(code)):
        return []
    found = []
    for other, chain in reaching(program, id):
        code = program.code(other)
        for event in _draws(program, code):
            message = "NumPy's random numbers come from another stream when compiled"
            found.append(Reason(OTHER_RANDOM_NUMBERS, message, event.place, chain))
        if other != id and _is_cached(code) and effects.has(other) is not False:
            message = f"`{code.name}` is cached, and does what it does at every call when compiled"
            found.append(Reason(CACHE_BYPASSED, message, chain[-1] if chain else code.place(), chain))
    return found


def streams(program: Program, id: str) -> list[str]:
    """What must not matter for results to stay the same: operations that draw random numbers."""
    if not program.reaches(id, "torch streams", lambda code: any(_random(program, code))):
        return []
    found: dict[str, None] = {}
    for other, _ in reaching(program, id):
        for event, target in _random(program, program.code(other)):
            name = target.removesuffix(".__call__")
            text = "compiled code has a stream of its own, unless `torch._inductor.config.fallback_random` is set"
            found[f"`{name}` at {event.place} may draw other random numbers: {text}"] = None
    return list(found)


def _random(program: Program, code: Code) -> Iterator[tuple[Call, str]]:
    if isinstance(code.node, (ast.Module, ast.ClassDef)):
        return
    for event in program.events(code.id):
        if not isinstance(event, Call):
            continue
        given = dict(event.kwargs)
        for target in event.targets:
            if target == _ATTENTION:
                rate = given.get("dropout_p")
                if rate is not None and rate.constant() != 0:
                    yield event, target
            elif target not in random_names() or "generator" in given:
                continue
            elif "training" not in given or given["training"].constant() is not False:
                yield event, target


def _draws(program: Program, code: Code) -> Iterator[Call]:
    if isinstance(code.node, (ast.Module, ast.ClassDef)):
        return
    for event in program.events(code.id):
        if isinstance(event, Call) and any(target.startswith("numpy.random.") for target in event.targets):
            yield event


def _is_cached(code: Code) -> bool:
    return code.decorated(*_CACHES)
