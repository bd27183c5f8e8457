"""Matches as findings: what is said of a place, how safe the edit is, what it is worth."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from strop.source import rules as registry
from strop.source.adopt import find, rulebook
from strop.source.adopt.architecture import Match, Refusal
from strop.source.adopt.extract import Architecture
from strop.source.adopt.language.rule import KernelRule
from strop.source.adopt.synth import synthesise
from strop.source.adopt.synth_text import CannotWrite, Source
from strop.source.facts import Edit, Finding, Place, Safety
from strop.source.project.modules import Project

_SAFETY: dict[str, Safety] = {"exact": "safe", "close": "safe", "training": "safe-if", "eval": "safe-if"}


def findings(project: Project, rules: Sequence[str], target: str, asked: Sequence[str], strop: bool) -> list[Finding]:
    chosen = wanted(known(rules), target, asked, strop)
    architecture = Architecture(project)
    sources: dict[str, Source] = {}
    found = [finding(match, sources) for match in find.in_project(architecture, chosen)]
    architecture.release()
    return found


def known(folders: Sequence[str]) -> tuple[KernelRule, ...]:
    """All rules, with those of these folders, which `strop explain` and selections know from then on."""
    rules = rulebook.load(tuple(folders))
    for rule in rules if folders else ():
        declare(rule)
    return rules


def wanted(
    rules: Sequence[KernelRule], target: str, asked: Sequence[str] = (), strop: bool = False
) -> list[KernelRule]:
    """The rules that pay on a target, and those that are asked for by their code; `strop` allows its own kernels."""
    chosen = [rule for rule in rules if target in rule.targets and (rule.default or rule.code in asked)]
    return [rule for one in chosen if (rule := one.allowed(strop)) is not None]


def finding(match: Match, sources: dict[str, Source] | None = None) -> Finding:
    """A match as it is reported; with edits where the rule has a replacement and nothing speaks against it."""
    rule = match.rule
    edits: tuple[Edit, ...] = ()
    imports: tuple[str, ...] = ()
    if match.fixable:
        try:
            if match.rule.use[0][1].startswith("+("):
                edits = (added_arguments(match),)
            elif match.rule.use[0][1].startswith("around("):
                edits, imports = wrapped_call(match), tuple(rule.imports)
            else:
                made = synthesise(match, sources)
                edits, imports = made.edits, made.imports
        except CannotWrite as refused:
            match.refusals.append(Refusal(refused.reason, refused.place))
    why = "; ".join(dict.fromkeys(refusal.reason for refusal in match.refusals))
    message = (rule.message or rule.title) + (f" (not edited: {why})" if why else "")
    assumptions = tuple(dict.fromkeys(match.assumptions))
    safety = "safe-if" if assumptions else _SAFETY[rule.safety]
    gain = 1.0 if any(refusal.final for refusal in match.refusals) else rule.gain
    return Finding(
        rule.code, rule.name, match.place, match.code.name, message, safety, edits, imports, gain,
        assumptions=assumptions,
    )  # fmt: skip


def added_arguments(match: Match) -> Edit:
    """The edit of a template `+(key=value)`: the text goes before the closing parenthesis of the call."""
    call = match.root.expression
    if not isinstance(call, ast.Call) or match.root.chain:
        raise CannotWrite("its result is no call that could get an argument", match.place)
    given = match.rule.use[0][1][2:-1]
    last = max([*call.args, *(keyword.value for keyword in call.keywords)], key=lambda a: (a.lineno, a.col_offset))
    end = match.code.place(last)
    at = Place(end.file, end.end_line, end.end_column, end.end_line, end.end_column)
    return Edit(at, f", {given}")


def wrapped_call(match: Match) -> tuple[Edit, Edit]:
    """The edits of a template `around(function)`: the call becomes the argument of another one."""
    call = match.root.expression
    if not isinstance(call, ast.Call) or match.root.chain:
        raise CannotWrite("its result is no call that could be an argument", match.place)
    function = match.rule.use[0][1].removeprefix("around(").removesuffix(")")
    whole = match.code.place(call)
    start = Place(whole.file, whole.line, whole.column, whole.line, whole.column)
    end = Place(whole.file, whole.end_line, whole.end_column, whole.end_line, whole.end_column)
    return Edit(start, f"{function}("), Edit(end, ")")


def declare(rule: KernelRule) -> None:
    """Make a rule known to `strop explain`; a project's rule may have another name than that of another project."""
    registry.RULES.pop(rule.code, None)
    registry.declare(rule.code, rule.name, f"{rule.title}.\n\n{rule.text}\n\n{describe(rule)}")


def describe(rule: KernelRule) -> str:
    """What a rule promises, in a few lines."""
    close = {
        "exact": "the same numbers",
        "close": f"numerically close: a relative difference of up to {rule.tolerance:g}",
        "training": "changes what happens in training",
        "eval": "the same in eval mode only",
    }
    lines = [f"Family: {rule.family}.  Safety: {close[rule.safety]}."]
    if rule.gain is not None:
        lines.append(f"Estimated gain: {rule.gain:g} times on {' and '.join(rule.targets)}.")
    if rule.strop_gain is not None:
        lines.append(f"With `--with-strop`: {rule.strop_gain:g} times, by Strop's own kernel.")
    elif rule.needs_strop:
        lines.append("Only with `--with-strop`: the edited program imports Strop.")
    if rule.requires:
        lines.append(f"Requires: {', '.join(rule.requires)}.")
    if "cpu" not in rule.targets:
        lines.append("Only with `--target cuda`.")
    elif not rule.default:
        lines.append("Off unless it is asked for.")
    if not rule.use and not rule.strop_use and not rule.define:
        lines.append("Reported, never edited.")
    return "\n".join(lines)


for _rule in rulebook.load():
    declare(_rule)
