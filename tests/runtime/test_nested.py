"""A compiled module is a module: it may be a part of another one that is compiled in turn."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import nn

from runtime.standin import Builder, compiled
from strop.core.journal import Journal
from strop.core.options import Options
from strop.runtime.dynamo import Backend


def _block() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU())


def _compiled(block: nn.Module) -> nn.Module:
    return compiled(block, torch.randn(2, 4))[0]


def _by_dynamo(block: nn.Module) -> nn.Module:
    torch._dynamo.reset()
    return torch.compile(block, backend=Backend(Options(), Journal(), Builder()))


@pytest.mark.parametrize("inner", [_compiled, _by_dynamo])
def test_the_whole_is_one_program_that_follows_its_parts(inner: Callable[[nn.Module], nn.Module]) -> None:
    block = _block().eval()
    plain = nn.Sequential(nn.Linear(4, 4), block, nn.Linear(4, 2)).eval()
    whole = nn.Sequential(plain[0], inner(block), plain[2]).eval()
    fast, built = compiled(whole, torch.randn(2, 4))
    x = torch.randn(2, 4)

    with torch.no_grad():
        torch.testing.assert_close(fast(x), plain(x))
        assert built.calls == 1 and built.binds == 1

        block[0].weight.mul_(2)
        torch.testing.assert_close(fast(x), plain(x))
        assert built.calls == 2 and built.binds == 2

        whole[1].train()
        twin = copy.deepcopy(plain)
        assert block.training and twin[1].training
        torch.testing.assert_close(fast(x), twin(x))
        whole.eval()
        torch.testing.assert_close(fast(x), plain(x))
        assert not block.training


def test_the_part_still_serves_by_itself() -> None:
    part, built = compiled(_block().eval(), torch.randn(2, 4))
    fast, _ = compiled(nn.Sequential(part, nn.Tanh()).eval(), torch.randn(2, 4))
    x = torch.randn(2, 4)
    with torch.no_grad():
        torch.testing.assert_close(fast(x), part(x).tanh())
    assert built.calls == 1
    assert list(fast.state_dict()) == [f"0.{key}" for key in part.state_dict()]
