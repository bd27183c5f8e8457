"""Extraction: the graph of a function and the attributes of a class, by following statements and helpers.

Both branches of an `if` are followed and what differs afterwards becomes a `phi`; a loop's body is followed once, with
`loop` nodes for what it changes; a helper is followed where it is called, each time anew. Nothing is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from strop.source.adopt.architecture import Definition, Graph, Model, Node
from strop.source.adopt.build import Arguments, Closure, ExtractionFrame, Many, Method, Self, Value, text_of
from strop.source.adopt.calls import MAX_DEPTH, MAX_LINES, MAX_NODES, CallExtraction
from strop.source.adopt.expressions import _OPERATORS, said
from strop.source.adopt.names import Constant, Library, Names
from strop.source.project.declarations import Class, Code, Parameter, walk
from strop.source.project.modules import Project

_SCALAR_HINTS = ("float", "int", "bool", "str")
_SCALAR_WORDS = ("scal", "eps", "dropout", "num_", "n_", "dim", "size", "temperature", "alpha", "beta", "softcap")
_TALK = ("logger", "logging", "warnings", "print", "log")  #: whose calls compute nothing
_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


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
            for definition in _definitions(value):
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


def _definitions(value: Value) -> Iterable[Definition]:
    if isinstance(value, Node):
        if value.definition is not None:
            yield value.definition
        elif value.kind == "phi":
            for one in value.inputs:
                yield from _definitions(one)


class Extractor(CallExtraction):
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

    # -- statements ------------------------------------------------------------------------------------------------

    def block(self, body: list[ast.stmt]) -> bool:
        """Follow statements; whether the end is reached."""
        for statement in body:
            self.frame.statement = statement
            handler = _STATEMENTS.get(statement.__class__)
            if handler is not None:
                handler(self, statement)
            if isinstance(statement, _ENDS) or (isinstance(statement, (ast.If, ast.With)) and self._ended):
                self._ended = False
                return False
        return True

    _ended = False  #: both branches of the last `if` left

    def _assign(self, statement: ast.Assign) -> None:
        value = self.evaluate(statement.value)
        for target in statement.targets:
            self.assign(target, value)

    def _annotated(self, statement: ast.AnnAssign) -> None:
        if statement.value is not None:
            self.assign(statement.target, self.evaluate(statement.value))

    def _augmented(self, statement: ast.AugAssign) -> None:
        target = statement.target
        left, right = self.evaluate(target), self.evaluate(statement.value)
        kind = _OPERATORS[statement.op.__class__]
        if isinstance(left, Many):
            items = right.items if isinstance(right, Many) else [right]
            self.assign(target, Many([*left.items, *items], left.kind, open=left.open))
            return
        pair = [self.node(left, target), self.node(right, statement.value)]
        self.assign(target, self.operation(kind, pair, None, statement))

    def assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.frame.env[target.id] = value
            self._record(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value)
        elif isinstance(target, ast.Attribute):
            self._assign_attribute(target, value)
        elif isinstance(target, ast.Subscript):
            self._assign_item(target, value)

    def _record(self, name: str, value: Value) -> None:
        if not self.frame.chain and isinstance(value, Node) and self.frame.parent is None:
            self.graph.bindings.setdefault(name, []).append((len(self.graph.nodes), value))

    def _unpack(self, target: ast.Tuple | ast.List, value: Value) -> None:
        count = len(target.elts)
        starred = next((i for i, one in enumerate(target.elts) if isinstance(one, ast.Starred)), None)
        if isinstance(value, Many) and not value.open and starred is None and len(value.items) == count:
            values = list(value.items)
        elif isinstance(value, Many):
            values = [self.element(value, target) for _ in range(count)]
        else:
            node = self.node(value, self.frame.statement)
            values = [self._piece(node, i, starred, target) for i in range(count)]
        for one, part in zip(target.elts, values):
            self.assign(one, part)

    def _piece(self, node: Node, index: int, starred: int | None, target: ast.expr) -> Value:
        if starred is not None and index == starred:
            return Many([self.element(node, target)], "list", open=True)
        if starred is not None and index > starred:
            index -= len(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else 0
        at = node.expression or target
        if node.kind == "phi" and all(
            one.kind in ("call", "module", "chunk", "split", "unbind") for one in node.inputs
        ):
            return self.merged(node.text, [self.item(one, index, at) for one in node.inputs], at)
        if node.is_scalar:
            return self.symbol(f"{text_of(node)}[{index}]", at)
        return self.item(node, index, at)

    def _assign_attribute(self, target: ast.Attribute, value: Value) -> None:
        base = self.evaluate(target.value)
        if not isinstance(base, Self):
            return
        name = target.attr
        self.own[name] = value
        if isinstance(value, Node):
            if not self.constructing:
                self.graph.escapes.append((value, f"stored in self.{name}"))
            for definition in _definitions(value):
                definition.path = definition.path or name
            if value.kind in ("layer", "parameter", "activation"):
                value.text = value.text if value.text.startswith("self.") else f"self.{name}"

    def _assign_item(self, target: ast.Subscript, value: Value) -> None:
        base = self.evaluate(target.value)
        node = self.node(value, target)
        if isinstance(base, Many):
            key = target.slice.value if isinstance(target.slice, ast.Constant) else None
            held = len(base.items)
            base.put(value)
            if base.kind == "dict" and len(base.items) > held:
                base.keys.append(key)
            base.open = True
        elif isinstance(base, Node) and isinstance(target.value, ast.Name):
            if not isinstance(target.slice, ast.Slice):
                self.evaluate(target.slice)
            self.assign(target.value, self.make("setitem", [base, node], at=target))
        else:
            self.graph.escapes.append((node, "stored in an element"))
            if isinstance(base, Node):
                self.make("setitem", [base, node], at=target)

    def _expression(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant) and _first_word(statement.value) not in _TALK:
            self.evaluate(statement.value)

    def _return(self, statement: ast.Return) -> None:
        value: Value = self.const(None, statement) if statement.value is None else self.evaluate(statement.value)
        self.frame.returned.append((value, statement))

    # -- branches --------------------------------------------------------------------------------------------------

    def _if(self, statement: ast.If) -> None:
        test = self.evaluate(statement.test)
        if isinstance(test, Node) and test.kind == "const":
            body = statement.body if test.value else statement.orelse
            self._ended = not self.block(body) if body else False
            return
        outcomes = self._branches([statement.body, statement.orelse])
        self._join(said(statement.test), outcomes, statement)
        self._ended = not any(reached for reached, _, _ in outcomes)

    def _branches(self, bodies: list[list[ast.stmt]]) -> list[tuple[bool, dict[str, Value], dict[str, Value]]]:
        """Follow each body from the same start; whether its end is reached, and the variables there."""
        frame = self.frame
        start, own = dict(frame.env), dict(self.own)
        outcomes = []
        frame.branches += 1
        for body in bodies:
            reached = self.block(body)
            self._ended = False
            outcomes.append((reached, frame.env, dict(self.own)))
            for name, value in frame.env.items():
                if name in start and start[name] is not value:
                    self._record(name, start[name])
            frame.env = dict(start)
            self._restore(own)
        frame.branches -= 1
        return outcomes

    def _restore(self, own: dict[str, Value]) -> None:
        self.own.clear()
        self.own.update(own)

    def _join(
        self, test: str, outcomes: list[tuple[bool, dict[str, Value], dict[str, Value]]], statement: ast.stmt
    ) -> None:
        ends = [(env, own) for reached, env, own in outcomes if reached]
        if not ends:
            return
        self.frame.statement = statement
        before = self.frame.env
        self.frame.env = self._joined(test, [env for env, _ in ends], statement, before)
        self._restore(self._joined(test, [own for _, own in ends], statement, None))

    def _joined(
        self, test: str, envs: list[dict[str, Value]], statement: ast.stmt, before: dict[str, Value] | None
    ) -> dict[str, Value]:
        if len(envs) == 1:
            for name, value in envs[0].items():
                if before is not None and before.get(name) is not value:
                    self._record(name, value)
            return envs[0]
        result: dict[str, Value] = {}
        for name in dict.fromkeys(name for env in envs for name in env):
            values = [env[name] for env in envs if name in env]
            if all(value is values[0] for value in values):
                result[name] = values[0]
            else:
                result[name] = self.merged(test, values, statement)
            if before is not None and before.get(name) is not result[name]:
                self._record(name, result[name])
        return result

    def _for(self, statement: ast.For | ast.AsyncFor) -> None:
        iterable = self.listed(self.evaluate(statement.iter), statement.iter)
        self._loop(statement, lambda: self.assign(statement.target, self.element(iterable, statement.iter)))

    def _while(self, statement: ast.While) -> None:
        self._loop(statement, lambda: self.evaluate(statement.test))

    def _loop(self, statement: ast.For | ast.AsyncFor | ast.While, begin: Callable[[], object]) -> None:
        frame = self.frame
        carried: dict[str, Node] = {}
        for name in _assigned(statement.body):
            before = frame.env.get(name)
            if isinstance(before, Node) and before.kind != "const":
                carried[name] = self.make("loop", [before], at=statement, text=name)
                frame.env[name] = carried[name]
                self._record(name, carried[name])
        start = dict(frame.env)
        frame.branches += 1
        begin()
        self.block(statement.body)
        self._ended = False
        frame.branches -= 1
        for name, node in carried.items():
            after = frame.env.get(name)
            if isinstance(after, Node) and after is not node:
                node.inputs.append(after)
                after.users.append(node)
        frame.statement = statement
        for name, value in start.items():
            if name in frame.env and frame.env[name] is not value and name not in carried:
                frame.env[name] = self.merged("loop", [value, frame.env[name]], statement)
                self._record(name, frame.env[name])
        self.block(statement.orelse)

    def _with(self, statement: ast.With | ast.AsyncWith) -> None:
        for item in statement.items:
            value = self.evaluate(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value)
        self._ended = not self.block(statement.body)

    def _try(self, statement: ast.Try) -> None:
        outcomes = self._branches([statement.body + statement.orelse, *[h.body for h in statement.handlers]])
        self._join("try", outcomes, statement)
        self.block(statement.finalbody)

    def _match(self, statement: ast.Match) -> None:
        self.evaluate(statement.subject)
        outcomes = self._branches([[], *[case.body for case in statement.cases]])
        self._join("match", outcomes, statement)

    def _function(self, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        code = self.frame.code.module.codes.get(statement)
        if code is not None:
            self.frame.env[statement.name] = Closure(code, self.frame)

    def _import(self, statement: ast.Import | ast.ImportFrom) -> None:
        for alias in statement.names:
            name = alias.asname or alias.name.partition(".")[0]
            if isinstance(statement, ast.ImportFrom) and not statement.level:
                self.frame.env[name] = Library(f"{statement.module}.{alias.name}")
            elif isinstance(statement, ast.Import):
                self.frame.env[name] = Library(alias.name if alias.asname else name)

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
        for definition in _definitions(value):
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


def _first_word(expression: ast.expr) -> str:
    while isinstance(expression, (ast.Call, ast.Attribute)):
        expression = expression.func if isinstance(expression, ast.Call) else expression.value
    return expression.id if isinstance(expression, ast.Name) else ""


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


def _assigned(body: list[ast.stmt]) -> list[str]:
    """The variables that statements assign, in order."""
    stored = (node for node in walk(body) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return list(dict.fromkeys(node.id for node in stored))


_STATEMENTS: dict[type[ast.AST], Callable[[Extractor, Any], None]] = {
    ast.Assign: Extractor._assign,
    ast.AnnAssign: Extractor._annotated,
    ast.AugAssign: Extractor._augmented,
    ast.Expr: Extractor._expression,
    ast.Return: Extractor._return,
    ast.If: Extractor._if,
    ast.For: Extractor._for,
    ast.AsyncFor: Extractor._for,
    ast.While: Extractor._while,
    ast.With: Extractor._with,
    ast.AsyncWith: Extractor._with,
    ast.Try: Extractor._try,
    ast.Match: Extractor._match,
    ast.FunctionDef: Extractor._function,
    ast.AsyncFunctionDef: Extractor._function,
    ast.Import: Extractor._import,
    ast.ImportFrom: Extractor._import,
}
