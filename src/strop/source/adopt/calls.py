"""Calls: operations of the table, layers, helpers that are followed, constructors of layers, and what nobody knows."""

from __future__ import annotations

import ast
import re

from strop.source.adopt.architecture import Node
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
from strop.source.adopt.functions import FUNCTIONS, baddbmm
from strop.source.adopt.layers import LayerExtraction
from strop.source.adopt.names import Library
from strop.source.adopt.operations import (
    CASTS,
    METHODS,
    SCALAR_METHODS,
    Operation,
    function,
    layer,
)
from strop.source.project.declarations import Class, Code

MAX_DEPTH = 5  #: of helpers inside helpers
MAX_LINES = 150  #: of a helper that is followed
MAX_NODES = 4_000  #: of a graph; beyond it helpers are not followed
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


class CallExtraction(LayerExtraction):
    """What a call gives."""

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
            whole = func.value.value if getattr(func.value, "attr", "") == "data" else func.value  # type: ignore[attr-defined]
            if name.endswith("_") and isinstance(whole, ast.Name):
                self.assign(whole, result)
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
