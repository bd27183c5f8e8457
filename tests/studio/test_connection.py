"""Messages over the WebSocket: malformed, oversized, out of order, too many; progress and cancelling."""

from __future__ import annotations

import json
import threading
import time

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from strop.core.process_memory import resident_mb
from strop.studio.messages import MOST_BYTES


@pytest.fixture
def socket(studio, stand_in):
    given = {**studio.cookie, "Origin": studio.origin}
    with connect(f"ws://127.0.0.1:{studio.port}/session", additional_headers=given) as opened:
        yield opened


def answer(socket, timeout=10):
    return json.loads(socket.recv(timeout=timeout))


def ask(socket, number, do, **given):
    socket.send(json.dumps({"id": number, "do": do, "with": given}))


def alive(socket, number=999):
    ask(socket, number, "script")
    while (said := answer(socket)).get("id") != number:
        pass
    return "result" in said


MALFORMED = [
    "", "{", "[]", "null", "1", '"text"', "{}", '{"id": 1}', '{"id": "1", "do": "script"}', '{"id": -1, "do": "script"}',
    '{"id": 1.5, "do": "script"}', '{"id": true, "do": "script"}', '{"id": 1, "do": ["script"]}',
    '{"id": 1, "do": "script", "with": []}', '{"id": 1, "do": "script", "else": 1}', '{"id": 1, "do": "__class__"}',
    '{"id": 1, "do": "nothing"}', '{"id": 1, "do": "script", "with": {"a": 1}}', '{"id": 1, "do": "apply"}',
    '{"id": 1, "do": "apply", "with": {"passes": 1}}', '{"id": 1, "do": "apply", "with": {"passes": ["x"]}}',
    '{"id": 1, "do": "graph", "with": {"level": "plan", "open": [1]}}', '{"id": 1e400, "do": "script"}',
    '{"id": 99999999999999999999, "do": "script"}', "[" * 5000, '{"id": 1, "do": "\\ud800"}',
    '{"id": 1, "do": "cancel"}', '{"id": 1, "do": "cancel", "with": {"id": "x"}}',
]  # fmt: skip


@pytest.mark.parametrize("text", MALFORMED)
def test_what_is_no_request_gets_a_problem_with_its_reason(socket, text):
    socket.send(text)
    said = answer(socket)
    assert said["error"]["code"] == "STR020" and said["error"]["message"]
    assert alive(socket)


def test_bytes_are_no_request(socket):
    socket.send(b"\x00\x01")
    assert answer(socket)["error"]["code"] == "STR020"
    assert alive(socket)


def test_a_message_that_is_too_long_closes_its_own_connection_only(studio, socket):
    given = {**studio.cookie, "Origin": studio.origin}
    other = connect(f"ws://127.0.0.1:{studio.port}/session", additional_headers=given)
    with other, pytest.raises(ConnectionClosed):
        other.send(json.dumps({"id": 1, "do": "apply", "with": {"passes": "x" * (MOST_BYTES + 1)}}))
        other.recv(timeout=10)
    assert alive(socket)


def test_a_number_that_waits_for_its_answer_cannot_be_used_again(socket, stand_in):
    free = threading.Event()
    stand_in.work = lambda: str(free.wait(10))
    ask(socket, 5, "script")
    ask(socket, 5, "script")
    said = answer(socket)
    assert said["id"] == 5 and "not answered yet" in said["error"]["message"]
    free.set()
    assert "result" in answer(socket)


def test_cancelling_what_was_never_asked_is_told(socket):
    ask(socket, 1, "cancel", id=77)
    assert answer(socket) == {"id": 1, "result": {"cancelled": False}}


def test_answers_come_in_the_order_of_the_requests(socket, stand_in):
    count = iter(range(20))
    stand_in.work = lambda: str(next(count))
    for number in range(20):
        ask(socket, number, "script")
    assert [(one["id"], one["result"]["text"]) for one in (answer(socket) for _ in range(20))] == [
        (n, str(n)) for n in range(20)
    ]


def test_too_many_that_wait_are_refused(socket, stand_in):
    free = threading.Event()
    stand_in.work = lambda: str(free.wait(10))
    for number in range(40):
        ask(socket, number, "script")
    refused = [answer(socket) for _ in range(8)]
    assert all("waiting" in one["error"]["message"] for one in refused)
    free.set()
    assert sum("result" in answer(socket) for _ in range(32)) == 32


