"""Damaged ONNX files: ways to break a good one, and a child process that loads the result under limits.

As a script it loads the files it is given and prints a line for each: `ok`, `problem CODE`, or what went wrong.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
from onnx import ModelProto

#: what a child may use: address space beyond what torch itself maps, and processor seconds
MEMORY = 6 << 30
SECONDS = 20

Mutation = Callable[[bytes, random.Random], bytes]


def flipped_bits(data: bytes, rng: random.Random) -> bytes:
    broken = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
    return bytes(broken)


def cut_short(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def overwritten(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    noise = bytes(rng.randrange(256) for _ in range(rng.randint(1, 64)))
    return data[:start] + noise + data[start + len(noise) :]


def doubled(data: bytes, rng: random.Random) -> bytes:
    """Protobuf merges repeated messages: every node and initialiser is there twice."""
    return data + data


def _edited(edit: Callable[[ModelProto, random.Random], None]) -> Mutation:
    def mutate(data: bytes, rng: random.Random) -> bytes:
        model = ModelProto()
        model.ParseFromString(data)
        edit(model, rng)
        changed: bytes = model.SerializeToString()
        return changed

    mutate.__name__ = edit.__name__.strip("_")
    return mutate


def _huge_extents(model: ModelProto, rng: random.Random) -> None:
    for tensor in rng.sample(list(model.graph.initializer), min(3, len(model.graph.initializer))):
        if tensor.dims:
            tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice([2**31, 2**40, 2**62, -1, 0])
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if rng.random() < 0.3:
                dim.dim_value = rng.choice([2**40, 10**6, -5, 0])


def _other_types(model: ModelProto, rng: random.Random) -> None:
    for tensor in rng.sample(list(model.graph.initializer), min(3, len(model.graph.initializer))):
        tensor.data_type = rng.choice([0, 1, 2, 6, 7, 8, 9, 10, 11, 16, 17, 22, 99])
    for value in model.graph.input:
        if rng.random() < 0.3:
            value.type.tensor_type.elem_type = rng.choice([0, 6, 7, 8, 9, 10, 11, 42])


def _other_attributes(model: ModelProto, rng: random.Random) -> None:
    nodes = [node for node in model.graph.node if node.attribute]
    for node in rng.sample(nodes, min(3, len(nodes))):
        attribute = rng.choice(list(node.attribute))
        if attribute.ints:
            attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice([-1, 0, 2**31, 2**62, -(2**62)])
        elif attribute.type == onnx.AttributeProto.INT:
            attribute.i = rng.choice([-1, 0, 7, 2**31, 2**62, -(2**62)])
        elif attribute.type == onnx.AttributeProto.FLOAT:
            attribute.f = rng.choice([float("nan"), float("inf"), -1e30])
        else:
            attribute.type = rng.choice([0, 1, 2, 3, 4, 5, 6, 7])


def _other_constants(model: ModelProto, rng: random.Random) -> None:
    """Shapes, axes and counts that are constants become nonsense."""
    import numpy as np

    small = [t for t in model.graph.initializer if t.data_type in (6, 7) and len(t.dims) <= 1]
    small += [a.t for n in model.graph.node for a in n.attribute if a.name == "value" and a.t.data_type in (6, 7)]
    for tensor in rng.sample(small, min(3, len(small))):
        values = onnx.numpy_helper.to_array(tensor).copy().reshape(-1)
        if values.size:
            values[rng.randrange(values.size)] = rng.choice([-1, 0, 10**9, 2**31 - 1, -(2**31)])
            shaped = np.asarray(values).reshape(tuple(tensor.dims))
            tensor.CopyFrom(onnx.numpy_helper.from_array(shaped, tensor.name))


def _circle(model: ModelProto, rng: random.Random) -> None:
    nodes = [node for node in model.graph.node if node.input and node.output]
    early, late = rng.sample(nodes, 2)
    early.input[0] = late.output[0]


def _other_wiring(model: ModelProto, rng: random.Random) -> None:
    nodes = [node for node in model.graph.node if node.input and node.output]
    node = rng.choice(nodes)
    choice = rng.randrange(5)
    if choice == 0:
        node.input[rng.randrange(len(node.input))] = "nowhere"
    elif choice == 1:
        node.output[0] = rng.choice(nodes).output[0]
    elif choice == 2:
        del node.input[:]
    elif choice == 3:
        node.op_type = rng.choice(["", "Conv", "Loop", "If", "Reshape", "TopK", "NoSuchThing", "LSTM", "Concat"])
    else:
        node.input.extend(["", node.input[0]] * rng.randint(1, 5))


def _other_opset(model: ModelProto, rng: random.Random) -> None:
    model.opset_import[0].version = rng.choice([0, 1, 6, 25, 1000, -3, 2**62])


def _outside(model: ModelProto, rng: random.Random) -> None:
    """Weights that lie somewhere else on the disk."""
    for tensor in rng.sample(list(model.graph.initializer), min(2, len(model.graph.initializer))):
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.ClearField("raw_data")
        for key, value in (("location", rng.choice(["../../etc/passwd", "/etc/passwd", "weights.bin", ""])),
                           ("offset", rng.choice(["0", "-1", str(2**62), "x"])), ("length", str(2**40))):  # fmt: skip
            tensor.external_data.add(key=key, value=value)


MUTATIONS: tuple[Mutation, ...] = (
    flipped_bits, cut_short, overwritten, doubled,
    *map(_edited, (_huge_extents, _other_types, _other_attributes, _other_constants, _circle, _other_wiring,
                   _other_opset, _outside)),
)  # fmt: skip


def broken(data: bytes, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """`count` damaged versions, and how each was damaged; those that ONNX cannot even be edited are skipped."""
    rng = random.Random(seed)
    for index in range(count):
        mutation = MUTATIONS[index % len(MUTATIONS)]
        try:
            yield mutation.__name__, mutation(data, rng)
        except (ValueError, IndexError, TypeError, AttributeError):
            continue


def load(path: str) -> str:
    """What becomes of a file: its program is read and, where its shapes are known or can be made up, captured."""
    from strop.core.problem import Problem
    from strop.frontend.onnx.capture import NeedsValues, capture
    from strop.frontend.onnx.module import OnnxModule
    from strop.runtime.onnx.inputs import examples

    try:
        module = OnnxModule(path)
        shapes = {port.name: [e if isinstance(e, int) else 32 for e in port.shape or ()] for port in module.inputs}
        inputs = examples(module, shapes, demand=False)
        if inputs is not None:
            capture(module, inputs)
    except Problem as problem:
        return f"problem {problem.code} {problem.message}"
    except NeedsValues as needs:
        return f"problem {needs.problem.code} {needs.problem.message}"
    return "ok"


def in_child(paths: list[Path], seconds: float) -> dict[str, str]:
    """Each file's fate; a child that dies or hangs is charged to the file that it was at."""
    fates: dict[str, str] = {}
    while pending := [str(p) for p in paths if str(p) not in fates]:
        child = subprocess.Popen(
            [sys.executable, __file__, *pending], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            out, _ = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            out, _ = child.communicate()
        lines = [line.split("\t", 1) for line in out.splitlines() if "\t" in line]
        fates.update((name, fate) for name, fate in lines)
        if len(lines) < len(pending):
            fates[pending[len(lines)]] = f"the process ended with {child.returncode}"
    return fates


def _limit() -> None:
    import torch  # what it maps for itself does not count

    torch.set_num_threads(1)
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))


def main() -> None:
    from strop.frontend.onnx.ops import load_all

    load_all()
    _limit()
    for path in sys.argv[1:]:
        start = time.process_time()
        try:
            fate = load(path)
        except BaseException as error:  # whatever it is, it should have been a Problem
            fate = f"raised {type(error).__name__}: {str(error)[:200]}"
        taken = time.process_time() - start
        if taken > SECONDS:
            fate = f"took {taken:.0f} s ({fate})"
        print(path, " ".join(fate.split()), sep="\t", flush=True)


if __name__ == "__main__":
    main()
