"""Findings drawn at random over all packages, with their code, to be judged by reading.

    python tests/packages/sample.py --count 100              # the sample: place, message, code around it
    python tests/packages/sample.py --count 100 --lines      # one line each, to write the judgement behind

The draw is `random.Random(seed).sample` over what `strop scan` shows by default in each package, in the order of packages,
files and lines: the same versions and the same Strop give the same sample.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "src")]

from catalogue import PACKAGES, SCANNED, fetch, fetch_scanned, named, site  # noqa: E402

from strop.core.cache import Cache  # noqa: E402
from strop.source.facts import Finding  # noqa: E402
from strop.source.report import best_of  # noqa: E402
from strop.source.scan_project import scan_project  # noqa: E402

BEST = 10  #: findings of a package that `strop scan` prints unless `--all` is given


def shown(packages: list[str], *, every: bool) -> list[Finding]:
    """What the default report shows of each package, or everything that is found."""
    found: list[Finding] = []
    for package in named(packages, (*PACKAGES, *SCANNED)):
        scan = scan_project(package.sources(package.source), jobs=1, cache=Cache())
        found += scan.findings if every else best_of(scan.findings, BEST)
    return found


def context(finding: Finding, around: int) -> str:
    lines = Path(finding.place.file).read_text(encoding="utf-8").splitlines()
    first = max(1, finding.place.line - around)
    last = min(len(lines), max(finding.place.end_line, finding.place.line) + around)
    return "\n".join(f"{number:5} {lines[number - 1]}" for number in range(first, last + 1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--around", type=int, default=12, help="lines of code before and after")
    parser.add_argument("--all", action="store_true", help="of everything that is found, not of the ten best of each")
    parser.add_argument("--lines", action="store_true", help="one line for each finding, without code")
    given = parser.parse_args()
    fetch()
    fetch_scanned()
    found = shown(given.packages, every=given.all)
    drawn = random.Random(given.seed).sample(found, min(given.count, len(found)))
    for number, finding in enumerate(drawn, 1):
        place = finding.place.file.removeprefix(f"{site()}/")
        print(f"{number}. {finding.code} {place}:{finding.place.line} {finding.function} ({finding.safety})")
        if not given.lines:
            print(f"   {finding.message}\n{context(finding, given.around)}\n")
    print(f"{len(drawn)} of {len(found)} findings", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
