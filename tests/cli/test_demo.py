"""`make demo` on a small model: it runs, compares, and profiles."""

import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def test_the_demo_compares_checks_and_profiles(tmp_path):
    (tmp_path / "net.py").write_text(
        "import torch\n"
        "def make():\n"
        "    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 8))\n"
        "    return model.eval(), (torch.randn(4, 32),)\n"
    )
    command = [sys.executable, str(DEMO), f"{tmp_path}/net.py:make", "--threads", "1"]
    told = subprocess.run(command, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert "× as fast" in told.stdout and "outputs  equal" in told.stdout
    assert "every operator was compiled" in told.stdout and "GFLOP/s" in told.stdout
