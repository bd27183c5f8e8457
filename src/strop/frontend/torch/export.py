"""The door of `strop.compile`: a module through torch.export to our graph, with what a caller needs to run it."""

from __future__ import annotations

import linecache
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.experimental import proxy_tensor
from torch.utils._pytree import TreeSpec, tree_flatten

from strop.core.problem import Problem
from strop.frontend.torch.data_dependent import DATA_DEPENDENT, depends_on_data
from strop.frontend.torch.inplace import only_renames
from strop.frontend.torch.normalize import GraphOutput, PlainOutput, from_fx
from strop.frontend.torch.origin import user_frame
from strop.frontend.torch.quiet import quietly
from strop.frontend.torch.random_operators import name_draws
from strop.frontend.torch.tracing_caches import without_leftovers
from strop.graph.ir import Graph, Origin


@dataclass(frozen=True)
class Captured:
    """A module's program for one set of example inputs.

    Flatten `(args, kwargs)` with torch's pytree: the leaves must have the structure `in_spec`; `inputs` says which leaf
    each of the graph's inputs is, `guards` what every other leaf must equal. `outputs` are the leaves of `out_spec`.
    """

    graph: Graph
    in_spec: TreeSpec
    out_spec: TreeSpec
    inputs: tuple[int, ...]
    guards: Mapping[int, Any]
    outputs: tuple[GraphOutput | PlainOutput, ...]
    constants: Mapping[str, torch.Tensor]  # key of a param that the module does not hold → its value
    lifted: tuple[torch.Tensor, ...]  # the module's plain tensor attributes that became constants
    fallbacks: Mapping[str, str]  # library node → why it is one
    exported: torch.export.ExportedProgram  # as exported, writes in place and views still visible

    def fetch(self, module: torch.nn.Module) -> dict[str, torch.Tensor]:
        """Each param's key → the tensor that the module holds for it now."""
        return {
            node.attrs["key"]: self.constants[node.attrs["key"]]
            if node.attrs["key"] in self.constants
            else lookup(module, node.attrs["key"])
            for node in self.graph.params
        }


def lookup(module: torch.nn.Module, key: str) -> torch.Tensor:
    """The live parameter or buffer behind a state-dict name."""
    found: Any = module
    for part in key.split("."):
        found = getattr(found, part)
    if not isinstance(found, torch.Tensor):
        raise Problem("STR105", f"`{key}` is no longer a tensor of the module", help="compile the module again")
    return found


def capture(module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None) -> Captured:
    """Capture `module(*args, **kwargs)` for inference with static shapes."""
    with without_leftovers():
        return _capture(module, args, dict(kwargs or {}))


def _capture(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Captured:
    _check(module, args, kwargs)
    exported = _export(module, args, kwargs)
    program = _functional(exported)
    signature = program.graph_signature
    params: dict[str, str] = {}
    reached: dict[str, str] = {}  # parameters too, though the module's code came by them through a closure
    constants: dict[str, torch.Tensor] = {}
    lifted: list[torch.Tensor] = []
    arguments: list[str] = []
    held = {_place(t): key for key, t in (*module.named_parameters(), *module.named_buffers()) if t.numel()}
    for spec in signature.input_specs:
        name = spec.arg.name
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
            params[name] = str(spec.target)
        elif spec.kind == InputKind.CONSTANT_TENSOR:
            value = _constant(program, str(spec.target))
            if _place(value) in held:
                reached[name] = held[_place(value)]
                continue
            constants[name] = value
            lifted += _attribute(module, str(spec.target))
        elif spec.kind == InputKind.USER_INPUT:
            arguments.append(name)
        else:
            raise Problem("STR101", f"the model takes a {spec.kind.name.lower()} as an input", help=_PARTIAL)
    placeholders = {params[name]: name for name in params}
    mutations = {}
    for position, output in enumerate(signature.output_specs):
        if output.kind in (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION):
            mutations[position] = placeholders[str(output.target)]
        elif output.kind == OutputKind.USER_INPUT_MUTATION:
            mutations[position] = str(output.target)
    conversion = from_fx(program.graph_module, params={**params, **reached}, constants=constants, mutations=mutations)
    leaves, in_spec = tree_flatten((args, kwargs))
    inputs = tuple(arguments.index(name) for name in conversion.inputs)
    guards = {i: leaf for i, leaf in enumerate(leaves) if not isinstance(leaf, torch.Tensor)}
    assert program.call_spec.out_spec is not None
    for traced in (exported, program):
        _let_go(traced)
    return Captured(
        conversion.graph, in_spec, program.call_spec.out_spec, inputs, guards, conversion.outputs,
        conversion.constants, tuple(lifted), conversion.fallbacks, exported,
    )  # fmt: skip


_PARTIAL = "pass partial=True to compile what can be and leave the rest to eager"


def _check(module: Any, args: Any, kwargs: Mapping[str, Any]) -> None:
    if not isinstance(module, torch.nn.Module):
        raise Problem("STR001", f"the model must be an nn.Module, got {type(module).__name__}",
                      help="wrap a function in an nn.Module, or use torch.compile(f, backend='strop')")  # fmt: skip
    if not isinstance(args, tuple):
        raise Problem("STR001", f"the example inputs must be a tuple, got {type(args).__name__}",
                      help="write (x,) for a single input")  # fmt: skip
    tensors = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, torch.Tensor)]
    state = [*module.named_parameters(), *module.named_buffers(), *((f"input {i}", t) for i, t in enumerate(tensors))]
    for name, tensor in state:
        if tensor.device.type != "cpu":
            raise Problem("STR103", f"{name} lives on {tensor.device}",
                          help="make it on the CPU" if tensor.is_meta else "move it with .to('cpu')")  # fmt: skip


