"""Every network of the zoo computes what eager computes, natively, through both doors, at one and at two threads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import strop
from strop import zoo
from strop.core.journal import Journal
from strop.runtime import dynamo, program
from strop.runtime.program import NativeProgram
from strop.verify.numeric import require_close

DOCS = Path(__file__).parents[2] / "docs" / "library-nodes.md"

#: what `make test` runs: every family of networks, each door and both thread counts
CHEAP = {
    ("mobilenet_v2", "strop.compile", 1),
    ("mobilenet_v2", "torch.compile", 2),
    ("bert_small", "torch.compile", 1),
    ("vit_small", "torch.compile", 2),
    ("dlrm", "torch.compile", 2),
    ("wide_deep", "torch.compile", 2),
    ("lstm", "torch.compile", 2),
    ("tcn", "torch.compile", 2),
    ("unet", "strop.compile", 2),
}


def _through_export(model: nn.Module, inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], Journal]:
    fast = strop.compile(model, inputs)
    return fast, fast.journal


def _through_dynamo(model: nn.Module, inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], Journal]:
    return torch.compile(model, backend="strop", fullgraph=True), dynamo.JOURNAL


DOORS = {"strop.compile": _through_export, "torch.compile": _through_dynamo}


def _matrix() -> Iterator[Any]:
    for name in zoo.NAMES:
        for door in DOORS:
            for threads in (1, 2):
                marks = () if (name, door, threads) in CHEAP else (pytest.mark.slow,)
                yield pytest.param(name, door, threads, marks=marks, id=f"{name}-{door}-{threads}")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[NativeProgram]]:
    """Every native program that is built meanwhile."""
    programs: list[NativeProgram] = []
    build = program.build

    def remember(*args: Any) -> NativeProgram:
        programs.append(build(*args))
        return programs[-1]

    monkeypatch.setattr(program, "build", remember)
    threads = torch.get_num_threads()
    torch._dynamo.reset()
    with torch._dynamo.config.patch(allow_rnn=True):
        yield programs
    torch.set_num_threads(threads)


@lru_cache(maxsize=1)
def _network(name: str) -> tuple[nn.Module, tuple[Any, ...], Any]:
    model, inputs = zoo.load(name)
    with torch.no_grad():
        return model, inputs, model(*inputs)


@pytest.mark.parametrize(("name", "door", "threads"), list(_matrix()))
def test_equals_eager(name: str, door: str, threads: int, made: list[NativeProgram]) -> None:
    model, inputs, expected = _network(name)
    torch.set_num_threads(threads)
    with torch.no_grad():
        fast, journal = DOORS[door](model, inputs)
        before = len(journal.of("fallback"))
        results = [fast(*inputs) for _ in range(2)]
    for result in results:
        require_close(result, expected, tolerance=1e-4)
    assert [one.compiled.threads for one in made] == [threads], "one program, of that many threads"
    assert not journal.of("fallback")[before:], "nothing runs eager"
    assert {kind for one in made for kind in one.compiled.about.library} <= documented()


def documented() -> set[str]:
    """The library calls that the documentation names for the zoo."""
    section = DOCS.read_text(encoding="utf-8").split("## In the zoo")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)`", section, re.MULTILINE))


def test_at_most_a_handful_of_library_calls_is_documented() -> None:
    assert len(documented()) <= 5
