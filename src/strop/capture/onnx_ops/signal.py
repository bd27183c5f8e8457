"""Fourier transforms."""

from __future__ import annotations

import torch
from torch import Tensor

from strop.capture.onnx_ops import Unsupported, onnx, scalar


@onnx("DFT", until=19)
def dft_by_attribute(
    x: Tensor, length: Tensor | None = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0
) -> Tensor:
    return _dft(x, length, axis, inverse, onesided)


@onnx("DFT", since=20)
def dft(
    x: Tensor, length: Tensor | None = None, axis: Tensor | None = None, *, inverse: int = 0, onesided: int = 0
) -> Tensor:
    return _dft(x, length, -2 if axis is None else int(scalar(axis, "the axis")), inverse, onesided)


def _dft(x: Tensor, length: Tensor | None, axis: int, inverse: int, onesided: int) -> Tensor:
    """The last dimension holds real numbers, or pairs of real and imaginary parts."""
    count = None if length is None else int(scalar(length, "the length"))
    dim = axis if axis >= 0 else axis + x.dim()
    if x.shape[-1] == 1:
        real = x.squeeze(-1)
        if onesided and not inverse:
            return torch.view_as_real(torch.fft.rfft(real, count, dim))
        values = torch.complex(real, torch.zeros_like(real))
    else:
        values = torch.view_as_complex(x.contiguous())
    if not inverse:
        result = torch.fft.fft(values, count, dim)
        return torch.view_as_real(result.narrow(dim, 0, result.shape[dim] // 2 + 1) if onesided else result)
    if onesided:
        whole = count if count is not None else 2 * (values.shape[dim] - 1)
        return torch.fft.irfft(values, whole, dim).unsqueeze(-1)
    return torch.view_as_real(torch.fft.ifft(values, count, dim))


@onnx("STFT")
def stft(
    x: Tensor, step: Tensor, window: Tensor | None = None, length: Tensor | None = None, *, onesided: int = 1
) -> Tensor:
    """Frames of the signal, each times the window, each transformed: (batch, frames, bins, 2)."""
    hop = int(scalar(step, "the frame step"))
    if length is not None:
        size = int(scalar(length, "the frame length"))
    elif window is not None:
        size = window.shape[0]
    else:
        raise Unsupported("neither a window nor a frame length")
    signal = x.squeeze(-1) if x.dim() == 3 and x.shape[-1] == 1 else x
    if signal.dim() == 3:
        frames = signal.unfold(1, size, hop).movedim(2, -1)
        pairs = frames if window is None else frames * window.reshape(-1, 1)
        return torch.view_as_real(torch.fft.fft(torch.view_as_complex(pairs.contiguous()), dim=-1))
    frames = signal.unfold(1, size, hop)
    if window is not None:
        frames = frames * window
    spectrum = torch.fft.rfft(frames) if onesided else torch.fft.fft(frames)
    return torch.view_as_real(spectrum)
