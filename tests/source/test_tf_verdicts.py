"""Verdicts that only running TensorFlow settles: signatures that are contracts, dtypes that meet once an array is a
tensor, results that a graph refuses, replicas, symbolic inputs on one path only, callers that nobody calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from source_facts import facts

X = "import numpy as np\nx = tf.ones([2])\nv = tf.Variable(tf.zeros([2]))\nw = tf.Variable(tf.zeros([2, 2]))\n"
SPEC = "@tf.function(input_signature=[tf.TensorSpec([], tf.int32)])"

#: graph functions whose signature converts what callers pass, or is what an exported model offers
SIGNED = {
    "a number becomes a tensor": f"{SPEC}\ndef f(n):\n  return n + 1\nf(3)",
    "nothing is computed": f"{SPEC}\ndef f(n):\n  return n\nf(tf.constant(3))",
    "no parameters": "@tf.function(input_signature=[])\ndef f():\n  return tf.constant(1)\nf()",
    "a number beside a tensor": "@tf.function(input_signature=[tf.TensorSpec([2]), tf.TensorSpec([], tf.int32)])\n"
    "def f(t, n):\n  return t * tf.cast(n, tf.float32)\nf(x, 3)\nf(x, 4)",
}


@pytest.mark.parametrize("case", SIGNED)
def test_a_graph_function_with_a_signature_stays_one(case: str, tmp_path: Path) -> None:
    assert facts(tmp_path, X + SIGNED[case])["f"].verdict == "keep"


def test_without_a_signature_it_becomes_eager(tmp_path: Path) -> None:
    assert facts(tmp_path, "@tf.function\ndef f(n):\n  return n + 1\nf(3)")["f"].verdict == "to_eager"


#: eager mode converts the array to the dtype that it meets; a graph has made a float64 tensor of it before
MEETING = {
    "operator": "def f(a):\n  return v * a\nf(np.array([1.5, 2.5]))",
    "whole numbers and fractions": "def f(a):\n  return v * a\nf(np.array([1, 2.5]))",
    "whole numbers": "def f(a):\n  return v * a\nf(np.array([1, 2]))",
    "by the builtin type": "def f(a):\n  return v * a\nf(np.zeros(2, float))",
    "random numbers": "def f(a):\n  return v * a\nf(np.random.rand(2))",
    "a Variable of one random number": "r = tf.Variable(np.random.randn())\ndef f(a):\n  return r * a\nf(np.array([1.5]))",
    "another parameter": "def f(a, t):\n  return tf.abs(a - t)\nf(np.array([1.5, 2.5]), x)",
    "comparison": "def f(a):\n  return tf.reduce_any(v > a)\nf(np.array([1.5, 2.5]))",
    "multiply": "def f(a):\n  return tf.multiply(v, a)\nf(np.array([1.5, 2.5]))",
    "by keyword": "def f(a):\n  return tf.multiply(x=v, y=a)\nf(np.array([1.5, 2.5]))",
    "matmul": "def f(a):\n  return tf.matmul(w, a, transpose_b=True)\nf(np.array([[1.5, 2.5], [0.5, 1.0]]))",
    "einsum": "def f(a):\n  return tf.einsum('i,i->', v, a)\nf(np.array([1.5, 2.5]))",
    "passed on": "def g(a):\n  return a\ndef f(a):\n  return v * a\nf(g(np.array([1.5, 2.5])))",
}


@pytest.mark.parametrize("case", MEETING)
def test_an_array_that_meets_another_dtype_is_refused(case: str, tmp_path: Path) -> None:
    found = facts(tmp_path, X + MEETING[case])["f"]
    assert "STR144" in [reason.code for reason in found.reasons]
    assert found.verdict == "keep"


AGREEING = {
    "float32": "def f(a):\n  return v * a\nf(np.array([1.5, 2.5], dtype=np.float32))",
    "astype": "def f(a):\n  return v * a\nf(np.array([1.5, 2.5]).astype(np.float32))",
    "cast": "def f(a):\n  return v * tf.cast(a, tf.float32)\nf(np.array([1.5, 2.5]))",
    "cast to the same name": "def f(a):\n  a = tf.cast(a, tf.float32)\n  return v * a\nf(np.array([1.5, 2.5]))",
    "matmul": "def f(a):\n  return tf.matmul(w, a)\nf(np.ones([2, 2], np.float32))",
    "random numbers": "u = tf.Variable(np.random.rand(2))\ndef f(a):\n  return u * a\nf(np.random.rand(2))",
    "a number of an operation": "def f(a):\n  return tf.reduce_sum(a, 0) * 2.0\nf(np.array([1.5, 2.5]))",
}


@pytest.mark.parametrize("case", AGREEING)
def test_an_array_that_meets_its_own_dtype_is_not_refused(case: str, tmp_path: Path) -> None:
    assert facts(tmp_path, X + AGREEING[case])["f"].verdict == "to_graph"


#: `tf.function` raises TypeError for these results, whatever the arguments are
REFUSED = {
    "operation": "def f(t):\n  return tf.group([v.assign_add(t)])\nf(x)",
    "assertion": "def f(t):\n  return tf.debugging.assert_greater(t, 0.0)\nf(x)",
    "the operation of a tensor": "def f(t):\n  return v.assign_add(t).op\nf(x)",
    "optimizer": "def f(t):\n  t = t * 2.0\n  return tf.keras.optimizers.SGD()\nf(x)",
    "model beside a tensor": "m = tf.keras.Sequential([])\ndef f(t):\n  return m, t * 2.0\nf(x)",
    "own object": "class C:\n  pass\nc = C()\ndef f(t):\n  return t * 2.0, c\nf(x)",
    "function": "def f(t):\n  y = t * 2.0\n  def g():\n    return y\n  return g\nf(x)",
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_result_that_a_graph_cannot_return_is_refused(case: str, tmp_path: Path) -> None:
    found = facts(tmp_path, X + REFUSED[case])["f"]
    assert "STR188" in [reason.code for reason in found.reasons]
    assert found.verdict == "keep"


RETURNABLE = {
    "named tuple": "from typing import NamedTuple\nclass P(NamedTuple):\n  a: tf.Tensor\n"
    "def f(t):\n  return P(t * 2.0)\nf(x)",
    "made named tuple": "import collections\nP = collections.namedtuple('P', 'a b')\n"
    "def f(t):\n  return P(t * 2.0, t), {'n': None}\nf(x)",
    "class of a stranger": "import stranger\nclass C(stranger.Base):\n  pass\nc = C()\n"
    "def f(t):\n  return t * 2.0, c\nf(x)",
    "structure of its own": "class C:\n  def __tf_flatten__(self):\n    return (), ()\nc = C()\n"
    "def f(t):\n  return t * 2.0, c\nf(x)",
    "dataset": "def f(t):\n  return tf.data.Dataset.from_tensor_slices(t * 2.0)\nf(x)",
    "an operation on one path": "def f(t):\n  if t.shape[0] > 3:\n    return tf.group([v.assign_add(t)])\n"
    "  return t * 2.0\nf(x)",
    "operations inside": "def f(t):\n  tf.group([v.assign_add(t)])\n  return t * 2.0\nf(x)",
    "extension type": "class E(tf.experimental.ExtensionType):\n  a: tf.Tensor\ndef f(t):\n  return E(t * 2.0)\nf(x)",
}


@pytest.mark.parametrize("case", RETURNABLE)
def test_a_result_that_a_graph_may_return_is_not_refused(case: str, tmp_path: Path) -> None:
    assert facts(tmp_path, X + RETURNABLE[case])["f"].verdict == "to_graph"


GRADIENT = "  e = tf.exp(t)\n  def grad(u):\n    return u * e\n  return e, grad\n"


def indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


def test_a_method_with_a_gradient_of_its_own_is_refused(tmp_path: Path) -> None:
    method = indented("@tf.custom_gradient\ndef f(self, t):\n" + GRADIENT)
    static = indented("@staticmethod\n@tf.custom_gradient\ndef g(t):\n" + GRADIENT)
    found = facts(tmp_path, f"class C:\n{method}{static}c = C()\nc.f(tf.constant(1.0))\nC.g(tf.constant(1.0))")
    assert found["C.f"].verdict == "keep"
    assert found["C.g"].verdict == "to_graph"


STEP = (
    "opt = tf.keras.optimizers.SGD(0.1)\nv = tf.Variable(1.0)\n"
    "def inner(t):\n  with tf.GradientTape() as tape:\n    loss = v * t\n"
    "  opt.apply_gradients([(tape.gradient(loss, v), v)])\n  return loss\ndef step(t):\n  return inner(t) * 2.0\n"
)


def test_what_a_strategy_runs_is_not_safe(tmp_path: Path) -> None:
    run = (
        "s = tf.distribute.MirroredStrategy()\ndef outer(t):\n  return s.run(step, args=(t,))\nouter(tf.constant(1.0))"
    )
    found = facts(tmp_path, STEP + run)
    assert found["step"].safety == found["inner"].safety == "safe-if"
    assert any("replica" in text for text in found["inner"].assumptions)
    assert not any("replica" in text for text in found["outer"].assumptions)


def test_without_a_strategy_a_step_is_safe(tmp_path: Path) -> None:
    assert facts(tmp_path, STEP + "step(tf.constant(1.0))")["step"].safety == "safe"


def test_an_input_that_is_symbolic_on_one_path_is_an_assumption(tmp_path: Path) -> None:
    source = "i = tf.keras.Input([4])\nif tf.executing_eagerly():\n  p = tf.ones([2, 4])\nelse:\n  p = i\n"
    found = facts(tmp_path, source + "def f(t):\n  return tf.abs(t)\nf(p)\ndef g(t):\n  return tf.abs(t)\ng(i)")
    assert (found["f"].verdict, found["f"].safety) == ("to_graph", "safe-if")
    assert found["g"].verdict == "keep"


CALLED = "def f(t):\n  return tf.reduce_sum(t)\n@tf.function\ndef live(t):\n  return f(t) * 2.0\n"


def test_a_caller_that_nobody_calls_is_no_reason_for_a_graph(tmp_path: Path) -> None:
    dead = "def dead(t):\n  return f(t) + 1.0\nlive(tf.ones([2]))"
    assert facts(tmp_path, CALLED + dead)["f"].verdict == "no_benefit"


def test_a_caller_that_runs_in_eager_mode_is_one(tmp_path: Path) -> None:
    eager = "def eager(t):\n  return f(t) + 1.0\nlive(tf.ones([2]))\neager(tf.ones([2]))"
    assert facts(tmp_path, CALLED + eager)["f"].verdict == "to_graph"


def test_where_nobody_calls_any_of_them_nothing_is_known(tmp_path: Path) -> None:
    assert facts(tmp_path, CALLED.replace("f(t):", "f(t: tf.Tensor):", 1) + "def other(t):\n  return f(t)")["f"].verdict == "to_graph"  # fmt: skip
