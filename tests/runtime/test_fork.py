"""A forked process has no pool of threads. Each test runs in a process of its own: forking pytest would take its pool."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

if not hasattr(os, "fork"):
    pytest.skip("no fork on this platform", allow_module_level=True)

PARENT = """
import multiprocessing, os, signal, sys, traceback
import torch
from torch import nn
import strop

class Sorted(nn.Module):
    def forward(self, x):
        return torch.sort(x * 2, dim=-1).values + 1

torch.manual_seed(0)
torch.set_num_threads(2)
made = {
    "products": (nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256)), torch.randn(64, 256), {}),
    "two threads": (nn.Sequential(nn.Linear(256, 256), nn.ReLU()), torch.randn(64, 256), {"threads": 2}),
    "recurrent": (nn.LSTM(64, 64), torch.randn(12, 4, 64), {"threads": 2}),
    "library": (Sorted(), torch.randn(256, 1024), {"threads": 2}),
}
compiled = [(strop.compile(made[name][0].eval(), (made[name][1],), **made[name][2]), *made[name])
            for name in sys.argv[1:]]

def run(function, x):
    with torch.no_grad():
        found = function(x)
    return found[0] if isinstance(found, tuple) else found

wanted = [run(fast, x) for fast, model, x, options in compiled]

def child():
    signal.alarm(60)
    for (fast, model, x, options), result in zip(compiled, wanted):
        notes = len(fast.journal.of("note"))
        torch.testing.assert_close(run(fast, x), result)
        torch.testing.assert_close(run(fast, x.transpose(0, 1).contiguous().transpose(0, 1)), result)
        torch.testing.assert_close(run(model, x), result, rtol=1e-4, atol=1e-4)
        new = [event.message for event in fast.journal.of("note")][notes:]
        assert any("forked" in message for message in new), new
    assert torch.get_num_threads() == 1
"""

BY_FORK = """
pid = os.fork()
if pid == 0:
    code = 1
    try:
        child()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
status = os.waitpid(pid, 0)[1]
torch.testing.assert_close(run(compiled[0][0], compiled[0][2]), wanted[0])
assert torch.get_num_threads() == 2
sys.exit(0 if status == 0 else f"the child ended with {status}")
"""

BY_MULTIPROCESSING = """
process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
sys.exit(0 if process.exitcode == 0 else f"the child ended with {process.exitcode}")
"""


def in_a_process(text: str, *arguments: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", text, *arguments], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_modules_of_two_threads_run_in_a_forked_process():
    in_a_process(PARENT + BY_FORK, "products", "two threads", "recurrent", "library")


def test_a_module_of_two_threads_runs_in_a_process_of_multiprocessing():
    in_a_process(PARENT + BY_MULTIPROCESSING, "two threads")
