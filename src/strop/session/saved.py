"""Sessions as files and as scripts: what was done by hand, of which model, with which options.

A file is JSON. It holds text only: passes are parsed, never evaluated, and nothing in it is executed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

from strop.core.extensions import registry
from strop.core.options import Options
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.core.version import __version__
from strop.session.edits import Edits

FORMAT, VERSION = "strop session", 3
MOST_BYTES = 64 << 20  # of a file: passes by hand are text


@dataclass(frozen=True)
class SavedProgram:
    """What was done by hand to one captured graph."""

    graph: str  # its key: passes by hand name its nodes
    branches: dict[str, list[str]]  # passes by hand, as each call of `apply` was given them
    branch: str  # the one that was current

    @property
    def passes(self) -> dict[str, Edits]:
        """What each call of `apply` was given, by branch."""
        return {
            name: tuple(passes for text in edits if (passes := tuple(Pass.parse_all(text))))
            for name, edits in self.branches.items()
        }


@dataclass(frozen=True)
class SavedSession:
    """What has to be known to do the same again."""

    model: str  # `package.module:factory`, a file, or a network of the zoo; empty where nobody told
    training: bool
    options: dict[str, Any]
    threads: int
    target: str
    programs: dict[str, SavedProgram]  # `program` or, of a training step, `forward` and `backward`
    strop: str = __version__

    def write(self, path: Path) -> None:
        """Write the file, or leave what was there."""
        text = json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, indent=1) + "\n"
        scratch = path.with_name(f".{path.name}.part")
        try:
            scratch.write_text(text, encoding="utf-8")
            scratch.replace(path)
        except OSError as error:
            scratch.unlink(missing_ok=True)
            raise Problem("STR306", f"`{path}` cannot be written: {error.strerror}") from error

    @staticmethod
    def read(path: Path) -> SavedSession:
        """The session that a file holds; a Problem where it does not hold one of this version."""
        try:
            if path.stat().st_size > MOST_BYTES:
                raise _unreadable(path, f"it has more than {MOST_BYTES >> 20} MB")
            data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise Problem("STR306", f"`{path}` cannot be read: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise _unreadable(path, f"it is not JSON ({error})") from error
        if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
            raise _unreadable(path, "it is something else")
        version = data.pop("version", None)
        if version != VERSION:
            raise Problem("STR306", f"`{path}` holds a session of format {version!r:.20}; this Strop reads {VERSION}",
                          help="save it again with this version of Strop")  # fmt: skip
        if data.keys() != {f.name for f in fields(SavedSession)}:
            raise _unreadable(path, "entries are missing, or there are others")
        wrong = next((name for name, kind in _KINDS.items() if type(data[name]) is not kind), None)
        if wrong is not None or not _are_programs(data["programs"]):
            raise _unreadable(path, f"`{wrong or 'programs'}` is of another kind")
        programs = {name: SavedProgram(**one) for name, one in data.pop("programs").items()}
        return SavedSession(**data, programs=programs)

    @property
    def passes(self) -> dict[str, dict[str, Edits]]:
        """What each call of `apply` was given, by program and branch."""
        registry.load()  # some may be passes of extensions
        return {name: one.passes for name, one in self.programs.items()}

    @contextmanager
    def told(self, path: str | PathLike[str]) -> Iterator[None]:
        """What is refused inside is told of the file, with the version of Strop that has written it."""
        try:
            yield
        except Problem as problem:
            other = f"it was saved by Strop {self.strop:.20}, this is {__version__}"
            said = (problem.help, other if self.strop != __version__ else "")
            help = "; ".join(filter(None, said)) or "session.space() lists what can be applied"
            raise Problem(problem.code, f"`{path}`: {problem.message}", where=problem.where, help=help) from problem

    def session_options(self) -> Options:
        known = {f.name for f in fields(Options)}
        unknown = next((name for name in self.options if name not in known), None)
        if unknown is not None:
            raise Problem("STR306", f"the saved session has an option `{unknown}`, which this Strop does not know",
                          help=f"take it out of the file; options are: {', '.join(sorted(known))}")  # fmt: skip
        return Options(**self.options)

    def script(self) -> str:
        """A Python program that does the same again."""
        given = {**self.options, "threads": self.threads}
        told = {name: value for name, value in given.items() if value != getattr(Options(), name)}
        options = ", ".join(f"{name}={value!r}" for name, value in told.items())
        how = f"options=strop.Options({options}){', training=True' if self.training else ''}"
        if self.model:
            made = [f"session = strop.Session.of({self.model!r}, {how})"]
        else:
            made = ["model, inputs = ...  # the model that this session was made of, and its example inputs",
                    f"session = strop.Session(model, inputs, {how})"]  # fmt: skip
        about = (
            f"A session of {self.model or 'a model'} for {self.target}, {self.threads} threads (Strop {self.strop})."
        )
        lines = [repr(about), "", "import strop", "", *made]  # names in it may hold quotes
        for name, program in self.programs.items():
            steered = f"session.halves[{name!r}]" if self.training else "session"
            lines += [f"{steered}.apply({one!r})" for one in program.branches[program.branch]]
        return "\n".join([*lines, "print(session.digest)"]) + "\n"


_KINDS = {"model": str, "training": bool, "options": dict, "threads": int, "target": str, "strop": str}


def _are_programs(programs: object) -> bool:
    return isinstance(programs, dict) and bool(programs) and all(map(_is_program, programs.values()))


def _is_program(program: object) -> bool:
    if not isinstance(program, dict) or program.keys() != {f.name for f in fields(SavedProgram)}:
        return False
    branches, current = program["branches"], program["branch"]
    if not isinstance(program["graph"], str) or not isinstance(current, str) or not isinstance(branches, dict):
        return False
    lists = branches.values()
    texts = all(isinstance(edits, list) and all(isinstance(one, str) for one in edits) for edits in lists)
    return texts and current in branches


def _unreadable(path: Path, why: str) -> Problem:
    return Problem("STR306", f"`{path}` does not hold a session: {why}", help="Session.save(path) writes one")
