"""An ONNX graph made ready to be interpreted: operators found, attributes read, steps in order, nothing undefined."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto

from strop.core.problem import Problem
from strop.frontend.onnx.element_types import CARRIERS
from strop.frontend.onnx.file import dense, place_of, subgraphs, tensor_of
from strop.frontend.onnx.node_types import Typing, schema_of, typing_of
from strop.frontend.onnx.ops import OLDEST, REQUIRED, OnnxOperator, find

_DOMAINS = {"ai.onnx": ""}
#: attributes that name the element type of a result
_TYPED_BY = ("to", "dtype", "output_dtype", "output_datatype")
#: functions inside functions, and calls of them
DEEPEST = 16
#: nodes of a model, counted where they are used
MOST_STEPS = 100_000


@dataclass(frozen=True)
class OnnxStep:
    """One node."""

    place: str  # for messages
    path: str  # for people who look at the compiled program
    op: str
    opset: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]  # graphs as `OnnxProgram`s
    operator: OnnxOperator | None  # one of these two, or the file was refused
    function: OnnxProgram | None
    captured: tuple[str, ...]  # what the graphs among the attributes read from outside
    typing: Typing
    dead: list[str] = field(default_factory=list)  # values that nobody reads afterwards


@dataclass(frozen=True)
class OnnxProgram:
    """A graph or a function: steps in an order in which every value is made before it is read."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    steps: tuple[OnnxStep, ...]
    constants: Mapping[str, Any]
    captured: tuple[str, ...]
    output_types: tuple[int, ...] = ()
    constant_types: Mapping[str, int] = field(default_factory=dict)


