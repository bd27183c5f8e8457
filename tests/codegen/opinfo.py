"""PyTorch's own samples of an operator as one program of ours: traced, compiled and compared with eager.

All samples of an operator, of every dtype, become one graph: one trace and one compilation instead of dozens.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from strop.core.journal import Journal
from strop.core.options import Options
from strop.core.problem import Problem
from strop.frontend.torch.normalize import Conversion, GraphOutput, convert
from strop.graph.ir import Graph, Node
from strop.loops.lower import can_lower, load_families
from strop.runtime.program import build

DTYPES = {"f32": torch.float32, "i64": torch.int64, "bool": torch.bool}
#: results that eager leaves undefined
UNDEFINED = frozenset((
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_",
))  # fmt: skip
#: operators in which results are sums of many products: rounding grows with the size of the terms, not of the result
SUMS = frozenset((
    "sum", "mean", "prod", "var", "cumsum", "cumprod", "linear", "matmul", "conv", "attention", "softmax", "log_softmax",
    "layer_norm", "rms_norm", "group_norm", "batch_norm", "avg_pool", "adaptive_avg_pool", "upsample_linear", "scatter",
    "index_put", "lstm", "gru", "rnn",
))  # fmt: skip


@functools.cache
def operators() -> dict[str, Any]:
    """Every operator that PyTorch keeps samples of, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    found = {}
    for info in op_db:
        name = f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name
        if info.name not in UNDEFINED and not info.name.startswith(("sparse.", "jiterator_")):
            found[name] = info
    return found


@dataclass(frozen=True, eq=False)
class Sample:
    """One call: its tensors, and the function of them that it is."""

    dtype: str
    text: str
    tensors: tuple[torch.Tensor, ...]
    function: Callable[..., Any]
    differentiable: tuple[bool, ...] = ()  # which tensors gradients are asked of

    @property
    def kinds(self) -> frozenset[object]:
        """What is special about it."""
        found: set[object] = {self.text.split("(")[0], len(self.tensors)}
        for t in self.tensors:
            found |= {("rank", t.dim()), ("empty", t.numel() == 0), ("dense", t.is_contiguous()), t.dtype}
        return frozenset(found)

    def eager(self) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """The results, and the arguments after the call."""
        arguments = [t.clone() for t in self.tensors]
        with torch.no_grad():
            results = self.function(*arguments)
        return [t.clone() for t in tree_flatten(results)[0] if isinstance(t, torch.Tensor)], arguments


def samples(info: Any, dtype: str, most: int | None, gradients: bool = False) -> list[Sample]:
    """The operator's samples, those of its gradients if asked for; with a limit, those that differ most from each other
    come first."""
    if DTYPES[dtype] not in info.dtypes:
        return []
    torch.manual_seed(0)
    made = info.sample_inputs("cpu", DTYPES[dtype], requires_grad=gradients)
    found = [_sample(info, dtype, one) for one in itertools.islice(made, None if most is None else 8 * most)]
    if most is None or len(found) <= most:
        return found
    chosen: list[Sample] = []
    seen: set[object] = set()
    while len(chosen) < most:
        best = max(found, key=lambda sample: len(sample.kinds - seen))
        found.remove(best)
        chosen.append(best)
        seen |= best.kinds
    return chosen


def _sample(info: Any, dtype: str, sample: Any) -> Sample:
    leaves, spec = tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def function(*tensors: torch.Tensor) -> Any:
        values = list(leaves)
        for place, tensor in zip(places, tensors):
            values[place] = tensor
        first, rest, keywords = tree_unflatten(values, spec)
        return info.op(first, *rest, **keywords)

    shown = ", ".join(f"{t.dtype}{list(t.shape)}".removeprefix("torch.") for t in (leaves[i] for i in places))
    others = [leaf for leaf in leaves if not isinstance(leaf, torch.Tensor)]
    text = f"{sorted(sample.kwargs)} ({shown}) {others}"
    differentiable = tuple(leaves[i].requires_grad for i in places)
    return Sample(dtype, text, tuple(leaves[i].detach() for i in places), function, differentiable)


@dataclass(frozen=True)
class Program:
    """Samples that became one graph, and which outputs and mutations are whose."""

    samples: tuple[Sample, ...]
    graph: Graph
    params: tuple[torch.Tensor, ...]
    outputs: tuple[tuple[int, ...], ...]
    others: tuple[tuple[Sample, str], ...] = ()  # samples that need a library node or that capture refuses, and why


NOTHING = Program((), Graph((), (), ()), (), ())


def program(chosen: Sequence[Sample]) -> Program:
    """All samples in one graph, without those that are not native."""
    if not chosen:
        return NOTHING
    try:
        return _native_part(chosen, _converted(chosen))
    except (Problem, RuntimeError) as problem:
        if len(chosen) == 1:
            return replace(NOTHING, others=((chosen[0], str(problem)),))
    parts = [program([one]) for one in chosen]
    whole = program([sample for part in parts for sample in part.samples])
    return replace(whole, others=tuple(other for part in parts for other in part.others))


