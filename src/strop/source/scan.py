"""Scanning: files in, facts, verdicts and findings out. One process, no cache; `scan_project.py` puts those around
it."""

from __future__ import annotations

import gc
import importlib
import importlib.util
from collections.abc import Sequence
from typing import Any, Protocol

from strop.source import adopt
from strop.source.adopt.names import QuickProject
from strop.source.advice import combine, standing, tensorflow_priced
from strop.source.facts import Finding, Function, Scan
from strop.source.hybridize import tensorflow, tensorflow1
from strop.source.hybridize.outermost import only_outermost
from strop.source.hybridize.parameters import describe
from strop.source.hybridize.tensorflow_rules import ADD_SIGNATURE
from strop.source.hybridize.torch_findings import Advice, advise
from strop.source.interpret.effects import Effects
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import forget
from strop.source.project import files
from strop.source.project.modules import Project

LARGE = 20_000  #: lines of a program, from which memory is cleared up after it


class Options(Protocol):
    """What a scan wants to know; `settings.Settings` is one."""

    @property
    def speculate(self) -> bool: ...
    @property
    def hints(self) -> bool: ...
    @property
    def max_lines(self) -> int: ...
    @property
    def rules(self) -> tuple[str, ...]: ...
    @property
    def target(self) -> str: ...
    @property
    def with_strop(self) -> bool: ...
    @property
    def select(self) -> tuple[str, ...]: ...
    @property
    def signatures(self) -> bool: ...


class Defaults:
    """Options as they are when nobody says otherwise."""

    speculate = True
    hints = True
    max_lines = files.MAX_LINES
    rules: tuple[str, ...] = ()
    target = "cpu"
    with_strop = False
    select: tuple[str, ...] = ()
    signatures = False


def scan(paths: Sequence[str], options: Options | None = None) -> Scan:
    """Everything that is found in these files and folders."""
    names, skipped = files.find(paths)
    result = scan_files(names, paths, options)
    result.skipped = [*skipped, *result.skipped]
    return result


def scan_files(names: Sequence[str], roots: Sequence[str], options: Options | None = None) -> Scan:
    """The same for files that have been found already; they are one program."""
    enabled = gc.isenabled()
    gc.disable()  # syntax trees and values live until the end: collections in between only cost time
    try:
        result = _scanned(names, roots, options or Defaults())
        forget()  # first, since the next allocation after `enable` walks over everything that is still there
    finally:
        if enabled:
            gc.enable()
    if result.lines > LARGE:
        gc.collect()  # programs are full of circles; the next one must not find this one still in memory
    return result


def _scanned(names: Sequence[str], roots: Sequence[str], options: Options) -> Scan:
    kind = QuickProject if kernels_only(options.select) else Project
    project = kind(names, roots, max_lines=options.max_lines)
    beside = project.beside()
    found = adopt.findings(beside, options.rules, options.target, options.select, options.with_strop)
    kernels = standing(found, project, options.select)
    result, torch = (Scan(), Advice()) if kernels_only(options.select) else _interpreted(project, options)
    fitting, result.notes = combine(torch, kernels, project, options.select)
    result.findings = _distinct([*map(tensorflow_priced, result.findings), *fitting])
    result.skipped = [*project.skipped, *result.skipped]
    result.files = len(project.scanned)
    result.lines = sum(module.lines for module in project.scanned.values())
    followed = [*project.followed.values(), *beside.followed.values()]
    result.followed = sorted({module.file for module in followed if module is not None})
    return result


def _distinct(findings: list[Finding]) -> list[Finding]:
    """The first of those that say the same of the same place: a method that several classes share is read in each, and
    a kernel may fit a place in several ways."""
    found: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        place = finding.place
        kernel = finding.code.startswith("STR7")
        said = (place.file, place.line) if kernel else (place, finding.message)
        found.setdefault((finding.code, said), finding)
    return list(found.values())


def _interpreted(project: Project, options: Options) -> tuple[Scan, Advice]:
    asked = options.signatures or ADD_SIGNATURE in options.select
    program = Program(project, hints=options.hints, speculate=options.speculate, signatures=asked)
    program.run()
    found = judge(program, options.target, options.with_strop)
    program.release()
    return found


def kernels_only(select: Sequence[str]) -> bool:
    """Are kernels to adopt all that is asked for? They need no interpretation of the whole program."""
    return bool(select) and all(code.startswith("STR7") for code in select)


def judge(program: Program, target: str = "cpu", with_strop: bool = False) -> tuple[Scan, Advice]:
    """Facts and verdicts of every function of a program that has run, TensorFlow's findings, and PyTorch's advice."""
    effects = Effects(program)
    judged = {id: judge_function(program, effects, id) for id in program.functions}
    facts = [facts for facts, _ in judged.values()]
    found = Scan(facts, only_outermost(program, judged), tensorflow1.notices(program))
    return found, advise(program, judged, target, with_strop)


def judge_function(program: Program, effects: Effects, id: str) -> tuple[Function, list[Finding]]:
    facts, evidence = describe(program, effects, id)
    torch = _torch() if facts.framework == "torch" else None
    findings: list[Finding] = (torch or tensorflow).judge(program, effects, id, facts, evidence)
    return facts, findings


def _torch() -> Any:
    name = "strop.source.hybridize.torch"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None