class Reader:
    """Reads the graphs of one model."""

    def __init__(self, model: ModelProto, folder: Path | None) -> None:
        self.folder = folder
        self.opsets = _opsets(model.opset_import)
        self.functions = {(_DOMAINS.get(f.domain, f.domain), f.name, f.overload): f for f in model.functions}
        self.depth = 0
        self.steps = 0
        self.made: dict[tuple[Any, ...], tuple[OnnxProgram, int]] = {}  # functions, with the nodes that each comes to

    def graph(self, graph: GraphProto, outer: frozenset[str] = frozenset(), opsets: Mapping[str, int] | None = None,
              given: Mapping[str, AttributeProto] | None = None) -> OnnxProgram:  # fmt: skip
        """A graph; `outer` are the names that it may read from around it."""
        inputs = tuple(value.name for value in graph.input)
        constants, types = self._constants(graph)
        types.update((v.name, kind) for v in graph.input if (kind := element_type_of(v.type)) in CARRIERS)
        nodes = []
        for node in graph.node:
            stored = _stored(node)
            name = node.output[0] if stored is not None else ""
            if stored is None or name in constants or name in inputs:
                nodes.append(node)
            else:
                constants[name], types[name] = tensor_of(stored, self.folder), stored.data_type
        return self._program(
            graph.name, inputs, tuple(value.name for value in graph.output), nodes, constants, types, outer,
            opsets or self.opsets, given or {}, tuple(element_type_of(value.type) for value in graph.output),
        )  # fmt: skip

    def function(self, function: FunctionProto, node: NodeProto) -> OnnxProgram:
        """A function's body as this node calls it."""
        if self.depth >= DEEPEST:
            raise Problem("STR121", f"functions call one another more than {DEEPEST} deep", where=place_of(node))
        given = {attribute.name: attribute for attribute in function.attribute_proto}
        given.update({attribute.name: attribute for attribute in node.attribute})
        key = (id(function), *sorted(attribute.SerializeToString() for attribute in given.values()))
        if key in self.made:
            program, size = self.made[key]
            self.steps += size
            return program
        self.depth += 1
        before = self.steps
        try:
            opsets = {**self.opsets, **_opsets(function.opset_import)}
            program = self._program(
                function.name, tuple(function.input), tuple(function.output), function.node, {}, {}, frozenset(),
                opsets, given,
            )  # fmt: skip
        finally:
            self.depth -= 1
        self.made[key] = program, self.steps - before
        return program

    def _constants(self, graph: GraphProto) -> tuple[dict[str, Any], dict[str, int]]:
        constants: dict[str, Any] = {}
        types: dict[str, int] = {}
        for proto in graph.initializer:
            constants[proto.name] = tensor_of(proto, self.folder)
            types[proto.name] = proto.data_type
        for sparse in graph.sparse_initializer:
            constants[sparse.values.name] = dense(sparse, self.folder)
            types[sparse.values.name] = sparse.values.data_type
        return constants, types

    def _program(
        self, name: str, inputs: tuple[str, ...], outputs: tuple[str, ...], nodes: Sequence[NodeProto],
        constants: dict[str, Any], types: dict[str, int], outer: frozenset[str], opsets: Mapping[str, int],
        given: Mapping[str, AttributeProto], output_types: tuple[int, ...] = (),
    ) -> OnnxProgram:  # fmt: skip
        nodes = _ordered(nodes, {*inputs, *constants, *outer}, outputs)
        steps = []
        visible = {*inputs, *constants, *outer}
        around = outer - {*inputs, *constants}
        captured: dict[str, None] = {}
        for index, node in enumerate(nodes):
            step = self._step(node, index, visible, opsets, given)
            captured.update(dict.fromkeys(n for n in (*step.inputs, *step.captured) if n in around))
            visible.update(n for n in step.outputs if n)
            steps.append(step)
        missing = next((n for n in outputs if n not in visible), None)
        if missing is not None:
            raise Problem("STR121", f"nothing makes the output `{missing}`", where=f"graph `{name}`")
        captured.update(dict.fromkeys(n for n in outputs if n in around))
        _mark_dead(steps, {*inputs, *(n for s in steps for n in s.outputs)}, outputs)
        return OnnxProgram(name, inputs, outputs, tuple(steps), constants, tuple(captured), output_types, types)

    def _step(self, node: NodeProto, index: int, visible: set[str], opsets: Mapping[str, int],
              given: Mapping[str, AttributeProto]) -> OnnxStep:  # fmt: skip
        domain = _DOMAINS.get(node.domain, node.domain)
        place = place_of(node)
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Problem("STR121", f"the model has more than {MOST_STEPS} nodes, functions written out", where=place)
        attributes, programs = self._attributes(node, visible, opsets, given)
        captured = tuple(dict.fromkeys(name for program in programs for name in program.captured))
        local = self.functions.get((domain, node.op_type, node.overload))
        if domain not in opsets and local is None and domain in ("", "ai.onnx.ml"):
            raise Problem("STR121", f"the model does not say which opset of `{domain}` it uses", where=place)
        opset = opsets.get(domain, 1)
        operator, function = None, None
        if local is not None:
            function = self.function(local, node)
        else:
            operator = find(domain, node.op_type, max(opset, OLDEST) if domain == "" else opset)
            if operator is None:
                function = self._defined(node, domain, opset, place)
            else:
                _check_attributes(operator, attributes, place)
        typing = typing_of(domain, node.op_type, opset, _declared(attributes))
        return OnnxStep(
            place=place,
            path=_path(node.name) or f"{node.op_type.lower()}_{index}",
            op=node.op_type,
            opset=opset,
            inputs=tuple(node.input),
            outputs=tuple(node.output),
            attributes=attributes,
            operator=operator,
            function=function,
            captured=captured,
            typing=typing if not programs else typing.given(programs[0].output_types[int(node.op_type == "Loop") :]),
        )

    def _attributes(
        self, node: NodeProto, visible: set[str], opsets: Mapping[str, int], given: Mapping[str, AttributeProto]
    ) -> tuple[dict[str, Any], list[OnnxProgram]]:
        values: dict[str, Any] = {}
        programs: list[OnnxProgram] = []
        for attribute in node.attribute:
            if attribute.ref_attr_name:
                if attribute.ref_attr_name not in given:
                    continue
                attribute = _renamed(given[attribute.ref_attr_name], attribute.name)
            if attribute.type == AttributeProto.GRAPH:
                program = self.graph(attribute.g, frozenset(visible), opsets, given)
                programs.append(program)
                values[attribute.name] = program
            else:
                values[attribute.name] = self._attribute(attribute, place_of(node))
        return values, programs

    def _attribute(self, attribute: AttributeProto, place: str) -> Any:
        if attribute.type == AttributeProto.TENSOR:
            return Stored(tensor_of(attribute.t, self.folder), attribute.t.data_type)
        if attribute.type == AttributeProto.SPARSE_TENSOR:
            return Stored(dense(attribute.sparse_tensor, self.folder), attribute.sparse_tensor.values.data_type)
        try:
            value = onnx.helper.get_attribute_value(attribute)
        except Exception as error:
            raise Problem("STR121", f"the attribute `{attribute.name}` cannot be read: {error}", where=place) from error
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if hasattr(value, "__len__") and not isinstance(value, str):
            return [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in value]
        return value

    def _defined(self, node: NodeProto, domain: str, opset: int, place: str) -> OnnxProgram:
        """ONNX's own definition of an operator in terms of others, where it has one."""
        proto = _definition(domain, node.op_type, opset)
        if proto is None:
            raise Problem("STR123", f"the operator {_full(domain, node.op_type)} of opset {opset} is not covered",
                          where=place, help="docs/onnx.md lists the operators that are")  # fmt: skip
        return self.function(proto, node)


def _stored(node: NodeProto) -> TensorProto | None:
    """The tensor of a Constant node, which is an initialiser by another name."""
    attributes = node.attribute
    if (
        node.op_type != "Constant"
        or node.domain not in ("", "ai.onnx")
        or len(node.output) != 1
        or len(attributes) != 1
    ):
        return None
    plain = attributes[0].name == "value" and attributes[0].type == AttributeProto.TENSOR
    return attributes[0].t if plain and not attributes[0].ref_attr_name and not node.input else None


