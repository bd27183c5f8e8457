"""The whole walk in a real browser, by mouse and by keyboard alone: open, expand, search, ask why, preview, apply, undo,
set a layout, branch, compare, export the script and run it."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

import pytest

from studio.browser import done, launched, opened, said, settled, show, total, until
from studio.running import run

pytestmark = pytest.mark.browser

MODEL = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(8, 32, 3, padding=1)
        self.left = nn.Linear(32, 32)
        self.right = nn.Linear(32, 32)
        self.last = nn.Conv2d(32, 32, 3, padding=1)

    def forward(self, x):
        x = self.last(torch.relu(self.stem(x)))
        shared = torch.tanh(x.flatten(2).transpose(1, 2))
        return self.left(shared) + self.right(shared.flip(1))


def net():
    torch.manual_seed(0)
    return Net().eval(), (torch.randn(1, 8, 32, 32),)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "walked.py"
    path.write_text(textwrap.dedent(MODEL))
    return f"{path}:net"


@pytest.fixture
def live(model):
    import strop

    yield from run(strop.Session.of(model, options=strop.Options(threads=1)), "walked")


@pytest.fixture(scope="module")
def browser():
    with launched() as found:
        yield found


def amount(text):
    number, unit = re.match(r"([\d.]+) (\w+)", text).groups()
    return float(number) * {"B": 1, "kB": 1e3, "MB": 1e6}[unit]


def fusible(session):
    """An edge of the plan that some pass would fuse."""
    for edge in session.edges("plan"):
        found = session.why_not(edge.producer, edge.consumer)
        if not found.fused and found.enabled_by:
            return edge, found
    raise AssertionError("no edge of this model can be fused by hand")


def digest_of(script, tmp_path):
    path = tmp_path / "session.py"
    path.write_text(script + "\nprint(session.digest)\n")
    out = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300)
    assert out.returncode == 0, out.stderr
    return out.stdout.split()[-1]


def test_the_walk_by_mouse(browser, live, tmp_path):
    edge, why = fusible(live.session)
    with opened(browser, live.address, accept_downloads=True) as page:
        assert "token" not in page.url
        page.select_option("#level", "graph")
        settled(page)
        page.keyboard.press("o")  # all groups closed, then open
        settled(page)
        page.select_option("#level", "plan")
        settled(page)

        page.fill("#search", edge.producer)
        page.click(f"#found [data-name='{edge.producer}']")
        assert edge.producer in page.inner_text("#inspector h2")
        line = f"studio.graph().line({{producer: {edge.producer!r}, consumer: {edge.consumer!r}}})"
        x, y = page.evaluate(f"(() => {{ const g = studio.graph(), p = {line}.points, z = g.zoom, m = p.length / 4 | 0;"
                             " return [(p[2*m-2] + p[2*m]) / 2 * z.scale + z.x, (p[2*m-1] + p[2*m+1]) / 2 * z.scale + z.y] })()")  # fmt: skip
        page.locator(".graph > canvas").click(position={"x": x, "y": y})
        page.wait_for_selector("#why")
        assert why.reason in page.inner_text("#why")

        before = amount(total(page, "moves"))
        page.click("text=Preview >> nth=0")
        page.wait_for_selector("#preview .primary")
        assert "bytes moved" in page.inner_text("#preview")
        page.click("#preview .primary")
        assert "agree with eager" in done(page, "apply")
        after = amount(total(page, "moves"))
        assert after < before

        page.click("#do-undo")
        done(page, "undo")
        assert amount(total(page, "moves")) == before
        page.click("#do-redo")
        done(page, "redo")
        assert amount(total(page, "moves")) == after

        page.click("#actions >> text='Branch' >> nth=-1")
        page.fill("#branch-name", "layouts")
        page.click("#dialog >> text='Branch'")
        done(page, "branch")
        page.fill("#search", "stem")
        page.click("#found li >> nth=0")
        page.locator(".edges button").last.click()
        page.select_option("#layout", "blocked")
        page.click("text=Set layout")
        until(page, "studio.idle()")
        assert said(page)

        show(page, "Compare")
        page.wait_for_selector("text=bytes moved")
        text = page.inner_text("#view")
        assert "main" in text and "layouts" in text

        show(page, "History")
        assert "agree with eager" in page.inner_text("#view")
        page.keyboard.press("e")
        with page.expect_download() as download:
            page.click("#download-script")
        script = download.value.path().read_text()
        page.click("#dialog .close")
    assert digest_of(script, tmp_path) == live.session.digest


def test_the_walk_by_keyboard_alone(browser, live, tmp_path):
    edge, why = fusible(live.session)
    with opened(browser, live.address) as page:
        keys = page.keyboard

        def tab_to(what):
            for _ in range(200):
                inside = "what => { const on = document.activeElement;"
                inside += " return on.matches('#inspector button') && on.innerText.includes(what) }"
                if page.evaluate(inside, what):
                    return
                keys.press("Tab")
            raise AssertionError(f"{what} cannot be reached by Tab")

        keys.press("/")
        keys.type(edge.consumer)
        page.wait_for_selector("#found [data-name]")
        keys.press("Enter")
        until(page, "name => document.querySelector('#inspector h2').innerText === name", edge.consumer)
        tab_to(edge.producer)
        keys.press("Enter")
        page.wait_for_selector("#why")
        assert why.reason in page.inner_text("#why")
        before = amount(total(page, "moves"))
        tab_to("Preview")
        keys.press("Enter")
        page.wait_for_selector("#preview .primary")
        assert page.evaluate("document.activeElement.closest('#preview') !== null")
        keys.press("Enter")
        done(page, "apply")
        after = amount(total(page, "moves"))
        assert after < before
        page.evaluate("document.activeElement.blur()")
        keys.press("u")
        done(page, "undo")
        assert amount(total(page, "moves")) == before
        keys.press("y")
        done(page, "redo")
        keys.press("b")
        page.wait_for_selector("#dialog[open]")
        keys.type("second")
        keys.press("Enter")
        done(page, "branch")
        keys.press("c")
        assert "agree with eager" in done(page, "check")
        for number in range(1, 9):
            keys.press(str(number))
            settled(page)
            assert page.inner_text("#view") or number == 1
        keys.press("7")
        page.wait_for_selector("text=bytes moved")
        keys.press("e")
        page.wait_for_selector("#script")
        script = page.inner_text("#script")
        keys.press("Escape")
        page.wait_for_selector("#dialog", state="hidden")
        keys.press("1")
        page.focus("#tree [tabindex='0']")
        keys.press("End")
        keys.press("Enter")
        assert page.inner_text("#inspector h2") != "Nothing selected"
        page.focus(".graph > canvas")
        keys.press("Enter")
        until(page, "document.getElementById('view').dataset.view === 'Code'")
    assert digest_of(script, tmp_path) == live.session.digest


def test_arrows_walk_along_edges_and_enter_opens_groups(browser, live):
    with opened(browser, live.address) as page:
        page.focus(".graph > canvas")
        seen = set()
        for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight"):
            page.keyboard.press(key)
            settled(page)
            seen.add(page.inner_text("#inspector h2"))
        assert len(seen) > 2
        page.keyboard.press("o")
        settled(page)
        count = "studio.graph().drawing.boxes.length"
        before = page.evaluate(count)
        page.evaluate(
            "studio.select({kind: 'group', path: studio.graph().drawing.boxes.find(b => b.kind === 'group').name})"
        )
        page.keyboard.press("Enter")
        settled(page)
        assert page.evaluate(count) != before


def test_an_operator_leads_to_the_code_of_its_nest(browser, live):
    with opened(browser, live.address) as page:
        for level in live.session.levels[:2]:
            page.select_option("#level", level)
            settled(page)
            node = next(node for node in live.session.view(level).nodes if node.kind == "operator" and node.computes)
            page.fill("#search", node.name)
            page.keyboard.press("Enter")
            page.click(f"text=Code of {node.computes[0]}")
            page.wait_for_selector("#lines-nest .line")
            assert page.input_value("#nest-choice") == node.computes[0]
            page.click("#tab-Graph")


def test_a_line_of_the_nest_lights_its_instructions_and_its_python(browser, live):
    with opened(browser, live.address) as page:
        show(page, "Code")
        page.wait_for_selector("#lines-nest .linked")
        page.click("#lines-nest .linked >> nth=-1")
        assert page.locator("#lines-assembly .lit").count() > 0
        assert page.locator("#lines-python .lit").count() > 0
        page.focus("#lines-assembly")
        page.keyboard.press("End")
        page.keyboard.press("Home")
        assert page.get_attribute("#lines-assembly", "aria-activedescendant") == "lines-assembly-0"


def test_progress_is_shown_and_cancelled(browser, live):
    with opened(browser, live.address) as page:
        page.evaluate("void studio.act('measure', {rounds: 100000})")
        page.wait_for_selector("#progress:not([hidden])")
        page.evaluate("globalThis.asked = performance.now()")
        page.click("#cancel")
        until(page, "document.getElementById('said').textContent.includes('cancelled')")
        assert page.is_hidden("#progress")
        page.click("#actions >> text='Check'")
        assert "agree with eager" in done(page, "check")


def test_two_pages_see_each_others_changes(browser, live):
    _, why = fusible(live.session)
    with opened(browser, live.address) as first, opened(browser, live.address) as second:
        before = total(first, "moves")
        assert total(second, "moves") == before
        first.evaluate("passes => void studio.act('apply', {passes})", " ".join(map(str, why.enabled_by)))
        done(first, "apply")
        until(second, "before => document.querySelector(\"[data-total='moves']\").textContent !== before", before)
        assert total(second, "moves") == total(first, "moves")
        assert "another page" in said(second) and second.is_enabled("#do-undo")
        second.click("#do-undo")
        done(second, "undo")
        until(first, "before => document.querySelector(\"[data-total='moves']\").textContent === before", before)


def test_another_algorithm_is_chosen_in_the_panel_of_its_nest(browser, live):
    nest = next(name for name in live.session.nests.names if live.session.algorithms(name))
    with opened(browser, live.address) as page:
        page.fill("#search", nest)
        page.keyboard.press("Enter")
        page.wait_for_selector("#algorithms select")
        assert page.is_disabled("#algorithms >> text='Use'")
        way = next(iter(live.session.algorithms(nest)[0].others))
        page.select_option("#algorithms select", way)
        page.click("#algorithms >> text='Preview'")
        page.wait_for_selector("#preview .primary")
        page.click("#algorithms >> text='Use'")
        assert "agree with eager" in done(page, "apply")
        assert f"use={way}" in " ".join(map(str, live.session.edits))


def test_names_that_begin_with_a_digit_are_steered_like_others(browser):
    """As those of an nn.Sequential do: the text of a pass holds them in quotes."""
    import torch
    from torch import nn

    import strop

    model = nn.Sequential(nn.Conv2d(8, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1)).eval()
    session = strop.Session(model, (torch.randn(1, 8, 16, 16),), options=strop.Options(threads=1))
    fused = session.fusions()[0]
    for running in run(session, "sequential"):
        with opened(browser, running.address) as page:
            edge = {"kind": "edge", "producer": fused.producer, "consumer": fused.consumer}
            page.select_option("#level", "nests")
            settled(page)
            page.evaluate("edge => studio.select(edge)", edge)
            page.click("text='Keep them apart'")
            assert "agree with eager" in done(page, "apply")
            assert len(session.edits) == 1
