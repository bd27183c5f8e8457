"""Shapes that depend on values: Python can read them in eager mode, and not while a graph is traced.

`tf.boolean_mask(x, m).shape[0]` is a number in eager mode and None in a trace; a Keras layer refuses a tensor whose
last dimension nobody knows. Where a function, with all it calls, both makes such a tensor and reads shapes of something
else than its own arguments, that must be looked at.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

from strop.source.facts import Place
from strop.source.hybridize.parameters import own_parameters
from strop.source.interpret.events import Call, Iteration
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import Tuple, Value
from strop.source.project.declarations import Code

#: operations whose results have shapes that depend on values
_BY_VALUE = {
    f"tensorflow.{name}"
    for name in [
        "boolean_mask",
        "unique",
        "unique_with_counts",
        "dynamic_partition",
        "repeat",
        "sequence_mask",
        "map_fn",
        "while_loop",
        "scan",
        "foldl",
        "foldr",
        "py_function",
        "numpy_function",
        "TensorArray.stack",
        "TensorArray.concat",
        "TensorArray.gather",
        "image.non_max_suppression",
        "image.decode_image",
        "image.decode_jpeg",
        "image.decode_png",
        "io.decode_raw",
        "io.decode_jpeg",
        "io.decode_png",
        "io.decode_image",
        "io.parse_tensor",
        "io.read_file",
        "strings.split",
        "cond",
        "switch_case",
        "case",
    ]
}
_BY_VALUE_UNDER = ("tensorflow.sparse.", "tensorflow.ragged.", "tensorflow.sets.", "tensorflow.RaggedTensor.")
#: operations whose results have unknown shapes where these arguments are tensors
_BY_ARGUMENT = {
    f"tensorflow.{name}": index
    for name, index in {
        "reshape": 1, "range": 0, "fill": 0, "zeros": 0, "ones": 0, "tile": 1, "pad": 1, "broadcast_to": 1,
        "one_hot": 1, "eye": 0, "slice": 1, "strided_slice": 1, "image.resize": 1, "random.uniform": 0,
        "random.normal": 0, "random.stateless_uniform": 0, "random.stateless_normal": 0, "linspace": 2,
        "image.pad_to_bounding_box": 3, "image.crop_to_bounding_box": 3, "image.crop_and_resize": 3,
    }.items()
}  # fmt: skip
_LAYERS = "tensorflow.keras.layers."
_READING = {"builtins.len", "tensorflow.unstack", "tensorflow.Tensor.get_shape", "tensorflow.Tensor.set_shape"}

_known: WeakKeyDictionary[Program, dict[str, tuple[list[tuple[str, Place]], list[Place]]]] = WeakKeyDictionary()


def unknown_shapes(program: Program, code: Code, reached: Sequence[str]) -> Iterator[str]:
    """The first shape that is read of something whose shape depends on values, as far as can be seen."""
    kept = _known.setdefault(program, {})
    made: list[tuple[str, Place]] = []
    read: list[Place] = []
    for other in reached:
        if other not in kept:
            found = program.code(other)
            kept[other] = list(_made(program, found)), list(_reads(program, found))
        made += kept[other][0]
        read += kept[other][1] if other != code.id else _reads(program, code, own=True)
    if made and read:
        operation, place = made[0]
        yield f"the shape that is read at {read[0]} does not depend on values, as that of `{operation}` at {place} does"


def reads_shapes(program: Program, id: str) -> bool:
    """Whether a function reads any shape in Python, its arguments' included."""
    return any(True for _ in _reads(program, program.code(id)))


def _made(program: Program, code: Code) -> Iterator[tuple[str, Place]]:
    for event in program.events(code.id):
        if isinstance(event, Iteration) and event.kind == "for" and _is_stream(event.over):
            yield "a dataset", event.place
        if not isinstance(event, Call):
            continue
        for target in event.targets:
            if (
                target in _BY_VALUE
                or target.startswith(_BY_VALUE_UNDER)
                or (target == "tensorflow.where" and len(event.args) + len(event.kwargs) < 3)
                or (target in _BY_ARGUMENT and _computed(event, _BY_ARGUMENT[target]))
                or (target == "tensorflow.Tensor.__getitem__" and any(value.holds_tensor() for value in event.args))
            ):
                yield target, event.place
    for node in code.own():
        if isinstance(node, ast.Slice) and any(_is_computed(bound) for bound in (node.lower, node.upper)):
            yield "a slice", code.place(node)


def loose_shapes(event: Call) -> Iterator[str]:
    """Shapes of several tensors, such as `tf.ones([n, m])`: eager mode also takes tensors of one element there."""
    for target in event.targets:
        if target in _BY_ARGUMENT and any(_is_loose(value) for value in event.args[_BY_ARGUMENT[target] :][:1]):
            yield f"the shape that `{target}` is given at {event.place} consists of scalars"


def _is_loose(value: Value) -> bool:
    items = [i for atom in value.atoms for i in (atom.items if isinstance(atom, Tuple) else ())]
    items += [obj.contents() for obj in value.objects() if obj.kind in ("list", "tuple")]
    return any(tensor.shape != () for item in items for tensor in item.tensors())


def _computed(event: Call, index: int) -> bool:
    values = [*event.args[index:], *(value for name, value in event.kwargs if name in ("shape", "dims", "size"))]
    return any(value.holds_tensor() for value in values)


def _is_computed(bound: ast.expr | None) -> bool:
    if bound is None or isinstance(bound, ast.Constant):
        return False
    return not (isinstance(bound, ast.UnaryOp) and isinstance(bound.operand, ast.Constant))


def _is_stream(value: Value) -> bool:
    return any(isinstance(o.cls, str) and o.cls.startswith("tensorflow.data.") for o in value.objects())


def _reads(program: Program, code: Code, own: bool = False) -> Iterator[Place]:
    """Places that need shapes; with `own`, those of arguments as they came do not count."""
    names = set(own_parameters(program, code.id)) if own else set()
    names -= {n.id for n in code.walk() if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in code.own():
        if isinstance(node, ast.Attribute) and node.attr == "shape" and not _is_module(node):
            if isinstance(node.value, ast.Name) and node.value.id in names:
                continue
            yield code.place(node)
    for event in program.events(code.id):
        if (isinstance(event, Iteration) and event.kind != "for" and event.over.only_tensors()) or (
            isinstance(event, Call) and any(t in _READING or t.startswith(_LAYERS) for t in event.targets)
        ):
            yield event.place


def _is_module(node: ast.Attribute) -> bool:
    """`tf.shape` is an operation."""
    return isinstance(node.value, ast.Name) and node.value.id in ("tf", "tensorflow", "ops", "K", "keras")
