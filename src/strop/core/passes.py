"""Passes as values: a frozen dataclass that says whether it applies, why not, and prints as text that parses back.

    @dataclass(frozen=True)
    class Split(Pass):
        nest: str
        loop: str
        by: int

    str(Split("conv1", "ow", 6)) == "split{nest=conv1 loop=ow by=6}"
    Pass.parse("split{nest=conv1 loop=ow by=6}") == Split("conv1", "ow", 6)

The planner, a saved session and a person all speak this text; nothing else changes a nest.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Literal, get_args

from strop.core.extensions import Extension, described, is_foreign, put, refused, registry
from strop.core.pass_fields import misfit
from strop.core.problem import Problem

#: what passes transform: what a training step keeps, the operator graph, how its nodes are lowered, what planners have
#: to keep to, all nests, the loops of one nest, which nests are interleaved, and where tensors lie in memory
Level = Literal["partition", "graph", "lowering", "constraints", "nests", "loops", "windows", "memory"]
LEVELS: tuple[Level, ...] = get_args(Level)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of a legality check. Truthy when allowed; a refusal always carries its reason."""

    ok: bool
    why: str = ""
    where: str = ""
    needs: str = ""  # of a refusal: what would have to be different

    def __post_init__(self) -> None:
        if not self.ok and not self.why:
            raise ValueError("a refusal needs a reason")

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        answer = "yes" if self.ok else "no"
        reason = f": {self.why}" if self.why else ""
        return f"{answer}{reason} ({self.where})" if self.where else f"{answer}{reason}"


def yes(why: str = "", where: object = "") -> Verdict:
    return Verdict(True, why, str(where))


def no(why: str, where: object = "", needs: str = "") -> Verdict:
    return Verdict(False, why, str(where), needs)