def _export(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.export.ExportedProgram:
    """Parts that `torch.compile` wraps are traced as they were written: otherwise their weights become constants."""
    try:
        with quietly(), torch.no_grad(), torch.compiler.set_stance("force_eager"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.export.export(module, args, kwargs, strict=False)
    except Exception as error:
        raise _explained(error) from error


def _functional(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The program without writes that the normaliser can't follow."""
    name_draws(program.graph_module)
    lifted = (s.arg.name for s in program.graph_signature.input_specs if s.kind == InputKind.CONSTANT_TENSOR)
    if only_renames(program.graph, frozenset(lifted)):
        return program
    _drop_dropout(program)
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            functional: torch.export.ExportedProgram = program.run_decompositions({})
            return functional
    except Exception as error:
        raise _explained(error) from error


def _let_go(program: torch.export.ExportedProgram) -> None:
    """Forget which tensors were traced: torch does not swap tensors to which there are weak references.

    The fake tensors of a program have such references, and torch keeps those of the last export in a map for messages.
    """
    getattr(proxy_tensor, "_FAKE_TENSOR_ID_TO_PROXY_MAP_FOR_EXPORT", {}).clear()
    fakes = (node.meta.get("val") for node in program.graph.nodes)
    for mode in {fake.fake_mode for fake in fakes if isinstance(fake, FakeTensor)}:
        mode.fake_tensor_converter.meta_converter.describer.lookup_tensor.clear()


def _drop_dropout(program: torch.export.ExportedProgram) -> None:
    """Outside training dropout returns its very argument; export would make a copy that later writes don't reach."""
    for node in list(program.graph.nodes):
        if node.target is torch.ops.aten.dropout.default and not node.args[2]:
            source = node.args[0]
            node.replace_all_uses_with(source)
            program.graph_signature.replace_all_uses(node.name, source.name)
            program.graph.erase_node(node)


def _explained(error: Exception) -> Problem:
    """Torch's reason in one sentence, at the user's line."""
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    frames = (frame for frame in traceback.extract_tb(error.__traceback__) if not _is_ours(frame.filename))
    file, line = user_frame("".join(traceback.format_list(frames)))
    where = Origin(file, line)
    if isinstance(error, DATA_DEPENDENT):
        return depends_on_data(error, where, _next_step(file, line))
    return Problem("STR101", f"torch.export failed: {reason}", where=where, help=_next_step(file, line))


def _next_step(file: str, line: int) -> str:
    """What the user can do; the line is shown where there is one to be read."""
    text = linecache.getline(file, line).strip() if file else ""
    if not text:
        return _PARTIAL
    return f"rewrite `{text}` ({file}:{line}), or {_PARTIAL}"


def _is_ours(file: str) -> bool:
    """Strop's own frames are nobody's fault, except for the networks that it ships."""
    path = Path(file)
    return Path(__file__).parents[2] in path.parents and "zoo" not in path.parts


def _place(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()


def _attribute(module: torch.nn.Module, path: str) -> list[torch.Tensor]:
    """The module's own tensor behind a lifted constant; none for a tensor that `forward` made."""
    try:
        return [lookup(module, path)]
    except (AttributeError, Problem):
        return []


def _constant(program: torch.export.ExportedProgram, target: str) -> torch.Tensor:
    value = program.constants.get(target)
    if not isinstance(value, torch.Tensor):
        raise Problem("STR101", f"the lifted constant `{target}` is no tensor", help=_PARTIAL)
    return value
