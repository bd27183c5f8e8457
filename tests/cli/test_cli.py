"""The command line around a stand-in Session: parsing, printing, exit codes."""

import json
import signal
import subprocess
import sys
import types
import warnings

import pytest

import strop
from strop import cli
from strop.core.cache import Cache
from strop.core.journal import Journal, StropWarning
from strop.core.problem import Problem

#: a shell that starts the tests in the background has them ignore Ctrl-C, and so would their children
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from strop.cli import main
main()
"""
MODEL = "import torch\ndef make():\n    return torch.nn.Linear(4, 2), (torch.ones(1, 4),)\n"


class StandIn:
    """What the command line needs of a Session."""

    nests = "nest linear(x: f32[1,4]) -> f32[1,2]:"
    preparation = ""
    raises = None

    def __init__(self, module, inputs, *, kwargs, options, journal, plan):
        if StandIn.raises:
            raise StandIn.raises
        StandIn.options = options
        self.journal = journal
        with journal.step("fuse"):
            journal.add("refusal", "pool1", "its windows overlap [x]")

    def explain(self):
        return self.journal.explain()

    def summary(self):
        return {"nodes": 3, "library_nodes": {"sort": 1}, "arena_bytes": 2048, "cache_hit": False}


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(StandIn, "raises", None)
    monkeypatch.setitem(sys.modules, "strop.session", types.SimpleNamespace(Session=StandIn))


@pytest.fixture
def model(tmp_path):
    (tmp_path / "net.py").write_text(MODEL)
    return f"{tmp_path}/net.py:make"


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["strop", *arguments])
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
        with pytest.raises(SystemExit) as left:
            cli.main()
        printed = capsys.readouterr()
        return left.value.code or 0, printed.out, printed.err

    return call


def test_version(run):
    assert run("--version") == (0, f"strop {strop.__version__}\n", "")


def test_help_names_every_command(run):
    code, out, _ = run("--help")
    assert code == 0 and all(name in out for name in ("compile", "bench", "cache", "explain", "doctor"))


def test_compile_prints_a_summary(run, session, model):
    code, out, err = run("compile", model, "--threads", "2")
    assert code == 0 and err == ""
    assert "sort 1" in out and "2.0 kB" in out and "cache hit" in out
    assert StandIn.options.threads == 2 and StandIn.options.pack and StandIn.options.cache


def test_compile_hands_its_switches_on(run, session, model):
    run("compile", model, "--no-pack", "--no-cache")
    assert not StandIn.options.pack and not StandIn.options.cache


def test_switches_go_before_the_environment_and_defaults_do_not(run, session, model, monkeypatch):
    monkeypatch.setenv("STROP_PACK", "0")
    run("compile", model)
    assert not StandIn.options.pack
    run("compile", model, "--pack")
    assert StandIn.options.pack


def test_compile_explains_and_shows_nests_on_request(run, session, model):
    _, plain, _ = run("compile", model)
    _, out, _ = run("compile", model, "--explain", "--nests")
    assert "pool1: its windows overlap [x]" in out and "nest linear(x: f32[1,4])" in out
    assert "pool1" not in plain and "nest linear" not in plain


def test_compile_json_is_for_machines(run, session, model):
    code, out, _ = run("compile", model, "--json", "--nests")
    told = json.loads(out)
    assert code == 0 and told["summary"]["nodes"] == 3 and told["nests"] == StandIn.nests
    assert [event["kind"] for event in told["events"]] == ["step", "refusal"]


def test_quiet_prints_nothing(run, session, model):
    assert run("compile", model, "--quiet") == (0, "", "")


def test_a_problem_is_printed_without_a_traceback(run, session, model):
    StandIn.raises = Problem("STR101", "cannot export", where="net.py:3", help="try partial=True")
    code, out, err = run("compile", model)
    assert code == 2 and out == "" and "Traceback" not in err
    assert "error[STR101]: cannot export" in err and "--> net.py:3" in err and "help: try partial=True" in err


def test_a_problem_is_json_where_json_was_asked_for(run, session, model):
    StandIn.raises = Problem("STR101", "cannot export")
    code, out, _ = run("compile", model, "--json")
    assert code == 2 and json.loads(out)["problem"]["code"] == "STR101"


def test_debug_shows_the_traceback(run, session, model):
    StandIn.raises = Problem("STR101", "cannot export")
    code, _, err = run("--debug", "compile", model)
    assert code == 2 and "Traceback" in err


def test_outputs_that_differ_exit_with_one(run, session, model):
    StandIn.raises = Problem("STR601", "output 0 differs by 0.3")
    assert run("compile", model)[0] == 1


def test_a_bug_of_ours_is_called_one(run, session, model):
    StandIn.raises = RuntimeError("oops [/nothing]")
    code, _, err = run("compile", model)
    assert code == 70 and "bug in Strop: RuntimeError: oops [/nothing]" in err and "Traceback" not in err


def test_interruption_exits_with_130(run, session, model):
    StandIn.raises = KeyboardInterrupt()
    code, _, err = run("compile", model)
    assert code == 130 and "interrupted" in err and "Traceback" not in err


@pytest.mark.parametrize(
    "arguments",
    [["compile"], ["fly"], ["compile", "a:b", "--threads", "0"], ["cache", "burn"], ["compile", "nothing.at.all:make"]],
)
def test_wrong_calls_exit_with_two(run, arguments):
    code, out, err = run(*arguments)
    assert code == 2 and err and out == ""


def test_warnings_read_as_sentences(run, session, model, monkeypatch):
    monkeypatch.setattr(StandIn, "summary", lambda self: self.journal.warn("fallback", "x", "ran [eager]").data)
    with warnings.catch_warnings():
        warnings.simplefilter("always", StropWarning)
        _, _, err = run("compile", model)
    assert err == "warning: x: ran [eager]\n"


def test_bench_hands_its_arguments_on_and_its_exit_code_back(run, monkeypatch):
    calls = []

    def main(models, **settings):
        calls.append((models, settings))
        return 1

    monkeypatch.setattr("strop.bench.harness.main", main)
    assert run("bench", "resnet18", "a.b:c", "--threads", "2", "--json", "--contenders", "eager,strop")[0] == 1
    models, settings = calls[0]
    assert models == ["resnet18", "a.b:c"] and settings["threads"] == 2 and settings["json_path"] == "-"
    assert settings["contenders"] == ["eager", "strop"]
    run("bench", "-o", "some.json")
    assert calls[1][0] == [] and calls[1][1]["json_path"] == "some.json"


def test_bench_refuses_a_model_that_is_not_there(run):
    code, _, err = run("bench", "resnet19")
    assert code == 2 and "resnet19" in err


def test_explain_a_code_and_list_all(run):
    assert "partial=True" in run("explain", "str101")[1]
    assert "STR501" in run("explain")[1]
    code, _, err = run("explain", "STR999")
    assert code == 2 and "no code `STR999`" in err


def test_a_cache_that_is_switched_off_is_not_cleared(run, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    Cache(tmp_path / "strop").put("cd" * 32, b"code")
    monkeypatch.setenv("STROP_CACHE", "off")
    code, _, err = run("cache", "clear")
    assert code == 2 and "STROP_CACHE" in err
    assert Cache(tmp_path / "strop").get("cd" * 32) == b"code"


def test_cache_lists_clears_and_says_where(run, monkeypatch, tmp_path):
    monkeypatch.setenv("STROP_CACHE", str(tmp_path))
    Cache(tmp_path, journal=Journal()).put("ab" * 32, bytes(3000))
    assert run("cache", "path")[1].strip() == str(tmp_path)
    assert "abababababababab" in run("cache")[1] and "1 entry, 3.0 kB of" in run("cache", "list")[1]
    assert json.loads(run("cache", "list", "--json")[1])["entries"][0]["key"] == "ab" * 32
    assert run("cache", "clear")[1] == "1 entry deleted\n"
    assert json.loads(run("cache", "--json")[1])["entries"] == []


def test_doctor_reports_the_machine(run):
    code, out, _ = run("doctor", "--json")
    facts = json.loads(out)
    assert code == 0 and "vector registers" in facts["machine"]["target"] and facts["torch"]["threads"] >= 1


def test_doctor_exits_with_one_where_something_is_missing(run, monkeypatch):
    monkeypatch.setattr("strop.runtime.doctor._torch", lambda: {"version": "missing: No module named 'torch'"})
    code, out, _ = run("doctor")
    assert code == 1 and "missing: No module named 'torch'" in out


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_ctrl_c_leaves_without_a_traceback(tmp_path):
    slow = tmp_path / "slow.py"
    slow.write_text("import time\ndef make():\n    print('ready', flush=True)\n    time.sleep(60)\n")
    command = [sys.executable, "-c", INTERRUPTIBLE, "compile", f"{slow}:make"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "ready\n"
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 130 and err == "interrupted\n"


@pytest.mark.parametrize("flag", ["--nests", "--profile"])
def test_what_another_machine_cannot_show_is_refused(run, model, flag):
    code, _, err = run("compile", model, "--target", "neoverse-n1", flag)
    assert code == 2 and f"{flag} does not go with --target neoverse-n1" in err


def test_a_benchmark_that_could_not_be_written_is_not_begun(run, tmp_path):
    code, _, err = run("bench", "resnet18", "--output", f"{tmp_path}/nowhere/found.json")
    assert code == 2 and "there is no folder" in err


@pytest.mark.parametrize("command", [("compile", "resnet18"), ("bench", "resnet18")])
def test_too_many_threads_are_refused(run, command):
    code, _, err = run(*command, "--threads", "10000")
    assert code == 2 and "threads must be at most 1024" in err


def test_an_option_that_would_be_ignored_is_refused(run, session, model):
    code, _, err = run("compile", model, "--rounds", "7")
    assert code == 2 and "--rounds has no effect without --profile" in err
