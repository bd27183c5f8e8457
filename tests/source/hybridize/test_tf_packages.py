"""The judge of TensorFlow packages: a function that ends its process is one row, and says nothing of the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
pytest.importorskip("tensorflow")

from source.hybridize import tf_packages
from source.hybridize.tf_arguments import Candidate
from source.hybridize.tf_packages import Tally, examine

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

PACKAGE = """
import os
import tensorflow as tf
import something_that_nobody_has


def doubled(x):
    return x * 2.0


def aborts(x):
    os.abort()


def aborts_as_a_graph(x):
    if not tf.executing_eagerly():
        os.abort()
    return x


def differs(x):
    return x + (1.0 if tf.executing_eagerly() else 2.0)


def takes_matrices(a, b):
    return tf.matmul(a[tf.newaxis], tf.transpose(b)) if a.shape.rank == 1 and b.shape.rank == 2 else tf.linalg.det(a)


class Scale:
    def __init__(self, by=2.0):
        self.by = by

    def call(self, x):
        return x * self.by
"""


def test_a_function_that_ends_its_process_does_not_end_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "package_of_nobody.py").write_text(PACKAGE)
    tensor = ("x", "normal", ("tensor", "float32", None))
    names = ("aborts", "doubled", "aborts_as_a_graph", "differs", "Scale.call", "nowhere")
    found = [Candidate("package_of_nobody", name, (tensor,)) for name in names]
    found.append(Candidate("package_of_nobody", "takes_matrices", (("a", "normal", None), ("b", "normal", None))))
    monkeypatch.setattr(tf_packages, "candidates", lambda folder, tally: found)
    tally = Tally("package of nobody")
    examine(tmp_path, tally)
    assert tally.run == 5, tally
    assert sorted(one.partition(": ")[0] for one in tally.different) == [
        "package_of_nobody:aborts_as_a_graph",
        "package_of_nobody:differs",
    ]
    assert tally.not_run == {
        "TensorFlow ends the process (signal 6)": 1,
        "a function in a function, or an object that has no such attribute": 1,
    }
