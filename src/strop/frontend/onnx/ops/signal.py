"""Spectra and what they are made with: windows, Fourier transforms, mel filters.

A Fourier transform of moderate length is a product with a constant matrix, which compiles like any other (and fuses
with the window); longer ones go to the library. Complex numbers are pairs in the last dimension, as ONNX has them.
"""

from __future__ import annotations

import math
from functools import partial

import torch
from onnx import TensorProto
from torch import Tensor

from strop.frontend.onnx.element_types import dtype_of
from strop.frontend.onnx.ops import Unsupported, known, made, onnx, real, scalar

#: a longer transform is faster through the library, in spite of the conversion to complex numbers and back
LONGEST_PRODUCT = 2048


def _cosines(size: Tensor, periodic: int, output_datatype: int, *coefficients: float) -> Tensor:
    """Σ coefficient[i] · cos(2πin/N), the form that all common windows have."""
    count = int(scalar(size, "the size of the window"))
    if not 0 <= count <= 1 << 26:
        raise Unsupported(f"a window of {count} samples")
    period = max(1, count if periodic else count - 1)

    def build() -> Tensor:
        angle = torch.arange(count, dtype=torch.float64) * (2 * math.pi / period)
        return (
            torch.stack([c * torch.cos(i * angle) for i, c in enumerate(coefficients)])
            .sum(0)
            .to(_float(output_datatype))
        )

    return made(build)


def _float(element_type: int) -> torch.dtype:
    dtype = dtype_of(element_type)
    if dtype is None:
        raise Unsupported(f"element type {TensorProto.DataType.Name(element_type)}")
    return dtype


@onnx("HannWindow")
def hann_window(size: Tensor, *, output_datatype: int = TensorProto.FLOAT, periodic: int = 1) -> Tensor:
    return _cosines(size, periodic, output_datatype, 0.5, -0.5)


@onnx("HammingWindow")
def hamming_window(size: Tensor, *, output_datatype: int = TensorProto.FLOAT, periodic: int = 1) -> Tensor:
    return _cosines(size, periodic, output_datatype, 25 / 46, -21 / 46)


@onnx("BlackmanWindow")
def blackman_window(size: Tensor, *, output_datatype: int = TensorProto.FLOAT, periodic: int = 1) -> Tensor:
    return _cosines(size, periodic, output_datatype, 0.42, -0.5, 0.08)


