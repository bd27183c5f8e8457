"""The file of a CPU: TOML → `Target`. A mistake is a problem that names the line.

    like = "znver3"                  # optional: what is not said is taken from there
    triple = "x86_64-unknown-linux-gnu"
    cpu = "znver3"                   # LLVM's name
    provides = ["avx2", "fma"]       # features that code may use, by LLVM's names
    known_by = ["amx-fp16"]          # features by which a machine is recognised that calls itself otherwise
    sources = ["where the numbers are from"]

`[vectors]`, `[memory]` and `[chip]` hold the numbers of `Target`, `[core]` those of `Ports`, `[core.uses]` a line per
class of instructions. docs/targets.md explains each of them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, NoReturn

from strop.core.problem import Problem
from strop.target.description import KB, MB, TARGETS, Target
from strop.target.plausible import faults, faults_of_ports
from strop.target.ports import Ports, Use

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: where a file says a field of `Target`
PLACES = {
    "triple": "triple", "cpu": "cpu", "features": "features", "provides": "provides", "known_by": "known_by",
    "vector_bits": "vectors.bits", "vector_registers": "vectors.registers", "fma_per_cycle": "vectors.fma_per_cycle",
    "sve_bits": "vectors.sve_bits", "line": "memory.line", "page": "memory.page", "tlb": "memory.tlb",
    "l1": "memory.l1.size", "l2": "memory.l2.size", "l3": "memory.l3.size", "l1_ways": "memory.l1.ways",
    "l2_ways": "memory.l2.ways", "l3_ways": "memory.l3.ways", "l3_share": "memory.l3.share",
    "bandwidth": "memory.bandwidth", "latency": "memory.latency", "hopped": "memory.hopped",
    "ghz": "chip.ghz", "cores": "chip.cores", "fork_join_us": "chip.fork_join_us",
}  # fmt: skip
_NUMBERS_OF_PORTS = {f.name: f for f in fields(Ports) if f.name not in ("name", "uses", "wide")}
_OF_USE = ("ports", "latency", "cycles", "slots")
_SIZE = re.compile(r"(\d+) ?(KB|MB)")
_DEFAULTS = {f.name: f.default for f in fields(Target) if f.default is not MISSING}
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")


def read_cpu(path: Path) -> Target:
    """The description that a file holds; its name is that of the file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Problem("STR407", f"the description of a CPU cannot be read: {error}", where=str(path)) from error
    return _CpuFile(path, text).target()


