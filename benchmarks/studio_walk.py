"""The steps of docs/studio.md's walk-through, without the page: bytes, predicted and measured time after each.

python benchmarks/studio_walk.py             # the MBConv block of examples/mbconv.py, in inference
python benchmarks/studio_walk.py --training  # and in training: what is stored between forward and backward
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import torch

import strop

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))
ROUNDS = 100
#: what the planner joins in this block, taken apart; then one after the other is joined again
APART = (
    ("mul", "project.conv", "the gate of squeeze-excite, multiplied in front of the projection"),
    ("depthwise.conv", "silu_2", "the activation behind the depthwise convolution"),
    ("expand.conv", "silu", "the activation behind the expansion"),
    ("project.conv", "add", "the shortcut behind the projection"),
)
BLOCKED = "relayout{tensor=silu steps=((split,1,16),(reorder,(0,1,3,4,2)))}"
NARROWER = "computeat{nest=expand.conv into=depthwise.conv loop=n}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--training", action="store_true")
    if parser.parse_args().training:
        training()
    else:
        inference()


def inference() -> None:
    session = strop.Session.of(str(ROOT / "examples" / "mbconv.py:block"), options=strop.Options(threads=1))
    told("as planned", session)
    session.branch("apart")
    for a, b, _ in APART:
        session.keep_apart(a, b)
    told("all of it taken apart", session)
    for a, b, what in reversed(APART):
        session.replace([str(one[0]) for one in session.applied].index(f"keepapart{{a={a} b={b}}}"))
        told(f"joined again: {what}", session)
    for name, passes in (("blocked", BLOCKED), ("computed inside", NARROWER)):
        session.switch("main")
        session.branch(name)
        session.apply(passes)
        told(f"{name}: {passes}", session)


def told(what: str, session: strop.Session) -> None:
    assert session.check(), what
    session.measure(ROUNDS)
    step = session.timeline()[-1]
    times = f"{step.predicted_us:7.0f} µs predicted {step.measured_us:7.0f} µs measured"
    print(f"{step.bytes / 1e6:6.2f} MB {times}   {what}", flush=True)


def training() -> None:
    from mbconv import block

    model, inputs = block()
    model.train()
    inputs = tuple(one.requires_grad_() for one in inputs)
    session = strop.Session(model, inputs, threads=1, training=True)
    step_told("as planned", session, inputs)
    by_size = sorted((one for one in session.stored() if one.stored and one.pass_to_change), key=lambda one: -one.bytes)
    for one in by_size[:2]:
        session.partition(one.pass_to_change)
        step_told(str(one.pass_to_change), session, inputs)


def step_told(what: str, session: strop.Session, inputs: tuple[torch.Tensor, ...]) -> None:
    assert session.check(), what
    stored = sum(one.bytes for one in session.stored() if one.stored)
    moved = sum(half.timeline()[-1].bytes for half in session.halves.values())
    taken = []
    for _ in range(ROUNDS):
        start = time.thread_time()
        session.module(*inputs).sum().backward()
        taken.append(time.thread_time() - start)
    step = statistics.median(taken) * 1e6
    print(f"{stored / 1e6:6.2f} MB stored {moved / 1e6:6.2f} MB moved {step:7.0f} µs measured   {what}", flush=True)


if __name__ == "__main__":
    main()