@onnx("MelWeightMatrix")
def mel_weight_matrix(
    num_mel_bins: Tensor, dft_length: Tensor, sample_rate: Tensor, lower_edge_hertz: Tensor, upper_edge_hertz: Tensor,
    *, output_datatype: int = TensorProto.FLOAT,
) -> Tensor:  # fmt: skip
    """Triangles, evenly spaced in mel, between spectrogram bins that were rounded down to whole ones."""
    bins, length, rate = (int(scalar(x)) for x in (num_mel_bins, dft_length, sample_rate))
    low, high = (float(scalar(x)) for x in (lower_edge_hertz, upper_edge_hertz))
    if not (0 < bins <= 1 << 16 and 0 < length <= 1 << 20 and rate > 0 and 0 <= low < high):
        raise Unsupported(f"{bins} mel bins of a transform of {length} at {rate} Hz from {low} to {high} Hz")

    def mel(hertz: float) -> float:
        return 2595 * math.log10(1 + hertz / 700)

    step = (mel(high) - mel(low)) / (bins + 2)
    edges = [int((length + 1) * (700 * (10 ** ((mel(low) + i * step) / 2595) - 1)) // rate) for i in range(bins + 2)]
    if edges[-1] > length // 2 + 1:
        raise Unsupported(f"the upper edge, {high} Hz, lies beyond half the sample rate")

    def build() -> Tensor:
        weights = torch.zeros(length // 2 + 1, bins, dtype=torch.float64)
        for i, (left, centre, right) in enumerate(zip(edges, edges[1:], edges[2:])):
            if left == centre:
                weights[centre, i] = 1
            for j in range(left, centre + 1 if left < centre else left):
                weights[j, i] = (j - left) / (centre - left)
            for j in range(centre, right):
                weights[j, i] = (right - j) / (right - centre)
        return weights.to(_float(output_datatype))

    return made(build)


def fourier_matrix(samples: int, length: int, bins: int, dtype: torch.dtype, window: Tensor | None = None) -> Tensor:
    """[samples, bins·2] with cosine and minus sine in turn: a real signal times it is its spectrum.

    The angles are reduced to one turn as integers, so that long transforms lose no digits.
    """
    turns = torch.outer(torch.arange(samples), torch.arange(bins)) % length
    angle = turns.to(torch.float64) * (2 * math.pi / length)
    matrix = torch.stack([torch.cos(angle), -torch.sin(angle)], 2).reshape(samples, bins * 2)
    if window is not None:
        matrix = matrix * window[:samples].to(torch.float64).unsqueeze(1)
    return matrix.to(dtype)


def spectrum(x: Tensor, length: int, onesided: bool, window: Tensor | None = None) -> Tensor:
    """The transform of a real signal along the last dimension, as pairs."""
    bins = length // 2 + 1 if onesided else length
    samples = min(x.shape[-1], length)
    if samples < x.shape[-1]:
        x = x[..., :samples]
    if length > LONGEST_PRODUCT or (window is not None and known(window) is None):
        x = x if window is None else x * window[:samples]
        transform = torch.fft.rfft if onesided else torch.fft.fft
        return torch.view_as_real(transform(_padded(x, length)))
    build = partial(fourier_matrix, samples, length, bins, x.dtype, real(window, "") if window is not None else None)
    return torch.matmul(x, made(build)).reshape(*x.shape[:-1], bins, 2)


def _padded(x: Tensor, length: int, dim: int = -1) -> Tensor:
    """Cut or filled with zeros to a length."""
    if x.shape[dim] >= length:
        return x.narrow(dim, 0, length)
    shape = list(x.shape)
    shape[dim] = length - x.shape[dim]
    return torch.cat([x, x.new_zeros(shape)], dim)


@onnx("DFT", since=17, until=19)
def dft_17(
    x: Tensor, dft_length: Tensor | None = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0
) -> Tensor:
    return _dft(x, dft_length, axis, bool(inverse), bool(onesided))


@onnx("DFT", since=20)
def dft(
    x: Tensor, dft_length: Tensor | None = None, axis: Tensor | None = None, *, inverse: int = 0, onesided: int = 0
) -> Tensor:
    along = int(scalar(axis, "the axis")) if axis is not None else -2
    return _dft(x, dft_length, along, bool(inverse), bool(onesided))


def _dft(x: Tensor, dft_length: Tensor | None, axis: int, inverse: bool, onesided: bool) -> Tensor:
    if x.dim() < 2 or x.shape[-1] not in (1, 2) or not -x.dim() <= axis < x.dim() or axis % x.dim() == x.dim() - 1:
        raise Unsupported(f"a transform along axis {axis} of a tensor of shape {list(x.shape)}")
    axis %= x.dim()
    given = x.shape[axis]
    length = int(scalar(dft_length, "the length")) if dft_length is not None else None
    if length is None:
        length = 2 * (given - 1) if inverse and onesided else given
    if length < 1:
        raise Unsupported(f"a transform of length {length}")
    if x.shape[-1] == 1 and not inverse:
        return spectrum(x.squeeze(-1).movedim(axis, -1), length, onesided).movedim(-2, axis)
    pairs = x if x.shape[-1] == 2 else torch.cat([x, torch.zeros_like(x)], -1)
    signal = torch.view_as_complex(
        _padded(pairs, length // 2 + 1 if inverse and onesided else length, axis).contiguous()
    )
    if inverse and onesided:
        whole: Tensor = torch.fft.irfft(signal, length, axis)
        return whole.unsqueeze(-1)
    if inverse:
        return torch.view_as_real(torch.fft.ifft(signal, length, axis))
    full = torch.view_as_real(torch.fft.fft(signal, length, axis))
    return full.narrow(axis, 0, length // 2 + 1) if onesided else full


@onnx("STFT", since=17)
def stft(
    signal: Tensor, frame_step: Tensor, window: Tensor | None = None, frame_length: Tensor | None = None, *,
    onesided: int = 1,
) -> Tensor:  # fmt: skip
    """[batch, frames, bins, 2] from [batch, length], [batch, length, 1] or complex [batch, length, 2]."""
    step = int(scalar(frame_step, "the step between frames"))
    if signal.dim() == 3 and signal.shape[2] == 1:
        signal = signal.squeeze(2)
    if frame_length is not None:
        length = int(scalar(frame_length, "the length of a frame"))
    else:
        length = window.shape[0] if window is not None else signal.shape[1]
    if window is not None and window.shape[0] != length:
        raise Unsupported(f"a window of {window.shape[0]} samples for frames of {length}")
    if step < 1 or not 0 < length <= signal.shape[1]:
        raise Unsupported(f"frames of {length} every {step} samples of a signal of {signal.shape[1]}")
    frames = signal.unfold(1, length, step)
    if signal.dim() == 2:
        return spectrum(frames, length, bool(onesided), window)
    if onesided:
        raise Unsupported("one-sided spectra of complex signals")
    if window is not None:
        frames = frames * window
    pairs = torch.view_as_complex(frames.transpose(2, 3).contiguous())
    return torch.view_as_real(torch.fft.fft(pairs))
