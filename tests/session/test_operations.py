"""What a session does is told as it happens, can be cancelled from another thread, and leaves nothing behind then."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
import torch
from torch import nn

import strop
from strop.codegen import object_code
from strop.core.problem import Problem
from strop.session import Session
from strop.session.views import SessionEvent

OPTIONS = strop.Options(cache=False, threads=1)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.softmax(self.up(x), -1))


@pytest.fixture
def session() -> Session:
    torch.manual_seed(0)
    return Session(Net().eval(), (torch.randn(8, 32),), options=OPTIONS)


EDIT = "reset{nest=up.linear}"


def test_events_have_ids_without_gaps_and_can_be_asked_for_later(session: Session) -> None:
    heard: list[SessionEvent] = []
    stop = session.subscribe(heard.append)
    session.apply(EDIT)
    session.undo()
    session.redo()
    session.branch("other")
    session.switch("main")
    session.check()
    stop()
    session.measure(2)
    kinds = [event.kind for event in heard if event.kind != "progress"]
    assert kinds == ["applied", "undone", "redone", "branched", "switched", "checked"]
    assert any(event.kind == "progress" and event.message == "schedule" for event in heard)
    ids = [event.id for event in session.events()]
    assert ids == list(range(1, len(ids) + 1)) and session.events(ids[-1]) == ()
    assert [event.kind for event in session.events(heard[-1].id)][-1] == "measured"


def test_a_listener_that_fails_is_not_heard(session: Session) -> None:
    def broken(event: SessionEvent) -> None:
        raise RuntimeError("a listener's own")

    session.subscribe(broken)
    session.apply(EDIT)
    assert len(session.edits) == 1


def test_nothing_is_running_so_nothing_is_cancelled(session: Session) -> None:
    assert not session.cancel()


def cancelled_after(session: Session, started: threading.Event) -> list[float]:
    """Cancel from another thread once something has begun; when that was."""
    when: list[float] = []

    def cancel() -> None:
        assert started.wait(10)
        time.sleep(0.05)
        when.append(time.perf_counter())
        assert session.cancel()

    threading.Thread(target=cancel).start()
    return when


@pytest.mark.parametrize("operation", ["apply", "compare"])
def test_a_long_compilation_is_cancelled_at_once(
    session: Session, operation: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started, release = threading.Event(), threading.Event()
    compile_object = object_code.compile_object

    def slow(*args: object, **kwargs: object) -> bytes:
        started.set()
        release.wait(20)
        return compile_object(*args, **kwargs)  # type: ignore[arg-type]

    if operation == "compare":
        session.branch("other")
        session.apply(EDIT)
        session.switch("main")
        session.save(tmp_path / "s.json")
        session = Session.load(tmp_path / "s.json", session.original, session.inputs)  # only `main` has code there
    before = session.digest, session.applied, session.branches
    monkeypatch.setattr(object_code, "compile_object", slow)
    when = cancelled_after(session, started)
    with pytest.raises(Problem) as caught:
        session.apply(EDIT) if operation == "apply" else session.compare("main", "other")
    assert caught.value.code == "STR014" and time.perf_counter() - when[0] < 0.2
    assert (session.digest, session.applied, session.branches) == before
    assert session.events()[-1].kind == "cancelled"
    release.set()
    monkeypatch.undo()
    session.apply(EDIT)
    x = torch.randn(8, 32)
    with torch.no_grad():
        torch.testing.assert_close(session.module(x), session.original(x))


def test_planning_is_cancelled_at_its_next_step(session: Session) -> None:
    started = threading.Event()

    def listen(event: SessionEvent) -> None:
        if event.kind == "progress":
            started.set()
            time.sleep(0.1)

    session.subscribe(listen)
    when = cancelled_after(session, started)
    with pytest.raises(Problem, match="cancelled"):
        session.preview("library{node=up.linear}")
    assert time.perf_counter() - when[0] < 0.2


def test_a_measurement_is_cancelled_between_rounds(session: Session) -> None:
    started = threading.Event()
    session.subscribe(lambda event: started.set())
    when = cancelled_after(session, started)
    with pytest.raises(Problem, match="cancelled"):
        session.measure(10_000_000)
    assert time.perf_counter() - when[0] < 0.2 and session.measured is None


def test_what_an_operation_raises_is_raised_where_it_was_called(session: Session) -> None:
    with pytest.raises(Problem, match="there is no nest `gone`"):
        session.apply("reset{nest=gone}")
    assert session.events()[-1].kind == "failed"


def test_two_threads_apply_one_after_the_other(session: Session) -> None:
    edits = [EDIT, "reset{nest=down.linear}"]
    threads = [threading.Thread(target=session.apply, args=(one,)) for one in edits]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(map(str, session.edits)) == sorted(edits)
