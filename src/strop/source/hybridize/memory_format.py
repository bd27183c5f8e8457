"""Networks of 2-d convolutions that run in eager mode on CPUs: channels last, where they are made.

    net = Net().to(device)   →   net = Net().to(device)
                                 net.to(memory_format=torch.channels_last)

With weights that lie channels last, a convolution's result does too, and everything behind it follows. Nothing changes
but strides and the order of sums. `x.view(n, -1)` of such an image raises, where `x.reshape(n, -1)` copies: views in
scanned files are edited with it. Code that asks for strides, and views in files outside the scan, are left alone. So is
what is compiled: compilers choose layouts by themselves.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from strop.source.facts import Edit, Finding, Place
from strop.source.hybridize import sites
from strop.source.hybridize.calling import forwards_of
from strop.source.hybridize.purpose import is_trained
from strop.source.hybridize.syntax import node_at, owner_of
from strop.source.hybridize.torch_operations import WORTH_SAYING
from strop.source.hybridize.torch_proposals import Proposal
from strop.source.hybridize.torch_rules import CHANNELS_LAST
from strop.source.hybridize.torch_worth import Estimate, library_targets
from strop.source.interpret.events import Call
from strop.source.interpret.heap import Object
from strop.source.interpret.interpreter import Program
from strop.source.project.declarations import Class, Code, walk

_FEW = 4.0  #: convolutions up to which the layout of the input decides
#: units that the layout saves of one operation; fitted to training steps of twelve networks, 1.00 to 1.45 times as
#: fast, and less than what most of ten networks gain that are only run, 1.02 to 1.99
_SAVED = {"convolution": 1.4, "batch norm": 0.3}
#: what has no such layout, or depends on strides
_AGAINST = frozenset(
    ["torch.nn.Conv1d.__call__", "torch.nn.Conv3d.__call__", "torch.nn.functional.conv1d", "torch.nn.functional.conv3d",
     "torch.nn.ConvTranspose1d.__call__", "torch.nn.ConvTranspose3d.__call__",
     "torch.Tensor.as_strided", "torch.as_strided", "torch.Tensor.stride", "torch.Tensor.is_contiguous",
     "torch.Tensor.data_ptr", "torch.Tensor.contiguous", "torch.nn.LSTM.__call__", "torch.nn.GRU.__call__"]
)  # fmt: skip
#: families of torchvision and timm that gain by it whatever their size
_FAMILIES = re.compile(
    r"(timm|models)\.\w*.*(mobilenet|efficientnet|mnasnet|mixnet|densenet|shufflenet)", re.IGNORECASE
)
#: and those that gain by it where they are only run
_FAMILIES_RUN = re.compile(
    r"(timm|models)\.\w*.*(mobilenet|efficientnet|mnasnet|mixnet|densenet|shufflenet|squeezenet|vgg)", re.IGNORECASE
)
_FAMILY = Estimate(60.0, 50.0, Counter({"convolution": 6, "batch norm": 6, "activation": 6}))
_VIEW = "torch.Tensor.view"
_STRIDES = "nothing that gets the model's results reads their strides or views them as another shape"
_ALIASES = "nothing writes to what `reshape` returns"


def findings(program: Program, proposals: Sequence[Proposal], target: str) -> list[Finding]:
    """One for each line that makes such a network, unless it is proposed to compile it."""
    if target != "cpu":
        return []
    compiled = {proposal.finding.place for proposal in proposals}
    covered = {name for proposal in proposals for name in proposal.covers}
    found = []
    for code, statement, models in sites.run_often(program):
        if code.place(statement) in compiled or _chooses_already(code):
            continue
        users = {program.code(id).module: None for obj in models for id in program.users_of(obj)}
        forwards = [f for obj in models if isinstance(obj.cls, Class) for f in forwards_of(program, obj.cls)]
        if any((f.module.file, f.name) in covered for f in forwards):
            continue
        trained = is_trained(program, users)
        calls = list(_calls(program, models[0], forwards))
        views = _views(program, calls)
        worth = _worth(program, models)
        if views is None or any(not _AGAINST.isdisjoint(library_targets(program, call)) for call in calls):
            continue
        if worth is not None and worth.eager >= WORTH_SAYING * worth.compiled:
            found.append(_finding(code, statement, worth, views, trained))
    for code, statement, maker in sites.unseen_models(program):
        if code.place(statement) in compiled or _chooses_already(code):
            continue
        trained = is_trained(program, [code.module])
        if (_FAMILIES if trained else _FAMILIES_RUN).search(f"{maker} {ast.unparse(statement.value)}"):
            found.append(_finding(code, statement, _FAMILY, [], trained))
    return found


def _chooses_already(code: Code) -> bool:
    nodes = walk([code.module.tree])
    return any(isinstance(node, ast.Attribute) and node.attr == "channels_last" for node in nodes)


def _worth(program: Program, models: list[Object]) -> Estimate | None:
    """What a step costs in both layouts; None for a network of other things than convolutions."""
    whole = sites.call_estimate(program, models, "cpu")
    if whole is None or whole.kinds["convolution"] <= _FEW:
        return None
    less = sum(units * whole.kinds[kind] for kind, units in _SAVED.items())
    return Estimate(whole.eager, whole.eager - less, Counter(whole.kinds))


def _views(program: Program, calls: list[Call]) -> list[Edit] | None:
    """What turns `view` into `reshape`; None where one cannot be edited: in another file, or `x.view(dtype)`."""
    found: dict[Place, Edit] = {}
    for call in calls:
        if _VIEW not in call.targets:
            continue
        owner = owner_of(program, call.place)
        node = node_at(program, owner, call.place) if owner is not None else None
        if owner is None or owner.module not in program.modules.values() or not isinstance(node, ast.Call):
            return None
        if not isinstance(node.func, ast.Attribute) or any("dtype" in ast.unparse(given) for given in node.args):
            return None
        line, end = node.func.end_lineno or 0, node.func.end_col_offset or 0
        place = Place(owner.module.file, line, end - len("view"), line, end)
        found[place] = Edit(place, "reshape")
    return list(found.values())


def _calls(program: Program, model: Object, forwards: list[Code]) -> Iterator[Call]:
    """All that a call of the model may lead to."""
    inside = {id for forward in forwards for id, _ in program.reached(forward.id)} | {f.id for f in forwards}
    for id in sorted(inside):
        yield from (event for event in program.events(id) if isinstance(event, Call))
    if not forwards:
        yield from sites.hot_calls(program, model)


def _finding(code: Code, statement: ast.Assign, worth: Estimate, views: list[Edit], trained: bool) -> Finding:
    name = ast.unparse(statement.targets[0])
    call = f"{name}.to(memory_format=torch.channels_last)"
    gain = worth.eager / worth.compiled
    share = worth.kinds["convolution"] / max(worth.operations, 1.0)
    measured = "1.0 to 1.45 on training steps" if trained else "1.0 to 2.0 on networks that are only run"
    return Finding(
        CHANNELS_LAST,
        "channels-last",
        code.place(statement),
        code.name,
        f"`{name}` is a network of convolutions: `{call}` stores its images as their kernels want them",
        "safe-if",
        (sites.line_after(code, statement, call), *views),
        ("import torch",),
        round(gain, 2),
        gain_reason=f"{share:.0%} of its operations are convolutions; measured {measured}",
        assumptions=(_STRIDES, _ALIASES) if views else (_STRIDES,),
        worth=worth.eager - worth.compiled,
    )
