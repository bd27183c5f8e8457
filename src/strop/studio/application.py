"""The studio as one ASGI application: the page's own files, one WebSocket, and the gate in front of both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache
from importlib import resources
from types import MappingProxyType

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from strop.studio.connection import Connection
from strop.studio.gate import RequestGate
from strop.studio.workspace import Workspace

PAGE = "index.html"
MEDIA_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@cache
def page_files() -> Mapping[str, str]:
    """The files of the page by name. Only these are served: a request names one of them, never a path."""
    folder = resources.files("strop.studio") / "page"
    found = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.is_file()}
    return MappingProxyType({name: text for name, text in found.items() if _suffix(name) in MEDIA_TYPES})


def _suffix(name: str) -> str:
    return f".{name.rpartition('.')[2]}"


def application(workspace: Workspace, token: str | None = None) -> RequestGate:
    """Everything that the studio answers, behind its gate."""
    worker = ThreadPoolExecutor(1, "strop-studio")
    pages: set[Connection] = set()

    async def page(request: HttpRequest) -> Response:
        return Response(page_files()[PAGE], media_type=MEDIA_TYPES[".html"])

    async def file(request: HttpRequest) -> Response:
        name = request.path_params["name"]
        text = page_files().get(name)
        if text is None:
            return PlainTextResponse("404: the page has no such file\n", 404)
        return Response(text, media_type=MEDIA_TYPES[_suffix(name)])

    async def connect(socket: WebSocket) -> None:
        await Connection(socket, workspace, worker, pages).serve()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        workspace.cancel()
        worker.shutdown(wait=False, cancel_futures=True)

    routes = [Route("/", page), Route("/page/{name}", file), WebSocketRoute("/session", connect)]
    return RequestGate(Starlette(routes=routes, lifespan=lifespan), token)
