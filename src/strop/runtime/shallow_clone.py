"""A module to trace: the same tensors in containers of its own.

While `torch.export` runs, it puts fake tensors in the place of the module's parameters, and the module's own Python
code may set attributes and register hooks (some libraries do so at the first call). The module itself, and other
threads that call it meanwhile, must see nothing of that.
"""

from __future__ import annotations

import types
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from torch import nn


def shallow_clone(model: nn.Module) -> nn.Module:
    """A module tree of the same classes and names that shares every tensor and no dictionary with `model`."""
    made: dict[int, nn.Module] = {}
    for module in model.modules():
        made[id(module)] = module.__class__.__new__(module.__class__)
    for module in model.modules():
        twin = made[id(module)]
        twin.__dict__.update({name: _translated(value, made) for name, value in module.__dict__.items()})
    return made[id(model)]


def _translated(value: Any, made: Mapping[int, nn.Module]) -> Any:
    """The same value with every module of the tree replaced by its twin."""
    if isinstance(value, nn.Module):
        return made.get(id(value), value)
    if isinstance(value, types.MethodType) and id(value.__self__) in made:
        return types.MethodType(value.__func__, made[id(value.__self__)])
    if type(value) in (dict, OrderedDict):
        return type(value)((key, _translated(inner, made)) for key, inner in value.items())
    if type(value) is set:
        return set(value)
    if type(value) in (list, tuple):
        return type(value)(_translated(inner, made) for inner in value)
    return value
