"""Reading ONNX files without trusting them: size, structure and paths are checked before anything is computed."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto
from torch import Tensor

from strop.core.problem import Problem
from strop.frontend.onnx.element_types import from_numpy

#: protobuf's own limit; larger models keep their weights beside the file
LARGEST_FILE = 2**31
#: elements of one tensor in a file
LARGEST_TENSOR = 2**34
#: graphs inside graphs
DEEPEST = 32
#: an operator cannot have more inputs or outputs than this, nor a tensor more dimensions
MOST_DIMENSIONS = 64

_DAMAGED = "the file is damaged, or was not written by an ONNX exporter"


def read(source: str | os.PathLike[str] | bytes | ModelProto) -> tuple[ModelProto, Path | None]:
    """The model, structurally checked, and the folder in which its external data may lie."""
    if isinstance(source, ModelProto):
        _check_model(source, "the model")
        return source, None
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _parsed(bytes(source), "the model"), None
    path = Path(source)
    if not path.is_file():
        raise Problem("STR002", f"there is no file `{path}`", help="give the path of an .onnx file")
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise Problem("STR121", f"`{path.name}` has {size} bytes; an ONNX file has at most {LARGEST_FILE}", where=path,
                      help="save it with external data")  # fmt: skip
    return _parsed(path.read_bytes(), path.name), path.parent


def _parsed(data: bytes, name: str) -> ModelProto:
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:  # protobuf raises its own kinds, which differ between its implementations
        raise Problem("STR121", f"`{name}` is no ONNX model: {error}", help=_DAMAGED) from error
    _check_model(model, name)
    return model


def _check_model(model: ModelProto, name: str) -> None:
    if not model.HasField("graph"):
        raise Problem("STR121", f"`{name}` holds no graph", help=_DAMAGED)
    if not model.opset_import:
        raise Problem("STR121", f"`{name}` does not say which opset it uses", help=_DAMAGED)
    _check_graph(model.graph, 0)
    for function in model.functions:
        for node in function.node:
            _check_node(node, 0)


def _check_graph(graph: GraphProto, depth: int) -> None:
    if depth > DEEPEST:
        raise Problem("STR121", f"graphs are nested more than {DEEPEST} deep", where=graph.name, help=_DAMAGED)
    for node in graph.node:
        _check_node(node, depth)


def _check_node(node: NodeProto, depth: int) -> None:
    if any(not isinstance(text, str) for text in (node.name, node.op_type, node.domain, *node.input, *node.output)):
        raise Problem("STR121", "a node with a name that is not UTF-8", where=repr(node.name), help=_DAMAGED)
    if not node.op_type:
        raise Problem("STR121", "a node without an operator", where=place_of(node), help=_DAMAGED)
    for graph in subgraphs(node):
        _check_graph(graph, depth + 1)


def place_of(node: NodeProto) -> str:
    """How messages name a node."""
    outputs = ", ".join(name for name in node.output if name)
    name = f"`{node.name}`" if node.name else f"making `{outputs}`"
    return f"node {name} ({node.op_type})"


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


# ---- tensors ----


@functools.cache
def memory() -> int:
    """Bytes that this machine has, or a number that no machine has where it does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 2**46


def tensor_of(proto: TensorProto, folder: Path | None) -> Tensor | np.ndarray[Any, Any]:
    """The value of a stored tensor; strings stay a NumPy array of objects."""
    where = f"tensor `{proto.name}`"
    count = _count(proto.dims, where)
    if proto.data_type == TensorProto.UNDEFINED or proto.data_type not in TensorProto.DataType.values():
        raise Problem("STR121", f"unknown element type {proto.data_type}", where=where, help=_DAMAGED)
    try:
        if proto.data_location == TensorProto.EXTERNAL:
            proto = _with_external(proto, folder, count, where)
        array = onnx.numpy_helper.to_array(proto)
    except Problem:
        raise
    except Exception as error:  # to_array checks little, and NumPy's complaint says what is wrong
        raise Problem("STR121", f"its data does not fit its shape: {error}", where=where, help=_DAMAGED) from error
    if list(array.shape) != list(proto.dims):
        raise Problem("STR121", f"its data has shape {list(array.shape)}, not {list(proto.dims)}", where=where,
                      help=_DAMAGED)  # fmt: skip
    if array.dtype == object:
        return _strings(array)
    return from_numpy(array)


