"""An edit compiles what it changes and the entry functions; everything else is the object code that was there before."""

from __future__ import annotations

import gc
from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from torch import nn

import strop
from strop.codegen import object_code
from strop.codegen.module import Functions
from strop.driver import pipeline
from strop.session import Session

OPTIONS = strop.Options(threads=1, target="znver3@host")


def network() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    layers = {"up": nn.Linear(24, 40), "act": nn.GELU(), "down": nn.Linear(40, 16), "norm": nn.LayerNorm(16)}
    return nn.Sequential(OrderedDict(layers)).eval(), (torch.randn(6, 24),)


@pytest.fixture
def compiled_texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The LLVM texts that are compiled from now on, in a cache of their own."""
    monkeypatch.setenv("STROP_CACHE", str(tmp_path))
    texts: list[str] = []
    compile_object = object_code.compile_object

    def recorded(text: str, *args: object, **kwargs: object) -> bytes:
        texts.append(text)
        return compile_object(text, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(object_code, "compile_object", recorded)
    return texts


def made(texts: list[str]) -> Session:
    model, inputs = network()
    session = Session(model, inputs, options=OPTIONS)
    texts.clear()
    return session


@pytest.mark.parametrize("cached", [False, True], ids=["compiled", "from the cache"])
@pytest.mark.parametrize(
    "edit", ["reset{nest=down.linear}", "keepapart{a=up.linear b=act.gelu}", "library{node=up.linear}"]
)
def test_the_first_edit_compiles_only_what_it_changes(compiled_texts: list[str], edit: str, cached: bool) -> None:
    session = made(compiled_texts)
    if cached:
        session = made(compiled_texts)
    assert session.cache_hit == cached
    before = set(session.compiled.code)
    session.apply(edit)
    new = [code for code in session.compiled.code if code not in before]
    assert len(compiled_texts) == len(new) <= 3
    model, (x,) = network()
    with torch.no_grad():
        torch.testing.assert_close(session.module(x), model(x))


def test_undoing_everything_gives_the_code_that_compile_makes(compiled_texts: list[str]) -> None:
    session = made(compiled_texts)
    plain = session.compiled.code
    session.apply("reset{nest=down.linear}")
    assert session.compiled.code != plain
    session.undo()
    assert session.compiled.code == plain


def test_an_edit_that_is_undone_or_done_again_compiles_nothing(compiled_texts: list[str]) -> None:
    session = made(compiled_texts)
    session.apply("reset{nest=down.linear}")
    compiled_texts.clear()
    session.undo()
    session.redo()
    assert not compiled_texts


def test_a_profile_compiles_only_its_entries(compiled_texts: list[str]) -> None:
    session = made(compiled_texts)
    session.profile(1)
    assert len(compiled_texts) == 1


def test_object_code_of_another_text_is_not_taken(compiled_texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in the cache says of which text each object was made: whatever differs is compiled."""
    made(compiled_texts)
    session = made(compiled_texts)
    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "_digest", lambda text: "another")
        session.apply("reset{nest=down.linear}")
    assert len(compiled_texts) == 3  # the functions as they were, the one that changed, the entries


def test_what_is_compiled_without_a_session_keeps_no_functions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STROP_CACHE", str(tmp_path))
    model, inputs = network()
    before = {id(one) for one in gc.get_objects() if type(one) is Functions}
    fast = strop.compile(model, inputs, options=OPTIONS)
    gc.collect()
    assert {id(one) for one in gc.get_objects() if type(one) is Functions} <= before
    assert fast is not None