@dataclass(frozen=True)
class Stored:
    """A tensor attribute and its ONNX element type."""

    value: Any
    element_type: int


def element_type_of(proto: onnx.TypeProto) -> int:
    """The element type of a tensor, of a sequence's tensors, or of what an optional holds."""
    kind = proto.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        return int(getattr(proto, kind).elem_type)
    if kind in ("sequence_type", "optional_type"):
        return element_type_of(getattr(proto, kind).elem_type)
    return 0


def _opsets(imports: Iterable[Any]) -> dict[str, int]:
    return {_DOMAINS.get(entry.domain, entry.domain): int(entry.version) for entry in imports}


def _ordered(nodes: Sequence[NodeProto], known: set[str], outputs: Sequence[str]) -> list[NodeProto]:
    """The nodes in an order in which inputs come first; a Problem for circles, doubles and the undefined."""
    makers: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in node.output:
            if name and (name in makers or name in known):
                raise Problem("STR121", f"`{name}` is made twice", where=place_of(node))
            if name:
                makers[name] = index
    needs = [sorted({makers[n] for n in _reads(node) if n in makers}) for node in nodes]
    for node in nodes:
        unknown = next((n for n in node.input if n and n not in makers and n not in known), None)
        if unknown is not None:
            raise Problem("STR121", f"nothing makes its input `{unknown}`", where=place_of(node))
    if all(need < index for index, node_needs in enumerate(needs) for need in node_needs):
        return list(nodes)
    return _sorted(nodes, needs)


def _sorted(nodes: Sequence[NodeProto], needs: Sequence[Sequence[int]]) -> list[NodeProto]:
    waiting = [len(set(n)) for n in needs]
    users: list[list[int]] = [[] for _ in nodes]
    for index, node_needs in enumerate(needs):
        for need in set(node_needs):
            users[need].append(index)
    ready = [index for index, count in enumerate(waiting) if count == 0]
    order: list[NodeProto] = []
    for index in ready:
        order.append(nodes[index])
        for user in users[index]:
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    if len(order) < len(nodes):
        stuck = next(index for index, count in enumerate(waiting) if count)
        raise Problem("STR121", "it depends on its own result", where=place_of(nodes[stuck]),
                      help="the graph has a circle")  # fmt: skip
    return order


def _reads(node: NodeProto) -> Iterable[str]:
    """Every name that a node or a graph inside it reads from around it; names of the inner graph's own hide others."""
    yield from (name for name in node.input if name)
    for graph in subgraphs(node):
        own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
        own |= {name for inner in graph.node for name in inner.output}
        read = {name for inner in graph.node for name in _reads(inner)} | {value.name for value in graph.output}
        yield from sorted(read - own)


def _mark_dead(steps: Sequence[OnnxStep], own: set[str], outputs: Sequence[str]) -> None:
    last: dict[str, int] = {}
    for index, step in enumerate(steps):
        for name in (*step.inputs, *step.captured, *step.outputs):
            if name in own:
                last[name] = index
    for name, index in last.items():
        if name not in outputs:
            steps[index].dead.append(name)


def _check_attributes(operator: OnnxOperator, attributes: Mapping[str, Any], place: str) -> None:
    unknown = next((name for name in attributes if name not in operator.attributes), None)
    if unknown is not None:
        raise Problem("STR123", f"its attribute `{unknown}` is not covered", where=place,
                      help="docs/onnx.md lists the operators that are")  # fmt: skip
    missing = next((n for n, default in operator.attributes.items() if default is REQUIRED and n not in attributes), "")
    if missing:
        raise Problem("STR121", f"it lacks its attribute `{missing}`", where=place)


def _path(name: str) -> str:
    """`/model/layers.0/MatMul` as a module path; of names that an exporter has joined with `;`, the first."""
    return ".".join(part for part in name.split(";")[0].replace("::", "/").split("/") if part)


def _full(domain: str, op: str) -> str:
    return f"{domain}::{op}" if domain else op


def _renamed(attribute: AttributeProto, name: str) -> AttributeProto:
    copy = AttributeProto()
    copy.CopyFrom(attribute)
    copy.name = name
    return copy


@functools.cache
def _definition(domain: str, op: str, opset: int) -> FunctionProto | None:
    schema = schema_of(domain, op, opset)
    if schema is None or not schema.has_function:
        return None
    proto: FunctionProto = schema.function_body
    return proto


def _declared(attributes: Mapping[str, Any]) -> int:
    """The element type that a node's own attributes tell."""
    value = attributes.get("value")
    if isinstance(value, Stored):
        return value.element_type
    named = next((attributes[name] for name in _TYPED_BY if name in attributes), 0)
    return named if isinstance(named, int) else 0
