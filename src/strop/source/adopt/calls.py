"""Calls: operations of the table, layers, helpers that are followed, constructors of layers, and what nobody knows."""

from __future__ import annotations

import ast
import re

from strop.source.adopt.architecture import Definition, Node
from strop.source.adopt.build import (
    Arguments,
    Closure,
    ExtractionFrame,
    Many,
    Method,
    Parent,
    PartialCall,
    Self,
    Value,
    text_of,
)
from strop.source.adopt.expressions import ExpressionExtraction
from strop.source.adopt.functions import FUNCTIONS, baddbmm
from strop.source.adopt.names import Constant, Library
from strop.source.adopt.operations import (
    ACTIVATIONS,
    CASTS,
    CONTAINERS,
    METHODS,
    PARAMETERS,
    SCALAR_METHODS,
    Operation,
    function,
    layer,
)
from strop.source.project.declarations import Class, Code

MAX_DEPTH = 5  #: of helpers inside helpers
MAX_LINES = 150  #: of a helper that is followed
MAX_NODES = 4_000  #: of a graph; beyond it helpers are not followed
_TABLE_OF_ACTIVATIONS = re.compile(r"ACT2(FN|CLS)|.*ACT(IVATION)?S?(_?(FNS?|FUNCTIONS?|MAP|MAPPING|LAYERS?|CLASSES))?")
_GETTER_OF_ACTIVATIONS = re.compile(r"_?get_act(ivation)?(_(fn|fun|func|function|layer))?")
_PLAIN_OBJECTS = ("torch.optim.", "torch.utils.", "torch.cuda.", "torch.distributed.", "numpy.")
_SCALARS = (
    "math.",
    "builtins.int",
    "builtins.float",
    "builtins.len",
    "builtins.round",
    "builtins.abs",
    "builtins.bool",
)


