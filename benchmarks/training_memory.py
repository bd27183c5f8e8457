"""Memory of training steps, measured: what a step's forward and backward have allocated at most, and what they keep.

    python benchmarks/training_memory.py                         # a table of all networks
    python benchmarks/training_memory.py bert_small --budgets    # five budgets: what is kept, how long a step takes
    python benchmarks/training_memory.py lstm bert_small --budgets --plot docs/training-memory.svg
    python benchmarks/training_memory.py --speed                 # what `balanced` takes beside `fastest`

`held` is the most that is held during forward and backward of a step, after two steps to warm up: what torch's
allocator has handed out (activations, temporaries, gradients), and what Strop holds from step to step (pools, the block
of memory of both halves); parameters and inputs apart. `activations` is the most that is alive at a time and is no
gradient of a parameter, which every contender holds when backward is over. Outside of the block that is what torch's
allocator has handed out; of the block, the tensors that are alive by its plan: at the step with the most of them while
native code runs, at the library's step while that runs, and between the halves those that are kept. `kept` is what
forward saves for backward, parameters and inputs apart.

Memory that code works in and no tensor lies in is left out of all three: the buffers in which MKL and oneDNN pack what
they multiply, which do not come from torch's allocator, and Strop's for the same purpose. The latter are `scratch`;
`training_resident.py` measures with everything.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.profiler import profile, record_function
from training_networks import NETWORKS, Training, network

from strop.core.journal import Journal
from strop.core.options import Memory, Options
from strop.driver.pipeline import run_stages, target_for
from strop.graph.ir import Graph
from strop.loops.lowered import LibraryCall
from strop.runtime.dynamo import Backend
from strop.runtime.step_memory import StepMemory
from strop.runtime.step_program import Half, StepProgram, build_step, step_graph
from strop.runtime.thread_count import usable_threads
from strop.runtime.trainer import allowing_recurrence
from strop.schedule.memory import Lifetimes, room

CONTENDERS = ("eager", "inductor", "fastest", "balanced")
SHARES = (1.0, 0.8, 0.6, 0.4, 0.2)  # between the least that a step can keep and what the fastest one keeps
MB = 1e6
MARK = "half of a step:"


class Marked:
    """A program whose steps stand in profiles with the bytes that are alive in its block at most: a call of native code
    is a step, and each of the library's."""

    def __init__(self, program: StepProgram, alive: Sequence[int]) -> None:
        self.program, self.alive = program, max(alive)
        if program._steps:
            program._steps = [self._marked(*pair) for pair in zip(program._steps, alive, strict=True)]

    @staticmethod
    def _marked(step: Callable[..., None], alive: int) -> Callable[..., None]:
        def run(*given: Any) -> None:
            with record_function(f"{MARK} {alive}"):
                step(*given)

        return run

    def __call__(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        if self.program._steps:
            return self.program(inputs)
        with record_function(f"{MARK} {self.alive}"):
            return self.program(inputs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.program, name)


class MeasuredBackend(Backend):
    """A backend that knows the memory which its steps hold."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(Options.from_environment(memory=memory), Journal())
        self.build_step = self._built
        self.memories: list[StepMemory] = []
        self.scratch = 0  # bytes in which nests work
        self.between = 0  # bytes that are alive in the block between the halves

    def _built(
        self, half: Half, graph: Graph, weights: Sequence[int], memory: StepMemory, options: Options, journal: Journal,
        threads: int,
    ) -> Marked:  # fmt: skip
        self.memories += [] if memory in self.memories else [memory]
        target = target_for(options)
        step = step_graph(half, graph, weights, target)
        stages = run_stages(step.graph, target, options, Journal(), usable_threads(threads, journal))
        lifetimes = stages.program.lifetimes
        if half == "forward":
            self.between += sum(map(room, lifetimes.borders.returned))
        made = build_step(half, graph, weights, memory, options, journal, threads)
        self.scratch += made.compiled.scratch_bytes * made.compiled.threads
        at_steps = alive_at_steps(lifetimes, gradients=half == "backward")
        segments: list[int] = []
        library = True
        for position, step in enumerate(stages.plan.sequence):
            here, was_library, library = at_steps[position], library, isinstance(step, LibraryCall)
            if library or was_library:
                segments.append(0)
            segments[-1] = max(segments[-1], here)
        return Marked(made, segments or [0])

    @property
    def held(self) -> int:
        return sum(memory.bytes for memory in self.memories)


def alive_at_steps(lifetimes: Lifetimes, gradients: bool) -> dict[int, int]:
    """Bytes of a block that are alive at each step, without those that backward returns."""
    alive: dict[int, dict[int, int]] = defaultdict(dict)
    for buffer, first in lifetimes.first.items():
        if not (gradients and buffer in lifetimes.borders.returned):
            for position in range(first, lifetimes.last[buffer] + 1):
                # one computed in the place of another is there once
                alive[position][lifetimes.offsets[buffer.name]] = room(buffer)
    return defaultdict(int, {position: sum(each.values()) for position, each in alive.items()})


def made(kind: str | int, training: Training) -> tuple[torch.nn.Module, Any, MeasuredBackend | None]:
    """A copy of the model, what is called in its place, and who knows the memory of its steps. Dynamo forgets what was
    made before: after eight forms of one model it would leave the next one to eager."""
    torch._dynamo.reset()
    model = copy.deepcopy(training.model)
    if kind == "eager":
        return model, model, None
    if kind == "inductor":
        return model, torch.compile(model), None
    memory: Memory = kind  # type: ignore[assignment]
    backend = MeasuredBackend(memory)
    return model, torch.compile(model, backend=backend), backend


def run(model: torch.nn.Module, forward: Any, training: Training) -> None:
    loss = training.loss(forward(*training.inputs))
    loss.backward()
    model.zero_grad()


def peak(kind: str | int, training: Training) -> tuple[int, int, int]:
    """The most bytes that a step holds at a time, parameters and inputs apart; that without gradients; and scratch."""
    model, forward, backend = made(kind, training)
    return *peak_of(model, forward, backend, training), backend.scratch if backend is not None else 0


def peak_of(
    model: torch.nn.Module, forward: Any, backend: MeasuredBackend | None, training: Training
) -> tuple[int, int]:
    with allowing_recurrence():
        run(model, forward, training)
    run(model, forward, training)
    with profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as traced:
        training.loss(forward(*training.inputs)).backward()
        storages = {p.grad.untyped_storage().data_ptr() for p in model.parameters() if p.grad is not None}
    model.zero_grad()
    events = sorted(_flat(traced.profiler.kineto_results.experimental_event_tree()), key=lambda e: e.start_time_ns)
    changes = [(e.start_time_ns, e.typed[1].ptr, e.typed[1].alloc_size) for e in events if e.name == "[memory]"]
    halves = [e for e in events if e.name.startswith(MARK)]
    gradients = {ptr: i for i, (_, ptr, size) in enumerate(changes) if size > 0 and ptr in storages}
    between = backend.between if backend is not None else 0
    held = most_held = others = 0
    most_others = max((int(e.name.removeprefix(MARK)) for e in halves), default=0)
    for i, (moment, ptr, size) in enumerate(changes):
        held += size
        others += 0 if gradients.get(ptr) == i else size
        alive = [int(e.name.removeprefix(MARK)) for e in halves if e.start_time_ns <= moment <= e.end_time_ns]
        most_held, most_others = max(most_held, held), max(most_others, others + max(alive, default=between))
    return most_held + (backend.held if backend is not None else 0), most_others


def _flat(events: Sequence[Any]) -> Iterator[Any]:
    for event in events:
        yield event
        yield from _flat(event.children)


def kept(kind: str | int, training: Training) -> int:
    """Bytes that forward saves for backward, parameters, buffers and inputs apart."""
    model, forward, _ = made(kind, training)
    with allowing_recurrence():
        run(model, forward, training)
    return saved_by(model, forward, training)


def saved_by(model: torch.nn.Module, forward: Any, training: Training) -> int:
    given = {t.untyped_storage().data_ptr() for t in (*training.inputs, *model.parameters(), *model.buffers())}
    saved: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        result = forward(*training.inputs)
    assert result is not None
    return sum(size for address, size in saved.items() if address not in given)


def measured(kinds: Sequence[Memory], training: Training, rounds: int) -> list[tuple[int, float]]:
    """For each contender the bytes that it keeps, and the least milliseconds of forward and backward, in turns."""
    torch._dynamo.reset()
    models = [copy.deepcopy(training.model) for _ in kinds]
    backends = [Backend(Options.from_environment(memory=kind), Journal()) for kind in kinds]
    pairs = [(model, torch.compile(model, backend=backend)) for model, backend in zip(models, backends)]
    for model, forward in pairs:
        with allowing_recurrence():
            run(model, forward, training)
        run(model, forward, training)
    taken = [float("inf")] * len(pairs)
    for _ in range(rounds):
        for place, (model, forward) in enumerate(pairs):
            start = time.process_time()
            run(model, forward, training)
            taken[place] = min(taken[place], 1e3 * (time.process_time() - start))
    return [(saved_by(*pair, training), least) for pair, least in zip(pairs, taken)]


def budgets(training: Training) -> list[int]:
    """Five budgets, from the least that a step can keep to what the fastest one keeps."""
    most, least = kept("fastest", training), _least(training)
    return [round(least + share * (most - least)) for share in SHARES]


def _least(training: Training) -> int:
    """The refusal of a budget of nothing says what would have been possible."""
    from torch._dynamo.exc import BackendCompilerFailed

    model, forward, _ = made(1, training)
    try:
        with allowing_recurrence():
            run(model, forward, training)
    except BackendCompilerFailed as failed:
        words = str(failed.inner_exception).split()
        return int(words[words.index("least") + 1])
    return 1


def print_table(names: Sequence[str], kinds: Sequence[str]) -> None:
    print("| network, MB | " + " | ".join(f"{kind}: held | activations | kept" for kind in kinds) + " | scratch |")
    print("| --- |" + " ---: | ---: | ---: |" * len(kinds) + " ---: |")
    for name in names:
        training = network(name)
        recurrent = any(isinstance(part, torch.nn.RNNBase) for part in training.model.modules())
        cells, scratch = [], 0  # of the last contender
        for kind in kinds:
            if kind == "inductor" and recurrent:
                cells.append("– | – | –")
                continue
            *sizes, scratch = peak(kind, training)
            sizes.append(kept(kind, training))
            cells.append(" | ".join(f"{size / MB:.{2 if size < 10 * MB else 1}f}" for size in sizes))
        print(f"| {name} | " + " | ".join(cells) + f" | {scratch / MB:.2f} |", flush=True)


def print_budgets(names: Sequence[str], rounds: int) -> dict[str, list[tuple[float, float]]]:
    print("| network | budget, MB | kept, MB | activations, MB | step, ms | beside the fastest |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    found: dict[str, list[tuple[float, float]]] = {}
    for name in names:
        training = network(name)
        settings: list[Memory] = ["fastest", *budgets(training)]
        rows = measured(settings, training, rounds)
        for setting, (held, taken) in zip(settings, rows):
            told = setting if isinstance(setting, str) else f"{setting / MB:.2f}"
            ratio, alive = taken / rows[0][1], peak(setting, training)[1]
            sizes = f"{held / MB:.2f} | {alive / MB:.2f}"
            print(f"| {name} | {told} | {sizes} | {taken:.1f} | {ratio - 1:+.1%} |", flush=True)
            found.setdefault(name, []).append((held / MB, ratio))
    return found


def print_speed(names: Sequence[str], rounds: int) -> None:
    print("| network | fastest, ms | balanced, ms | beside the fastest | kept, MB | kept, MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in names:
        (most, fastest), (least, balanced) = measured(("fastest", "balanced"), network(name), rounds)
        cells = (f"{fastest:.2f}", f"{balanced:.2f}", f"{balanced / fastest - 1:+.1%}")
        print(f"| {name} | " + " | ".join(cells) + f" | {most / MB:.1f} | {least / MB:.1f} |", flush=True)


def svg(curves: dict[str, list[tuple[float, float]]]) -> str:
    """Time beside the fastest step (up) against what is kept beside it (right), a line for each network."""
    width, height, edge = 560, 300, 50
    slowest = max(1.1, *(ratio for curve in curves.values() for _, ratio in curve))
    colours = ("#1f6feb", "#d1242f", "#1a7f37", "#8250df")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="12" fill="currentColor">',
        f'<text x="{width / 2}" y="{height - 8}" text-anchor="middle">kept for backward, of what the fastest step keeps'
        "</text>",
        '<text x="12" y="20">time of a step beside the fastest</text>',
    ]

    def place(share: float, ratio: float) -> tuple[float, float]:
        x = edge + share * (width - 2 * edge)
        return x, height - edge - (ratio - 0.95) / (slowest - 0.95) * (height - 2 * edge)

    for share in (0, 0.25, 0.5, 0.75, 1):
        x, y = place(share, 0.95)
        parts.append(f'<text x="{x:.0f}" y="{y + 16:.0f}" text-anchor="middle">{share:.0%}</text>')
    for ratio in (1.0, (1 + slowest) / 2, slowest):
        x, y = place(0, ratio)
        parts.append(f'<text x="{x - 6:.0f}" y="{y + 4:.0f}" text-anchor="end">{ratio:.2f}</text>')
        parts.append(f'<path d="M{x:.0f} {y:.0f}H{width - edge}" stroke="currentColor" stroke-opacity="0.2"/>')
    for colour, (name, curve) in zip(colours, curves.items()):
        most = max(held for held, _ in curve) or 1.0
        points = [place(held / most, ratio) for held, ratio in sorted(curve)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        number = list(curves).index(name)
        parts.append(f'<text x="{width - edge - 120}" y="{40 + 16 * number}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=[], help=f"of {', '.join(NETWORKS)}; all unless given")
    parser.add_argument("--contenders", nargs="*", default=CONTENDERS, choices=CONTENDERS)
    parser.add_argument("--budgets", action="store_true", help="five budgets for each network")
    parser.add_argument("--speed", action="store_true", help="how long steps take, fastest and balanced")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--plot", type=Path, help="where a plot of the budgets goes, as SVG")
    given = parser.parse_args()
    torch.set_num_threads(1)
    names = given.networks or list(NETWORKS)
    if given.speed:
        print_speed(names, given.rounds)
        return
    if not given.budgets:
        print_table(names, given.contenders)
        return
    found = print_budgets(names, given.rounds)
    if given.plot:
        given.plot.write_text(svg(found))


if __name__ == "__main__":
    main()
