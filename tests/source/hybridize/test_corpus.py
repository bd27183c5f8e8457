"""Every function of the TensorFlow cases gets the facts and the verdict that its case states."""

from __future__ import annotations

from collections import Counter

import pytest

from source.hybridize.agreement import comparisons
from source.hybridize.corpus import Case, cases

CASES = list(cases())
_agreed: Counter[str] = Counter()
_seen: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def agreement():
    yield
    for fact, seen in _seen.items():
        print(f"{fact:20} {_agreed[fact]:5} of {seen:5} agree  {_agreed[fact] / seen:7.2%}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_facts_and_verdicts(case: Case):
    found = list(comparisons(case))
    for comparison in found:
        _seen[comparison.fact] += 1
        _agreed[comparison.fact] += comparison.agrees
    wrong = [str(comparison) for comparison in found if not comparison.agrees]
    assert not wrong, "\n".join(wrong)


def test_the_corpus_covers_every_row_and_reason():
    verdicts = {verdict for case in CASES for e in case.expected for verdict in e.verdicts}
    reasons = {reason for case in CASES for e in case.expected for reason in e.reasons}
    assert {"to_graph", "to_eager", "add_signature", "lift_primitive", "keep", "no_benefit", "unknown"} <= verdicts
    assert len(CASES) >= 250
    from source.hybridize.agreement import NAMES

    assert reasons == set(NAMES)
