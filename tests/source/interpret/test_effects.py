"""Python side effects: what counts, what does not, through calls and containers."""

from __future__ import annotations

from pathlib import Path

import pytest

from source_facts import facts

X = "x = tf.ones([2, 3])\nlog = []\ntable = {}\ncount = 0\n"

EFFECTS = {
    "print": "def f(t):\n  print(t)\nf(x)",
    "global": "def f(t):\n  global count\n  count += 1\nf(x)",
    "append to a global": "def f(t):\n  log.append(t)\nf(x)",
    "element of a global": "def f(t):\n  table['a'] = t\nf(x)",
    "augmented list": "def f(t):\n  global log\n  log += [t]\nf(x)",
    "argument": "def f(l):\n  l.append(1)\nf(log)",
    "argument of an uncalled function": "def f(l):\n  l.append(1)",
    "attribute of an argument": "class A: pass\ndef f(a):\n  a.b = 1\nf(A())",
    "attribute of self": "class A:\n  def f(self, t):\n    self.t = t\nA().f(x)",
    "nested attribute": "class A:\n  def __init__(self):\n    self.l = []\n  def f(self, t):\n    self.l.append(t)\nA().f(x)",
    "nonlocal": "def outer():\n  n = 0\n  def f(t):\n    nonlocal n\n    n += 1\n  f(x)\nouter()",
    "captured list": "def outer():\n  l = []\n  def f(t):\n    l.append(t)\n  f(x)\nouter()",
    "through a call": "def g(t):\n  print(t)\ndef f(t):\n  g(t)\nf(x)",
    "through two calls": "def h(l):\n  l.append(1)\ndef g(l):\n  h(l)\ndef f(t):\n  g(log)\nf(x)",
    "through a lambda": "def f(t):\n  g = lambda v: log.append(v)\n  g(t)\nf(x)",
    "a lambda given to map": "def f(t):\n  list(map(lambda v: log.append(v), [t]))\nf(x)",
    "a comprehension": "def f(t):\n  [log.append(v) for v in [t]]\nf(x)",
    "a method": "class A:\n  def g(self):\n    print(1)\na = A()\ndef f(t):\n  a.g()\nf(x)",
    "file write": "def f(t):\n  with open('a', 'w') as file:\n    file.write('a')\nf(x)",
    "logging": "import logging\ndef f(t):\n  logging.info('a')\nf(x)",
    "logger": "import logging\nlogger = logging.getLogger()\ndef f(t):\n  logger.info('a')\nf(x)",
    "mutable default": "def f(t, l=[]):\n  l.append(t)\nf(x)",
    "class attribute": "class A:\n  n = 0\ndef f(t):\n  A.n += 1\nf(x)",
    "module attribute": "import math\ndef f(t):\n  math.x = 1\nf(x)",
    "delete": "def f(t):\n  del table['a']\nf(x)",
    "dict update": "def f(t):\n  table.update(a=t)\nf(x)",
    "set add": "s = set()\ndef f(t):\n  s.add(1)\nf(x)",
    "property setter": "class A:\n  @property\n  def v(self):\n    return 1\n  @v.setter\n  def v(self, n):\n    self._v = n\na = A()\ndef f(t):\n  a.v = 1\nf(x)",
    "setitem": "class A:\n  def __setitem__(self, k, v):\n    self.v = v\na = A()\ndef f(t):\n  a[0] = 1\nf(x)",
    "partial": "import functools\ndef g(a, b):\n  log.append(a)\nh = functools.partial(g, 1)\ndef f(t):\n  h(t)\nf(x)",
    "decorator": "def d(g):\n  def wrapper(t):\n    print(t)\n    return g(t)\n  return wrapper\n@d\ndef g(t):\n  return t\ndef f(t):\n  return g(t)\nf(x)",
    "alias": "def f(t):\n  l = log\n  l.append(t)\nf(x)",
    "element of a list of lists": "ls = [[]]\ndef f(t):\n  ls[0].append(t)\nf(x)",
    "setattr": "class A: pass\na = A()\ndef f(t):\n  setattr(a, 'b', t)\nf(x)",
    "numpy array": "import numpy as np\na = np.zeros(3)\ndef f(t):\n  a[0] = 1\nf(x)",
    "numpy argument": "import numpy as np\ndef f(a):\n  a[0] = 1\nf(np.zeros(3))",
    "writelines": "def f(t, file):\n  file.writelines([])\nf(x, open('a'))",
    "sys.stdout": "import sys\ndef f(t):\n  sys.stdout.write('a')\nf(x)",
    "in a branch": "def f(t, n):\n  if n:\n    print(n)\nf(x, 1)",
    "in a generator": "def g():\n  print(1)\n  yield 1\ndef f(t):\n  for v in g():\n    pass\nf(x)",
    "in dunder": "class A:\n  def __add__(self, o):\n    print(o)\n    return self\na = A()\ndef f(t):\n  return a + t\nf(x)",
    "keras save": "m = tf.keras.Sequential([])\ndef f(t):\n  m.save('a')\nf(x)",
    "context manager": "class A:\n  def __enter__(self):\n    print(1)\n  def __exit__(self, *a):\n    pass\ndef f(t):\n  with A():\n    pass\nf(x)",
    "function attribute": "def f(t):\n  f.calls = 1\nf(x)",
    "pop": "def f(t):\n  return log.pop()\nlog.append(1)\nf(x)",
    "next of a captured iterator": "it = iter([1, 2])\ndef f(t):\n  return next(it)\nf(x)",
}


