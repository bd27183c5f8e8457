"""Tiny models of the installed transformers, and what the oracle sees in some of them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

import tiny_models
from forked import run_forked
from oracle import observe


def functions(model_type):
    seen = {}
    for place in observe(model_type)["places"]:
        seen.setdefault(place["family"], set()).add(place["function"])
    return seen


def test_there_are_enough_model_types():
    assert len(tiny_models.NAMES) >= 199
    assert not tiny_models.LEFT_OUT & set(tiny_models.NAMES)


def test_llama():
    assert functions("llama") == {
        "attention": {"eager_attention_forward"},
        "norm": {"LlamaRMSNorm.forward"},
        "gated_mlp": {"LlamaMLP.forward"},
        "rotary": {"apply_rotary_pos_emb"},
        "qkv": {"LlamaAttention.forward"},
    }


def test_gpt2_and_resnet():
    assert functions("gpt2")["activation"] == {"NewGELUActivation.forward"}
    assert functions("resnet") == {"conv_bn": {"ResNetConvLayer.forward", "ResNetShortCut.forward"}}


def test_sizes_shrink_and_agree():
    config = tiny_models.configuration("llava")
    assert config.text_config.hidden_size == config.vision_config.hidden_size == 64
    assert config.text_config.num_hidden_layers == config.vision_config.num_hidden_layers == 2


def test_a_child_that_hangs_dies_or_raises_takes_nothing_with_it():
    def job(name):
        if name == "hangs":
            time.sleep(60)
        if name == "dies":
            os._exit(3)
        if name == "raises":
            raise ValueError("no")
        return name.upper()

    ended = {
        name: (result, problem)
        for name, result, problem in run_forked(job, ["hangs", "dies", "raises", "fine"], seconds=2)
    }
    assert ended == {
        "hangs": (None, "took longer than 2 s"),
        "dies": (None, "the process died"),
        "raises": (None, "ValueError: no"),
        "fine": ("FINE", ""),
    }
