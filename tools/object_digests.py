"""Which object code does the compiler make? A digest per model, target and thread count, to compare two commits.

    python tools/object_digests.py -o before.json              # the zoo, single operators, ONNX's own node tests
    python tools/object_digests.py -o after.json resnet18 ops  # some of them: names of the zoo, `ops`, `onnx`, files
    python tools/object_digests.py --compare before.json after.json

A change that is to move code, and not to change it, must leave every digest as it was. The values of parameters are no
part of a program. Code is made for CPUs that need not be at hand.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strop.driver.artifact import Argument, Artifact, LibraryStep, NativeStep

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

TARGETS = ("znver3", "znver4", "neoverse-n1")
THREADS = (1, 2)

Subject = tuple[str, Any, tuple[Any, ...], dict[str, Any]]  # name, module, inputs, keyword inputs


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("subjects", nargs="*", help="names of the zoo, `ops`, `onnx`, files (default: all but files)")
    parser.add_argument("-o", "--output", type=Path, help="where to write the digests")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"), help="compare two such files")
    asked = parser.parse_args(arguments)
    if asked.compare:
        before, after = (json.loads(path.read_text(encoding="utf-8")) for path in asked.compare)
        return compare(before, after)
    found: dict[str, str] = {}
    for subject in subjects(asked.subjects):
        found |= digests(*subject)
        if asked.output:
            asked.output.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(found)} programs, together {_digest(sorted(found.items()))[:16]}")
    return 0


def compare(before: dict[str, str], after: dict[str, str]) -> int:
    """Print what differs; 0 where everything is the same."""
    changed = [name for name in before if name in after and before[name] != after[name]]
    gone, new = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
    for title, names in (("other code", changed), ("only before", gone), ("only after", new)):
        for name in names:
            print(f"{title}: {name}")
    print(f"{len(before.keys() & after.keys()) - len(changed)} programs are the same, {len(changed)} are not")
    return 1 if changed or gone or new else 0


def subjects(asked: Iterable[str]) -> Iterator[Subject]:
    from strop import zoo
    from strop.runtime.load_model import load

    for name in asked or (*zoo.NAMES, "ops", "onnx"):
        if name == "ops":
            yield from _operators()
        elif name == "onnx":
            yield from _node_tests()
        else:
            model = load(name)
            yield model.name, model.module, tuple(model.inputs), dict(model.kwargs or {})


def _operators() -> Iterator[Subject]:
    from strop.bench.shapes import OPERATORS

    for operator in OPERATORS:
        module, inputs = operator.build()
        yield operator.text, module, inputs, {}


def _node_tests() -> Iterator[Subject]:
    import torch

    import onnx_suite
    from strop.core.problem import Problem
    from strop.runtime.onnx.model import loaded

    for name, model in onnx_suite.models().items():
        torch.manual_seed(0)
        try:
            module, inputs = loaded(model, {})
        except Problem:
            continue  # its inputs are no tensors, or of no known shape
        yield f"onnx {onnx_suite.short(name)}", module, inputs, {}


def digests(name: str, module: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, str]:
    """The digests of a model by target and threads; a reason where nothing is compiled."""
    import llvmlite.binding as llvm
    import torch

    from strop.core.journal import Journal
    from strop.core.options import Options
    from strop.core.problem import Problem
    from strop.driver import pipeline
    from strop.runtime import compile_model
    from strop.runtime.specializations import Specialization
    from strop.target.description import Target

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    found = {}
    try:
        with torch.no_grad():
            traced = compile_model.default_trace(module, inputs, kwargs)
        graph = Specialization(traced, lambda graph, threads: None).graph  # type: ignore[arg-type, return-value]
    except Problem as problem:
        return {name: f"{problem.code} {problem.message}"}
    for target in map(Target.find, TARGETS):
        for threads in THREADS:
            journal = Journal()
            stages = pipeline.run_stages(graph, target, Options(), journal, threads)
            made = pipeline.generate(stages, target, journal)
            found[f"{name}, {target.name}, {threads}"] = _digest(_content(made))
    print(name, flush=True)
    return found


def _content(made: Artifact) -> tuple[object, ...]:
    """What is compared, written so that its text does not depend on the classes that hold it."""
    packed = [(one.slot, one.bytes) for one in made.packed]
    outputs = [(one.slot, one.type.dtype, one.type.shape, one.by_library) for one in made.outputs]
    return list(made.code), [_step(step) for step in made.steps], packed, outputs


def _step(step: NativeStep | LibraryStep) -> tuple[object, ...]:
    from strop.driver.artifact import NativeStep

    if isinstance(step, NativeStep):
        return "native", step.entry
    types = tuple((one.dtype, one.shape) for one in step.types)
    given = tuple((one.type.dtype, one.type.shape) for one in step.inputs)
    places = tuple(map(_place, step.inputs))
    return "library", step.op, step.attrs, types, given, places, step.outputs, step.views, step.releases


def _place(argument: Argument) -> tuple[object, ...]:
    from strop.driver.artifact import InArena, InPacked, Slot
    from strop.frontend.torch.dtypes import tensor_of

    place, type_ = argument.place, argument.type
    if isinstance(place, Slot):
        return "slot", place.slot
    if isinstance(place, InArena):
        return "arena", place.offset, type_.dtype, type_.shape
    if isinstance(place, InPacked):
        return "packed", place.slot, type_.dtype, type_.shape
    return "const", tuple(tensor_of(place.data, type_).flatten().tolist()), type_.dtype, type_.shape


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()


if __name__ == "__main__":
    raise SystemExit(main())
