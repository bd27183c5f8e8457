"""TensorFlow 1 code: recognised file by file, and left alone.

Sessions, placeholders, variable scopes, `tf.layers`, slim and flags belong to programs that build a graph and run it in
a session. They run as graphs already, `tf.function` means nothing there, and what looks like an eager function is only
called to build. A file is TensorFlow 1 code when it uses a name that TensorFlow 2 does not have, switches eager mode
off, or knows TensorFlow by `tensorflow.compat.v1` alone; functions that such files call count as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from strop.source.facts import Place, Skipped
from strop.source.interpret.interpreter import Program
from strop.source.project.declarations import Code, Module
from strop.source.rules import declare

TENSORFLOW_1 = declare(
    "STR185",
    "tensorflow-1",
    """The file is TensorFlow 1 code.

    It works with sessions, placeholders, variable scopes or other names that TensorFlow 2 does not have. Such programs
    build a graph and run it in a session: they run as graphs already, and `tf.function` is for eager code. The scan
    says so once and leaves these files alone.

    Instead of:  with tf.Session() as session: session.run(train_op, {x: batch})
    Write:       train_step(batch)         after moving to TensorFlow 2 (`tf_upgrade_v2` helps)
    """,
)
_V1 = "tensorflow.compat.v1"
#: names of `tf` that TensorFlow 2 does not have
_GONE = frozenset(
    [
        "Session",
        "InteractiveSession",
        "ConfigProto",
        "GPUOptions",
        "GraphKeys",
        "Print",
        "RunOptions",
        "add_check_numerics_ops",
        "add_to_collection",
        "all_variables",
        "app",
        "assert_variables_initialized",
        "assign",
        "assign_add",
        "assign_sub",
        "colocate_with",
        "contrib",
        "container",
        "control_flow_v2_enabled",
        "count_nonzero",
        "create_partitioned_variables",
        "decode_csv",
        "delete_session_tensor",
        "dimension_value",
        "disable_control_flow_v2",
        "disable_eager_execution",
        "disable_v2_behavior",
        "fixed_size_partitioner",
        "flags",
        "get_collection",
        "get_collection_ref",
        "get_default_graph",
        "get_default_session",
        "get_local_variable",
        "get_seed",
        "get_session_handle",
        "get_session_tensor",
        "get_variable",
        "get_variable_scope",
        "gfile",
        "global_variables",
        "global_variables_initializer",
        "initialize_all_variables",
        "initialize_variables",
        "layers",
        "local_variables",
        "local_variables_initializer",
        "log",
        "logging",
        "make_template",
        "min_max_variable_partitioner",
        "model_variables",
        "moving_average_variables",
        "multinomial",
        "no_regularizer",
        "op_scope",
        "placeholder",
        "placeholder_with_default",
        "random_normal",
        "random_uniform",
        "report_uninitialized_variables",
        "reset_default_graph",
        "resource_loader",
        "reduce_join",
        "scatter_add",
        "scatter_update",
        "set_random_seed",
        "setdiff1d",
        "sparse_placeholder",
        "sparse_to_dense",
        "string_to_number",
        "tables_initializer",
        "to_bfloat16",
        "to_complex128",
        "to_complex64",
        "to_double",
        "to_float",
        "to_int32",
        "to_int64",
        "trainable_variables",
        "truncated_normal",
        "user_ops",
        "variable_axis_size_partitioner",
        "variable_op_scope",
        "variable_scope",
        "variables_initializer",
        "verify_tensor_all_finite",
        "wrap_function",
    ]
)
#: of these modules of `tf`, TensorFlow 2 has other names only
_GONE_IN = {
    "nn": "dynamic_rnn static_rnn bidirectional_dynamic_rnn rnn_cell softmax_cross_entropy_with_logits_v2 xw_plus_b",
    "train": "AdamOptimizer GradientDescentOptimizer MomentumOptimizer RMSPropOptimizer AdagradOptimizer Saver "
    "Optimizer get_global_step get_or_create_global_step MonitoredTrainingSession Supervisor shuffle_batch "
    "string_input_producer start_queue_runners exponential_decay import_meta_graph NewCheckpointReader SessionRunHook",
    "summary": "merge_all merge FileWriter",
    "image": "resize_images resize_bilinear resize_nearest_neighbor resize_image_with_crop_or_pad",
    "random": "set_random_seed",
    "data": "make_one_shot_iterator make_initializable_iterator",
    "losses": "get_total_loss get_regularization_loss softmax_cross_entropy sparse_softmax_cross_entropy "
    "sigmoid_cross_entropy absolute_difference",
}
#: of `tensorflow.compat.v1`, the names that stay harmless in TensorFlow 2 code
_HARMLESS = frozenset(
    [
        "logging",
        "gfile",
        "app",
        "flags",
        "set_random_seed",
        "test",
        "keras",
        "losses",
        "nn",
        "math",
        "io",
        "compat",
        "train",
    ]
)
_EAGER_AGAIN = frozenset(["enable_eager_execution", "enable_v2_behavior", "enable_v2_tensorshape"])
_PACKAGES = ("tf_slim", "tensorflow.contrib")

_known: WeakKeyDictionary[Program, tuple[dict[Module, tuple[Place, str]], set[Code]]] = WeakKeyDictionary()


def is_tensorflow_1(program: Program, code: Code) -> str:
    """What shows that a function belongs to TensorFlow 1 code; empty when nothing does."""
    marked, called = _of(program)
    if code.module in marked:
        place, text = marked[code.module]
        return f"`{text}` in line {place.line} is TensorFlow 1"
    return "TensorFlow 1 code calls it" if code in called else ""


def notices(program: Program) -> list[Skipped]:
    """One per file; whoever shows them makes one line of all."""
    marked, _ = _of(program)
    found = []
    for module, (place, text) in marked.items():
        if module.name in program.modules:
            found.append(Skipped(place.file, TENSORFLOW_1, message(1, text), place.line))
    return found


def message(files: int, text: str = "") -> str:
    what = f"`{text}`: TensorFlow 1 code" if text else "TensorFlow 1 code"
    many = f" in {files} files" if files > 1 else ""
    return f"{what}{many}, which runs as graphs in sessions already: no advice on `tf.function`"


def together(skipped: list[Skipped]) -> list[Skipped]:
    """The same with one line for all files of TensorFlow 1 code."""
    old = [skip for skip in skipped if skip.code == TENSORFLOW_1]
    if len(old) < 2:
        return skipped
    first = old[0]
    text = first.message.split("`")[1] if first.message.startswith("`") else ""
    line = Skipped(first.file, TENSORFLOW_1, message(len(old), text), first.line)
    return [line if skip is first else skip for skip in skipped if skip is first or skip.code != TENSORFLOW_1]


def _of(program: Program) -> tuple[dict[Module, tuple[Place, str]], set[Code]]:
    known = _known.get(program)
    if known is None:
        marked: dict[Module, tuple[Place, str]] = {}
        for module in program.modules.values():
            if module.imports & {"tensorflow", "tf_slim"} and (shown := _evidence(module)) is not None:
                marked[module] = shown
        known = _known[program] = (marked, _called(program, set(marked)))
    return known


def _called(program: Program, marked: set[Module]) -> set[Code]:
    """Functions of other files that run while code of these files runs."""
    if not marked:
        return set()
    waiting = [node for code in program.codes() if code.module in marked for node in code.nodes.values()]
    seen = set(waiting)
    for node in waiting:
        for _, callee in node.callees:
            if callee not in seen:
                seen.add(callee)
                waiting.append(callee)
    return {node.code for node in seen}


def _evidence(module: Module) -> tuple[Place, str] | None:
    """The first place that shows it, and what stands there."""
    names: dict[str, str] = {}
    found: list[tuple[Place, str]] = []
    statements = [node for node in module.code.walk() if isinstance(node, (ast.Import, ast.ImportFrom))]
    for statement in statements:
        for bound, dotted in _imported(statement):
            names[bound] = dotted
            if dotted.startswith(_PACKAGES):
                found.append((module.code.place(statement), dotted))
    for node in module.code.walk() if names else ():
        dotted = _dotted(node, names)
        if dotted.rpartition(".")[2] in _EAGER_AGAIN:
            return None
        if dotted and _is_gone(dotted):
            found.append((module.code.place(node), ast.unparse(node)))
    if set(names.values()) == {_V1}:
        found += [(module.code.place(s), f"import {_V1}") for s in statements if any(_imported(s))]
    return min(found, default=None)


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.partition(".")[0]
            if top in ("tensorflow", "tf_slim"):
                yield (alias.asname, alias.name) if alias.asname else (top, top)
    elif node.module is not None and not node.level and node.module.partition(".")[0] in ("tensorflow", "tf_slim"):
        for alias in node.names:
            yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _dotted(node: ast.AST, names: dict[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return ""
    return ".".join([names[node.id], *parts])


def _is_gone(dotted: str) -> bool:
    """Whether TensorFlow 2 does not have this name, or has it in `compat.v1` for sessions only."""
    if dotted.startswith("tensorflow.contrib"):
        return True
    old = dotted.startswith(f"{_V1}.")
    rest = dotted.removeprefix(f"{_V1}.") if old else dotted.removeprefix("tensorflow.")
    first, _, second = rest.partition(".")
    if second.partition(".")[0] in _GONE_IN.get(first, "").split():
        return True
    return first in _GONE and not (old and first in _HARMLESS)
