"""PyTorch's own operator samples: what capture makes of each equals eager, and most of it needs no library node."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import golden
import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_unflatten

from frontend.torch.compare import assert_same
from strop.core.problem import Problem
from strop.frontend.torch.normalize import GraphOutput, convert
from strop.graph.verify import verify
from strop.runtime.reference import evaluate

#: uninitialised memory, GPU only, or refused by torch's own tracing
SKIPPED = ("empty", "new_empty", "jiterator", "tensor_split")
#: families that are library nodes throughout: covered by the slow sweep
LIBRARY = ("linalg.", "fft.", "special.", "sparse.", "_segment", "masked.", "signal.", "torch.ops", "polygamma")


def samples(op: Any, count: int) -> Iterator[tuple[Callable[..., Any], list[torch.Tensor]]]:
    """The operator as a function of the tensors among its arguments: a few samples of floats, fewer of integers."""
    for dtype, wanted in ((torch.float32, count), (torch.int64, count // 2)):
        if dtype not in op.supported_dtypes("cpu"):
            continue
        for sample in itertools.islice(op.sample_inputs("cpu", dtype), wanted):
            leaves, spec = tree_flatten((sample.input, sample.args, sample.kwargs))
            places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

            def function(*tensors: torch.Tensor, leaves: Any = leaves, spec: Any = spec, places: Any = places) -> Any:
                values = list(leaves)
                for place, tensor in zip(places, tensors):
                    values[place] = tensor
                first, args, kwargs = tree_unflatten(values, spec)
                return op(first, *args, **kwargs)

            yield function, [leaves[i].detach() for i in places]


def sweep(chosen: list[Any], count: int) -> tuple[set[str], set[str], set[str]]:
    """Which operators are native throughout, which need a library node, which are refused with a reason."""
    native, library, refused = set(), set(), set()
    for op in chosen:
        name = f"{op.name} {op.variant_test_name}".strip()
        for function, tensors in samples(op, count):
            with warnings.catch_warnings(), torch.no_grad():
                warnings.simplefilter("ignore")
                torch.manual_seed(42)
                wanted = function(*tensors)
                try:
                    converted = convert(function, *tensors)
                except Problem as problem:
                    assert problem.help, name
                    refused.add(name)
                    continue
                verify(converted.graph, name)
                torch.manual_seed(42)
                outputs, _ = evaluate(converted.graph, tensors)
            try:
                assert_same(
                    [outputs[s.index] if isinstance(s, GraphOutput) else s.value for s in converted.outputs], wanted
                )
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}\n{converted.graph}") from error
            (library if converted.fallbacks else native).add(name)
    return native - library - refused, library, refused


def test_samples_that_need_library_nodes_equal_eager() -> None:
    """Those that do not are captured, compiled and compared in tests/codegen."""
    lines = (golden.HOME / "codegen" / "opinfo.txt").read_text().splitlines()
    native = {line.split(" ", 1)[0] for line in lines if "~" not in line}
    left = [op for op in op_db if f"{op.name}.{op.variant_test_name}".rstrip(".") not in native]
    _, library, refused = sweep([op for op in left if not op.name.startswith((*SKIPPED, *LIBRARY))], 2)
    assert library and len(refused) < len(library)


@pytest.mark.slow
def test_all_samples_equal_eager() -> None:
    native, library, refused = sweep([op for op in op_db if not op.name.startswith(SKIPPED)], 12)
    print(f"\n{len(native)} operators without a library node, {len(library)} with, {len(refused)} refused")
    assert len(native) >= 400
