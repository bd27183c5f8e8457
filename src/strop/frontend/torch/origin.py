"""Where a node comes from: the user's line and the module's path, from what FX remembers."""

from __future__ import annotations

import os
import re
import sysconfig
from pathlib import Path
from typing import Any

import torch

from strop.graph.ir import Origin

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_TORCH = str(Path(torch.__file__).parent) + os.sep
_LAYERS = f"{_TORCH}nn{os.sep}modules{os.sep}"
_STANDARD_LIBRARY = sysconfig.get_path("stdlib") + os.sep
_PACKAGES = os.sep + "site-packages" + os.sep
_DYNAMO_ROOT = re.compile(r"^L\['[^']+'\]")
_DYNAMO_PART = re.compile(r"\._modules\['([^']+)'\]|\['?([^'\]]+)'?\]|\.?(\w+)")


def origin_of(node: torch.fx.Node) -> Origin:
    file, line = user_frame(node.meta.get("stack_trace") or "")
    return Origin(file, line, module_path(node.meta))


def lines_of_torch(node: torch.fx.Node) -> tuple[Origin, ...]:
    """The line of torch's own layer that a node comes from, where no line is the user's: in a bare `nn.Sequential`."""
    trace = node.meta.get("stack_trace") or ""
    frames = _FRAME.findall(trace) if not user_frame(trace)[0] else []
    layers = [(file, line) for file, line in frames if file.startswith(_LAYERS)]
    return tuple(Origin(file, int(line), module_path(node.meta)) for file, line in layers[-1:])


def user_frame(trace: str) -> tuple[str, int]:
    """The innermost frame that is the user's: not torch, not the standard library, not generated code."""
    for file, line in reversed(_FRAME.findall(trace)):
        if file.startswith((_TORCH, "<")) or (file.startswith(_STANDARD_LIBRARY) and _PACKAGES not in file):
            continue
        return file, int(line)
    return "", 0


def module_path(meta: dict[str, Any]) -> str:
    stack = meta.get("nn_module_stack")
    if not stack:
        return ""
    entry = list(stack.values())[-1]
    return clean(str(entry[0] if isinstance(entry, tuple) else entry))


def clean(path: str) -> str:
    """Dynamo's `L['self'].layers[0].conv` is `layers.0.conv`, as the state dict spells it."""
    if not path.startswith("L["):
        return path
    rest = _DYNAMO_ROOT.sub("", path)
    return ".".join(next(filter(None, groups)) for groups in _DYNAMO_PART.findall(rest))
