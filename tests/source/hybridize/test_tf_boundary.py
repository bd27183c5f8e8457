"""The boundary of `tf.function`: what may not cross it unchanged is never called safe, and what fails there is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from source_facts import facts
from strop.source.fix.fixing import fix
from strop.source.project.settings import Settings
from strop.source.scan_project import scan_project

X = "import numpy as np\nx = tf.ones([2, 3])\n"

#: programs with a function `f` that must not become a graph, and the code of the reason
REFUSED = {
    "raise under a tensor": ("def f(t):\n  if tf.reduce_any(t < 0.0):\n    raise ValueError('x')\n  return t * 2.0\nf(x)", "STR186"),
    "raise under not": ("def f(t):\n  if not tf.reduce_all(t > 0.0):\n    raise ValueError\n  return t * 2.0\nf(x)", "STR186"),
    "raise in else": ("def f(t):\n  if tf.reduce_all(t > 0.0):\n    y = t\n  else:\n    raise ValueError\n  return y * 2.0\nf(x)", "STR186"),
    "raise in while": ("def f(t):\n  while tf.reduce_sum(t) < 9.0:\n    raise ValueError\n  return t * 2.0\nf(x)", "STR186"),
    "raise in a helper": ("def g(t):\n  if tf.reduce_any(t < 0.0):\n    raise ValueError\ndef f(t):\n  g(t)\n  return t * 2.0\nf(x)", "STR186"),
    "numpy on an array": ("def f(a):\n  return tf.constant(1.0) * np.sum(a)\nf(np.ones(3))", "STR139"),
    "numpy on a part": ("def f(a):\n  b = a[0]\n  return tf.constant(1.0) * np.mean(b)\nf(np.ones((2, 3)))", "STR139"),
    "a method of an array": ("def f(a):\n  return tf.constant(1.0) * a.sum()\nf(np.ones(3))", "STR139"),
    "numpy in a helper": ("def g(a):\n  return np.max(a)\ndef f(a):\n  return tf.constant(1.0) * g(a)\nf(np.ones(3))", "STR139"),
    "float64 meets float32": ("def f(a, t):\n  return a - t\nf(np.ones([2, 3]), x)", "STR144"),
    "name by position": ("def f(t):\n  return tf.sqrt(t, 3)\nf(x)", "STR140"),
    "a dtype for a name": ("def f(t):\n  return tf.add(t, t, tf.float32)\nf(x)", "STR140"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_fails_in_a_graph_is_kept_eager(case: str, tmp_path: Path) -> None:
    source, code = REFUSED[case]
    found = facts(tmp_path, X + source)["f"]
    assert code in [reason.code for reason in found.reasons]
    assert found.verdict == "keep"


def test_numpy_on_constants_is_no_reason(tmp_path: Path) -> None:
    source = "w = np.ones(3)\ndef f(t):\n  return t * np.float32(np.sum(w))\nf(x)"
    assert facts(tmp_path, X + source)["f"].verdict == "to_graph"


def test_a_raise_that_python_decides_on_is_no_reason(tmp_path: Path) -> None:
    source = "def f(t):\n  if t.shape[0] == 3:\n    raise ValueError\n  return t * 2.0\nf(x)"
    assert facts(tmp_path, X + source)["f"].verdict == "to_graph"


#: functions that may become graphs only under an assumption
ASSUMED = {
    "shape": "def f(t):\n  y = t * 2.0\n  return y.shape\nf(x)",
    "shape beside a tensor": "def f(t):\n  y = t * 2.0\n  return y, y.shape\nf(x)",
    "number": "def f(t):\n  return t * 2.0, 3\nf(x)",
    "bool": "def f(t):\n  return t * 2.0, True\nf(x)",
    "array": "w = np.ones(3)\ndef f(t):\n  return t * 2.0, w\nf(x)",
    "dtype": "def f(t):\n  return t * 2.0, tf.float32\nf(x)",
    "optimizer": "def f(t):\n  t = t * 2.0\n  return tf.keras.optimizers.SGD()\nf(x)",
    "model": "m = tf.keras.Sequential([])\ndef f(t):\n  return m, t * 2.0\nf(x)",
    "object": "class C:\n  pass\nc = C()\ndef f(t):\n  return c, t * 2.0\nf(x)",
    "unknown": "import stranger\nk = stranger.k\ndef f(t):\n  return k, t * 2.0\nf(x)",
    "an array as argument": "def f(a):\n  return tf.reduce_sum(a)\nf(np.ones(3))",
    "arrays in a list": "def f(a):\n  return tf.add_n(a)\nf([np.ones(3), np.ones(3)])",
    "a number of two branches": "def f(t):\n  n = 1\n  if tf.reduce_any(t > 0.0):\n    n = 2\n  return t * n\nf(x)",
    "a loop with a number": "def f(t):\n  n = 0\n  while tf.reduce_sum(t) < 99.0:\n    t = t * 2.0\n    n += 1\n  return t * n\nf(x)",
    "dtypes of two branches": "def f(t):\n  if tf.reduce_any(t > 0.0):\n    return t\n  return tf.zeros([2, 3], tf.int32)\nf(x)",
    "or of tensors": "def f(t):\n  return t * 2.0 or t\nf(x)",
    "in a list": "seen = [tf.constant(1.0)]\ndef f(t):\n  return t * 2.0 if t in seen else t\nf(x)",
    "standard library": "import math\ndef f(t):\n  return t * math.sqrt(tf.reduce_sum(t))\nf(x)",
    "shape by value": "def f(t):\n  y = tf.boolean_mask(t, t > 0.0)\n  return y * float(y.shape[0])\nf(x)",
    "a constant of an argument": "def f(t):\n  return tf.constant(t) * 2.0\nf(x)",
    "a shape of tensors": "def f(t):\n  n = tf.reduce_sum(tf.cast(t, tf.int32), 0)\n  return tf.ones((n,))\nf(x)",
    "an assertion": "def f(t):\n  return tf.debugging.assert_greater(t, 0.0)\nf(x)",
    "variables": "v = tf.Variable(1.0)\ndef f(t):\n  return v.assign_add(tf.reduce_sum(t))\nf(x)",
    "caught errors": "def f(t):\n  return tf.reshape(t, [7])\ntry:\n  f(x)\nexcept Exception:\n  pass",
    "a decorator": "import stranger\n@stranger.d\ndef f(t):\n  return t * 2.0\nf(x)",
}  # fmt: skip


@pytest.mark.parametrize("case", ASSUMED)
def test_what_may_change_at_the_boundary_is_not_safe(case: str, tmp_path: Path) -> None:
    found = facts(tmp_path, X + ASSUMED[case])["f"]
    assert found.safety != "safe", found


SAFE = {
    "tensor": "def f(t):\n  return t * 2.0\nf(x)",
    "structure": "def f(t):\n  return {'a': t * 2.0, 'b': [t + 1.0, (t, None)]}\nf(x)",
    "array that is cast": "def f(a):\n  return tf.cast(a, tf.float32) * 2.0\nf(np.ones(3))",
    "variable": "v = tf.Variable(1.0)\ndef f(t):\n  v.assign_add(tf.reduce_sum(t))\n  return t * 2.0\nf(x)",
    "shape of an argument": "def f(t):\n  return t * float(t.shape[1])\nf(x)",
}


@pytest.mark.parametrize("case", SAFE)
def test_what_stays_the_same_is_safe(case: str, tmp_path: Path) -> None:
    found = facts(tmp_path, X + SAFE[case])["f"]
    assert (found.verdict, found.safety) == ("to_graph", "safe"), found.assumptions


FLAGS = (
    "flags = tf.flags\nFLAGS = flags.FLAGS",
    "FLAGS = tf.app.flags.FLAGS",
    "FLAGS = tf.compat.v1.app.flags.FLAGS",
    "FLAGS = tf.something_unheard_of()",
)


@pytest.mark.parametrize("flags", FLAGS)
def test_unknown_names_of_tensorflow_are_no_tensors(flags: str, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(f"import tensorflow as tf\n{flags}\ndef f(n):\n  return n * 2\nf(FLAGS.batch)\n")
    assert [f.tensor_parameter for f in scan_project([str(tmp_path)], Settings()).functions] != [True]


# -- TensorFlow 1 ------------------------------------------------------------------------------------------------------

OLD = {
    "session": "import tensorflow as tf\nwith tf.Session() as s:\n  s.run(1)\n",
    "placeholder": "import tensorflow as tf\nx = tf.placeholder(tf.float32)\n",
    "get_variable": "import tensorflow as tf\ndef g():\n  return tf.get_variable('w', [1])\n",
    "layers": "import tensorflow as tf\ndef g(h):\n  return tf.layers.dense(h, 3)\n",
    "contrib": "import tensorflow as tf\nslim = tf.contrib.slim\n",
    "from contrib": "from tensorflow.contrib import slim\nimport tensorflow as tf\n",
    "slim": "import tf_slim as slim\nimport tensorflow as tf\n",
    "compat": "import tensorflow.compat.v1 as tf\n",
    "from compat": "from tensorflow.compat import v1 as tf\n",
    "compat session": "import tensorflow as tf\ns = tf.compat.v1.Session()\n",
    "no eager mode": "import tensorflow as tf\ntf.compat.v1.disable_eager_execution()\n",
    "flags": "import tensorflow as tf\nFLAGS = tf.app.flags.FLAGS\n",
    "optimizer": "import tensorflow as tf\no = tf.train.AdamOptimizer(1e-3)\n",
}
STEP = "def f(t):\n  return tf.nn.relu(tf.matmul(t, t) + 1.0) * 2.0 - tf.reduce_sum(t)\nfor _ in range(9):\n  f(tf.ones([2, 2]))\n"


@pytest.mark.parametrize("case", OLD)
def test_tensorflow_1_is_left_alone_with_one_line(case: str, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(OLD[case] + STEP)
    (tmp_path / "two.py").write_text(OLD[case] + STEP)
    scan = scan_project([str(tmp_path)], Settings())
    assert not scan.findings
    assert {f.verdict for f in scan.functions} == {"keep"}
    assert [s.code for s in scan.skipped] == ["STR185"] and "2 files" in scan.skipped[0].message


NEW = {
    "logging": "import tensorflow as tf\ntf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)\n",
    "eager again": "import tensorflow.compat.v1 as tf\ntf.enable_v2_behavior()\n",
    "beside": "import tensorflow as tf\nimport tensorflow.compat.v1 as tf1\n",
    "plain": "import tensorflow as tf\n",
}


@pytest.mark.parametrize("case", NEW)
def test_tensorflow_2_is_not_taken_for_1(case: str, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(NEW[case] + STEP)
    scan = scan_project([str(tmp_path)], Settings())
    assert not scan.skipped
    assert [f.code for f in scan.findings] == ["STR147"]


def test_what_tensorflow_1_calls_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(
        "import tensorflow as tf\ndef f(t):\n  return tf.nn.relu(t) * 2.0 + tf.exp(t) - 1.0\n"
    )
    (tmp_path / "main.py").write_text("import tensorflow as tf\nfrom ops import f\nx = tf.placeholder(tf.float32)\nf(tf.ones([2]))\n")  # fmt: skip
    assert not scan_project([str(tmp_path)], Settings()).findings


# -- signatures --------------------------------------------------------------------------------------------------------

GRAPH = "import tensorflow as tf\n@tf.function\ndef f(t):\n  return t * 2.0 + tf.exp(t)\n"


def signature(tmp_path: Path, source: str) -> str | None:
    return facts(tmp_path, source)["f"].signature


def test_signatures_are_written_only_when_asked_for(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(GRAPH + "f(tf.ones([2, 3]))\n")
    assert not scan_project([str(tmp_path)], Settings()).findings
    assert [f.code for f in scan_project([str(tmp_path)], Settings(signatures=True)).findings] == ["STR149"]
    found = scan_project([str(tmp_path)], Settings(select=("STR149",))).findings
    assert [(f.code, f.safety) for f in found] == [("STR149", "safe-if")]


def test_a_dimension_to_be_inferred_is_none_in_a_signature(tmp_path: Path) -> None:
    assert "[None, 5]" in (signature(tmp_path, GRAPH + "f(tf.reshape(tf.ones([10]), [-1, 5]))\n") or "")


def test_the_shape_of_a_gamma_draw_is_not_the_one_asked_for(tmp_path: Path) -> None:
    assert "[5]" not in (signature(tmp_path, GRAPH + "f(tf.random.gamma([5], tf.ones([2])))\n") or "")


def test_a_variable_gets_no_signature(tmp_path: Path) -> None:
    source = (
        "@tf.function\ndef f(v, t):\n  v.assign(v + t)\n  return t * 2.0\nf(tf.Variable([1.0]), tf.constant([1.0]))"
    )
    assert signature(tmp_path, source) is None


def test_a_function_that_reads_shapes_gets_no_open_dimension(tmp_path: Path) -> None:
    source = "@tf.function\ndef f(t):\n  return t * float(t.shape[1] - 1)\nf(tf.ones([2, 3]))\nf(tf.ones([2, 4]))"
    assert signature(tmp_path, source) is None


def test_the_names_of_a_signature_are_imported(tmp_path: Path) -> None:
    file = tmp_path / "p.py"
    file.write_text(
        "from tensorflow import function, ones\n@function\ndef f(t):\n  return t * 2.0 + t\nf(ones([2, 3]))\n"
    )
    look = lambda: scan_project([str(file)], Settings(signatures=True))  # noqa: E731
    done = fix(look, unsafe=True)
    text = done.plan.diff()
    assert "+import tensorflow as tf" in text and "+@function(input_signature=[tf.TensorSpec(shape=[2, 3]" in text


# -- what is worth a graph ---------------------------------------------------------------------------------------------

BODY = "  return tf.nn.relu(tf.matmul(t, t) + 1.0) * 2.0 - tf.reduce_sum(t)\n"
USELESS = {
    "runs once": f"import tensorflow as tf\ndef f(t):\n{BODY}f(tf.ones([2, 2]))\n",
    "tiny": "import tensorflow as tf\ndef f(t):\n  return t + 1.0\nfor _ in range(9):\n  f(tf.ones([2, 2]))\n",
    "keras layer": "import tensorflow as tf\nclass L(tf.keras.layers.Layer):\n  def call(self, t: tf.Tensor):\n  " + BODY,
    "fitted": "import tensorflow as tf\nclass M(tf.keras.Model):\n  def call(self, t):\n  "
    + BODY
    + "m = M()\nm.compile()\nm.fit(tf.ones([2, 2]), tf.ones([2, 2]))\n",
    "dataset": f"import tensorflow as tf\ndef f(t):\n{BODY}d = tf.data.Dataset.from_tensor_slices(tf.ones([4, 2, 2])).map(f)\n",
    "factory": f"import tensorflow as tf\ndef make_mask(t: tf.Tensor):\n{BODY}",
    "several calls of one function": f"import tensorflow as tf\ndef f(t):\n{BODY}def validate_axioms():\n"
    "  x = tf.ones([2, 2])\n  return f(x), f(x + 1.0), f(x + 2.0)\nvalidate_axioms()\n",
    "closures": f"import tensorflow as tf\ndef f(t):\n{BODY}def make():\n  x = tf.ones([2, 2])\n"
    "  def a():\n    return f(x)\n  def b():\n    return f(x + f(x))\n  return a, b\np, q = make()\np()\nq()\n",
    "raises only": "import tensorflow as tf\n@tf.function\ndef f(t: tf.Tensor):\n  'no'\n  raise NotImplementedError\n",
    "no dataset in sight": "import tensorflow as tf\n@tf.function\ndef f():\n  return tf.ones([2]) * 2.0\nf()\n",
    "constant number": "import tensorflow as tf\n@tf.function\ndef f(t, n):\n  for _ in range(n):\n    t = t * 2.0\n  return t\nf(tf.ones([2]), 3)\n",
}  # fmt: skip


@pytest.mark.parametrize("case", USELESS)
def test_no_edit_is_proposed_where_it_would_not_pay(case: str, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(USELESS[case])
    assert not scan_project([str(tmp_path)], Settings()).findings


def test_test_code_gets_no_edit(tmp_path: Path) -> None:
    (tmp_path / "model_test.py").write_text("import tensorflow as tf\n" + STEP)
    assert not scan_project([str(tmp_path)], Settings()).findings


def test_what_a_step_calls_that_cannot_be_a_graph_gets_an_edit(tmp_path: Path) -> None:
    source = f"import tensorflow as tf\ndef f(t):\n{BODY}def step(t):\n  print(f(t))\nfor _ in range(9):\n  step(tf.ones([2, 2]))\n"
    (tmp_path / "p.py").write_text(source)
    assert [f.function for f in scan_project([str(tmp_path)], Settings()).findings] == ["f"]


def test_a_part_of_a_part_of_a_step_gets_no_edit(tmp_path: Path) -> None:
    source = f"import tensorflow as tf\ndef f(t):\n{BODY}def part(t):\n  return f(t) * 2.0\n"
    (tmp_path / "p.py").write_text(
        source + "def step(t):\n  print(part(t))\nfor _ in range(9):\n  step(tf.ones([2, 2]))\n"
    )
    assert [f.function for f in scan_project([str(tmp_path)], Settings()).findings] == ["part"]


def test_a_step_that_a_loop_calls_gets_an_edit(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("import tensorflow as tf\n" + STEP)
    assert [f.code for f in scan_project([str(tmp_path)], Settings()).findings] == ["STR147"]
