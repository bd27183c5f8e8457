"""A studio answers before its model is compiled: it tells how far that is, cancels it, and says why it failed."""

from __future__ import annotations

import json
import threading
import time

import pytest
import torch
from torch import nn
from websockets.sync.client import connect

import strop
from strop.core.problem import Problem
from strop.studio.workspace import Workspace
from studio.running import run


class Slow:
    """Opens a model when it is allowed to, telling steps meanwhile."""

    def __init__(self):
        self.allowed, self.begun, self.journals = threading.Event(), 0, []

    def __call__(self, journal):
        self.begun += 1
        self.journals.append(journal)
        with journal.step("capture"):
            self.allowed.wait(20)
        with journal.step("plan"):
            return strop.Session(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), (torch.randn(2, 8),), threads=1)


@pytest.fixture
def slow():
    found = Slow()
    yield found
    found.allowed.set()


@pytest.fixture
def socket(slow):
    for running in run(None, workspace=Workspace(None, "slow", slow)):
        given = {**running.cookie, "Origin": running.origin}
        with connect(f"ws://127.0.0.1:{running.port}/session", additional_headers=given) as opened:
            yield opened
        slow.allowed.set()


def answer(socket, timeout=20):
    return json.loads(socket.recv(timeout=timeout))


def ask(socket, number, do, **given):
    socket.send(json.dumps({"id": number, "do": do, "with": given}))


def last(socket, number):
    while "progress" in (said := answer(socket)) or said["id"] != number:
        pass
    return said


def test_before_a_model_is_open_the_studio_says_so(socket):
    ask(socket, 1, "about")
    assert answer(socket)["result"] == {"model": "slow", "open": False}
    for number, command in enumerate(("overview", "script", "check", "undo", "stored"), 2):
        ask(socket, number, command)
        said = answer(socket)["error"]
        assert said["code"] == "STR001" and "not open" in said["message"]


def test_opening_tells_its_steps_and_then_everything_answers(socket, slow):
    ask(socket, 1, "open_model")
    said = answer(socket)
    assert said["id"] == 1 and said["progress"] == "capture"
    slow.allowed.set()
    assert last(socket, 1)["result"] == {"model": "slow", "open": True}
    ask(socket, 2, "overview")
    assert last(socket, 2)["result"]["model"] == "slow"
    ask(socket, 3, "open_model")  # once is enough
    assert last(socket, 3)["result"]["open"] and slow.begun == 1


def test_opening_is_cancelled_within_200_milliseconds_and_can_be_asked_for_again(socket, slow):
    ask(socket, 1, "open_model")
    assert answer(socket)["progress"]
    start = time.monotonic()
    ask(socket, 2, "cancel", id=1)
    said = {}
    while set(said) != {1, 2}:
        one = answer(socket)
        if "progress" not in one:
            said[one["id"]] = one
    assert time.monotonic() - start < 0.2
    assert said[1]["cancelled"] and said[2]["result"]["cancelled"]
    ask(socket, 3, "about")
    assert not last(socket, 3)["result"]["open"]  # the thread that works on it holds nobody up
    slow.allowed.set()
    ask(socket, 4, "open_model")
    assert last(socket, 4)["result"]["open"] and slow.begun == 2
    with pytest.raises(Problem, match="STR014"), slow.journals[0].step("another"):
        pass  # what was cancelled goes no further


def test_a_model_that_cannot_be_compiled_is_told_and_the_studio_goes_on():
    def refused(journal):
        raise Problem("STR101", "it branches on a tensor", where="net.py:7", help="use torch.where")

    for running in run(None, workspace=Workspace(None, "refused", refused)):
        given = {**running.cookie, "Origin": running.origin}
        with connect(f"ws://127.0.0.1:{running.port}/session", additional_headers=given) as socket:
            ask(socket, 1, "open_model")
            said = last(socket, 1)["error"]
            assert (said["code"], said["where"], said["help"]) == ("STR101", "net.py:7", "use torch.where")
            ask(socket, 2, "about")
            assert last(socket, 2)["result"]["open"] is False