@pytest.mark.parametrize("what", EFFECTS)
def test_is_a_side_effect(what: str, tmp_path: Path) -> None:
    found = facts(tmp_path, X + EFFECTS[what])
    function = next(f for name, f in found.items() if name.rpartition(".")[2] == "f")
    assert function.side_effects is True
    assert any(reason.code == "STR130" for reason in function.reasons)


NO_EFFECTS = {
    "arithmetic": "def f(t):\n  return t + 1\nf(x)",
    "a local list": "def f(t):\n  l = []\n  l.append(t)\n  return l\nf(x)",
    "a local dict": "def f(t):\n  d = {}\n  d['a'] = t\n  return d\nf(x)",
    "a local object": "class A:\n  def __init__(self):\n    self.l = []\ndef f(t):\n  a = A()\n  a.b = t\n  a.l.append(t)\n  return a\nf(x)",
    "a list made by a helper": "def make():\n  return []\ndef f(t):\n  l = make()\n  l.append(t)\n  return l\nother = make()\nf(x)",
    "a local list given to a helper": "def g(l):\n  l.append(1)\ndef f(t):\n  l = [t]\n  g(l)\n  return l\nf(x)",
    "a variable's assign": "v = tf.Variable(1.0)\ndef f(t):\n  v.assign_add(t)\nf(x)",
    "self.variable.assign": "class A(tf.Module):\n  def __init__(self):\n    self.v = tf.Variable(1.0)\n  def f(self, t):\n    self.v.assign(t)\nA().f(x)",
    "tf.print": "def f(t):\n  tf.print(t)\nf(x)",
    "an optimizer": "v = tf.Variable(1.0)\no = tf.keras.optimizers.SGD()\ndef f(t):\n  with tf.GradientTape() as tape:\n    y = v * t\n  o.apply_gradients(zip(tape.gradient(y, [v]), [v]))\nf(x)",
    "a metric": "m = tf.keras.metrics.Mean()\ndef f(t):\n  m.update_state(t)\n  m(t)\nf(x)",
    "kwargs": "def f(**kwargs):\n  kwargs['a'] = 1\n  kwargs.pop('b', None)\nf(b=x)",
    "reading globals": "def f(t):\n  return t + count\nf(x)",
    "an outer function with nonlocal": "def f(t):\n  n = 0\n  def g():\n    nonlocal n\n    n += 1\n  g()\n  return t\nf(x)",
    "a comprehension": "def f(t):\n  return [v for v in [t]]\nf(x)",
    "keras build": "class L(tf.keras.layers.Layer):\n  def build(self, shape):\n    self.w = self.add_weight(shape=(1,))\n  def call(self, t):\n    return t * self.w\nl = L()\ndef f(t):\n  return l(t)\nf(x)",
    "a layer": "l = tf.keras.layers.Dense(3)\ndef f(t):\n  return l(t)\nf(x)",
    "a copy": "def f(t):\n  l = list(log)\n  l.append(t)\nf(x)",
    "a slice": "def f(t):\n  l = log[:]\n  l.append(t)\nf(x)",
    "dict copy": "def f(t):\n  d = dict(table)\n  d['a'] = 1\nf(x)",
    "string methods": "def f(t):\n  return 'a'.upper().split()\nf(x)",
    "a tensor array": "def f(t):\n  a = tf.TensorArray(tf.float32, 3)\n  a = a.write(0, t)\n  return a.stack()\nf(x)",
    "sorting a local": "def f(t):\n  l = [2, 1]\n  l.sort()\n  return l\nf(x)",
    "rebinding an argument": "def f(t):\n  t = t + 1\n  t += 1\n  return t\nf(x)",
    "augmented tensor from list": "def f(t):\n  s = 0\n  for v in [t]:\n    s += v\n  return s\nf(x)",
    "raising": "def f(t):\n  if t is None:\n    raise ValueError(f'no {t}')\n  return t\nf(x)",
    "an assertion": "def f(t):\n  assert t is not None, 'a'\n  return t\nf(x)",
    "a local numpy array": "import numpy as np\ndef f(t):\n  a = np.zeros(3)\n  a[0] = 1\n  return a\nf(x)",
    "time": "import time\ndef f(t):\n  return time.time()\nf(x)",
    "local class": "def f(t):\n  class A:\n    pass\n  a = A()\n  a.b = 1\n  return t\nf(x)",
    "record writing": "def f(t):\n  return tf.io.serialize_tensor(t)\nf(x)",
    "dataset map": "def f(t):\n  return tf.data.Dataset.from_tensor_slices(t).map(lambda v: v + 1)\nf(x)",
    "local generator": "def f(t):\n  it = iter([1, 2])\n  return next(it)\nf(x)",
}


