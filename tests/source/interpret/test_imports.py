"""Names across modules: every form of import, packages, star imports, circles, and files beside the scanned ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from source_facts import facts
from strop.source.project.modules import Project
from strop.source.scan import scan

LIBRARY = "import tensorflow as tf\n\ndef f(t):\n  return t + 1\n\nx = tf.ones([1])\n"

FORMS = {
    "module": {"lib.py": LIBRARY, "main.py": "import lib\nlib.f(lib.x)"},
    "module under another name": {"lib.py": LIBRARY, "main.py": "import lib as l\nl.f(l.x)"},
    "function": {"lib.py": LIBRARY, "main.py": "from lib import f, x\nf(x)"},
    "function under another name": {"lib.py": LIBRARY, "main.py": "from lib import f as g, x as y\ng(y)"},
    "star": {"lib.py": LIBRARY, "main.py": "from lib import *\nf(x)"},
    "star of a star": {"lib.py": LIBRARY, "mid.py": "from lib import *", "main.py": "from mid import *\nf(x)"},
    "package": {"pkg/__init__.py": "", "pkg/lib.py": LIBRARY, "main.py": "import pkg.lib\npkg.lib.f(pkg.lib.x)"},
    "package member": {"pkg/__init__.py": "", "pkg/lib.py": LIBRARY, "main.py": "from pkg import lib\nlib.f(lib.x)"},
    "package function": {"pkg/__init__.py": "", "pkg/lib.py": LIBRARY, "main.py": "from pkg.lib import f, x\nf(x)"},
    "re-export": {
        "pkg/__init__.py": "from .lib import f, x",
        "pkg/lib.py": LIBRARY,
        "main.py": "from pkg import f, x\nf(x)",
    },
    "relative": {"pkg/__init__.py": "", "pkg/lib.py": LIBRARY, "pkg/main.py": "from .lib import f, x\nf(x)"},
    "relative module": {"pkg/__init__.py": "", "pkg/lib.py": LIBRARY, "pkg/main.py": "from . import lib\nlib.f(lib.x)"},
    "parent package": {
        "pkg/__init__.py": "",
        "pkg/lib.py": LIBRARY,
        "pkg/sub/__init__.py": "",
        "pkg/sub/main.py": "from ..lib import f, x\nf(x)",
    },
    "relative star": {"pkg/__init__.py": "", "pkg/lib.py": LIBRARY, "pkg/main.py": "from .lib import *\nf(x)"},
    "namespace package": {"src/lib.py": LIBRARY, "main.py": "from src.lib import f, x\nf(x)"},
    "namespace package by name": {"src/lib.py": LIBRARY, "main.py": "import src.lib\nsrc.lib.f(src.lib.x)"},
    "inside a function": {"lib.py": LIBRARY, "main.py": "def go():\n  from lib import f, x\n  f(x)\ngo()"},
    "in a try": {"lib.py": LIBRARY, "main.py": "try:\n  from lib import f, x\nexcept ImportError:\n  f = None\nf(x)"},
    "circle": {"lib.py": "import main\n" + LIBRARY, "main.py": "import lib\ndef go():\n  lib.f(lib.x)\ngo()"},
    "under main": {"lib.py": LIBRARY, "main.py": "import lib\nif __name__ == '__main__':\n  lib.f(lib.x)"},
    "attribute of a module": {"lib.py": LIBRARY, "main.py": "import lib\ng = lib.f\ng(lib.x)"},
    "import_module": {"lib.py": LIBRARY, "main.py": "import importlib\nl = importlib.import_module('lib')\nl.f(l.x)"},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_tensor_crosses_modules_by(form: str, tmp_path: Path) -> None:
    assert facts(tmp_path, FORMS[form])["f"].tensor_parameter is True


TENSORFLOW = {
    "as tf": "import tensorflow as tf\nx = tf.constant(1)",
    "plain": "import tensorflow\nx = tensorflow.constant(1)",
    "function": "from tensorflow import constant\nx = constant(1)",
    "renamed function": "from tensorflow import constant as c\nx = c(1)",
    "module": "from tensorflow import random\nx = random.uniform([1])",
    "submodule": "import tensorflow.random as r\nx = r.uniform([1])",
    "dotted": "import tensorflow.random\nx = tensorflow.random.uniform([1])",
    "compat": "import tensorflow.compat.v2 as tf\nx = tf.constant(1)",
    "star": "from tensorflow import *\nx = constant(1)",
    "alias": "import tensorflow as tf\nt = tf\nx = t.constant(1)",
    "alias of a function": "import tensorflow as tf\nc = tf.constant\nx = c(1)",
    "keras layers": "from tensorflow.keras.layers import Dense\nx = Dense(1)([[1.0]])",
    "keras alone": "from keras import layers\nx = layers.Dense(1)([[1.0]])",
}


@pytest.mark.parametrize("form", TENSORFLOW)
def test_tensorflow_is_recognised(form: str, tmp_path: Path) -> None:
    found = facts(tmp_path, {"main.py": TENSORFLOW[form] + "\ndef f(t):\n  return t\nf(x)"})
    assert found["f"].tensor_parameter is True


DECORATORS = {
    "plain": "import tensorflow as tf\n@tf.function\ndef f(t): return t",
    "called": "import tensorflow as tf\n@tf.function()\ndef f(t): return t",
    "arguments": "import tensorflow as tf\n@tf.function(jit_compile=True)\ndef f(t): return t",
    "imported": "from tensorflow import function\n@function\ndef f(t): return t",
    "renamed": "from tensorflow import function as graph\n@graph\ndef f(t): return t",
    "whole name": "import tensorflow\n@tensorflow.function\ndef f(t): return t",
    "alias": "import tensorflow as tf\ngraph = tf.function\n@graph\ndef f(t): return t",
    "partial": "import functools, tensorflow as tf\ngraph = functools.partial(tf.function, autograph=False)\n@graph\ndef f(t): return t",
    "a call": "import tensorflow as tf\ndef f(t): return t\ng = tf.function(f)",
    "a call with arguments": "import tensorflow as tf\ndef f(t): return t\ng = tf.function(f, reduce_retracing=True)",
    "internal": "from tensorflow.python.eager.def_function import function\n@function\ndef f(t): return t",
    "method": "import tensorflow as tf\nclass A:\n  @tf.function\n  def f(self, t): return t",
    "nested": "import tensorflow as tf\ndef outer():\n  @tf.function\n  def f(t): return t\n  return f\nouter()",
    "bound method": "import tensorflow as tf\nclass A:\n  def __init__(self):\n    self.g = tf.function(self.f)\n  def f(self, t): return t\nA()",
    "below another decorator": "import tensorflow as tf\ndef d(g): return g\n@d\n@tf.function\ndef f(t): return t",
}


@pytest.mark.parametrize("form", DECORATORS)
def test_graph_functions_are_recognised(form: str, tmp_path: Path) -> None:
    found = facts(tmp_path, {"main.py": DECORATORS[form]})
    assert next(f for name, f in found.items() if name.rpartition(".")[2] == "f").graph


def test_other_decorators_make_no_graph(tmp_path: Path) -> None:
    assert not facts(tmp_path, {"main.py": "def function(g): return g\n@function\ndef f(t): return t"})["f"].graph


def test_modules_of_one_name_in_two_folders_stay_apart(tmp_path: Path) -> None:
    sources = {
        "a/lib.py": LIBRARY,
        "a/main.py": "import lib\nlib.f(lib.x)",
        "b/lib.py": LIBRARY.replace("f(t)", "h(t)"),
    }
    found = facts(tmp_path, sources)
    assert found["f"].tensor_parameter is True and found["h"].tensor_parameter is None


def test_a_file_beside_the_scanned_one_is_read_but_not_reported(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(LIBRARY)
    (tmp_path / "main.py").write_text("import lib\ndef g(t):\n  return lib.f(t)\ng(lib.x)")
    result = scan([str(tmp_path / "main.py")])
    assert [(f.function, f.tensor_parameter, f.verdict) for f in result.functions] == [("g", True, "to_graph")]
    assert [Path(name).name for name in result.followed] == ["lib.py"]


def test_an_absolute_import_means_the_library_also_inside_a_package_with_a_module_of_its_name(tmp_path: Path) -> None:
    used = "import tensorflow as tf\n\ndef f(t):\n  return tf.reshape(t, [-1])\n\nf(tf.ones([1]))\n"
    files = {
        "pkg/__init__.py": "",
        "pkg/backend/__init__.py": "",
        "pkg/backend/tensorflow/__init__.py": "from pkg.backend.tensorflow.core import f",
        "pkg/backend/tensorflow/core.py": used,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = {function.function: function for function in scan([str(tmp_path)]).functions}
    assert (found["f"].tensor_parameter, found["f"].side_effects, found["f"].verdict) == (True, False, "to_graph")


def test_another_reader_follows_imports_on_an_account_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("x = 1\n", encoding="utf-8")
    main = tmp_path / "main.py"
    main.write_text("import helper\n", encoding="utf-8")
    project = Project([str(main)], [str(main)])
    importer = next(iter(project.scanned.values()))
    beside = project.beside()
    found = beside.find(importer, "helper", known_library=False)
    assert found is not None
    assert (project.followed_lines, project.followed) == (0, {})
    assert project.find(importer, "helper", known_library=True) is None
    assert project.find(importer, "helper", known_library=False) is found
