"""Whole training steps (forward, loss, backward, fused AdamW, zero_grad): eager, channels last, inductor and Strop.

    python benchmarks/training.py                        # a table of all networks, one thread
    python benchmarks/training.py mlp resnet18 --rounds 20 --threads 2
    python benchmarks/training.py resnet18 --profile     # where the time of Strop's step goes, nest by nest

Contenders take turns in one process. On one thread times are of the processor (the least of all rounds), on several
they are of the clock on the wall.
"""

from __future__ import annotations

import argparse
import copy
import math
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from training_networks import NETWORKS, Training, network

from strop.core.journal import Journal
from strop.core.options import Options
from strop.driver.pipeline import generate, run_stages, target_for
from strop.graph.ir import Graph
from strop.runtime.dynamo import Backend
from strop.runtime.profile import TimedStepProgram
from strop.runtime.step_memory import StepMemory
from strop.runtime.step_program import Half, step_graph
from strop.runtime.thread_count import usable_threads
from strop.runtime.trainer import allowing_recurrence
from strop.schedule.program import Plan

CONTENDERS = ("eager", "channels_last", "inductor", "strop")
Step = Callable[[], torch.Tensor]


def contender(kind: str, training: Training, options: Options) -> Step | None:
    """A function that makes one step; None where there is no such form of the network."""
    model, inputs = copy.deepcopy(training.model), training.inputs
    if kind == "channels_last":
        if not training.is_image:
            return None
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        inputs = tuple(x.to(memory_format=torch.channels_last) for x in inputs)
    forward: Any = model
    if kind == "inductor":
        if any(isinstance(part, torch.nn.RNNBase) for part in model.modules()):
            return None  # Dynamo leaves it to Python, for every backend from then on
        forward = torch.compile(model)
    elif kind == "strop":
        forward = torch.compile(model, backend=Backend(options, Journal()))
    return stepper(forward, model, inputs, training.loss)


def stepper(forward: Any, model: torch.nn.Module, inputs: Sequence[Any], loss_of: Callable[[Any], Any]) -> Step:
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> torch.Tensor:
        loss: torch.Tensor = loss_of(forward(*inputs))
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        return loss.detach()

    return step


def measure(name: str, kinds: Sequence[str], rounds: int, threads: int, options: Options) -> dict[str, float]:
    """The least milliseconds of each contender; beside each `name` there is `name compile`, in seconds."""
    clock = time.process_time if threads == 1 else time.perf_counter
    training = network(name)
    found: dict[str, float] = {}
    steps: dict[str, Step] = {}
    for kind in kinds:
        step = contender(kind, training, options)
        if step is not None:
            start = time.perf_counter()
            with allowing_recurrence() if kind == "strop" else nullcontext():
                step()
            found[f"{kind} compile"] = time.perf_counter() - start
            step()
            steps[kind] = step
    taken: dict[str, list[float]] = {kind: [] for kind in steps}
    for _ in range(rounds):
        for kind, step in steps.items():
            start = clock()
            step()
            taken[kind].append(clock() - start)
    return {**found, **{kind: 1e3 * min(times) for kind, times in taken.items()}}


def table(names: Sequence[str], kinds: Sequence[str], rounds: int, threads: int, options: Options) -> None:
    peers = [kind for kind in kinds if kind != "strop"]
    print(f"{'ms':<17}" + "".join(f"{kind:>15}" for kind in kinds) + f"{'best peer/strop':>17}{'compile s':>11}")
    ratios = []
    for name in names:
        found = measure(name, kinds, rounds, threads, options)
        line = f"{name:<17}" + "".join(f"{found[kind]:15.1f}" if kind in found else f"{'':15}" for kind in kinds)
        if "strop" in found and peers:
            ratios.append(min(found[kind] for kind in peers if kind in found) / found["strop"])
            line += f"{ratios[-1]:17.2f}{found['strop compile']:11.1f}"
        print(line, flush=True)
        torch._dynamo.reset()
    if ratios:
        print(f"geometric mean {math.exp(statistics.mean(map(math.log, ratios))):.2f}")


class ProfiledBackend(Backend):
    """A backend whose programs note how long each of their nests takes."""

    def __init__(self, options: Options) -> None:
        super().__init__(options, Journal())
        self.build_step = self._timed
        self.programs: list[tuple[Plan, TimedStepProgram]] = []

    def _timed(
        self,
        half: Half,
        graph: Graph,
        weights: Sequence[int],
        memory: StepMemory,
        options: Options,
        journal: Journal,
        threads: int,
    ) -> TimedStepProgram:
        target = target_for(options)
        step = step_graph(half, graph, weights, target)
        stages = run_stages(step.graph, target, options, journal, usable_threads(threads, journal))
        compiled = generate(stages, target, journal, separate=True)
        program = TimedStepProgram(compiled, options, step, memory)
        self.programs.append((stages.plan, program))
        return program

    def rows(self) -> list[tuple[float, str, str, str]]:
        """Microseconds, which program, nest, what it computes."""
        found = []
        for number, (plan, program) in enumerate(self.programs):
            idle = statistics.median(program.idle)
            for one, taken in zip(plan.sequence, program.nanoseconds):
                what = getattr(one, "target", "") or getattr(getattr(one, "source", None), "note", "")
                told = f"library: {what}" if hasattr(one, "target") else what
                found.append((max(statistics.median(taken) - idle, 0) / 1e3, str(number), one.name, told))
        return found


def profile(name: str, rounds: int, options: Options, limit: int) -> None:
    training = network(name)
    backend = ProfiledBackend(options)
    model = copy.deepcopy(training.model)
    forward = torch.compile(model, backend=backend)
    step = stepper(forward, model, training.inputs, training.loss)
    whole = []
    with allowing_recurrence():
        step()
    for _ in range(rounds + 2):
        start = time.process_time()
        step()
        whole.append(time.process_time() - start)
    rows = backend.rows()
    total = sum(row[0] for row in rows)
    print(f"{name}: a step {1e3 * min(whole):.1f} ms with timers, {total / 1e3:.1f} ms in nests")
    for title, chosen in (
        ("forward", [row for row in rows if row[1] == "0"]),
        ("backward", [row for row in rows if row[1] != "0"]),
        ("library", [row for row in rows if row[3].startswith("library: ")]),
    ):
        print(f"  {title} {sum(row[0] for row in chosen) / 1e3:.1f} ms")
    for microseconds, number, nest, what in sorted(rows, reverse=True)[:limit]:
        print(f"{microseconds:10.1f} µs {microseconds / total:6.1%}  {number} {nest:<40} {what}")
    for event in backend.journal.of("fallback"):
        if "runs eager" in event.message:
            print(f"  {event.subject}: {event.message}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=[], help=f"of {', '.join(NETWORKS)}; all unless given")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--contenders", nargs="*", default=CONTENDERS, choices=CONTENDERS)
    parser.add_argument("--memory", default="", help="the option `memory`: fastest, balanced or a number of bytes")
    parser.add_argument("--profile", action="store_true", help="where the time of Strop's step goes")
    parser.add_argument("--limit", type=int, default=25, help="how many nests of a profile are shown")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    memory = int(given.memory) if given.memory.isdecimal() else given.memory
    options = Options.from_environment(**({"memory": memory} if memory else {}))
    names = given.networks or list(NETWORKS)
    if given.profile:
        for name in names:
            profile(name, given.rounds, options, given.limit)
    else:
        table(names, given.contenders, given.rounds, given.threads, options)


if __name__ == "__main__":
    main()
