"""Every operator that we lower, on PyTorch's own samples of it, against eager.

`tests/goldens/codegen/opinfo.txt` names the operators and the dtypes in which they are native: `f32` if every sample
that is tried here is, `~f32` if some need a library node. `pytest -m slow --update-golden` writes it anew, so that an
operator that falls back to the library is seen in a diff.
"""

from __future__ import annotations

from itertools import chain

import golden
import pytest

from codegen import opinfo

pytestmark = pytest.mark.filterwarnings("ignore")

FEWEST = 150
LIST = golden.HOME / "codegen" / "opinfo.txt"
#: samples of each dtype that `make test` tries; `-m slow` tries all
FEW = {"f32": 4, "i64": 2, "bool": 1}
LINES = LIST.read_text().splitlines() if LIST.exists() else []


def few(name: str) -> list[opinfo.Sample]:
    info = opinfo.operators()[name]
    return list(chain.from_iterable(opinfo.samples(info, dtype, most) for dtype, most in FEW.items()))


def native_in(made: opinfo.Program) -> str:
    """The dtypes of the samples that became native code."""
    partly = {sample.dtype for sample, _ in made.others}
    found = {sample.dtype for sample in made.samples}
    return " ".join(f"~{dtype}" if dtype in partly else dtype for dtype in opinfo.DTYPES if dtype in found)


@pytest.mark.parametrize("line", LINES)
def test_equals_eager(line, tally):
    name, dtypes = line.split(" ", 1)
    made = opinfo.program(few(name))
    assert native_in(made) == dtypes, made.others
    opinfo.check(opinfo.operators()[name], made)
    tally.samples.update((name, sample.dtype) for sample in made.samples)


def test_enough_operators_are_native():
    assert sum("~" not in line for line in LINES) >= FEWEST


@pytest.mark.slow
def test_list_is_complete():
    """Every operator of PyTorch's, so that one that became native, or no longer is, shows."""
    native, wrong = [], []
    for name, info in opinfo.operators().items():
        made = opinfo.program(few(name))
        if not made.samples:
            continue
        try:
            opinfo.check(info, made)
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
        native.append(f"{name} {native_in(made)}")
    golden.golden("codegen/opinfo", "\n".join(sorted(native)))
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
def test_equals_eager_on_all_samples(line):
    info = opinfo.operators()[line.split(" ", 1)[0]]
    for dtype in opinfo.DTYPES:
        found = opinfo.samples(info, dtype, None)
        for start in range(0, len(found), 16):
            opinfo.check(info, opinfo.program(found[start : start + 16]))
