"""A studio that runs: a real server on a free port, over a session that answers what a test lets it answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from strop.runtime.numeric_check import NumericCheck
from strop.session.views import HistoryStep
from strop.studio.application import application
from strop.studio.gate import RequestGate
from strop.studio.serve import HOST, Server, configuration, listen
from strop.studio.workspace import Workspace


class StandIn:
    """As much of a session as the server itself needs; `script` does what a test says."""

    def __init__(self) -> None:
        self.training = False
        self.work: Callable[[], str] = lambda: "import strop\n"
        self.checking: Callable[[], object] = lambda: None
        self.branches, self.digest = (), "0"
        self.cancelled = threading.Event()
        self.heard: list[Callable[[Any], None]] = []

    def subscribe(self, callback: Callable[[Any], None]) -> Callable[[], None]:
        self.heard.append(callback)
        return lambda: self.heard.remove(callback)

    def cancel(self) -> bool:
        self.cancelled.set()
        return True

    def script(self) -> str:
        return self.work()

    def check(self) -> NumericCheck:
        self.checking()
        return NumericCheck(())

    def timeline(self) -> tuple[HistoryStep, ...]:
        return (HistoryStep(0, (), 0, 0.0, None, None),)


@dataclass
class Running:
    """A studio that is served by a thread of this process."""

    gate: RequestGate
    port: int
    session: Any
    server: Server
    host: str = field(default=HOST)

    @property
    def origin(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def address(self) -> str:
        return f"{self.origin}/?token={self.gate.token}"

    @property
    def cookie(self) -> dict[str, str]:
        return {"Cookie": f"{self.gate.cookie}={self.gate.token}"}


def run(session: Any, name: str = "a model", workspace: Workspace | None = None) -> Iterator[Running]:
    listening = listen()
    gate = application(workspace or Workspace(session, name))
    ready = threading.Event()
    server = Server(configuration(gate), ready.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    assert ready.wait(20)
    yield Running(gate, listening.getsockname()[1], session, server)
    server.should_exit = True
    thread.join(10)
    listening.close()
    assert not thread.is_alive()
