"""Bytes in generated code: read, moved, widened, cut, and pixels whose channels lie side by side."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import strop

SHAPES = [(16, 16), (7, 5), (33, 50), (3, 100)]


class Of(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def equal(function, *args, least=0):
    made = strop.compile(Of(function), args)
    assert not [event for event in made.journal.events if event.kind == "fallback"]
    result, expected = made(*args), function(*args)
    assert result.dtype == expected.dtype
    assert (result.double() - expected.double()).abs().max() <= least


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("size", SHAPES)
def test_pixels_become_channels_and_channels_become_pixels(channels, size):
    image = torch.randint(0, 256, (*size, channels), dtype=torch.uint8)
    equal(lambda x: x.permute(2, 0, 1).float() / 255, image, least=1e-7)
    equal(lambda x: x.permute(2, 0, 1), image)
    equal(lambda x: (x * 255).permute(1, 2, 0).to(torch.uint8), torch.rand(channels, *size))
    equal(lambda x: x.permute(1, 2, 0).to(torch.int8), torch.randint(-128, 128, (channels, *size)))


OPERATIONS = {
    "wraps": lambda x: x + 200,
    "subtracts": lambda x: 7 - x,
    "pads": lambda x: F.pad(x, (2, 3, 1, 0), value=114),
    "chooses": lambda x: torch.where(x > 99, x, x // 2),
    "turns round": lambda x: x.flip(0)[:, ::2],
    "joins": lambda x: torch.cat((x, x + 1), 1),
    "looks up": lambda x: x[torch.tensor([2, 0, -1])],
    "keeps the largest": lambda x: x.amax(0),
    "masks": lambda x: (torch.sigmoid(x.float() - 128) > 0.5).to(torch.uint8) * 255,
    "sums": lambda x: x.sum(1),
}


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8])
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_on_bytes(name, dtype):
    info = torch.iinfo(dtype)
    equal(OPERATIONS[name], torch.randint(info.min, info.max + 1, (9, 21), dtype=dtype))


def test_what_does_not_fit_into_a_byte_keeps_its_lowest_bits():
    equal(lambda x: x.to(torch.uint8), torch.arange(-300, 600))
    equal(lambda x: x.to(torch.int8), torch.arange(-300, 600, dtype=torch.int32))
    equal(lambda x: x.to(torch.uint8), torch.arange(-300, 600).float())


@pytest.mark.parametrize("out", [(20, 30), (33, 50), (80, 120), (9, 200)])
@pytest.mark.parametrize("align", [False, True])
def test_an_image_of_bytes_is_resized_and_scaled(out, align):
    image = torch.randint(0, 256, (33, 50, 3), dtype=torch.uint8)
    mean = torch.rand(1, 3, 1, 1)

    def prepared(x):
        planes = x.permute(2, 0, 1).unsqueeze(0).float() / 255
        return F.interpolate(planes - mean, out, mode="bilinear", align_corners=align)

    equal(prepared, image, least=3e-5)


def test_a_resized_image_is_read_as_bytes_and_scaled_once_per_point():
    def prepared(x):
        return F.interpolate(x.permute(2, 0, 1).unsqueeze(0).float() / 255, (24, 32), mode="bilinear")

    session = strop.Session(Of(prepared).eval(), (torch.randint(0, 256, (48, 64, 3), dtype=torch.uint8),))
    (nest,) = session.lowered.nests
    assert {buffer.dtype for buffer in nest.reads if buffer.space == "input"} == {"u8"}


def test_what_gives_more_points_than_pixels_is_scaled_before():
    def prepared(x):
        return F.interpolate(x / 255, (48, 64), mode="bilinear")

    session = strop.Session(Of(prepared).eval(), (torch.rand(1, 3, 8, 8),))
    (scaled, *_) = (node.op for node in session.graph.nodes if node.op in ("div", "upsample_linear"))
    assert scaled == "div"