class CallExtraction(ExpressionExtraction):
    """What a call gives."""

    own: dict[str, Value]  #: attributes of `self` that were assigned here

    def call(self, expression: ast.Call) -> Value:
        func = expression.func
        if isinstance(func, ast.Attribute):
            base = self.evaluate(func.value)
            if isinstance(base, (Node, Many)):
                return self._method(base, func, self._arguments(expression), expression)
            if isinstance(base, Self) and func.attr in ("register_buffer", "register_parameter"):
                return self._registered(base, func, self._arguments(expression), expression)
            callee = self.attribute(base, func.attr, func)
        else:
            callee = self.evaluate(func)
        return self.apply(callee, self._arguments(expression), expression)

    def _arguments(self, expression: ast.Call) -> Arguments:
        positional: list[Value] = []
        open = False
        for argument in expression.args:
            if not isinstance(argument, ast.Starred):
                positional.append(self.evaluate(argument))
                continue
            inner = self.evaluate(argument.value)
            if isinstance(inner, Many) and not inner.open:
                positional += inner.items
            else:
                positional.append(inner)
                open = True
        keywords: dict[str, Value] = {}
        for keyword in expression.keywords:
            value = self.evaluate(keyword.value)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, Many) and value.kind == "dict" and not value.open:
                keywords.update({str(key): item for key, item in zip(value.keys, value.items)})
            else:
                open = True
        return Arguments(positional, keywords, open)

    def apply(self, callee: Value, arguments: Arguments, at: ast.Call) -> Value:
        """Call a value."""
        if isinstance(callee, Library):
            return self._library(callee.dotted, arguments, at)
        if isinstance(callee, Code):
            return self._followed(callee, None, arguments, at)
        if isinstance(callee, Method):
            return self._followed(callee.code, callee.receiver, arguments, at)
        if isinstance(callee, Closure):
            return self._followed(callee.code, callee.frame.receiver, arguments, at, callee.frame)
        if isinstance(callee, PartialCall):
            whole = Arguments([*callee.arguments, *arguments.positional], {**callee.keywords, **arguments.keywords})
            return self.apply(callee.function, whole, at)
        if isinstance(callee, Class):
            return self._made(callee.id, callee, arguments, at)
        if isinstance(callee, Self):
            code = self.names.method(callee.cls, "forward")
            return (
                self._stranger(callee, arguments, at) if code is None else self._followed(code, callee, arguments, at)
            )
        if isinstance(callee, Node):
            return self._called_node(callee, arguments, at)
        return self._stranger(callee, arguments, at)

    def _called_node(self, callee: Node, arguments: Arguments, at: ast.Call) -> Value:
        if callee.kind == "layer":
            return self._layer(callee, arguments, at)
        if callee.kind == "phi" and any(one.kind in ("layer", "activation") for one in callee.inputs):
            arms = [one for one in callee.inputs if one.kind != "const"]
            results = [self._called_node(one, arguments, at) for one in arms]
            return self.merged(callee.text, results, at)
        if callee.kind == "activation":
            inputs = [self.node(one, at) for one in arguments.all()]
            return self.make(
                "activation", inputs, callee.attributes, at=at, definition=callee.definition, text=callee.text
            )
        return self._stranger(callee, arguments, at)

    def _stranger(self, callee: Value, arguments: Arguments, at: ast.Call) -> Node:
        """A call of something unknown; a scalar only where a scalar is asked and nothing but scalars go in."""
        inputs = [self.node(one, at) for one in arguments.all()]
        text = text_of(callee)
        if isinstance(callee, Node) and callee.kind == "symbol" and all(one.is_scalar for one in inputs):
            return self.symbol(f"{text}({', '.join(map(text_of, inputs))})", at)
        return self.make("call", inputs, at=at, text=text)

    # -- libraries -------------------------------------------------------------------------------------------------

    def _library(self, dotted: str, arguments: Arguments, at: ast.Call) -> Value:
        operation = function(dotted)
        if operation is not None:
            return self._operation(operation, arguments, at)
        if dotted == "super.forward":
            return self._base_forward(arguments, at)
        special = FUNCTIONS.get(dotted)
        if special is not None:
            return special(self, arguments, at)
        if layer(dotted) is not None or (dotted.startswith("torch.nn.") and dotted.rpartition(".")[2][:1].isupper()):
            return self._made(dotted, None, arguments, at)
        last = dotted.rpartition(".")[2]
        if _GETTER_OF_ACTIVATIONS.fullmatch(last):
            return self._activation(arguments.positional[0] if arguments.positional else None, at, dotted)
        if dotted.startswith(_SCALARS):
            return self._scalar(last, [self.node(one, at) for one in arguments.all()], None, at)
        if dotted == "builtins.super":
            receiver = self.frame.receiver
            cls = self.frame.code.cls
            return Library("super") if receiver is None or cls is None else Parent(receiver, cls)
        inputs = [self.node(one, at) for one in arguments.all()]
        if dotted.startswith(("builtins.", "torch.is_", "torch.jit.", "torch.finfo", "torch.iinfo")) and all(
            one.is_scalar for one in inputs
        ):
            return self.symbol(f"{last}({', '.join(map(text_of, inputs))})", at)
        if last[:1].isupper() and self.frame.receiver is not None and not dotted.startswith(_PLAIN_OBJECTS):
            return self._made(dotted, None, arguments, at)
        positional = inputs[: len(arguments.positional)]
        named = dict(zip(arguments.keywords, inputs[len(positional) :]))
        if arguments.open:
            named["**"] = self.symbol("**", at)
        return self.make("call", positional, {"function": self.const(dotted, at), **named}, at=at, text=dotted)

    def _operation(self, operation: Operation, arguments: Arguments, at: ast.Call) -> Node:
        """Arguments by name: tensors become inputs, the rest attributes."""
        names = operation.names
        inputs: list[Node] = []
        attributes: dict[str, Node] = {}
        for index, value in enumerate(arguments.positional):
            name = names[index] if index < len(names) else f"*{names[-1]}" if names and names[-1][0] == "*" else ""
            if name.startswith("*"):
                rest = arguments.positional[index:]
                items = rest[0].items if len(rest) == 1 and isinstance(rest[0], Many) else rest
                if index < len(operation.inputs):
                    inputs += [self.node(item, at) for item in items]
                    attributes.update(self._after(operation, index, arguments, at))
                else:
                    attributes[name[1:]] = self.node(Many(list(items)), at)
                break
            if index < len(operation.inputs):
                inputs.append(self.node(value, at))
            elif name:
                attributes[name] = self.node(value, at)
        for name, value in arguments.keywords.items():
            known = _SYNONYMS.get(name, name)
            if known in ("tensors", "input", "self", "other", "mat2", "exponent", "bias", "weight", "target", "mask"):
                position = _input_position(operation, known)
                if position is not None:
                    items = value.items if isinstance(value, Many) and known == "tensors" else [value]
                    inputs[position:position] = [self.node(item, at) for item in items]
                    continue
            if known == "dtype" and isinstance(value, Node) and value.value is None and value.kind == "const":
                continue
            attributes[known] = self.node(value, at)
        if operation.kind == "cast":
            attributes = self._cast(operation.method, inputs[1:], attributes, at)
            inputs = inputs[:1]
        return self.operation(operation.kind, inputs, attributes, at)

    def _after(self, operation: Operation, index: int, arguments: Arguments, at: ast.Call) -> dict[str, Node]:
        """The arguments behind a list of tensors: `torch.cat(tensors, dim)`."""
        rest = arguments.positional[index + 1 :]
        if not rest or not isinstance(arguments.positional[index], Many):
            return {}
        return {name: self.node(value, at) for name, value in zip(operation.attributes, rest)}

    def _cast(self, method: str, rest: list[Node], attributes: dict[str, Node], at: ast.Call) -> dict[str, Node]:
        if method in CASTS:
            return {"dtype": self.symbol(f"torch.{CASTS[method]}", at)}
        if method == "type_as":
            return {"dtype": self.symbol(f"{text_of(attributes['dtype'])}.dtype", at)} if "dtype" in attributes else {}
        return attributes

    # -- methods of tensors ----------------------------------------------------------------------------------------

    def _method(self, base: Node | Many, func: ast.Attribute, arguments: Arguments, at: ast.Call) -> Value:
        name = func.attr
        if isinstance(base, Many):
            return self._method_of_many(base, name, arguments, at)
        if base.kind == "layer":
            return self._layer_method(base, name, arguments, func, at)
        if name in SCALAR_METHODS:
            inside = ", ".join(text_of(one) for one in arguments.all())
            return self.symbol(f"{text_of(base)}.{name}({inside})", at)
        if name in ("baddbmm", "addmm"):
            return baddbmm(self, Arguments([base, *arguments.positional], arguments.keywords), at)
        operation = METHODS.get(name)
        scalar = base.kind in ("const", "symbol")
        if operation is not None and not (scalar and (base.kind == "const" or operation.kind == "split")):
            result = self._operation(operation, Arguments([base, *arguments.positional], arguments.keywords), at)
            if name.endswith("_") and isinstance(func.value, ast.Name):
                self.assign(func.value, result)
            return result
        if name in ("new_zeros", "new_ones", "new_full", "new_empty", "new_tensor"):
            return self.make(name[4:], [], at=at)
        inputs = [self.node(one, at) for one in arguments.all()]
        if base.is_scalar and all(one.is_scalar for one in inputs):
            return self.symbol(f"{text_of(base)}.{name}({', '.join(map(text_of, inputs))})", at)
        return self.make("call", [base, *inputs], at=at, text=f".{name}")

    def _method_of_many(self, base: Many, name: str, arguments: Arguments, at: ast.Call) -> Value:
        if name in ("append", "add", "insert") and arguments.positional:
            base.put(arguments.positional[-1])
            base.open = base.open or self.frame.branches > 0 or name != "append"
        elif name in ("reverse", "sort", "remove", "clear", "update", "setdefault"):
            base.open = True
        elif name == "extend" and arguments.positional:
            added = arguments.positional[0]
            for item in list(added.items) if isinstance(added, Many) else [added]:
                base.put(item)
            base.open = True
        elif name in ("get", "pop") and base.kind == "dict" and arguments.positional:
            key = arguments.positional[0]
            found = base.entry(key.value) if isinstance(key, Node) and key.kind == "const" else None
            return self.symbol("entry", at) if found is None else found
        elif name in ("items", "values", "keys", "pop"):
            if name != "pop":
                return Many(list(base.items), "list", open=True)
            base.open = True
            return self.some_item(base, at)
        return self.const(None, at)

    def _layer_method(self, base: Node, name: str, arguments: Arguments, func: ast.Attribute, at: ast.Call) -> Value:
        if name in ("forward", "__call__"):
            return self._layer(base, arguments, at)
        if name in ("to", "eval", "train", "requires_grad_", "float", "half", "cuda", "apply", "double"):
            return base
        definition = base.definition
        if definition is not None and name in ("append", "add_module", "insert"):
            for value in arguments.positional:
                if isinstance(value, Node) and value.definition is not None:
                    value.definition.conditional = True
                    definition.members = (*definition.members, value.definition)
            return base
        if definition is not None and name in ("items", "values", "children"):
            return Many([self._member(base, one, at) for one in definition.members], "list", open=True)
        inputs = [self.node(one, at) for one in arguments.all()]
        return self.make("call", [base, *inputs], at=at, text=f".{name}")

    def _registered(self, base: Self, func: ast.Attribute, arguments: Arguments, at: ast.Call) -> Value:
        """`self.register_buffer("name", value)`: an attribute that is a tensor; of a number, the number is kept."""
        given = dict(zip(("name", "value"), arguments.positional)) | arguments.keywords
        name, value = given.get("name"), given.get("value", given.get("tensor", given.get("param")))
        if not isinstance(name, Node) or not isinstance(name.value, str) or self.frame.statement is None:
            return self.const(None, at)
        made = self.node(value, at) if value is not None else self.const(None, at)
        if made.kind == "const" and made.value is None:
            self.own[name.value] = made
            return made
        held = {"value": made} if made.is_scalar else {}
        made_by = "torch.tensor" if held else f"torch.{made.kind}"
        definition = Definition(
            name.value, made_by, held, base.cls, self.frame.code, self.frame.statement, at,
            kind=func.attr.removeprefix("register_"), conditional=self.frame.branches > 0,
        )  # fmt: skip
        self.own[name.value] = self.make("parameter", [made], at=at, definition=definition, text=f"self.{name.value}")
        return self.const(None, at)

    # -- layers ----------------------------------------------------------------------------------------------------

    def _made(self, made_by: str, cls: Class | None, arguments: Arguments, at: ast.Call) -> Value:
        """The construction of an object: a layer where it is a module, a parameter, or something else."""
        receiver = self.frame.receiver
        owner = receiver.cls if receiver is not None else None
        base = self._library_class(made_by, cls)
        signature = layer(base)
        by_name: dict[str, Node] = {}
        for index, value in enumerate(arguments.positional):
            key = signature[1][index] if signature is not None and index < len(signature[1]) else str(index)
            by_name[key] = self.node(value, at)
        by_name.update({name: self.node(value, at) for name, value in arguments.keywords.items()})
        if owner is None or self.frame.statement is None:
            return self.make("call", list(by_name.values()), at=at, text=made_by)
        definition = Definition(
            "", base if signature is not None and cls is not None else made_by, by_name, owner, self.frame.code,
            self.frame.statement, at, cls, conditional=self.frame.branches > 0,
        )  # fmt: skip
        if base in PARAMETERS:
            definition.kind = "parameter"
            return self.make("parameter", list(by_name.values())[:1], at=at, definition=definition)
        if base.rpartition(".")[2] in CONTAINERS:
            definition.members = tuple(self._members(arguments))
            given = arguments.positional[0] if arguments.positional else None
            if isinstance(given, Many) and len(given.keys) == len(definition.members):
                definition.keys = tuple(str(key) for key in given.keys)
        return self.make("layer", list(by_name.values()), at=at, definition=definition)

    def _library_class(self, made_by: str, cls: Class | None) -> str:
        """A project's class that only names a library's layer is that layer."""
        if cls is None:
            return made_by
        if self.names.method(cls, "forward") is not None:
            return made_by
        return self.names.library_base(cls) or made_by

    def _members(self, arguments: Arguments) -> list[Definition]:
        found = []
        for value in arguments.all():
            for item in value.items if isinstance(value, Many) else [value]:
                for one in item.items if isinstance(item, Many) else [item]:
                    if isinstance(one, Node) and one.definition is not None:
                        found.append(one.definition)
        return found

    def _layer(self, callee: Node, arguments: Arguments, at: ast.Call) -> Value:
        definition = callee.definition
        assert definition is not None
        known = layer(definition.made_by)
        inputs = [self.node(one, at) for one in arguments.all()]
        if known is not None:
            if known[0] == "identity":
                return inputs[0] if inputs else callee
            attributes = dict(definition.arguments)
            return self.make(known[0], inputs, attributes, at=at, definition=definition, text=callee.text)
        last = definition.made_by.rpartition(".")[2]
        if last == "Sequential" and definition.members:
            value: Value = inputs[0] if inputs else callee
            for member in definition.members:
                value = self.apply(self._member(callee, member, at), Arguments([value], {}), at)
            return value
        if definition.cls is not None and (self.is_plain(definition.cls) or self._extends_layer(definition.cls)):
            code = self.names.method(definition.cls, "forward")
            assert code is not None
            outer, self.extended = self.extended, callee
            result = self._inline(code, Self(definition.cls), arguments, at, None)
            self.extended = outer
            if result is not None:
                return result
        return self.make("module", inputs, at=at, definition=definition, text=callee.text or last)

    extended: Node | None = None  #: the layer whose `forward` a class of the project wraps

    def _extends_layer(self, cls: Class) -> bool:
        """A class of the project on top of a library's layer, with a forward of its own."""
        return layer(self.names.library_base(cls)) is not None

    def _base_forward(self, arguments: Arguments, at: ast.Call) -> Node:
        """`super().forward(x)` in such a class: the library's layer itself."""
        receiver = self.frame.receiver
        known = layer(self.names.library_base(receiver.cls)) if receiver is not None else None
        inputs = [self.node(one, at) for one in arguments.all()]
        if known is None:
            return self.make("call", inputs, at=at, text="super.forward")
        definition = self.extended.definition if self.extended is not None else None
        text = self.extended.text if self.extended is not None else ""
        return self.make(known[0], inputs, at=at, definition=definition, text=text)

    def _member(self, parent: Node, member: Definition, at: ast.AST) -> Node:
        parts = parent.definition.members if parent.definition is not None else ()
        keys = parent.definition.keys if parent.definition is not None else ()
        position = next((i for i, one in enumerate(parts) if one is member), None)
        index = "*" if position is None else keys[position] if keys else str(position)
        text = f"{parent.text}.{index}"
        if not member.path:
            member.path = text.removeprefix("self.")
        if member.kind == "activation":
            return self.make("activation", at=at, text=text, attributes=member.arguments, definition=member)
        return self.make("layer", at=at, definition=member, text=text)

    def entry_of_layers(self, base: Node, key: object, at: ast.expr) -> Value:
        definition = base.definition
        members = definition.members if definition is not None else ()
        if not members:
            return self.make("unknown", [base], at=at, text="layer")
        if definition is not None and key in definition.keys:
            return self._member(base, members[definition.keys.index(str(key))], at)
        if isinstance(key, int) and len(members) > 1 and -len(members) <= key < len(members):
            return self._member(base, members[key], at)
        return self.merged("layer", [self._member(base, one, at) for one in members], at)

    def listed(self, value: Value, at: ast.expr) -> Value:
        """What is iterated over: the members of a ModuleList, or the thing itself."""
        if isinstance(value, Node) and value.kind == "layer" and value.definition is not None:
            return Many([self._member(value, one, at) for one in value.definition.members], "list", open=True)
        return value

    def is_plain(self, cls: Class) -> bool:
        """A module without parameters and layers: an activation, a reshaping; it is followed like a function."""
        raise NotImplementedError

    def table_entry(self, base: Value, index: ast.expr, at: ast.expr) -> Value:
        """`ACT2FN[config.hidden_act]`."""
        key = self.evaluate(index) if not isinstance(index, ast.Slice) else None
        name = base.dotted.rpartition(".")[2] if isinstance(base, Library) else ""
        if isinstance(at, ast.Subscript) and isinstance(at.value, (ast.Name, ast.Attribute)):
            name = at.value.id if isinstance(at.value, ast.Name) else at.value.attr
        if isinstance(base, Constant) and isinstance(base.expression, ast.Dict):
            value = self._elsewhere(base)
            if isinstance(value, Many) and isinstance(key, Node) and key.kind == "const":
                entry = value.entry(key.value)
                if entry is not None:
                    return entry
            if isinstance(value, Many) and value.items and all(self._is_activation(item) for item in value.items):
                return self._activation(key, at, name)
            return self.symbol(f"{name}[…]", at)
        if _TABLE_OF_ACTIVATIONS.fullmatch(name.upper()) and name.isupper():
            return self._activation(key, at, name)
        return self.symbol(f"{name}[…]", at)

    def _is_activation(self, value: Value) -> bool:
        if isinstance(value, Library):
            operation, known = function(value.dotted), layer(value.dotted)
            return (operation is not None and operation.kind in ACTIVATIONS) or (
                known is not None and known[0] in ACTIVATIONS
            )
        if isinstance(value, (Code, Class, Closure)):
            name = value.code.name if isinstance(value, Closure) else value.name
            return bool(re.search(r"(?i)elu|swish|silu|mish|tanh|sigmoid|lambda|act", name))
        return isinstance(value, Node) and value.kind in ("layer", "activation")

    def _activation(self, key: Value | None, at: ast.expr, table: str) -> Node:
        """An activation that a table chooses."""
        given = {"name": self.node(key, at)} if key is not None else {}
        receiver = self.frame.receiver
        definition = None
        if receiver is not None and self.frame.statement is not None:
            definition = Definition(
                "", table, given, receiver.cls, self.frame.code, self.frame.statement, at, kind="activation"
            )
        return self.make("activation", attributes=given, at=at, text=f"{table}[…]", definition=definition)

    # -- helpers ---------------------------------------------------------------------------------------------------

    def _followed(
        self,
        code: Code,
        receiver: Self | None,
        arguments: Arguments,
        at: ast.Call,
        parent: ExtractionFrame | None = None,
    ) -> Value:
        name = code.short
        if _GETTER_OF_ACTIVATIONS.fullmatch(name) and arguments.positional:
            return self._activation(arguments.positional[0], at, name)
        result = self._inline(code, receiver, arguments, at, parent)
        if result is not None:
            return result
        inputs = [self.node(one, at) for one in arguments.all()]
        return self.make("call", inputs, at=at, text=code.name)

    def _inline(
        self, code: Code, receiver: Self | None, arguments: Arguments, at: ast.Call, parent: ExtractionFrame | None
    ) -> Value | None:
        raise NotImplementedError


_SYNONYMS = {
    "axis": "dim",
    "keepdims": "keepdim",
    "mat1": "input",
    "value": "value",
    "axes": "dim",
    "arrays": "tensors",
}
_POSITIONS = {"tensors": 0, "input": 0, "self": 0, "other": 1, "mat2": 1, "exponent": 1, "target": 1}


def _input_position(operation: Operation, name: str) -> int | None:
    if name in operation.inputs:
        return operation.inputs.index(name)
    position = _POSITIONS.get(name)
    return position if position is not None and position < len(operation.inputs) else None
