"""What the fields of a pass may hold, by their annotations: text and callers may give anything."""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Union, get_args, get_origin, get_type_hints

_NAMES = {"int": "an integer", "str": "a name", "bool": "true or false", "float": "a number", "NoneType": "none"}


def misfit(kind: type[Any], values: Mapping[str, object]) -> str:
    """Which value is of another kind than its field, in words; empty where all fit."""
    known = _annotations(kind)  # type: ignore[arg-type]
    for name, value in values.items():
        if name in known and not _fits(value, known[name]):
            return f"`{name}` is {_told(known[name])}, got {value!r:.60}"
    return ""


@functools.lru_cache(maxsize=256)
def _annotations(kind: type[Any]) -> Mapping[str, Any]:
    """The annotations of its fields; none where they name what can't be found."""
    try:
        found = get_type_hints(kind)
    except Exception:
        return {}
    return {field.name: found[field.name] for field in fields(kind)}


def _fits(value: object, annotation: Any) -> bool:
    """Whether a value is what an annotation says; one that says nothing of values allows all."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in get_args(annotation))
    if origin is tuple:
        parts = get_args(annotation)
        if not isinstance(value, tuple):
            return False
        if len(parts) == 2 and parts[1] is Ellipsis:
            return all(_fits(one, parts[0]) for one in value)
        return len(value) == len(parts) and all(map(_fits, value, parts))
    if annotation in (int, float):
        return isinstance(value, int if annotation is int else int | float) and not isinstance(value, bool)
    return annotation is Any or not isinstance(annotation, type) or isinstance(value, annotation)


def _told(annotation: Any) -> str:
    if get_origin(annotation) is tuple:
        return "a tuple such as (a,b)"
    if get_origin(annotation) in (Union, types.UnionType):
        return " or ".join(map(_told, get_args(annotation)))
    return _NAMES.get(getattr(annotation, "__name__", ""), f"a {annotation}")
