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
ROUNDS, AT_A_TIME = 150, 15
#: what the planner joins in this block, taken apart; then one after the other is joined again
APART = (
    ("mul", "project.conv", "the gate of squeeze-excite, multiplied in front of the projection"),
    ("depthwise.conv", "silu_2", "the activation behind the depthwise convolution"),
    ("expand.conv", "silu", "the activation behind the expansion"),
    ("project.conv", "add", "the shortcut behind the projection"),
)
#: what else a person may try
IDEAS = (
    ("silu_2 in blocks", "relayout{tensor=silu_2 steps=((split,1,16),(reorder,(0,1,3,4,2)))}"),
    ("silu in blocks", "relayout{tensor=silu steps=((split,1,16),(reorder,(0,1,3,4,2)))}"),
    ("the mean's loop divided", "split{nest=mean.rows loop=k3.o by=8 tail=rest}"),
    ("the mean by the library", "library{node=mean}"),
    ("the expansion inside", "computeat{nest=expand.conv into=depthwise.conv loop=n}"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--training", action="store_true")
    if parser.parse_args().training:
        training()
    else:
        inference()


def inference() -> None:
    session = strop.Session.of(str(ROOT / "examples" / "mbconv.py:block"), options=strop.Options(threads=1))
    for count in range(len(APART), 0, -1):
        joined = APART[count][2] if count < len(APART) else "nothing"
        apart = " ".join(f"keepapart{{a={a} b={b}}}" for a, b, _ in APART[:count])
        begin(session, f"joined again: {joined}", apart)
    for name, passes in IDEAS:
        begin(session, f"{name}: {passes}", passes)
    told(session)


def begin(session: strop.Session, name: str, passes: str) -> None:
    """A branch with these passes, beside those that are there."""
    session.switch("main")
    session.branch(name)
    session.apply(passes)


@torch.no_grad()  # with gradients the module runs eagerly
def told(session: strop.Session) -> None:
    """Every branch, in turns: what it moves, and how long it takes."""
    taken: dict[str, list[float]] = {one.name: [] for one in session.branches}
    for name in taken:
        session.switch(name)
        assert session.check(), name
    for _ in range(ROUNDS // AT_A_TIME):
        for name, some in taken.items():
            session.switch(name)
            session.module(*session.inputs)  # packs its parameters
            for _ in range(AT_A_TIME):
                start = time.thread_time()
                session.module(*session.inputs)
                some.append(time.thread_time() - start)
    for name, some in taken.items():
        session.switch(name)
        step = session.timeline()[-1]
        least, median = min(some) * 1e6, statistics.median(some) * 1e6
        times = f"{step.predicted_us:7.0f} µs predicted, measured {least:7.0f} at least, {median:7.0f} median"
        print(f"{step.bytes / 1e6:6.2f} MB {times}   {name}", flush=True)


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
    least, median = min(taken) * 1e6, statistics.median(taken) * 1e6
    times = f"measured {least:7.0f} µs at least, {median:7.0f} median"
    print(f"{stored / 1e6:6.2f} MB stored {moved / 1e6:6.2f} MB moved {times}   {what}", flush=True)


if __name__ == "__main__":
    main()
