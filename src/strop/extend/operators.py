"""Operators of extensions: their types, their meaning, their nests, and which torch operators lead to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from strop.codegen.math.functions import FUNCTIONS
from strop.core.extensions import Extension, Undo, described, put, refused, registry
from strop.core.passes import Verdict
from strop.core.problem import Problem
from strop.frontend.torch.builder import Builder
from strop.frontend.torch.library_nodes import resolve
from strop.frontend.torch.registry import Result, Unfit, add_rule, rule_for
from strop.frontend.torch.registry import Rule as Conversion
from strop.graph.infer import INFERENCES, Given
from strop.graph.ir import Node, Type
from strop.graph.operators import ADDED, ALL
from strop.loops.index import Index
from strop.loops.ir import Apply, Buffer, Expr, Nest, loads
from strop.loops.lower import CHECKS, LOWERINGS, Context, load_families
from strop.loops.verify import verify
from strop.runtime.meanings import MEANINGS

_TARGET = re.compile(r"(\w+)::(\w+)(?:\.(\w+))?")
_FUNCTIONS = frozenset((*FUNCTIONS, "where", "cast"))


def operator(
    name: str,
    *,
    infer: Callable[..., Type | tuple[Type, ...]],
    reference: Callable[..., Any],
    lower: Callable[[Context], Nest | Sequence[Nest]] | None = None,
    check: Callable[[Node], Verdict] | None = None,
    torch: str = "",
    convert: Callable[..., tuple[Sequence[Node], Mapping[str, Any]]] | None = None,
    computes: str = "",
    version: str = "",
) -> None:
    """An operator of the graph. Its result depends on its inputs and attributes alone.

    `infer(*types, **attributes)` tells the type of its result, or a tuple of them; it raises a ValueError where these
    do not fit. `reference(*tensors, **attributes)` is its meaning in torch, which runs where generated code does not
    compute: without `lower`, for dtypes that it has not, and where `check(node)` answers no. `lower(context)` returns
    the nests that compute it, in the plainest form; schedules are Strop's business.

    `torch` names the operator of a library of torch's dispatcher that becomes this one, `mylib::op`. Its tensors are
    the inputs and its other arguments attributes under their names, unless `convert(*arguments)`, which gets all
    arguments in the order of the schema, tensors as nodes, returns others; `raise extend.Unfit(reason)` in it leaves
    the call to torch.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise refused("operator", str(name), "its name has to be an identifier")
    parts = [infer, reference, *(part for part in (lower, check, convert) if part is not None)]
    strange = [part for part in parts if not callable(part)]
    if strange:
        raise refused("operator", name, f"{strange[0]!r:.60} is not a function")
    targets = [_target(name, torch)] if torch else []
    made = _Added(described("operator", name, (*parts, *targets), version), infer, reference, lower, check, convert)

    def install() -> Undo:
        undos = [put(ADDED, name, computes), put(INFERENCES, name, made.inferred), put(MEANINGS, name, made.meaning)]
        if lower is not None:
            undos.append(put(LOWERINGS, name, made.lowered))
        if check is not None:
            undos.append(put(CHECKS, name, made.checked))
        undos += [add_rule(target, made.conversion(target)) for target in targets]
        return lambda: [undo() for undo in undos]

    def taken() -> str:
        if name in ALL or name in LOWERINGS:
            return "Strop"
        return next((f"a rule for `{target}`" for target in targets if rule_for(target) is not None), "")

    load_families()  # whose names are taken
    registry.add(made.extension, install, taken)


def _target(name: str, torch: str) -> str:
    """`mylib::op` as capture names it: `mylib.op.default`."""
    found = _TARGET.fullmatch(torch)
    if not found:
        raise refused("operator", name, f"`{torch}` does not name a torch operator", help='write "mylib::op"')
    library, op, overload = found.groups()
    return f"{library}.{op}.{overload or 'default'}"