def _count(dims: Sequence[int], where: str) -> int:
    if len(dims) > MOST_DIMENSIONS or any(extent < 0 for extent in dims):
        raise Problem("STR121", f"a tensor of shape {list(dims)[:8]}", where=where, help=_DAMAGED)
    count = prod(dims)
    if count > LARGEST_TENSOR:
        raise Problem("STR121", f"a tensor of {count} elements", where=where, help=_DAMAGED)
    return count


def _strings(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    texts = [item.decode("utf-8", "replace") if isinstance(item, bytes) else item for item in array.reshape(-1)]
    made = np.empty(len(texts), dtype=object)
    made[:] = texts
    shaped: np.ndarray[Any, Any] = made.reshape(array.shape)
    return shaped


def _with_external(proto: TensorProto, folder: Path | None, count: int, where: str) -> TensorProto:
    """A copy of the tensor with its bytes inside; they must lie in the model's own folder."""
    entries = {entry.key: entry.value for entry in proto.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise Problem("STR122", f"its data lies in `{location}`, and the model did not come from a file", where=where,
                      help="give the path of the model")  # fmt: skip
    path = _inside(folder, location, where)
    try:
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", -1))
    except ValueError as error:
        raise Problem("STR122", f"its offset or length is no number: {error}", where=where, help=_DAMAGED) from error
    size = path.stat().st_size
    length = max(size - offset, 0) if length < 0 else length
    if not 0 <= offset <= size or offset + length > size:
        raise Problem("STR122", f"bytes {offset} to {offset + length} of `{location}`, which has {size}", where=where,
                      help="the data file is shorter than the model says")  # fmt: skip
    if length > 16 * max(count, 1):
        raise Problem("STR122", f"{length} bytes for {count} elements", where=where, help=_DAMAGED)
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read(length)
    inside = TensorProto(name=proto.name, data_type=proto.data_type, dims=proto.dims)
    inside.raw_data = data
    return inside


def _inside(folder: Path, location: str, where: str) -> Path:
    """The data file, links resolved, if it is under the model's folder."""
    refused = Problem("STR122", f"its data would be read from `{location}`, outside the model's folder", where=where,
                      help="external data must lie beside the model or below")  # fmt: skip
    if not location or "\0" in location or Path(location).is_absolute() or "\\" in location or ":" in location:
        raise refused
    root = folder.resolve()
    path = (root / location).resolve()
    if root not in path.parents:
        raise refused
    if not path.is_file():
        raise Problem("STR122", f"there is no file `{location}`", where=where, help="copy it beside the model")
    return path


def dense(proto: onnx.SparseTensorProto, folder: Path | None) -> Tensor:
    """A sparse initialiser with its zeros."""
    import torch

    where = f"sparse tensor `{proto.values.name}`"
    count = _count(proto.dims, where)
    values, indices = tensor_of(proto.values, folder), tensor_of(proto.indices, folder)
    if not isinstance(values, Tensor) or not isinstance(indices, Tensor) or count > 2**28:
        raise Problem("STR121", f"a sparse tensor of {count} elements", where=where, help=_DAMAGED)
    made = torch.zeros(count, dtype=values.dtype)
    if indices.dim() == 2:
        steps = torch.tensor([prod(proto.dims[i + 1 :]) for i in range(len(proto.dims))])
        indices = (indices * steps).sum(1)
    if indices.numel() and (int(indices.min()) < 0 or int(indices.max()) >= count):
        raise Problem("STR121", "an index outside of its shape", where=where, help=_DAMAGED)
    made[indices] = values.reshape(-1)
    return made.reshape(list(proto.dims))
