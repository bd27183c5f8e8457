"""Scripts that train networks of convolutions on CPUs: memory that `malloc` should keep from step to step.

glibc's `malloc` gives the memory of activations back to the system when they are freed, and each step gets it back as
new pages, which the kernel clears and maps one by one. Variables of the environment change that. glibc reads them when
a process starts, so this is advice for the command line of a script: nothing is said of libraries, nor of models that
are compiled, whose memory is planned, nor of inference, where one run gained a quarter and the next one nothing. The
gain is below what is told by default: `--select STR181` asks for it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from strop.source.facts import Finding
from strop.source.hybridize import sites
from strop.source.hybridize.calling import forwards_of, scripts_that_run
from strop.source.hybridize.purpose import is_trained
from strop.source.hybridize.torch_proposals import Proposal
from strop.source.hybridize.torch_rules import MEMORY_GIVEN_BACK
from strop.source.hybridize.torch_worth import Estimate
from strop.source.interpret.interpreter import Program
from strop.source.project.declarations import Class, Code, Module

ENVIRONMENT = (
    ("MALLOC_MMAP_THRESHOLD_", "1073741824"),
    ("MALLOC_TRIM_THRESHOLD_", "10737418240"),
    ("MALLOC_TOP_PAD_", "67108864"),
)
#: the median of what training steps of seven networks gained, which is too little to be told unasked. The source does
#: not say which of them gain more: page faults depend on the batch and on the order in which blocks are freed
_GAIN = 1.1
_WHY = "measured on training steps of seven such networks: 0.99 to 1.56, median 1.10"
_FEW = 4.0  #: convolutions and batch norms up to which other things take the time
_UNITS = 60.0  #: of a network that a registry makes
#: makers of networks with batch normalisation, with the names that a registry is given
_FAMILIES = re.compile(
    r"torchvision\.models\S*\.(resnet|resnext|wide_resnet|mobilenet|efficientnet|mnasnet|densenet|shufflenet|regnet|"
    r"googlenet|inception|vgg\d+_bn|deeplab|fcn|lraspp)|segmentation_models_pytorch\.|"
    r"timm\.create_model .*(resnet|resnext|mobilenet|efficientnet|mnasnet|mixnet|densenet|regnet|repvgg)",
    re.IGNORECASE,
)


def findings(program: Program, proposals: Sequence[Proposal], target: str) -> list[Finding]:
    """One for each script: of the networks that its own file makes, the largest."""
    if target != "cpu":
        return []
    best: dict[Module, tuple[float, Code, ast.Assign]] = {}
    for code, statement, units in _networks(program, proposals):
        script = code.module
        if script not in scripts_that_run(program, code) or _chooses_already(script):
            continue
        if script not in best or best[script][0] < units:
            best[script] = units, code, statement
    return [_finding(code, statement, units) for units, code, statement in best.values()]


def _networks(program: Program, proposals: Sequence[Proposal]) -> Iterator[tuple[Code, ast.Assign, float]]:
    """The lines that make such networks, which loops train and nothing compiles, with the units of a step."""
    compiled = {proposal.finding.place for proposal in proposals}
    covered = {name for proposal in proposals for name in proposal.covers}
    for code, statement, models in sites.run_often(program):
        forwards = [f for obj in models if isinstance(obj.cls, Class) for f in forwards_of(program, obj.cls)]
        if code.place(statement) in compiled or any((f.module.file, f.name) in covered for f in forwards):
            continue
        if not is_trained(program, {program.code(id).module: None for obj in models for id in program.users_of(obj)}):
            continue
        step = sites.call_estimate(program, models, "cpu") or Estimate()
        if min(step.kinds["convolution"], step.kinds["batch norm"]) > _FEW:
            yield code, statement, step.eager
        elif all(isinstance(obj.cls, Class) and _FAMILIES.match(f"{obj.cls.module.name}.") for obj in models):
            yield code, statement, _UNITS
    for code, statement, maker in sites.unseen_models(program):
        if code.place(statement) in compiled or not is_trained(program, [code.module]):
            continue
        if _FAMILIES.match(f"{maker} {ast.unparse(statement.value)}"):
            yield code, statement, _UNITS


def _chooses_already(script: Module) -> bool:
    """Whether a script knows of allocators: it sets such variables for what it starts, or calls `mallopt`."""
    texts = (node.value for node in ast.walk(script.tree) if isinstance(node, ast.Constant))
    return any(isinstance(text, str) and ("MALLOC_" in text or "mallopt" in text) for text in texts)


def _finding(code: Code, statement: ast.Assign, units: float) -> Finding:
    name = ast.unparse(statement.targets[0])
    variables = " ".join(f"{variable}={value}" for variable, value in ENVIRONMENT)
    return Finding(
        MEMORY_GIVEN_BACK,
        "memory-given-back",
        code.place(statement),
        code.name,
        f"the memory of what `{name}` computes goes back to the system at every step: on Linux, start the script with "
        f"`{variables} python {code.module.file}`",
        "safe-if",
        estimated_gain=_GAIN,
        gain_reason=_WHY,
        assumptions=("the script runs on a CPU, and its largest demand for memory may stay allocated",),
        worth=units * (1 - 1 / _GAIN),
        environment=ENVIRONMENT,
    )
