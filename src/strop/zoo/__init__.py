"""The networks that Strop is measured and tested on, with random weights and example inputs.

Each is a factory `() -> (module, inputs)`, in eval mode, batch 1, fp32 and seeded: `strop.zoo:resnet18` can be
given wherever a `package.module:factory` can. Torch is imported only when a network is built.
"""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any

from strop.core.problem import Problem

_HOMES = {
    "resnet18": "vision",
    "resnet50": "vision",
    "mobilenet_v2": "vision",
    "efficientnet_b0": "vision",
    "vit_small": "vision",
    "bert_base": "text",
    "bert_small": "text",
    "gpt2": "text",
    "dlrm": "recommend",
    "wide_deep": "recommend",
    "unet": "dense",
    "yolo": "dense",
    "lstm": "sequence",
    "tcn": "sequence",
}
NAMES = tuple(_HOMES)


def canonical(name: str) -> str:
    """The zoo's own spelling of `name` (dashes count as underscores); a Problem where there is no such network."""
    spelled = name.replace("-", "_").lower()
    if spelled in _HOMES:
        return spelled
    near = difflib.get_close_matches(spelled, NAMES, 1)
    raise Problem(
        "STR002",
        f"no network called `{name}` in the zoo",
        help=f"did you mean `{near[0]}`?" if near else f"choose one of: {', '.join(NAMES)}; or package.module:factory",
    )


def load(name: str) -> tuple[Any, tuple[Any, ...]]:
    """Build the network called `name`: `(module, inputs)`."""
    model, inputs = __getattr__(canonical(name))()
    return model, inputs


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `strop.zoo` has no attribute `{name}`")
    return getattr(import_module(f"strop.zoo.{_HOMES[name]}"), name)
