"""From an FX graph of ATen operators to our own graph: the one normaliser behind every front door.

Each operator goes through its rule (`aten/*.py`). Where there is none, its decomposition is traced and converted in
turn, provided that it reaches the operator set; what is left becomes a library node with the reason on record.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    FakeTensorMode,
    unset_fake_temporarily,
)
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from strop.core.dtypes import NATIVE, STORED
from strop.core.problem import Problem
from strop.frontend.torch import inplace, library_nodes
from strop.frontend.torch.aten import (  # noqa: F401  (importing a family registers its rules)
    activations,
    byte_products,
    contractions,
    creation,
    indexing,
    losses,
    nn,
    pointwise,
    recurrences,
    reductions,
    sort,
    transformer,
    trees,
    views,
    window_gradients,
    windows,
)
from strop.frontend.torch.bind_shapes import bind_shapes, needs_shapes
from strop.frontend.torch.builder import Builder, OperatorCall
from strop.frontend.torch.canonical import unfold_batches
from strop.frontend.torch.data_dependent import DATA_DEPENDENT, depends_on_data
from strop.frontend.torch.dtypes import DTYPES, type_of, types_of
from strop.frontend.torch.origin import lines_of_torch, origin_of
from strop.frontend.torch.random_operators import is_random
from strop.frontend.torch.registry import Unfit, Whole, rule_for
from strop.frontend.torch.widen_int8 import widened
from strop.graph.ir import NOWHERE, Graph, Node, Type

#: a lifted tensor with more elements is a param of its own
LARGEST_CONSTANT = 4096
_CHECKS = ("aten._assert_async.", "aten._assert_scalar.", "aten._assert_tensor_metadata.", "aten.sym_constrain_range")


@dataclass(frozen=True)
class GraphOutput:
    """An output that is the graph's `index`-th."""

    index: int


@dataclass(frozen=True)
class PlainOutput:
    """An output that is no tensor: a number, a string, None."""

    value: Any


@dataclass(frozen=True)
class Conversion:
    """A converted program, and what its graph does not say."""

    graph: Graph  # its outputs are those of the FX graph, then one that nobody wants where random numbers must be drawn
    inputs: tuple[str, ...]  # the placeholders of graph.inputs, in order
    outputs: tuple[GraphOutput | PlainOutput, ...]  # one for each output of the FX graph that is not a mutation
    constants: Mapping[str, torch.Tensor]  # lifted tensors too large for a `constant`: the key of their param → value
    fallbacks: Mapping[str, str]  # library node → why it is one
    traced: Graph  # the graph in torch's spelling of contractions, one value for one of FX
    values: Mapping[str, Any]  # the values of FX nodes in it, by the names of these
    drawn: frozenset[str]  # the nodes that draw random numbers, and results of operators that do so among other things


def from_fx(
    module: torch.fx.GraphModule,
    example_values: Sequence[Any] | None = None,
    *,
    params: Mapping[str, str] | None = None,
    constants: Mapping[str, torch.Tensor] | None = None,
    mutations: Mapping[int, str] | None = None,
) -> Conversion:
    """Convert a functional FX graph.

    `example_values` has one value per placeholder (a tensor, real or fake, or a number); with it shapes are computed
    afresh, which binds symbolic sizes. `params` names the placeholders that are parameters or buffers and gives their
    keys; `constants` those that are tensors known now; `mutations` says which outputs are the new values of which
    placeholders (`copy_` into a placeholder is understood without it).
    """
    if example_values is not None or needs_shapes(module):
        bind_shapes(module, example_values)
    converter = _Converter(params or {}, constants or {}, mutations or {})
    try:
        return converter.program(module)
    except DATA_DEPENDENT as error:
        raise depends_on_data(error, converter.b.origin) from error


def trace(function: Callable[..., Any], *examples: torch.Tensor) -> Graph:
    """The graph of a function of tensors."""
    return convert(function, *examples).graph


def convert(function: Callable[..., Any], *examples: torch.Tensor) -> Conversion:
    """As `trace`, with everything else that conversion knows."""
    try:
        traced = library_nodes.functional_trace(function, examples)
    except DATA_DEPENDENT as error:
        raise depends_on_data(error, NOWHERE) from error
    return from_fx(traced)


