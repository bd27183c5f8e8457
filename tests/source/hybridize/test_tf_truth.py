"""In real TensorFlow: what the scan calls safe to change behaves the same after the change, over three calls."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from source.hybridize.agreement import scanned
from source.hybridize.corpus import Case, cases

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
pytest.importorskip("tensorflow")

from source.hybridize.tf_truth import Change, differences

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

_called: set[str] = set()
CHANGES = {"to_graph", "to_eager", "add_signature"}


def safe_changes(case: Case) -> list[Change]:
    base = Path(os.path.realpath(case.path if case.path.is_dir() else case.path.parent))
    return [
        Change(str(Path(file).relative_to(base)), name, function.verdict, function.signature)
        for (file, name), function in scanned(case).items()
        if function.verdict in CHANGES and function.safety == "safe"
    ]


@pytest.mark.parametrize("case", [case for case in cases() if case.truth != "skip"], ids=lambda case: case.name)
def test_safe_changes_change_nothing(case: Case, tmp_path: Path):
    changes = safe_changes(case)
    if not changes:
        pytest.skip("nothing is called safe here")
    assert not differences(case.path, changes, tmp_path, _called)


@pytest.fixture(scope="module", autouse=True)
def functions():
    yield
    print(f"\n{len(_called)} functions that are called safe to change were run before and after, three calls each")
