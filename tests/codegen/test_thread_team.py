"""Threads share what programs do, however many of them there are and whoever gets a core."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
import torch
from torch import nn

from strop.core.options import Options
from strop.session import Session


class Mixed(nn.Module):
    """Convolutions in strips, products, and a recurrent layer whose threads meet at every step."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.deep = nn.Conv2d(3, 48, 3, padding=1), nn.Conv2d(48, 48, 3, padding=1, groups=48)
        self.last, self.recurrent = nn.Conv2d(48, 16, 1), nn.LSTM(16, 128)

    def forward(self, x):
        x = self.last(self.deep(self.first(x).relu()).relu())
        return self.recurrent(x.mean(2).transpose(1, 2))[0]


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return Mixed().eval(), torch.randn(1, 3, 40, 40)


def agrees(network, module) -> bool:
    model, x = network
    return torch.allclose(module(x), model(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_any_number_of_threads_computes_the_same(network, threads):
    model, x = network
    with torch.no_grad():
        module = Session(model, (x,), options=Options(cache=False), threads=threads).module
        assert all(agrees(network, module) for _ in range(50))


def test_calls_of_several_threads_do_not_meet(network):
    model, x = network
    wrong = []
    with torch.no_grad():
        module = Session(model, (x,), options=Options(cache=False), threads=2).module

    def work() -> None:
        with torch.no_grad():
            wrong.extend(i for i in range(100) if not agrees(network, module))

    callers = [threading.Thread(target=work) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


ALONE = """
import torch
from codegen.test_thread_team import Mixed, agrees
from strop.core.options import Options
from strop.session import Session
model, x = Mixed().eval(), torch.randn(1, 3, 40, 40)
with torch.no_grad():
    module = Session(model, (x,), options=Options(cache=False), threads=4).module
    print(all(agrees((model, x), module) for _ in range(5)))
"""


def test_who_gets_no_other_threads_does_all_shares():
    env = {**os.environ, "OMP_THREAD_LIMIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    told = subprocess.run([sys.executable, "-c", ALONE], env=env, capture_output=True, text=True, timeout=300)
    assert told.stdout.strip() == "True", told.stderr
