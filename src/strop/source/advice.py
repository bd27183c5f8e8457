"""Advice that fits together: kernels beside graphs, one proposal per place, what a project's versions allow, by worth.

A Strop kernel inside of a compiled function is not used there, and whatever fuses gains nothing from a kernel of its
own once it is compiled: of a graph and the kernels in it, the one that is worth more is proposed, and names the other.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from strop.source.adopt import rulebook
from strop.source.adopt.language.rule import KernelRule
from strop.source.facts import Finding
from strop.source.hybridize.calling import is_test_path
from strop.source.hybridize.tensorflow_rules import TO_GRAPH as TF_TO_GRAPH
from strop.source.hybridize.torch_findings import Advice
from strop.source.hybridize.torch_proposals import Proposal
from strop.source.hybridize.torch_rules import TO_GRAPH
from strop.source.project.modules import Project
from strop.source.project.requirements import Pin, pins, refusal

COMPILES_SINCE = "2.0"
#: units that the code which a kernel replaces costs, by the family of the rule
_UNITS = {
    "attention": 20.0,
    "norm": 7.0,
    "add_norm": 3.0,
    "activation": 6.0,
    "softmax": 4.0,
    "linear_gelu": 7.0,
    "gated_mlp": 3.0,
    "rotary": 8.0,
    "qkv": 18.0,
    "conv_bn": 7.5,
    "linear_bn": 7.5,
    "conv_relu": 7.0,
    "layout": 12.0,
    "loss": 4.0,
    "optimizer": 20.0,
    "inference": 10.0,
    "data_loader": 10.0,
    "einsum": 6.0,
}
#: families that graphs do not fuse
_ELSEWHERE = ("attention", "optimizer", "data_loader", "inference", "layout", "qkv")
_TF_GAIN, _TF_WHY = 2.0, "as a rule: training and simulation loops were measured 1.3 to 8.7 times as fast as graphs"
_DOUBT = 0.5  #: what an edit that rests on assumptions counts for, beside one that does not
_ONE_PASS = "an estimate for this computation alone: one pass instead of one for each operation"
_WHY = {
    "attention": "of the attention alone, measured on small transformers: the scores are never stored",
    "optimizer": "an estimate for the update alone: one kernel for all parameters instead of a few operations for each",
}
#: words of code that chooses between attention kernels already
_FUSED = re.compile(
    r"scaled_dot_product_attention|flash_attn|memory_efficient_attention|fused_attn|ALL_ATTENTION_FUNCTIONS|"
    r"_attn_implementation|use_sdpa|sdp_kernel|sdpa_kernel|use_flash|enable_flash|FlashAttention|flex_attention"
)


def combine(
    advice: Advice, kernels: Sequence[Finding], project: Project, asked: Sequence[str] = ()
) -> tuple[list[Finding], list[str]]:
    """All findings that fit together, and a line for what is left out because of pinned versions."""
    fitting = [kernel for kernel in kernels if kernel.code in asked or not _is_lost(kernel, advice)]
    allowed, notes = _allowed([*advice.findings, *fitting], project)
    return _one_per_place(allowed, advice.proposals), notes


# -- versions ----------------------------------------------------------------------------------------------------------


def _allowed(findings: Iterable[Finding], project: Project) -> tuple[list[Finding], list[str]]:
    known = pins(project.roots, "torch")
    kept: list[Finding] = []
    held: dict[Pin, int] = {}
    for finding in findings:
        needed = needs(finding)
        pin = refusal(known, needed) if needed and known else None
        if pin is None:
            kept.append(finding)
        else:
            held[pin] = held.get(pin, 0) + 1
    return kept, [_note(pin, count) for pin, count in held.items()]


def _note(pin: Pin, count: int) -> str:
    them = "finding needs" if count == 1 else "findings need"
    return f"{os.path.relpath(pin.file)}:{pin.line} pins `{pin.text}`: {count} {them} a newer version and are left out"


def needs(finding: Finding) -> str:
    """The first version of PyTorch that has what a finding proposes; empty when every one has."""
    if finding.code == TO_GRAPH:
        return COMPILES_SINCE
    rule = _rules().get(finding.code)
    for requirement in rule.requires if rule is not None else ():
        if requirement.startswith("torch>="):
            return requirement.removeprefix("torch>=")
    if rule is not None and rule.family == "attention":
        return "2.0"
    return ""


# -- kernels -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _rules() -> dict[str, KernelRule]:
    return {rule.code: rule for rule in rulebook.load()}


def _is_kernel(finding: Finding) -> bool:
    return finding.code.startswith("STR7")


def _family(finding: Finding) -> str:
    rule = _rules().get(finding.code)
    return rule.family if rule is not None else ""


def _priced(finding: Finding) -> Finding:
    """A kernel with what it saves: the units of what it replaces, less what is left of them."""
    family, gain = _family(finding), finding.estimated_gain
    if not gain:
        return finding
    units = _UNITS.get(family, 4.0)
    why = finding.gain_reason or _WHY.get(family, _ONE_PASS)
    return replace(finding, worth=finding.worth or units * (1 - 1 / gain), gain_reason=why)


def standing(kernels: Iterable[Finding], project: Project, asked: Sequence[str] = ()) -> list[Finding]:
    """The kernels that somebody could want, with what they save; not those of tests, nor beside a fused branch."""
    return [_priced(kernel) for kernel in kernels if kernel.code in asked or _stands(kernel, project)]


def _stands(finding: Finding, project: Project) -> bool:
    if is_test_path(finding.place.file, project.roots):
        return False
    if finding.rule == "fused-optimizer":
        return finding.fixable and not _updates_few(finding, project)
    if _family(finding) == "rotary" and not finding.fixable:
        return False  # any rotation in a plane looks like it
    return _family(finding) != "attention" or not _chooses_already(finding, project)


def _updates_few(finding: Finding, project: Project) -> bool:
    """Whether an optimizer gets tensors one by one, `[temperature]`: one kernel for all of them gains nothing."""
    module = project.scanned.get(os.path.realpath(finding.place.file))
    start = (finding.place.line, finding.place.column)
    for node in module.code.walk() if module is not None else ():
        if isinstance(node, ast.Call) and (node.lineno, node.col_offset) == start:
            given = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "params")]
            display = given[0] if given and isinstance(given[0], (ast.List, ast.Tuple)) else None
            return display is not None and all(isinstance(e, (ast.Name, ast.Attribute)) for e in display.elts)
    return False


def _is_lost(finding: Finding, advice: Advice) -> bool:
    """Inside of a graph, which does the same by itself or cannot use the kernel; or a small part of a step."""
    if _family(finding) == "optimizer":
        return (finding.place.file, finding.place.line, finding.place.column) in advice.slight_updates
    return _family(finding) not in _ELSEWHERE and advice.is_compiled(finding)


def _chooses_already(finding: Finding, project: Project) -> bool:
    """Whether the function, or the class around it, calls a fused kernel in another branch."""
    module = project.scanned.get(os.path.realpath(finding.place.file))
    if module is None:
        return False
    for node in module.tree.body:
        if node.lineno <= finding.place.line <= (node.end_lineno or node.lineno):
            return bool(_FUSED.search(ast.unparse(node))) or any(
                isinstance(other, ast.Name) and other.id == "ALL_ATTENTION_FUNCTIONS" for other in module.code.walk()
            )
    return False


def tensorflow_priced(finding: Finding) -> Finding:
    """TensorFlow's graphs with what they gain as a rule; its operations are not counted."""
    if finding.code != TF_TO_GRAPH or finding.estimated_gain is not None or not finding.fixable:
        return finding if finding.worth else replace(finding, worth=1.0)
    return replace(finding, estimated_gain=_TF_GAIN, gain_reason=_TF_WHY, worth=finding.worth or 12.0)


