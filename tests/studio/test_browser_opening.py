"""Opening a model in a real browser: its progress, cancelling it, opening it again, and a model that is refused."""

from __future__ import annotations

import pytest

from strop.core.problem import Problem
from strop.studio.workspace import Workspace
from studio.browser import axe, launched, until
from studio.running import run

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser():
    with launched() as found:
        yield found


def test_opening_shows_its_progress_is_cancelled_within_200_milliseconds_and_begun_again(browser):
    import strop

    def opening(journal):
        return strop.Session.of("resnet18", options=strop.Options(threads=1, cache=False), journal=journal)

    for running in run(None, workspace=Workspace(None, "resnet18", opening)):
        page = browser.new_page(bypass_csp=True)
        page.goto(running.address)
        until(page, "document.getElementById('step')?.innerText.includes(' s')")
        assert "Opening resnet18" in page.inner_text("#opening") and page.inner_text("#model") == "resnet18"
        assert axe(page) == []
        taken = page.evaluate("""async () => {
            const start = performance.now();
            document.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}));
            while (!document.getElementById("open-again")) await new Promise(requestAnimationFrame);
            return performance.now() - start;
        }""")
        assert taken < 200
        assert "cancelled" in page.inner_text("#opening") and axe(page) == []
        assert page.evaluate("document.activeElement.id") == "open-again"
        page.keyboard.press("Enter")
        until(page, "studio.state.overview !== null && studio.idle()", seconds=120)
        assert page.evaluate("studio.graph().drawing.boxes.length") > 5
        page.reload()  # it stays open
        until(page, "studio.state.overview !== null && studio.idle()")
        page.close()


def test_a_model_that_is_refused_shows_its_reason_place_and_next_step(browser):
    def refused(journal):
        raise Problem("STR101", "it branches on a tensor", where="net.py:7", help="use torch.where")

    for running in run(None, workspace=Workspace(None, "refused", refused)):
        page = browser.new_page(bypass_csp=True)
        page.goto(running.address)
        page.wait_for_selector("#open-again")
        text = page.inner_text("#opening")
        assert all(part in text for part in ("STR101", "it branches on a tensor", "net.py:7", "use torch.where"))
        assert axe(page) == []
        page.close()
