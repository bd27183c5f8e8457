"""What `strop verify --adopt` and `strop fix --verified` say of edits that were run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from strop.cli.console import out, print_json, working
from strop.core.problem import Problem
from strop.source.reports.source_lines import plural
from strop.source.settings import Settings
from strop.source.survey import survey

if TYPE_CHECKING:
    from strop.source.facts import Finding
    from strop.source.prove import Proof
    from strop.source.verify import Limits


def verify_adopted(
    target: str, entry: str, unsafe: bool, limits: Limits, python: str, *, json: bool, quiet: bool
) -> int:
    """Plan the edits of a file for faster kernels, run both versions, and print what was seen."""
    from strop.source import fixing, prove

    if not Path(target).exists():
        raise Problem("STR001", f"there is no file or folder `{target}`")
    settings = Settings.of([target], select=("STR7",))
    with working(f"running {target} with and without the edits", quiet or json):
        done = fixing.fix(lambda: survey([target], settings), unsafe=unsafe, accept=prove.is_provable)
        found = prove.proofs(done, entry=entry, limits=limits, python=python)
    if json:
        print_json({"files": [one.to_json() for one in found]})
    elif not quiet:
        print_proofs(found)
    return 0 if all(set(one.functions) <= one.verified for one in found) else 1


def print_proofs(found: Sequence[Proof], applied: Sequence[Finding] = ()) -> None:
    """What was seen of the kernels; edits of other kinds that are `applied` were not run."""
    from strop.source.prove import is_provable

    if not found:
        out.print("no kernels to adopt")
    others = [finding for finding in applied if not is_provable(finding)]
    if others:
        was = "was" if len(others) == 1 else "were"
        out.print(f"{plural(len(others), 'edit')} of other kinds {was} not run")
    for proof in found:
        out.print(f"{proof.file}", markup=False)
        for name in proof.functions:
            if name in proof.verified:
                out.print(f"  [green]equal[/]         {name}", highlight=False)
            elif name in proof.different:
                out.print(f"  [bold red]different[/]     {name}", highlight=False)
            else:
                out.print(f"  [yellow]not verified[/]  {name}: ", highlight=False, end="")
                out.print(proof.why_not(name), markup=False)
        for subject in proof.subjects:
            for difference in subject.differences:
                out.print(f"    {subject.what}: {difference}", markup=False)
        if proof.verified:
            exact, usual = proof.largest_exact, proof.largest
            out.print(f"  largest difference {usual:.1e} of a tensor's scale in float32, {exact:.1e} in float64")
