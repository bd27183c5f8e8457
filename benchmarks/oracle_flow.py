"""Walking through a recording: canonical names of operations, steps back and forth, and places in the source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import torch
from oracle_record import Op, Recording, Ref

_CANONICAL = {
    "truediv": "div", "rtruediv": "rdiv", "itruediv": "div", "divide": "div", "true_divide": "div", "rdiv": "rdiv",
    "radd": "add", "iadd": "add", "isub": "sub", "rmul": "mul", "imul": "mul", "multiply": "mul", "subtract": "sub",
    "rmatmul": "matmul", "ipow": "pow", "rsub": "rsub", "negative": "neg", "concat": "cat", "concatenate": "cat",
    "hstack": "cat", "clamp_min": "clamp", "clip": "clamp", "swapaxes": "transpose",
    "special_expit": "sigmoid", "special_erf": "erf", "maximum": "max",
}  # fmt: skip
#: the same numbers in another shape, order or type
VIEWS = frozenset(
    [
        "view",
        "reshape",
        "transpose",
        "permute",
        "contiguous",
        "expand",
        "expand_as",
        "unsqueeze",
        "squeeze",
        "flatten",
        "unflatten",
        "getitem",
        "chunk",
        "split",
        "narrow",
        "select",
        "to",
        "float",
        "type",
        "type_as",
        "half",
        "bfloat16",
        "double",
        "clone",
        "detach",
        "movedim",
        "swapdims",
        "t",
        "view_as",
        "reshape_as",
        "unbind",
        "tensor_split",
        "split_with_sizes",
        "alias",
        "flip",
        "roll",
        "repeat",
        "repeat_interleave",
        "unfold",
        "moveaxis",
        "index_select",
        "dropout",
        "feature_dropout",
        "alpha_dropout",
        "dropout2d",
        "gather",
        "pad",
        "view_as_real",
        "view_as_complex",
        "cpu",
        "cuda",
        "atleast_2d",
    ]
)
#: views that keep every number where it was
KEPT = VIEWS - frozenset(["flip", "roll", "getitem", "gather", "pad", "index_select", "narrow", "select"])
JOINS = frozenset(("cat", "stack", "neg"))
PRODUCTS = frozenset(("matmul", "bmm", "einsum", "baddbmm"))
LINEARS = frozenset(("linear", "addmm", "bilinear"))


def kind(op: Op) -> str:
    """`__iadd__`, `add_` and `add` are all `add`."""
    name = op.name.strip("_")
    return _CANONICAL.get(name, name)


@dataclass(frozen=True)
class Place:
    """Lines of one function."""

    file: str
    function: str
    first: int
    last: int


def place_of(ops: Collection[Op]) -> Place | None:
    """The innermost call in which all these operations happen, directly or in what it calls."""
    ordered = list(ops)
    frames = [{frame.call: frame for frame in op.frames} for op in ordered]
    for frame in ordered[0].frames:
        if all(frame.call in each for each in frames):
            spans = [each[frame.call] for each in frames]
            return Place(frame.file, frame.function, min(s.first for s in spans), max(s.last for s in spans))
    return None


def parts_of(ops: Iterable[Op]) -> list[Place]:
    """Where each operation stands, one span for every function."""
    spans: dict[tuple[str, str], tuple[int, int]] = {}
    for op in ops:
        if op.frames:
            frame = op.frames[0]
            first, last = spans.get((frame.file, frame.function), (frame.first, frame.last))
            spans[frame.file, frame.function] = (min(first, frame.first), max(last, frame.last))
    return [Place(file, function, first, last) for (file, function), (first, last) in spans.items()]


class Flow:
    """Questions about the data flow of a recording."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.values = recording.values
        self.producer = recording.producer
        self._constant: dict[int, bool] = {}

    def consumers(self, number: int) -> list[Op]:
        return self.recording.consumers.get(number, [])

    def constant(self, number: int) -> bool:
        """Whether a value comes from parameters and constants alone; any part of them, even one that data chose."""
        known = self._constant.get(number)
        if known is not None:
            return known
        op = self.producer.get(number)
        if op is None:
            found = number in self.recording.fixed and number not in self.recording.given
        else:
            self._constant[number] = True  # values have no circles; this is for operations without inputs
            reads = op.reads[:1] if kind(op) in VIEWS else op.reads  # which part is taken does not matter
            found = all(self.constant(read) for read in reads)
        self._constant[number] = found
        return found

    def scalar(self, number: int) -> bool:
        return self.values[number].numel() == 1

    def through(self, number: int, kinds: Collection[str] = VIEWS) -> int:
        """The value before a chain of such operations."""
        while True:
            op = self.producer.get(number)
            if op is None or kind(op) not in kinds or not op.reads:
                return number
            number = op.reads[0]

    def net(self, number: int, kinds: Collection[str], limit: int = 40) -> dict[int, bool]:
        """The values that such operations lead back to, each with whether the net ends there."""
        found: dict[int, bool] = {}
        waiting = [number]
        while waiting and len(found) < limit:
            current = waiting.pop()
            if current in found:
                continue
            op = self.producer.get(current)
            found[current] = op is None or kind(op) not in kinds or not op.reads
            if not found[current] and op is not None:
                waiting.extend(op.reads)
        return found

    def roots(self, number: int, kinds: Collection[str], limit: int = 40) -> set[int]:
        """The values before a net of such operations."""
        return {each for each, ends in self.net(number, kinds, limit).items() if ends}

    def back_to(self, number: int, stop: Callable[[Op], bool], limit: int = 120) -> list[Op]:
        """The nearest operations behind a value for which `stop` holds."""
        found: dict[int, Op] = {}
        seen, waiting = set(), [number]
        while waiting and len(seen) < limit:
            current = waiting.pop(0)
            if current in seen:
                continue
            seen.add(current)
            op = self.producer.get(current)
            if op is None:
                continue
            if stop(op):
                found[op.index] = op
                continue
            waiting.extend(op.reads)
        return list(found.values())

    def others(self, op: Op, number: int) -> list[int]:
        """What an operation reads besides a value; the value itself when it reads that twice."""
        rest = list(op.reads)
        if number in rest:
            rest.remove(number)
        return rest

    def number_of(self, op: Op, position: int) -> int | None:
        """The value that is the argument at a position."""
        if position >= len(op.args):
            return None
        value = op.args[position]
        return value.number if isinstance(value, Ref) else None

    def axis(self, op: Op) -> int | None:
        """The `dim` of an operation on its first argument, counted from the end."""
        dim = op.kwargs.get("dim", op.args[1] if len(op.args) > 1 else None)
        if isinstance(dim, tuple) and len(dim) == 1:
            dim = dim[0]
        if not isinstance(dim, int) or not op.reads:
            return None
        rank = self.values[op.reads[0]].dim()
        return dim if dim < 0 else dim - rank

    def floating(self, number: int) -> bool:
        return torch.is_floating_point(self.values[number])
