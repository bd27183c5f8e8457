"""Options of a compilation, and how the environment sets their defaults.

STROP_THREADS=2  STROP_NUMERICS=exact  STROP_PACK=0  STROP_CHECK=1  STROP_WINOGRAD=0  STROP_MAX_VARIANTS=4
STROP_TARGET=znver3
STROP_MEMORY=balanced
STROP_TUNED=0  STROP_TUNING=/some/file.sqlite
STROP_CACHE=/some/dir (or `off`)  STROP_CACHE_LIMIT=500MB  STROP_EXTENSIONS=0
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from strop.core.problem import Problem

_OFF = ("0", "off", "no", "false")
_ON = ("1", "on", "yes", "true")
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}

DEFAULT_CACHE_LIMIT = 2 * 2**30
MOST_THREADS = 1024
Layouts = Literal["joint", "channels_last", "blocked", "apart"]
Numerics = Literal["default", "exact", "fast"]
#: what a training step keeps between forward and backward: what is fastest, the least that costs little time, or bytes
Memory = Literal["fastest", "balanced"] | int
#: where an algorithm may be used: nowhere, with the smallest tiles only (whose error is that of the direct algorithm),
#: where an analysis of the graph allows it, or wherever it is faster
Use = Literal["never", "small", "checked", "always"]

#: algorithms that compute something else than the sums that the operator is defined by → where each numerics uses them
ALGORITHMS: Mapping[str, Mapping[Numerics, Use]] = {
    "winograd": {"exact": "never", "default": "checked", "fast": "always"},
    "strassen": {"exact": "never", "default": "never", "fast": "always"},
    "pairs": {"exact": "never", "default": "never", "fast": "always"},
    "compact": {"exact": "never", "default": "never", "fast": "always"},
}
#: those for matrix products, which `torch.set_float32_matmul_precision` speaks of
PRODUCTS = ("strassen", "pairs", "compact")
#: options that change no code; `threads` is None or a number, and what it comes to is a part of the cache key by itself
#: (what training keeps decides the graphs of its halves, which are a part of it, too)
NOT_IN_CODE = frozenset(("threads", "cache", "check", "max_variants", "memory", "partition"))


@dataclass(frozen=True)
class Options:
    """What a caller may decide. Everything here is plain data, so that options can be stored and compared."""

    threads: int | None = None  #: None: as many as torch uses at the time of the call
    pack: bool = True  #: prepack weights at compile time; False keeps memory at the size of the parameters
    numerics: Numerics | None = None  #: which algorithms may be used; None: default, or what torch's precision says
    #: use Winograd's convolution wherever it is faster, with its smallest tiles only, or never; None: as numerics says
    winograd: bool | Literal["small"] | None = None
    strassen: bool | None = None  #: the same for Strassen's matrix product
    pairs: bool | None = None  #: the same for Winograd's inner product
    compact: bool | None = None  #: the same for weights of 24 bits
    cascades: bool = False  #: add up in cascades, as eager does, sums that eager's error is far smaller for (gradients)
    strips: bool = True  #: let nests that hand large tensors on take turns on strips of rows
    layouts: Layouts = "joint"  #: how tensors lie: chosen together, or one of the ways that this is compared with
    cache: bool = True  #: read and write the disk cache
    check: bool = False  #: verify the IR after every step; nothing is read from the cache then
    release: bool = False  #: give up parameters that were packed: less memory, no way back to eager mode
    max_variants: int = 8  #: shapes compiled per module; past that, calls run eager and say so
    memory: Memory = "fastest"  #: what training keeps for backward: "fastest", "balanced", or at most so many bytes
    partition: str = ""  #: passes by hand on what training keeps: `keep{value=…} recompute{value=…}`
    target: str | None = None  #: a shipped machine description, or its plan in this CPU's code (`znver4@host`)
    tuned: bool = True  #: use what `strop tune` has found for this machine

    def __post_init__(self) -> None:
        if self.threads is not None and (not _is_int(self.threads) or self.threads < 1):
            raise Problem("STR001", f"threads must be a positive integer or None, got {self.threads!r}")
        if self.threads is not None and self.threads > MOST_THREADS:
            raise Problem("STR001", f"threads must be at most {MOST_THREADS}, got {self.threads}",
                          help="as many threads as there are cores are the fastest")  # fmt: skip
        if not _is_int(self.max_variants) or self.max_variants < 1:
            raise Problem("STR001", f"max_variants must be a positive integer, got {self.max_variants!r}")
        if self.target is not None and not isinstance(self.target, str):
            raise Problem("STR001", f"target must be the name of a machine or None, got {self.target!r}")
        if self.layouts not in get_args(Layouts):
            raise Problem("STR001", f"layouts must be one of {', '.join(get_args(Layouts))}, got {self.layouts!r}")
        if self.numerics is not None and self.numerics not in get_args(Numerics):
            raise Problem("STR001", f"numerics must be one of {', '.join(get_args(Numerics))}, got {self.numerics!r}")
        for name in ("pack", "cascades", "strips", "cache", "check", "release", "tuned"):
            if not isinstance(getattr(self, name), bool):
                raise Problem("STR001", f"{name} must be True or False, got {getattr(self, name)!r}")
        if self.memory not in ("fastest", "balanced") and (not _is_int(self.memory) or int(self.memory) < 0):
            raise Problem("STR001", f"memory must be fastest, balanced or a number of bytes, got {self.memory!r}")
        if not isinstance(self.partition, str):
            raise Problem("STR001", f"partition must be the text of passes, got {self.partition!r}",
                          help='partition="keep{value=layer1.relu}"')  # fmt: skip
        for name in ALGORITHMS:
            if (name, getattr(self, name)) != ("winograd", "small") and not isinstance(
                getattr(self, name), bool | None
            ):
                raise Problem("STR001", f"{name} must be True, False or None, got {getattr(self, name)!r}")

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None, **given: Any) -> Options:
        """The options that `STROP_…` variables ask for; what the caller gives goes before them."""
        known = [f.name for f in fields(cls)]
        unknown = [name for name in given if name not in known]
        if unknown:
            raise Problem("STR001", f"there is no option `{unknown[0]}`", help=f"known options: {', '.join(known)}")
        environ = os.environ if environ is None else environ
        found: dict[str, Any] = {}
        for name in ("threads", "max_variants"):
            if text := environ.get(f"STROP_{name.upper()}", ""):
                found[name] = _integer(f"STROP_{name.upper()}", text)
        for name in ("pack", *ALGORITHMS, "cascades", "strips", "check", "release", "tuned"):
            if text := environ.get(f"STROP_{name.upper()}", ""):
                small = (name, text) == ("winograd", "small")
                found[name] = text if small else _switch(f"STROP_{name.upper()}", text)
        if environ.get("STROP_CACHE", "").lower() in _OFF:
            found["cache"] = False
        if text := environ.get("STROP_MEMORY", ""):
            found["memory"] = int(text) if text.isdecimal() else text
        for name in ("target", "layouts", "numerics", "partition"):
            if text := environ.get(f"STROP_{name.upper()}", ""):
                found[name] = text
        return cls(**{**found, **given})

    @classmethod
    def given(cls, options: object, **settings: Any) -> Options:
        """The options of a call: an object, or single settings that go before the environment, but not both."""
        if options is None:
            return cls.from_environment(**settings)
        if not isinstance(options, Options):
            kind = type(options).__name__
            raise Problem("STR001", f"`options` must be strop.Options, got {kind}", help="strop.Options(threads=2)")
        if settings:
            name = next(iter(settings))
            raise Problem("STR001", f"both `options` and `{name}` were given", help="put it into the Options")
        return options

    def use(self, algorithm: str) -> Use:
        """Where an algorithm may be used: a switch of its own goes before what `numerics` says."""
        switch: bool | Literal["small"] | None = getattr(self, algorithm)
        if switch == "small":
            return "small"
        if switch is not None:
            return "always" if switch else "never"
        use = ALGORITHMS[algorithm][self.numerics or "default"]
        # what is checked may have to be computed again directly, for which weights are needed as they were
        return "never" if use == "checked" and self.release else use

    @property
    def direct(self) -> Options:
        """The same with direct algorithms only: the sums by which operators are defined."""
        switches: dict[str, Any] = dict.fromkeys(ALGORITHMS, False)
        return replace(self, **switches)

    @property
    def for_gradients(self) -> Options:
        """The same with algorithms whose error gradients stand: as large as the error of the direct ones."""
        return replace(self.direct, winograd=False if self.use("winograd") == "never" else "small", cascades=True)

    def under(self, precision: str) -> Options:
        """These options under `torch.set_float32_matmul_precision`: "high" and "medium" allow every algorithm for
        matrix products, unless `numerics` or a switch of its own says otherwise."""
        if self.numerics is not None:
            return self
        allowed: dict[str, Any] = {n: True for n in PRODUCTS if precision != "highest" and getattr(self, n) is None}
        return replace(self, numerics="default", **allowed)

    @property
    def code_key(self) -> str:
        """The part that generated code depends on, for the cache key: every option but those of `NOT_IN_CODE`."""
        used = [(name, self.use(name)) for name in ALGORITHMS]
        others = [f.name for f in fields(self) if f.name not in (*NOT_IN_CODE, *ALGORITHMS, "numerics")]
        return repr([*used, *((name, getattr(self, name)) for name in others)])


def cache_limit(environ: Mapping[str, str] | None = None) -> int:
    """The cache's size cap in bytes, from STROP_CACHE_LIMIT (`2GB` unless told)."""
    environ = os.environ if environ is None else environ
    text = environ.get("STROP_CACHE_LIMIT", "").strip()
    if not text:
        return DEFAULT_CACHE_LIMIT
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.lower())
    if not found:
        raise _unreadable("STROP_CACHE_LIMIT", text, "a size such as 500MB or 2GB")
    return int(float(found[1]) * _UNITS[found[2]])


def is_off(name: str, environ: Mapping[str, str] | None = None) -> bool:
    """Whether a variable switches something off that is on unless told."""
    text = (os.environ if environ is None else environ).get(name, "").strip()
    return bool(text) and not _switch(name, text)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _integer(name: str, text: str) -> int:
    if not text.isdecimal():
        raise _unreadable(name, text, "a positive integer")
    return int(text)


def _switch(name: str, text: str) -> bool:
    if text.lower() not in (*_ON, *_OFF):
        raise _unreadable(name, text, "0 or 1")
    return text.lower() in _ON


def _unreadable(name: str, text: str, expected: str) -> Problem:
    return Problem(
        "STR005", f"{name}={text!r} cannot be read", help=f"{expected} is expected; unset it for the default"
    )
