"""Whether a model is trained or only run, and by whom it is compiled: both change what a graph is worth.

Gradients make every step longer and dropout real; a model that no calling file trains is run for its results. Strop's
own backend compiles both on CPUs, where the user has agreed to depend on Strop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from strop.source.interpret.interpreter import Program
from strop.source.project.declarations import Code, Module, walk

#: functions and methods that only programs which train call or define
_TRAINING = ("backward", "training_step", "zero_grad", "fit", "train_on_batch")

_trained: WeakKeyDictionary[Program, dict[Module, bool]] = WeakKeyDictionary()
_users: WeakKeyDictionary[Program, dict[Code, list[Module]]] = WeakKeyDictionary()


def figures(program: Program, code: Code, target: str, with_strop: bool) -> str:
    """The table of `torch_operations.py` that a function's estimate is made with."""
    return table_of(target, is_trained(program, _calling(program, code)), with_strop)


def table_of(target: str, trained: bool, with_strop: bool) -> str:
    """The table for what is trained or only run, by which backend; GPUs have one for all."""
    if target != "cpu":
        return target
    if with_strop:
        return "cpu, strop, training" if trained else "cpu, strop"
    return "cpu" if trained else "cpu, inference"


def backend_of(table: str) -> str:
    """The arguments that `compile` is called with, in brackets; none where PyTorch's own backend is meant."""
    return '(backend="strop")' if table.startswith("cpu, strop") else ""


def is_trained(program: Program, modules: Iterable[Module]) -> bool:
    """Whether one of the files trains; also when there is none, since somebody else may."""
    found = list(modules)
    return not found or any(_trains(program, module) for module in found)


def _trains(program: Program, module: Module) -> bool:
    kept = _trained.setdefault(program, {})
    if module not in kept:
        kept[module] = any(
            (isinstance(node, ast.Attribute) and node.attr in _TRAINING)
            or (isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in _TRAINING)
            for node in walk([module.tree])
        )
    return kept[module]


def _calling(program: Program, code: Code) -> list[Module]:
    """The scanned files whose functions or own code lead to a call of this function."""
    kept = _users.setdefault(program, {})
    if code not in kept:
        graph = program.graph_of_calls()
        mask = sum(1 << graph.index[node] for node in code.nodes.values() if node in graph.index)
        kept[code] = [
            module
            for module in program.modules.values()
            if mask & graph.reached_from_module(module, but=code if module is code.module else None)
        ]
    return kept[code]
