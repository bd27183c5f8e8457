"""The guard that every call of a compiled module evaluates: is the module still as the last snapshot saw it?

Two ways that see the same things. `looped` is Python that leaves the loops to C. `native` is one function, compiled by
LLVM, that asks the interpreter's C interface for what dictionaries hold and torch's library for versions and addresses
of tensors. It holds the interpreter's lock, and only plain dictionaries have their order in that interface; where
something is missing there is `looped`. Both also see whether a level of forward-mode differentiation is open: then any
tensor may carry a tangent, which nothing else about it tells.

For the 247 modules and 314 tensors of MobileNetV2 it takes 24 µs, but a network's weights push all of that out of the
caches between two calls: then it took 108, since one object after the other is waited for. So `native` first asks for
all lines that it takes them to be in (`_lines`), which are then on their way together: 85.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter, is_, itemgetter, methodcaller
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

Same = Callable[[], bool]

version_of = attrgetter("_version")
pointer_of = torch._C.TensorBase.data_ptr
_training_of = itemgetter("training")
_forward_of = attrgetter("forward")
_own_forward_of = methodcaller("get", "forward")
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

    @property
    def owners(self) -> list[dict[str, Any]]:
        """Where each module would have a `forward` of its own."""
        return [original(m).__dict__ for m in self.modules]

    @property
    def classes(self) -> list[type]:
        """What says how modules are called otherwise, each class once, with those that `super()` may reach."""
        kinds = dict.fromkeys(type(original(m)) for m in self.modules)
        return list(dict.fromkeys(base for kind in kinds for base in forwards(kind)))


def original(module: nn.Module) -> nn.Module:
    """The module itself, or the one that a compiled module stands for."""
    return module if "training" in module.__dict__ else module.__dict__.get("_original", module)


def forwards(kind: type[nn.Module]) -> dict[type, Any]:
    """Every `forward` that a call of a module of this class may reach, by the class that has it."""
    return {base: base.forward for base in kind.__mro__ if hasattr(base, "forward")}


def differentiates() -> bool:
    """Whether tensors may carry tangents of forward-mode differentiation."""
    return bool(_AD[_LEVEL] != _NO_LEVEL)


_AD = vars(forward_ad)
_LEVEL = "_current_level"
_NO_LEVEL = -1


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
    classes, owners = seen.classes, seen.owners
    methods, own = list(map(_forward_of, classes)), list(map(_own_forward_of, owners))

    def same() -> bool:
        return (
            all(map(is_, expected, _flatten(views)))
            and list(map(version_of, tensors)) == versions
            and list(map(pointer_of, tensors)) == pointers
            and same_mode()
            and (not used_hooks or list(_flatten(used_hooks)) == hooked)
        )

    def same_mode() -> bool:
        return (
            list(map(_training_of, dicts)) == modes
            and list(map(_forward_of, classes)) == methods
            and list(map(_own_forward_of, owners)) == own
            and not any(empty)
            and not differentiates()
        )

    return same_mode if not seen.groups and not tensors and not used_hooks else same


def guard(seen: Seen) -> Same:
    """The faster of the two ways that can see this module."""
    return native(seen) or looped(seen)


def native(seen: Seen) -> Same | None:
    """The comparison in native code; None where it would not see everything."""
    dicts = seen.attributes
    plain = all(type(each) is dict for each in (*dicts, *(group for group, _ in seen.groups)))
    plain = plain and all(isinstance(each, dict) for each in seen.empty) and not seen.hooked
    function = _compiled() if plain and not differentiates() and _interface() else None
    if function is None:
        return None
    handles = [tensor._cdata for tensor in seen.tensors]
    held = [_where(tensor, handle) for tensor, handle in zip(seen.tensors, handles)]
    if not all(held):
        return None
    lines = _lines(seen, [*dicts, *(group for group, _ in seen.groups), *seen.empty])
    own = [each.get(_FORWARD) for each in dicts]
    entries = [(id(_AD), id(_LEVEL), id(_AD[_LEVEL]))]
    for each, mode, forward in zip(dicts, seen.modes, own):
        entries.append((id(each), id(_TRAINING), id(mode)))
        entries.append((id(each), id(_FORWARD), 0 if forward is None else id(forward)))
    methods = [_method(cls) for cls in seen.classes]
    words = [
        *_interface(), len(seen.empty), len(seen.groups), len(entries), len(methods), len(seen.tensors), len(lines),
        *lines, *map(id, seen.empty),
        *_flatten((id(group), len(values), *map(id, values)) for group, values in seen.groups),
        *_flatten(entries),
        *_flatten(zip(map(id, seen.classes), map(id, methods))),
        *_flatten(zip(held, handles, seen.versions, seen.pointers)),
    ]  # fmt: skip
    table = (ctypes.c_uint64 * len(words))(*words)
    table.held = seen, dicts, own, methods, _AD[_LEVEL]  # type: ignore[attr-defined]  # whose addresses they are
    same = functools.partial(function, ctypes.byref(table))
    return same if same() else None


def _method(cls: type) -> Any:
    """The function that a class calls `forward`, as it lies in the class that defines it."""
    return next(vars(base)[_FORWARD] for base in cls.__mro__ if _FORWARD in vars(base))


def _where(tensor: Tensor, handle: int) -> int:
    """Where a tensor's Python object holds what it stands for, which `swap_tensors` exchanges; 0 is nowhere."""
    found = (8 * at for at, word in enumerate(_words(id(tensor), 4)) if word == handle)
    return id(tensor) + place if (place := next(found, 0)) else 0


