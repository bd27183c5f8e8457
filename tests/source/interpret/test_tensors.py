"""Which parameters are tensors: every way in which one can flow into a function."""

from __future__ import annotations

from pathlib import Path

import pytest

from source_facts import facts
from strop.source.interpret.api_handlers import containers
from strop.source.interpret.heap import Object
from strop.source.interpret.joins import join, join_all
from strop.source.interpret.values import NOTHING, forget, tensor

X = "x = tf.ones([2, 3])\n"

FLOWS = {
    "a call": "def f(t):\n  return t + 1\nf(x)",
    "a keyword": "def f(a, t=None):\n  return t\nf(1, t=x)",
    "a default": "def f(t=tf.ones([2])):\n  return t\nf()",
    "star arguments": "def f(*args):\n  return args\nf(1, x)",
    "star keywords": "def f(**kwargs):\n  return kwargs\nf(a=x)",
    "unpacked list": "def f(a, b):\n  return b\nargs = [1, x]\nf(*args)",
    "unpacked dict": "def f(a, b):\n  return b\nargs = {'a': 1, 'b': x}\nf(**args)",
    "a variable": "def f(t):\n  return t\nf(tf.Variable(1.0))",
    "sparse": "def f(t):\n  return t\nf(tf.SparseTensor([[0, 0]], [1], [3, 4]))",
    "ragged": "def f(t):\n  return t\nf(tf.ragged.constant([[1], [2, 3]]))",
    "list of tensors": "def f(ts):\n  return ts\nf([x, x])",
    "tuple of tensors": "def f(ts):\n  return ts\nf((x, 1))",
    "dict of tensors": "def f(ts):\n  return ts\nf({'a': x})",
    "set comprehension": "def f(ts):\n  return ts\nf([t * 2 for t in [x]])",
    "appended list": "def f(ts):\n  return ts\nl = []\nl.append(x)\nf(l)",
    "dict value": "def f(t):\n  return t\nd = {}\nd['k'] = x\nf(d['k'])",
    "list element": "def f(t):\n  return t\nl = [1, x]\nf(l[1])",
    "loop over list": "def f(t):\n  return t\nfor t in [x, x]:\n  f(t)",
    "loop over zip": "def f(t):\n  return t\nfor i, t in zip([1], [x]):\n  f(t)",
    "loop over enumerate": "def f(t):\n  return t\nfor i, t in enumerate([x]):\n  f(t)",
    "loop over dict items": "def f(t):\n  return t\nfor k, t in {'a': x}.items():\n  f(t)",
    "loop over dict values": "def f(t):\n  return t\nfor t in {'a': x}.values():\n  f(t)",
    "loop over tensor": "def f(t):\n  return t\nfor t in x:\n  f(t)",
    "a dataset": "def f(t):\n  return t\nfor t in tf.data.Dataset.from_tensor_slices([1, 2]):\n  f(t)",
    "a dataset of pairs": "def f(t):\n  return t\nds = tf.data.Dataset.from_tensor_slices(([1], [2])).shuffle(1).batch(2)\nfor a, b in ds:\n  f(b)",
    "enumerate of a dataset": "def f(t):\n  return t\nfor i, t in enumerate(tf.data.Dataset.range(3)):\n  f(t)",
    "dataset.enumerate": "def f(t):\n  return t\nfor i, t in tf.data.Dataset.range(3).enumerate():\n  f(i)",
    "dataset of dicts": "def f(t):\n  return t\nfor d in tf.data.Dataset.from_tensor_slices({'a': [1]}):\n  f(d['a'])",
    "dataset.map": "def f(t):\n  return t\ntf.data.Dataset.range(3).map(f)",
    "lambda in dataset.map": "def f(t):\n  return t\ntf.data.Dataset.range(3).map(lambda v: f(v))",
    "dataset.take": "def f(t):\n  return t\nfor t in tf.data.Dataset.range(3).take(1):\n  f(t)",
    "dataset.zip": "def f(t):\n  return t\nd = tf.data.Dataset.range(3)\nfor a, b in tf.data.Dataset.zip((d, d)):\n  f(b)",
    "next of iter of dataset": "def f(t):\n  return t\nit = iter(tf.data.Dataset.range(3))\nf(next(it))",
    "dataset.reduce": "def f(s, t):\n  return s + t\ntf.data.Dataset.range(3).reduce(0, f)",
    "from_generator": "def gen():\n  yield 1\ndef f(t):\n  return t\nfor t in tf.data.Dataset.from_generator(gen, tf.int32):\n  f(t)",
    "map": "def f(t):\n  return t\nlist(map(f, [x]))",
    "filter": "def f(t):\n  return True\nlist(filter(f, [x]))",
    "partial": "import functools\ndef f(a, t):\n  return t\ng = functools.partial(f, 1)\ng(x)",
    "partial of a partial": "import functools\ndef f(a, b, t):\n  return t\ng = functools.partial(f, 1)\nh = functools.partial(g, 2)\nh(x)",
    "partial that wraps itself": "import functools\nclass C:\n  def __init__(self):\n    self.g = f\n  def wrap(self):\n    self.g = functools.partial(self.g, a=1)\ndef f(t, a=0):\n  return t\nc = C()\nc.wrap()\nc.wrap()\nc.g(x)",
    "reduce": "import functools\ndef f(a, t):\n  return a + t\nfunctools.reduce(f, [x, x])",
    "closure result": "def make():\n  return tf.ones([1])\ndef f(t):\n  return t\nf(make())",
    "a generator": "def gen():\n  yield tf.ones([1])\ndef f(t):\n  return t\nfor t in gen():\n  f(t)",
    "operators": "def f(t):\n  return t\nf(-x * 2 + 1)",
    "comparison": "def f(t):\n  return t\nf(x > 1)",
    "indexing": "def f(t):\n  return t\nf(x[0])",
    "conditional expression": "def f(t):\n  return t\nf(x if 1 > 2 else None)",
    "branch": "if 1 > 2:\n  y = 1\nelse:\n  y = x\ndef f(t):\n  return t\nf(y)",
    "a walrus": "def f(t):\n  return t\nif (y := x) is not None:\n  f(y)",
    "global variable": "def f(t):\n  return t\ndef g():\n  f(x)\ng()",
    "instance attribute": "class A:\n  def __init__(self, t):\n    self.t = t\ndef f(t):\n  return t\nf(A(x).t)",
    "property": "class A:\n  @property\n  def t(self):\n    return x\ndef f(t):\n  return t\nf(A().t)",
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass A:\n  t: object\ndef f(t):\n  return t\nf(A(x).t)",
    "named tuple": "from collections import namedtuple\nP = namedtuple('P', 'a b')\ndef f(t):\n  return t\nf(P(1, x).b)",
    "typing named tuple": "from typing import NamedTuple\nclass P(NamedTuple):\n  a: int\n  b: object\ndef f(t):\n  return t\na, b = P(1, x)\nf(b)",
    "dunder call": "class A:\n  def __call__(self, t):\n    return f(t)\ndef f(t):\n  return t\nA()(x)",
    "dunder getitem": "class A:\n  def __getitem__(self, i):\n    return x\ndef f(t):\n  return t\nf(A()[0])",
    "dunder iter": "class A:\n  def __iter__(self):\n    yield x\ndef f(t):\n  return t\nfor t in A():\n  f(t)",
    "dunder add": "class A:\n  def __add__(self, other):\n    return x\ndef f(t):\n  return t\nf(A() + 1)",
    "super": "class A:\n  def g(self, t):\n    f(t)\nclass B(A):\n  def g(self, t):\n    super().g(t)\ndef f(t):\n  return t\nB().g(x)",
    "class attribute": "class A:\n  t = x\ndef f(t):\n  return t\nf(A.t)",
    "decorated": "def d(g):\n  def wrapper(*args, **kwargs):\n    return g(*args, **kwargs)\n  return wrapper\n@d\ndef f(t):\n  return t\nf(x)",
    "decorator with arguments": "import functools\ndef d(n):\n  def deco(g):\n    @functools.wraps(g)\n    def wrapper(*args):\n      return g(*args)\n    return wrapper\n  return deco\n@d(3)\ndef f(t):\n  return t\nf(x)",
    "a callback": "def apply(g, t):\n  return g(t)\ndef f(t):\n  return t\napply(f, x)",
    "a table of functions": "def f(t):\n  return t\ntable = {'f': f}\ntable['f'](x)",
    "list of functions": "def f(t):\n  return t\nfor g in [f]:\n  g(x)",
    "tf.map_fn": "def f(t):\n  return t\ntf.map_fn(f, x)",
    "tf.while_loop": "def c(t):\n  return True\ndef f(t):\n  return t\ntf.while_loop(c, f, [x])",
    "gradients": "def f(t):\n  return t\nwith tf.GradientTape() as tape:\n  y = x * x\nf(tape.gradient(y, x))",
    "list of gradients": "v = tf.Variable(1.)\nwith tf.GradientTape() as tape:\n  y = v * v\ndef f(gs):\n  return gs\nf(tape.gradient(y, [v]))",
    "keras layer": "def f(t):\n  return t\nf(tf.keras.layers.Dense(3)(x))",
    "keras sequential": "m = tf.keras.Sequential([tf.keras.layers.Dense(3)])\ndef f(t):\n  return t\nf(m(x))",
    "keras loss": "def f(t):\n  return t\nf(tf.keras.losses.MeanSquaredError()(x, x))",
    "try": "def f(t):\n  return t\ntry:\n  y = x\nexcept ValueError:\n  y = None\nf(y)",
    "with": "def f(t):\n  return t\nwith tf.device('cpu'):\n  f(x)",
    "nonlocal": "def outer():\n  y = None\n  def inner():\n    nonlocal y\n    y = x\n  inner()\n  f(y)\ndef f(t):\n  return t\nouter()",
    "global statement": "y = None\ndef g():\n  global y\n  y = x\ng()\ndef f(t):\n  return t\nf(y)",
    "match": "def f(t):\n  return t\nmatch (1, x):\n  case (a, b):\n    f(b)",
    "starred assignment": "def f(t):\n  return t\na, *b = [1, x]\nf(b)",
    "conversion": "import numpy as np\ndef f(t):\n  return t\nf(tf.convert_to_tensor(np.array([1.0])))",
    "getattr": "class A:\n  t = x\ndef f(t):\n  return t\nf(getattr(A(), 't'))",
    "setattr": "class A:\n  pass\na = A()\nsetattr(a, 't', x)\ndef f(t):\n  return t\nf(a.t)",
    "lambda": "f = None\ndef h(t):\n  return t\n(lambda v: h(v))(x)\ndef f(t):\n  return t\nf(x)",
    "class method": "class A:\n  @classmethod\n  def make(cls, t):\n    return f(t)\ndef f(t):\n  return t\nA.make(x)",
    "method through class": "class A:\n  def g(self, t):\n    return f(t)\ndef f(t):\n  return t\nA.g(A(), x)",
    "string join of dict": "def f(t):\n  return t\nd = dict(a=x)\nf(d.get('a'))",
    "sorted": "def f(t):\n  return t\nfor t in sorted([x], key=lambda v: 0):\n  f(t)",
    "nested containers": "def f(ts):\n  return ts\nf({'a': [(x, 1)]})",
    "deque": "from collections import deque\nd = deque()\nd.append(x)\ndef f(t):\n  return t\nf(d.popleft())",
    "sum": "def f(t):\n  return t\nf(sum([x, x]))",
    "tf.nest": "def f(t):\n  return t\ntf.nest.map_structure(f, {'a': x})",
    "strategy.run": "s = tf.distribute.MirroredStrategy()\ndef f(t):\n  return t\ns.run(f, args=(x,))",
}


