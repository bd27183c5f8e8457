"""Random programs are the same after every kernel edit; `make test-soundness` tries twenty thousand."""

import re
import textwrap
import warnings

import pytest
import torch

from source.adopt.hostile_programs import BODIES
from source.adopt.soundness import check
from strop.source import adopt
from strop.source.adopt.names import QuickProject
from strop.source.facts import Scan
from strop.source.fix.fixing import fix


@pytest.mark.parametrize("strop", [False, True], ids=["PyTorch's kernels", "Strop's kernels"])
def test_random_programs_are_the_same_after_every_edit(tmp_path, monkeypatch, strop):
    from strop.kernels import autograd

    for name in autograd.SMALLEST:
        monkeypatch.setitem(autograd.SMALLEST, name, 1)
    warnings.simplefilter("ignore")
    counts = check(100_000 + 1000 * strop, 150, tmp_path, strop=strop)
    assert not counts.differences, counts
    assert counts.edited >= 0.2 * counts.programs, counts


@pytest.mark.parametrize("strop", [False, True], ids=["PyTorch's kernels", "Strop's kernels"])
def test_hostile_programs_are_the_same_after_every_edit(tmp_path, strop):
    head = "import math\n\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"
    parts = [
        f"def {name}(x, y, z, w, hide, flag):\n{textwrap.indent(body, '    ')}\n\n\n" for name, body in BODIES.items()
    ]
    file = tmp_path / "hostile.py"
    file.write_text(head + "".join(parts))
    look = lambda: Scan(findings=adopt.findings(QuickProject([str(file)], [str(file)]), strop=strop))  # noqa: E731
    done = fix(look, unsafe=True)
    after = done.plan.after.get(str(file), file.read_text())
    sides = [{}, {}]
    for names, source in zip(sides, (file.read_text(), after)):
        exec(compile(source, str(file), "exec"), names)
    wrong = {}
    for name in BODIES:
        for flag in (0, 1):
            before, now = (_run(names[name], flag) for names in sides)
            if len(before) != len(now) or any(
                not torch.allclose(one, two, rtol=1e-7, atol=1e-9) for one, two in zip(before, now)
            ):
                wrong[name] = re.findall(rf"^def {name}\(.*?(?=^def |\Z)", after, re.DOTALL | re.MULTILINE)
    assert not wrong
    assert len(done.applied) >= 5  # a few hold what they look like: the others must not hide behind nothing found


def _run(function, flag):
    """The result and the gradients of a program, from the same inputs each time."""
    torch.manual_seed(flag)
    leaves = [torch.randn(3, 4, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    w = (torch.rand(4, dtype=torch.float64) + 0.5).requires_grad_()
    hide = torch.eye(4, dtype=torch.bool).roll(1, 0)
    given = [leaf * 1.0 for leaf in leaves]
    with torch.no_grad():  # what autograd refuses to run backward has a result all the same
        plain = function(*given, w, hide, flag)
    result = function(*given, w, hide, flag)
    weight = torch.linspace(0.5, 1.5, result.numel(), dtype=torch.float64).view(result.shape)
    try:
        (result * weight).sum().backward()
    except RuntimeError as error:
        return [plain, torch.tensor("modified by an inplace operation" in str(error))]
    return [plain, *(torch.zeros(1) if leaf.grad is None else leaf.grad for leaf in (*leaves, w))]
