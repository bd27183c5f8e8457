"""Preprocessors of speech recognisers (out of the package `onnx-asr`), against ONNX Runtime and against float64."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import AttributeProto, TensorProto, numpy_helper

from numerics.cases import Cases
from numerics.judge import FACTOR, Setting
from numerics.sounds import SOUNDS
from strop.core.options import Options
from strop.runtime.onnx.model import compile_onnx

CLOSE = 1e-4  # of the output's scale
NAMES = ("nemo128", "nemo128_conv", "kaldi")
OTHERS = (
    "nemo80", "nemo80_conv", "kaldi_conv", "wespeaker", "gigaam_v2", "gigaam_v2_conv", "gigaam_v3", "gigaam_v3_conv",
    "whisper80", "whisper80_conv",
)  # fmt: skip


def file(name: str) -> Path:
    package = find_spec("onnx_asr")
    assert package is not None and package.origin is not None, "a package of the `test` extra"
    return Path(package.origin).parent / "preprocessors" / "data" / f"{name}.onnx"


def peer(model: Any, feeds: dict[str, np.ndarray]) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, feeds)[0])


def in_double(path: Path) -> bytes:
    """The model with every float32 as float64."""
    model = onnx.load(path)
    _widen_graph(model.graph)
    for function in model.functions:
        _widen_nodes(function.node)
    return bytes(model.SerializeToString())


def _widen_graph(graph: Any) -> None:
    for tensor in graph.initializer:
        _widen(tensor)
    for value in (*graph.input, *graph.output, *graph.value_info):
        kind = value.type.tensor_type
        kind.elem_type = TensorProto.DOUBLE if kind.elem_type == TensorProto.FLOAT else kind.elem_type
    _widen_nodes(graph.node)


def _widen_nodes(nodes: Any) -> None:
    for attribute in (one for node in nodes for one in node.attribute):
        if attribute.HasField("t"):
            _widen(attribute.t)
        if attribute.HasField("g"):
            _widen_graph(attribute.g)
        if attribute.name == "value_float":
            value = attribute.f
            attribute.Clear()
            attribute.name, attribute.type = "value", AttributeProto.TENSOR
            attribute.t.CopyFrom(numpy_helper.from_array(np.float64(value)))
        if attribute.name in ("to", "dtype") and attribute.i == TensorProto.FLOAT:
            attribute.i = TensorProto.DOUBLE


def _widen(tensor: Any) -> None:
    if tensor.data_type == TensorProto.FLOAT:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


@pytest.mark.parametrize("sound", ["voice", "quiet"])
@pytest.mark.parametrize("name", [*NAMES, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_preprocessor(name: str, sound: str, default: Setting, cases: Cases) -> None:
    """Against float64, the runtime's own error is the yardstick; where that is small, results agree."""
    path = file(name)
    wave = SOUNDS[sound].numpy()
    feeds = {"waveforms": wave, "waveforms_lens": np.array([wave.shape[1]], np.int64)}
    options = Options(threads=1, numerics=default.numerics, target=default.target)  # type: ignore[arg-type]
    got = np.asarray(next(iter(compile_onnx(str(path), feeds, options=options).run(feeds).values())))
    theirs = peer(str(path), feeds)
    # the runtime has no convolution in float64: the same function by its other file
    exact = peer(in_double(file(name.removesuffix("_conv"))), {**feeds, "waveforms": wave.astype(np.float64)})
    scale = float(np.abs(exact).max())
    ours, runtime = float(np.abs(got - exact).max()), float(np.abs(theirs - exact).max())
    assert ours <= max(FACTOR * runtime, CLOSE * scale)
    if runtime <= CLOSE / 2 * scale:
        assert float(np.abs(got - theirs).max()) <= CLOSE * scale
    cases.add("speech preprocessors")
