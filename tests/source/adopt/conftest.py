"""Rules that a test brings along are forgotten after it; what all edits make of a file."""

import textwrap

import pytest

from strop.source import adopt, rules
from strop.source.adopt.names import QuickProject
from strop.source.facts import Scan
from strop.source.fix.fixing import fix

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n"


@pytest.fixture(autouse=True)
def _own_registry():
    yield
    for code in [code for code in rules.RULES if code.startswith("STR79")]:
        del rules.RULES[code]


@pytest.fixture
def edited(tmp_path):
    """The text after all edits, safe or not."""

    def run(body):
        file = tmp_path / "model.py"
        file.write_text(HEAD + textwrap.dedent(body))
        look = lambda: Scan(findings=adopt.findings(QuickProject([str(file)], [str(file)]), strop=True))  # noqa: E731
        done = fix(look, unsafe=True)
        return done.plan.after.get(str(file), file.read_text()).removeprefix(HEAD)

    return run
