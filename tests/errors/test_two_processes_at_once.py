"""Two processes compile the same model into the same cache at the same moment."""

import os
import subprocess
import sys
import textwrap

from strop.core.cache import Cache

COMPILE = textwrap.dedent("""
    import sys, torch, strop
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)).eval()
    x = torch.randn(3, 8)
    print("ready", flush=True)
    sys.stdin.readline()
    session = strop.Session(model, (x,), threads=1)
    with torch.no_grad():
        torch.testing.assert_close(session.module(x), model(x))
    print("hit" if session.cache_hit else "compiled", flush=True)
""")


def test_both_get_a_working_program_and_one_whole_entry_stays(tmp_path):
    environment = {**os.environ, "STROP_CACHE": str(tmp_path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", "-c", COMPILE]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = [subprocess.Popen(command, env=environment, text=True, **pipes) for _ in range(2)]
    for process in running:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
    for process in running:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in running:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert out in ("compiled\n", "hit\n")
    assert len(Cache(tmp_path).entries()) == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".bin"] == []
    third = subprocess.run(command, env=environment, text=True, input="\n", capture_output=True)
    assert third.stdout == "ready\nhit\n", third.stderr
