"""The comparison that every call of a compiled module makes: is the module still what the last look at it saw?

Two ways that see the same things. `looped` is Python that leaves the loops to C. `native` is one function that asks the
interpreter's C interface (dictionaries in order, the tensors' own attributes) and is compiled by LLVM: for the 13
modules and 12 tensors of a small recommender it takes 1.7 µs instead of 3.4, where the whole call took 8. It holds the
interpreter's lock, and only plain dictionaries have their order in that interface; where one is missing there is
`looped`.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter, is_, itemgetter
from typing import Any

import torch
from torch import Tensor, nn

Same = Callable[[], bool]

version_of = attrgetter("_version")
pointer_of = torch._C.TensorBase.data_ptr
_training_of = itemgetter("training")
_flatten = chain.from_iterable
_locked = getattr(sys, "_is_gil_enabled", lambda: True)()


@dataclass(frozen=True, slots=True)
class Seen:
    """A look at a module, in the form in which the next one is compared with it."""

    groups: list[tuple[dict[str, Any], tuple[Any, ...]]]  # parameters, buffers or submodules, and which ones
    tensors: list[Tensor]
    versions: list[int]
    pointers: list[int]
    modules: list[nn.Module]
    modes: list[bool]
    empty: tuple[dict[Any, Any], ...]
    hooks: list[dict[int, Any]]
    hooked: list[int]

    @property
    def attributes(self) -> list[Any]:
        """Where each module's training flag is."""
        return [m.__dict__ if "training" in m.__dict__ else _Elsewhere(m) for m in self.modules]


