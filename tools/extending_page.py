"""docs/extending.md: how to extend Strop, with the files of `examples/extension`, which the tests run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "extension"
SOURCES = EXAMPLE / "src" / "strop_example"


def parts(table: Callable[[tuple[str, ...], list[tuple[str, ...]]], str]) -> list[str]:
    return [
        """
        A script or a package can teach Strop a graph rule, an operator, a pass, a planner step, a machine and an ONNX
        operator, without touching Strop's files. `strop.extend` registers them and re-exports what they are written
        with. The examples of this page are the files of `examples/extension`, a package of its own; the tests run them
        from there.
        """,
        "## From a script, or from a package",
        """
        In a script or a notebook, register before you compile. A package names a module, which registers what it has
        when it is imported, or a function without arguments, in an entry point:
        """,
        _code(EXAMPLE / "pyproject.toml", "toml"),
        """
        Entry points are loaded once, at the first compilation or session, never by `import strop`. A package whose
        entry point fails is reported (a `StropWarning`, and STR013 in the journal) and left out whole; everything else
        works. `STROP_EXTENSIONS=0` loads none.
        """,
        "## A graph rule",
        """
        A pattern, a replacement, and a condition. `P.add(x, y)` is a pattern of an operator, `PatternVar("x")` binds a
        value, `P.number("c")` a number. The names of `make`'s and `when`'s parameters say what they get; `root` is the
        node that matched, and `match` the whole match. The replacement has the type of what it replaces: that is
        checked.
        """,
        _code(SOURCES / "rule.py"),
        """
        `family` says with which of Strop's rules it is applied: `tidy`, `recognise`, `parameters`, `images`; or `by
        hand`: then only where `session.apply('rewrite{rules="its name"}')` or a planner step asks for it.
        """,
        "## An operator",
        """
        What types its results have, what it means in torch, the nests that compute it, and the torch operator that
        becomes it. A lowering returns the plainest loops; fusion, layouts, vectors and threads are Strop's business.
        The result must depend on inputs and attributes alone.
        """,
        _code(SOURCES / "operator.py"),
        """
        Without `lower` (and for dtypes that generated code does not compute with) the reference runs, between native
        steps. The tensors of the torch operator are the inputs and its other arguments attributes under their own
        names; `convert` says otherwise.
        """,
        "## A pass",
        """
        A frozen dataclass that derives from `GraphPass` (the operator graph), `NestsPass` (all nests) or `Pass` (the
        loops of one nest, which its field `nest` names). Defining the class registers it. It prints as text that parses
        back, so sessions can save it.
        """,
        _code(SOURCES / "passes.py"),
        "## A planner step",
        """
        A function from a program to the passes that it should get, behind one of the steps `simplify`, `choose
        algorithms`, `lower`, `fuse`, `hoist`, `lay out`, `schedule`, `interleave` and `place`. Strop checks every pass
        and applies it, so that `session.history` replays to the same code.
        """,
        _code(SOURCES / "step.py"),
        "## A target",
        """
        The description of a CPU, as a mapping (which a TOML file may hold) or as a `Target`. `Options(target="…")`
        names it; a machine that Strop does not know is described under the name that `strop doctor` prints for it.
        Numbers that cannot be true of any machine are refused.
        """,
        _code(SOURCES / "target.py"),
        table(("field", "meaning"), _FIELDS),
        "## An ONNX operator",
        """
        A function over torch operators. It is traced, so it must not look at the values of its inputs; `until` and
        `since` give the opsets of its domain.
        """,
        _code(SOURCES / "onnx_operator.py"),
        "## Names, versions, and the cache",
        """
        A name that Strop or another package has is refused (STR011). Whoever registers the same definition again, as a
        notebook cell does that is run twice, replaces it. `extend.registered()` lists everything,
        `extend.unregister(kind, name)` takes one thing out, and what is registered inside `with extend.temporarily():`
        is gone afterwards.
        """,
        """
        Compiled code is kept on disk under a key, of which everything that is registered is a part: each extension with
        a hash of all Python files of its package (of the script, or of the cell), and with the functions and plain
        values that were given. So code that was made with an extension is never served without it, or with another
        version of it. What a function reads from elsewhere when it runs, such as a file or the environment, is not
        seen: say it in `version="…"`. Where there is no source to be read, a version has to be given.
        """,
        "## When an extension fails",
        """
        What an extension raises, or answers wrongly, becomes a `Problem` STR012 that names the extension and the line,
        says what to do, and has the original exception as its cause. Session, module, journal and cache are as they
        were before the call. Checked are: verdicts; that a pass returns the kind of program part that it got, and that
        the verifier accepts it; types and nodes that a rule makes; that a lowering writes its results, and nothing
        else, from its inputs, within bounds; that a planner returns passes which apply; what a reference and an ONNX
        function return. What cannot be checked is whether the numbers are right: compare with eager mode.
        """,
    ]


_FIELDS = [
    ("`name`, `like`", "what it is called; the description that fields are taken from which are left out"),
    ("`triple`, `cpu`, `features`", "LLVM's names of the platform and the CPU, and its `+a,-b` text"),
    ("`vector_bits`, `vector_registers`", "width and number of vector registers"),
    ("`fma_per_cycle`", "whole vectors that are multiplied and added per cycle"),
    ("`l1`, `l2`, `l3`, `line`", "bytes of the caches that a core sees, and of a cache line"),
    ("`ghz`", "clock"),
    ("`bandwidth`", "bytes per cycle that one core reads from L1, L2, L3 and memory"),
    ("`latency`", "cycles until a line of L2, L3, memory is there"),
    ("`fork_join_us`, `hopped`", "what starting threads takes; how much longer short runs of lines beyond L2 take"),
]


def _code(path: Path, language: str = "python") -> str:
    name = path.relative_to(EXAMPLE.parent.parent).as_posix()
    return f"[{name}](../{name})\n\n```{language}\n{path.read_text(encoding='utf-8').rstrip()}\n```"