# -- one proposal per place --------------------------------------------------------------------------------------------


def _one_per_place(findings: list[Finding], proposals: Sequence[Proposal]) -> list[Finding]:
    """Of a graph and the kernels that would be inside of it, what is worth more."""
    for proposal in proposals:
        rivals = [f for f in findings if _is_rival(f) and (f.place.file, f.function) in proposal.covers]
        if not rivals or proposal.finding not in findings:
            continue
        graph = proposal.saved * (_DOUBT if proposal.finding.safety != "safe" else 1.0)
        kernels = sum(f.worth * (_DOUBT if f.safety != "safe" or not f.fixable else 1.0) for f in rivals)
        at = findings.index(proposal.finding)
        if graph >= kernels:
            codes = ", ".join(sorted({f.code for f in rivals}))
            text = f"; kernels of its own inside ({codes}) would not be used in the graph"
            findings[at] = replace(findings[at], message=findings[at].message + text)
            findings = [f for f in findings if f not in rivals]
        else:
            gain = proposal.finding.estimated_gain
            text = f"; or compile all of `{proposal.finding.function}`, about {gain:.2f}×, where it would not be used"
            best = max(range(len(findings)), key=lambda i: findings[i].worth if findings[i] in rivals else -1.0)
            findings[best] = replace(findings[best], message=findings[best].message + text)
            del findings[at]
    return findings


def _is_rival(finding: Finding) -> bool:
    return _is_kernel(finding) and _family(finding) not in _ELSEWHERE
