"""What the source half says of a function: facts, one verdict, reasons with places, findings, and edits.

The interpreter fills in the facts, the verdicts of `hybridize/` and the rules of `adopt/` add reasons and findings, and
everything that prints, stores or edits reads only this. `None` for a fact means that it cannot be determined.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Framework = Literal["torch", "tensorflow"]
Action = Literal["to_graph", "to_eager", "add_signature", "lift_primitive", "no_benefit", "keep", "unknown"]
Safety = Literal["safe", "safe-if", "unsafe"]


@dataclass(frozen=True, order=True)
class Place:
    """A span of source; lines from 1, columns from 0, as in `ast`."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Reason:
    """Why a verdict is what it is; `chain` leads from the function down the calls to the place."""

    code: str  #: STR1xx, explained by `strop explain`
    message: str
    place: Place
    chain: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Edit:
    """A replacement of one span of a file; an empty span inserts."""

    place: Place
    text: str


@dataclass(frozen=True)
class Finding:
    """Something that a person may want to change, with the edits that change it when it is fixable."""

    code: str
    rule: str
    place: Place
    function: str  #: dotted, such as `Class.method`
    message: str
    safety: Safety
    edits: tuple[Edit, ...] = ()
    imports: tuple[str, ...] = ()  #: import statements that the edits need, such as `import torch`
    estimated_gain: float | None = None  #: how many times faster, where that can be said
    gain_reason: str = ""  #: what the estimate rests on, in words
    assumptions: tuple[str, ...] = ()  #: what must hold for the edits to be right
    worth: float = 0.0  #: what it saves, in units of `hybridize/torch_operations.py`: findings are sorted by it
    environment: tuple[tuple[str, str], ...] = ()  #: variables that the program is to be started with

    @property
    def fixable(self) -> bool:
        return bool(self.edits)


@dataclass
class Function:
    """Everything known of one function, method or nested function."""

    file: str
    function: str
    line: int
    framework: Framework | None = None
    graph: bool = False
    tensor_parameter: bool | None = None
    primitive_parameter: bool | None = None
    side_effects: bool | None = None
    recursive: bool | None = None
    tensor_computation: bool | None = None
    verdict: Action = "unknown"
    safety: Safety = "unsafe"
    reasons: list[Reason] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    signature: str | None = None


@dataclass(frozen=True)
class Skipped:
    """A file that could not be read, and why; the rest of the scan goes on."""

    file: str
    code: str
    message: str
    line: int = 0


@dataclass
class Scan:
    """The result of looking at a project, in the order of files and lines."""

    functions: list[Function] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    lines: int = 0
    files: int = 0
    followed: list[str] = field(default_factory=list)  #: files outside the scan that were read for what they define
    notes: list[str] = field(default_factory=list)  #: what holds for the whole scan: why nothing is said of something

    def to_json(self) -> dict[str, Any]:
        return {
            "functions": [_function(function) for function in self.functions],
            "findings": [_finding(finding) for finding in self.findings],
            "skipped": [asdict(skipped) for skipped in self.skipped],
            "notes": self.notes,
        }


def _function(function: Function) -> dict[str, Any]:
    plain = {k: v for k, v in vars(function).items() if k != "reasons"}
    reasons = [
        {
            "code": r.code,
            "message": r.message,
            "file": r.place.file,
            "line": r.place.line,
            "chain": [str(place) for place in r.chain],
        }
        for r in function.reasons
    ]
    return {**plain, "reasons": reasons}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "rule": finding.rule,
        "file": finding.place.file,
        "line": finding.place.line,
        "end_line": finding.place.end_line or finding.place.line,
        "function": finding.function,
        "message": finding.message,
        "safety": finding.safety,
        "fixable": finding.fixable,
        "estimated_gain": finding.estimated_gain,
        "gain_reason": finding.gain_reason,
        "assumptions": list(finding.assumptions),
        "worth": round(finding.worth, 2),
        "environment": dict(finding.environment),
    }
