"""Language models that return their loss: peak memory and time of a step, with all logits and with some rows at a time.

    python benchmarks/training_losses.py                            # GPT-2 with 4 layers through `labels=`, 512 tokens
    python benchmarks/training_losses.py by_hand --tokens 2048      # a model of two layers, written out
    python benchmarks/training_losses.py --contenders eager whole forward --threads 2

`whole` has all logits, `forward` and `backward` take them in blocks and compute gradients in that half, `fastest` and
`balanced` leave the choice to Strop; `rows` is the size of the blocks. `peak` is measured as in `training_memory.py`.
Times are the least of forward and backward of a step, in turns.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._dynamo.exc import BackendCompilerFailed
from training_memory import MB, MeasuredBackend, peak_of, run, saved_by
from training_networks import Training

WORDS, WIDTH, LENGTH = 50257, 768, 128
CONTENDERS = ("eager", "inductor", "whole", "forward", "backward", "fastest", "balanced")


class LabelledGPT2(nn.Module):
    """GPT-2 of four layers, as Hugging Face's trainers call it; of what it returns, the loss."""

    head_name = "decoder.lm_head.linear"

    def __init__(self, tokens: int) -> None:
        super().__init__()
        import transformers

        config = transformers.GPT2Config(n_layer=4, n_positions=tokens, vocab_size=WORDS, n_embd=WIDTH)
        self.decoder = transformers.GPT2LMHeadModel(config).train()
        self.decoder.loss_type = "ForCausalLM"  # or else it logs that this is its loss, and Dynamo breaks the graph

    def forward(self, tokens: Tensor) -> Tensor:
        loss: Tensor = self.decoder(input_ids=tokens, labels=tokens, use_cache=False).loss
        return loss


class ByHand(nn.Module):
    """Embedding, two layers of torch's transformer, and a head without ties."""

    head_name = "head.linear"

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 12, 4 * WIDTH, batch_first=True, dropout=0.0, norm_first=True)
        self.layers = nn.ModuleList(copy.deepcopy(layer) for _ in range(2))
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return F.cross_entropy(self.head(x[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


Compiled = tuple[nn.Module, Any, MeasuredBackend | None]
MODELS: dict[str, Callable[[int], nn.Module]] = {"gpt2": LabelledGPT2, "by_hand": ByHand}


def compiled(kind: str, model: nn.Module, rows: int) -> Compiled:
    """A copy of the model, what is called in its place, and who holds memory between steps."""
    model = copy.deepcopy(model)
    if kind in ("eager", "inductor"):
        return model, model if kind == "eager" else torch.compile(model), None
    backend = MeasuredBackend("balanced" if kind == "balanced" else "fastest")
    passes = {"whole": f"wholeloss{{value={model.head_name}}}"}
    for half in ("forward", "backward"):
        passes[half] = f"blockloss{{value={model.head_name} rows={rows} gradients={half}}}"
    backend.options = replace(backend.options, partition=passes.get(kind, ""))
    return model, torch.compile(model, backend=backend), backend


def ready(kind: str, training: Training, rows: int) -> Compiled:
    """The same after a step. Where Strop leaves the logits whole by itself, there are no blocks to give up."""
    made = compiled(kind, training.model, rows)
    try:
        run(*made[:2], training)
    except BackendCompilerFailed as failed:
        if kind != "whole" or "not in blocks" not in str(failed):
            raise
        torch._dynamo.reset()
        made = compiled("fastest", training.model, rows)
        run(*made[:2], training)
    return made


def chosen(backend: MeasuredBackend | None) -> str:
    blocks = backend.joint.blocks.values() if backend is not None and backend.joint is not None else ()
    return ", ".join(f"{one.rows} rows, {one.gradients}" for one in blocks) or "all rows"


def print_table(training: Training, kinds: Sequence[str], rows: int, rounds: int) -> None:
    made = {kind: ready(kind, training, rows) for kind in kinds}
    peaks = {kind: peak_of(*one, training)[0] for kind, one in made.items()}
    taken = dict.fromkeys(kinds, float("inf"))
    for _ in range(rounds):
        for kind, (model, forward, _) in made.items():
            start = time.perf_counter()
            run(model, forward, training)
            taken[kind] = min(taken[kind], 1e3 * (time.perf_counter() - start))
    print("| contender | logits | kept, MB | peak, MB | step, ms |")
    print("| --- | --- | ---: | ---: | ---: |")
    for kind, (model, forward, backend) in made.items():
        kept = saved_by(model, forward, training) / MB
        print(f"| {kind} | {chosen(backend)} | {kept:.1f} | {peaks[kind] / MB:.1f} | {taken[kind]:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="gpt2", choices=MODELS)
    parser.add_argument("--contenders", nargs="*", default=CONTENDERS, choices=CONTENDERS)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--rows", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    batch = max(given.tokens // LENGTH, 1)
    tokens = torch.randint(WORDS, (batch, given.tokens // batch))
    training = Training(MODELS[given.model](tokens.shape[1]), (tokens,), lambda loss: loss)
    print_table(training, given.contenders, given.rows, given.rounds)


if __name__ == "__main__":
    main()