def _converted(chosen: Sequence[Sample]) -> Conversion:
    counts = [len(sample.tensors) for sample in chosen]

    def everything(*tensors: torch.Tensor) -> list[Any]:
        left = iter(tensors)
        return [s.function(*itertools.islice(left, count)) for s, count in zip(chosen, counts)]

    # each tensor on its own: tracing takes two arguments that are one tensor for one
    tensors = [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype) for s in chosen for t in s.tensors]
    with torch.no_grad():
        return convert(everything, *tensors)


def _native_part(chosen: Sequence[Sample], made: Conversion) -> Program:
    load_families()
    graph = made.graph
    inputs = iter(graph.inputs)
    owner: dict[Node, int] = {
        node: i for i, s in enumerate(chosen) for node in itertools.islice(inputs, len(s.tensors))
    }
    with torch.no_grad():
        counts = [len(tree_flatten(s.function(*(t.clone() for t in s.tensors)))[0]) for s in chosen]
    slots = iter(made.outputs)
    theirs = [[slot.index for slot in itertools.islice(slots, n) if isinstance(slot, GraphOutput)] for n in counts]
    written: list[list[tuple[Node, Node]]] = [[] for _ in chosen]
    for target, value in graph.mutations:
        written[owner[target]].append((target, value))
    needs = [
        _library(graph.outputs[i] for i in found) | _library(value for _, value in more)
        for found, more in zip(theirs, written)
    ]
    kept = [i for i, need in enumerate(needs) if not need]
    outputs = tuple(graph.outputs[o] for i in kept for o in theirs[i])
    mutations = tuple(pair for i in kept for pair in written[i])
    numbers = itertools.count()
    mine = tuple(tuple(itertools.islice(numbers, len(theirs[i]))) for i in kept)
    sub = Graph(graph.inputs, graph.params, outputs, mutations)
    params = tuple(made.constants[node.attrs["key"]] for node in graph.params)
    others = tuple((chosen[i], ", ".join(sorted(need))) for i, need in enumerate(needs) if need)
    used = {node for i in kept for node, who in owner.items() if who == i}
    sub = replace(sub, inputs=tuple(node for node in graph.inputs if node in used))
    return Program(tuple(chosen[i] for i in kept), sub, params, mine, others)


def _library(roots: Iterator[Node]) -> set[str]:
    """What of a value's computation is no nest."""
    found, stack, seen = set(), list(roots), set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        stack += node.inputs
        if node.op == "aten":
            found.add(str(node.attrs["target"]))
        elif not can_lower(node) and node.op not in ("input", "param", "constant", "item"):
            found.add(f"{node.op} of {node.types[0].dtype}")
    return found


def check(info: Any, made: Program) -> None:
    """Compile, run, and compare every sample with eager."""
    if not made.samples:
        return
    compiled = build(made.graph, Options(cache=False, check=True), Journal(), 1)
    if compiled.compiled.about.library:
        raise AssertionError(f"library nodes appeared: {compiled.compiled.about.library}")
    compiled.bind(made.params)
    results = compiled([t.contiguous() for sample in made.samples for t in sample.tensors])
    values = iter(results[len(made.graph.outputs) :])
    after = {target: value for (target, _), value in zip(made.graph.mutations, values)}
    inputs = iter(made.graph.inputs)
    accumulates = any(node.op in SUMS for node in made.graph.nodes)
    for sample, outputs in zip(made.samples, made.outputs):
        wanted, arguments = sample.eager()
        got = [results[o] for o in outputs]
        if len(got) != len(wanted):
            raise AssertionError(f"{sample.text}: {len(got)} results instead of {len(wanted)}")
        for node, argument in zip(itertools.islice(inputs, len(sample.tensors)), arguments):
            if node in after:
                got.append(after[node])
                wanted.append(argument)
        for result, expected in zip(got, wanted):
            _close(info, sample, result, expected, accumulates)


def _close(info: Any, sample: Sample, result: torch.Tensor, expected: torch.Tensor, accumulates: bool) -> None:
    rtol, atol = tolerance(info, expected, accumulates)
    torch.testing.assert_close(
        result,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=True,
        check_stride=False,
        msg=lambda text: f"{sample.text}: {text}",
    )


def tolerance(info: Any, expected: torch.Tensor, accumulates: bool) -> tuple[float, float]:
    """The OpInfo's own tolerance where it has one, else torch.testing's, in sums relative to the largest result."""
    if not expected.dtype.is_floating_point:
        return 0.0, 0.0
    rtol, atol = (1.3e-6, 1e-5) if expected.dtype == torch.float32 else (1e-7, 1e-7)
    for decorator in info.decorators:
        for inner in getattr(decorator, "decorators", (decorator,)):
            own = getattr(inner, "overrides", {}).get(expected.dtype)
            if own is not None:
                rtol, atol = max(rtol, own.rtol), max(atol, own.atol)
    finite = expected[expected.isfinite()]
    if accumulates and finite.numel():
        atol = max(atol, 2 * rtol * float(finite.abs().max()))
    return rtol, atol
