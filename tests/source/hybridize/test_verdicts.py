"""The table of preconditions for `tf.function`, row by row, and each reason for saying no."""

from __future__ import annotations

from pathlib import Path

import pytest

from source_facts import facts

X = "x = tf.ones([2, 3])\n"

VERDICTS = {
    "P1": ("def f(t):\n  return t + 1\nf(x)", "to_graph"),
    "P2": ("@tf.function\ndef f(n):\n  return n\nf(3)", "to_eager"),
    "P2 without parameters": ("@tf.function\ndef f():\n  return tf.ones([1])\nf()", "to_eager"),
    "P3": ("@tf.function\ndef f(t, n):\n  for _ in range(n):\n    t = t * 2.0\n  return t\nf(x, 3)", "to_eager"),
    "P3 lifted": ("@tf.function\ndef f(t, n):\n  return t * n\nf(x, 3.0)\nf(x, 4.0)", "lift_primitive"),
    "P4": ("@tf.function\ndef f(t):\n  return t * 2.0\nf(x)", "add_signature"),
    "P6": ("@tf.function\ndef f(t):\n  return t\nf(x)", "to_eager"),
    "has a signature": (
        "@tf.function(input_signature=[tf.TensorSpec([2, 3])])\ndef f(t):\n  return t * 2.0\nf(x)",
        "keep",
    ),
    "signature unknown": ("@tf.function\ndef f(t):\n  return t * 2.0\nf(tf.io.parse_tensor('a'))", "keep"),
    "graph with effects": ("@tf.function\ndef f(t):\n  print(t)\n  return t * 2.0\nf(x)", "keep"),
    "graph and recursive": (
        "@tf.function\ndef f(t):\n  if t[0] > 9.0:\n    return t\n  return f(t + 1.0)\nf(x)",
        "keep",
    ),
    "eager with effects": ("def f(t):\n  print(t)\n  return t * 2.0\nf(x)", "keep"),
    "eager and recursive": ("def f(t):\n  if t[0] > 9.0:\n    return t\n  return f(t + 1.0)\nf(x)", "keep"),
    "eager with primitive": ("def f(t, n):\n  return t * n\nf(x, 3)", "keep"),
    "eager without tensors": ("def f(n):\n  return n\nf(3)", "no_benefit"),
    "eager without computation": ("def f(t):\n  return t\nf(x)", "no_benefit"),
    "unknown tensors": ("def f(t):\n  return t", "unknown"),
    "unknown effects": ("import stranger\ndef f(t):\n  stranger.go(t)\n  return t * 2.0\nf(x)", "unknown"),
    "only graph callers": ("def f(t):\n  return t * 2.0\n@tf.function\ndef g(t):\n  return f(t)\ng(x)", "no_benefit"),
    "some eager caller": (
        "def f(t):\n  return t * 2.0\n@tf.function\ndef g(t):\n  return f(t)\ng(x)\nf(x)",
        "to_graph",
    ),
    "booleans": ("def f(t, training):\n  return t * 2.0\nf(x, True)\nf(x, False)", "to_graph"),
    "default kept": ("def f(t, n=3):\n  return t * n\nf(x)", "to_graph"),
    "keras call": ("class M(tf.keras.Model):\n  def f(self, t):\n    return t * 2.0\nM().f(x)", "to_graph"),
}


@pytest.mark.parametrize("row", VERDICTS)
def test_verdict(row: str, tmp_path: Path) -> None:
    source, verdict = VERDICTS[row]
    found = facts(tmp_path, X + source)
    function = next(f for name, f in found.items() if name.rpartition(".")[2] == "f")
    assert function.verdict == verdict, function.reasons


REASONS = {
    "STR138": "def f(t):\n  return t.numpy()\nf(x)",
    "STR139": "import numpy as np\ndef f(t):\n  return np.sum(t) + t\nf(x)",
    "STR140": "def f(t):\n  return tf.add(t, 1.0, name=3)\nf(x)",
    "STR141": "m = tf.keras.Sequential([])\ndef f(t):\n  v = m.trainable_variables\n  y = m(t)\n  return v, y\nf(x)",
    "STR142": "def f(t):\n  s = 0.0\n  for row in t:\n    s += row\n  return s\nf(x)",
    "STR143": "def f(t):\n  return t * 2.0\n@tf.function\ndef g(t):\n  return f(t)\ng(x)",
    "STR144": "import numpy as np\ndef f(t, a):\n  return t * a, tf.constant(1) * a\nf(x, np.ones(3))",
    "STR145": "def f(t):\n  return t * 2.0\nf(tf.keras.Input([3]))",
    "STR134": "def f(t):\n  return f(t) + 1.0\nf(x)",
    "STR136": "def f(t, n):\n  return t * n\nf(x, 3)",
}