@pytest.mark.parametrize("way", FLOWS)
def test_a_tensor_flows_in_through(way: str, tmp_path: Path) -> None:
    assert facts(tmp_path, X + FLOWS[way], speculate=False)["f"].tensor_parameter is True


NO_TENSORS = {
    "a number": "def f(n):\n  return n\nf(3)",
    "a string": "def f(n):\n  return n\nf('a')",
    "a list of numbers": "def f(n):\n  return n\nf([1, 2])",
    "no parameters": "def f():\n  return 1\nf()",
    "none": "def f(n=None):\n  return n\nf()",
    "a loop counter": "def f(n):\n  return n\nfor i in range(3):\n  f(i)",
    "a shape": "def f(n):\n  return n\nf(x.shape)",
    "a model": "def f(m):\n  return m\nf(tf.keras.Sequential([]))",
    "the other element": "def f(n):\n  return n\nl = [1, x]\nf(l[0])",
    "only self": "class A:\n  def f(self):\n    return self\nA().f()",
}


@pytest.mark.parametrize("way", NO_TENSORS)
def test_no_tensor_flows_in_through(way: str, tmp_path: Path) -> None:
    found = facts(tmp_path, X + NO_TENSORS[way], speculate=False)
    assert (found.get("f") or found["A.f"]).tensor_parameter is False