class _Elsewhere:
    """The attributes of a module that does not keep them itself: a compiled one's are its original's."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module

    def __getitem__(self, name: str) -> Any:
        return getattr(self._module, name)


def looped(seen: Seen) -> Same:
    """The comparison as a closure: nothing is looked up by name while a model is being called."""
    end = object()
    views: list[Iterable[Any]] = [*(group.values() for group, _ in seen.groups), (end,)]
    expected = [*_flatten(values for _, values in seen.groups), end]
    tensors, versions, pointers = seen.tensors, seen.versions, seen.pointers
    dicts, modes, empty, hooked = seen.attributes, seen.modes, seen.empty, seen.hooked
    used_hooks = [group for group in seen.hooks if group]

    def same() -> bool:
        return (
            all(map(is_, expected, _flatten(views)))
            and list(map(version_of, tensors)) == versions
            and list(map(pointer_of, tensors)) == pointers
            and list(map(_training_of, dicts)) == modes
            and not any(empty)
            and (not used_hooks or list(_flatten(used_hooks)) == hooked)
        )

    def same_mode() -> bool:
        return list(map(_training_of, dicts)) == modes and not any(empty)

    return same_mode if not seen.groups and not tensors and not used_hooks else same


def watch(seen: Seen) -> Same:
    """The faster of the two ways that can see this module."""
    return native(seen) or looped(seen)


def native(seen: Seen) -> Same | None:
    """The comparison in native code; None where it would not see everything."""
    dicts = seen.attributes
    plain = all(type(each) is dict for each in (*dicts, *(group for group, _ in seen.groups)))
    plain = plain and all(isinstance(each, dict) for each in seen.empty) and not seen.hooked
    function = _compiled() if plain else None
    if function is None:
        return None
    groups = [*seen.groups, *((group, ()) for group in seen.empty)]
    words = [
        *_interface(), len(groups), len(dicts), len(seen.tensors),
        *_flatten((id(group), len(values), *map(id, values)) for group, values in groups),
        *_flatten(zip(map(id, dicts), map(id, seen.modes))),
        *_flatten(zip(map(id, seen.tensors), seen.versions, seen.pointers)),
    ]  # fmt: skip
    table = (ctypes.c_uint64 * len(words))(*words)
    table.held = seen, dicts  # type: ignore[attr-defined]  # whose addresses they are
    return functools.partial(function, ctypes.byref(table))


_NAMES = ("training", "_version")
_FUNCTIONS = (
    "PyDict_Next", "PyDict_GetItemWithError", "PyObject_GetAttr", "PyObject_CallOneArg", "PyLong_AsLongLong",
    "Py_DecRef", "PyErr_Clear",
)  # fmt: skip


@functools.cache
def _interface() -> tuple[int, ...]:
    """Addresses in the order in which the native code has them."""
    functions = (ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in _FUNCTIONS)
    return (*functions, id(pointer_of), *map(id, _NAMES))


@functools.cache
def _compiled() -> Callable[[Any], bool] | None:
    """Without a lock of the interpreter, another thread could change a dictionary meanwhile."""
    from strop.run import jit

    if not _locked:
        return None
    try:
        target = jit.described_host()
        library = jit.Library([jit.compile_object(_TEXT, target)], target)
        function: Any = ctypes.PYFUNCTYPE(ctypes.c_bool)(library.address("strop_same"))
        function.library = library
    except Exception:  # LLVM does not know this machine: nothing is lost but time
        return None
    made: Callable[[Any], bool] = function
    return made


_TEXT = """
define zeroext i1 @strop_same(ptr %table) {
start:
  %position = alloca i64
  %key = alloca ptr
  %value = alloca ptr
  %next = load ptr, ptr %table
  %get.at = getelementptr i64, ptr %table, i64 1
  %get = load ptr, ptr %get.at
  %attribute.at = getelementptr i64, ptr %table, i64 2
  %attribute = load ptr, ptr %attribute.at
  %call.at = getelementptr i64, ptr %table, i64 3
  %call = load ptr, ptr %call.at
  %number.at = getelementptr i64, ptr %table, i64 4
  %number = load ptr, ptr %number.at
  %drop.at = getelementptr i64, ptr %table, i64 5
  %drop = load ptr, ptr %drop.at
  %clear.at = getelementptr i64, ptr %table, i64 6
  %clear = load ptr, ptr %clear.at
  %pointer.at = getelementptr i64, ptr %table, i64 7
  %pointer = load ptr, ptr %pointer.at
  %training.at = getelementptr i64, ptr %table, i64 8
  %training = load ptr, ptr %training.at
  %version.at = getelementptr i64, ptr %table, i64 9
  %version = load ptr, ptr %version.at
  %groups.at = getelementptr i64, ptr %table, i64 10
  %groups = load i64, ptr %groups.at
  %modules.at = getelementptr i64, ptr %table, i64 11
  %modules = load i64, ptr %modules.at
  %tensors.at = getelementptr i64, ptr %table, i64 12
  %tensors = load i64, ptr %tensors.at
  %first = getelementptr i64, ptr %table, i64 13
  br label %group

group:
  %g = phi i64 [ 0, %start ], [ %g.next, %group.whole ]
  %g.at = phi ptr [ %first, %start ], [ %g.end, %group.whole ]
  %g.more = icmp slt i64 %g, %groups
  br i1 %g.more, label %group.entries, label %module
group.entries:
  %g.next = add i64 %g, 1
  %g.dict = load ptr, ptr %g.at
  %g.count.at = getelementptr i64, ptr %g.at, i64 1
  %g.count = load i64, ptr %g.count.at
  %g.values = getelementptr i64, ptr %g.at, i64 2
  %g.end = getelementptr i64, ptr %g.values, i64 %g.count
  store i64 0, ptr %position
  br label %entry
entry:
  %e.at = phi ptr [ %g.values, %group.entries ], [ %e.next, %entry.found ]
  %e.found = call i32 %next(ptr %g.dict, ptr %position, ptr %key, ptr %value)
  %e.there = icmp ne i32 %e.found, 0
  %e.wanted = icmp ne ptr %e.at, %g.end
  %e.alike = icmp eq i1 %e.there, %e.wanted
  br i1 %e.alike, label %entry.alike, label %changed
entry.alike:
  br i1 %e.there, label %entry.found, label %group.whole
entry.found:
  %e.value = load ptr, ptr %value
  %e.expected = load ptr, ptr %e.at
  %e.same = icmp eq ptr %e.value, %e.expected
  %e.next = getelementptr i64, ptr %e.at, i64 1
  br i1 %e.same, label %entry, label %changed
group.whole:
  br label %group

module:
  %m = phi i64 [ 0, %group ], [ %m.next, %module.flag ]
  %m.at = phi ptr [ %g.at, %group ], [ %m.end, %module.flag ]
  %m.more = icmp slt i64 %m, %modules
  br i1 %m.more, label %module.flag, label %tensor
module.flag:
  %m.next = add i64 %m, 1
  %m.dict = load ptr, ptr %m.at
  %m.flag.at = getelementptr i64, ptr %m.at, i64 1
  %m.expected = load ptr, ptr %m.flag.at
  %m.end = getelementptr i64, ptr %m.at, i64 2
  %m.flag = call ptr %get(ptr %m.dict, ptr %training)
  %m.same = icmp eq ptr %m.flag, %m.expected
  br i1 %m.same, label %module, label %failed

tensor:
  %t = phi i64 [ 0, %module ], [ %t.next, %tensor.address ]
  %t.at = phi ptr [ %m.at, %module ], [ %t.end, %tensor.address ]
  %t.more = icmp slt i64 %t, %tensors
  br i1 %t.more, label %tensor.version, label %unchanged
tensor.version:
  %t.next = add i64 %t, 1
  %t.object = load ptr, ptr %t.at
  %t.version.at = getelementptr i64, ptr %t.at, i64 1
  %t.version = load i64, ptr %t.version.at
  %t.address.at = getelementptr i64, ptr %t.at, i64 2
  %t.address = load i64, ptr %t.address.at
  %t.end = getelementptr i64, ptr %t.at, i64 3
  %v.object = call ptr %attribute(ptr %t.object, ptr %version)
  %v.none = icmp eq ptr %v.object, null
  br i1 %v.none, label %failed, label %tensor.number
tensor.number:
  %v.number = call i64 %number(ptr %v.object)
  call void %drop(ptr %v.object)
  %v.same = icmp eq i64 %v.number, %t.version
  br i1 %v.same, label %tensor.pointer, label %failed
tensor.pointer:
  %p.object = call ptr %call(ptr %pointer, ptr %t.object)
  %p.none = icmp eq ptr %p.object, null
  br i1 %p.none, label %failed, label %tensor.address
tensor.address:
  %p.number = call i64 %number(ptr %p.object)
  call void %drop(ptr %p.object)
  %p.same = icmp eq i64 %p.number, %t.address
  br i1 %p.same, label %tensor, label %failed

unchanged:
  ret i1 1
failed:
  call void %clear()
  br label %changed
changed:
  ret i1 0
}
"""
