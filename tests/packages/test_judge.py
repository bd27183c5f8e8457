"""The judge itself: it finds what is wrong, lets roundings pass, and its table keeps the bars."""

import json
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "docs" / "packages.json"


@pytest.fixture(scope="module")
def judge():
    """The modules of the judge, which find each other by their folder as scripts do."""
    sys.path.insert(0, str(HERE))
    try:
        import cases
        import judge
        import record

        yield {"cases": cases, "judge": judge, "record": record}
    finally:
        sys.path.remove(str(HERE))


class Gate(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.first, self.second = nn.Linear(8, 6), nn.Linear(8, 6)
        self.drop = nn.Dropout(0.2)
        self.how = how

    def forward(self, x):
        return self.drop(self.how(self.first(x), self.second(x)))


def written_out(a, b):
    return a * torch.sigmoid(a) * b


def same(a, b):
    return nn.functional.silu(a) * b


def wrong_operand(a, b):
    return nn.functional.silu(b) * a


def without_gradient(a, b):
    return nn.functional.silu(a) * b.detach()


def compared(judge, tmp_path, after):
    cases, record = judge["cases"], judge["record"]

    def case(how):
        return cases.Case(lambda: Gate(how), cases.images(8))

    file = tmp_path / "0.pt"
    assert record.store(case(written_out), file)["float64"]
    return record.compare(case(after), file, record.Watch({__file__: [after.__name__]}))


def test_equal_formulas_pass(judge, tmp_path):
    row = compared(judge, tmp_path, same)
    assert not row["differences"]
    assert row["ran"] == [f"{__file__}:same"]
    assert row["largest"]["float64"] < 1e-12


@pytest.mark.parametrize("after", [wrong_operand, without_gradient])
def test_a_wrong_edit_is_found(judge, tmp_path, after):
    assert compared(judge, tmp_path, after)["differences"]


def test_a_wrong_row_of_a_large_gradient_is_found(judge):
    import measure

    one = {"gradient of w": torch.randn(300, 200)}
    two = {"gradient of w": one["gradient of w"].clone()}
    two["gradient of w"][17] *= 1.01
    texts, _ = measure.differences({"eval, float32": measure.kept(one)}, {"eval, float32": measure.kept(two)})
    assert texts


class Chaotic(nn.Module):
    """Its first input loses every digit in float32; `wrong` shifts the output of the second one, which is longer."""

    def __init__(self, wrong):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.drop = nn.Dropout(0.2)
        self.wrong = wrong

    def forward(self, x):
        y = self.drop(self.layer(x))
        if x.shape[1] == 5:
            return (y + 1e9) - 1e9
        return scaled(y, self.wrong)


def scaled(y, wrong):
    return y + 0.1 if wrong else y * 1.0


@pytest.mark.parametrize("wrong", [False, True])
def test_an_edit_that_is_wrong_on_the_second_input_only_is_found(judge, tmp_path, wrong):
    cases, record = judge["cases"], judge["record"]

    def case(wrong):
        return cases.Case(lambda: Chaotic(wrong), cases.series(5, 8, other=9))

    file = tmp_path / "0.pt"
    record.store(case(False), file)
    row = record.compare(case(wrong), file, record.Watch({__file__: ["Chaotic.forward"]}))
    assert bool(row["differences"]) is wrong


def test_tiny_gradients_are_compared_in_float64(judge):
    import measure

    one = {"gradient of w": torch.randn(6, 4, dtype=torch.float64) * 1e-8}
    two = {"gradient of w": one["gradient of w"] * 1.1}
    texts, _ = measure.differences({"eval, float64": measure.kept(one)}, {"eval, float64": measure.kept(two)})
    assert texts


def test_an_infinity_that_becomes_undefined_is_found(judge):
    import measure

    one, two = torch.zeros(4), torch.zeros(4)
    one[1], two[1] = float("inf"), float("nan")
    kept = [{"eval, float32": measure.kept({"output": tensor})} for tensor in (one, two)]
    assert measure.differences(*kept)[0]


def test_edited_functions_are_those_whose_syntax_changed(judge, tmp_path):
    for tree, body in (("before", "a * b"), ("after", "b * a")):
        (tmp_path / tree).mkdir()
        (tmp_path / tree / "m.py").write_text(
            f"class C:\n    def f(self, a, b):\n        return {body}\n\ndef g(): pass\n"
        )
    found = judge["judge"].changed_functions(tmp_path / "before", tmp_path / "after")
    assert found == {str(tmp_path / "after" / "m.py"): ["C.f"]}


def test_the_table_keeps_the_bars():
    rows = json.loads(TABLE.read_text(encoding="utf-8"))
    assert len(rows) >= 12
    assert sum(row["built"] for row in rows) >= 150
    assert not [name for row in rows for how in ("default", "unproven") for name in row.get(how, {}).get("wrong", ())]
