"""A rule as data, as the parser makes it.

The replacement is Python text with metavariables, executed by synthesis:

    $x               the source text of what the metavariable `x` is bound to (a local name that still holds it, or its
                     expression), in parentheses where needed
    $x.weight        for a layer: its attribute (`self.norm.weight`); `$x` itself is `self.norm`
    $x:eps           the argument `eps` of the constructor of layer `x`, or attribute `eps` of the operation `x`
    [[ … $m … ]]     left out when a metavariable inside is not bound (an optional part that is absent); `[[$m: … ]]`
                     and `[[!$m: … ]]` are kept when `m` is bound / is not bound
    $$               a dollar sign
    +(key=value)     as the whole template: the root is a call, and gets these arguments in addition

`use` is a list of (results, template). With one result, its expression is replaced by the text. With several, a
statement `result, result, … = text` is placed before the first of them, and each expression is replaced by its name.
A use without results (`=> text`) replaces the root's expression.

`define` is a list of steps on the constructor: (`replace`, name, template) puts the text in place of the constructor
call of layer `name`; (`add`, name, template) adds `self.name = text` after the last definition of the match;
(`remove`, name, "") deletes the definition of layer `name`.

`state` maps a checkpoint from before: (`new.key`, `old.key`, …) concatenated along dim 0; empty when names stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from strop.source.facts import Place

Safety = Literal["exact", "close", "training", "eval"]  #: `eval`: equal in eval mode only
Target = Literal["cpu", "cuda"]


@dataclass(frozen=True)
class Expression:
    """A term of a pattern.

    kind      name               children
    variable  the metavariable   –
    any       –                  – (`_`)
    const     –                  – (`value`)
    call      the operation      arguments; `keywords` by name; attributes that are not mentioned may be anything
    layer     the layer variable arguments
    either    –                  the alternatives

    A call with `repeat` `?` or `*` may be absent: then its first child stands in its place. `bind` is the name of the
    line that defines the term (`scores = matmul(…)`): the node is bound to it.
    """

    kind: Literal["variable", "any", "const", "call", "layer", "either"]
    name: str = ""
    value: Any = None
    children: tuple[Expression, ...] = ()
    keywords: tuple[tuple[str, Expression], ...] = ()
    repeat: str = ""
    bind: str = ""
    place: Place = field(default=Place("", 0), compare=False)

    @cached_property
    def once(self) -> Expression:
        """The call itself, which is there."""
        return replace(self, repeat="")

    @cached_property
    def alternatives(self) -> tuple[Expression, ...]:
        """Of `either`, each under the name of the line."""
        return tuple(replace(one, bind=one.bind or self.bind) for one in self.children)

    @cached_property
    def terms(self) -> tuple[Expression, ...]:
        """Of a sum or product, with those of inner ones."""
        return tuple(
            term
            for child in self.children
            for term in (
                child.terms if child.kind == "call" and child.name == self.name and not child.repeat else (child,)
            )
        )


@dataclass(frozen=True)
class RuleGuard:
    """`name(arguments)`, a check of `guards.py`. Without it there is no match; with `refuses` only no fix,
    with `assumes` a fix that rests on what it says."""

    name: str
    arguments: tuple[Any, ...]  #: names of metavariables, and constants
    place: Place = field(default=Place("", 0), compare=False)
    refuses: bool = False  #: under `refuse unless:`
    assumes: bool = False  #: under `assume unless:`
    negated: bool = False


@dataclass(frozen=True)
class Layer:
    """`layer q: Linear(i, o, bias=b)`: what a layer variable stands for."""

    name: str
    classes: tuple[str, ...]
    arguments: tuple[tuple[str, Expression], ...] = ()


@dataclass(frozen=True)
class Pattern:
    """One way in which the computation is written: layers, and the results with their terms."""

    roots: tuple[tuple[str, Expression], ...]  #: (name of the result, or "", and its term), in order
    layers: tuple[Layer, ...] = ()
    through: frozenset[str] = frozenset()  #: operations that are looked through where the pattern does not name them


@dataclass(frozen=True)
class KernelRule:
    """Everything that a rule file says."""

    name: str  #: in words with hyphens
    code: str  #: STR7xx
    family: str
    title: str
    text: str  #: its documentation
    patterns: tuple[Pattern, ...]
    guards: tuple[RuleGuard, ...] = ()
    use: tuple[tuple[tuple[str, ...], str], ...] = ()
    strop_use: tuple[tuple[tuple[str, ...], str], ...] = ()  #: with Strop's own kernels, where they are allowed
    define: tuple[tuple[str, str, str], ...] = ()
    state: tuple[tuple[str, ...], ...] = ()
    imports: tuple[str, ...] = ()
    safety: Safety = "exact"
    tolerance: float = 0.0  #: largest relative difference, for `close`
    requires: tuple[str, ...] = ()  #: `torch>=2.4`, `cuda`, `strop.kernels`
    targets: tuple[Target, ...] = ("cpu", "cuda")
    gain: float | None = None  #: how many times faster on the CPU, forward and backward
    strop_gain: float | None = None  #: the same with Strop's own kernels
    default: bool = True  #: reported without being asked for
    message: str = ""  #: the finding's text; `$x` is replaced by the source of `x`
    order: int = 100  #: of overlapping matches the smaller order wins, then the larger match, then the name
    file: str = ""

    def allowed(self, strop: bool) -> KernelRule | None:
        """The rule as it is offered where an import of Strop in the edited program is allowed, or not."""
        if strop and self.strop_use:
            return replace(self, use=self.strop_use, gain=self.strop_gain or self.gain)
        if not strop and (self.needs_strop or any("strop." in template for _, template in self.use)):
            return None
        return self

    @property
    def needs_strop(self) -> bool:
        """Strop's own kernels are all that it offers."""
        return not self.use and (bool(self.strop_use) or "strop.kernels" in self.requires)
