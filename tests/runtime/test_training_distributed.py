"""Training in two processes: gradients that are averaged between them are those of the whole batch."""

from __future__ import annotations

import copy
import os
import socket

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from strop.runtime.dynamo import JOURNAL

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not dist.is_gloo_available(), reason="torch without gloo")]
PROCESSES = 2


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Blocks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Block(), Block()

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x))


def distributed(way: str, model: Blocks) -> nn.Module:
    if way == "compile the distributed model":
        return torch.compile(DistributedDataParallel(model), backend="strop")
    if way == "distribute the compiled model":
        return DistributedDataParallel(torch.compile(model, backend="strop"))
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (PROCESSES,))
    for block in (model.first, model.second):
        block.compile(backend="strop")
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def train(rank: int, way: str, port: int) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=PROCESSES)
    torch.manual_seed(0)
    model = Blocks()
    whole = copy.deepcopy(model)
    fast = distributed(way, model)
    optimisers = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (model, whole)]
    for _ in range(3):
        data = torch.randn(PROCESSES, 6, 8)
        fast(data[rank]).square().mean().backward()
        torch.stack([whole(part).square().mean() for part in data]).mean().backward()
        for optimiser in optimisers:
            optimiser.step()
            optimiser.zero_grad()
    for mine, theirs in zip(model.parameters(), whole.parameters()):
        found = mine.full_tensor() if hasattr(mine, "full_tensor") else mine
        torch.testing.assert_close(found, theirs, rtol=1e-5, atol=1e-6)
    assert [event for event in JOURNAL.events if event.subject == "compile a variant"]
    dist.destroy_process_group()


@pytest.mark.parametrize("way", ["compile the distributed model", "distribute the compiled model", "shard"])
def test_two_processes_train_as_one(way: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(train, (way, port), nprocs=PROCESSES)
