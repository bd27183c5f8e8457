"""Layers: their construction, their calls, their members, and activations that a table chooses."""

from __future__ import annotations

import ast
import re

from strop.source.adopt.architecture import Definition, Node
from strop.source.adopt.build import (
    Arguments,
    Closure,
    ExtractionFrame,
    Many,
    Self,
    Value,
)
from strop.source.adopt.expressions import ExpressionExtraction
from strop.source.adopt.names import Constant, Library
from strop.source.adopt.operations import (
    ACTIVATIONS,
    CONTAINERS,
    PARAMETERS,
    function,
    layer,
)
from strop.source.project.declarations import Class, Code

_TABLE_OF_ACTIVATIONS = re.compile(r"ACT2(FN|CLS)|.*ACT(IVATION)?S?(_?(FNS?|FUNCTIONS?|MAP|MAPPING|LAYERS?|CLASSES))?")


class LayerExtraction(ExpressionExtraction):
    """What layers are made, and what a call of one gives."""

    own: dict[str, Value]  #: attributes of `self` that were assigned here

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

    def apply(self, callee: Value, arguments: Arguments, at: ast.Call) -> Value:
        """Call a value."""
        raise NotImplementedError

    def _inline(
        self, code: Code, receiver: Self | None, arguments: Arguments, at: ast.Call, parent: ExtractionFrame | None
    ) -> Value | None:
        raise NotImplementedError
