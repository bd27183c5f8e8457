"""`strop verify` on code without any framework: processes, limits, comparison."""

import os
import time
from dataclasses import replace

import pytest

from strop.core.problem import Problem
from strop.verify.as_graphs import Limits, job_of, verify
from strop.verify.edited_copy import edited_copy

QUICK = Limits(timeout=60, rounds=1, seconds=0)
#: graphs are simulated: the switch that a framework would look at is the argument of the child
GRAPH = "import inspect, sys\ndef graph():\n    return not [f for f in inspect.stack() if f.function == 'main' and f.frame.f_locals.get('job', {}).get('eager')]\n"


@pytest.fixture
def target(tmp_path):
    def make(body, name="net.py"):
        (tmp_path / "switch.py").write_text(GRAPH)
        (tmp_path / name).write_text(f"import numpy as np\nimport random, sys\nfrom switch import graph\n{body}")
        return f"{tmp_path}/{name}:main"

    return make


def run(text, **limits):
    return verify(job_of(text), Limits(**{"timeout": 60, "rounds": 1, "seconds": 0, **limits}))


def test_equal_results_and_times(target):
    found = run(target("def main():\n    return {'a': [np.ones(3), 1, 'x', None], 'b': 2.5}\n"))
    assert found.equal and found.largest_error == 0 and found.eager.seconds >= 0 and found.speedup > 0
    assert found.to_json()["equal"] is True


def test_differences_are_named(target):
    found = run(target("def main():\n    print('x' if graph() else 'y')\n    return np.arange(3) + graph()\n"))
    assert not found.equal and found.deterministic
    assert [d.where for d in found.differences] == ["call 1", "call 2", "call 3", "printed line 1"]


def test_a_lost_side_effect_shows_in_a_later_call(target):
    found = run(
        target("count = []\ndef main():\n    if not graph() or not count: count.append(1)\n    return len(count)\n")
    )
    assert [d.where for d in found.differences] == ["call 2", "call 3"]


def test_random_numbers_start_from_the_seed(target):
    assert run(target("def main():\n    return random.random(), np.random.rand(3)\n")).equal


def test_code_that_differs_from_itself_is_called_so(target):
    found = run(target("import os\ndef main():\n    return os.urandom(8).hex()\n"))
    assert not found.equal and not found.deterministic


def test_failures_of_the_code_are_told(target):
    with pytest.raises(Problem) as raised:
        run(target("def main():\n    raise ValueError('broken net')\n"))
    assert raised.value.code == "STR603" and "broken net" in raised.value.message and "eagerly" in raised.value.message


def test_a_failure_of_the_graphs_alone_is_told(target):
    with pytest.raises(Problem, match="as graphs"):
        run(target("def main():\n    if graph(): raise ValueError('no')\n"))


def test_a_process_that_dies(target):
    with pytest.raises(Problem) as raised:
        run(target("import os\ndef main():\n    os.write(2, b'last words'); os._exit(3)\n"))
    assert "code 3" in raised.value.message and "last words" in raised.value.help


def test_the_time_limit_ends_the_whole_family(target, tmp_path):
    body = f"""
import subprocess
def main():
    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])
    open({str(tmp_path / "pid")!r}, 'w').write(str(child.pid))
    child.wait()
"""
    began = time.monotonic()
    with pytest.raises(Problem, match="was ended"):
        run(target(body), timeout=5)
    assert time.monotonic() - began < 40
    pid = int((tmp_path / "pid").read_text())
    for _ in range(50):
        if not _alive(pid):
            return
        time.sleep(0.1)
    pytest.fail("a grandchild lives on")


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().split()[2] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not tell memory")
def test_the_memory_cap(target):
    with pytest.raises(Problem, match="memory"):
        run(target("import time\ndef main():\n    x = np.ones(50_000_000); time.sleep(30)\n"), memory=200 * 2**20)


def test_folders_of_ours_do_not_shadow_modules(target):
    assert run(target("import profile, threading, random\ndef main():\n    return hasattr(profile, 'run')\n")).equal


def test_modules_of_packages_are_imported_as_such(tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "other.py").write_text("value = 3\n")
    (tmp_path / "pkg" / "net.py").write_text("from .other import value\ndef main():\n    return value\n")
    assert run(f"{tmp_path}/pkg/net.py:main").equal


def test_scripts_are_compared_by_what_they_define(target, tmp_path):
    path = target("if __name__ == '__main__':\n    total = np.arange(3) + graph()\n").removesuffix(":main")
    assert run(path).differences[0].where == "call 1.total"


def test_tests_are_compared_by_their_outcomes(target, tmp_path):
    target("")
    (tmp_path / "test_it.py").write_text(
        "from switch import graph\ndef test_same(): pass\ndef test_other(): assert not graph()\n"
    )
    found = verify(job_of(str(tmp_path / "test_it.py"), tests=True), QUICK)
    assert [d.message for d in found.differences] == ["passed eagerly, failed as graphs"]


@pytest.mark.parametrize("text", ["nowhere.py:main", "justaname", "a-b.c:main", "x.y:not a name"])
def test_what_names_nothing_is_refused(text):
    with pytest.raises(Problem) as raised:
        job_of(text)
    assert raised.value.code == "STR002"


def test_a_copy_is_edited_and_the_original_is_not(tmp_path):
    text = (
        "import tensorflow as tf\n\n\ndef square(x):\n    return x * x + tf.exp(x) * 2.0 - x\n\n\n"
        "def main():\n    return [square(tf.ones([2])) for _ in range(9)]\n"
    )
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "numbers.txt").write_text("1")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "net.py").write_text(text)
    with edited_copy(job_of(f"{tmp_path}/pkg/net.py:main"), unsafe=False) as job:
        assert "@tf.function" in open(job.file).read() and job.module == "pkg.net"
        assert os.path.exists(os.path.join(job.path[0], "data", "numbers.txt"))
    assert (tmp_path / "pkg" / "net.py").read_text() == text and not os.path.exists(job.file)


TESTED = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def forward(self, x):
        return self.inner(x) {sign} 0.001


def test_shape():
    loss = Net()(torch.randn(2, 3)).square().sum()
    loss.backward()
    assert loss.shape == ()


def test_function():
    assert torch.allclose(torch.ones(2) {sign} 1e-4, torch.ones(2), atol=1e-3)
"""


def edited_tests(tmp_path, *signs):
    jobs = []
    for number, sign in enumerate(signs):
        (tmp_path / str(number)).mkdir()
        file = tmp_path / str(number) / "test_it.py"
        file.write_text(TESTED.format(sign=sign))
        jobs.append(replace(job_of(str(file), tests=True), path=(str(file.parent),)))
    return verify(jobs[0], replace(QUICK, tolerance=1e-5), hybridised=jobs[1])


def test_numbers_that_change_while_tests_pass_are_different(tmp_path):
    found = edited_tests(tmp_path, "+", "-")
    places = " ".join(difference.where for difference in found.differences)
    assert not found.equal and all(what in places for what in ("Net", "loss", "what allclose compares"))
    assert "Linear" not in places, "only the outermost module is recorded"


@pytest.mark.slow
def test_equal_tests_say_how_many_tensors_were_compared(tmp_path):
    found = edited_tests(tmp_path, "+", "+ 0 +")
    assert found.equal and found.tensors == (3, 2)
