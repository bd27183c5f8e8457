"""`input_signature` for a graph function, from the tensors that its callers pass; proposed only where it is asked for.

A signature is exact: callers that the scan does not see may pass other shapes. A dimension that differs is None in the
trace, so a function that reads shapes in Python gets none with such a dimension, and a Variable that is passed would
become a tensor that cannot be assigned to.
"""

from __future__ import annotations

from strop.source.hybridize.parameters import own_parameters
from strop.source.hybridize.shapes import reads_shapes
from strop.source.interpret.heap import Object
from strop.source.interpret.interpreter import Program
from strop.source.interpret.joins import merged_shape
from strop.source.interpret.values import Tensor, Tuple, Value

_DTYPES = frozenset(
    [
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
        "string",
        "complex64",
        "complex128",
    ]
)


def has_signature(program: Program, id: str) -> bool:
    mark = program.graph(id)
    if mark is None:
        return False
    given = mark.kwargs.get("input_signature")
    return given is not None and not given.is_none()


def infer(program: Program, id: str, tf: str) -> str | None:
    """The list of `tf.TensorSpec`s, or None where a dtype is not known or a parameter is no tensor."""
    specs = []
    for parameter in own_parameters(program, id).values():
        if parameter.kind in ("args", "kwargs", "keyword"):
            return None
        if not parameter.given and parameter.default is not None:
            return None
        spec = _spec(parameter.value, tf)
        if spec is None:
            return None
        specs.append(spec)
    text = f"[{', '.join(specs)}]" if specs else None
    if text is not None and "None" in text and any(reads_shapes(program, other) for other, _ in program.reached(id)):
        return None
    return text


def _spec(value: Value, tf: str) -> str | None:
    if len(value.atoms) == 1 and isinstance(value.atoms[0], Tuple):
        parts = [_spec(item, tf) for item in value.atoms[0].items]
        inside = [part for part in parts if part is not None]
        return f"({', '.join(inside)},)" if len(inside) == len(parts) and parts else None
    if not value.only_tensors() or any(isinstance(atom, Object) for atom in value.atoms):
        return None
    tensors = [atom for atom in value.atoms if isinstance(atom, Tensor)]
    dtypes = {tensor.dtype for tensor in tensors}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    if dtype not in _DTYPES or any(tensor.kind != "tensor" for tensor in tensors):
        return None
    shape = merged_shape([tensor.shape for tensor in tensors])
    text = "None" if shape is None else "[" + ", ".join(str(d) for d in shape) + "]"
    return f"{tf}.TensorSpec(shape={text}, dtype={tf}.{dtype})"