def test_a_flood_of_ten_thousand_is_answered_and_leaves_no_memory(socket):
    reader: list[list[dict]] = []

    def both(count):
        """Send from one thread and read from another, as a page would."""
        sender = threading.Thread(target=lambda: [ask(socket, n, "script") for n in range(count)])
        sender.start()
        reader.append([answer(socket, 30) for _ in range(count)])
        sender.join()

    both(2_000)
    before = resident_mb()
    both(10_000)
    found = reader[-1]
    assert len(found) == 10_000
    assert all(("result" in one) != ("error" in one) for one in found)
    assert {one["error"]["code"] for one in found if "error" in one} == {"STR020"}
    reader.clear()
    found = None
    assert resident_mb() - before < 30
    time.sleep(1.5)  # the limit forgives
    assert alive(socket, 123456)


def test_what_fails_is_told_and_the_studio_goes_on(socket, stand_in):
    stand_in.work = lambda: 1 / 0
    ask(socket, 1, "script")
    said = answer(socket)["error"]
    assert said["code"] == "STR021" and "ZeroDivisionError" in said["message"]
    stand_in.work = lambda: ""
    assert alive(socket)


def test_long_work_tells_its_progress(socket, stand_in):
    free = threading.Event()
    stand_in.work = lambda: str(free.wait(10))
    ask(socket, 3, "script")
    said = answer(socket)
    assert said["id"] == 3 and said["progress"] and 0.3 < said["seconds"] < 3
    free.set()
    while "progress" in (said := answer(socket)):
        pass
    assert "result" in said


def test_short_work_tells_none(socket):
    ask(socket, 3, "script")
    assert "result" in answer(socket)


def test_cancelling_answers_within_200_milliseconds_and_stops_the_session(socket, stand_in):
    stand_in.work = lambda: str(stand_in.cancelled.wait(10))
    ask(socket, 4, "script")
    time.sleep(0.1)
    start = time.monotonic()
    ask(socket, 5, "cancel", id=4)
    said = {one["id"]: one for one in (answer(socket), answer(socket))}
    assert time.monotonic() - start < 0.2
    assert said[5]["result"] == {"cancelled": True}
    assert said[4]["cancelled"] and "cancelled" in said[4]["error"]["message"]
    assert stand_in.cancelled.is_set()
    assert alive(socket)


def test_work_that_waits_is_cancelled_without_stopping_the_one_that_runs(socket, stand_in):
    free = threading.Event()
    stand_in.work = lambda: str(free.wait(10))
    ask(socket, 1, "script")
    ask(socket, 2, "script")
    time.sleep(0.1)
    ask(socket, 3, "cancel", id=2)
    said = {one["id"]: one for one in (answer(socket), answer(socket))}
    assert said[2]["cancelled"] and not stand_in.cancelled.is_set()
    free.set()
    while "result" not in (last := answer(socket)):
        assert "progress" in last
    assert last["id"] == 1


def test_pages_hear_of_what_others_change(studio, socket, stand_in):
    given = {**studio.cookie, "Origin": studio.origin}
    with connect(f"ws://127.0.0.1:{studio.port}/session", additional_headers=given) as other:
        assert alive(other)
        ask(socket, 1, "check")
        assert answer(other) == {"changed": "check"}
        assert answer(socket)["id"] == 1  # who has asked gets an answer
        ask(socket, 2, "script")
        assert answer(socket)["id"] == 2
        assert alive(other, 3)  # who only looks changes nothing


def test_a_page_hears_of_what_it_has_cancelled_when_it_has_ended(socket, stand_in):
    stand_in.checking = lambda: stand_in.cancelled.wait(10)
    ask(socket, 4, "check")
    time.sleep(0.1)
    ask(socket, 5, "cancel", id=4)
    said = [answer(socket) for _ in range(3)]
    assert {"changed": "check"} in said and sum(one.get("id") == 4 for one in said) == 1


def test_a_page_that_goes_takes_its_work_with_it(studio, stand_in):
    stand_in.work = lambda: str(stand_in.cancelled.wait(10))
    given = {**studio.cookie, "Origin": studio.origin}
    with connect(f"ws://127.0.0.1:{studio.port}/session", additional_headers=given) as gone:
        ask(gone, 1, "script")
        time.sleep(0.1)
    assert stand_in.cancelled.wait(5)
    deadline = time.monotonic() + 5
    while stand_in.heard and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not stand_in.heard
