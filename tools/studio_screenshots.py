"""Pictures of every view of the studio: light and dark, 1440 × 900 and 800 × 600.

python tools/studio_screenshots.py build/screenshots [--model examples/mbconv.py:block]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # how the tests start a studio and a browser

SIZES = ((1440, 900), (800, 600))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default=str(ROOT / "examples" / "mbconv.py:block"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)

    import strop
    from studio.browser import launched, opened
    from studio.running import run

    session = strop.Session.of(given.model, options=strop.Options(threads=1))
    prepare(session)
    step = strop.Session.of(given.model, options=strop.Options(threads=1), training=True)
    step.check()
    for half in step.halves.values():
        half.measure(10)
    with launched() as browser:
        for one, taken in ((session, take), (step, take_training)):
            for running in run(one, given.model.rpartition(":")[2]):
                for theme in ("light", "dark"):
                    for width, height in SIZES:
                        with opened(browser, running.address, color_scheme=theme) as page:
                            page.set_viewport_size({"width": width, "height": height})
                            taken(page, given.folder, f"{theme}-{width}")
    print(f"{len(list(given.folder.glob('*.png')))} pictures in {given.folder}")


def prepare(session: object) -> None:
    """Something to see in every view: times, a check, a step by hand, a second branch."""
    session.measure(10)
    session.check()
    found = [one for one in session.space(levels=("nests",)) if one.verdict and one.change.title == "relayout"]
    if found:
        session.branch("layouts")
        session.apply(*min(found, key=lambda one: one.preview.after.cycles).passes)
        session.check()
        session.measure(10)


def take(page: object, folder: Path, suffix: str) -> None:
    from studio.browser import VIEWS, settled, show

    for view in VIEWS[:-1]:  # the last is of training steps
        show(page, view)
        page.wait_for_timeout(150)
        page.screenshot(path=folder / f"{view.lower()}-{suffix}.png")
    show(page, "Graph")
    page.evaluate("studio.graph().fit()")
    page.fill("#search", "project.conv")
    page.screenshot(path=folder / f"search-{suffix}.png")
    page.keyboard.press("Enter")
    settled(page)
    page.screenshot(path=folder / f"node-{suffix}.png")
    page.locator(".edges button").first.click()
    page.wait_for_selector("#why, #inspector .refusal, #inspector h3")
    settled(page)
    page.screenshot(path=folder / f"edge-{suffix}.png")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("?")
    page.screenshot(path=folder / f"keys-{suffix}.png")
    page.keyboard.press("Escape")


def take_training(page: object, folder: Path, suffix: str) -> None:
    from studio.browser import settled, show

    show(page, "Training")
    page.screenshot(path=folder / f"training-{suffix}.png")
    if not page.locator("#half").is_visible():
        page.click("text=Model")  # narrow windows hide the tree and what stands above it
    page.select_option("#half", "backward")
    show(page, "Graph")
    settled(page)
    page.evaluate("studio.graph().begin()")
    page.wait_for_timeout(150)
    page.screenshot(path=folder / f"backward-{suffix}.png")


if __name__ == "__main__":
    main()
