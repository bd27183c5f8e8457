"""Compares what the source half says of the functions of a case with what the case expects."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from source.hybridize.corpus import OPEN, Case, Expected
from strop.source.facts import Function
from strop.source.hybridize.tensorflow1 import TENSORFLOW_1
from strop.source.project.settings import Settings
from strop.source.rules import all_rules
from strop.source.scan_project import scan_project


@dataclass(frozen=True)
class Comparison:
    """One fact, verdict or reason of one function: what was expected and what the scan says."""

    case: str
    function: str
    fact: str
    expected: str
    got: str
    agrees: bool

    def __str__(self) -> str:
        return f"{self.case}: {self.function}: {self.fact} should be {self.expected}, is {self.got}"


def scanned(case: Case) -> dict[tuple[str, str], Function]:
    """The functions of a case by file and name; of several with one name, the last."""
    found = scan_project([str(case.path)], Settings(speculate="no-speculate" not in case.options))
    for skipped in found.skipped:
        if skipped.code != TENSORFLOW_1:
            raise AssertionError(f"{case.name}: skipped {skipped.file}: {skipped.message}")
    return {(os.path.realpath(f.file), f.function): f for f in found.functions}


def comparisons(case: Case) -> Iterator[Comparison]:
    functions = scanned(case)
    for expected in case.expected:
        function = functions.get((os.path.realpath(expected.file), expected.function))
        if function is None:
            yield Comparison(case.name, expected.function, "listed", "true", "false", False)
            continue
        yield from compared(case, expected, function)


def compared(case: Case, expected: Expected, function: Function) -> Iterator[Comparison]:
    def comparison(fact: str, wanted: object, got: object, agrees: bool) -> Comparison:
        return Comparison(case.name, expected.function, fact, str(wanted), str(got), agrees)

    for fact, wanted in expected.facts.items():
        if wanted != OPEN:
            got = getattr(function, fact)
            yield comparison(fact, wanted, got, got is wanted)
    if expected.verdicts == {"unsafe"}:
        agrees = (function.verdict, function.safety) != ("to_graph", "safe")
        yield comparison("verdict", "no safe to_graph", f"{function.verdict}, {function.safety}", agrees)
    elif expected.verdicts:
        wanted = "|".join(sorted(expected.verdicts))
        yield comparison("verdict", wanted, function.verdict, function.verdict in expected.verdicts)
    if expected.assumed:
        yield comparison("assumptions", "some", function.assumptions or "none", bool(function.assumptions))
    rules = all_rules()
    said = {rules[r.code].name if r.code in rules else r.code for r in function.reasons}
    for reason in expected.reasons:
        yield comparison("reasons", reason, ", ".join(sorted(said)) or "none", NAMES[reason] in said)


#: The reasons as the cases name them, and the rules that stand for them.
NAMES: dict[str, str] = {
    "side_effects": "python-side-effects",
    "side_effects_unknown": "side-effects-unknown",
    "no_tensor_parameter": "no-tensor-parameter",
    "tensor_unknown": "tensor-parameter-unknown",
    "recursive": "recursive",
    "primitive_parameter": "primitive-parameter",
    "already_optimal": "already-optimal",
    "no_tensor_computation": "no-tensor-computation",
    "eager_only": "eager-only-call",
    "numpy": "numpy-on-tensor",
    "name_argument": "name-is-no-string",
    "stale_variables": "stale-variables",
    "iterates_tensor": "iterates-over-tensor",
    "callers_hybrid": "callers-are-graphs",
    "dtype_conflict": "conflicting-dtypes",
    "keras_symbolic": "keras-symbolic",
    "result": "result-is-no-tensor",
}