class _Converter:
    def __init__(
        self, params: Mapping[str, str], constants: Mapping[str, torch.Tensor], mutations: Mapping[int, str]
    ) -> None:
        self.b = Builder(self.mask)
        self.params = params
        self.constants = constants
        self.mutated_outputs = mutations
        self.kept: dict[str, torch.Tensor] = {}
        self.kept_params: list[Node] = []
        self.fallbacks: dict[str, str] = {}
        self.mutations: dict[Node, Node] = {}
        self.leaves: dict[torch.fx.Node, Any] = {}
        self.last_random: Node | None = None
        self.drawn: set[str] = set()
        self.values: dict[str, Any] = {}
        self.fake = FakeTensorMode(allow_non_fake_inputs=True)
        self.traced: dict[str, torch.fx.GraphModule | None] = {}

    def program(self, module: torch.fx.GraphModule) -> Conversion:
        inputs: list[Node] = []
        params: list[Node] = []
        names: list[str] = []
        for node in module.graph.nodes:
            if node.op != "placeholder":
                continue
            value = node.meta.get("val")
            leaf: Any = value
            if node.name in self.constants:
                leaf = self.constant(self.constants[node.name], node.name)
            elif node.name in self.params:
                key = self.params[node.name]
                leaf = self.b.leaf("param", type_of(value), key, key=key)
                params.append(leaf)
            elif isinstance(value, torch.Tensor):
                leaf = self.b.leaf("input", type_of(value), str(node.target), index=len(inputs))
                inputs.append(leaf)
                names.append(node.name)
            self.leaves[node] = leaf
        results = self.run(module, list(self.leaves.values()))
        by_name = {node.name: leaf for node, leaf in self.leaves.items()}
        outputs: list[Node] = []
        slots: list[GraphOutput | PlainOutput] = []
        for position, result in enumerate(tree_flatten(results)[0]):
            if position in self.mutated_outputs:
                self.mutations[by_name[self.mutated_outputs[position]]] = result
            elif isinstance(result, Node):
                slots.append(GraphOutput(len(outputs)))
                outputs.append(result)
            else:
                slots.append(PlainOutput(result))
        mutations = tuple((target, value) for target, value in self.mutations.items() if target is not value)
        graph = Graph(tuple(inputs), (*params, *self.kept_params), tuple(outputs), mutations)
        if self.last_random is not None and self.last_random not in graph.nodes:
            graph = replace(graph, outputs=(*outputs, self.last_random))  # it moves the generator on
        traced = graph
        graph = unfold_batches(graph)
        graph = replace(graph, params=tuple(p for p in graph.params if _is_needed(p, graph)))
        reached = {node.name for node in graph.nodes}
        fallbacks = {name: why for name, why in self.fallbacks.items() if name in reached}
        drawn = frozenset(self.drawn)
        return Conversion(graph, tuple(names), tuple(slots), self.kept, fallbacks, traced, self.values, drawn)

    def run(self, module: torch.fx.GraphModule, arguments: Sequence[Any], inner: bool = False) -> Any:
        """Convert every node of one FX graph; `inner` graphs keep the origin of the call that they expand."""
        values: dict[torch.fx.Node, Any] = {}
        supplied = iter(arguments)
        for node in module.graph.nodes:
            if node.op == "placeholder":
                values[node] = next(supplied)
            elif node.op == "get_attr":
                values[node] = self.attribute(module, str(node.target))
            elif node.op == "output":
                if not inner:
                    self.values = {key.name: value for key, value in values.items()}
                return tree_map(lambda v: values[inplace.owner(v)] if isinstance(v, torch.fx.Node) else v, node.args[0])
            else:
                if not inner:
                    self.b.origin, self.b.lines = origin_of(node), lines_of_torch(node)
                values[inplace.owner(node)] = self.operation(node, values)
        raise Problem("STR107", "an FX graph without an output", help="please report this")

    def attribute(self, module: torch.fx.GraphModule, path: str) -> Any:
        found: Any = module
        for part in path.split("."):
            found = getattr(found, part)
        return self.constant(found, path) if isinstance(found, torch.Tensor) else found

    def constant(self, tensor: torch.Tensor, name: str) -> Node:
        """A tensor known now: one number, a list of numbers, or a param of which the value is kept.

        A Dynamo backend is called under a fake mode, in which no value of a real tensor can be read.
        """
        with unset_fake_temporarily():
            return self.known(tensor.detach())

    def known(self, tensor: torch.Tensor) -> Node:
        kind = type_of(tensor)
        if kind.dtype in STORED and kind.size == 1:
            return self.b.full(tensor.item(), kind.dtype, kind.shape)
        if kind.dtype in STORED and kind.size <= LARGEST_CONSTANT:
            return self.b.node("constant", (), kind, values=tuple(tensor.flatten().tolist()))
        for key, kept in self.kept.items():
            if kept is tensor or (kept.data_ptr() == tensor.data_ptr() and kept.shape == tensor.shape):
                return next(p for p in self.kept_params if p.attrs["key"] == key)
        key = f"constant.{len(self.kept)}"
        self.kept[key] = tensor
        self.kept_params.append(self.b.leaf("param", kind, key, key=key))
        return self.kept_params[-1]

    def operation(self, node: torch.fx.Node, values: Mapping[torch.fx.Node, Any]) -> Any:
        def known(v: Any) -> Any:
            return values[inplace.owner(v)] if isinstance(v, torch.fx.Node) else v

        args = tree_map(known, node.args)
        kwargs = tree_map(known, node.kwargs)
        target = node.target
        result = node.meta.get("val")
        if target is operator.getitem:
            return args[0][args[1]]
        if isinstance(target, torch._ops.HigherOrderOperator):
            return self.region(target, args)
        if not isinstance(target, torch._ops.OpOverload):
            return self.number(node, args, kwargs)
        name = str(target)
        if name.startswith(_CHECKS):
            return None
        if isinstance(result, (int, float, bool)):
            return result
        if isinstance(result, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            raise Problem("STR106", f"`{name}` makes a number that depends on data", where=self.b.origin,
                          help="keep it a tensor, or compile with partial=True")  # fmt: skip
        written = inplace.owner(node) if target._schema.is_mutable else node
        if target._schema.is_mutable:
            twin = inplace.functional_twin(target)
            if twin is None or not inplace.is_fresh(written):
                raise Problem("STR107", f"`{name}` writes to its argument in a way that capture can't follow",
                              where=self.b.origin, help="compile with partial=True")  # fmt: skip
            target = twin
        fakes = tuple(a.meta.get("val") if isinstance(a, torch.fx.Node) else None for a in node.args)
        before = self.last_random
        made = self.call(target, args, kwargs, result, _used(node), fakes)
        if self.last_random is not before:
            self.drawn.update(leaf.name for leaf in tree_flatten(made)[0] if isinstance(leaf, Node))
        if written is not node and written.op == "placeholder":
            self.mutations[self.leaves[written]] = made
        return made

    def number(self, node: torch.fx.Node, args: Any, kwargs: Any) -> Any:
        """Python arithmetic on sizes."""
        leaves = tree_flatten((args, kwargs))[0]
        if callable(node.target) and all(isinstance(v, (int, float, bool)) for v in leaves):
            return node.target(*args, **kwargs)
        raise Problem("STR107", f"`{node.target}` is no tensor operator that capture knows", where=self.b.origin,
                      help="compile with partial=True")  # fmt: skip

    def region(self, target: Any, args: Sequence[Any]) -> Any:
        """`with torch.no_grad():` and a disabled autocast hold a graph of their own that means what it says."""
        name = target.name()
        if name == "wrap_with_set_grad_enabled":
            return self.run(args[1], args[2:], inner=True)
        if name == "wrap_with_autocast" and not args[2]:
            return self.run(args[4], args[5:], inner=True)
        raise Problem("STR107", f"`{name}` can't be compiled", where=self.b.origin, help="compile with partial=True")

    def call(
        self, target: torch._ops.OpOverload, args: Any, kwargs: Any, result: Any, used: frozenset[int],
        fakes: tuple[Any, ...] = (),
    ) -> Any:  # fmt: skip
        """One operator: through its rule, else taken apart, else as a library node."""
        types = types_of(tree_flatten(result)[0], self.b.origin)
        reason = "neither it nor its parts are in the operator set"
        with self.b.converting(OperatorCall(str(target), types, used, fakes)):
            foreign = self.foreign(args, kwargs, types)
            if foreign:
                made = self.narrow(target, args, kwargs, result)
                why = f"{foreign} has no native code"
                return self.library(target, args, kwargs, result, types, why) if made is None else made
            try:
                made = self.ruled(target, args, kwargs, result)
                if made is not None:
                    return made
            except Whole as whole:
                return self.library(target, args, kwargs, result, types, str(whole))
            except Unfit as unfit:
                reason = str(unfit)
            apart = self.apart(target, args, kwargs)
            if apart is not None:
                return apart
            return self.library(target, args, kwargs, result, types, reason)

    def narrow(self, target: torch._ops.OpOverload, args: Any, kwargs: Any, result: Any) -> Any:
        """An operator on dtypes that generated code does not compute with: bytes that are moved, or widened and cut
        again; the very argument that it returns (`contiguous`, a cast to its own dtype); or None. Rules are not made
        for such dtypes, so they may stumble."""
        names, self.b.made = dict(self.b._names), []
        try:
            made = self.ruled(target, args, kwargs, result)
            return made if made is None or _is_argument(made, args) else widened(self.b, made, self.b.made)
        except (Unfit, Problem, TypeError, ValueError):
            self.b._names = names
            return None
        finally:
            self.b.made = None

    def foreign(self, args: Any, kwargs: Any, types: Sequence[Type]) -> str:
        """A dtype in or out that generated code does not compute with, or ''."""
        nodes = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, Node)]
        return next((t.dtype for t in (*(n.type for n in nodes), *types) if t.dtype not in NATIVE), "")

    def ruled(self, target: torch._ops.OpOverload, args: Any, kwargs: Any, result: Any) -> Any:
        rule = rule_for(str(target))
        if rule is None:
            return None
        made: Any = rule(self.b, *_bound(target, args, kwargs))
        wanted = tree_flatten(result)[0]
        given = list(made) if isinstance(made, tuple) else [made]
        if not isinstance(result, (tuple, list)):
            given = given[:1]
            made = given[0]
        for position, (node, value) in enumerate(zip(given, wanted)):
            needed = not isinstance(result, (tuple, list)) or position in self.b.call.used
            if needed and node.type != type_of(value):
                raise Problem("STR201", f"{target}: the rule gives {node.type}, torch says {type_of(value)}",
                              where=self.b.origin, help="please report this")  # fmt: skip
        return made

    def apart(self, target: torch._ops.OpOverload, args: Any, kwargs: Any) -> Any:
        """The operator's decomposition, converted; None if there is none or it does not reach the operator set."""
        inputs: list[Node] = []
        arguments = library_nodes.template((args, tuple(kwargs.items())), inputs)
        used = self.b.call.used
        key = repr((str(target), arguments, [n.type for n in inputs], sorted(used)))
        if key not in self.traced:
            with self.fake:
                fakes = tree_map(self.stand_in, (args, kwargs))
            self.traced[key] = library_nodes.take_apart(target, fakes[0], fakes[1], used)
        traced = self.traced[key]
        if traced is None:
            return None
        names, fallbacks, random = dict(self.b._names), dict(self.fallbacks), self.last_random
        try:
            made = self.run(traced, inputs, inner=True)
            if len(self.fallbacks) == len(fallbacks) or library_nodes.is_composite(target):
                return made
        except Problem as problem:
            if problem.code == "STR012":  # an extension failed, and is to be mended
                raise
            # the parts can't be compiled; the operator as a whole still can be called
        self.b._names, self.fallbacks, self.last_random = names, fallbacks, random
        return None

    def stand_in(self, value: Any) -> Any:
        return torch.empty(value.shape, dtype=DTYPES[value.dtype]) if isinstance(value, Node) else value

    def strides(self, inputs: Sequence[Node]) -> tuple[tuple[int, ...], ...]:
        """How eager mode lays out the arguments of the operator that is being converted."""
        fakes = [value for value in self.b.call.values if isinstance(value, torch.Tensor)]
        if len(fakes) != len(inputs):  # some are keywords, which no random operator of torch has
            fakes = [torch.empty(node.shape, device="meta") for node in inputs]
        return tuple(tuple(fake.stride()) for fake in fakes)

    def mask(self, p: float) -> Node:
        """`empty_like(x, dtype=bool).bernoulli_(p)` of the argument x of the operator that is being converted."""
        with self.fake:
            drawn = torch.empty_like(self.b.call.values[0], dtype=torch.bool)
        args = self.b.full(False, "bool", tuple(drawn.shape)), p
        made: Node = self.call(torch.ops.aten.bernoulli.p, args, {}, drawn, frozenset((0,)), (drawn,))
        return made

    def _fills_its_storage(self, target: torch._ops.OpOverload) -> None:
        """Elements by their place in storage are those of a tensor laid out alike, if that has nothing else in it."""
        value = self.b.call.values[0]
        if value.storage_offset() or value.untyped_storage().nbytes() != value.numel() * value.element_size():
            raise Problem("STR107", f"`{target}` of a tensor that does not fill its storage", where=self.b.origin,
                          help="index the tensor instead, or compile with partial=True")  # fmt: skip

    def library(
        self, target: torch._ops.OpOverload, args: Any, kwargs: Any, result: Any, types: tuple[Type, ...], reason: str
    ) -> Any:
        inputs: list[Node] = []
        positional = library_nodes.template(tuple(args), inputs)
        keywords = tuple((name, library_nodes.template(value, inputs)) for name, value in sorted(kwargs.items()))
        leaves, spec = tree_flatten(result)
        if str(target).startswith(library_nodes.HIDDEN):
            raise Problem("STR107", f"`{target}` makes a tensor whose size torch does not tell", where=self.b.origin,
                          help="a recurrent network trains in eager mode")  # fmt: skip
        if not types or any(leaf is not None and not isinstance(leaf, torch.Tensor) for leaf in leaves):
            raise Problem("STR107", f"`{target}` yields something that is no tensor", where=self.b.origin,
                          help="compile with partial=True")  # fmt: skip
        random = is_random(target)
        by_place = str(target).startswith(library_nodes.BY_PLACE)
        if by_place:
            self._fills_its_storage(target)
        layout = {"strides": self.strides(inputs)} if inputs and (random or by_place) else {}
        if random and self.last_random is not None:
            inputs.append(self.last_random)
        node = self.b.node(
            "aten", inputs, *types, target=str(target), args=positional, kwargs=keywords, why=reason, **layout
        )
        self.fallbacks[node.name] = f"{target}: {reason}"
        if len(types) == 1:
            items = iter((node,))
        else:
            items = iter([self.b.node("item", (node,), type, index=i) for i, type in enumerate(types)])
        made = [None if leaf is None else next(items) for leaf in leaves]
        if random:
            self.drawn.add(node.name)
            self.last_random = next(leaf for leaf in made if leaf is not None)
        return tree_unflatten(made, spec)


def _is_needed(param: Node, graph: Graph) -> bool:
    """Networks hold buffers that inference never reads."""
    return bool(graph.users[param]) or param in graph.roots or any(param is target for target, _ in graph.mutations)


def _bound(target: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """Every argument of the schema in order, defaults filled in."""
    values = []
    for position, argument in enumerate(target._schema.arguments):
        if position < len(args):
            values.append(args[position])
        else:
            values.append(kwargs.get(argument.name, argument.default_value))
    return values


def _used(node: torch.fx.Node) -> frozenset[int]:
    """Which of an operator's results anybody looks at."""
    if any(user.target is not operator.getitem for user in node.users):
        value = node.meta.get("val")
        return frozenset(range(len(value) if isinstance(value, (tuple, list)) else 1))
    return frozenset(int(user.args[1]) for user in node.users if user.users)  # type: ignore[arg-type]


def _is_argument(made: Any, args: Any) -> bool:
    arguments = [leaf for leaf in tree_flatten(args)[0] if isinstance(leaf, Node)]
    return isinstance(made, Node) and any(made is argument for argument in arguments)
