"""Expressions: names, attributes, operators, subscripts, displays; calls are in `calls.py`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from strop.source.adopt.architecture import Node
from strop.source.adopt.build import (
    Builder,
    Closure,
    ExtractionFrame,
    Many,
    Method,
    Parent,
    Self,
    Value,
    text_of,
)
from strop.source.adopt.names import Constant, Library, Names
from strop.source.adopt.operations import SIZES
from strop.source.project.declarations import Class, Code, Module

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.MatMult: "matmul",
    ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.LShift: "shift", ast.RShift: "shift",
}  # fmt: skip
_CONSTANTS = {
    "math.pi": 3.141592653589793,
    "math.e": 2.718281828459045,
    "torch.pi": 3.141592653589793,
    "numpy.pi": 3.141592653589793,
    "math.inf": float("inf"),
    "torch.inf": float("inf"),
}


class ExpressionExtraction(Builder):
    """Evaluates expressions to values; an expression that nobody knows becomes an unknown of its parts."""

    names: Names

    def call(self, expression: ast.Call) -> Value:
        raise NotImplementedError

    def listed(self, value: Value, at: ast.expr) -> Value:
        raise NotImplementedError

    def own_attribute(self, receiver: Self, name: str, at: ast.expr) -> Value:
        raise NotImplementedError

    def evaluate(self, expression: ast.expr) -> Value:
        handler = _HANDLERS.get(expression.__class__)
        if handler is not None:
            return handler(self, expression)
        inputs = [
            self.node(self.evaluate(child), child)
            for child in ast.iter_child_nodes(expression)
            if isinstance(child, ast.expr)
        ]
        return self.unknown(type(expression).__name__, inputs, expression)

    def tensor(self, expression: ast.expr) -> Node:
        return self.node(self.evaluate(expression), expression)

    # -- names -----------------------------------------------------------------------------------------------------

    def _constant(self, expression: ast.Constant) -> Value:
        return self.const(expression.value, expression)

    def _name(self, expression: ast.Name) -> Value:
        name = expression.id
        frame: ExtractionFrame | None = self.frame
        while frame is not None:
            found = frame.env.get(name)
            if found is not None:
                return found
            frame = frame.parent
        meaning = self.names.of(self.frame.code.module, name)
        if meaning is None:
            return Library(f"builtins.{name}")
        return self._constant_of(meaning, expression)

    def _constant_of(self, meaning: Value, at: ast.expr) -> Value:
        if not isinstance(meaning, Constant):
            return meaning
        if isinstance(meaning.expression, ast.Constant):
            return self.const(meaning.expression.value, at, said(at))
        if isinstance(meaning.expression, (ast.BinOp, ast.UnaryOp, ast.Name, ast.Attribute, ast.Tuple, ast.List)):
            return self._elsewhere(meaning)
        return meaning

    def _elsewhere(self, constant: Constant) -> Value:
        """A module's variable, evaluated where it is assigned; `a = a`, or a circle of such, has no value."""
        frame = self.frame
        if len(frame.chain) > 6 or constant.expression in self.constants:
            return self.symbol("constant", constant.expression)
        self.frame = ExtractionFrame(constant.module.code, None, frame.chain)
        self.constants.append(constant.expression)
        try:
            return self.evaluate(constant.expression)
        finally:
            self.constants.pop()
            self.frame = frame

    def _attribute(self, expression: ast.Attribute) -> Value:
        return self.attribute(self.evaluate(expression.value), expression.attr, expression)

    def attribute(self, base: Value, name: str, at: ast.expr) -> Value:
        if isinstance(base, Library):
            dotted = f"{base.dotted}.{name}"
            return self.const(_CONSTANTS[dotted], at, dotted) if dotted in _CONSTANTS else Library(dotted)
        if isinstance(base, Self):
            return self.own_attribute(base, name, at)
        if isinstance(base, Module):
            found = self.names.member(base, name)
            return Library(f"{base.name}.{name}") if found is None else self._constant_of(found, at)
        if isinstance(base, Parent):
            code = self.names.method(base.receiver.cls, name, after=base.after)
            return Library(f"super.{name}") if code is None else Method(code, base.receiver)
        if isinstance(base, Class):
            code = self.names.method(base, name)
            return Library(f"{base.name}.{name}") if code is None else Method(code, None)
        if isinstance(base, Node):
            return self._of_node(base, name, at)
        return self.symbol(f"{text_of(base)}.{name}", at)

    def _of_node(self, base: Node, name: str, at: ast.expr) -> Value:
        if base.kind == "layer":
            text = f"{base.text}.{name}"
            return self.make("parameter", at=at, definition=base.definition, text=text)
        if name in SIZES:
            return self.symbol(f"{text_of(base)}.{name}", at)
        if base.is_scalar or (base.kind == "input" and name not in ("T", "mT", "data", "H", "real", "imag")):
            return self.symbol(f"{text_of(base)}.{name}", at)
        if name in ("mT", "T", "H"):
            return self.operation("transpose2", [base], None, at)
        if name == "data":
            made = base.expression.func if isinstance(base.expression, ast.Call) else None
            if base.inputs and base.inputs[0].kind == "detach" and getattr(made, "attr", "").endswith("_"):
                return base  # `x.data` after `x.data.mul_(…)`
            return self.make("detach", [base], at=at)
        return self.make("unknown", [base], at=at, text=f".{name}")

    # -- operators -------------------------------------------------------------------------------------------------

    def _binary(self, expression: ast.BinOp) -> Value:
        left, right = self.evaluate(expression.left), self.evaluate(expression.right)
        kind = OPERATORS[expression.op.__class__]
        if kind == "add" and isinstance(left, Many) and isinstance(right, Many):
            return Many([*left.items, *right.items], left.kind, open=left.open or right.open)
        if kind == "mod" and isinstance(left, Node) and isinstance(left.value, str):
            return self.symbol("text", expression)
        if isinstance(left, Many) or isinstance(right, Many):
            many = left if isinstance(left, Many) else right
            other = right if isinstance(left, Many) else left
            assert isinstance(many, Many)
            return Many([*many.items, *([other] if kind == "add" else [])], many.kind, open=True)
        return self.operation(
            kind, [self.node(left, expression.left), self.node(right, expression.right)], None, expression
        )

    def _unary(self, expression: ast.UnaryOp) -> Value:
        inner = self.tensor(expression.operand)
        if isinstance(expression.op, ast.USub):
            return self.operation("neg", [inner], None, expression)
        if isinstance(expression.op, ast.UAdd):
            return inner
        return self.operation("not", [inner], None, expression)

    def _compare(self, expression: ast.Compare) -> Value:
        operands = [self.tensor(one) for one in (expression.left, *expression.comparators)]
        decided = decide(expression, operands)
        if decided is not None:
            return self.const(decided, expression)
        if any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in expression.ops) or all(
            one.is_scalar for one in operands
        ):
            return self.symbol(said(expression), expression)
        return self.make("compare", operands, at=expression, text=type(expression.ops[0]).__name__)

    def _bool(self, expression: ast.BoolOp) -> Value:
        """`a and b`: whatever is known of both."""
        values = [self.node(self.evaluate(one), one) for one in expression.values]
        if all(one.kind == "const" for one in values):
            answers = [one.value for one in values]
            stop = (lambda v: not v) if isinstance(expression.op, ast.And) else bool
            return self.const(next((v for v in answers if stop(v)), answers[-1]), expression)
        ends = isinstance(expression.op, ast.Or)
        if any(one.kind == "const" and bool(one.value) is ends for one in values):
            return self.const(ends, expression)
        if all(one.is_scalar for one in values):
            return self.symbol(said(expression), expression)
        return self.make("phi", values, at=expression, text="bool")

    def _conditional(self, expression: ast.IfExp) -> Value:
        test = self.evaluate(expression.test)
        if isinstance(test, Node) and test.kind == "const":
            return self.evaluate(expression.body if test.value else expression.orelse)
        values = [self.evaluate(expression.body), self.evaluate(expression.orelse)]
        return self.merged(said(expression.test), values, expression)

    def _display(self, expression: ast.Tuple | ast.List | ast.Set) -> Value:
        items: list[Value] = []
        open = False
        for element in expression.elts:
            if isinstance(element, ast.Starred):
                inner = self.evaluate(element.value)
                if isinstance(inner, Many):
                    items += inner.items
                    open = open or inner.open
                else:
                    items.append(inner)
                    open = True
            else:
                items.append(self.evaluate(element))
        return Many(items, "list" if isinstance(expression, ast.List) else "tuple", open=open)

    def _dict(self, expression: ast.Dict) -> Value:
        keys = [key.value if isinstance(key, ast.Constant) else None for key in expression.keys]
        return Many([self.evaluate(value) for value in expression.values], "dict", keys, None in keys)

    def _named(self, expression: ast.NamedExpr) -> Value:
        value = self.evaluate(expression.value)
        self.assign(expression.target, value)
        return value

    def assign(self, target: ast.expr, value: Value) -> None:
        raise NotImplementedError

    def _lambda(self, expression: ast.Lambda) -> Value:
        code = self.frame.code.module.codes.get(expression)
        return Library("lambda") if code is None else Closure(code, self.frame)

    def _text(self, expression: ast.JoinedStr) -> Value:
        return self.symbol(said(expression), expression)

    def _starred(self, expression: ast.Starred) -> Value:
        return self.evaluate(expression.value)

    def _comprehension(self, expression: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Value:
        self._loops(expression.generators)
        return Many([self.evaluate(expression.elt)], "list", open=True)

    def _dict_comprehension(self, expression: ast.DictComp) -> Value:
        self._loops(expression.generators)
        return Many([self.evaluate(expression.value)], "dict", [None], open=True)

    def _loops(self, generators: list[ast.comprehension]) -> None:
        for generator in generators:
            self.assign(
                generator.target,
                self.element(self.listed(self.evaluate(generator.iter), generator.iter), generator.iter),
            )
            for test in generator.ifs:
                self.evaluate(test)

    def element(self, value: Value, at: ast.expr) -> Value:
        """Some element of what is iterated over; who asks twice may get two different ones."""
        if isinstance(value, Many):
            return self.symbol("key", at) if value.kind == "dict" else self.some_item(value, at)
        if isinstance(value, Node) and not value.is_scalar:
            return self.make("item", [value], {"index": self.symbol(f"i{len(self.graph.nodes)}", at)}, at=at)
        return self.symbol("i", at)

    def unordered(self, value: Value, at: ast.expr) -> Value:
        """The elements of a value in another order than it has them."""
        return Many([self.element(value, at)], "list", open=True)

    def some_item(self, many: Many, at: ast.expr) -> Value:
        """One of the items, nobody knows which; each time it may be another one."""
        if not many.items:
            return self.symbol("element", at)
        if len(many.items) == 1 and not many.open:
            return many.items[0]
        return self._some(self.merged("element", many.items, at), at)

    def _some(self, value: Value, at: ast.expr) -> Value:
        """A value that stands for many, as one of them: a node of its own, equal to no other."""
        if isinstance(value, Many) and value.kind != "dict":
            return Many([self._some(one, at) for one in value.items], value.kind, open=value.open)
        if isinstance(value, Node) and not value.is_scalar and not _is_layers(value):
            return self.make("element", [value], at=at)
        return value

    # -- subscripts ------------------------------------------------------------------------------------------------

    def _subscript(self, expression: ast.Subscript) -> Value:
        base = self.evaluate(expression.value)
        return self.subscript(base, expression.slice, expression)

    def subscript(self, base: Value, index: ast.expr, at: ast.expr) -> Value:
        key = index.value if isinstance(index, ast.Constant) else _negative(index)
        if isinstance(base, Many):
            entry = base.entry(key)
            if entry is not None:
                return entry
            if isinstance(key, int) and not base.open and -len(base.items) <= key < len(base.items):
                return base.items[key]
            if isinstance(index, ast.Slice) and not base.open:
                bounds = [_plain(bound) for bound in (index.lower, index.upper, index.step)]
                if "?" not in bounds:
                    return Many(base.items[slice(*bounds)], base.kind)
            if isinstance(index, ast.Slice):
                return Many([self.some_item(base, at)], base.kind, open=True)
            self.evaluate(index)
            return self.some_item(base, at)
        if isinstance(base, (Library, Constant, Class, Code)):
            return self.table_entry(base, index, at)
        if not isinstance(base, Node):
            return self.symbol(f"{text_of(base)}[…]", at)
        if base.is_scalar:
            inner = text_of(self.node(self.evaluate(index), index)) if not isinstance(index, ast.Slice) else "…"
            return self.symbol(f"{text_of(base)}[{inner}]", at)
        if base.kind == "layer":
            return self.entry_of_layers(base, key, at)
        if base.kind in ("chunk", "split", "unbind", "list", "tuple", "module", "call", "max", "min") and isinstance(
            key, int
        ):
            return self.item(base, key, at)
        return self._part(base, index, at)

    def table_entry(self, base: Value, index: ast.expr, at: ast.expr) -> Value:
        raise NotImplementedError

    def entry_of_layers(self, base: Node, key: object, at: ast.expr) -> Value:
        raise NotImplementedError

    def item(self, base: Node, index: int, at: ast.AST | None) -> Node:
        return self.make("item", [base], {"index": self.const(index, at)}, at=at)

    def _part(self, base: Node, index: ast.expr, at: ast.expr) -> Node:
        """`x[..., a:b:c]` is a slice of one dimension; everything else an index."""
        dims = index.elts if isinstance(index, ast.Tuple) else [index]
        ellipsis = next((i for i, d in enumerate(dims) if _is_ellipsis(d)), None)
        taken = [i for i, d in enumerate(dims) if not _is_ellipsis(d) and not _is_all(d)]
        if len(taken) == 1 and isinstance(part := dims[taken[0]], ast.Slice):
            behind = ellipsis is not None and ellipsis < taken[0]
            found = {"dim": self.const(taken[0] - len(dims) if behind else taken[0], part)}
            for name, bound in (("start", part.lower), ("stop", part.upper), ("step", part.step)):
                if bound is not None:
                    found[name] = self.tensor(bound)
            return self.make("slice", [base], found, at=at)
        inputs = [base]
        texts = []
        for one in dims:
            if isinstance(one, (ast.Slice, ast.Constant)) or _negative(one) is not None:
                texts.append(said(one))
                continue
            inner = self.tensor(one)
            texts.append(text_of(inner))
            if not inner.is_scalar:
                inputs.append(inner)
        return self.make("index", inputs, at=at, text=", ".join(texts))


def _is_layers(node: Node) -> bool:
    """A layer (or one of several): what it computes is a value of its own at each call."""
    if node.kind == "phi":
        return all(map(_is_layers, node.inputs))
    return node.kind in ("layer", "activation")


def said(expression: ast.expr) -> str:
    """The expression as Python writes it; each is asked for as often as its function is followed."""
    if isinstance(expression, ast.Name):
        return expression.id
    text: str | None = expression.__dict__.get("_said")
    if text is None:
        text = expression.__dict__["_said"] = ast.unparse(expression)
    return text


def decide(expression: ast.Compare, operands: list[Node]) -> bool | None:
    """A comparison whose answer is known: constants, and `is None` of what cannot be None."""
    if len(operands) != 2:
        return None
    (op,), (left, right) = expression.ops, operands
    if isinstance(op, (ast.Is, ast.IsNot)):
        if left.kind == right.kind == "const":
            equal = left.value is right.value
        elif right.kind == "const" and right.value is None and left.kind not in _MAYBE_NONE:
            equal = False
        else:
            return None
        return equal is isinstance(op, ast.Is)
    if left.kind != "const" or right.kind != "const":
        return None
    answers: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
        ast.Eq: lambda a, b: a == b,
        ast.NotEq: lambda a, b: a != b,
        ast.Lt: lambda a, b: a < b,
        ast.LtE: lambda a, b: a <= b,
        ast.Gt: lambda a, b: a > b,
        ast.GtE: lambda a, b: a >= b,
    }
    answer = answers.get(type(op))
    try:
        return None if answer is None else bool(answer(left.value, right.value))
    except TypeError:
        return None


