"""Steps of a model that no single program can hold, divided into sections: one by one, or compiled, in turns.

Each step comes as early as what it reads allows, so that the sections are as few as can be. A section whose inputs
have new shapes in every call is compiled for the first few sets of shapes only; some of its inputs may be extents,
whose values decide its program.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from strop.frontend.onnx.capture import NeedsValues, capture
from strop.frontend.onnx.interpreter import StepFailed, ValueScope
from strop.frontend.onnx.module import bound
from strop.frontend.onnx.program import OnnxProgram, OnnxStep
from strop.frontend.onnx.subgraphs import SubgraphModule
from strop.runtime.dispatch import Hot

#: work that is worth a compiled section however short it is
HEAVY = frozenset((
    "Conv", "ConvTranspose", "ConvInteger", "QLinearConv", "FusedConv", "MatMul", "MatMulInteger", "QLinearMatMul",
    "Gemm", "FusedMatMul", "FusedGemm", "Einsum", "LSTM", "GRU", "RNN", "Attention", "MultiHeadAttention", "STFT",
    "DFT", "Loop", "Scan", "Resize", "GridSample",
))  # fmt: skip
#: their results have as many elements as data says
DATA_DEPENDENT = frozenset(("NonZero", "Compress", "Unique", "NonMaxSuppression", "StringSplit"))
#: steps whose results have the elements of their first input, many times, or as they are
REPEATING = frozenset(("Expand", "Tile"))
LOOKING = frozenset(("Unsqueeze", "Squeeze", "Reshape", "Flatten", "Transpose", "Identity"))
RANDOM = ("Random", "Bernoulli", "Multinomial")
#: light steps that a compiled section must have
SHORTEST = 4
#: numbers that may be the extents of something
MOST_EXTENTS = 64
#: steps that may turn out to need a value that only a run brings
MOST_TRIES = 24
#: sets of shapes that a section is compiled for
MOST_SHAPES = 8

Values = Mapping[str, Any]


class PartitionCall(Protocol):
    """A compiled part."""

    def __call__(self, *args: Any) -> Any: ...
    def short_way(self, args: Sequence[Any]) -> tuple[Hot, tuple[int, ...]] | None: ...
    def serves(self, hot: Hot, args: Sequence[Tensor]) -> bool: ...


class Host(Protocol):
    """Who runs single steps and compiles programs."""

    fixed: set[int]  # ids of constants of the model

    def take(self, step: OnnxStep, scope: ValueScope) -> None: ...
    def part_for(self, program: OnnxProgram, scope: ValueScope) -> tuple[SubgraphModule, tuple[str, ...]]: ...
    def compile(self, part: SubgraphModule, bound: set[int] | None = None, variants: int = 0) -> PartitionCall: ...
    def tell(self, what: str, where: str = "") -> None: ...


def reads(step: OnnxStep) -> tuple[str, ...]:
    return tuple(n for n in (*step.inputs, *step.captured) if n)


def is_extents(value: Any) -> bool:
    return isinstance(value, Tensor) and not value.is_floating_point() and value.numel() <= MOST_EXTENTS


class Partition:
    """Steps that run one by one."""

    def __init__(self, steps: Sequence[OnnxStep]) -> None:
        self.steps = tuple(steps)

    def run(self, host: Host, values: dict[str, Any], scope: ValueScope) -> None:
        for step in self.steps:
            host.take(step, scope)


class CompiledPartition(Partition):
    """Steps that run as one compiled call."""

    def __init__(
        self, steps: Sequence[OnnxStep], call: PartitionCall, inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> None:
        super().__init__(steps)
        self.call = call
        self.inputs = inputs
        self.outputs = outputs

    def run(self, host: Host, values: dict[str, Any], scope: ValueScope) -> None:
        results = self.call(*[values[name] for name in self.inputs])
        values.update(zip(self.outputs, (results,) if len(self.outputs) == 1 else results))


class VaryingPartition(CompiledPartition):
    """A compiled section for the shapes, and the values of extents, that come again; others run one by one."""

    def __init__(self, section: CompiledPartition, extents: set[int], first: Values, most: int) -> None:
        """`extents` are the inputs whose values decide the program; another set of shapes may add to them."""
        super().__init__(section.steps, section.call, section.inputs, section.outputs)
        self.extents = extents
        self.most = most
        self.seen: set[Hashable] = set()
        self.forms = {self._form([first[name] for name in self.inputs])}
        self.ways: dict[Hashable, tuple[Hot, tuple[int, ...]] | None] = {}
        self.fresh: int | None = None  # how many more sets of shapes may be compiled for; None: any number

    def run(self, host: Host, values: dict[str, Any], scope: ValueScope) -> None:
        given = [values[name] for name in self.inputs]
        form = self._form(given)
        if form not in self.forms:
            if len(self.forms) >= self.most:
                host.tell(f"steps run one by one on further shapes: {self.most} are compiled for", self.steps[0].place)
            if len(self.forms) >= self.most or form not in self.seen or self.fresh == 0:
                if len(self.seen) < MOST_TRIES * MOST_SHAPES:
                    self.seen.add(form)
                Partition.run(self, host, values, scope)
                return
            self.forms.add(form)
            self.fresh = self.fresh and self.fresh - 1
        results = self._called(form, given)
        values.update(zip(self.outputs, (results,) if len(self.outputs) == 1 else results))

    def _called(self, form: Hashable, given: Sequence[Any]) -> Any:
        """Each set of shapes has a short way of its own, once it was called."""
        way = self.ways.get(form)
        if way is not None:
            taken = [given[i] for i in way[1]]
            if self.call.serves(way[0], taken):
                return way[0].run(tuple(taken))
        results = self.call(*given)
        if way is not None or form not in self.ways:
            self.ways[form] = self.call.short_way(given)
        return results

    def _form(self, given: Sequence[Any]) -> Hashable:
        shapes = tuple([value.shape if isinstance(value, Tensor) else None for value in given])
        return shapes, tuple([tuple(given[i].reshape(-1).tolist()) for i in sorted(self.extents)])


class Partitions:
    """A program divided; `example` has every value of one run, `apart` tells which steps run one by one.

    Where shapes vary, a section is compiled for so many `forms` of its inputs; else for what comes (0).
    """

    def __init__(
        self, host: Host, program: OnnxProgram, scope: ValueScope, example: Values,
        apart: Callable[[Sequence[OnnxStep]], set[int]], *, forms: int = 0,
    ) -> None:  # fmt: skip
        self.host = host
        self.program = program
        self.types = scope.types
        self.forms = forms
        steps, self.outputs = merged(program.steps, program.outputs)
        outer = [name for name in program.captured if name not in program.constants]
        held = {n for n in outer if isinstance(scope.values[n], nn.Parameter)}
        constant = {*program.constants, *(n for n in outer if id(scope.values[n]) in host.fixed and n not in held)}
        known, once, rest = _by_what_they_need(steps, constant, {*outer, *constant}, held)
        self.constants = {n: example[n] for n in (*program.constants, *(n for s in known for n in s.outputs if n))}
        self.outer = tuple(outer)
        self.once: Partition | None = None
        late = {n for step in rest for n in reads(step)} | set(self.outputs)
        made = tuple(n for step in once for n in step.outputs if n in late)
        if made:
            self.once = self._compiled(once, made, scope, example)
        stepwise = apart(rest)
        for _ in range(MOST_TRIES):
            try:
                self.sections = self._divided(rest, stepwise, scope, example)
                break
            except _Untraceable as found:
                stepwise.add(next(i for i, step in enumerate(rest) if step is found.step))
        else:
            self.sections = [Partition(rest)]
        self._tell_what_is_not_compiled()

    def _tell_what_is_not_compiled(self) -> None:
        apart = [step for s in self.sections if not isinstance(s, CompiledPartition) for step in s.steps]
        if apart:
            ops = ", ".join(sorted({step.op for step in apart}))
            compiled = sum(isinstance(section, CompiledPartition) for section in self.sections)
            told = f"{len(apart)} steps run one by one between {compiled} compiled sections: {ops}"
            self.host.tell(told, self.program.name)

    def settled(self, scope: ValueScope) -> dict[str, Any]:
        """The values that all rounds of one loop share."""
        values = {name: scope.values[name] for name in self.outer}
        values.update(self.constants)
        for section in self.sections:
            if isinstance(section, VaryingPartition):
                section.fresh = 1  # the other lengths of this loop in its next runs
        if self.once is not None:
            self.once.run(self.host, values, ValueScope(values, self.types))
        return values

    def run(self, values: dict[str, Any]) -> tuple[Any, ...]:
        """The outputs; `values` holds what is shared and the inputs, and gets everything else."""
        scope = ValueScope(values, self.types)
        for section in self.sections:
            section.run(self.host, values, scope)
        return tuple([values[name] for name in self.outputs])

    def _divided(
        self, steps: Sequence[OnnxStep], stepwise: set[int], scope: ValueScope, example: Values
    ) -> list[Partition]:
        grouped: dict[int, list[OnnxStep]] = {}
        for level, step in zip(_levels(steps, stepwise, self.outputs), steps):
            grouped.setdefault(level, []).append(step)
        sections: list[Partition] = []
        for level in sorted(grouped):
            own = grouped[level]
            later = {n for other in grouped if other != level for step in grouped[other] for n in reads(step)}
            made = tuple(n for step in own for n in step.outputs if n in later or n in self.outputs)
            compiled = level % 2 == 0 and is_worth(own, SHORTEST)
            sections.append(self._compiled(own, made, scope, example) if compiled else Partition(own))
        return sections

    def _compiled(
        self, steps: Sequence[OnnxStep], outputs: tuple[str, ...], scope: ValueScope, example: Values
    ) -> Partition:
        """One compiled section; `_Untraceable` names a step that cannot be part of one."""
        read = dict.fromkeys(n for step in steps for n in reads(step))
        made = {n for step in steps for n in step.outputs}
        constants = {n: value for n, value in self.constants.items() if n in read}
        captured = tuple(n for n in self.outer if n in read and n not in constants)
        inputs = tuple(n for n in read if n not in made and n not in captured and n not in constants)
        program = replace(
            self.program, inputs=inputs, outputs=outputs, output_types=(), constants=constants, captured=captured,
            steps=tuple(replace(step, dead=[]) for step in steps),
        )  # fmt: skip
        part, around = self.host.part_for(program, scope)
        given = (*inputs, *around)
        extents = _traced(part, [example[n] for n in given], steps, binding=self.forms > 0)
        section = CompiledPartition(steps, self.host.compile(part, extents, self.forms), given, outputs)
        return VaryingPartition(section, extents, example, self.forms) if self.forms else section


def _levels(steps: Sequence[OnnxStep], stepwise: set[int], outputs: Sequence[str]) -> list[int]:
    """The section of each step, odd for those that run one by one: as early as what it reads allows.

    Steps that only repeat elements come with the first one that reads them: all of that need not be written anywhere.
    """
    made: dict[str, int] = {}
    levels: list[int] = []
    for index, step in enumerate(steps):
        level = max((made.get(name, 0) for name in reads(step)), default=0)
        level += (level % 2 == 1) != (index in stepwise)
        made.update(dict.fromkeys(step.outputs, level))
        levels.append(level)
    reading: dict[str, int] = {}
    for index in reversed(range(len(steps))):
        step = steps[index]
        first = min((reading[name] for name in step.outputs if name in reading), default=0)
        free = step.op in REPEATING or step.op in LOOKING
        if free and first % 2 == 0 and levels[index] % 2 == 0 and not set(step.outputs) & set(outputs):
            levels[index] = max(levels[index], first)
        reading.update({name: min(levels[index], reading.get(name, levels[index])) for name in reads(step)})
    return levels


def merged(steps: Iterable[OnnxStep], outputs: Sequence[str]) -> tuple[list[OnnxStep], tuple[str, ...]]:
    """The steps without those that compute what another one has computed, and the outputs by their new names."""
    steps = list(steps)
    captured = {name for step in steps for name in step.captured}
    names: dict[str, str] = {}
    first: dict[Hashable, OnnxStep] = {}
    kept = []
    for step in steps:
        inputs = tuple(names.get(name, name) for name in step.inputs)
        own = step if inputs == step.inputs else replace(step, inputs=inputs)
        key = _computed(own)
        same = first.get(key) if key is not None and not captured.intersection(step.outputs) else None
        if same is not None:
            names.update(zip(step.outputs, same.outputs))
            continue
        if key is not None:
            first[key] = own
        kept.append(own)
    return kept, tuple(names.get(name, name) for name in outputs)


def _computed(step: OnnxStep) -> Hashable:
    """What a step computes; None for one that must run by itself."""
    plain = all(isinstance(value, int | float | str | list | tuple) for value in step.attributes.values())
    if step.operator is None or not plain or step.op.startswith(RANDOM):
        return None
    wanted = tuple(map(bool, step.outputs))
    return step.op, step.opset, step.inputs, wanted, tuple(sorted((k, repr(v)) for k, v in step.attributes.items()))


class _Untraceable(Exception):
    def __init__(self, step: OnnxStep) -> None:
        super().__init__(step.place)
        self.step = step


def is_worth(steps: Sequence[OnnxStep], shortest: int) -> bool:
    return len(steps) >= shortest or any(step.op in HEAVY for step in steps)


def _traced(part: SubgraphModule, args: list[Any], steps: Sequence[OnnxStep], *, binding: bool) -> set[int]:
    """Which of the inputs have to be known to trace the part: extents, where `binding` allows it."""
    fixed: set[int] = set()
    while True:
        given = [bound(arg) if i in fixed else arg for i, arg in enumerate(args)]
        try:
            with torch.inference_mode(False), torch.no_grad():
                capture(part, given, deferring=not binding)
            return fixed
        except NeedsValues as needs:
            fresh = needs.inputs - fixed
            if binding and fresh and all(is_extents(args[i]) for i in fresh):
                fixed |= fresh
                continue
            failed = needs.__cause__
            found = [step for step in steps if isinstance(failed, StepFailed) and _holds(step, failed.step)]
            raise _Untraceable(found[0] if found else steps[-1]) from needs


def _holds(step: OnnxStep, inner: OnnxStep) -> bool:
    if step.place == inner.place and step.outputs == inner.outputs:
        return True
    programs = [v for v in (*step.attributes.values(), step.function) if isinstance(v, OnnxProgram)]
    return any(_holds(own, inner) for program in programs for own in program.steps)


def _by_what_they_need(
    steps: Iterable[OnnxStep], constant: set[str], fixed: set[str], held: set[str]
) -> tuple[list[OnnxStep], list[OnnxStep], list[OnnxStep]]:
    """Steps on constants alone, steps on values around the loop, and those that a round has to run."""
    known: list[OnnxStep] = []
    once: list[OnnxStep] = []
    rest: list[OnnxStep] = []
    constant, fixed = set(constant), set(fixed)
    for step in steps:
        read = set(reads(step))
        if step.op.startswith(RANDOM) or not read <= fixed:
            rest.append(step)
            continue
        if read <= constant:
            known.append(step)
            constant.update(step.outputs)
        elif read <= constant | held:  # what follows from parameters is computed when they change, not in a round
            rest.append(step)
            continue
        else:
            once.append(step)
        fixed.update(step.outputs)
    return known, once, rest
