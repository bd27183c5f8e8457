"""Bytes whose channels lie side by side: red, green, blue, red, green … One channel is picked from whole vectors, and
vectors of each channel are put side by side, by shuffles."""

from __future__ import annotations

from collections.abc import Sequence

from strop.codegen.builder import CodeBlock

#: channels up to which whole vectors are read and written
MOST_CHANNELS = 4


def starts(channels: int, lanes: int) -> list[int]:
    """Where vectors begin that hold one channel of `lanes` pixels: the last one ends with it, so that nothing past it
    is read."""
    return [*range(0, (channels - 1) * lanes, lanes), (lanes - 1) * (channels - 1)]


def deinterleaved(code: CodeBlock, vectors: Sequence[str], lanes: int) -> str:
    """Every n-th byte of n vectors that begin at `starts`."""
    kind, channels = f"<{lanes} x i8>", len(vectors)
    first = starts(channels, lanes)
    ends = [*first[1:], channels * lanes]
    result = "poison"
    for vector, start, end in zip(vectors, first, ends):
        places = (lane * channels for lane in range(lanes))
        picks = [lanes + place - start if start <= place < end else lane for lane, place in enumerate(places)]
        result = code.shuffle(kind, result, vector, picks)
    return result


def interleaved(code: CodeBlock, vectors: Sequence[str], kind: str, lanes: int) -> list[str]:
    """Vectors of a channel each, as vectors of whole pixels in order."""
    channels = len(vectors)
    result = []
    for part in range(channels):
        places = [divmod(part * lanes + lane, channels) for lane in range(lanes)]
        mixed = vectors[0]
        for channel in range(1, channels):
            kept = [pixel if channel == 1 and which == 0 else lane for lane, (pixel, which) in enumerate(places)]
            picks = [lanes + pixel if which == channel else old for (pixel, which), old in zip(places, kept)]
            mixed = code.shuffle(kind, mixed, vectors[channel], picks)
        result.append(mixed)
    return result
