"""ONNX operators as small functions over torch operators, one file per family, each registered by a decorator.

    @onnx("Gemm")                                          # opset 7 and up
    def gemm(a: Tensor, b: Tensor, c: Tensor | None = None, *, alpha: float = 1.0, …) -> Tensor: ...

    @onnx("Softmax", until=12)                             # where semantics changed: one function per range
    @onnx("Softmax", since=13)
    @onnx("Gelu", domain="com.microsoft")                  # another domain

The contract of such a function:

- Inputs come by position, `None` for one that the node leaves out. They are torch tensors (a sequence is a list of
  them), real ones or the ones of a trace; the function never asks which.
- Attributes come by keyword under their ONNX names: numbers, strings (`str`), lists, real tensors, and graphs as
  `Subgraph`s. A keyword-only parameter without a default is a required attribute. An attribute that the function does
  not name is a Problem, so accepted-and-ignored attributes are named, too.
- A keyword-only parameter `node: Call` receives what the node itself says: its name, opset and outputs.
- It returns one value, or a tuple with one value per output (more than the node names is fine).
- Where an input shapes the program (axes, sizes, pads) it reads it with `ints`, `floats` or `scalar`. Those read real
  values; if the value is only known at run time, capture binds the model's inputs behind it to the call's values, one
  variant each, or gives up with the reason. `known(x)` asks politely: the real tensor, or None.
- It writes to nothing in place, and `raise Unsupported(reason)` says that a form of the operator is not covered.

When every input is a constant the function runs once, on real tensors, while the model is captured; so chains such as
Shape → Gather → Concat → Reshape vanish without any operator's help.

Element types in which torch does not compute are carried by ones in which it does (`CARRIERS`): uint16 in int32, uint32
and uint64 in int64, four- and two-bit integers in int8 and uint8, float16, float8 and float4 in float32. A function
sees the carrier; `node.input_types` and `node.output_types` hold ONNX's own element types for the few that care (Cast,
QuantizeLinear). Results that the operator's schema says are uint16 or uint32 are wrapped around afterwards.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from strop.core.extensions import Undo

#: what an operator takes and yields
Value = Any
Function = Callable[..., Any]
F = TypeVar("F", bound=Function)

OLDEST = 7
NEWEST = 10_000


class Unsupported(Exception):
    """This form of the operator is not covered; the message is the reason."""


class Undecided(Exception):
    """What has to be known now is known only at run time."""


class Unknown(Undecided):
    """A value that shapes the program is known only at run time."""

    def __init__(self, tensor: Tensor, what: str) -> None:
        super().__init__(what)
        self.tensor = tensor
        self.what = what


class Subgraph(Protocol):
    """A graph attribute (`then_branch`, `body`): callable with its inputs, sees the outer graph's values."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def __call__(self, *inputs: Value) -> tuple[Value, ...]:
        """Interpret the graph here and now, in the trace that is under way."""

    def repeat(self, first: int, most: int | None, watched: bool, states: Sequence[Value]) -> list[Tensor] | None:
        """All rounds of a loop from the `first` on, where they can be run at once; None where they cannot."""

    @property
    def captured(self) -> tuple[str, ...]:
        """Names of values of outer graphs that the body reads."""


@dataclass(frozen=True)
class OnnxCall:
    """What a node says of itself."""

    name: str = ""
    op: str = ""
    opset: int = NEWEST
    outputs: tuple[str, ...] = ("",)  # "" for an output that nobody wants
    scope: Mapping[str, Value] = field(default_factory=dict)  # every value that is visible where the node stands
    input_types: tuple[int, ...] = ()  # ONNX element types (TensorProto.DataType); 0 for an input left out
    output_types: tuple[int, ...] = ()  # ... where the schema or an attribute tells, else 0

    def wants(self, output: int) -> bool:
        return output < len(self.outputs) and bool(self.outputs[output])


@dataclass(frozen=True)
class OnnxOperator:
    """One function for one operator and a range of opsets."""

    domain: str
    name: str
    since: int
    until: int
    function: Function
    attributes: Mapping[str, Any]  # accepted attributes → default, `REQUIRED` where there is none
    takes_node: bool


REQUIRED: Any = inspect.Parameter.empty

_REGISTRY: dict[tuple[str, str], list[OnnxOperator]] = {}


def onnx(name: str, *, domain: str = "", since: int = OLDEST, until: int = NEWEST) -> Callable[[F], F]:
    """Register a function for opsets `since` to `until`, both included. Decorators may be stacked."""

    def register(function: F) -> F:
        clash = _covering(domain, name, since, until)
        if clash is not None:
            raise ValueError(f"two functions for {domain}::{name} in opset {max(since, clash.since)}")
        add(domain, name, since, until, function)
        return function

    return register


