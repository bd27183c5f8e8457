"""Another site in a real browser: by DNS rebinding, by frames, by scripts, by WebSockets."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from studio.browser import launched

pytestmark = pytest.mark.browser


class EvilPage(BaseHTTPRequestHandler):
    """A page of another site."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>evil</title>")

    def log_message(self, *_):
        return


@pytest.fixture(scope="module")
def evil():
    server = ThreadingHTTPServer(("127.0.0.1", 0), EvilPage)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()


@pytest.fixture(scope="module")
def browser():
    with launched("--host-resolver-rules=MAP *.example 127.0.0.1") as found:
        yield found


WEBSOCKET = """address => new Promise(done => {
    const socket = new WebSocket(address);
    socket.onopen = () => done("open");
    socket.onerror = () => done("refused");
})"""


def test_a_rebound_name_gets_403(browser, studio):
    page = browser.new_page()
    for path in ("/", f"/?token={studio.gate.token}", "/page/main.js"):
        assert page.goto(f"http://evil.example:{studio.port}{path}").status == 403
    assert page.evaluate(WEBSOCKET, f"ws://evil.example:{studio.port}/session") == "refused"
    page.close()


def test_a_page_of_another_origin_reaches_nothing_even_in_a_browser_that_has_the_token(browser, studio, evil):
    made = browser.new_context()
    assert made.new_page().goto(studio.address).status == 200  # the cookie is there
    with made:
        other = made.new_page()
        other.goto(f"http://127.0.0.1:{evil}/")  # the same host, another port: cookies go along
        assert other.evaluate(WEBSOCKET, f"ws://127.0.0.1:{studio.port}/session") == "refused"
        fetched = "address => fetch(address, {credentials: 'include'}).then(r => r.status, () => 'refused')"
        assert other.evaluate(fetched, f"{studio.origin}/") in (403, "refused")
        script = """address => new Promise(done => {
            const script = document.createElement("script");
            script.src = address; script.type = "module";
            script.onload = () => done("loaded"); script.onerror = () => done("refused");
            document.head.append(script);
        })"""
        assert other.evaluate(script, f"{studio.origin}/page/main.js") == "refused"
        frame = """address => new Promise(done => {
            const frame = document.createElement("iframe");
            frame.src = address; document.body.append(frame);
            frame.onload = () => { try { done(frame.contentDocument ? "empty" : "closed") } catch { done("closed") } };
        })"""
        assert other.evaluate(frame, f"{studio.origin}/") in ("closed", "empty")
        assert all(one.name != "" or "model" not in one.content() for one in other.frames[1:])


def test_the_policy_forbids_inline_scripts_and_evaluation(browser, studio):
    made = browser.new_context()
    page = made.new_page()
    page.goto(studio.address)
    inline = """() => {
        const script = document.createElement("script");
        try { script.textContent = "globalThis.ran = true"; document.head.append(script); } catch { }
        return globalThis.ran === undefined;
    }"""
    assert page.evaluate(inline)
    assert page.evaluate("() => { try { document.body.innerHTML = '<b>'; } catch { return true } return false }")
    made.close()
