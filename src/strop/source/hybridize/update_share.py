"""What a faster update of all parameters is worth to the training step that it ends.

An update walks over the parameters once a step, whatever the batch; forward and backward reuse each weight for every
row of the batch. Rows are many in models of sequences and graphs (a weight meets every word of every text), where the
update is a few hundredths of the step; they are few in networks of convolutions, whose widest layers see the smallest
images, and where rows are examples. Sizes are not looked at: these are figures of a kind of model, not of one model.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from strop.source.facts import Finding, Place
from strop.source.hybridize import sites
from strop.source.hybridize.purpose import is_trained
from strop.source.hybridize.torch_worth import Estimate
from strop.source.interpret.events import Call
from strop.source.interpret.heap import Object
from strop.source.interpret.interpreter import Program
from strop.source.interpret.values import Tensor, Unknown
from strop.source.project.declarations import Code

#: a gain of a whole step below this is lost in what two runs of one program differ by
NOTICED = 1.05
_BACKWARD = 3.0  #: what forward and backward take together, beside forward alone
_LEFT = 0.4  #: of an update, once it is one kernel
#: what works on words, moments or nodes
_SEQUENCES = ("attention", "transformer", "recurrent", "1-d convolution", "scatter")
#: units of an update, operation by operation, for each layer with weights
_OF_SEQUENCES = {"product": 1.3, "small product": 0.7, "1-d convolution": 1.3, "transformer": 8.0, "recurrent": 5.0}
_OF_EXAMPLES = {"product": 10.0, "small product": 4.0, "convolution": 15.0, "transposed convolution": 15.0}


_FEW = 3  #: tensors that a fused update gains nothing for
_TENSORS = {"torch.nn.Linear": 2, "torch.nn.LayerNorm": 2, "torch.nn.Embedding": 1}


@dataclass(frozen=True)
class _Trained:
    """A model that a training loop runs: where it is made, what it is called, the units of its forward, and how many
    times as fast it becomes by what else is proposed."""

    file: str
    name: str
    forward: Estimate
    faster: float


def slight_updates(program: Program, proposed: Iterable[Finding]) -> set[tuple[str, int, int]]:
    """Where optimizers are made whose update is hardly any of the step of the models that they update, as far as
    anything is known of those: file, line and column."""
    models = _trained(program, proposed)
    found = set()
    for module in program.modules.values():
        for code in (module.code, *module.functions):
            if "torch" not in module.imports:
                continue
            for event in program.events(code.id):
                if not isinstance(event, Call) or not any(t.startswith("torch.optim.") for t in event.targets):
                    continue
                updated = _updated(code, event.place, models)
                if (updated and _gain(updated) < NOTICED) or _is_of_few(program, code, event.place):
                    found.add((event.place.file, event.place.line, event.place.column))
    return found


def _trained(program: Program, proposed: Iterable[Finding]) -> list[_Trained]:
    """The models of the scanned files that are trained and not compiled yet, as far as anything is known of them."""
    gains = {finding.place: finding.estimated_gain or 1.0 for finding in proposed}
    found = []
    for code, statement, models in sites.run_often(program):
        if is_trained(program, {program.code(id).module: None for obj in models for id in program.users_of(obj)}):
            forward = sites.call_estimate(program, models, "cpu")
            if forward is not None and any(forward.kinds[kind] for kind in (*_OF_SEQUENCES, *_OF_EXAMPLES)):
                name = ast.unparse(statement.targets[0]).rpartition(".")[2]
                found.append(_Trained(code.module.file, name, forward, gains.get(code.place(statement), 1.0)))
    return found


def _updated(code: Code, place: Place, models: list[_Trained]) -> list[_Trained]:
    """The models whose `parameters()` an optimizer gets, by their names; none where it is another one's, all where no
    name says whose."""
    start = place.line, place.column
    calls = [n for n in code.own() if isinstance(n, ast.Call) and (n.lineno, n.col_offset) == start]
    names = {
        ast.unparse(node.value).rpartition(".")[2]
        for call in calls
        for node in ast.walk(call)
        if isinstance(node, ast.Attribute) and node.attr in ("parameters", "named_parameters")
    }
    if not names:
        return models
    named = [one for one in models if one.name in names]
    return [one for one in named if one.file == code.module.file] or named


def _is_of_few(program: Program, code: Code, place: Place) -> bool:
    """Whether the models whose `parameters()` an optimizer gets have a handful of tensors: a temperature, one layer."""
    asked = [
        event.receiver
        for event in program.events(code.id)
        if isinstance(event, Call) and "torch.nn.Module.parameters" in event.targets and event.receiver is not None
        if (place.line, place.column) <= (event.place.line, event.place.column) < (place.end_line, place.end_column)
    ]
    return bool(asked) and all(value.is_known() and all(map(_has_few, value.objects())) for value in asked)


def _has_few(model: Object) -> bool:
    """Parameters of its own and plain layers (which have two each) come to no more than three tensors."""
    found = _TENSORS.get(str(model.cls), 0)
    for cell in model.attributes.values():
        for atom in cell.value.atoms:
            if isinstance(atom, Object) and atom.kind == "instance":
                found += _TENSORS.get(str(atom.cls), _FEW + 1)
            elif isinstance(atom, (Tensor, Object, Unknown)):
                found += 1 if isinstance(atom, Tensor) else _FEW + 1
    return 0 < found <= _FEW and not model.contents().atoms


def _gain(models: Iterable[_Trained]) -> float:
    """How many times as fast the step of these models becomes when one kernel updates all parameters."""
    step = update = 0.0
    for model in models:
        kinds = model.forward.kinds
        units = _OF_SEQUENCES if _is_of_sequences(model.forward) else _OF_EXAMPLES
        step += _BACKWARD * model.forward.eager / model.faster
        update += sum(each * kinds[kind] for kind, each in units.items())
    return (step + update) / (step + _LEFT * update) if step else 1.0


def _is_of_sequences(forward: Estimate) -> bool:
    """Attention, recurrence, windows of sequences, sums over edges: its rows are words or nodes, which are more than
    examples."""
    kinds = forward.kinds
    if kinds["convolution"] + kinds["transposed convolution"] > kinds["product"] + kinds["small product"]:
        return False
    written_out = kinds["softmax"] > 0 and kinds["normalisation"] > 0
    return written_out or any(kinds[kind] for kind in _SEQUENCES)
