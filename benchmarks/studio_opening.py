"""How long the studio takes to show a model after it was compiled, and how large its report is.

python benchmarks/studio_opening.py bert_base
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))  # how the tests start a studio and a browser


def main(model: str, with_report: bool) -> None:
    import strop
    from strop.studio.report import write_report
    from strop.studio.workspace import Workspace
    from studio.browser import launched, opened
    from studio.running import run

    with launched() as browser:
        session = strop.Session.of(model, options=strop.Options(threads=1))
        start = time.perf_counter()
        for running in run(session, model):
            with opened(browser, running.address) as page:
                print(f"{model}: the page shows it {time.perf_counter() - start:.2f} s after it was compiled")
                start = time.perf_counter()
                page.keyboard.press("o")
                page.wait_for_timeout(50)
                while not page.evaluate("studio.idle()"):
                    page.wait_for_timeout(5)
                print(f"all {page.evaluate('studio.graph().drawing.boxes.length')} boxes open after "
                      f"{time.perf_counter() - start:.2f} s")  # fmt: skip
    if with_report:
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            size = write_report(Workspace(session, model), Path(folder) / "report.html")
            print(f"its report has {size / 1e6:.2f} MB and took {time.process_time() - start:.0f} s of CPU")


if __name__ == "__main__":
    main(sys.argv[1], "--report" in sys.argv)
