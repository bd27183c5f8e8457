"""Scripts and saved sessions that somebody else wrote: each mistake gets a coded problem, and nothing changes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import strop
from strop.core.cache import Cache
from strop.core.passes import Pass
from strop.core.problem import Problem
from strop.loops.passes.primitives import Split
from strop.session import Session

OPTIONS = strop.Options(threads=1, target="znver3@host")
CODES = ("STR001", "STR002", "STR301", "STR302", "STR304", "STR306", "STR402")


class Net(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.up, self.down = nn.Linear(16, width), nn.Linear(width, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.softmax(self.up(x), -1))


X = torch.linspace(-1, 1, 5 * 16).reshape(5, 16)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Session]:
    """A session that was steered once, and has to be the same afterwards."""
    monkeypatch.setenv("STROP_CACHE", str(tmp_path / "cache"))
    made = Session(Net().eval(), (X,), options=OPTIONS)
    made.apply("reset{nest=down.linear}")
    before = looks(made)
    yield made
    assert looks(made) == before
    made.undo()
    made.redo()
    assert looks(made)[:-1] == before[:-1]


def looks(session: Session) -> tuple[object, ...]:
    entries = sorted(entry.key for entry in Cache().entries())
    with torch.no_grad():
        result = session.module(X).tolist()
    return session.edits, tuple(map(str, session.history)), session.compiled.code, entries, result, str(session.nests)


SCRIPTS = {
    "explode{}": ("STR302", "there is no pass `explode`"),
    "reset{nest=gone.linear}": ("STR304", "there is no nest `gone.linear`"),
    "reset{nest=down.linear": ("STR302", "expected"),
    "reset{nest=down.linear} then": ("STR302", "there is no pass `then`"),
    "split{nest=down.linear loop=m0}": ("STR302", "needs `by`"),
    "split{nest=down.linear loop=m0 by=x}": ("STR302", "`by` is an integer, got 'x'"),
    "split{nest=down.linear loop=m0 by=1.5}": ("STR302", "`by` is an integer"),
    "split{nest=down.linear loop=m0 by=true}": ("STR302", "`by` is an integer"),
    "split{nest=7 loop=m0 by=2}": ("STR302", "`nest` is a name"),
    "split{nest=down.linear loop=m0 by=0}": ("STR301", "`by` must be at least 1"),
    "reorder{nest=down.linear order=m0}": ("STR302", "`order` is a tuple"),
    "reorder{nest=down.linear order=()}": ("STR301", "no loops are named"),
    "sink{nest=down.linear loops=()}": ("STR301", "no loops are named"),
    "pack{nest=down.linear buffer=nothing along=n by=8 order=(k)}": ("STR301", "read in 0 ways"),
    "pack{nest=down.linear buffer=down.weight along=n by=0 order=(k)}": ("STR301", "`by` must be at least 1"),
    "pack{nest=down.linear buffer=down.weight along=n by=8 order=(x)}": ("STR301", "there is no loop `x`"),
    "algorithm{node=up.linear use=magic}": ("STR301", "there is no algorithm `magic`"),
    "library{node=nowhere}": ("STR301", "there is no node `nowhere`"),
    'library{node="\\x"}': ("STR302", "a string is written as in JSON"),
    f"place{{tensor=a at={'9' * 5000}}}": ("STR302", "a number has at most"),
    f"relayout{{tensor=a steps={'(' * 5000}}}": ("STR302", "tuples are nested at most"),
    "library{node=down.linear}": ("STR304", "there is no nest `down.linear`"),  # which was reset before
}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda text: text[:60])
def test_a_script_with_a_mistake(session: Session, script: str) -> None:
    code, message = SCRIPTS[script]
    verdict = None
    with pytest.raises(Problem, match=message) as caught:
        session.apply(script)
    assert caught.value.code == code
    try:
        verdict = session.why(script)
    except Problem as problem:
        assert problem.code == "STR302"
    assert not verdict


@pytest.mark.parametrize(
    "given", [7, None, ["reset{nest=up.linear}"], Split("up.linear", "m0", 1.5), Split(3, "m0", 2)]
)  # type: ignore[arg-type]
def test_something_else_than_a_pass(session: Session, given: Any) -> None:
    for call in (session.apply, session.preview):
        with pytest.raises(Problem) as caught:
            call(given)
        assert caught.value.code in ("STR001", "STR301") and caught.value.help


def test_more_memory_than_the_machine_has(session: Session) -> None:
    tensor = next(str(one.change.tensor) for one in session.space(levels=("memory",)))  # type: ignore[attr-defined]
    with pytest.raises(Problem, match="the machine has") as caught:
        session.apply(f"place{{tensor={tensor} at={2**50}}}")
    assert caught.value.code == "STR301"


@pytest.mark.parametrize(
    ("hook", "why"),
    [
        (lambda program: 1 / 0, "raised ZeroDivisionError"),
        (lambda program: 7, "raised TypeError"),
        (lambda program: [7], "returned 7"),
        (lambda program: "reset{nest=up.linear}", "returned 'r'"),
    ],
)
def test_a_hook_that_fails_is_named(session: Session, hook: Any, why: str) -> None:
    session.hooks.after("fuse", hook)
    with pytest.raises(Problem, match=f"the hook `.*` after `fuse` {why}") as caught:
        session.apply("reset{nest=up.linear}")
    assert caught.value.code == "STR012" and caught.value.help
    session.hooks._hooks.clear()


def text_of(session: Session, path: Path) -> str:
    session.save(path)
    return path.read_text(encoding="utf-8")


def refused(path: Path, text: str | bytes, model: nn.Module | None = None) -> Problem:
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    with pytest.raises(Problem) as caught:
        Session.load(path, model or Net().eval(), (X,))
    assert caught.value.code in CODES and (caught.value.help or caught.value.where), caught.value
    return caught.value


def test_a_session_of_another_model(session: Session, tmp_path: Path) -> None:
    text = text_of(session, tmp_path / "s.json")
    before = looks(session)[:3]
    problem = refused(tmp_path / "s.json", text, Net(32).eval())
    assert problem.code == "STR306" and "another model" in problem.message
    assert looks(session)[:3] == before
    Cache().clear()
    strop.Session(Net().eval(), (X,), options=OPTIONS)


@pytest.mark.parametrize("where", [0.0, 0.3, 0.7, 0.99])
def test_a_truncated_file(session: Session, tmp_path: Path, where: float) -> None:
    text = text_of(session, tmp_path / "s.json")
    assert refused(tmp_path / "s.json", text[: int(where * len(text.rstrip()))]).code == "STR306"


HOSTILE: dict[str, Any] = {
    "a deep tree": "[" * 100_000,
    "no text": b"\xff\xfe\x00\x80",
    "a list": "[]",
    "a number": "7",
    "not a number": '{"format": NaN}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_of_something_else(session: Session, tmp_path: Path, name: str) -> None:
    assert refused(tmp_path / "s.json", HOSTILE[name]).code == "STR306"


def of_program(**new: Any) -> dict[str, Any]:
    return {"programs": {"program": new}}


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "a later format": ({"version": 99}, "STR306"),
    "a format that is none": ({"version": [[]]}, "STR306"),
    "a model that is none": ({"model": 7}, "STR306"),
    "another captured graph": (of_program(graph="0"), "STR306"),
    "options that are none": ({"options": []}, "STR306"),
    "an option of another kind": ({"options": {"threads": "all"}}, "STR001"),
    "a target that is none": ({"options": {"target": 7}}, "STR001"),
    "an unknown target": ({"options": {"target": "abacus"}}, "STR402"),
    "edits in edits": (of_program(branches={"main": [["reset{}"]]}), "STR306"),
    "an unknown pass": (of_program(branches={"main": ["explode{}"]}), "STR302"),
    "a nest that is not there": (of_program(branches={"main": ["reset{nest=gone}"]}), "STR304"),
    "half a schedule": (
        of_program(branches={"main": ["reset{nest=up.linear} vectorise{nest=up.linear loop=n}"]}),
        "STR301",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_that_was_changed(session: Session, tmp_path: Path, name: str) -> None:
    change, code = CHANGES[name]
    data = json.loads(text_of(session, tmp_path / "s.json"))
    assert refused(tmp_path / "s.json", changed(data, change)).code == code


def changed(data: dict[str, Any], change: dict[str, Any]) -> str:
    program = {**data["programs"]["program"], **change.get("programs", {}).get("program", {})}
    return json.dumps({**data, **change, "programs": {"program": program}})


def test_what_another_version_has_saved_is_told_with_that_version(session: Session, tmp_path: Path) -> None:
    data = json.loads(text_of(session, tmp_path / "s.json"))
    change = {"strop": "0.0.0", **of_program(branches={"main": ["reset{nest=gone}"]})}
    problem = refused(tmp_path / "s.json", changed(data, change))
    assert "saved by Strop 0.0.0" in problem.help and str(tmp_path / "s.json") in problem.message


def test_names_in_a_script_cannot_end_its_text(session: Session) -> None:
    name = '"""\nraise SystemExit(3)\n"""'
    script = replace(session._saved(), model=name, target=name).script()
    tree = compile(script, "script", "exec", flags=0x400)  # ast.PyCF_ONLY_AST
    assert [type(one).__name__ for one in tree.body[:2]] == ["Expr", "Import"]
    assert "raise SystemExit(3)\n" not in script.replace("\\n", "")


def mutated(text: str, rng: random.Random) -> str:
    letters = list(text)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(letters) or 1)
        how = rng.randrange(4)
        if how == 0 or not letters:
            del letters[at : at + rng.randint(1, 12)]
        elif how == 1:
            letters[at] = rng.choice('{}[]()"=,:0129ex-\\')
        elif how == 2:
            letters.insert(
                at, rng.choice(["9" * 30, "null", "true", "-1", '"x"', "[1]", "{}", "(a,b)", "nan", "\\u0000"])
            )
        else:
            other = rng.randrange(len(letters))
            letters[at], letters[other] = letters[other], letters[at]
    return "".join(letters)


def test_random_damage_gets_a_coded_problem_or_a_session_that_computes_the_same(
    session: Session, tmp_path: Path
) -> None:
    """Most damage is found before anything is compiled; a file that still is a session does what it says."""
    rng, text, path = random.Random(0), text_of(session, tmp_path / "s.json"), tmp_path / "s.json"
    model, problems = Net().eval(), 0
    wanted = model(X)
    for _ in range(60):
        path.write_text(mutated(text, rng), encoding="utf-8", errors="surrogatepass")
        try:
            loaded = Session.load(path, model, (X,))
        except Problem as problem:
            assert problem.code in CODES, problem
            problems += 1
        else:
            with torch.no_grad():
                torch.testing.assert_close(loaded.module(X), wanted, rtol=1e-4, atol=1e-5)
    assert problems > 20
    Cache().clear()
    strop.Session(Net().eval(), (X,), options=OPTIONS)


def test_random_passes_are_taken_or_refused_with_a_reason(session: Session) -> None:
    rng = random.Random(0)
    known = [*map(str, session.history), *(str(one.change) for one in session.space() if one.verdict)]
    for _ in range(150):
        text = mutated(rng.choice(known), rng)
        try:
            Pass.parse_all(text)
        except Problem as problem:
            assert problem.code == "STR302" and problem.help
            continue
        verdict = session.why(text)
        assert verdict or verdict.why


def everywhere(value: Any, text: str) -> Any:
    """Every version of JSON data in which one string, or one key, is another text."""
    if isinstance(value, str):
        yield text
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from ([*value[:i], other, *value[i + 1 :]] for other in everywhere(item, text))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from ({**value, key: other} for other in everywhere(item, text))
            yield {**{k: v for k, v in value.items() if k != key}, text: item}


def test_nothing_that_a_file_names_is_run(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that would leave a mark, named in every place of a saved session; no model is given, so that the file's own
    would be made."""
    mark = tmp_path / "it ran"
    (tmp_path / "canary.py").write_text(f"open({str(mark)!r}, 'w')\ndef factory(): open({str(mark)!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    data = {**json.loads(text_of(session, tmp_path / "s.json")), "model": "no network"}
    names = ("canary:factory", "canary.py:factory", "./canary.py:factory", str(tmp_path / "canary.py:factory"),
             "canary.py", "__import__('canary')", "!!python/object/apply:canary.factory []")  # fmt: skip
    tried = 0
    for name in names:
        for changed in everywhere(data, name):
            (tmp_path / "s.json").write_text(json.dumps(changed))
            with pytest.raises(Problem) as caught:
                Session.load(tmp_path / "s.json")
            assert caught.value.code in CODES
            tried += 1
    assert tried > 50 and not mark.exists()
