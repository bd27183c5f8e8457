"""What `strop verify --adopt` and `strop fix --write` say of edits that were run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from strop.cli.console import err, out, print_json, working
from strop.core.problem import Problem
from strop.source.project.settings import Settings
from strop.source.report.source_lines import plural
from strop.source.scan_project import scan_project

if TYPE_CHECKING:
    from strop.source.facts import Finding
    from strop.verify.prove import Proof, Ways

_SHOWN = 8  #: functions that are named in one line


def verify_adopted(target: str, ways: Ways, unsafe: bool, with_strop: bool | None, *, json: bool, quiet: bool) -> int:
    """Plan the edits of a file for faster kernels, run both versions, and print what was seen."""
    from strop.source.fix import fixing
    from strop.verify import prove

    if not Path(target).exists():
        raise Problem("STR001", f"there is no file or folder `{target}`")
    settings = Settings.of([target], select=("STR7",), with_strop=with_strop)
    with working(f"running {target} with and without the edits", quiet or json):
        done = fixing.fix(lambda: scan_project([target], settings), unsafe=unsafe, accept=prove.is_provable)
        found = prove.proofs(done, ways)
    if json:
        print_json({"files": [one.to_json() for one in found]})
    elif not quiet:
        print_proofs(found)
        if not found:
            out.print("no kernels to adopt")
    return 0 if all(set(one.functions) <= one.verified for one in found) else 1


def print_proofs(found: Sequence[Proof], written: Sequence[Finding] | None = None) -> None:
    """What was seen of the kernels that were run; `written` are the edits that were applied, if that was the aim."""
    kernels = {(finding.place.file, finding.function) for finding in written or ()}
    fate = "" if written is None else ": not written"
    for proof in found:
        out.print(f"{proof.file}", markup=False)
        for name in proof.functions:
            if name in proof.verified:
                out.print(f"  [green]equal[/]      {name}", highlight=False)
            elif name in proof.different:
                out.print(f"  [bold red]different[/]  {name}{fate}", highlight=False)
            else:
                done = ": written all the same" if (proof.file, name) in kernels else fate
                out.print(f"  [yellow]not run[/]    {name}{done}: ", highlight=False, end="")
                out.print(proof.why_not(name), markup=False)
        for subject in proof.subjects:
            for difference in subject.differences:
                out.print(f"    {subject.what}: {difference}", markup=False)
        if proof.verified:
            exact, usual = proof.largest_exact, proof.largest
            out.print(f"  largest difference {usual:.1e} of a tensor's scale in float32, {exact:.1e} in float64")


def print_to_prove(functions: Sequence[str]) -> None:
    """What `--write` would have to run first."""
    if functions:
        names = ", ".join(functions[:_SHOWN]) + (" …" if len(functions) > _SHOWN else "")
        text = (
            f"kernels in {plural(len(functions), 'function')} are written by --write once they were run and are equal"
        )
        err.print(f"{text}: {names}", markup=False)
