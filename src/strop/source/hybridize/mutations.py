"""What a compiled function does otherwise than an eager one, without anybody saying so.

Dynamo of PyTorch 2.13 replays writes to globals, attributes, lists, dicts, sets, closures and buffers after the graph
has run, so those are kept. Two things are not: NumPy's random stream, and the cache of `functools.lru_cache`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from strop.source.code import Code
from strop.source.effects import Effects
from strop.source.events import Call
from strop.source.facts import Reason
from strop.source.hybridize.syntax import reaching
from strop.source.hybridize.torch_rules import CACHE_BYPASSED, OTHER_RANDOM_NUMBERS
from strop.source.interpret import Program

_CACHES = ("lru_cache", "cache")


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


def _draws(program: Program, code: Code) -> Iterator[Call]:
    if isinstance(code.node, (ast.Module, ast.ClassDef)):
        return
    for event in program.events(code.id):
        if isinstance(event, Call) and any(target.startswith("numpy.random.") for target in event.targets):
            yield event


def _is_cached(code: Code) -> bool:
    return code.decorated(*_CACHES)
