"""A sample of ONNX's own node tests; `make test-onnx` runs all of them and checks excluded.txt."""

import json
import zlib

import pytest

import onnx_suite

#: about 150 of 1,884
_EVERY = 12
_SAMPLE = [
    name for name in onnx_suite.cases() if not onnx_suite.excluded(name) and zlib.crc32(name.encode()) % _EVERY == 0
]


@pytest.mark.parametrize("name", _SAMPLE, ids=onnx_suite.short)
def test_a_node_test_passes(name):
    assert onnx_suite.run(name) == ""


def test_the_sample_is_worth_its_name():
    assert len(_SAMPLE) > 120


def test_exclusions_name_tests_that_exist_and_give_reasons():
    names = {onnx_suite.short(name) for name in onnx_suite.cases()}
    for pattern, reason in onnx_suite.exclusions().items():
        assert len(reason) > 20, pattern
        assert any(onnx_suite.fnmatch.fnmatchcase(name, pattern) for name in names), pattern


def test_the_count_in_the_docs_meets_the_bar():
    kept = json.loads(onnx_suite.RESULTS.read_text(encoding="utf-8"))
    assert kept["passed"] >= 0.86 * kept["tests"]
    assert kept["usual_passed"] >= 0.95 * kept["usual"]
    listed = [name for name in onnx_suite.cases() if onnx_suite.excluded(name)]
    assert kept["passed"] >= kept["tests"] - len(listed)
