"""The one gate in front of everything that the studio answers, HTTP and WebSocket alike.

It is the outermost ASGI application: a route that is added later is behind it without doing anything. It asks three
questions of every request, in this order:

1. Was this machine addressed by a loopback name? A page of another site that had its own name point to 127.0.0.1 (DNS
   rebinding) sends its own name as `Host`. Any port is taken: through `ssh -L 9000:127.0.0.1:8765` it is another one.
2. Does the request come from our own page? `Origin`, where there is one, has to be that of `Host`; a WebSocket has to
   have one. What other pages embed without an `Origin` (images, scripts) tells so in `Sec-Fetch-Site`.
3. Does it hold the token? The address that `strop studio` prints has it as a query; the answer to that request sets a
   cookie, and the page takes the query out of the address bar.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
CONTENT_SECURITY_POLICY = "; ".join([
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
    "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
])  # fmt: skip
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
POLICY_VIOLATION = 1008  # the WebSocket code for a connection that is refused


class RequestGate:
    """Lets requests of the studio's own page through, and answers 403 to all others."""

    def __init__(self, app: ASGIApp, token: str | None = None) -> None:
        self.app = app
        self.token = token or secrets.token_urlsafe(32)
        # browsers keep cookies per host, not per port: two studios need cookies of two names
        self.cookie = f"strop_{hashlib.sha256(self.token.encode()).hexdigest()[:12]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        fresh = scope["type"] == "http" and scope["path"] == "/" and self._is_token(_query_token(scope))
        why = self.refusal(scope["type"], _headers(scope), fresh)
        if why and scope["type"] == "websocket":
            await receive()  # the handshake; closing before it is accepted answers it with 403
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": why})
            return
        if why:
            refused = PlainTextResponse(f"403: {why}\nOpen the address that `strop studio` printed.\n", 403, HEADERS)
            await refused(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = {**HEADERS, "set-cookie": self._set_cookie()} if fresh else HEADERS
                own = [(name, value) for name, value in message["headers"] if name.decode("latin-1") not in added]
                message["headers"] = [*own, *((n.encode(), v.encode()) for n, v in added.items())]
            await send(message)

        await self.app(scope, receive, with_headers)

    def refusal(self, kind: str, headers: Mapping[str, str], fresh: bool = False) -> str:
        """Why a request is not let through; empty if it is. `fresh` requests carry the token in their address."""
        host = headers.get("host", "").lower()
        if host.rpartition(":")[0] not in LOOPBACK and host not in LOOPBACK:
            return "the request is addressed to another host"
        origin = headers.get("origin")
        if origin is None and kind == "websocket":
            return "a WebSocket has to tell its origin"
        if origin is not None and not _is_origin(origin, host):
            return "the request comes from a page of another origin"
        site, mode = headers.get("sec-fetch-site", "same-origin"), headers.get("sec-fetch-mode", "")
        if site not in ("same-origin", "none") and mode != "navigate":
            return "the request comes from a page of another site"
        if not fresh and not self._is_token(self._cookie_token(headers.get("cookie", ""))):
            return "the request does not hold the token of this studio"
        return ""

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    def _cookie_token(self, header: str) -> str:
        try:
            found = SimpleCookie(header).get(self.cookie)
        except CookieError:
            return ""
        return found.value if found is not None else ""

    def _set_cookie(self) -> str:
        return f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"


def _headers(scope: Scope) -> dict[str, str]:
    """Header names to values. A header that is given twice is taken for none of its values."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        twice = key in found and key in ("host", "origin")
        found[key] = "" if twice else text
    return found


def _query_token(scope: Scope) -> str:
    query = scope["query_string"].decode("latin-1")
    return parse_qs(query, max_num_fields=8).get("token", [""])[0] if query.count("&") < 8 else ""


def _is_origin(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme == "http" and parts.netloc.lower() == host