_LINE = 64


def _lines(seen: Seen, dicts: Iterable[dict[Any, Any]]) -> list[int]:
    """Where the comparison will look, as far as can be told: a line that is wrong or missing costs time only."""
    found: set[int] = set()

    def add(start: int, size: int) -> None:
        found.update(range(start // _LINE, (start + size - 1) // _LINE + 1))

    for each in dicts:
        _, _, _, _, keys, values = _words(id(each), 6)
        add(id(each), 48)
        if each:
            add(keys, 2 * _LINE)
            add(values or keys, _LINE)
    for tensor in seen.tensors:
        storage, *_, version = _words(tensor._cdata, 6)[2:]
        for start, size in ((id(tensor), 32), (tensor._cdata, 3 * _LINE), (storage, _LINE), (version, 16)):
            add(start, size)
    return [line * _LINE for line in sorted(found)]


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(address))


_INTERPRETER = "PyDict_Next", "PyDict_GetItemWithError", "PyErr_Clear", "_PyType_Lookup", "PyDict_Size"
_LIBRARY = "_ZNK2at10TensorBase8_versionEv", "aoti_torch_get_data_ptr"
_TRAINING = "training"
_FORWARD = "forward"


@functools.cache
def _interface() -> tuple[int, ...]:
    """Addresses in the order in which the native code has them; none where torch does not have all of them."""
    found = next((Path(torch.__file__).parent / "lib").glob("libtorch_cpu.*"), None)
    try:
        library = ctypes.CDLL(str(found))
        functions = [getattr(ctypes.pythonapi, name) for name in _INTERPRETER]
        functions += [getattr(library, name) for name in _LIBRARY]
    except (OSError, AttributeError):
        return ()
    return (*(ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions), id(_FORWARD))


@functools.cache
def _compiled() -> Callable[[Any], bool] | None:
    """Without a lock of the interpreter, another thread could change a dictionary meanwhile."""
    from strop.codegen import object_code
    from strop.runtime import jit
    from strop.target import host

    if not _locked:
        return None
    try:
        target = host.described_host()
        library = jit.LoadedCode([object_code.compile_object(_TEXT, target)], target)
        function: Any = ctypes.PYFUNCTYPE(ctypes.c_bool)(library.address("strop_same"))
        function.library = library
    except Exception:  # LLVM does not know this machine: nothing is lost but time
        return None
    made: Callable[[Any], bool] = function
    return made


_TEXT = """
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)

define zeroext i1 @strop_same(ptr %table) {
start:
  %position = alloca i64
  %key = alloca ptr
  %value = alloca ptr
  %next = load ptr, ptr %table
  %get.at = getelementptr i64, ptr %table, i64 1
  %get = load ptr, ptr %get.at
  %clear.at = getelementptr i64, ptr %table, i64 2
  %clear = load ptr, ptr %clear.at
  %lookup.at = getelementptr i64, ptr %table, i64 3
  %lookup = load ptr, ptr %lookup.at
  %size.at = getelementptr i64, ptr %table, i64 4
  %size = load ptr, ptr %size.at
  %version.at = getelementptr i64, ptr %table, i64 5
  %version = load ptr, ptr %version.at
  %address.at = getelementptr i64, ptr %table, i64 6
  %address = load ptr, ptr %address.at
  %forward.at = getelementptr i64, ptr %table, i64 7
  %forward = load ptr, ptr %forward.at
  %empties.at = getelementptr i64, ptr %table, i64 8
  %empties = load i64, ptr %empties.at
  %groups.at = getelementptr i64, ptr %table, i64 9
  %groups = load i64, ptr %groups.at
  %attributes.at = getelementptr i64, ptr %table, i64 10
  %attributes = load i64, ptr %attributes.at
  %classes.at = getelementptr i64, ptr %table, i64 11
  %classes = load i64, ptr %classes.at
  %tensors.at = getelementptr i64, ptr %table, i64 12
  %tensors = load i64, ptr %tensors.at
  %lines.at = getelementptr i64, ptr %table, i64 13
  %lines = load i64, ptr %lines.at
  %lines.first = getelementptr i64, ptr %table, i64 14
  %first = getelementptr i64, ptr %lines.first, i64 %lines
  %empties.end = getelementptr i64, ptr %first, i64 %empties
  br label %line

line:
  %l.at = phi ptr [ %lines.first, %start ], [ %l.next, %line.more ]
  %l.more = icmp ult ptr %l.at, %first
  br i1 %l.more, label %line.more, label %empty
line.more:
  %l.next = getelementptr i64, ptr %l.at, i64 1
  %l.line = load ptr, ptr %l.at
  call void @llvm.prefetch.p0(ptr %l.line, i32 0, i32 3, i32 1)
  br label %line

empty:
  %n.at = phi ptr [ %first, %line ], [ %n.next, %empty.more ]
  %n.more = icmp ult ptr %n.at, %empties.end
  br i1 %n.more, label %empty.more, label %group
empty.more:
  %n.next = getelementptr i64, ptr %n.at, i64 1
  %n.dict = load ptr, ptr %n.at
  %n.size = call i64 %size(ptr %n.dict)
  %n.same = icmp eq i64 %n.size, 0
  br i1 %n.same, label %empty, label %changed

group:
  %g = phi i64 [ 0, %empty ], [ %g.next, %group.whole ]
  %g.at = phi ptr [ %empties.end, %empty ], [ %g.end, %group.whole ]
  %g.more = icmp slt i64 %g, %groups
  br i1 %g.more, label %group.entries, label %attribute
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

attribute:
  %a = phi i64 [ 0, %group ], [ %a.next, %attribute.value ]
  %a.at = phi ptr [ %g.at, %group ], [ %a.end, %attribute.value ]
  %a.more = icmp slt i64 %a, %attributes
  br i1 %a.more, label %attribute.value, label %class
attribute.value:
  %a.next = add i64 %a, 1
  %a.dict = load ptr, ptr %a.at
  %a.name.at = getelementptr i64, ptr %a.at, i64 1
  %a.name = load ptr, ptr %a.name.at
  %a.expected.at = getelementptr i64, ptr %a.at, i64 2
  %a.expected = load ptr, ptr %a.expected.at
  %a.end = getelementptr i64, ptr %a.at, i64 3
  %a.value = call ptr %get(ptr %a.dict, ptr %a.name)
  %a.same = icmp eq ptr %a.value, %a.expected
  br i1 %a.same, label %attribute, label %failed

class:
  %c = phi i64 [ 0, %attribute ], [ %c.next, %class.method ]
  %c.at = phi ptr [ %a.at, %attribute ], [ %c.end, %class.method ]
  %c.more = icmp slt i64 %c, %classes
  br i1 %c.more, label %class.method, label %tensor
class.method:
  %c.next = add i64 %c, 1
  %c.class = load ptr, ptr %c.at
  %c.expected.at = getelementptr i64, ptr %c.at, i64 1
  %c.expected = load ptr, ptr %c.expected.at
  %c.end = getelementptr i64, ptr %c.at, i64 2
  %c.method = call ptr %lookup(ptr %c.class, ptr %forward)
  %c.same = icmp eq ptr %c.method, %c.expected
  br i1 %c.same, label %class, label %failed

tensor:
  %t = phi i64 [ 0, %class ], [ %t.next, %tensor.address ]
  %t.at = phi ptr [ %c.at, %class ], [ %t.end, %tensor.address ]
  %t.more = icmp slt i64 %t, %tensors
  br i1 %t.more, label %tensor.itself, label %unchanged
tensor.itself:
  %t.next = add i64 %t, 1
  %t.held.at = load ptr, ptr %t.at
  %t.handle = getelementptr i64, ptr %t.at, i64 1
  %t.version.at = getelementptr i64, ptr %t.at, i64 2
  %t.address.at = getelementptr i64, ptr %t.at, i64 3
  %t.end = getelementptr i64, ptr %t.at, i64 4
  %t.held = load ptr, ptr %t.held.at
  %t.expected = load ptr, ptr %t.handle
  %t.same = icmp eq ptr %t.held, %t.expected
  br i1 %t.same, label %tensor.version, label %changed
tensor.version:
  %v.now = call i64 %version(ptr %t.handle)
  %v.expected = load i64, ptr %t.version.at
  %v.same = icmp eq i64 %v.now, %v.expected
  br i1 %v.same, label %tensor.address, label %changed
tensor.address:
  %p.failed = call i32 %address(ptr %t.handle, ptr %value)
  %p.now = load i64, ptr %value
  %p.expected = load i64, ptr %t.address.at
  %p.alike = icmp eq i64 %p.now, %p.expected
  %p.found = icmp eq i32 %p.failed, 0
  %p.same = and i1 %p.alike, %p.found
  br i1 %p.same, label %tensor, label %changed

unchanged:
  ret i1 1
failed:
  call void %clear()
  br label %changed
changed:
  ret i1 0
}
"""
