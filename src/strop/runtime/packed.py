"""Memory of programs, and what they share of it: weights that were folded and packed once serve every program that
packs them alike (other shapes, other thread counts).

What a section of the parameter program made is found by what it computes and which values it read. A value is a number
that a parameter keeps until its contents may have changed (`state.Values`). Nothing is held for its own sake: what no
program uses any more is gone.
"""

from __future__ import annotations

import mmap
import threading
import weakref
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from strop.frontend.torch.dtypes import DTYPES
from strop.runtime.state import new_value

_ALIGNMENT = 64
_HUGE_PAGE = 2 << 20
_MADV_HUGEPAGE: int | None = getattr(mmap, "MADV_HUGEPAGE", None)
#: a forked process gets a copy of its own; elsewhere than on Unix there are no flags
_PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}


@dataclass(frozen=True, eq=False)
class Packed:
    """What a section of the parameter program made: where each tensor is, and the memory that they lie in."""

    held: Tensor
    addresses: tuple[int, ...]


class PackedStore:
    """What the programs of one module have packed. Packing happens under a lock, so that nothing is packed twice."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.known: weakref.WeakValueDictionary[tuple[str, tuple[int, ...]], Packed] = weakref.WeakValueDictionary()
        self._constants: MutableMapping[Tensor, int] = WeakIdKeyDictionary()

    def value_of(self, constant: Tensor) -> int:
        """The value of a tensor that is no parameter and never changes."""
        with self.lock:
            if constant not in self._constants:
                self._constants[constant] = new_value()
            return self._constants[constant]


@dataclass(frozen=True)
class Sharing:
    """A store, and the values that the parameters of a program have now, in their order."""

    store: PackedStore
    values: Sequence[int]

    def find(self, key: str, read: Sequence[int]) -> Packed | None:
        """What a section that reads these parameters has made, if somebody holds it still."""
        return self.store.known.get((key, tuple(self.values[i] for i in read)))

    def keep(self, key: str, read: Sequence[int], made: Packed) -> None:
        self.store.known[key, tuple(self.values[i] for i in read)] = made


def laid_out(sizes: Mapping[int, int]) -> tuple[dict[int, int], Tensor]:
    """Addresses of blocks of these sizes, one after the other, and the memory that holds them."""
    held, address = allocate(sum(sizes.values()))
    addresses = {}
    for block, size in sizes.items():
        addresses[block] = address
        address += size
    return addresses, held


def allocate(size: int) -> tuple[Tensor, int]:
    """Aligned bytes and their address; large blocks in huge pages, where the system has them to give.

    Measured on 324 MB of packed weights: filling them takes 0.16 s instead of 0.27, half of which were page faults; on
    1 MB of recurrent weights that every step reads: 3% less per step.
    """
    huge = huge_bytes(size)
    if huge:
        return _mapped(size, huge)
    held = torch.empty(max(size, 1) + _ALIGNMENT, dtype=torch.uint8)
    return held, _aligned(held.data_ptr(), _ALIGNMENT)


def huge_bytes(size: int) -> int:
    """How much of a block, from its start, is to lie in huge pages. Touching any part of one takes all of its memory,
    so the last one is asked for only where half of it is used."""
    return (size + _HUGE_PAGE // 2) // _HUGE_PAGE * _HUGE_PAGE


def _mapped(size: int, huge: int) -> tuple[Tensor, int]:
    """A block in a mapping of its own, which goes with it. In malloc's heap, the place of a block that is gone would
    go on taking huge pages, 2 MB for each small object that comes to lie in it."""
    length = max(size, huge) + _HUGE_PAGE
    memory = mmap.mmap(-1, length, **_PRIVATE)
    held = torch.frombuffer(memory, dtype=torch.uint8)
    address = _aligned(held.data_ptr(), _HUGE_PAGE)
    if _MADV_HUGEPAGE is not None:
        memory.madvise(_MADV_HUGEPAGE, address - held.data_ptr(), huge)
    return held, address


def _aligned(address: int, alignment: int) -> int:
    return -(-address // alignment) * alignment


def view(held: Tensor, address: int, dtype: str, shape: tuple[int, ...]) -> Tensor:
    """A tensor over planned memory."""
    element = DTYPES[dtype]
    start = address - held.data_ptr()
    count = 1
    for extent in shape:
        count *= extent
    size = count * element.itemsize
    return held[start : start + size].view(element).view(shape) if size else torch.empty(shape, dtype=element)


def dense(tensor: Tensor) -> Tensor:
    """The same values as one dense block that starts at `data_ptr()`."""
    if tensor.is_neg() or tensor.is_conj():
        tensor = tensor.resolve_neg().resolve_conj()
    return tensor.contiguous()


def all_dense(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """The same of several, which as a rule are so already."""
    contiguous = all(map(Tensor.is_contiguous, tensors))
    if contiguous and not any(map(Tensor.is_neg, tensors)) and not any(map(Tensor.is_conj, tensors)):
        return tensors
    return [dense(tensor) for tensor in tensors]
