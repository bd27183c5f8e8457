"""Findings made by hand, for tests of what is done with them."""

from __future__ import annotations

from strop.source.facts import Edit, Finding, Place


def span(file, text, what, occurrence=0):
    """The place of a piece of text, in the lines and bytes that `ast` counts."""
    at = -1
    for _ in range(occurrence + 1):
        at = text.index(what, at + 1)
    return Place(str(file), *_position(text, at), *_position(text, at + len(what)))


def _position(text, at):
    before = text[:at].replace("\r\n", "\n").replace("\r", "\n")
    line = before.count("\n") + 1
    return line, len(before.rpartition("\n")[2].encode())


def insertion(file, line, column=0):
    return Place(str(file), line, column, line, column)


def finding(*edits, imports=(), code="STR150", safety="safe", function="step", place=None, message="make it a graph"):
    return Finding(code, "to-graph", place or edits[0].place, function, message, safety, tuple(edits), imports)


def decorate(file, line, text="@torch.compile\n", imports=("import torch",), **more):
    return finding(Edit(insertion(file, line), text), imports=imports, **more)