class _CpuFile:
    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text
        try:
            self.content: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = _AT_LINE.search(str(error))
            at = int(line[1]) if line else text.count("\n") + 1
            told = _AT_LINE.sub("", str(error)).strip()
            raise Problem("STR407", f"not valid TOML: {told}", where=f"{path}:{at}") from None

    def target(self) -> Target:
        self._known_keys()
        like = self._like()
        given: dict[str, Any] = {"name": self.path.stem}
        for name, place in PLACES.items():
            value = self._at(place)
            if value is not None:
                given[name] = self._converted(name, place, value)
            elif like is None and name not in _DEFAULTS:
                self._refuse(place, f"`{place}` is missing", 'or say which one it is `like`: like = "znver3"')
        core = self._ports(like)
        made = replace(like, **{"known_by": (), **given}, core=core) if like is not None else Target(**given, core=core)
        for name, why in faults(made):
            self._refuse(PLACES.get(name, name), f"{PLACES.get(name, name)} {why}")
        return made

    def _like(self) -> Target | None:
        name = self.content.get("like")
        if name is None:
            return None
        if not isinstance(name, str) or name not in TARGETS or name == self.path.stem:
            self._refuse("like", f"there is no description of `{name}`", f"known: {', '.join(TARGETS)}")
        return TARGETS[name]

    def _known_keys(self) -> None:
        tables: dict[str, set[str]] = {"": {"like", "sources", "core"}}
        for place in PLACES.values():
            outer, _, own = place.rpartition(".")
            tables.setdefault(outer, set()).add(own)
            if outer:
                upper, _, table = outer.rpartition(".")
                tables.setdefault(upper, set()).add(table)
        tables["core"] = {*_NUMBERS_OF_PORTS, "uses", "wide"}
        for table, known in tables.items():
            held = self._at(table) if table else self.content
            if held is None:
                continue
            if not isinstance(held, dict):
                self._refuse(table, f"`{table}` must be a table")
            for key in held:
                if key not in known:
                    place = f"{table}.{key}" if table else key
                    self._refuse(place, f"there is no `{place}`", f"known here: {', '.join(sorted(known))}")

    def _converted(self, name: str, place: str, value: Any) -> Any:
        if name in ("l1", "l2", "l3") and isinstance(value, str):
            found = _SIZE.fullmatch(value)
            if found is None:
                self._refuse(place, f'{place} must be a size such as "32 KB" or "1 MB", got "{value}"')
            return int(found[1]) * (KB if found[2] == "KB" else MB)
        return tuple(value) if isinstance(value, list) else value

    def _ports(self, like: Target | None) -> Ports | None:
        held = self.content.get("core")
        if held is None:
            return like.core if like is not None else None
        base = like.core if like is not None else None
        numbers = {name: held[name] for name in _NUMBERS_OF_PORTS if name in held}
        for name, value in numbers.items():
            kind = {"str": str, "bool": bool}.get(str(_NUMBERS_OF_PORTS[name].type), (int, float))
            if not isinstance(value, kind) or (kind not in (bool, str) and isinstance(value, bool)):
                self._refuse(f"core.{name}", f"core.{name} cannot be {value!r}")
        uses, wide = (self._uses(table, held.get(table, {})) for table in ("uses", "wide"))
        if base is not None:
            ports = replace(base, **numbers, uses={**base.uses, **uses}, wide={**base.wide, **wide})
        else:
            for name in ("width", "window", "pipe_bits"):
                if name not in numbers:
                    self._refuse(f"core.{name}", f"`core.{name}` is missing")
            ports = Ports(self.path.stem, **numbers, uses=uses, wide=wide)
        self._all_classes(ports)
        for place, why in faults_of_ports(ports):
            self._refuse(f"core.{place}", f"core.{place}: {why}")
        return replace(ports, name=self.path.stem)

    def _uses(self, table: str, held: Any) -> dict[str, Use]:
        if not isinstance(held, dict):
            self._refuse(f"core.{table}", f"`core.{table}` must be a table")
        found = {}
        for kind, use in held.items():
            place = f"core.{table}.{kind}"
            if not isinstance(use, dict) or not isinstance(use.get("ports"), str):
                self._refuse(place, f'{place} must say its ports: {{ ports = "01", latency = 4 }}')
            for key in use:
                if key not in _OF_USE:
                    self._refuse(place, f"{place}: there is no `{key}`", f"known: {', '.join(_OF_USE)}")
            found[kind] = Use(**use)
        return found

    def _all_classes(self, ports: Ports) -> None:
        """Every class of instructions that the generic description of its architecture has, and no other one."""
        own = str(self.content.get("triple", ""))
        generic = "aarch64" if own.startswith(("aarch64", "arm64")) else "x86-64"
        if self.path.stem == generic:
            return
        known = TARGETS[generic].ports.uses
        for kind in (*ports.uses, *ports.wide):
            if kind not in known and f"core.uses.{kind}" in self._said():
                self._refuse(f"core.uses.{kind}", f"there is no class `{kind}`", f"known: {', '.join(known)}")
        missing = [kind for kind in known if kind not in ports.uses]
        if missing:
            self._refuse("core.uses", f"core.uses lacks {', '.join(missing)}")

    def _said(self) -> set[str]:
        core = self.content.get("core", {})
        return {f"core.{table}.{kind}" for table in ("uses", "wide") for kind in core.get(table, {})}

    def _at(self, place: str) -> Any:
        found: Any = self.content
        for key in place.split("."):
            if not isinstance(found, Mapping) or key not in found:
                return None
            found = found[key]
        return found

    def _refuse(self, place: str, message: str, help: str = "docs/targets.md says what each number means") -> NoReturn:
        raise Problem("STR407", message, where=f"{self.path}:{self._line(place)}", help=help)

    def _line(self, place: str) -> int:
        """Where the file says it; where it does not, the line of the nearest table around it, or the first."""
        table = ""
        lines: dict[str, int] = {}
        for number, line in enumerate(self.text.splitlines(), 1):
            if header := re.match(r"\s*\[+([^\]]+)\]", line):
                table = header[1].strip().replace('"', "")
                lines.setdefault(table, number)
            elif key := re.match(r'\s*("[^"]+"|[\w.-]+)\s*=', line):
                own = key[1].strip('"')
                lines.setdefault(f"{table}.{own}" if table else own, number)
        while place and place not in lines:
            place = place.rpartition(".")[0]
        return lines.get(place, 1)
