"""Predicted graph breaks against what Dynamo does.

Every case of `torch_cases/` carries what Dynamo did with it and what Strop says of it. The first is checked against the
installed PyTorch, the second against the scanner; both must agree with each other.
"""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from source.hybridize.torch_truth import Case, cases, truth
from strop.source.facts import Function
from strop.source.scan import scan

CASES = cases()
SAMPLE = CASES[::14]
MEASURED_WITH = "2.13"  #: what Dynamo can follow changes from release to release


def _said(case: Case) -> Function:
    found = {function.function: function for function in scan([str(case.path)]).functions}
    return found[case.function]


def test_there_are_enough_cases_of_each_kind() -> None:
    assert len(CASES) >= 130
    assert sum(bool(case.breaks) for case in CASES) >= 100
    assert sum(case.safety == "safe" for case in CASES) >= 100


def test_verdicts_and_reasons_are_those_of_the_cases() -> None:
    wrong = []
    for case in CASES:
        said = _said(case)
        codes = tuple(sorted({reason.code for reason in said.reasons}))
        if (said.verdict, said.safety, codes) != (case.verdict, case.safety, case.codes):
            wrong.append(f"{case.path.name}: {said.verdict} {said.safety} {' '.join(codes)}")
    assert not wrong, "\n".join(wrong)


def test_what_is_said_agrees_with_what_breaks() -> None:
    agree = sum((case.safety == "unsafe") == bool(case.breaks) for case in CASES)
    unknown = sum(case.verdict == "unknown" for case in CASES)
    assert agree >= 0.95 * len(CASES)
    assert unknown <= 0.1 * len(CASES)
    assert not [case.path.name for case in CASES if case.safety == "safe" and case.breaks]


@pytest.mark.skipif(
    not torch.__version__.startswith(MEASURED_WITH), reason=f"the cases were measured with {MEASURED_WITH}"
)
@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.path.stem)
def test_dynamo_does_what_the_case_says(case: Case) -> None:
    _check(case)


@pytest.mark.slow
@pytest.mark.skipif(
    not torch.__version__.startswith(MEASURED_WITH), reason=f"the cases were measured with {MEASURED_WITH}"
)
@pytest.mark.parametrize("case", [c for c in CASES if c not in SAMPLE], ids=lambda case: case.path.stem)
def test_dynamo_does_what_every_case_says(case: Case) -> None:
    _check(case)


def _check(case: Case) -> None:
    try:
        found = truth(case.path)
    except ModuleNotFoundError as missing:
        pytest.skip(f"{missing.name} is not installed")
    assert found.breaks == bool(case.breaks), found
    if case.soft:
        assert found.whole


def test_every_reason_of_the_torch_rules_has_a_case() -> None:
    from strop.source.hybridize.torch_rules import BREAKS

    seen = Counter(code for case in CASES for code in case.codes)
    assert not [name for name, code in BREAKS.items() if not seen[code]]
