"""Which nests become one, what the journal says of it, and that the result stays the same."""

import pytest
import torch
import torch.nn.functional as F

from strop.core.journal import Journal
from strop.core.options import Options
from strop.frontend.torch.normalize import trace
from strop.runtime.program import build
from strop.session import Session


def run(function, *examples, **options):
    """The journal of a compilation, after its outputs were compared with eager's."""
    journal = Journal()
    program = build(trace(function, *examples), Options(cache=False, check=True, **options), journal, 1)
    wanted = function(*examples)
    for got, expected in zip(program(examples), wanted if isinstance(wanted, tuple) else (wanted,)):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
    return journal, program.compiled.about


def said(journal, kind):
    return [event.message for event in journal.events if event.kind == kind]


def test_nests_that_read_the_same_share_their_loops():
    journal, about = run(lambda x: (torch.sin(x), torch.cos(x)), torch.randn(6, 17))
    assert about.nests == 1
    assert any("runs in the same loops" in message for message in said(journal, "fusion"))


def test_nests_that_read_in_another_order_keep_their_own_loops():
    journal, about = run(lambda x: (torch.sin(x), torch.cos(x.t())), torch.randn(8, 8))
    assert about.nests == 2
    assert any("another order" in message for message in said(journal, "refusal"))


def test_a_nest_does_not_move_before_what_it_reads_is_written():
    def function(x):
        total = x.sum(1, keepdim=True)
        return x + 1, x * total

    run(function, torch.randn(5, 9))


@pytest.mark.parametrize("size, folded", [(24, True), (6, False)])
def test_a_scale_per_channel_goes_into_the_weights_where_an_image_is_large(size, folded):
    def function(x, weight):
        scale = torch.sigmoid(x.mean((2, 3), keepdim=True))
        return F.conv2d(x * scale, weight)

    journal, _ = run(function, torch.randn(1, 20, size, size), torch.randn(10, 20, 1, 1))
    assert any("scales its weights" in message for message in said(journal, "fusion")) is folded


@pytest.mark.parametrize("size", [8, 9, 14])
def test_an_epilogue_of_winograd_tiles_stays_inside_the_image(size):
    def function(x, weight, bias):
        return torch.relu(F.conv2d(x, weight, bias, padding=1) + x)

    journal, about = run(function, torch.randn(1, 32, size, size), torch.randn(32, 32, 3, 3) / 17, torch.randn(32))
    assert any("Winograd" in message for message in said(journal, "choice"))
    assert any("became its epilogue" in message for message in said(journal, "fusion"))
    assert about.library == {}


def test_winograd_can_be_switched_off():
    x, weight = torch.randn(1, 32, 12, 12), torch.randn(32, 32, 3, 3) / 17
    journal, _ = run(lambda x, w: F.conv2d(x, w, padding=1), x, weight, winograd=False)
    assert not any("Winograd" in message for message in said(journal, "choice"))


class Folded(torch.nn.Module):
    """A batch norm that goes into the linear layer before it, which has one row."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(40, 24), torch.nn.BatchNorm1d(24)
        torch.nn.init.uniform_(self.norm.running_var, 0.5, 2.0)
        torch.nn.init.normal_(self.norm.running_mean)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))


@pytest.mark.parametrize("pack", [True, False])
def test_what_parameters_decide_is_computed_before_any_call(pack):
    torch.manual_seed(0)
    model, x = Folded().eval(), torch.randn(1, 40)
    with torch.no_grad():
        session = Session(model, (x,), options=Options(cache=False, check=True, pack=pack), threads=1)
        torch.testing.assert_close(session.module(x), model(x), rtol=1e-4, atol=1e-5)
    nest = next(nest for nest in session.lowered.nests if nest.name == "linear.linear")
    assert ("norm.running_mean" in {buffer.name for buffer in nest.reads}) is not pack