@pytest.mark.parametrize("code", REASONS)
def test_reason(code: str, tmp_path: Path) -> None:
    found = facts(tmp_path, X + REASONS[code])["f"]
    assert code in [reason.code for reason in found.reasons]
    assert found.verdict in ("keep", "no_benefit")


@pytest.mark.parametrize("call", ["fit(t)", "predict(t)", "evaluate(t)", "train_on_batch(t)", "predict_on_batch(t)"])
def test_keras_drivers_are_eager_only(call: str, tmp_path: Path) -> None:
    found = facts(tmp_path, X + f"m = tf.keras.Sequential([])\ndef f(t):\n  return m.{call}\nf(x)")["f"]
    assert "STR138" in [reason.code for reason in found.reasons]


PRIMITIVE = {
    "f(x, 1)": True,
    "f(x, 1.5)": True,
    "f(x, 'a')": True,
    "f(x, 1)\nf(x, 2)": True,
    "f(x, n=1)": True,
    "f(x, *[1])": True,
    "f(x, **{'n': 1})": True,
    "for i in range(3):\n  f(x, i)": True,
    "f(x, len([1]))": True,
    "f(x, True)": False,
    "f(x, None)": False,
    "f(x, 1)\nf(x, None)": True,
    "f(x, 1)\nf(x, True)": True,
    "f(x, x)": False,
    "f(x, 1)\nf(x, x)": True,
    "f(x, [1])": True,
    "f(x, (1, 2))": True,
    "f(x, (x, 2))": True,
    "f(x, {'k': 2})": True,
    "f(x, (x, x))": False,
    "f(x, (True, None))": False,
    "f(x, tf.constant(1))": False,
}


@pytest.mark.parametrize("call", PRIMITIVE)
def test_primitive_parameter(call: str, tmp_path: Path) -> None:
    assert facts(tmp_path, f"{X}def f(t, n):\n  return t\n{call}")["f"].primitive_parameter is PRIMITIVE[call]


def test_a_default_counts_when_a_caller_overrides_it(tmp_path: Path) -> None:
    source = X + "def f(t, n=1):\n  return t\nf(x)\n"
    assert facts(tmp_path, source)["f"].primitive_parameter is False
    assert facts(tmp_path, source + "f(x, 2)")["f"].primitive_parameter is True


RECURSION = {
    "def f(n):\n  return f(n)": True,
    "def g(n):\n  return f(n)\ndef f(n):\n  return g(n)": True,
    "class A:\n  def f(self):\n    return self.f()\nA().f()": True,
    "def f(n):\n  h = f\n  return h(n)": True,
    "def f(n):\n  return g(n)\ndef g(n):\n  return n": False,
    "class A:\n  def f(self):\n    return 1\nclass B(A):\n  def g(self):\n    return self.f()\nB().g()": False,
    "def f(n):\n  return (lambda m: f(m))(n)": True,
    "def f(n):\n  return [f(m) for m in n]": True,
    "def f(n):\n  def inner(m):\n    return f(m)\n  return inner(n)": True,
}


@pytest.mark.parametrize("source", RECURSION)
def test_recursion(source: str, tmp_path: Path) -> None:
    found = facts(tmp_path, source)
    assert next(f for name, f in found.items() if name.rpartition(".")[2] == "f").recursive is RECURSION[source]


def test_super_is_no_recursion(tmp_path: Path) -> None:
    source = "class A:\n  def f(self):\n    return 1\nclass B(A):\n  def f(self):\n    return super().f()\nB().f()"
    assert facts(tmp_path, source)["B.f"].recursive is False


def test_every_function_is_listed_by_its_dotted_name(tmp_path: Path) -> None:
    source = "def outer():\n  def inner(): pass\nclass A:\n  class B:\n    def m(self):\n      def deep(): pass\nasync def go(): pass"
    assert set(facts(tmp_path, source)) == {"outer", "outer.inner", "A.B.m", "A.B.m.deep", "go"}


def test_reading_a_global_that_changes_is_an_assumption(tmp_path: Path) -> None:
    source = X + "k = 1.0\ndef g():\n  global k\n  k = 2.0\ndef f(t):\n  return t * k\nf(x)\ng()"
    found = facts(tmp_path, source)["f"]
    assert (found.verdict, found.safety) == ("to_graph", "safe-if") and "`k`" in found.assumptions[0]


def test_a_signature_is_inferred_from_callers(tmp_path: Path) -> None:
    source = (
        X
        + "@tf.function\ndef f(t, u):\n  return t * u\nf(x, tf.constant([1.0]))\nf(tf.ones([4, 3]), tf.constant([2.0]))"
    )
    expected = "[tf.TensorSpec(shape=[None, 3], dtype=tf.float32), tf.TensorSpec(shape=[1], dtype=tf.float32)]"
    assert facts(tmp_path, source)["f"].signature == expected
