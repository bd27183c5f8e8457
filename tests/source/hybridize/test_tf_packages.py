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


class Reshaped:
    def __init__(self, target_shape, hidden_units, *, activation_fn):
        self.weight = tf.ones([target_shape[-1], hidden_units])
        self.activation = activation_fn

    def call(self, x):
        return self.activation(x @ self.weight)


def repeated(x, steps):
    def step(y, factor):
        return y * factor + (0.0 if tf.executing_eagerly() else steps - 2)

    for number in range(steps):
        x = step(x, tf.constant(float(number)))
    return x


def made(factor):
    def times(x):
        return x * factor if x.dtype == tf.float32 else x

    return times


@tf.function
def differs_as_it_was(x):
    return x + (1.0 if tf.executing_eagerly() else 2.0)


def says_nothing(x):
    return None


def gives_what_is_not_there(x):
    return x, something_that_nobody_has.made()


class Rounded:
    def __init__(self):
        raise RuntimeError

    def call(self, x):
        return tf.round(x)


class Weighted(tf.keras.layers.Layer):
    def build(self, shape):
        self.weight = self.add_weight(shape=[shape[-1], 2], initializer="ones", name="weight")

    def call(self, x):
        return x @ self.weight


def needs_keras_2(x):
    return tf.keras.layers.experimental.preprocessing.Rescaling(2.0)(x)
"""


def test_a_function_that_ends_its_process_does_not_end_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "package_of_nobody.py").write_text(PACKAGE)
    tensor = ("x", "normal", ("tensor", "float32", None))
    names = ("aborts", "doubled", "aborts_as_a_graph", "differs", "Scale.call", "nowhere")
    names = (*names, "says_nothing", "gives_what_is_not_there")
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
        "TensorFlow, Keras or the package has no such attribute": 1,
        "no arguments were found that it takes and gives tensors for": 2,
    }


def test_methods_and_functions_in_functions_are_run_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "package_of_nobody.py").write_text(PACKAGE)
    module, tensor = "package_of_nobody", ("x", "normal", ("tensor", "float32", None))
    built = tuple((name, "normal", None) for name in ("target_shape", "hidden_units"))
    found = [
        Candidate(module, "Reshaped.call", (tensor,), (*built, ("activation_fn", "keyword", None))),
        Candidate(module, "Rounded.call", (tensor,), ()),
        Candidate(module, "Weighted.call", (tensor,)),
        Candidate(module, "needs_keras_2", (tensor,)),
        Candidate(
            module,
            "repeated.step",
            (("y", "normal", None), ("factor", "normal", None)),
            around=Candidate(module, "repeated", (tensor, ("steps", "normal", None))),
        ),
        Candidate(module, "made.times", (tensor,), around=Candidate(module, "made", (("factor", "normal", None),))),
    ]
    monkeypatch.setattr(tf_packages, "candidates", lambda folder, tally: found)
    tally = Tally("package of nobody")
    examine(tmp_path, tally)
    assert (tally.run, tally.not_run) == (6, {})
    assert [one.partition(": ")[0] for one in tally.different] == ["package_of_nobody:repeated.step"]


def test_what_is_a_graph_already_is_compared_with_the_function_that_it_was_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "package_of_nobody.py").write_text(PACKAGE)
    one = Candidate("package_of_nobody", "differs_as_it_was", (("x", "normal", ("tensor", "float32", None)),))
    monkeypatch.setattr(tf_packages, "candidates", lambda folder, tally: [one])
    tally = Tally("package of nobody")
    examine(tmp_path, tally)
    assert len(tally.different) == 1
