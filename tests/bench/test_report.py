import json
import math

import pytest
from rich.console import Console

from strop.bench.report import NUMERICS, BenchRow, Report, against_best_peer, details, geometric_mean, speedup, summary

KEYS = ["model", "threads", "contender", "median_ms", "min_ms", "compile_s", "peak_rss_mb", "steady_rss_mb"]
KEYS += ["base_rss_mb", "weights_mb", "beyond_mb", "max_rel_error", "gflop", "fraction_of_peak"]


def rows(**times):
    made = []
    for name, median in times.items():
        row = BenchRow("net", 1, name, gflop=1.0, max_rel_error=0.0)
        row.rounds_ms = [median, median, 100 * median]
        row.settle(peak=100.0)
        made.append(row)
    return made


def text(table):
    console = Console(width=160, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def test_the_median_over_rounds_ignores_a_disturbed_round():
    (row,) = rows(eager=20.0)
    assert row.median_ms == 20.0
    assert row.fraction_of_peak == pytest.approx(0.5)


def test_memory_beyond_frameworks_and_weights():
    (row,) = rows(eager=20.0)
    assert row.to_json()["beyond_mb"] is None
    row.steady_rss_mb, row.base_rss_mb, row.weights_mb = 900.0, 300.0, 400.0
    assert row.to_json()["beyond_mb"] == 200.0
    assert "200" in text(details([row])) and "900" in text(details([row]))


def test_a_row_has_exactly_the_documented_keys():
    (row,) = rows(eager=20.0)
    assert list(row.to_json()) == KEYS
    row.error = "it broke"
    assert list(row.to_json()) == [*KEYS, "error"]


def test_an_infinite_error_stays_valid_json():
    (row,) = rows(strop=1.0)
    row.max_rel_error = math.inf
    assert json.loads(json.dumps(row.to_json(), allow_nan=False))["max_rel_error"] is None


def test_ratios_are_against_eager_and_the_fastest_peer():
    found = rows(strop=5.0, eager=20.0, inductor=10.0, openvino=4.0)
    assert speedup(found, found[0]) == 4.0
    assert against_best_peer(found) == ("openvino", pytest.approx(0.8))


def test_default_exact_and_fast_stand_side_by_side_and_are_no_peers_of_each_other():
    found = rows(**{"strop": 5.0, "strop-exact": 8.0, "strop-fast": 4.0, "eager": 20.0, "openvino": 10.0})
    assert [against_best_peer(found, name)[1] for name in NUMERICS] == [2.0, 1.25, 2.5]
    heading = text(summary(found))
    assert all(f"{name} ÷ best" in " ".join(heading.split()) for name in ("strop", "strop-exact", "strop-fast"))


def test_a_failed_peer_is_not_the_best():
    found = rows(strop=5.0, eager=20.0, openvino=4.0)
    found[2].error = "crashed after two rounds"
    assert against_best_peer(found) == ("eager", 4.0)
    assert speedup(found, found[2]) is None


def test_geometric_mean():
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert geometric_mean([]) is None


def test_tables_show_reasons_and_the_mean():
    first = rows(strop=5.0, eager=20.0, openvino=10.0)
    first[2].error = "[boom] at line 3"
    assert "openvino: [boom] at line 3" in text(details(first))
    second = rows(strop=5.0, eager=5.0)
    for row in second:
        row.model = "other"
    lines = text(summary(first + second)).splitlines()
    mean = next(line for line in lines if "geometric mean" in line)
    assert "2.00" in mean


def test_the_document_is_written_after_every_model(tmp_path):
    path = tmp_path / "out.json"
    report = Report(quiet=True, json_path=str(path))
    report.machine = {"cpu": "x"}
    with report:
        report.model(rows(eager=1.0))
        assert len(json.loads(path.read_text())["results"]) == 1
