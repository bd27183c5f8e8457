"""Reads rule files. The grammar is in docs/adopt.md; every error names the file, the line and the column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from strop.core.problem import Problem
from strop.source.adopt.language.lexer import Line
from strop.source.adopt.language.reader import LineReader, nearest
from strop.source.adopt.language.rule import Expression, KernelRule, Layer, Pattern, RuleGuard
from strop.source.adopt.operations import KINDS

_HEADERS = (
    "family", "title", "safety", "gain", "strop-gain", "target", "default", "order", "requires", "message", "through"
)  # fmt: skip
_BLOCKS = ("pattern", "where", "refuse unless", "assume unless", "use", "use with strop", "define", "state", "import")
_SAFETIES = ("exact", "close", "training", "eval")
_TARGETS = ("cpu", "cuda")
_PLACEHOLDER = re.compile(r"\$(?!\$)([A-Za-z_]\w*)")


def parse(text: str, file: str, *, guards: Iterable[str]) -> KernelRule:
    """The rule of a file; `guards` are the names of the checks that exist."""
    lines = [Line(file, number, content) for number, content in enumerate(text.split("\n"), 1)]
    return _Parser(lines, frozenset(guards)).rule()


@dataclass
class _Draft:
    headers: dict[str, tuple[Line, str]] = field(default_factory=dict)
    patterns: list[tuple[Line, list[Line]]] = field(default_factory=list)
    blocks: dict[str, list[Line]] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)


class _Parser:
    def __init__(self, lines: Sequence[Line], guards: frozenset[str]) -> None:
        self.lines = lines
        self.guards = guards
        self.first: Line = next((line for line in lines if _says(line)), lines[0])

    def rule(self) -> KernelRule:
        name, code = self._head()
        draft = self._draft()
        for needed in ("family", "title"):
            if needed not in draft.headers:
                raise self.first.problem(f"the rule has no `{needed}`", help=f"add a line `{needed} …`")
        if not draft.patterns:
            raise self.first.problem("the rule has no `pattern:`", help="a rule without a pattern would match nothing")
        through = frozenset(self._through(draft))
        patterns = tuple(replace(self._pattern(head, body), through=through) for head, body in draft.patterns)
        known = set.intersection(*[_names(pattern) for pattern in patterns]), set.union(*map(_names, patterns))
        added = {line.text.split()[1] for line in draft.blocks.get("define", ()) if line.text.split()[0] == "add"}
        known[1].update(added)
        safety, tolerance = self._safety(draft)
        use, own = (
            tuple(self._use(line, known[1]) for line in draft.blocks.get(block, ()))
            for block in ("use", "use with strop")
        )
        self._check_imports(draft)
        return KernelRule(
            name=name,
            code=code,
            family=draft.headers["family"][1],
            title=draft.headers["title"][1],
            text="\n".join(draft.text).strip("\n"),
            patterns=patterns,
            guards=tuple(self._guards(draft, known[1])),
            use=use,
            strop_use=own,
            define=tuple(self._define(line, known[1]) for line in draft.blocks.get("define", ())),
            state=tuple(tuple(re.split(r"[\s=+]+", line.text.strip())) for line in draft.blocks.get("state", ())),
            imports=tuple(line.text.strip() for line in draft.blocks.get("import", ())),
            safety=safety,
            tolerance=tolerance,
            requires=tuple(draft.headers["requires"][1].split()) if "requires" in draft.headers else (),
            targets=self._targets(draft),
            gain=self._number(draft, "gain"),
            strop_gain=self._number(draft, "strop-gain"),
            default=self._choice(draft, "default", ("on", "off"), "on") == "on",
            message=draft.headers["message"][1] if "message" in draft.headers else "",
            order=int(self._number(draft, "order") or 100),
            file=self.first.file,
        )  # fmt: skip

    # -- the parts of a file ---------------------------------------------------------------------------------------

    def _head(self) -> tuple[str, str]:
        words = self.first.text.split("#")[0].split()
        if len(words) != 3 or words[0] != "rule":
            raise self.first.problem("a rule file begins with `rule <name> <code>`", help="rule my-norm STR799")
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", words[1]):
            raise self.first.problem("a rule's name is in small letters and hyphens", self.first.text.index(words[1]))
        if not re.fullmatch(r"STR7\d\d", words[2]):
            raise self.first.problem("a rule's code is STR700 to STR799", self.first.text.index(words[2]))
        return words[1], words[2]

    def _draft(self) -> _Draft:
        draft = _Draft()
        block: list[Line] | None = None
        documentation = False
        for line in self.lines[self.first.number :]:
            if line.text.strip().startswith('"""'):
                documentation = not documentation
                block = None
                continue
            if documentation:
                draft.text.append(line.text)
                continue
            if not _says(line):
                continue
            if line.indented:
                if block is None:
                    raise line.problem("this line belongs to no block", len(line.text) - len(line.text.lstrip()))
                block.append(line)
                continue
            block = self._begin(line, draft)
        if documentation:
            raise self.lines[-1].problem('the documentation is not closed by `"""`')
        return draft

    def _begin(self, line: Line, draft: _Draft) -> list[Line] | None:
        """A header, or the head of a block whose lines are to follow."""
        stripped = line.text.split("  #")[0].rstrip()
        if stripped.endswith(":") and stripped[:-1] in _BLOCKS:
            name = stripped[:-1]
            body: list[Line] = []
            if name == "pattern":
                draft.patterns.append((line, body))
                return body
            if name in draft.blocks:
                raise line.problem(f"`{name}:` is there twice")
            draft.blocks[name] = body
            return body
        word, _, rest = stripped.partition(" ")
        if word.rstrip(":") not in _HEADERS:
            raise line.problem(
                f"`{word}` is no part of a rule", help=nearest(stripped.rstrip(":"), [*_HEADERS, *_BLOCKS])
            )
        if word in draft.headers:
            raise line.problem(f"`{word}` is there twice")
        if not rest.strip():
            raise line.problem(f"`{word}` says nothing", len(word))
        draft.headers[word.rstrip(":")] = line, rest.strip()
        return None

    def _safety(self, draft: _Draft) -> tuple[Any, float]:
        if "safety" not in draft.headers:
            return "exact", 0.0
        line, text = draft.headers["safety"]
        word, _, rest = text.partition(" ")
        if word not in _SAFETIES:
            raise line.problem(f"safety is one of {', '.join(_SAFETIES)}", line.text.index(word))
        if word == "close" and not rest:
            raise line.problem(
                "`close` needs the largest relative difference", len(line.text.rstrip()), help="safety close 1e-5"
            )
        try:
            return word, float(rest or 0)
        except ValueError:
            raise line.problem(f"`{rest}` is not a number", line.text.index(rest)) from None

    def _targets(self, draft: _Draft) -> tuple[Any, ...]:
        if "target" not in draft.headers:
            return _TARGETS
        line, text = draft.headers["target"]
        for word in text.split():
            if word not in _TARGETS:
                raise line.problem(f"there is no target `{word}`", line.text.index(word), help="cpu or cuda")
        return tuple(text.split())

    def _choice(self, draft: _Draft, name: str, allowed: Sequence[str], default: str) -> str:
        line, text = draft.headers.get(name, (self.first, default))
        if text not in allowed:
            raise line.problem(f"`{name}` is {' or '.join(allowed)}", line.text.index(text))
        return text

    def _number(self, draft: _Draft, name: str) -> float | None:
        if name not in draft.headers:
            return None
        line, text = draft.headers[name]
        try:
            return float(text)
        except ValueError:
            raise line.problem(f"`{text}` is not a number", line.text.index(text)) from None

    def _through(self, draft: _Draft) -> Iterator[str]:
        if "through" not in draft.headers:
            yield from ("cast", "contiguous", "clone")
            return
        line, text = draft.headers["through"]
        for word in text.split():
            if word == "nothing":
                continue
            if word not in KINDS:
                raise line.problem(f"there is no operation `{word}`", line.text.index(word), help=nearest(word, KINDS))
            yield word

    # -- patterns --------------------------------------------------------------------------------------------------

    def _pattern(self, head: Line, body: list[Line]) -> Pattern:
        if not body:
            raise head.problem("the pattern is empty")
        layers: dict[str, Layer] = {}
        terms: dict[str, Expression] = {}
        used: set[str] = set()
        roots: list[tuple[str, Expression]] = []
        for line in body:
            reader = LineReader(line, layers, terms, used)
            if reader.at("name") and reader.token.text == "layer" and reader.ahead.kind == "name":
                layer = reader.layer()
                layers[layer.name] = layer
                continue
            name, term = reader.statement()
            if name:
                if name in terms:
                    raise line.problem(f"`{name}` is defined twice")
                terms[name] = term
            roots.append((name, term))
        left = tuple((name, term) for name, term in roots if not name or name not in used)
        for layer in layers.values():
            if layer.name not in used:
                raise head.problem(f"layer `{layer.name}` is not used by the pattern")
        return Pattern(left, tuple(layers.values()))

    def _guards(self, draft: _Draft, known: set[str]) -> Iterator[RuleGuard]:
        for block in ("where", "refuse unless", "assume unless"):
            for line in draft.blocks.get(block, ()):
                yield LineReader(line, {}, {}, set()).guard(self.guards, known, block.partition(" ")[0])

    # -- replacements ----------------------------------------------------------------------------------------------

    def _use(self, line: Line, known: set[str]) -> tuple[tuple[str, ...], str]:
        self._placeholders(line, known)
        results, arrow, text = line.text.strip().partition("=>")
        if not arrow:
            raise line.problem("a use is written `=> text` or `a, b => text`", len(line.text) - len(line.text.lstrip()))
        names = tuple(word.strip() for word in results.split(",") if word.strip())
        for name in names:
            if name not in known:
                raise line.problem(f"the pattern has no result `{name}`", line.text.index(name))
        return names, text.strip()

    def _define(self, line: Line, known: set[str]) -> tuple[str, str, str]:
        self._placeholders(line, known | set(line.text.split()[1:2]))
        words = line.text.split(None, 2)
        signs = {"replace": "with", "add": "=", "remove": ""}
        if words[0] not in signs:
            raise line.problem("a definition is changed by `replace`, `add` or `remove`", line.text.index(words[0]))
        if words[0] == "remove":
            return words[0], words[1], ""
        rest = words[2] if len(words) > 2 else ""
        if not rest.startswith(signs[words[0]]):
            raise line.problem(f"`{words[0]} <name> {signs[words[0]]} text` is expected", len(line.text.rstrip()))
        return words[0], words[1], rest[len(signs[words[0]]) :].strip()

    def _check_imports(self, draft: _Draft) -> None:
        """Every module that a replacement names is imported by the rule."""
        bound = set()
        for line in draft.blocks.get("import", ()):
            words = re.findall(r"[\w.]+", line.text.partition(" import ")[2] or line.text.partition("import ")[2])
            if not line.text.strip().startswith(("import ", "from ")) or not words:
                raise line.problem("an import is written as in Python", len(line.text) - len(line.text.lstrip()))
            bound |= {word.partition(".")[0] for word in words}
        for line in (line for block in ("use", "use with strop", "define") for line in draft.blocks.get(block, ())):
            for found in re.finditer(r"(?<![\w.$\"'])([A-Za-z_]\w*)\.\w+", line.text.partition("=>")[2] or line.text):
                if found[1] not in bound and found[1] != "self":
                    column = line.text.index(found[0])
                    raise line.problem(f"`{found[1]}` is not imported by the rule", column, "add it under `import:`")

    def _placeholders(self, line: Line, known: set[str]) -> None:
        for found in _PLACEHOLDER.finditer(line.text):
            if found[1] not in known:
                raise line.problem(f"the pattern binds no `{found[1]}`", found.start(), help=nearest(found[1], known))


def _names(pattern: Pattern) -> set[str]:
    """Everything that a pattern can bind."""
    found = {name for name, _ in pattern.roots if name} | {layer.name for layer in pattern.layers}
    todo = [term for _, term in pattern.roots] + [term for layer in pattern.layers for _, term in layer.arguments]
    while todo:
        term = todo.pop()
        if term.kind == "variable":
            found.add(term.name)
            found.update(f"{term.name}_{n}" for n in (2, 3, 4))
        if term.bind:
            found.add(term.bind)
        todo += [*term.children, *(value for _, value in term.keywords)]
    return found


def _says(line: Line) -> bool:
    text = line.text.strip()
    return bool(text) and not text.startswith("#")


def read(file: Path, *, guards: Iterable[str]) -> KernelRule:
    """The rule of a file on disk."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Problem("STR010", f"the rule file {file} cannot be read: {error}") from None
    return parse(text, str(file), guards=guards)
