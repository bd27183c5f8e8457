"""Writes src/strop/source/apis/tensorflow_names.toml from an installed TensorFlow: which names `tf` has.

Functions of `tf` itself that give tensors, and the position at which each operation takes its `name`. Run it with a
Python that has TensorFlow 2 (`make test-tensorflow` makes one): python tools/tensorflow_names.py
"""

from __future__ import annotations

import inspect
import os
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parent.parent / "src" / "strop" / "source" / "apis" / "tensorflow_names.toml"
LISTED = FILE.with_name("tensorflow.toml")
MODULES = [
    "math",
    "nn",
    "linalg",
    "signal",
    "image",
    "strings",
    "bitwise",
    "sparse",
    "ragged",
    "random",
    "audio",
    "quantization",
    "dtypes",
    "io",
    "sets",
    "debugging",
]
#: functions of `tf` that give something else than a tensor, or are listed with what they give
NO_TENSORS = frozenset(
    """
    as_dtype assert_equal assert_greater assert_less assert_rank autodiff batch_jacobian broadcast_static_shape
    custom_gradient device executing_eagerly function get_current_name_scope get_logger get_static_value
    grad_pass_through gradients group hessians import_graph_def init_scope inside_function is_symbolic_tensor
    is_tensor load_library load_op_library make_ndarray make_tensor_proto name_scope no_gradient
    nondifferentiable_batch_function register_tensor_conversion_function recompute_grad type_spec_from_value
    variable_creator_scope
    """.split()  # noqa: SIM905
)


def main() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    known = _listed()
    own = sorted(name for name in _functions(tf) if name not in NO_TENSORS and f"tensorflow.{name}" not in known)
    parts = [
        "# Made by tools/tensorflow_names.py from TensorFlow " + tf.__version__ + ".",
        'framework = "tensorflow"',
        "",
        "# functions of `tf` itself that give tensors and are not listed elsewhere",
        "[[api]]",
        'under = "tensorflow"',
        _words(own),
        'returns = "tensor"',
    ]
    modules = {"tensorflow": tf} | {f"tensorflow.{name}": getattr(tf, name) for name in MODULES}
    for under, module in modules.items():
        positions: dict[int, list[str]] = defaultdict(list)
        for name, function in _functions(module).items():
            at = _position(function)
            if at is not None:
                positions[at].append(name)
        for at, names in sorted(positions.items()):
            parts += ["", "[[name]]", f'under = "{under}"', _words(sorted(names)), f"at = {at}"]
    FILE.write_text("\n".join(parts) + "\n", encoding="utf-8")


def _listed() -> set[str]:
    from strop.source.apis import Apis, _read

    apis = Apis()
    for file in LISTED.parent.glob("*.toml"):
        if file != FILE:
            _read(apis, file)
    return set(apis.functions)


def _functions(module: Any) -> dict[str, Any]:
    found = {name: getattr(module, name, None) for name in dir(module) if name[0] != "_" and name[0].islower()}
    return {name: value for name, value in found.items() if callable(value) and not inspect.isclass(value)}


def _position(function: Any) -> int | None:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    for at, parameter in enumerate(parameters):
        if parameter.name == "name" and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            return at
    return None


def _words(names: list[str]) -> str:
    lines = textwrap.wrap(" ".join(names), 116)
    return f'names = "{lines[0]}"' if len(lines) == 1 else 'names = """\n' + "\n".join(lines) + '\n"""'


if __name__ == "__main__":
    main()
