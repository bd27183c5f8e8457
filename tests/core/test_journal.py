import gc
import json
import threading
import warnings

import pytest

from strop.core.journal import Event, Journal, StropWarning


def test_steps_are_timed_and_stand_before_what_happened_in_them():
    journal = Journal()
    with journal.step("fuse"):
        journal.add("fusion", "conv1", "took relu1 as its epilogue", saved_bytes=10)
        with journal.step("inner"):
            journal.add("refusal", "pool1", "its windows overlap")
    assert [(e.kind, e.subject, e.depth) for e in journal.events] == [
        ("step", "fuse", 0),
        ("fusion", "conv1", 1),
        ("step", "inner", 1),
        ("refusal", "pool1", 2),
    ]
    assert journal.events[0].seconds >= journal.events[2].seconds > 0


def test_a_step_that_raises_is_marked_and_closed():
    journal = Journal()
    with pytest.raises(ZeroDivisionError), journal.step("plan"):
        1 / 0
    journal.add("note", "after")
    assert journal.events[0].message == "failed" and journal.events[0].seconds is not None
    assert journal.events[1].depth == 0


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="unknown kind"):
        Journal().add("wish", "x")


def test_json_holds_every_event_even_with_odd_data():
    journal = Journal()
    journal.add("choice", "conv1", "tile 6×16", tile=(6, 16), where=object)
    (event,) = json.loads(journal.to_json())
    assert event["data"]["tile"] == [6, 16] and "object" in event["data"]["where"]


def test_data_that_cannot_be_pickled_is_told_by_its_text():
    journal = Journal()
    journal.add("choice", "conv1", "tile 6×16", by=lambda: None)
    assert "lambda" in journal.events[0].data["by"]


def test_what_is_recorded_does_not_change_with_what_it_was_made_of():
    journal, sizes = Journal(), [1]
    journal.add("note", "conv1", sizes=sizes)
    sizes.append(2)
    assert journal.events[0].data["sizes"] == [1]


def test_events_are_no_objects_until_somebody_looks():
    def objects():
        return sum(type(found) is Event for found in gc.get_objects())

    journal, before = Journal(), objects()
    with journal.step("fuse"):
        journal.add("fusion", "conv1", "took relu1 as its epilogue", saved_bytes=10)
    assert objects() == before and len(journal.events) == 2


def test_explain_groups_what_is_said_of_many():
    journal = Journal()
    with journal.step("fold"):
        for i in range(5):
            journal.add("rewrite", f"bn{i}", "folded into its convolution")
        journal.add("refusal", "bn9", "its input has two users")
    text = journal.explain()
    assert "bn0, bn1, bn2 and 2 more: folded into its convolution" in text
    assert "refusal   bn9: its input has two users" in text
    assert text.endswith("1 step, 5 rewrites, 1 refusal")
    assert journal.explain(full=True).count("folded into") == 5


def test_warnings_are_shown_once_but_recorded_each_time():
    journal = Journal()
    with pytest.warns(StropWarning, match="conv1: runs eager") as shown:
        journal.warn("fallback", "conv1", "runs eager")
        journal.warn("fallback", "conv1", "runs eager")
    assert len(shown) == 1 and len(journal.of("fallback")) == 2


def test_quiet_events_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Journal().add("fallback", "x", "runs eager")


def test_threads_nest_their_own_steps():
    journal, inside, done = Journal(), threading.Event(), threading.Event()

    def other():
        inside.wait(5)
        journal.add("note", "from the other thread")
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    with journal.step("main"):
        inside.set()
        done.wait(5)
    thread.join()
    assert journal.of("note")[0].depth == 0


def test_whoever_shows_progress_is_told_of_each_step_as_it_begins():
    told = []
    journal = Journal(on_step=told.append)
    with journal.step("outer"):
        assert told == ["outer"]
        with journal.step("inner"):
            pass
    assert told == ["outer", "inner"]


def test_a_journal_that_nobody_will_read_tells_its_steps_and_keeps_nothing():
    told = []
    journal = Journal(on_step=told.append, keep=False)
    with journal.step("outer"):
        assert journal.add("choice", "conv1", "as it is").message == "as it is"
    assert told == ["outer"]
    assert journal.events == [] and journal.explain() == "nothing was recorded"
