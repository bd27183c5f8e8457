"""Nothing of the studio answers without its token, to another host, or to another origin. Routes are those that the
application has: one that is added tomorrow is tried here without anybody naming it."""

from __future__ import annotations

from base64 import b64encode
from http.client import HTTPConnection

import pytest
from starlette.routing import Route, WebSocketRoute

from studio.running import run

WRONG_HOSTS = [
    "evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example:80", "0.0.0.0:8765", "",
    "127.0.0.1@evil.example", "evil.example#127.0.0.1", "[::2]:8765", "127.0.0.2:8765",
]  # fmt: skip
WRONG_ORIGINS = [
    "http://evil.example", "null", "", "https://127.0.0.1", "http://127.0.0.1", "http://localhost:1",
    "file://", "http://127.0.0.1:{port}.evil.example", "http://[", "chrome-extension://abc",
]  # fmt: skip


def paths(studio, kind):
    """Every path of the application, with something in the place of parameters."""
    found = [route.path.replace("{name}", "main.js") for route in studio.gate.app.routes if isinstance(route, kind)]
    assert found
    return found


def http_paths(studio):
    return [*paths(studio, Route), "/nothing", "/page/nothing.js"]


def get(studio, path, headers=None, method="GET", body=None):
    """The answer to one request, whose headers are sent as they are: twice, too, and `Host` only where none is given."""
    given = list(headers.items() if isinstance(headers, dict) else headers or [])
    connection = HTTPConnection("127.0.0.1", studio.port, timeout=10)
    connection.putrequest(method, path, skip_host=any(name == "Host" for name, _ in given))
    for name, value in given:
        connection.putheader(name, value)
    if body:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    answer.text = answer.read().decode()
    connection.close()
    return answer


def websocket_status(studio, path, headers, origin):
    """The status that answers a handshake: 101 where it was accepted."""
    given = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", **headers}
    given["Sec-WebSocket-Key"] = b64encode(b"sixteen bytes ..").decode()
    if origin is not None:
        given["Origin"] = origin
    return get(studio, path, given).status


def test_every_route_is_either_http_or_a_websocket(studio):
    assert all(isinstance(route, Route | WebSocketRoute) for route in studio.gate.app.routes)


def test_the_page_of_the_studio_gets_everything(studio):
    for path in paths(studio, Route):
        assert get(studio, path, studio.cookie).status == 200, path
    for path in paths(studio, WebSocketRoute):
        assert websocket_status(studio, path, studio.cookie, studio.origin) == 101, path


def test_without_a_token_every_route_answers_403(studio):
    name = studio.gate.cookie
    for path in http_paths(studio):
        for headers in ({}, {"Cookie": f"{name}=guess"}, {"Cookie": f"{name}="}, {"Cookie": "\x7f;;=;"}):
            assert get(studio, path, headers).status == 403, (path, headers)
        assert get(studio, f"{path}?token=guess").status == 403
        assert get(studio, f"{path}?token=").status == 403
    for path in [*paths(studio, WebSocketRoute), "/nothing"]:
        assert websocket_status(studio, path, {}, studio.origin) == 403, path
        assert websocket_status(studio, f"{path}?token={studio.gate.token}", {}, studio.origin) == 403, path


@pytest.mark.parametrize("host", WRONG_HOSTS)
def test_another_host_gets_403_even_with_the_token(studio, host):
    for path in http_paths(studio):
        assert get(studio, path, {**studio.cookie, "Host": host}).status in (400, 403), path
    assert get(studio, f"/?token={studio.gate.token}", {"Host": host}).status in (400, 403)
    for path in paths(studio, WebSocketRoute):
        status = websocket_status(studio, path, {**studio.cookie, "Host": host}, f"http://{host}")
        assert status in (400, 403), path


@pytest.mark.parametrize("origin", WRONG_ORIGINS)
def test_another_origin_gets_403_even_with_the_token(studio, origin):
    origin = origin.format(port=studio.port)
    for path in http_paths(studio):
        assert get(studio, path, {**studio.cookie, "Origin": origin}).status == 403, path
    for path in paths(studio, WebSocketRoute):
        assert websocket_status(studio, path, studio.cookie, origin) == 403, path


def test_a_websocket_without_an_origin_gets_403(studio):
    for path in paths(studio, WebSocketRoute):
        assert websocket_status(studio, path, studio.cookie, None) == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_other_pages_embed_gets_403(studio, site):
    for path in http_paths(studio):
        given = {**studio.cookie, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
        assert get(studio, path, given).status == 403


def test_two_hosts_in_one_request_get_no_answer(studio):
    given = [("Host", f"127.0.0.1:{studio.port}"), ("Host", "evil.example"), *studio.cookie.items()]
    assert get(studio, "/", given).status in (400, 403)


def test_the_printed_address_sets_a_cookie_that_scripts_and_other_sites_do_not_get(studio):
    answer = get(studio, f"/?token={studio.gate.token}")
    assert answer.status == 200
    cookie = answer.headers["set-cookie"]
    assert f"{studio.gate.cookie}={studio.gate.token}" in cookie
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie


def test_the_token_opens_the_page_and_nothing_else_by_address(studio):
    assert get(studio, f"/page/main.js?token={studio.gate.token}").status == 403


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1:1", "[::1]:8765", "localhost"])
def test_a_forwarded_port_is_not_another_host(studio, host):
    given = {**studio.cookie, "Host": host}
    assert get(studio, "/", given).status == 200
    assert websocket_status(studio, "/session", given, f"http://{host}") == 101


def test_every_answer_has_the_policies(studio):
    for path in http_paths(studio):
        for headers in (studio.cookie, {}):
            found = get(studio, path, headers).headers
            policy = found["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy
            assert found["x-content-type-options"] == "nosniff"
            assert found["cross-origin-resource-policy"] == "same-origin"
            assert "server" not in found


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_is_written_by_http(studio, method):
    for path in http_paths(studio):
        answer = get(studio, path, studio.cookie, method=method, body=b"x" * 10_000)
        assert answer.status in (404, 405), path


@pytest.mark.parametrize("name", [
    "../gate.py", "..%2fgate.py", "%2e%2e/gate.py", "..\\gate.py", "%00main.js", "main.js%00.html", "/etc/passwd",
    "....//gate.py", "%252e%252e%252fgate.py", "main.js/../../gate.py", "file:///etc/passwd", "a" * 5000,
])  # fmt: skip
def test_paths_lead_to_no_other_file(studio, name):
    answer = get(studio, f"/page/{name}", studio.cookie)
    assert answer.status in (400, 404)
    assert "import" not in answer.text and "root:" not in answer.text


def test_two_studios_have_tokens_and_cookies_of_their_own(studio, stand_in):
    second = run(stand_in)
    other = next(second)
    assert other.port != studio.port
    assert other.gate.token != studio.gate.token and other.gate.cookie != studio.gate.cookie
    assert get(other, "/", studio.cookie).status == 403
    assert next(second, None) is None
