"""A report: the studio's page and every answer that it could ask for without changing anything, in one HTML file.

The page's modules become one inline script and the answers one block of compressed JSON. The file loads nothing, and
its content security policy names the script and the style by their digests: nothing else can run in it.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from strop.core.problem import Problem
from strop.draw.layout import around
from strop.studio import commands
from strop.studio.application import PAGE, page_files
from strop.studio.messages import Command
from strop.studio.workspace import Workspace

_IMPORT = re.compile(r'^import .* from "\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(async )?(class|function|const) )", re.MULTILINE)
SMALL = 60  # letters of a part that is written where it stands
_STYLE = '<link rel="stylesheet" href="/page/studio.css">\n'
_SCRIPT = '<script type="module" src="/page/main.js"></script>\n'


def write_report(workspace: Workspace, path: Path, tell: Callable[[str], None] = lambda step: None) -> int:
    """Write the report of a session; its size in bytes."""
    text = report(workspace, tell)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Problem(
            "STR001", f"`{path}` cannot be written: {error.strerror}", help="choose another: -o FILE"
        ) from error
    return len(text.encode())


def report(workspace: Workspace, tell: Callable[[str], None] = lambda step: None) -> str:
    """The file as text."""
    style, script = page_files()["studio.css"], bundled("main.js")
    packed = base64.b64encode(gzip.compress(_json(answers(workspace, tell)).encode(), 9, mtime=0)).decode()
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>\n'
    data = f'<script type="application/octet-stream" id="report-data">{packed}</script>\n'
    page = page_files()[PAGE]
    page = page.replace(_STYLE, head).replace(_SCRIPT, "")
    return page.replace("</body>", f'{data}<script type="module">{script}</script>\n</body>')


def bundled(main: str) -> str:
    """The page's modules as one script, each behind those that it imports. Names are unique among them: a test says."""
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in order:
            for other in _IMPORT.findall(page_files()[name]):
                visit(other)
            order[name] = None

    visit(main)
    text = "\n".join(_EXPORT.sub("", _IMPORT.sub("", page_files()[name])) for name in order)
    if "</script" in text:
        raise ValueError("a module of the page holds the end of a script element")
    return text


class SharedParts:
    """Lists and objects of answers, each kept once: `{"part": 7}` stands for the eighth. Layers of a network are alike,
    and so are their nests, their code and their edges."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self._known: dict[str, int] = {}

    def kept(self, value: Any) -> Any:
        """What stands for a value in the file."""
        if isinstance(value, dict):
            value = {name: self.kept(one) for name, one in value.items()}
        elif isinstance(value, list | tuple):
            value = [self.kept(one) for one in value]
        else:
            return value
        text = _json(value)
        if len(text) < SMALL:
            return value
        if text not in self._known:
            self._known[text] = len(self.parts)
            self.parts.append(value)
        return {"part": self._known[text]}


def answers(workspace: Workspace, tell: Callable[[str], None] = lambda step: None) -> dict[str, Any]:
    """Every answer by the key that the page asks with. What is the same in several of them is kept once."""
    shared = SharedParts()
    keys: dict[str, Any] = {}
    opened: dict[str, list[str]] = {}

    def keep(function: Callable[..., Any], **given: Any) -> Any:
        Command.of(function).check(given)
        found = function(workspace, **given)
        keys[f"{function.__name__}|{_json(dict(sorted(given.items())))}"] = shared.kept(found)
        return found

    shown = keep(commands.overview, half="")
    for half in shown["halves"] or [""]:
        stands = keep(commands.overview, half=half)["state"]
        for level in shown["levels"]:
            tell(f"drawing {half} {level}".replace("  ", " "))
            opened[f"{level}|{half}"] = _keep_level(keep, level, half)
        keep(commands.prediction, half=half)
        keep(commands.memory, half=half)
        keep(commands.timeline, half=half)
        for index in range(stands["edits"]):
            keep(commands.step_diff, index=index, half=half)
        _keep_nests(workspace, keep, half, tell)
    keep(commands.stored)
    keep(commands.script)
    return {"keys": keys, "parts": shared.parts, "groups": opened}


def _keep_level(keep: Callable[..., Any], level: str, half: str) -> list[str]:
    """A level with no group open, with each chain of groups open, and with all of them."""
    keep(commands.outline, level=level, half=half)
    groups = sorted(keep(commands.modules, level=level, half=half))
    for path in ["", *groups]:
        keep(commands.graph, level=level, half=half, open=sorted(around(path)))
    keep(commands.graph, level=level, half=half, open=groups)
    return groups


def _keep_nests(workspace: Workspace, keep: Callable[..., Any], half: str, tell: Callable[[str], None]) -> None:
    session = workspace.half(half)
    prepared = frozenset(session.preparation.names)
    for edge in _pairs(session.edges(level) for level in session.levels):
        try:
            keep(commands.why_not, a=edge[0], b=edge[1], half=half)
        except Problem:
            continue  # an input or a parameter: there is nothing to fuse with
    for node in session.view("plan").nodes:
        if node.kind == "nest":
            tell(f"code of {node.name}")
            keep(commands.nest, name=node.name, half=half)
            if node.name not in prepared:
                keep(commands.runners_up, name=node.name, half=half)


def _pairs(levels: Iterable[Iterable[Any]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((edge.producer, edge.consumer) for edges in levels for edge in edges))


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
