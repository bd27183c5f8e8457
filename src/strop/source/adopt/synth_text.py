"""The words of a replacement: templates with metavariables, filled with the source text of what they stand for.

    $x   $x.weight   $x:eps   [[, attn_mask=$m]]   [[$m: …]]   [[!$m: …]]   $$

A value is said by a local name that still holds it where the replacement stands, or by its own expression when that can
be evaluated there as well: none of its names has been bound again in between, and it is not computed a second time.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from strop.source.adopt.architecture import Definition, Match, Node
from strop.source.adopt.operations import LAYERS
from strop.source.facts import Place
from strop.source.project.declarations import Code, walk

_PART = re.compile(r"\$\$|\$(?P<name>[A-Za-z_]\w*)(?::(?P<argument>[A-Za-z_]\w*))?")
_GROUP = re.compile(r"\[\[(?:(?P<not>!?)\$(?P<test>\w+):)?(?P<body>(?:(?!\[\[|\]\]).)*)\]\]", re.DOTALL)
_CHEAP = re.compile(r"[\w.+-]+")  #: a name, an attribute or a number, which may be said twice
_ATOMS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant, ast.Tuple, ast.List, ast.Dict)
#: constructor arguments of `torch.nn` layers that they keep as attributes
_KEPT = frozenset({
    "eps", "p", "in_features", "out_features", "normalized_shape", "num_features", "in_channels", "out_channels",
    "kernel_size", "stride", "padding", "dilation", "groups", "momentum", "num_embeddings", "embedding_dim",
    "padding_idx", "dim", "negative_slope", "approximate",
})  # fmt: skip


#: what constructors of `torch.nn` take when nothing is said
_DEFAULTS = {"bias": "True", "eps": "1e-05", "elementwise_affine": "True"}


class CannotWrite(Exception):
    """Why an edit cannot be made; the finding is reported with this reason."""

    def __init__(self, reason: str, place: Place) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place


@lru_cache(maxsize=8)
def _byte_lines(text: str) -> list[bytes]:
    return [line.encode("utf-8", "surrogatepass") for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)]


@dataclass
class Source:
    """The text of a file, by places of its syntax tree (columns count UTF-8 bytes)."""

    text: str
    lines: list[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = _byte_lines(self.text)

    def segment(self, node: ast.AST) -> str:
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1  # type: ignore[attr-defined]
        start, stop = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        if first == last:
            one: str = self.lines[first][start:stop].decode("utf-8", "surrogatepass")
            return one
        parts = [self.lines[first][start:], *self.lines[first + 1 : last], self.lines[last][:stop]]
        return b"".join(parts).decode("utf-8", "surrogatepass")

    def indent(self, statement: ast.stmt) -> str:
        line = self.lines[statement.lineno - 1].decode("utf-8", "surrogatepass")
        return line[: len(line) - len(line.lstrip(" \t\f"))]

    def alone(self, statement: ast.stmt) -> bool:
        """Whether a statement has its lines for itself, comments apart."""
        before = self.lines[statement.lineno - 1][: statement.col_offset]
        after = self.lines[(statement.end_lineno or statement.lineno) - 1][statement.end_col_offset :]
        rest = after.strip()
        return not before.strip() and (not rest or rest.startswith(b"#"))

    def with_parentheses(self, place: Place) -> Place:
        """The span with the parentheses that were put around it, which an atom does not need."""
        before = self.lines[place.line - 1][: place.column].rstrip()
        line = self.lines[place.end_line - 1]
        gap = len(line[place.end_column :]) - len(line[place.end_column :].lstrip())
        if not before.endswith(b"(") or line[place.end_column + gap : place.end_column + gap + 1] != b")":
            return place
        if re.search(rb"[\w\])]\s*$", before[:-1]) and not re.search(
            rb"\b(return|in|and|or|not|if|else|yield)\s*$", before[:-1]
        ):
            return place
        return Place(place.file, place.line, len(before) - 1, place.end_line, place.end_column + gap + 1)

    def after_parentheses(self, place: Place, call: ast.Call) -> Place:
        """Behind the parentheses that close after a call's last argument, before the call's own."""
        line = self.lines[place.line - 1]
        column = place.column
        while place.line < (call.end_lineno or 0) or column < (call.end_col_offset or 0) - 1:
            rest = line[column:].lstrip(b" \t")
            if not rest.startswith(b")"):
                break
            column = len(line) - len(rest) + 1
        return Place(place.file, place.line, column, place.line, column)

    @cached_property
    def width(self) -> int:
        """Of its longest line."""
        return max((len(line.rstrip()) for line in self.lines), default=0)


def parenthesised(text: str) -> str:
    """Text that can stand wherever a name can."""
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return f"({text})"
    if isinstance(body, ast.Constant) and isinstance(body.value, (int, float, complex)):
        return text
    return text if isinstance(body, _ATOMS) else f"({text})"


def literal(value: object) -> str:
    """A constant as Python writes it; infinities and NaN have no literal of their own."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    return repr(value)