@pytest.mark.parametrize(
    "hint",
    [
        "tf.Tensor",
        "'tf.Tensor'",
        "tf.Variable",
        "tf.Tensor | None",
        "list[tf.Tensor]",
        "tf.SparseTensor",
        "tf.RaggedTensor",
    ],
)
def test_a_hint_makes_a_tensor(hint: str, tmp_path: Path) -> None:
    assert facts(tmp_path, f"def f(t: {hint}):\n  return t")["f"].tensor_parameter is True


def test_nothing_is_known_of_a_function_that_nobody_calls(tmp_path: Path) -> None:
    found = facts(tmp_path, "def f(t):\n  return t")["f"]
    assert (found.tensor_parameter, found.verdict, [r.code for r in found.reasons]) == (None, "unknown", ["STR133"])


@pytest.mark.parametrize("name", ["train_step", "distributed_train_step", "test_step", "run_model", "run_inference"])
def test_names_are_speculated_on(name: str, tmp_path: Path) -> None:
    found = facts(tmp_path, f"def {name}(images):\n  return images * 2")[name]
    assert found.tensor_parameter is True and found.assumptions and found.safety == "safe-if"
    assert facts(tmp_path, f"def {name}(images):\n  return images * 2", speculate=False)[name].tensor_parameter is None