@dataclass(frozen=True)
class Pass:
    """One transformation with its parameters. Fields hold numbers, strings, booleans, None and tuples of these.

    A class that is declared with `abstract=True` is a base of others: it has no text and cannot be parsed. `level` says
    which IR the pass transforms: see `LEVELS`. A class of another package is an extension: what it answers is checked,
    and what fails in it is told under its name. `version` stands for its source where that cannot be read.
    """

    registry: ClassVar[dict[str, type[Pass]]] = {}
    level: ClassVar[Level] = "loops"
    title: ClassVar[str] = "pass"  # what it is called in text: the class's name in small letters unless told

    def __init_subclass__(cls, abstract: bool = False, name: str = "", version: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.title = name = name or cls.__name__.lower()
        if abstract:
            return
        known = Pass.registry.get(name)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise refused(
                "pass", name, f"{known.__module__} has one of this name", cls.__module__, "choose another name"
            )
        if is_foreign(cls.__module__):
            _add_foreign(cls, name, version)
        else:
            Pass.registry[name] = cls

    def check(self, ir: Any) -> Verdict:
        """Whether `apply` may be called on this IR, and if not, why."""
        raise NotImplementedError

    def apply(self, ir: Any) -> Any:
        """The transformed IR; the given one stays as it is."""
        raise NotImplementedError

    @classmethod
    def apply_all(cls, ir: Any, passes: Sequence[Any]) -> Any:
        """Several passes of this kind, one after the other; a kind that can share work among them does."""
        for one in passes:
            ir = one.apply(ir)
        return ir

    @classmethod
    def space(cls, ir: Any) -> Iterator[Pass]:
        """The useful instances of this pass on this IR; none unless a pass says otherwise. On the level of loops that
        depends on the machine, too: there the IR is a `loops.passes.targeted.TargetedNest`."""
        return iter(())

    def __call__(self, ir: Any) -> Any:
        """`apply` after `check`; a refusal is raised as a Problem."""
        verdict = self.check(ir)
        if not verdict:
            raise Problem("STR301", f"{self}: {verdict.why}", where=verdict.where)
        return self.apply(ir)

    def __str__(self) -> str:
        given = [(f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) != f.default]
        body = " ".join(f"{name}={_write(value)}" for name, value in given)
        return f"{self.title}{{{body}}}"

    def well_formed(self) -> Verdict:
        """Whether its fields hold what their annotations say: whoever made it in Python may have given anything."""
        wrong = misfit(type(self), {f.name: getattr(self, f.name) for f in fields(self)})
        return no(wrong) if wrong else yes()

    @staticmethod
    def parse(text: str) -> Pass:
        """The pass that prints as `text`."""
        reader = _Reader(text)
        made = reader.one()
        reader.end()
        return made

    @staticmethod
    def parse_all(text: str) -> list[Pass]:
        """Every pass of a script: separated by blanks, newlines or semicolons, `#` starts a comment."""
        reader = _Reader(text)
        made = []
        while not reader.at_end():
            made.append(reader.one())
        return made


# ---- passes of others ------------------------------------------------------------------------------------------------

#: kinds of IR and how each is verified, which raises a Problem; a pass of another package is not trusted
VERIFIERS: dict[type, Callable[[Any, str], None]] = {}


def _add_foreign(cls: type[Pass], name: str, version: str) -> None:
    """Register the pass of another package."""
    if not _BARE.fullmatch(name):
        raise refused("pass", name, "its name cannot be read back from text")
    if cls.level not in LEVELS:
        raise refused("pass", name, f"there is no level `{cls.level}`", help=f"levels: {', '.join(LEVELS)}")
    declared = [getattr(base, "__annotations__", {}) for base in cls.__mro__]
    if cls.level == "loops" and not any("nest" in names for names in declared):
        raise refused("pass", name, "a pass on loops says by a field `nest` which nest it transforms")
    extension = described("pass", name, (cls,), version)
    _guard(cls, extension)
    registry.add(extension, lambda: put(Pass.registry, name, cls))


def _guard(cls: Any, extension: Extension) -> None:
    """Have everything that a pass answers checked."""
    check, apply, apply_all, space = cls.check, cls.apply, cls.apply_all.__func__, cls.space.__func__

    @functools.wraps(check)
    def checked(self: Pass, ir: Any) -> Verdict:
        with extension.blamed():
            str(self)
            verdict = check(self, ir)
        if not isinstance(verdict, Verdict):
            raise extension.problem(f"answered {_told(verdict)}: `check` returns `yes()` or `no(reason)`")
        return verdict

    @functools.wraps(apply)
    def applied(self: Pass, ir: Any) -> Any:
        with extension.blamed():
            made = apply(self, ir)
        return _verified(made, ir, extension)

    @functools.wraps(apply_all)
    def applied_all(kind: type[Pass], ir: Any, passes: Sequence[Any]) -> Any:
        with extension.blamed():
            made = apply_all(kind, ir, passes)
        return _verified(made, ir, extension)

    @functools.wraps(space)
    def spanned(kind: type[Pass], ir: Any) -> Iterator[Pass]:
        with extension.blamed():
            found = list(space(kind, ir))
        strange = next((one for one in found if not isinstance(one, Pass)), None)
        if strange is not None:
            raise extension.problem(f"has {_told(strange)} in its `space`, which holds passes")
        return iter(found)

    cls.check, cls.apply = checked, applied
    cls.apply_all, cls.space = classmethod(applied_all), classmethod(spanned)


def _verified(made: Any, ir: Any, extension: Extension) -> Any:
    """What a pass of another package made, if it is what passes of its kind make."""
    if not isinstance(made, type(ir)):
        raise extension.problem(f"returned {_told(made)}: `apply` returns a {type(ir).__name__}")
    verify = VERIFIERS.get(type(ir))
    if verify is not None:
        try:
            verify(made, str(extension))
        except Problem as problem:
            raise extension.problem(f"broke what it transforms: {problem.message}") from problem
    return made


def _told(value: object) -> str:
    return "nothing" if value is None else f"{value!r:.60}"


_BARE = re.compile(r"[A-Za-z_][\w.\-/:+%]*")
_NUMBER = re.compile(r"[+-]?(?:\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+(?:[eE][+-]?\d+)?|inf|nan)(?![\w.])")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_BLANK = re.compile(r"(?:[\s;]|#[^\n]*)*")
_DIGITS, _DEPTH = 100, 16  # of numbers, and of tuples in tuples
_WORDS = {"true": True, "false": False, "none": None}


def _write(value: object) -> str:
    if isinstance(value, tuple):
        return "(" + ",".join(map(_write, value)) + ")"
    for word, constant in _WORDS.items():
        if value is constant:
            return word
    if isinstance(value, int | float):
        return repr(value)
    if not isinstance(value, str):
        raise TypeError(f"a pass holds numbers, strings, booleans, None and tuples, not {type(value).__name__}")
    plain = _BARE.fullmatch(value) and value not in _WORDS and not _NUMBER.fullmatch(value)
    return value if plain else json.dumps(value)


class _Reader:
    """A recursive-descent reader over the text of passes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def one(self) -> Pass:
        self._skip()
        name = self._take(_BARE, "the name of a pass")
        cls = Pass.registry.get(name)
        if cls is None:
            known = ", ".join(sorted(Pass.registry)) or "none"
            raise self._problem(f"there is no pass `{name}`", f"known passes: {known}")
        self._expect("{")
        values: dict[str, object] = {}
        while not self._peek("}"):
            field = self._take(_BARE, "a field name")
            if field in values:
                raise self._problem(f"`{field}` is given twice")
            self._expect("=")
            values[field] = self._value()
        self._expect("}")
        self._check_fields(cls, values)
        return cls(**values)

    def at_end(self) -> bool:
        self._skip()
        return self.at == len(self.text)

    def end(self) -> None:
        if not self.at_end():
            raise self._problem("something follows the pass")

    def _check_fields(self, cls: type[Pass], values: dict[str, object]) -> None:
        names = [f.name for f in fields(cls)]
        unknown = [name for name in values if name not in names]
        required = [f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING]
        missing = [name for name in required if name not in values]
        if unknown or missing:
            told = [f"has no field `{n}`" for n in unknown] + [f"needs `{n}`" for n in missing]
            raise self._problem(f"`{cls.title}` {', '.join(told)}", f"its fields: {', '.join(names)}")
        if wrong := misfit(cls, values):
            raise self._problem(f"`{cls.title}`: {wrong}")

    def _value(self, depth: int = 0) -> object:
        self._skip()
        if self._peek("("):
            return self._tuple(depth + 1)
        if number := _NUMBER.match(self.text, self.at):
            return self._number(number.group())
        if quoted := _QUOTED.match(self.text, self.at):
            return self._string(quoted.group())
        word = self._take(_BARE, "a value")
        return _WORDS.get(word, word)

    def _number(self, text: str) -> int | float:
        if len(text) > _DIGITS:
            raise self._problem(f"a number has at most {_DIGITS} digits")
        self.at += len(text)
        return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)

    def _string(self, text: str) -> object:
        try:
            found = json.loads(text)
        except ValueError:
            raise self._problem("a string is written as in JSON") from None
        self.at += len(text)
        return found

    def _tuple(self, depth: int) -> tuple[object, ...]:
        if depth > _DEPTH:
            raise self._problem(f"tuples are nested at most {_DEPTH} deep")
        self._expect("(")
        values: list[object] = []
        while not self._peek(")"):
            values.append(self._value(depth))
            if not self._peek(")"):
                self._expect(",")
        self._expect(")")
        return tuple(values)

    def _skip(self) -> None:
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at

    def _peek(self, mark: str) -> bool:
        self._skip()
        return self.text.startswith(mark, self.at)

    def _expect(self, mark: str) -> None:
        if not self._peek(mark):
            raise self._problem(f"`{mark}` is expected")
        self.at += 1

    def _take(self, pattern: re.Pattern[str], what: str) -> str:
        self._skip()
        found = pattern.match(self.text, self.at)
        if not found:
            raise self._problem(f"{what} is expected")
        self.at = found.end()
        return found.group()

    def _problem(self, message: str, help: str = "") -> Problem:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - (self.text.rfind("\n", 0, self.at) + 1) + 1
        near = self.text[self.at : self.at + 20].split("\n")[0] or "the end"
        return Problem(
            "STR302",
            f"{message} at line {line}, column {column} (before `{near}`)",
            help=help or "a pass is written `split{nest=conv1 loop=ow by=6}`",
        )