def add(domain: str, name: str, since: int, until: int, function: Function) -> Undo:
    """A function for some opsets of an operator, and how to take it out."""
    keywords = {
        parameter.name: parameter.default
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    takes_node = keywords.pop("node", None) is not None
    made = OnnxOperator(domain, name, since, until, function, keywords, takes_node)
    entries = _REGISTRY.setdefault((domain, name), [])
    entries.append(made)
    return lambda: entries.remove(made)


def _covering(domain: str, name: str, since: int, until: int) -> OnnxOperator | None:
    entries = _REGISTRY.get((domain, name), ())
    return next((e for e in entries if e.since <= until and since <= e.until), None)


def covered(domain: str, name: str, since: int, until: int) -> bool:
    """Whether there is a function for any of these opsets."""
    load_all()
    return _covering(domain, name, since, until) is not None


def are_values(result: Any) -> bool:
    """Whether this is what the function of an operator may return: a tensor, a sequence, or a tuple of these, None for
    an output that nobody wants."""
    results = result if isinstance(result, tuple) else (result,)
    kept = [value for value in results if value is not None]
    return bool(kept) and all(isinstance(value, Tensor | list) for value in kept)


def find(domain: str, name: str, opset: int) -> OnnxOperator | None:
    """The function for an operator at an opset."""
    load_all()
    entries = _REGISTRY.get(("" if domain == "ai.onnx" else domain, name), ())
    return next((entry for entry in entries if entry.since <= opset <= entry.until), None)


def operators() -> list[OnnxOperator]:
    """Every registered function, by domain, name and opset."""
    load_all()
    found = [entry for entries in _REGISTRY.values() for entry in entries]
    return sorted(found, key=lambda entry: (entry.domain, entry.name, entry.since))


_loaded = False


def load_all() -> None:
    """Import every family of this package, which registers its operators."""
    global _loaded
    if not _loaded:
        for module in iter_modules(__path__):
            import_module(f"{__name__}.{module.name}")
        _loaded = True


# ---- values that shape the program ----

#: the trace under way: stand-ins (by id) → the real tensors that they stand for
_real: ContextVar[Mapping[int, Tensor] | None] = ContextVar("real", default=None)


@contextmanager
def standing_for(stand_ins: Mapping[int, Tensor]) -> Iterator[None]:
    """Inside, `known` looks here for the real tensors behind a trace's stand-ins."""
    token = _real.set(stand_ins)
    try:
        yield
    finally:
        _real.reset(token)


#: the attribute under which a quantised tensor keeps the whole numbers that it was made from
WHOLE_NUMBERS = "_strop_whole_numbers"


def tracing() -> bool:
    """Whether values may be those of a trace."""
    return _real.get() is not None


def made(function: Callable[..., Tensor], *args: Any, **kwargs: Any) -> Tensor:
    """A real tensor even inside a trace: for results that follow from shapes alone."""
    if _real.get() is None:  # leaving modes takes 50 µs even where there are none
        return function(*args, **kwargs)
    with _disable_current_modes():
        return function(*args, **kwargs)


def known(x: Tensor) -> Tensor | None:
    """The real tensor behind a value, or None for one that only a call will bring."""
    stand_ins = _real.get()
    if stand_ins is None or not isinstance(x, torch._subclasses.FakeTensor):
        return x
    return stand_ins.get(id(x))


def whole(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Integers as floating-point numbers: those that they were rounded from, constants converted now, or a conversion.

    Generated code does not compute with bytes, so what is quantised and used at once should never become bytes.
    """
    floats: Tensor | None = getattr(x, WHOLE_NUMBERS, None)
    if floats is not None:
        return floats.to(dtype)
    constant = known(x)
    return x.to(dtype) if constant is None else made(constant.to, dtype)


#: what only moves elements of its first input
_MOVING = frozenset(("Gather", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Slice", "Expand", "Tile"))


def applied(op: str, function: Function, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """An operator's result; bytes of a trace that are only moved go along as the numbers that `whole` gives."""
    result = function(*inputs, **attributes)
    moved = op in _MOVING and tracing() and isinstance(result, Tensor) and known(result) is None
    if moved and result.dtype in (torch.int8, torch.uint8):
        setattr(result, WHOLE_NUMBERS, function(whole(inputs[0], torch.float32), *inputs[1:], **attributes))
    return result


def real(x: Tensor, what: str) -> Tensor:
    """As `known`, but insists; `what` names the value in the message."""
    found = known(x)
    if found is None:
        raise Unknown(x, what)
    return found


def ints(x: Tensor | Sequence[int], what: str = "a list of numbers") -> list[int]:
    """An input (or an attribute of older opsets) as Python integers."""
    return [int(v) for v in (_items(real(x, what)) if isinstance(x, Tensor) else x)]


def floats(x: Tensor | Sequence[float], what: str = "a list of numbers") -> list[float]:
    return [float(v) for v in (_items(real(x, what)) if isinstance(x, Tensor) else x)]


def scalar(x: Tensor, what: str = "a number") -> Any:
    """The only element of an input as a Python number."""
    value = real(x, what)
    if value.numel() != 1:
        raise Unsupported(f"{what} must be one number, not a tensor of shape {list(value.shape)}")
    return _items(value)[0]


def numbers(x: Tensor) -> list[Any] | None:
    """As `known`, as Python numbers."""
    value = known(x)
    return None if value is None else _items(value)


def _items(tensor: Tensor) -> list[Any]:
    if _real.get() is None:
        return list(tensor.reshape(-1).tolist())
    with _disable_current_modes():
        return list(tensor.reshape(-1).tolist())
