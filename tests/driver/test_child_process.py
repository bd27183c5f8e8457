"""Work in a child: the same result, its events, and nothing left when it fails, hangs or is interrupted."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from strop.core.journal import Journal
from strop.driver.child_process import made_in_child


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no other thread ran: a runner of tests may have some."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)


@pytest.mark.usefixtures("alone")
def test_result_and_events_come_back() -> None:
    steps: list[str] = []
    journal = Journal(steps.append)

    def make(told: Journal) -> bytes:
        with told.step("plan"):
            told.add("choice", "conv1", f"made in {os.getpid()}")
        return b"code"

    with journal.step("compile"):
        assert made_in_child(make, journal) == b"code"
    assert steps == ["compile", "plan"]
    assert [(event.kind, event.subject, event.depth) for event in journal.events] == [
        ("step", "compile", 0), ("step", "plan", 1), ("choice", "conv1", 2),
    ]  # fmt: skip
    assert str(os.getpid()) not in journal.of("choice")[0].message


@pytest.mark.usefixtures("alone")
def test_a_result_larger_than_a_pipe_comes_back() -> None:
    assert made_in_child(lambda told: bytes(10_000_000), Journal()) == bytes(10_000_000)


@pytest.mark.usefixtures("alone")
def test_an_exception_is_raised_as_it_is() -> None:
    def fail(told: Journal) -> bytes:
        raise ZeroDivisionError("planned for no cores")

    with pytest.raises(ZeroDivisionError, match="no cores"):
        made_in_child(fail, Journal())


@pytest.mark.usefixtures("alone")
def test_a_child_that_is_killed_has_its_work_done_here() -> None:
    parent, journal = os.getpid(), Journal()

    def make(told: Journal) -> bytes:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return b"code"

    assert made_in_child(make, journal) == b"code"
    assert "ended without a result" in journal.of("note")[0].message


def test_beside_other_threads_nothing_is_forked() -> None:
    stop, journal = threading.Event(), Journal()
    other = threading.Thread(target=stop.wait)
    other.start()
    try:
        assert made_in_child(lambda told: str(os.getpid()).encode(), journal) == str(os.getpid()).encode()
    finally:
        stop.set()
        other.join()
    assert "other threads" in journal.of("note")[0].message


@pytest.mark.usefixtures("alone")
def test_an_interrupt_ends_the_child() -> None:
    reading, writing = os.pipe()

    def make(told: Journal) -> bytes:
        os.write(writing, str(os.getpid()).encode())
        with told.step("hang"):
            time.sleep(60)
        return b""

    def interrupt(step: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made_in_child(make, Journal(interrupt))
    child = int(os.read(reading, 20))
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    os.close(reading)
    os.close(writing)
