"""Every operator that we lower, on PyTorch's own samples of it, against eager.

`tests/goldens/native/opinfo.txt` names the operators that are native on all of their samples that are tried here;
`pytest --update-golden` writes it anew, so that an operator that falls back to the library is seen in a diff.
"""

from __future__ import annotations

from itertools import chain

import golden
from native import opinfo
import pytest
import torch

FEWEST = 150
LIST = golden.HOME / "native" / "opinfo.txt"
#: samples of each dtype that `make test` tries; `-m slow` tries all
FEW = {torch.float32: 4, torch.int64: 2, torch.bool: 1}
NAMES = LIST.read_text().split() if LIST.exists() else []


def few(name: str) -> list[opinfo.Sample]:
    info = opinfo.operators()[name]
    return list(chain.from_iterable(opinfo.samples(info, dtype, most) for dtype, most in FEW.items()))


@pytest.mark.parametrize("name", NAMES)
def test_equals_eager(name, tally):
    made = opinfo.program(few(name))
    assert made is not None and not made.library and not made.refused, (made.library, made.refused)
    opinfo.check(opinfo.operators()[name], made)
    tally.operators.add(name)
    tally.samples += len(made.samples)


def test_enough_operators_are_native():
    assert len(NAMES) >= FEWEST


@pytest.mark.slow
def test_list_is_complete(tally):
    """Every operator of PyTorch's, so that one that became native, or no longer is, shows."""
    native, wrong = [], []
    for name in opinfo.operators():
        made = opinfo.program(few(name))
        if made is None or not made.samples:
            continue
        try:
            opinfo.check(opinfo.operators()[name], made)
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
            continue
        if not made.library and not made.refused:
            native.append(name)
    assert not wrong, "\n".join(wrong)
    golden.golden("native/opinfo", "\n".join(sorted(native)))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_equals_eager_on_all_samples(name):
    """What of an operator's samples is native, also where others are not."""
    info = opinfo.operators()[name]
    for dtype in opinfo.DTYPES:
        found = opinfo.samples(info, dtype, None)
        for start in range(0, len(found), 16):
            made = opinfo.program(found[start : start + 16])
            assert made is not None
            opinfo.check(info, made)
