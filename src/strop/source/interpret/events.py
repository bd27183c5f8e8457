"""What happens inside a function, as the interpreter saw it: the one thing that verdicts and rules read.

Interpreting a function yields events in source order, joined over every context in which it was reached. An event keeps
the abstract values that took part, so that a rule can ask `is it a tensor?`, `is it a constant?`, `was it made inside?`
without knowing how the interpreter works. Events of callees are not repeated in the caller: a `Call` names the
functions of the project that it may reach, and `interpret.Program.reached(function)` walks them with chains of places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from strop.source.facts import Place

if TYPE_CHECKING:
    from strop.source.interpret.values import Value


@dataclass(frozen=True)
class Call:
    """A call; `targets` are dotted names of library functions (`torch.relu`, `builtins.print`, `torch.Tensor.item`),
    `functions` the project's own functions that it may reach. Both empty: nobody knows what is called."""

    place: Place
    targets: tuple[str, ...]
    functions: tuple[str, ...]  #: `module:Class.method`
    receiver: Value | None
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]
    result: Value
    callee: Value | None = None  #: what is called, such as the instance in `model(x)`; None for operators


@dataclass(frozen=True)
class Branch:
    """`if`, `while`, `assert`, `and`/`or`/`not` or a conditional expression that asks for the truth of a value."""

    place: Place
    kind: Literal["if", "while", "assert", "bool", "ifexp", "match"]
    condition: Value


@dataclass(frozen=True)
class Iteration:
    """A `for`, comprehension or unpacking that walks a value."""

    place: Place
    kind: Literal["for", "comprehension", "unpack"]
    over: Value


@dataclass(frozen=True)
class Write:
    """A write to something that outlives the statement; `outside` when the object existed before the call began."""

    place: Place
    kind: Literal["global", "nonlocal", "attribute", "element", "method", "delete", "closure"]
    target: str  #: as written, such as `self.count` or `cache[key]`
    to: Value | None  #: the object that is written to
    value: Value | None
    outside: bool | None  #: None: cannot be determined


@dataclass(frozen=True)
class Read:
    """A read of a global, a captured variable or an attribute that something in the project writes later."""

    place: Place
    kind: Literal["global", "closure", "attribute", "variables"]  #: `variables`: the weights of a model or layer
    target: str
    value: Value
    of: Value | None = None  #: the model or layer


@dataclass(frozen=True)
class Other:
    """A construct that graphs have opinions on: `yield`, `raise`, `try`, `with`, `del`, `global`, `await`, `import`."""

    place: Place
    kind: Literal["yield", "raise", "try", "with", "import", "await", "global", "del"]
    value: Value | None = None


Event = Call | Branch | Iteration | Write | Read | Other
