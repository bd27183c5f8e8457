"""Every view in a real browser: nothing for axe-core to find, readable when it is narrow, quick when it is large."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from torch import nn

from draw.test_layout import unet
from strop.session.views import Edge, ProgramNode, ProgramView
from strop.studio.drawings import drawn, groups
from strop.studio.report import write_report
from strop.studio.workspace import Workspace
from studio.browser import VIEWS, axe, done, launched, opened, settled, show, total, until
from studio.running import run

pytestmark = pytest.mark.browser
BLOCK = str(Path(__file__).resolve().parents[2] / "examples" / "mbconv.py")


@pytest.fixture(scope="module")
def session():
    import strop

    found = strop.Session.of(f"{BLOCK}:block", options=strop.Options(threads=1))
    found.measure(3)
    found.check()
    return found


@pytest.fixture(scope="module")
def live(session):
    yield from run(session, "mbconv")


@pytest.fixture(scope="module")
def browser():
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def report(session, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(Workspace(session, "mbconv"), path)
    return path


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1440, 900), (800, 600)], ids=["wide", "narrow"])
def test_axe_finds_nothing_on_any_view(browser, live, theme, size):
    with opened(browser, live.address, color_scheme=theme, bypass_csp=True) as page:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        found = {view: (show(page, view), axe(page))[1] for view in VIEWS}
        show(page, "Graph")
        page.fill("#search", "project.conv")
        found["search"] = axe(page)
        page.keyboard.press("Enter")
        settled(page)
        found["a node"] = axe(page)
        page.click("#inspector summary >> nth=0")
        settled(page)
        found["what could be done"] = axe(page)
        page.locator(".edges button").first.click()
        page.wait_for_selector("#why, #inspector .refusal")
        found["an edge"] = axe(page)
        page.keyboard.press("?")
        found["keys"] = axe(page)
        assert {view: rules for view, rules in found.items() if rules} == {}


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_cut_off_when_the_window_is_narrow(browser, live, view):
    with opened(browser, live.address) as page:
        page.set_viewport_size({"width": 800, "height": 600})
        show(page, view)
        assert page.evaluate("document.documentElement.scrollWidth") <= 800
        box = page.locator("#view").bounding_box()
        assert box["height"] > 150 and box["width"] > 400


def assert_opens_from_a_file(browser, path, name):
    """Without a network and without errors, with every view drawn."""
    requests = []
    made = browser.new_context(offline=True)
    page = made.new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.evaluate("studio.ready")
    for view in VIEWS:
        show(page, view)
        assert page.inner_text("#view").strip() or page.locator("#view canvas").count(), view
        assert not page.locator("#view .refusal").count(), (view, page.inner_text("#view"))
    for half in page.evaluate("studio.state.overview.halves"):
        page.select_option("#half", half)
        until(page, "half => studio.state.half === half && studio.state.nodes.length", half)
    assert page.inner_text("#model") == name
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    made.close()
    assert wrong == []


def test_the_report_opens_from_a_file_without_a_network_and_without_errors(browser, report):
    assert_opens_from_a_file(browser, report, "mbconv")


def test_the_report_of_bert_base_is_under_a_megabyte_and_opens_from_a_file(browser, tmp_path):
    import strop

    session = strop.Session.of("bert_base", options=strop.Options(threads=1))
    size = write_report(Workspace(session, "bert_base"), tmp_path / "report.html")
    assert size == (tmp_path / "report.html").stat().st_size < 1_000_000
    assert_opens_from_a_file(browser, tmp_path / "report.html", "bert_base")


def test_the_report_answers_why_not_and_expands_groups(browser, report):
    with opened(browser, report.as_uri()) as page:
        page.select_option("#level", "graph")
        page.keyboard.press("o")
        page.fill("#search", "depthwise.conv")
        page.keyboard.press("Enter")
        page.locator(".edges button").first.click()
        page.wait_for_selector("#inspector h2")
        for level in ("captured", "nests", "fused", "plan"):
            page.select_option("#level", level)
            until(page, "level => studio.state.level === level", level)
        page.locator(".edges button, #tree [role=treeitem]").first.click()


def test_axe_finds_nothing_on_a_report(browser, report):
    with opened(browser, report.as_uri(), bypass_csp=True) as page:
        assert {view: rules for view in VIEWS if (rules := (show(page, view), axe(page))[1])} == {}


def test_a_training_step_shows_both_halves_and_what_is_stored(browser, tmp_path):
    import strop

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(24, 32), nn.Tanh(), nn.Linear(32, 8))
    session = strop.Session(net, (torch.randn(16, 24),), threads=1, training=True)
    for running in run(session, "step"):
        with opened(browser, running.address, bypass_csp=True) as page:
            show(page, "Training")
            assert "values of forward" in page.inner_text("#view") and axe(page) == []
            seen = {}
            for half in ("forward", "backward"):
                page.select_option("#half", half)
                until(page, "half => studio.state.half === half && studio.idle()", half)
                show(page, "Graph")
                seen[half] = page.evaluate("studio.state.nodes.map(node => node.name)")
            assert seen["forward"] != seen["backward"]
            page.click("#actions >> text='Measure'")
            done(page, "measure")
            assert total(page, "measured") != "–"
    write_report(Workspace(session, "step"), tmp_path / "step.html")
    assert_opens_from_a_file(browser, tmp_path / "step.html", "step")


def test_five_thousand_operators_pan_within_20_milliseconds_of_cpu(browser, live):
    items, links = unet(5000)
    nodes = tuple(ProgramNode(i.name, "nest", "conv", i.path, (), "f32[1]", 4, 4, 0) for i in items)
    edges = tuple(Edge(k.start, k.end, k.start, "f32[1]", int(k.weight), {"L2": int(k.weight)}) for k in links)
    view = ProgramView("plan", nodes, edges)
    drawing = drawn(view, groups(view))
    with opened(browser, live.address) as page:
        page.evaluate("drawing => { studio.graph().show(drawing); studio.graph().fit(); }", drawing)
        assert page.evaluate("studio.graph().drawing.boxes.filter(b => b.kind !== 'group').length") == 5000
        page.evaluate("studio.graph().zoom.scale = 0.03; studio.graph().pan(5)")  # everything is in the window
        taken = []
        for _ in range(3):
            before = chromium_seconds()
            page.evaluate("studio.graph().pan(40)")
            taken.append((chromium_seconds() - before) / 40 * 1e3)
        assert min(taken) <= 20, taken


def chromium_seconds():
    """CPU time of every process below this one: the browser's are the only ones that work."""
    ticks, parents = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(fields[1])
            ticks[int(folder.name)] = int(fields[11]) + int(fields[12])

    def below(process):
        while process in parents and process != os.getpid():
            process = parents[process]
        return process == os.getpid()

    return sum(spent for process, spent in ticks.items() if process != os.getpid() and below(process)) / os.sysconf(
        "SC_CLK_TCK"
    )