@pytest.mark.parametrize("what", NO_EFFECTS)
def test_is_no_side_effect(what: str, tmp_path: Path) -> None:
    found = facts(tmp_path, X + NO_EFFECTS[what])
    function = next(f for name, f in found.items() if name.rpartition(".")[2] == "f")
    assert function.side_effects is False, [(r.message, str(r.place)) for r in function.reasons]


def test_build_itself_has_no_side_effects(tmp_path: Path) -> None:
    source = "class L(tf.keras.layers.Layer):\n  def build(self, shape):\n    self.w = 1\n  def call(self, t):\n    return t\nL()(tf.ones([1]))"
    assert facts(tmp_path, source)["L.build"].side_effects is False


def test_unknown_libraries_may_do_anything(tmp_path: Path) -> None:
    found = facts(tmp_path, "import stranger\ndef f(t):\n  return stranger.go(t)\nf(tf.ones([1]))")["f"]
    assert (found.side_effects, found.verdict) == (None, "unknown")


def test_a_reason_leads_down_the_calls(tmp_path: Path) -> None:
    found = facts(tmp_path, "def h(t):\n  print(t)\ndef g(t):\n  h(t)\ndef f(t):\n  g(t)\nf(tf.ones([1]))")["f"]
    reason = next(r for r in found.reasons if r.code == "STR130")
    assert (reason.place.line, [place.line for place in reason.chain]) == (3, [7, 5])
