"""Reads one line of a rule: terms of patterns, layers and guards, token by token."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from strop.core.problem import Problem
from strop.source.adopt.language.lexer import Line, Token, tokens
from strop.source.adopt.language.rule import Expression, Layer, RuleGuard
from strop.source.adopt.operations import KINDS, LAYERS

_WORDS: dict[str, Any] = {"None": None, "True": True, "False": False}


class LineReader:
    """One line of a pattern."""

    def __init__(self, line: Line, layers: dict[str, Layer], terms: dict[str, Expression], used: set[str]) -> None:
        self.line = line
        self.tokens = tokens(line)
        self.index = 0
        self.layers = layers
        self.terms = terms
        self.used = used

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    @property
    def ahead(self) -> Token:
        return self.tokens[min(self.index + 1, len(self.tokens) - 1)]

    def at(self, kind: str, text: str = "") -> bool:
        return self.token.kind == kind and (not text or self.token.text == text)

    def take(self) -> Token:
        token = self.token
        self.index += token.kind != "end"
        return token

    def expect(self, text: str) -> Token:
        if self.token.text != text:
            found = f"`{self.token.text}`" if self.token.text else "the end of the line"
            raise self.problem(f"expected `{text}`, found {found}")
        return self.take()

    def problem(self, message: str, token: Token | None = None, help: str = "") -> Problem:
        return self.line.problem(message, (token or self.token).place.column, help)

    def end(self) -> None:
        if not self.at("end"):
            raise self.problem(f"`{self.token.text}` is too much here")

    def statement(self) -> tuple[str, Expression]:
        name = ""
        if self.at("name") and self.ahead.text == "=":
            name = self.take().text
            self.take()
        term = self.term()
        self.end()
        if term.kind not in ("call", "layer", "either"):
            raise self.line.problem("a line of a pattern is an operation", term.place.column)
        return name, replace(term, bind=name)

    def term(self) -> Expression:
        first = self.single()
        if not self.at("sign", "|"):
            return first
        found = [first]
        while self.at("sign", "|"):
            self.take()
            found.append(self.single())
        return Expression("either", children=tuple(found), place=first.place)

    def single(self) -> Expression:
        token = self.take()
        if token.kind in ("number", "text"):
            return Expression("const", value=token.value, place=token.place)
        if token.text == "(":
            inner = self.term()
            self.expect(")")
            return inner
        if token.kind != "name":
            found = f"`{token.text}`" if token.text else "the end of the line"
            raise self.problem(f"expected an operation, a name or a number, found {found}", token)
        if token.text in _WORDS:
            return Expression("const", value=_WORDS[token.text], place=token.place)
        if token.text == "_":
            return Expression("any", place=token.place)
        if self.at("sign", "(") or (self.token.text in ("?", "*") and self.ahead.text == "("):
            return self.call(token)
        if token.text in self.terms:
            self.used.add(token.text)
            return self.terms[token.text]
        return Expression("variable", token.text, place=token.place)

    def call(self, name: Token) -> Expression:
        repeat = self.take().text if self.token.text in ("?", "*") else ""
        if name.text in self.layers:
            self.used.add(name.text)
        elif name.text not in KINDS:
            raise self.problem(f"there is no operation `{name.text}`", name, nearest(name.text, [*KINDS, *self.layers]))
        children, keywords = self.arguments()
        if repeat and not children:
            raise self.problem("an operation that may be absent needs an argument that stands in its place", name)
        kind = "layer" if name.text in self.layers else "call"
        return Expression(kind, name.text, None, children, keywords, repeat, place=name.place)  # type: ignore[arg-type]

    def arguments(self) -> tuple[tuple[Expression, ...], tuple[tuple[str, Expression], ...]]:
        self.expect("(")
        children: list[Expression] = []
        keywords: dict[str, Expression] = {}
        while not self.at("sign", ")"):
            if self.at("name") and self.ahead.text == "=":
                key = self.take()
                self.take()
                if key.text in keywords:
                    raise self.problem(f"`{key.text}` is given twice", key)
                keywords[key.text] = self.term()
            elif keywords:
                raise self.problem("an argument by position follows one by name")
            else:
                children.append(self.term())
            if not self.at("sign", ")"):
                self.expect(",")
        self.expect(")")
        return tuple(children), tuple(keywords.items())

    def layer(self) -> Layer:
        self.take()
        name = self.take()
        self.expect(":")
        classes = []
        while True:
            token = self.take()
            if token.kind != "name":
                raise self.problem("expected the class of a layer", token)
            classes.append(self._class(token))
            if not self.at("sign", "|"):
                break
            self.take()
        keywords: tuple[tuple[str, Expression], ...] = ()
        if self.at("sign", "("):
            children, keywords = self.arguments()
            if children:
                raise self.problem("the arguments of a layer are given by name", name)
        self.end()
        return Layer(name.text, tuple(classes), keywords)

    def _class(self, token: Token) -> str:
        dotted = f"torch.nn.{token.text}"
        if dotted not in LAYERS:
            near = nearest(token.text, [one.rpartition(".")[2] for one in LAYERS])
            raise self.problem(f"there is no layer `{token.text}`", token, near)
        return dotted

    def guard(self, guards: frozenset[str], known: set[str], block: str) -> RuleGuard:
        negated = self.at("name", "not")
        if negated:
            self.take()
        name = self.take()
        if name.text not in guards:
            raise self.problem(f"there is no check `{name.text}`", name, nearest(name.text, guards))
        children, _ = self.arguments()
        self.end()
        given: list[Any] = []
        for child in children:
            if child.kind == "variable" and child.name not in known:
                raise self.line.problem(
                    f"the pattern binds no `{child.name}`", child.place.column, nearest(child.name, known)
                )
            given.append(child.name if child.kind == "variable" else child.value)
        return RuleGuard(name.text, tuple(given), name.place, block == "refuse", block == "assume", negated)


def nearest(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, sorted(known), 1, 0.5)
    return f"did you mean `{close[0]}`?" if close else ""
