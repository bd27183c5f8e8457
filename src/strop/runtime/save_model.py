"""A model as a file that runs without PyTorch: compiled for one or several CPUs, its weights folded and packed.

The parameter program of every target is planned for that target and run here, in this machine's instructions: it only
moves and folds numbers. So the file holds weights as the steps read them, and nothing is computed when it is loaded.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from strop.codegen.standalone_pool import END_WORKERS, WORKER
from strop.core.dtypes import STORED
from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.core.version import __version__
from strop.deploy.cpu_features import ARM, OF_BYTES, OF_THREADS, UNUSED, X86
from strop.deploy.link import PAGE, link
from strop.deploy.model_file import (
    MOST_DIMENSIONS,
    WEIGHT_ALIGNMENT,
    ModelTables,
    StoredProgram,
    StoredWeight,
    TensorInfo,
    Variant,
    pack,
    table_bytes,
)
from strop.driver import pipeline
from strop.driver.artifact import Artifact, native_entry
from strop.graph.ir import Graph
from strop.loops.calls import Call
from strop.loops.ir import Apply, Nest
from strop.runtime import compile_model
from strop.runtime.packed import dense
from strop.runtime.program import NativeProgram
from strop.runtime.specializations import Traced
from strop.target import host
from strop.target.description import Target

LINUX = {
    "x86_64": "x86_64-unknown-linux-gnu",
    "aarch64": "aarch64-unknown-linux-gnu",
    "arm64": "aarch64-unknown-linux-gnu",
}


@dataclass
class _Blobs:
    """Parts of the file by their contents; equal ones are stored once."""

    alignment: int
    data: list[memoryview] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    size: int = 0
    _known: dict[bytes, int] = field(default_factory=dict)

    def add(self, data: memoryview) -> int:
        """Its number."""
        key = hashlib.sha256(data).digest()
        if key not in self._known:
            self.size = -(-self.size // self.alignment) * self.alignment
            self._known[key] = len(self.data)
            self.data.append(data)
            self.offsets.append(self.size)
            self.size += len(data)
        return self._known[key]


def save(
    model: nn.Module,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    path: Path,
    targets: Sequence[str],
    options: Options,
    journal: Journal,
    name: str = "",
) -> ModelTables:
    """Compile a model for some targets (none: this machine) and write it to a file."""
    with torch.no_grad():
        traced = compile_model.default_trace(model, tuple(args), dict(kwargs or {}))
    graph = traced.graph
    _check(graph, traced)
    inputs, outputs = _tensors(model, args, kwargs or {}, traced)
    images, weights = _Blobs(PAGE), _Blobs(WEIGHT_ALIGNMENT)
    parameters = _parameters(model, traced)
    described = [pipeline.target_for(replace(options, target=one)) for one in targets] or [pipeline.target_for(options)]
    plans: dict[str, str] = {}
    variants = []
    for target in described:
        made = _Maker(_for_linux(target), options, journal, images, weights, parameters)
        variants.append(made.variant(graph))
        plans[target.name] = made.plan
    about = {"model": name or type(model).__name__, "strop": __version__, "plans": plans}
    tables = ModelTables(inputs, outputs, tuple(variants), (0, 0), 0)
    _write(path, tables, images, weights, json.dumps(about).encode())
    return tables


class _Maker:
    """Makes the variant of one target."""

    def __init__(
        self,
        target: Target,
        options: Options,
        journal: Journal,
        images: _Blobs,
        weights: _Blobs,
        parameters: list[Tensor],
    ) -> None:
        self.target, self.options, self.journal = target, options, journal
        self.images, self.weights, self.parameters = images, weights, parameters
        self.threads = options.threads or 1
        self.threaded = self.bytes = False
        self.plan = ""

    def variant(self, graph: Graph) -> Variant:
        first, watches = self._program(graph, self.options)
        programs = [first]
        if watches:  # what is not finite is computed again, by direct algorithms
            programs.append(self._program(graph, self.options.direct)[0])
        machine = "aarch64" if self.target.is_arm else "x86_64"
        return Variant(self.target.name, machine, self.threads, self._features(), tuple(programs))

    def _features(self) -> tuple[str, ...]:
        known = ARM if self.target.is_arm else X86
        left = {*UNUSED, *(() if self.threaded else OF_THREADS), *(() if self.bytes else OF_BYTES)}
        return tuple(name for name in known if self.target.has(name) and name not in left)

    def _program(self, graph: Graph, options: Options) -> tuple[StoredProgram, bool]:
        stages = pipeline.run_stages(graph, self.target, options, self.journal, self.threads)
        calls = [step for step in stages.plan.steps if isinstance(step, Call)]
        library = [step.target for step in stages.plan.steps if not isinstance(step, Call)]
        if library:
            names = ", ".join(f"`{one}`" for one in dict.fromkeys(library))
            raise _refused(f"it needs PyTorch for {names}", "docs/library-nodes.md says which operators are compiled")
        if not calls:
            raise _refused("it has nothing to compute: every result is empty or known beforehand")
        self.bytes = self.bytes or any(_multiplies_bytes(call.nest) for call in calls)
        self.plan = self.plan or "\n\n".join(str(call.nest) for call in calls)
        made = pipeline.generate(stages, self.target, self.journal, part="steps")
        self.threaded = self.threaded or made.about.threaded
        held = self._weights(stages, made, options)
        image = link(made.code)
        stored = StoredProgram(
            image=self.images.add(memoryview(image.code)),
            image_bytes=len(image.code),
            image_crc=zlib.crc32(image.code),
            table=image.table,
            entry=image.symbols[native_entry(0)],
            worker=image.symbols.get(WORKER, 0),
            end_workers=image.symbols.get(END_WORKERS, 0),
            arena_bytes=made.arena_bytes,
            scratch_bytes=made.scratch_bytes,
            slots=made.slots,
            inputs=made.inputs,
            outputs=tuple(output.slot for output in made.outputs),
            weights=held,
            externals=image.externals,
        )
        return stored, made.about.watches

    def _weights(self, stages: pipeline.Stages, made: Artifact, options: Options) -> tuple[StoredWeight, ...]:
        """What the steps read: packed by the parameter program, which runs here, or as the model has it."""
        found = [(made.params[i], _raw(dense(self.parameters[i].detach()))) for i in made.direct]
        if made.sections:
            here = self.target.emulated_on(host.described_host())
            prepared = pipeline.generate(stages, here, self.journal, part="parameters")
            packed = NativeProgram(prepared, replace(options, target=None)).packed_bytes(self.parameters)
            found += [(one.slot, packed[one.slot]) for one in made.packed]
        return tuple(
            StoredWeight(slot, self.weights.add(data), len(data), zlib.crc32(data)) for slot, data in found if len(data)
        )


def _for_linux(target: Target) -> Target:
    """Model files are for Linux: code for a CPU of Apple's runs there, too."""
    return replace(target, triple=LINUX[target.triple.partition("-")[0]])


