"""Lines of Python, nodes, nests, statements and instructions: links in all directions, and code that they do not change."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import strop
from strop.core.problem import Problem
from strop.driver import pipeline
from strop.loops.calls import Call
from strop.session import Session

OPTIONS = strop.Options(cache=False, threads=2, target="znver4@host")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.up, self.out = nn.Linear(16, 48), nn.Linear(48, 16)
        self.rnn = nn.LSTM(16, 16, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        y = self.norm(y)
        y = torch.relu(y).flatten(2).transpose(1, 2)
        y = torch.softmax(self.out(torch.nn.functional.gelu(self.up(y))), -1)
        y = nn.functional.scaled_dot_product_attention(y[:, None], y[:, None], y[:, None])[:, 0]
        return self.rnn(y)[0]


SOURCE = Path(__file__).read_text().splitlines()


def line_of(text: str) -> str:
    return f"{Path(__file__).name}:{next(i for i, line in enumerate(SOURCE, 1) if text in line)}"


@pytest.fixture(scope="module")
def session() -> Session:
    torch.manual_seed(0)
    return Session(Net().eval(), (torch.randn(1, 16, 12, 12),), options=OPTIONS)


def calls(session: Session) -> list[Call]:
    return [call for call in (*session.plan.prepare, *session.plan.steps) if isinstance(call, Call)]


def test_nearly_every_instruction_belongs_to_a_statement(session: Session) -> None:
    for call in calls(session):
        code = session.code(call.name)
        assert code.mapped >= 0.99 and len(code.instructions) > 3
        numbers = {one.statement for one in code.instructions}
        assert numbers <= {None, *range(len(code.statements))}


def test_every_statement_has_a_line_of_python(session: Session) -> None:
    for call in calls(session):
        for one in session.code(call.name).statements:
            assert one.origins and all(origin.file == __file__ for origin in one.origins), one


def test_every_statement_of_a_scheduled_nest_is_one_of_its_source(session: Session) -> None:
    for call in calls(session):
        assert all(store.number in range(len(call.source.stores)) for store in call.nest.stores), call.name


def test_locations_change_no_instruction(session: Session) -> None:
    for call in calls(session):
        text = session.assembly(call.name)
        lines = (line.split("#")[0].strip() for line in text.splitlines() if line.startswith("\t"))
        plain = [line for line in lines if line and not line.startswith(".")]
        assert plain == [one.text for one in session.code(call.name).instructions]
        assert "!dbg" not in text and ".loc" not in text


def test_a_fused_nest_keeps_the_lines_of_all_its_parts(session: Session) -> None:
    lines = {f"{Path(one.file).name}:{one.line}" for one in session.at(nest="conv.conv").lines}
    assert {line_of("y = self.conv(x)"), line_of("y = self.norm(y)"), line_of("torch.relu(y)")} <= lines


def test_a_line_leads_to_instructions_and_they_lead_back(session: Session) -> None:
    line = line_of("torch.relu(y)")
    found = session.at(line=line)
    assert "conv.conv" in found.nests and found.nodes and found.statements and found.instructions
    back = session.at(instruction=found.instructions[0])
    assert line in {f"{Path(one.file).name}:{one.line}" for one in back.lines}
    assert set(back.nodes) & set(found.nodes)


def test_a_node_leads_to_its_statements_only(session: Session) -> None:
    found = session.at(node="relu")
    whole = session.at(nest="conv.conv")
    assert set(found.statements) < set(whole.statements)
    nest, number = found.statements[0]
    assert "relu" in session.at(statement=(nest, number)).nodes


def test_instructions_say_which_ports_they_take(session: Session) -> None:
    used = {kind for one in session.code("up.linear").instructions for kind in one.ports}
    assert {"fma", "load", "store"} <= used


def test_lines_of_text_show_their_statement(session: Session) -> None:
    code = session.code("conv.conv")
    shown = {number for _, number in code.text if number is not None}
    assert shown == set(range(len(code.statements))) and code.text[0][1] is None


@pytest.mark.parametrize(
    "asked", [{}, {"line": "net.py"}, {"node": "gone"}, {"nest": "gone"}, {"statement": ("up.linear", 99)},
              {"instruction": ("up.linear", -1)}, {"node": "relu", "nest": "conv.conv"}]
)  # fmt: skip
def test_what_is_not_there_is_a_problem(session: Session, asked: dict[str, object]) -> None:
    with pytest.raises(Problem):
        session.at(**asked)  # type: ignore[arg-type]


def test_an_unknown_line_leads_nowhere(session: Session) -> None:
    assert session.at(line="nowhere.py:1").statements == ()


def test_object_code_of_the_program_has_no_debug_sections(session: Session) -> None:
    assert all(b".debug_line" not in code for code in session.compiled.code)
    assert pipeline.code_digest(session.compiled) == session.digest


def test_without_a_forward_of_the_users_lines_are_those_of_torchs_layers() -> None:
    session = Session(nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval(), (torch.randn(2, 8),), options=OPTIONS)
    assert {Path(one.file).name for one in session.at(nest="0.linear").lines} == {"linear.py", "activation.py"}
    assert str(session.graph.nodes[-1].origin) == "1"  # what is printed names the user's places only
