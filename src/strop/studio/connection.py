"""One page's WebSocket: requests in, answers out, progress in between, and a way to cancel.

Sessions work in one thread, one request after the other. The event loop stays free meanwhile: it tells how far the
work is, refuses what comes too fast, and answers a cancelled request at once.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from strop.core.problem import Problem
from strop.session.views import SessionEvent
from strop.studio.commands import COMMANDS
from strop.studio.messages import RateLimit, Request, number_in, read, refused
from strop.studio.steering import STEERING
from strop.studio.workspace import Workspace

RATE, BURST = 100.0, 300  # messages per second, and at once
MOST_WAITING = 32  # requests of a page that are not answered yet
QUIET = 0.4  # seconds that a request may take before its progress is told
TELLS = 0.25  # seconds between two messages of progress
CANCEL = "cancel"
STEERS = frozenset(one.__name__ for one in STEERING) - {"save"}  # what may leave the session elsewhere

_log = logging.getLogger("strop.studio")


class Connection:
    """What one WebSocket has asked for and not been told yet."""

    def __init__(
        self, socket: WebSocket, workspace: Workspace, worker: ThreadPoolExecutor, pages: set[Connection]
    ) -> None:
        """`pages` are all that are open; each hears of what others change."""
        self._socket, self._workspace, self._worker, self._pages = socket, workspace, worker, pages
        self._limit = RateLimit(RATE, BURST)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._running: int | None = None  # the request that the worker works on
        self._cancelled: set[int] = set()  # requests that were being worked on then
        self._step = ""  # of it
        self._sending = asyncio.Lock()
        self._tellers: set[asyncio.Task[None]] = set()  # the event loop itself does not hold its tasks

    async def serve(self) -> None:
        """Answer until the page goes."""
        await self._socket.accept()
        self._pages.add(self)
        try:
            while True:
                message = await self._socket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                await self._take(message.get("text"))
        except WebSocketDisconnect:
            return
        finally:
            self._pages.discard(self)
            for number in list(self._tasks):
                self._cancel(number)

    async def _take(self, text: str | None) -> None:
        number = None
        try:
            if not self._limit.allows():
                raise refused(f"more than {RATE:.0f} messages per second", "wait a second, then ask again")
            if text is None:
                raise refused("the message is not text")
            number = number_in(text)
            request = read(text)
            if request.do == CANCEL:
                await self._send({"id": request.id, "result": {"cancelled": self._cancel_asked(request)}})
                return
            self._start(request)
        except Problem as problem:
            await self._send({"id": number, "error": problem.to_json()})

    def _start(self, request: Request) -> None:
        command = COMMANDS.get(request.do)
        if command is None:
            raise refused(f"there is no command `{request.do:.40}`", f"there are: {', '.join(COMMANDS)}")
        command.check(request.given)
        if request.id in self._tasks:
            raise refused(f"request {request.id} is not answered yet", "give every request a number of its own")
        if len(self._tasks) >= MOST_WAITING:
            raise refused(f"{MOST_WAITING} requests are waiting for an answer", "wait for some of them")
        work = partial(command.run, self._workspace, **request.given)
        task = asyncio.get_running_loop().create_task(self._answer(request, work))
        self._tasks[request.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(request.id, None))

    async def _answer(self, request: Request, work: Callable[[], Any]) -> None:
        loop = asyncio.get_running_loop()
        teller = loop.create_task(self._tell(request.id))
        try:
            text = await loop.run_in_executor(self._worker, self._work, request, work, loop)
            await self._send_text(f'{{"id": {request.id}, "result": {text}}}')
        except asyncio.CancelledError:
            cancelled = refused(f"`{request.do}` was cancelled", "what was done until then can be undone")
            await self._send({"id": request.id, "error": cancelled.to_json(), "cancelled": True})
        except Problem as problem:
            await self._send({"id": request.id, "error": problem.to_json()})
        except Exception as error:
            _log.exception("%s failed", request.do)
            said = Problem("STR021", f"`{request.do}` failed: {type(error).__name__}: {error}",
                           help="this is a bug in Strop; the terminal of the studio has the traceback")  # fmt: skip
            await self._send({"id": request.id, "error": said.to_json()})
        finally:
            teller.cancel()

    def _work(self, request: Request, work: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> str:
        """In the worker's thread: the answer as text, so that the event loop has nothing to do with it."""
        self._running, self._step = request.id, ""
        self._cancelled.discard(request.id)
        changes = request.do in STEERS
        try:
            self._workspace.begin()
            with self._workspace.heard(self._heard):
                found = work()
            return json.dumps(found, separators=(",", ":"), allow_nan=False, default=str)
        except Problem as problem:
            changes = changes and problem.code == "STR014"  # cancelled: what came before that may be done
            raise
        finally:
            self._running = None
            if changes:
                loop.call_soon_threadsafe(self._tell_pages, request)
            else:
                self._cancelled.discard(request.id)

    def _tell_pages(self, request: Request) -> None:
        """Have every page look again; not the one that waits for the answer, unless it has cancelled the request."""
        for page in self._pages:
            if page is not self or request.id in self._cancelled:
                page._tell_change(request.do)
        self._cancelled.discard(request.id)

    def _tell_change(self, command: str) -> None:
        task = asyncio.get_running_loop().create_task(self._send({"changed": command}))
        self._tellers.add(task)
        task.add_done_callback(self._tellers.discard)

    async def _tell(self, number: int) -> None:
        start = time.monotonic()
        await asyncio.sleep(QUIET)
        while True:
            step = (self._step or "working") if self._running == number else "waiting"
            await self._send({"id": number, "progress": step, "seconds": round(time.monotonic() - start, 2)})
            await asyncio.sleep(TELLS)

    def _heard(self, event: SessionEvent) -> None:
        if event.kind == "progress":
            self._step = event.message or event.subject

    def _cancel_asked(self, request: Request) -> bool:
        other = request.given.get("id")
        if request.given.keys() != {"id"} or not isinstance(other, int):
            raise refused("`cancel` needs the `id` of a request")
        return self._cancel(other)

    def _cancel(self, number: int) -> bool:
        task = self._tasks.get(number)
        if task is None:
            return False
        if self._running == number:
            self._cancelled.add(number)
            self._workspace.cancel()
        task.cancel()
        return True

    async def _send(self, message: dict[str, Any]) -> None:
        await self._send_text(json.dumps(message, default=str))

    async def _send_text(self, text: str) -> None:
        async with self._sending:  # the next message is read only when this one is on its way
            if self._socket.application_state is WebSocketState.CONNECTED:
                try:
                    await self._socket.send_text(text)
                except (WebSocketDisconnect, RuntimeError):  # the page has gone meanwhile
                    return