@pytest.mark.parametrize("method", ["call", "__call__"])
def test_the_call_of_a_model_is_speculated_on(method: str, tmp_path: Path) -> None:
    source = f"class M(tf.keras.Model):\n  def {method}(self, x):\n    return x * 2"
    assert facts(tmp_path, source)[f"M.{method}"].tensor_parameter is True
    assert facts(tmp_path, source.replace("Model", "layers.Layer"))[f"M.{method}"].tensor_parameter is None


@pytest.mark.parametrize("argument", ["np.ones(3)", "x.numpy()", "[np.ones(3)]", "(1, np.ones(3))"])
def test_an_array_is_a_tensor_to_a_graph(argument: str, tmp_path: Path) -> None:
    source = f"import numpy as np\nx = tf.ones([2])\ndef f(n):\n  return n\nf({argument})"
    assert facts(tmp_path, source)["f"].tensor_parameter is True


def test_an_object_with_named_elements_has_no_positions() -> None:
    written = Object("instance", "lib.Record", None, 1)
    written.items["k"] = NOTHING
    assert written.positions() is None


def test_tensors_of_many_kinds_merge_in_the_order_of_first_sight():
    """Not in the order of a set, which differs from process to process, and with it what a scan says."""
    forget()
    kinds = ["ragged", "tensor", "sparse", "variable", "symbolic"]
    found = [tensor("tensorflow", kind) for kind in kinds]
    assert [atom.kind for atom in join(join_all(found[:3]), join_all(found[3:])).tensors()] == kinds


def test_lists_that_hold_each_other_are_looked_at_once_per_depth(tmp_path, monkeypatch):
    """Every path through them was followed: thousands for eight lists."""
    looked = []
    leaves = containers._leaves
    monkeypatch.setattr(containers, "_leaves", lambda *given: looked.append(given) or leaves(*given))
    lists = "".join(f"l{i} = []\n" for i in range(8))
    holds = "".join(f"l{i}.append(l{j})\n" for i in range(8) for j in range(8))
    facts(tmp_path, X + lists + holds + "l0.append(x)\ntf.nest.map_structure(lambda t: t + 1, l0)\n")
    assert 0 < len(looked) < 500
