"""Serving the studio: on this machine only, on the first free port, until it is interrupted."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Callable

import uvicorn

from strop.core.problem import Problem
from strop.studio.application import application
from strop.studio.messages import MOST_BYTES
from strop.studio.workspace import Workspace

HOST, PORT = "127.0.0.1", 8765
TRIED = 64  # ports from the first one on
MOST_CONNECTIONS = 32
LEAVES = 2  # seconds that open connections get when the studio ends


class Server(uvicorn.Server):
    """A server that tells when it answers."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def serve(workspace: Workspace, *, port: int = 0, browser: bool = True, tell: Callable[[str], None]) -> None:
    """Serve a session until Ctrl-C; `tell` gets the address. Port 0 is the first free one from 8765 on."""
    listening = listen(port)
    gate = application(workspace)
    address = f"http://{HOST}:{listening.getsockname()[1]}/?token={gate.token}"

    def ready() -> None:
        tell(address)
        if browser:
            webbrowser.open(address)

    try:
        Server(configuration(gate), ready).run(sockets=[listening])
    finally:
        listening.close()


def configuration(app: Callable[..., object]) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="h11",
        ws="websockets-sansio",
        ws_max_size=MOST_BYTES,
        ws_per_message_deflate=False,  # a small message may not grow into a large one
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=LEAVES,
    )


def listen(port: int = 0) -> socket.socket:
    """A listening socket on this machine's loopback, at a port or at the first free one."""
    tried = [port] if port else list(range(PORT, PORT + TRIED))
    for one in tried:
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, one))
            found.listen()  # from here on nobody else gets the port
            return found
        except OSError as error:
            found.close()
            reason = error.strerror
    raise Problem("STR001", f"port {tried[0]} of {HOST} cannot be used: {reason}", help="choose another: --port 9000")
