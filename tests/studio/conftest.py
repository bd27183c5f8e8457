"""A studio that runs, over a session that answers what a test lets it answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from studio.running import Running, StandIn, run


@pytest.fixture(scope="module")
def studio() -> Iterator[Running]:
    yield from run(StandIn())


@pytest.fixture
def stand_in(studio: Running) -> StandIn:
    """The session of the studio, as if nothing had been asked of it."""
    session: StandIn = studio.session
    session.cancelled.clear()
    session.work, session.checking = StandIn().work, StandIn().checking
    return session
