"""Training steps of nine models before and after `strop fix`, on one thread of the CPU.

    python benchmarks/adopt.py                        # a table: speed, memory, which rules were applied
    python benchmarks/adopt.py bert t5 --steps 20
    python benchmarks/adopt.py --write docs/adopt-speed.json

The models are those of examples/adopt, plain PyTorch as people write it. Each is edited by the safe rules that are on
by default, Strop's own kernels allowed (`strop fix --with-strop`). A step is zero_grad, forward, backward and the
optimiser's step. Both versions run in one process, step by step in turn, so that a busy machine slows both alike; the
figure is the median of processor time. Memory is the most that tensors held at once during a step,
parameters and optimiser included.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "adopt"
MODELS = ("bert", "roberta", "distilbert", "albert", "gpt2", "gpt_neo", "t5", "vit", "resnet")
NOISE = 0.03  #: two runs of the same step differ by as much


def edited(name: str, only: str = "") -> tuple[str, dict[str, int]]:
    """The source after the default rules (or one of them), and how often each was applied."""
    from strop.source import adopt
    from strop.source.adopt.names import QuickProject
    from strop.source.facts import Scan
    from strop.source.fix.fixing import fix

    file = str(EXAMPLES / f"{name}.py")
    look = lambda: Scan(findings=adopt.findings(QuickProject([file], [file]), strop=True))  # noqa: E731
    done = fix(look, unsafe=False, accept=lambda finding: not only or finding.rule == only)
    text = done.plan.after.get(file, Path(file).read_text(encoding="utf-8"))
    return text, dict(sorted(Counter(finding.rule for finding in done.applied).items()))


def load(name: str, text: str, folder: str) -> ModuleType:
    place = Path(folder) / f"{name}.py"
    place.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"adopt_{Path(folder).name}_{name}", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Training:
    """A model, its optimiser and one batch; `step` trains on it and says what it took."""

    def __init__(self, module: ModuleType) -> None:
        import torch

        torch.manual_seed(0)
        self.module = module
        self.model = module.make_model().train()
        self.batch = module.make_batch()
        self.optimizer = module.make_optimizer(self.model)

    def step(self) -> tuple[float, float]:
        cpu, wall = time.process_time(), time.perf_counter()
        self.optimizer.zero_grad()
        self.module.loss_of(self.model, self.batch).backward()
        self.optimizer.step()
        return time.process_time() - cpu, time.perf_counter() - wall

    def peak_bytes(self) -> int:
        """The most that tensors hold at once during a step, counted by PyTorch's own profiler."""
        import torch
        from torch.profiler import ProfilerActivity, profile

        held = sum(p.numel() * p.element_size() for p in (*self.model.parameters(), *self.model.buffers()))
        for state in self.optimizer.state.values():
            held += sum(v.numel() * v.element_size() for v in state.values() if torch.is_tensor(v))
        self.optimizer.zero_grad()
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
            self.step()
        events = [e for e in seen.profiler.kineto_results.events() if e.name() == "[memory]"]
        most = now = 0
        for event in sorted(events, key=lambda e: e.start_ns()):
            now += event.nbytes()
            most = max(most, now)
        return held + most


def measured(name: str, steps: int, only: str = "") -> dict[str, Any]:
    """One model, both versions in turn."""
    import torch

    torch.set_num_threads(1)
    text, rules = edited(name, only)
    before = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        old, new = Training(load(name, before, one)), Training(load(name, text, two))
        times: dict[str, list[tuple[float, float]]] = {"before": [], "after": []}
        for _ in range(2):
            old.step(), new.step()
        for _ in range(steps):
            times["before"].append(old.step())
            times["after"].append(new.step())
        memory = {"before": old.peak_bytes(), "after": new.peak_bytes()}
    cpu = {which: statistics.median(t for t, _ in taken) for which, taken in times.items()}
    wall = {which: statistics.median(t for _, t in taken) for which, taken in times.items()}
    return {
        "rules": rules,
        "milliseconds": {which: round(t * 1e3, 2) for which, t in cpu.items()},
        "wall_milliseconds": {which: round(t * 1e3, 2) for which, t in wall.items()},
        "speed": cpu["before"] / cpu["after"],
        "megabytes": {which: round(b / 1e6, 2) for which, b in memory.items()},
        "memory": memory["after"] / memory["before"],
    }


def in_child(name: str, steps: int, only: str) -> dict[str, Any]:
    command = [sys.executable, __file__, name, "--steps", str(steps), "--rule", only, "--child"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--steps", type=int, default=9, help="timed steps of each version")
    parser.add_argument("--rule", default="", help="apply only this rule")
    parser.add_argument("--write", metavar="FILE", help="store the table as JSON")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measured(given.names[0], given.steps, given.rule)))
        return 0
    rows = {}
    print(f"{'model':11} {'before':>9} {'after':>9} {'speed':>7} {'memory':>16}  rules")
    for name in given.names or MODELS:
        row = rows[name] = in_child(name, given.steps, given.rule)
        time_, memory = row["milliseconds"], row["megabytes"]
        told = ", ".join(f"{rule}×{count}" if count > 1 else rule for rule, count in row["rules"].items())
        print(
            f"{name:11} {time_['before']:6.0f} ms {time_['after']:6.0f} ms {row['speed'] - 1:+6.0%} "
            f"{memory['before']:6.0f} → {memory['after']:4.0f} MB  {told}",
            flush=True,
        )
    mean = statistics.mean(row["speed"] for row in rows.values())
    lower = statistics.mean(row["memory"] for row in rows.values())
    print(f"mean        {mean - 1:+.1%} speed, {lower - 1:+.1%} memory")
    if given.write:
        Path(given.write).write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    slower = [name for name, row in rows.items() if row["speed"] < 1 - NOISE]
    if slower:
        print(f"slower: {', '.join(slower)}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