_MAYBE_NONE = frozenset(
    {"input", "symbol", "const", "unknown", "phi", "loop", "call", "item", "element", "parameter", "layer"}
)


def _negative(index: ast.expr) -> int | None:
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub) and isinstance(index.operand, ast.Constant):
        value = index.operand.value
        return -value if isinstance(value, int) else None
    return None


def _plain(bound: ast.expr | None) -> Any:
    if bound is None or isinstance(bound, ast.Constant):
        return bound.value if bound is not None else None
    found = _negative(bound)
    return "?" if found is None else found


def _is_ellipsis(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) and index.value is Ellipsis


def _is_all(index: ast.expr) -> bool:
    return isinstance(index, ast.Slice) and index.lower is None and index.upper is None and index.step is None


_HANDLERS: dict[type[ast.AST], Callable[[ExpressionExtraction, Any], Value]] = {
    ast.Constant: ExpressionExtraction._constant,
    ast.Name: ExpressionExtraction._name,
    ast.Attribute: ExpressionExtraction._attribute,
    ast.Call: lambda self, expression: self.call(expression),
    ast.BinOp: ExpressionExtraction._binary,
    ast.UnaryOp: ExpressionExtraction._unary,
    ast.Compare: ExpressionExtraction._compare,
    ast.BoolOp: ExpressionExtraction._bool,
    ast.IfExp: ExpressionExtraction._conditional,
    ast.Tuple: ExpressionExtraction._display,
    ast.List: ExpressionExtraction._display,
    ast.Set: ExpressionExtraction._display,
    ast.Dict: ExpressionExtraction._dict,
    ast.NamedExpr: ExpressionExtraction._named,
    ast.Lambda: ExpressionExtraction._lambda,
    ast.JoinedStr: ExpressionExtraction._text,
    ast.Starred: ExpressionExtraction._starred,
    ast.ListComp: ExpressionExtraction._comprehension,
    ast.GeneratorExp: ExpressionExtraction._comprehension,
    ast.SetComp: ExpressionExtraction._comprehension,
    ast.DictComp: ExpressionExtraction._dict_comprehension,
    ast.Subscript: ExpressionExtraction._subscript,
}
