"""Arguments for functions of which the scan knows a part: dtypes and shapes of tensors, constants, defaults.

What is not known is tried: first all unknown tensors of one dtype and shape, then a shape for each, then numbers where
nothing is known of a parameter at all, or what its name speaks of: `axis`, `dtype`, `activation_fn`.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from strop.source.interpret.queries import ParameterFacts
from strop.source.interpret.values import Const, Primitive, Tensor, Tuple, Value

SHAPES: tuple[tuple[int, ...], ...] = (
    (3, 4), (4,), (4, 4), (2, 3, 4), (), (2, 4, 4, 3), (3, 1), (3,), (2, 3, 3), (1, 8, 8, 3), (2, 3), (5, 2, 3, 4),
    (2,), (16,), (1,), (2, 2), (2, 16), (1, 4, 4),
)  # fmt: skip
DTYPES = ("float32", "float64", "int32", "bool", "int64", "complex64", "string")
_TRIES = 240  #: of shapes and numbers for each parameter by itself
_SECONDS = 15  #: of the processor, for all tries
_PLAIN = (2, 1, 0.5, 3, True, 0, None, [2, 2], "a")  #: for a parameter of which nothing is known
#: what names speak of; the first pattern that fits decides
_NAMES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    (r"dtype$", (tf.float32, tf.int32)),
    (r"(^|_)(axis|dim)$", (-1, 0, 1)),
    (r"(^|_)axes$", ([0], [-1], [0, 1])),
    (r"^name$|_name$|^scope$", ("a", None)),
    (r"^(is_)?training$|^(use|is|has|return|keep|with)_|_p$", (False, True)),
    (r"initializer$", ("zeros", "ones", tf.zeros_initializer())),
    (r"regularizer$|constraint$|^seed$|_seed$", (None, 1)),
    (r"(^|_)(fn|func|function|callable|f|activation|op|transform|nonlinearity)$", (tf.identity, tf.abs, tf.reduce_sum)),
    (r"^(num|n|max|min)_|_(size|dim|dims|units|channels|filters|rank|count|length|width|height|steps|rate|len)$"
     r"|^(units|filters|channels|depth|size|rank|k|n|dim|dims|width|height|order|ndims|length)$", (2, 4, 3, 1, 8)),
    (r"shape$", ([3, 4], (4,), [2, 3, 4], [4, 4], (8, 8, 3))),
    (r"(stride|kernel|pool|window)", (2, 1, 3, (2, 2))),
    (r"^(mode|padding|data_format|reduction)$", ("same", "SAME", "valid", "channels_last", "sum", "mean")),
    (r"(eps|epsilon|alpha|beta|gamma|rate|scale|temperature|margin|momentum|threshold|lr)$", (0.5, 0.1, 2.0)),
)  # fmt: skip

#: for a parameter of which the type is known
_OF_TYPE = {
    "int": (2, 1, 3, 4, 0, 8),
    "float": (0.5, 1.0, 2.0, 0.1),
    "bool": (False, True),
    "str": ("a", "mean", "same"),
}

Arguments = tuple[list[Any], dict[str, Any]]
#: name, kind, what is known
Parameters = tuple[tuple[str, str, Any], ...]


@dataclass(frozen=True)
class Candidate:
    module: str
    function: str
    parameters: Parameters
    constructor: Parameters | None = None  #: of the class whose method it is
    around: Candidate | None = None  #: the function in which it is defined


@dataclass(frozen=True)
class Missing:
    """What is passed for a parameter with a default of which nothing is known: nothing."""


def known(parameter: ParameterFacts) -> Any:
    """What to pass: ("tensor", dtype, shape), ("value", constant); `Missing` for the default, None for nothing known."""
    if not parameter.given and parameter.default is not None:
        return Missing()
    hint = None if parameter.hint is None else _argument(parameter.hint)
    value = _argument(parameter.value)
    return value if hint is None or (parameter.called and value is not None) else hint


def _argument(value: Value) -> Any:
    for atom in value.atoms:
        if isinstance(atom, Tensor):
            return "tensor", atom.dtype, atom.shape
        if isinstance(atom, Const):
            return "value", atom.constant
        if isinstance(atom, Primitive) and atom.type in _OF_TYPE:
            return "one of", _OF_TYPE[atom.type]
        if isinstance(atom, Tuple):
            return "tuple", [_argument(item) for item in atom.items]
        if atom.is_object and getattr(atom, "kind", "") == "list":
            return "list", _argument(atom.contents())
    return ("list", ("tensor", None, None)) if value.holds_tensor() else None  # a hint: `Sequence[tf.Tensor]`


def calls(parameters: Parameters, works: Callable[[list[Any], dict[str, Any]], bool]) -> list[Arguments] | None:
    """Three calls that work in eager mode: two of one shape, the last of another if there is one."""
    found: list[Arguments] = []
    for make in _choices():
        arguments = _arguments(parameters, make(len(found)))
        if not works(*arguments):
            continue
        found.append(arguments)
        if len(found) == 1:
            other = _arguments(parameters, make(1))
            found.append(other if works(*other) else arguments)
        if len(found) == 3:
            return found
    return [*found, found[0]][:3] if found else None


def tries(parameters: Parameters) -> Iterator[Arguments]:
    """Arguments for one call, without knowing whether it works."""
    for number, make in enumerate(_choices()):
        yield _arguments(parameters, make(number))


def _choices() -> Iterator[Callable[[int], _Made]]:
    """Ways to make arguments; each takes the seed of the values."""
    end = time.process_time() + _SECONDS
    for dtype, shape in itertools.product(DTYPES[:4], SHAPES[:9]):
        yield lambda seed, dtype=dtype, shape=shape: _Made(np.random.default_rng(seed), dtype, (shape,), None)
    for number in range(_TRIES):
        if time.process_time() > end:
            return
        dtype = DTYPES[0] if number % 3 else DTYPES[2 + number // 3 % (len(DTYPES) - 2)]
        yield lambda seed, number=number, dtype=dtype: _Made(
            np.random.default_rng(seed), dtype, SHAPES, np.random.default_rng(1000 + number)
        )


@dataclass
class _Made:
    """Makes the arguments of one call."""

    values: np.random.Generator
    dtype: str
    shapes: tuple[tuple[int, ...], ...]
    dice: np.random.Generator | None  #: chooses for what is not known; without it, tensors are of one shape

    def __call__(self, what: Any, name: str = "") -> Any:
        if what is None:
            return self._unknown(name)
        if what[0] == "value":
            return what[1]
        if what[0] == "one of":
            return what[1][0 if self.dice is None else int(self.dice.integers(len(what[1])))]
        if what[0] == "tuple":
            return tuple(self(item) for item in what[1])
        if what[0] == "list":
            return [self(what[1]) for _ in range(2)]
        shape = self._shape()
        return self._tensor(what[1] or self.dtype, shape if what[2] is None else tuple(d or 3 for d in what[2]))

    def _unknown(self, name: str) -> Any:
        spoken = next((values for pattern, values in _NAMES if re.search(pattern, name)), ())
        if self.dice is None:
            return spoken[0] if spoken else self._tensor(self.dtype, self._shape())
        if spoken and self.dice.random() < 0.7:
            return spoken[int(self.dice.integers(len(spoken)))]
        chance = self.dice.random()
        if chance < 0.5:
            return self._tensor(self.dtype, self._shape())
        if chance < 0.6:
            shape = self._shape()
            return [self._tensor(self.dtype, shape) for _ in range(2)]
        return _PLAIN[int(self.dice.integers(len(_PLAIN)))]

    def _shape(self) -> tuple[int, ...]:
        return self.shapes[0 if self.dice is None else int(self.dice.integers(len(self.shapes)))]

    def _tensor(self, dtype: str, dims: tuple[int, ...]) -> tf.Tensor:
        if dtype == "string":
            return tf.constant(["a"] * int(np.prod(dims)), shape=dims)
        if dtype == "bool":
            return tf.constant(self.values.integers(0, 2, dims).astype(bool))
        if dtype.startswith(("int", "uint")):
            return tf.constant(self.values.integers(0, 3, dims), dtype)
        return tf.cast(tf.constant(self.values.uniform(0.1, 0.9, dims)), dtype)


def _arguments(parameters: Parameters, made: _Made) -> Arguments:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    by_name = False
    for name, kind, what in parameters:
        if isinstance(what, Missing) or kind not in ("normal", "positional", "keyword"):
            by_name = by_name or isinstance(what, Missing)
        elif kind == "keyword" or by_name:
            kwargs[name] = made(what, name)
        else:
            args.append(made(what, name))
    return args, kwargs