def _raw(tensor: Tensor) -> memoryview:
    return tensor.flatten().view(torch.uint8).numpy().data if tensor.numel() else memoryview(b"")


def _multiplies_bytes(nest: Nest) -> bool:
    waiting: list[Any] = [store.value for store in nest.stores]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Apply):
            if one.op == "dot4":
                return True
            waiting.extend(one.args)
    return False


# ---- what goes in and out --------------------------------------------------------------------------------------------


def _check(graph: Graph, traced: Traced) -> None:
    if graph.mutations:
        names = ", ".join(str(target.attrs.get("key", "an input")) for target, _ in graph.mutations)
        raise _refused(f"it writes to {names}", "call model.eval() first, or return the new value")
    for i, node in enumerate(graph.outputs):
        if node.op in ("input", "param"):
            raise _refused(f"output {i} is {'an input' if node.op == 'input' else 'a parameter'} itself")
    if not graph.outputs:
        raise _refused("it returns no tensor")
    for what, nodes in (("input", graph.inputs), ("output", graph.outputs)):
        for i, node in enumerate(nodes):
            if node.type.dtype not in STORED:
                raise _refused(f"{what} {i} has the type {node.type.dtype}", "convert it in the model")
            if len(node.type.shape) > MOST_DIMENSIONS:
                raise _refused(f"{what} {i} has more than {MOST_DIMENSIONS} dimensions")


