"""Is a model file as fast as the compiled module that it was made from, and how soon is it ready?

    python benchmarks/model_files.py resnet18 bert_small lstm --threads 1 2 [--folder FOLDER] [--write-only]

Module and file run in processes of their own (two pools of threads in one would take each other's cores) by turns of a
quarter of a second; the ratio is that of the medians, module over file: above 1 the file is faster. *ready* is what
`strop.load` takes in a fresh process beyond importing, with the file in the page cache; *first* is the first call.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TURNS, SECONDS = 12, 0.25
READY = """
import sys, time, json
import numpy as np
import strop
load = strop.load
inputs = [np.load(file) for file in sys.argv[2:]]
start = time.perf_counter()
model = load(sys.argv[1])
ready = time.perf_counter()
model(*inputs)
print(json.dumps([ready - start, time.perf_counter() - ready, model.variant.target]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    parser.add_argument("--folder", type=Path, help="where files are kept; those that are there are used")
    parser.add_argument("--write-only", action="store_true", help="write the files and measure nothing")
    parser.add_argument("--serve", choices=["module", "file"], help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve(asked.serve, asked.networks[0], asked.threads[0], asked.folder)
        return
    with tempfile.TemporaryDirectory() as temporary:
        for network in asked.networks:
            for threads in asked.threads:
                folder = asked.folder or Path(temporary)
                files = write(network, threads, folder)
                if not asked.write_only:
                    measure(network, threads, folder, files)


def place(network: str, threads: int, folder: Path) -> Path:
    return folder / f"{network}-{threads}.strop"


def write(network: str, threads: int, folder: Path) -> list[Path]:
    """The model file, unless it is there, and files of its inputs."""
    import numpy as np
    from torch.utils._pytree import tree_leaves

    from strop.core.journal import Journal
    from strop.core.options import Options
    from strop.runtime.load_model import load
    from strop.runtime.save_model import save

    folder.mkdir(parents=True, exist_ok=True)
    model, path = load(network), place(network, threads, folder)
    if not path.exists():
        save(model.module, model.inputs, model.kwargs, path, [], Options(threads=threads), Journal(), network)
    files = []
    for i, x in enumerate(tree_leaves((model.inputs, model.kwargs))):
        files.append(folder / f"{network}-{i}.npy")
        np.save(files[-1], x.numpy())
    return files


def serve(kind: str, network: str, threads: int, folder: Path) -> None:
    """Answers each line of standard input with the seconds of some calls."""
    call = _file(network, threads, folder) if kind == "file" else _module(network, threads)
    call()
    print("[]", flush=True)
    for _ in sys.stdin:
        times = []
        ends = time.perf_counter() + SECONDS
        while time.perf_counter() < ends:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        print(json.dumps(times), flush=True)


def _file(network: str, threads: int, folder: Path) -> Callable[[], Any]:
    import numpy as np

    import strop

    model = strop.load(place(network, threads, folder))
    arrays = [np.load(folder / f"{network}-{i}.npy") for i in range(len(model.inputs))]
    return lambda: model(*arrays)


def _module(network: str, threads: int) -> Callable[[], Any]:
    import torch

    import strop
    from strop.runtime.load_model import load

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    model = load(network)
    compiled = strop.compile(model.module, model.inputs, model.kwargs, threads=threads)
    return lambda: compiled(*model.inputs, **model.kwargs)


def measure(network: str, threads: int, folder: Path, files: list[Path]) -> None:
    """Prints a line."""
    given = [network, "--threads", str(threads), "--folder", str(folder)]
    command = [sys.executable, __file__, *given, "--serve"]
    servers = [
        subprocess.Popen([*command, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for kind in ("module", "file")
    ]
    times: list[list[float]] = [[], []]
    for turn in range(TURNS + 1):
        for server, found in zip(servers, times):
            assert server.stdin is not None and server.stdout is not None
            if turn:
                server.stdin.write("\n")
                server.stdin.flush()
            found += json.loads(server.stdout.readline())
    for server in servers:
        server.communicate()
    module, file = (statistics.median(one) for one in times)
    path = place(network, threads, folder)
    starts = [ready(path, files) for _ in range(5)]
    soon, first = (statistics.median(one[i] for one in starts) for i in (0, 1))
    speed = f"module {module * 1e3:.3f} ms, file {file * 1e3:.3f} ms, ratio {module / file:.3f}"
    start = f"ready {soon * 1e3:.1f} ms, first call {first * 1e3:.1f} ms"
    size = f"{path.stat().st_size / 1e6:.1f} MB for {starts[0][2]}"
    print(f"{network}, {threads} threads: {speed}; {start}; {size}", flush=True)


def ready(path: Path, files: list[Path]) -> list[Any]:
    done = subprocess.run([sys.executable, "-c", READY, str(path), *map(str, files)], capture_output=True, check=True)
    found: list[Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
