"""Extraction: the graph of a function and the attributes of a class, by following statements and helpers.

Both branches of an `if` are followed and what differs afterwards becomes a `phi`; a loop's body is followed once, with
`loop` nodes for what it changes; a helper is followed where it is called, each time anew. Nothing is executed.
"""

from __future__ import annotations

import ast

from strop.source.adopt.architecture import Graph, Model, Node, definitions_of
from strop.source.adopt.build import Arguments, ExtractionFrame, Many, Method, Self, Value
from strop.source.adopt.calls import MAX_DEPTH, MAX_LINES, MAX_NODES
from strop.source.adopt.expressions import said
from strop.source.adopt.names import Constant, Names
from strop.source.adopt.statements import StatementExtraction
from strop.source.project.declarations import Class, Code, Parameter
from strop.source.project.modules import Project

_SCALAR_HINTS = ("float", "int", "bool", "str")
_SCALAR_WORDS = ("scal", "eps", "dropout", "num_", "n_", "dim", "size", "temperature", "alpha", "beta", "softcap")


class Architecture:
    """What is understood of a project: graphs of functions and attributes of classes, made when they are asked for."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.names = Names(project)
        self._tables: dict[Class, dict[str, Value]] = {}
        self._constructors: dict[Class, Graph] = {}
        self._plain: dict[Class, bool] = {}
        self._graphs: list[Graph] = []

    def graph(self, code: Code, cls: Class | None = None) -> Graph:
        """The graph of a function; `cls` says whose method it is, where that is not the class that defines it."""
        owner = cls or code.cls
        if owner is not None and code.short == "__init__" and self.names.method(owner, "__init__") is code:
            self.attributes(owner)
            return self._constructors[owner]
        graph = self._new(code, owner)
        extractor = Extractor(self, graph)
        receiver = Self(owner) if owner is not None and code.receiver() is not None else None
        extractor.run(code, receiver)
        return graph

    def _new(self, code: Code, cls: Class | None) -> Graph:
        graph = Graph(code, cls, self.project)
        self._graphs.append(graph)
        return graph

    def release(self) -> None:
        """Free the memory of all graphs; nothing can be asked of them, nor of their matches, afterwards."""
        for graph in self._graphs:
            graph.release()

    def attributes(self, cls: Class) -> dict[str, Value]:
        """What the constructor leaves in `self`, by name."""
        known = self._tables.get(cls)
        if known is not None:
            return known
        self._tables[cls] = {}  # against circles
        code = self.names.method(cls, "__init__")
        found: dict[str, Value] = {}
        if code is not None:
            self._constructors[cls] = graph = self._new(code, cls)
            extractor = Extractor(self, graph, own=found)
            extractor.run(code, Self(cls), constructing=True)
        self._tables[cls] = found
        return found

    def model(self, cls: Class) -> Model:
        definitions = {}
        for value in self.attributes(cls).values():
            for definition in definitions_of(value):
                definitions[definition.path] = definition
        forward = self.names.method(cls, "forward")
        return Model(cls, definitions, self.graph(forward, cls) if forward is not None else None)

    def is_plain(self, cls: Class) -> bool:
        """A small module without parameters and layers."""
        known = self._plain.get(cls)
        if known is None:
            self._plain[cls] = False
            forward = self.names.method(cls, "forward")
            known = forward is not None and _lines(forward) <= 40
            if known:
                known = not any(
                    isinstance(value, Node) and value.kind in ("layer", "parameter", "phi", "activation")
                    for value in self.attributes(cls).values()
                )
            self._plain[cls] = known
        return known


class Extractor(StatementExtraction):
    """Follows the statements of one function and of what it calls."""

    def __init__(self, architecture: Architecture, graph: Graph, own: dict[str, Value] | None = None) -> None:
        super().__init__(graph)
        self.architecture = architecture
        self.names = architecture.names
        self.own = own if own is not None else {}
        self.constructing = own is not None
        self.read: dict[str, Value] = {}

    def run(self, code: Code, receiver: Self | None, *, constructing: bool = False) -> None:
        self.frame = frame = ExtractionFrame(code, receiver)
        for parameter in code.parameters:
            value = self._parameter(parameter, code, constructing)
            frame.env[parameter.name] = value
            if isinstance(value, Node):
                self.graph.inputs[parameter.name] = value
        name = code.receiver()
        if name is not None and receiver is not None and not code.is_class_method:
            frame.env[name] = receiver
        for name, value in frame.env.items():
            self._record(name, value)
        if isinstance(code.node, ast.stmt):
            frame.statement = code.node
            for decorator in code.decorators:
                if isinstance(decorator, ast.Call):
                    self.evaluate(decorator)
        self.block(code.body)
        for value, statement in frame.returned:
            self._gives(value, statement)

    def _parameter(self, parameter: Parameter, code: Code, constructing: bool) -> Value:
        at = code.node
        if parameter.kind == "args":
            return Many([self.make("unknown", at=at, text=f"*{parameter.name}")], "list", open=True)
        if parameter.kind == "kwargs":
            return Many([], "dict", open=True)
        if constructing:
            return self.symbol(parameter.name, at)
        node = self.make("input", at=at, text=parameter.name)
        if _is_scalar(parameter):
            node.attributes["scalar"] = node
        return node

    def _gives(self, value: Value, statement: ast.stmt) -> None:
        if isinstance(value, Many):
            for item in value.items:
                self._gives(item, statement)
        elif isinstance(value, Node):
            self.graph.returns.append((value, statement))
            if (
                value.kind in ("phi", "tuple", "list")
                or value.kind == "layer"
                or (value.kind == "call" and value.text[:1].isupper())
            ):
                for one in value.inputs:
                    self._gives(one, statement)

    # -- attributes of self ----------------------------------------------------------------------------------------

    def own_attribute(self, receiver: Self, name: str, at: ast.expr) -> Value:
        top = self.graph.cls is receiver.cls
        if top and name in self.own:
            return self.own[name]
        if top and name in self.read:
            return self.read[name]
        value = self._looked_up(receiver, name, at)
        if top and isinstance(value, (Node, Many)):
            self.read[name] = value
        return value

    def _looked_up(self, receiver: Self, name: str, at: ast.expr) -> Value:
        if not (self.constructing and self.graph.cls is receiver.cls):
            table = self.architecture.attributes(receiver.cls)
            if name in table:
                return self._imported(table[name], f"self.{name}", at)
        code = self.names.method(receiver.cls, name)
        if code is not None:
            if code.decorated("property", "cached_property"):
                call = ast.copy_location(ast.Call(func=at, args=[], keywords=[]), at)
                result = self._inline(code, receiver, Arguments([], {}), call, None)
                return self.symbol(f"self.{name}", at) if result is None else result
            return Method(code, None if code.is_static else receiver)
        member = self._class_constant(receiver.cls, name)
        if isinstance(member, Node) and member.kind == "const":
            return self.const(member.value, at, f"self.{name}")
        if member is not None:
            return member
        if name in ("training", "config", "device", "dtype"):
            return self.symbol(f"self.{name}", at)
        return self.make("unknown", at=at, text=f"self.{name}")

    def _class_constant(self, cls: Class, name: str) -> Value | None:
        for owner in self.names.order(cls):
            if not isinstance(owner, Class):
                continue
            for statement in owner.node.body:
                targets = statement.targets if isinstance(statement, ast.Assign) else ()
                if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                    assert isinstance(statement, ast.Assign)
                    return self._elsewhere(Constant(statement.value, owner.module))
        return None

    def _imported(self, value: Value, text: str, at: ast.expr) -> Value:
        """A value of a constructor's graph, as this graph sees it."""
        if isinstance(value, Many):
            items = [self._imported(one, f"{text}[{i}]", at) for i, one in enumerate(value.items)]
            return Many(items, value.kind, value.keys, value.open)
        if not isinstance(value, Node):
            return value
        for definition in definitions_of(value):
            self.graph.definitions[definition.path] = definition
        if value.kind == "const":
            return self.const(value.value, at, text)
        if value.kind in ("layer", "parameter", "activation"):
            attributes = value.attributes if value.kind == "activation" else None
            return self.make(value.kind, [], attributes, at=at, definition=value.definition, text=text)
        if value.kind == "phi" and not value.is_scalar:
            arms = [self._imported(one, text, at) for one in value.inputs]
            return self.merged(value.text, arms, at)
        if value.is_scalar:
            return self.symbol(text, at)
        return self.make("parameter", at=at, definition=value.definition, text=text)

    # -- helpers ---------------------------------------------------------------------------------------------------

    def is_plain(self, cls: Class) -> bool:
        return self.architecture.is_plain(cls)

    def _inline(
        self, code: Code, receiver: Self | None, arguments: Arguments, at: ast.Call, parent: ExtractionFrame | None
    ) -> Value | None:
        """Follow a helper with these arguments; `None` where it is too deep, too long or of another kind."""
        frame = self.frame
        if (
            len(frame.chain) >= MAX_DEPTH
            or code.is_generator
            or code.is_async
            or code is frame.code
            or any(code is caller for caller, _ in frame.chain)
            or len(self.graph.nodes) > MAX_NODES
            or _lines(code) > MAX_LINES
            or code.module.outline
        ):
            return None
        inner = ExtractionFrame(code, receiver, (*frame.chain, (frame.code, at)), parent)
        self.frame = inner
        inner.env = self._bound(code, receiver, arguments, at)
        self.block(code.body)
        self._ended = False
        self.frame = frame
        if self.constructing and code.short == "__init__":
            return self.const(None, at)
        values = [value for value, _ in inner.returned]
        if not values:
            return self.const(None, at)
        return self.merged("return", values, at)

    def _bound(self, code: Code, receiver: Self | None, arguments: Arguments, at: ast.Call) -> dict[str, Value]:
        env: dict[str, Value] = {}
        parameters = list(code.parameters)
        if receiver is not None and code.receiver() is not None and parameters:
            env[parameters[0].name] = receiver
            parameters = parameters[1:]
        positional = list(arguments.positional)
        keywords = dict(arguments.keywords)
        for parameter in parameters:
            if parameter.kind == "args":
                env[parameter.name] = Many(positional, "list", open=arguments.open)
                positional = []
            elif parameter.kind == "kwargs":
                env[parameter.name] = Many(list(keywords.values()), "dict", list(keywords), arguments.open)
            elif parameter.kind != "keyword" and positional:
                env[parameter.name] = positional.pop(0)
            elif parameter.name in keywords:
                env[parameter.name] = keywords.pop(parameter.name)
            elif parameter.default is not None and not arguments.open:
                env[parameter.name] = self.evaluate(parameter.default)
            else:
                env[parameter.name] = self.make("unknown", at=at, text=parameter.name)
        return env


def _is_scalar(parameter: Parameter) -> bool:
    if parameter.annotation is not None:
        text = said(parameter.annotation).replace("Optional[", "").rstrip("]")
        words = {word.strip() for word in text.replace("Union[", "").replace(",", "|").split("|")} - {"None"}
        return bool(words) and words <= set(_SCALAR_HINTS)
    if isinstance(parameter.default, ast.Constant) and isinstance(parameter.default.value, (int, float, str, bool)):
        return True
    return parameter.name.startswith(_SCALAR_WORDS) or parameter.name.endswith(("_eps", "_scale", "_dim", "scaling"))


def _lines(code: Code) -> int:
    return (getattr(code.node, "end_lineno", None) or code.line) - code.line
