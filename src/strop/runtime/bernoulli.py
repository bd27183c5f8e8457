"""`bernoulli_` with PyTorch's own numbers, drawn from its generator's state in native code.

PyTorch's kernel draws one element after the other, 7 ns each, which is a tenth of a training step of a transformer with
dropout. Whether the installed PyTorch draws as this does is tried once, on a generator of our own: builds may draw by
other libraries. Where it does not, and for what is not covered, PyTorch's kernel draws.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strop.codegen import object_code
from strop.codegen.mersenne_twister import BLOCK, FILL, WORDS, mersenne_twister
from strop.runtime import jit
from strop.target import host

#: the state as torch.Generator.get_state() gives it: words of 64 bits up to the block's last
_REMAINING, _NEXT, _FIRST = 1, 2, 3
_TRIED = 3 * BLOCK + 7
_FEWEST = 2048  # below this, the state takes longer to get and set than PyTorch its draws


def draw(tensor: Tensor, p: float, generator: torch.Generator | None = None) -> Tensor:
    """`tensor.bernoulli_(p)`."""
    covered = tensor.dtype in _DTYPES and tensor.device.type == "cpu" and tensor.numel() >= _FEWEST
    if not covered or not 0 <= p <= 1 or not _is_dense(tensor) or not agrees():
        return tensor.bernoulli_(p, generator=generator)
    _fill(tensor, p, generator or torch.default_generator)
    return tensor


_DTYPES = (torch.bool, torch.uint8, torch.float32)


@functools.cache
def agrees() -> bool:
    """Whether the installed PyTorch draws these numbers, and leaves its generator in this state."""
    for dtype in _DTYPES:
        ours, theirs = (torch.Generator().manual_seed(2**31 + 11) for _ in range(2))
        for generator in (ours, theirs):
            torch.empty(5, dtype=dtype).bernoulli_(0.5, generator=generator)  # both begin within a block
        made, wanted = torch.empty(_TRIED, dtype=dtype), torch.empty(_TRIED, dtype=dtype)
        try:
            _fill(made, 0.3, ours)
        except (IndexError, ValueError):  # another state than the one that is described here
            return False
        wanted.bernoulli_(0.3, generator=theirs)
        if not torch.equal(made, wanted) or not torch.equal(ours.get_state(), theirs.get_state()):
            return False
    return True


def _fill(tensor: Tensor, p: float, generator: torch.Generator) -> None:
    """Draw, and leave the generator behind the draws. If an operator of another thread has drawn meanwhile, which needs
    no GIL, draw again after it."""
    threshold = math.ceil(math.ldexp(p, 53))
    fill = _native(tensor.element_size())
    memory = np.empty(WORDS, np.uint32)
    before = generator.get_state()
    while True:
        state = before.clone()
        words = state.numpy()[: 8 * (_FIRST + BLOCK)].view(np.uint64)
        block = words[_FIRST:]
        memory[:BLOCK] = block
        remaining = int(words[_REMAINING]) & 0xFFFFFFFF
        position = ctypes.c_int64(BLOCK + 1 - remaining)
        fill(memory.ctypes.data, ctypes.addressof(position), tensor.data_ptr(), tensor.numel(), threshold)
        block[:] = memory[:BLOCK]
        words[_REMAINING] = (int(words[_REMAINING]) >> 32 << 32) | (BLOCK + 1 - position.value)
        words[_NEXT] = position.value
        now = generator.get_state()
        if torch.equal(now, before):
            generator.set_state(state)
            return
        before = now


@functools.cache
def _native(bytes: int) -> Callable[..., None]:
    library = _library()
    # the GIL stays, so that no other Python thread takes the same numbers
    kind = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    call: Any = kind(library.address(FILL[bytes]))
    call.library = library
    made: Callable[..., None] = call
    return made


@functools.cache
def _library() -> jit.LoadedCode:
    target = host.described_host()
    return jit.LoadedCode([object_code.compile_object(mersenne_twister(), target, optimise=True)], target)


def _is_dense(tensor: Tensor) -> bool:
    """Whether its elements fill their memory without gaps, in any order of dimensions: draws follow the memory."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True