class Words:
    """Fills the templates of one match."""

    def __init__(
        self,
        match: Match,
        source: Callable[[Code], Source],
        at: Node,
        holds: Callable[[str, Node], Node | None],
    ) -> None:
        self.match = match
        self.source = source
        self.at = at  #: the replacement is evaluated where this node was
        self.holds = holds  #: what a name will hold there
        self.layers = {layer.name for pattern in match.rule.patterns for layer in pattern.layers}
        self.removed = {name for kind, name, _ in match.rule.define if kind == "remove"}
        self.added: dict[str, str] = {}  #: layers that the rule adds, under the name that they get
        self.relied: list[Node] = []  #: values that the text takes from a name: whoever binds it has to stay
        self.moved: list[Node] = []  #: values whose expression is written out again
        self.mentioned: set[str] = set()  #: metavariables that the text has taken up
        self.repeated: set[str] = set()  #: metavariables that the current template says more than once
        self.said: dict[str, Node] = {}  #: names that the text says, and what they must hold

    def fill(self, template: str, *, constructing: bool = False) -> str:
        """The template with every metavariable replaced; a group without its metavariables is left out."""
        text = template
        while True:
            found = _GROUP.search(text)
            if found is None:
                break
            text = text[: found.start()] + self._group(found) + text[found.end() :]
        said = [part["name"] for part in _PART.finditer(text)]
        self.repeated = {name for name in said if name and said.count(name) > 1}
        return _PART.sub(lambda part: self._part(part, text, constructing), text)

    def _group(self, found: re.Match[str]) -> str:
        body = found["body"]
        if found["test"]:
            kept = (found["test"] in self.match.bound) != bool(found["not"])
        else:
            kept = all(self._known(part["name"]) for part in _PART.finditer(body) if part["name"])
        return body if kept else ""

    def _known(self, name: str) -> bool:
        return name in self.match.bound or name in self.added or name == "self"

    def _part(self, part: re.Match[str], text: str, constructing: bool) -> str:
        name, argument = part["name"], part["argument"]
        if name is None:
            return "$"
        self.mentioned.add(name)
        if name == "self":
            return self.receiver(constructing)
        if name in self.added:
            return f"{self.receiver(constructing)}.{self.added[name]}"
        node = self.match.bound.get(name)
        if node is None:
            raise CannotWrite(f"the rule's text needs `{name}`, which this place does not have", self.at.place)
        if argument:
            return self._argument(name, node, argument, constructing)
        if name in self.layers or node.kind in ("layer", "parameter"):
            return self.path(node, constructing)
        said = self.value(node)
        if name in self.repeated and not _CHEAP.fullmatch(said):
            raise CannotWrite(f"`{name}` would be computed more than once", node.place)
        return said if _stands_alone(text, part.start(), part.end()) else parenthesised(said)

    def receiver(self, constructing: bool = False) -> str:
        code = self.at.code
        if constructing:
            definitions = self.match.definitions.values()
            code = next((d.code for d in definitions), code)
        name = code.receiver()
        if name is None:
            raise CannotWrite("there is no `self` to take the layers from", self.at.place)
        return name

    def path(self, node: Node, constructing: bool = False) -> str:
        """`self.block[0]`: how the method says a layer or parameter."""
        definition = node.definition
        if definition is None:
            return self.value(node)
        return f"{self.receiver(constructing)}{attribute_path(definition)}"

    def _called(self, node: Node) -> str:
        """What an operation calls, without its arguments: `self.act`, `F.silu`."""
        call = node.expression
        if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords or node.code is not self.at.code:
            raise CannotWrite(f"the `{node.kind}` of line {node.place.line} is not a call of one argument", node.place)
        if node.definition is None and not isinstance(call.func, (ast.Name, ast.Attribute)):
            raise CannotWrite(f"the `{node.kind}` of line {node.place.line} has no name", node.place)
        return self.source(node.code).segment(call.func)

    def _argument(self, name: str, node: Node, argument: str, constructing: bool) -> str:
        if argument == "function":
            return self._called(node)
        if argument == "lowest":
            return self._lowest(node)
        definition = node.definition if name in self.layers else None
        if definition is None:
            found = node.attributes.get(argument)
            if found is None:
                raise CannotWrite(f"`{node.kind}` is written without `{argument}`", node.place)
            return self.value(found)
        if constructing:
            return self._constructor_argument(definition, argument)
        given = definition.arguments.get(argument)
        if given is not None and given.kind == "const":
            return literal(given.value)
        if name in self.removed:
            raise CannotWrite(f"`{argument}` of `{definition.path}` is not known without that layer", definition.place)
        if argument in _KEPT and definition.made_by.startswith("torch.nn."):
            return f"{self.path(node, constructing)}.{argument}"
        raise CannotWrite(f"`{argument}` of `{definition.path}` is not known here", definition.place)

    def _lowest(self, node: Node) -> str:
        """What hides a score when it is added: −inf and limits of dtypes as they are, other numbers as the lowest one,
        in which every score disappears, so that a row of them is as even as it was."""
        value = _without_conversions(node)
        if not (isinstance(value.value, (int, float)) and abs(value.value) < float("inf")):
            return self.value(node)
        return f"torch.finfo({parenthesised(self.value(self.match.bound['q']))}.dtype).min"

    def _constructor_argument(self, definition: Definition, argument: str) -> str:
        """An argument as the constructor's call says it, or its default."""
        call = definition.call
        if not isinstance(call, ast.Call):
            raise CannotWrite(f"`{definition.path}` is not made by a call", definition.place)
        source = self.source(definition.code)
        for keyword in call.keywords:
            if keyword.arg == argument:
                return parenthesised(source.segment(keyword.value))
        _, names = LAYERS.get(definition.made_by, ("", ()))
        if argument in names and names.index(argument) < len(call.args):
            given = call.args[names.index(argument)]
            if not any(isinstance(one, ast.Starred) for one in call.args):
                return parenthesised(source.segment(given))
        if argument in _DEFAULTS and not any(keyword.arg is None for keyword in call.keywords):
            return _DEFAULTS[argument]
        raise CannotWrite(f"`{argument}` of `{definition.path}` is not known", definition.place)

    # -- values ----------------------------------------------------------------------------------------------------

    def value(self, node: Node) -> str:
        """How a value is said where the replacement stands."""
        dropout = next((one for one in self.match.nodes if one.kind == "dropout" and _rate_of(one) is node), None)
        if dropout is not None:
            return self.rate(dropout)
        if node.kind == "const":
            return self._constant(node)
        plain = self._without_casts(node)
        name = self._name(node) or (self._name(plain) if plain is not node else None)
        if name is not None:
            return name
        if node.definition is not None and node.kind in ("layer", "parameter"):
            return self.path(node)
        if node.kind == "symbol" and self._says_self(node):
            return node.text
        return self._written(node)

    def _written(self, node: Node) -> str:
        """The expression of a value once more, if it means the same where the replacement stands."""
        if "equation" in node.attributes and node.kind in ("transpose", "permute"):
            return self._view_of_operand(node)
        expression = node.expression
        if not isinstance(expression, ast.expr) or node.code is not self.at.code or node.chain != self.at.chain:
            raise CannotWrite(f"{_said(node)} has no name where it is needed", node.place)
        text = self.source(node.code).segment(expression)
        for name, value in self._reads(expression, node.number):
            if value is None or self.holds(name, self.at) is not value:
                stand_in = self._of_same_type(name, expression, value)
                if stand_in is None:
                    raise CannotWrite(f"`{name}` holds something else where {_said(node)} is needed", node.place)
                text = re.sub(rf"\b{name}(?=\.(dtype|device)\b)", stand_in, text)
                continue
            self.said[name] = value
            self.relied.append(value)
        self.moved.append(node)
        return text

    def _view_of_operand(self, node: Node) -> str:
        """The view that an einsum takes of its operand, which no expression of the source says."""
        if node.kind != "transpose":
            raise CannotWrite(f"the einsum of line {node.place.line} permutes its operand", node.place)
        self.moved.append(node)
        return f"{parenthesised(self.value(node.inputs[0]))}.transpose(-2, -1)"

    def _of_same_type(self, name: str, expression: ast.expr, value: Node | None) -> str | None:
        """For `w.dtype`, where `w` is computed no more: the first tensor that it was computed from."""
        reads = [node for node in walk([expression]) if isinstance(node, ast.Name) and node.id == name]
        asked = [n.value for n in walk([expression]) if isinstance(n, ast.Attribute) and n.attr in ("dtype", "device")]
        if value is None or value not in self.match.nodes or not all(any(r is a for a in asked) for r in reads):
            return None
        for node in self._made_of(value):
            plain = self._without_casts(node)
            said = self._name(node) or (self._name(plain) if plain is not node else None)
            if said is not None:
                return said
        return None

    def _made_of(self, value: Node) -> Iterator[Node]:
        """The tensors outside of the match that a value inside it is computed from, the first operand first."""
        inner = {id(node) for node in (*self.match.nodes, *self.match.skipped)}
        for node in value.inputs:
            if id(node) in inner:
                yield from self._made_of(node)
            elif not node.is_scalar:
                yield node

    def _as_written(self, node: Node) -> str:
        """A constant in the words of the source (`-1e9`, `self.scale`), where they can be said again."""
        if not isinstance(node.expression, (ast.Constant, ast.UnaryOp, ast.Attribute)):
            return ""
        text = self.source(node.code).segment(node.expression)
        if isinstance(node.expression, ast.Attribute):  # `self.scale`, known to be 0.125, stays what it is called
            own = re.fullmatch(rf"{self.at.code.receiver()}(\.\w+)+", text) and node.code is self.at.code
            return text if own else ""
        try:
            return text if ast.literal_eval(text) == node.value else ""
        except (ValueError, SyntaxError):
            return ""

    def rate(self, dropout: Node) -> str:
        """The probability with which a dropout drops now: none outside of training."""
        if dropout.definition is not None:
            layer = self.path(dropout)
            return f"{layer}.p if {layer}.training else 0.0"
        p, training = _rate_of(dropout), dropout.attributes.get("training")
        said = "0.5" if p is None else self._constant(p) if p.kind == "const" else self._elsewhere(p)
        if training is None or (training.kind == "const" and training.value):
            return said
        if training.kind == "const":
            return "0.0"
        return f"{parenthesised(said)} if {parenthesised(self._elsewhere(training))} else 0.0"

    def _elsewhere(self, node: Node) -> str:
        """A value of the edited function, by name or expression."""
        name = self._name(node)
        if name is not None:
            return name
        if node.kind == "symbol" and self._says_self(node):
            return node.text
        return self._written(node)

    def _says_self(self, node: Node) -> bool:
        """A value such as `self.eps` means the same in every method of one object."""
        receiver = self.at.code.receiver()
        calls = [call.func for _, call in node.chain]
        own = all(
            isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.value.id == receiver for f in calls
        )
        return own and receiver is not None and re.fullmatch(rf"{receiver}(\.\w+)+", node.text) is not None

    def _name(self, node: Node) -> str | None:
        """A local name that holds a value where the replacement stands; that of the replaced code, if it has one."""
        if self.at.code is not self.match.graph.code or self.at.chain:
            return None
        names = [name for name in self.match.graph.bindings if self.holds(name, self.at) is node]
        if not names:
            return None
        expression = self.at.expression
        used = {n.id for n in walk([expression]) if isinstance(n, ast.Name)} if expression is not None else set()
        chosen = next((name for name in names if name in used), names[0])
        self.relied.append(node)
        self.said[chosen] = node
        return chosen

    def _without_casts(self, node: Node) -> Node:
        """The value before it was widened, where the match also narrows the result again."""
        narrowed = any(one.kind == "cast" and one is not node for one in self.match.skipped)
        while narrowed and node.kind == "cast" and node.inputs:
            node = node.inputs[0]
        return node

    def _reads(self, expression: ast.expr, moment: int) -> Iterator[tuple[str, Node | None]]:
        """The local names in an expression, with what they held when it was evaluated."""
        for read in walk([expression]):
            history = self.match.graph.bindings.get(read.id) if isinstance(read, ast.Name) else None
            if history is not None:
                at = bisect_right([when for when, _ in history], moment) - 1
                yield read.id, history[at][1] if at >= 0 else None  # type: ignore[attr-defined]

    def _constant(self, node: Node) -> str:
        if isinstance(node.value, (bool, int, float, str, bytes, complex, type(None))):
            return self._as_written(node) or literal(node.value)
        if isinstance(node.value, tuple) and all(isinstance(v, (bool, int, float, str)) for v in node.value):
            return repr(node.value)
        if isinstance(node.expression, ast.expr) and node.code is self.at.code:
            return self.source(node.code).segment(node.expression)
        raise CannotWrite(f"{_said(node)} cannot be written as a literal", node.place)


def _without_conversions(node: Node) -> Node:
    while node.kind in ("cast", "clone", "contiguous") and node.inputs:
        node = node.inputs[0]
    return node.number_held or node


def _rate_of(dropout: Node) -> Node | None:
    return dropout.attributes.get("p")


def attribute_path(definition: Definition) -> str:
    """`.q`, `.block[0]`."""
    return "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in definition.path.split("."))


def _said(node: Node) -> str:
    return f"the `{node.kind}` of line {node.place.line}" if not node.text else f"`{node.text}`"


def _stands_alone(text: str, start: int, stop: int) -> bool:
    """Whether a part of a template is a whole argument: nothing binds it to what is beside it."""
    before, after = text[:start].rstrip(), text[stop:].lstrip()
    return before[-1:] in ("", "(", ",", "=", "[") and after[:1] in ("", ")", ",", "]")
