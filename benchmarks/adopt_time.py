"""How long all rules take on each modeling file of `transformers`, as `strop scan FILE --select STR7` does it.

    python benchmarks/adopt_time.py            # the slowest files, the median, how many are over the limit
    python benchmarks/adopt_time.py --limit 0.3

Reading, parsing and following imports count; starting Python does not. Processor time, the smaller of two runs.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import statistics
import sys
import time
from pathlib import Path


def taken(file: str) -> float:
    from strop.source.scan import Defaults, scan_files

    options = Defaults()
    options.select = ("STR7",)
    best = float("inf")
    for _ in range(2):
        gc.collect()
        start = time.process_time()
        scan_files([file], [file], options)
        best = min(best, time.process_time() - start)
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=0.3, help="seconds that no file may exceed")
    given = parser.parse_args()
    found = importlib.util.find_spec("transformers")
    assert found is not None and found.origin is not None
    files = sorted(str(file) for file in (Path(found.origin).parent / "models").glob("*/modeling_*.py"))
    taken(files[0])
    times = {file: taken(file) for file in files}
    for file in sorted(times, key=times.__getitem__, reverse=True)[:10]:
        print(f"{times[file]:.3f} s  {Path(file).name}")
    over = sum(seconds > given.limit for seconds in times.values())
    print(f"{len(files)} files, median {statistics.median(times.values()):.3f} s, {over} over {given.limit} s")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