@dataclass(frozen=True)
class _Added:
    """An operator's functions, with what they answer checked."""

    extension: Extension
    infer: Callable[..., Any]
    reference: Callable[..., Any]
    lower: Callable[[Context], Any] | None
    check: Callable[[Node], Any] | None
    convert: Callable[..., Any] | None

    def inferred(self, inputs: Sequence[Node], attrs: Mapping[str, Any], given: Given) -> tuple[Type, ...]:
        with self.extension.blamed(allowed=(ValueError,)):
            found = self.infer(*(node.type for node in inputs), **attrs)
        types = found if isinstance(found, tuple) else (found,)
        if not types or not all(isinstance(one, Type) for one in types):
            raise self.extension.problem(f"answered {found!r:.60}: `infer` returns a Type, or a tuple of them")
        return types

    def meaning(self, node: Node, *inputs: Any, **attrs: Any) -> Any:
        with self.extension.blamed():
            result = self.reference(*inputs, **attrs)
        results = result if isinstance(result, tuple) else (result,)
        if len(results) != len(node.types) or not all(hasattr(one, "dtype") for one in results):
            raise self.extension.problem(f"returned {result!r:.60}: `reference` returns {len(node.types)} tensors")
        return result

    def checked(self, node: Node) -> Verdict:
        assert self.check is not None
        with self.extension.blamed():
            verdict = self.check(node)
        if not isinstance(verdict, Verdict):
            raise self.extension.problem(f"answered {verdict!r:.60}: `check` returns `yes()` or `no(reason)`")
        return verdict

    # ---- nests -------------------------------------------------------------------------------------------------------

    def lowered(self, context: Context) -> Sequence[Nest]:
        assert self.lower is not None
        seen: set[Buffer] = set()
        watched = replace(context, reads=[_watched(read, seen) for read in context.reads])
        with self.extension.blamed():
            found = self.lower(watched)
            nests = (found,) if isinstance(found, Nest) else tuple(found)
        strange = next((one for one in nests if not isinstance(one, Nest)), None)
        if strange is not None:
            raise self.extension.problem(f"returned {strange!r:.60}: `lower` returns nests")
        with self.extension.blamed():
            fault = next(self._faults(nests, watched, seen), None)
        if fault is not None:
            raise self.extension.problem(f"was lowered wrongly for %{context.node.name}: {fault}")
        return nests

    def _faults(self, nests: Sequence[Nest], context: Context, inputs: set[Buffer]) -> Iterator[str]:
        own = {*context.outs, *context.extra}
        known = own | inputs | set(context.constants)
        for nest in nests:
            wrong = next((b for b in nest.writes if b not in own), None)
            if wrong is not None:
                yield f"`{nest.name}` writes {wrong}; it may write {', '.join(map(str, own))}"
            wrong = next((b for b in nest.reads if b not in known), None)
            if wrong is not None:
                yield f"`{nest.name}` reads {wrong}, which is none of its inputs; `context.read` reads these"
            unknown = next((op for store in nest.stores for op in _applied(store.value) if op not in _FUNCTIONS), None)
            if unknown is not None:
                yield f"`{nest.name}` applies `{unknown}`, which generated code does not compute"
        written = {buffer for nest in nests for buffer in nest.writes}
        missing = next((out for out in context.outs if out not in written and out.size), None)
        if missing is not None:
            yield f"nothing writes {missing}"
        try:
            verify(nests, str(self.extension), inputs)
        except Problem as problem:
            yield problem.message

    # ---- from torch --------------------------------------------------------------------------------------------------

    def conversion(self, target: str) -> Conversion:
        """The rule by which capture makes a node of a torch operator's call."""

        def converted(b: Builder, *arguments: Any) -> Result:
            with self.extension.blamed(allowed=(Unfit,)):
                found = _split(target, arguments) if self.convert is None else self.convert(*arguments)
                inputs, attrs = tuple(found[0]), {key: _plain(value) for key, value in found[1].items()}
                types = self.inferred(inputs, attrs, None)
            if types != b.call.types:
                ours, theirs = (", ".join(map(str, one)) for one in (types, b.call.types))
                raise self.extension.problem(f"has the type {ours}; torch says that `{target}` yields {theirs}")
            node = b.node(self.extension.name, inputs, *types, **attrs)
            if len(types) == 1:
                return node
            return tuple(b.node("item", (node,), type_, index=i) for i, type_ in enumerate(types))

        return converted


def _watched(read: Callable[..., Expr], seen: set[Buffer]) -> Callable[..., Expr]:
    def watched(*index: Index) -> Expr:
        value = read(*index)
        seen.update(load.buffer for load in loads(value))
        return value

    return watched


def _applied(value: Expr) -> Iterator[str]:
    if isinstance(value, Apply):
        yield value.op
        for argument in value.args:
            yield from _applied(argument)


def _split(target: str, arguments: Sequence[Any]) -> tuple[list[Node], dict[str, Any]]:
    """Tensors as inputs, everything else as attributes under the names of the schema."""
    schema: Any = resolve(target)._schema  # type: ignore[attr-defined]
    inputs: list[Node] = []
    attrs: dict[str, Any] = {}
    for formal, value in zip(schema.arguments, arguments):
        if isinstance(value, Node):
            inputs.append(value)
        elif "Tensor" in str(formal.type):
            raise TypeError(f"`{formal.name}` of `{target}` is no single tensor: give `convert`")
        else:
            attrs[formal.name] = value
    return inputs, attrs


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"an attribute holds numbers, texts, tuples and None, not {type(value).__name__}")