def _parameters(model: nn.Module, traced: Traced) -> list[Tensor]:
    held = {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers(remove_duplicate=False))}
    keys = [str(node.attrs["key"]) for node in traced.graph.params]
    return [held[key] if key in held else traced.constants[key] for key in keys]


def _tensors(
    model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], traced: Traced
) -> tuple[tuple[TensorInfo, ...], tuple[TensorInfo, ...]]:
    graph = traced.graph
    given, made = _input_names(model, args, kwargs), _output_names(model, traced)
    found = []
    for names, nodes, plain in ((given, graph.inputs, "input"), (made, graph.outputs, "output")):
        if len(names) != len(nodes) or len(set(names)) != len(names):
            names = [plain] if len(nodes) == 1 else [f"{plain}{i}" for i in range(len(nodes))]
        types = [node.type for node in nodes]
        found.append(tuple(TensorInfo(name, one.dtype, tuple(one.shape)) for name, one in zip(names, types)))
    return found[0], found[1]


def _input_names(model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    if ports := _ports(model, "inputs"):
        return ports[: len(args)]
    bound = inspect.signature(model.forward).bind(*args, **kwargs)
    return list(_named(dict(bound.arguments)))


def _output_names(model: nn.Module, traced: Traced) -> list[str]:
    if ports := _ports(model, "outputs"):
        return ports
    leaves = [torch.zeros(()) if not hasattr(one, "constant") else None for one in traced.outputs]
    tree = pytree.tree_unflatten(leaves, traced.out_spec)
    return (
        ["output"]
        if isinstance(tree, Tensor)
        else [f"output{name}" if name.isdecimal() else name for name in _named(tree)]
    )


def _ports(model: nn.Module, which: str) -> list[str]:
    """Names of an ONNX model's inputs or outputs."""
    found = getattr(model, which, ()) if compile_model.is_onnx(model) else ()
    return [port.name for port in cast(Sequence[Any], found)]


def _named(tree: Any) -> Iterator[str]:
    """Names of the tensors among some values: keys and positions on the way to them."""
    for path, leaf in pytree.tree_flatten_with_path(tree)[0]:
        if isinstance(leaf, Tensor):
            yield ".".join(str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))) for key in path)


# ---- the file --------------------------------------------------------------------------------------------------------


def _write(path: Path, tables: ModelTables, images: _Blobs, weights: _Blobs, about: bytes) -> None:
    """Numbers of blobs become offsets in the file; it is replaced whole, or not at all."""
    first_image = -(-table_bytes(tables) // PAGE) * PAGE
    first_weight = -(-(first_image + images.size) // PAGE) * PAGE
    first_about = first_weight + weights.size

    def placed(program: StoredProgram) -> StoredProgram:
        held = [replace(one, offset=first_weight + weights.offsets[one.offset]) for one in program.weights]
        return replace(program, image=first_image + images.offsets[program.image], weights=tuple(held))

    variants = [replace(one, programs=tuple(map(placed, one.programs))) for one in tables.variants]
    where = (first_about, len(about))
    whole = replace(tables, variants=tuple(variants), about=where, bytes=first_about + len(about))
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("wb") as file:
            file.write(pack(whole))
            for first, blobs in ((first_image, images), (first_weight, weights)):
                for offset, data in zip(blobs.offsets, blobs.data):
                    file.write(bytes(first + offset - file.tell()))
                    file.write(data)
            file.write(bytes(first_about - file.tell()))
            file.write(about)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise Problem("STR001", f"the model file cannot be written: {error}", where=str(path)) from error


def _refused(why: str, help: str = "`strop explain STR408` says what cannot be put into a file") -> Problem:
    return Problem("STR408", f"the model cannot be put into a file: {why}", help=help)
