"""Machine descriptions of extensions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, replace
from typing import Any

from strop.core.extensions import Undo, described, put, refused, registry
from strop.runtime import jit
from strop.target.description import TARGETS, Target
from strop.target.plausible import LISTS, faults


def target(description: Target | Mapping[str, Any]) -> Target:
    """A machine that `Options(target=name)` can name: a `Target`, or a mapping of its fields.

    In a mapping, `like` names the description from which fields that are left out are taken. A file of a CPU
    (docs/targets.md) needs no extension.
    """
    made = description if isinstance(description, Target) else _read(description)
    found = [f"{name} {why}" for name, why in faults(made)]
    if found:
        raise refused("target", made.name, "; ".join(found), help="docs/targets.md says what each number means")
    # the numbers themselves are its version: they are a part of every cache key
    extension = described("target", made.name, (), version=repr(asdict(made)))
    registry.add(extension, lambda: _install(made), lambda: "Strop" if made.name in TARGETS else "")
    return made


def _install(made: Target) -> Undo:
    take_out = put(TARGETS, made.name, made)
    jit.forget_host()

    def undo() -> None:
        take_out()
        jit.forget_host()

    return undo


def _read(description: object) -> Target:
    if not isinstance(description, Mapping):
        raise refused("target", str(description), f"it is a {type(description).__name__}",
                      help="extend.Target(…), or a mapping of its fields")  # fmt: skip
    given = dict(description)
    name = str(given.get("name", ""))
    known = {f.name: f for f in fields(Target)}
    like = given.pop("like", None)
    if like is not None and like not in TARGETS:
        raise refused("target", name, f"there is no description of `{like}`", help=f"known: {', '.join(TARGETS)}")
    unknown = [key for key in given if key not in known]
    if unknown:
        raise refused("target", name, f"there is no `{unknown[0]}`", help=f"fields: {', '.join(known)}")
    needed = [key for key, f in known.items() if f.default is MISSING and key not in given]
    missing = [key for key in needed if like is None or key == "name"]
    if missing:
        raise refused("target", name, f"{', '.join(missing)} missing", help='or say which one it is `like`: "znver3"')
    lists = (*LISTS, "provides")
    given |= {key: tuple(given[key]) for key in lists if isinstance(given.get(key), list)}
    return replace(TARGETS[like], **given) if like is not None else Target(**given)
