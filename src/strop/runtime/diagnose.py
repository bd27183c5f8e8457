"""Tells a failed capture from a failing model: a model that cannot be captured may not run in eager mode either."""

from __future__ import annotations

import copy
import traceback
import warnings
from typing import Any

import torch
from torch import nn

from strop.core.problem import Problem
from strop.frontend.torch.origin import user_frame
from strop.graph.ir import Origin

#: problems of capture that an input of the wrong shape or dtype may be behind
_DOUBTFUL = ("STR101", "STR104", "STR201", "STR401")


def diagnosed(problem: Problem, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Problem:
    """The problem itself, or that the model raises by itself on these inputs. A copy runs, so nothing is written to."""
    if problem.code not in _DOUBTFUL:
        return problem
    try:
        twin, given, named = copy.deepcopy((model, args, kwargs))
    except Exception:
        return problem
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            twin(*given, **named)
    except Exception as error:
        return _its_own(error, model)
    return problem


def _its_own(error: Exception, model: nn.Module) -> Problem:
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    inside = traceback.extract_tb(error.__traceback__)[1:]  # the first frame is our own call
    file, line = user_frame("".join(traceback.format_list(inside)))
    where = Origin(file, line) if file else type(model).__name__
    message = f"the model itself raises {type(error).__name__} on these inputs" + (f": {reason}" if reason else "")
    return Problem("STR109", message, where=where, help="choose inputs with which `model(*args, **kwargs)` runs")
