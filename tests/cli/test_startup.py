"""`import strop` and the light commands start fast and without torch."""

import subprocess
import sys
import time

import pytest

HEAVY = "import sys; heavy = {'torch', 'numpy', 'llvmlite'} & set(sys.modules); assert not heavy, heavy"


def python(*code):
    return subprocess.run([sys.executable, "-c", "\n".join(code)], capture_output=True, text=True, timeout=60)


def test_import_is_light_and_quick():
    timed = "import time; start = time.perf_counter(); import strop; print(time.perf_counter() - start)"
    runs = [python(timed, HEAVY) for _ in range(3)]
    assert all(run.returncode == 0 for run in runs), runs[0].stderr
    assert min(float(run.stdout) for run in runs) < 0.3


def test_problem_and_options_come_without_torch():
    done = python("import strop; strop.Problem; strop.Options()", HEAVY)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["['--help']", "['explain', 'STR101']", "['cache', 'path']"])
def test_light_commands_do_not_load_torch(command):
    done = python(f"import sys; sys.argv = ['strop', *{command}]", "from strop.cli import app", "try: app()",
                  "except SystemExit as left: assert not left.code", HEAVY)  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_python_m_strop_works():
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "strop", "--version"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("strop ")
    assert time.perf_counter() - start < 5


def test_unknown_names_are_attribute_errors():
    done = python("import strop", "try: strop.optimise", "except AttributeError as error: print(error)")
    assert "no attribute `optimise`" in done.stdout


def test_a_setting_beside_options_is_refused():
    done = python("import strop", "try: strop.compile(None, options=strop.Options(), threads=2)",
                  "except strop.Problem as problem: print(problem)")  # fmt: skip
    assert "both `options` and `threads`" in done.stdout, done.stderr
