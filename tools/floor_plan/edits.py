"""Edits of single places that no table of modules or names covers, contracts, and texts.

Every edit names the new file and the text as it stands after the tables have been applied. An edit that does not fit
any more is reported, not skipped silently.
"""

#: replaced in every text (strings, comments, pages) before anything else
TEXTS = [
    ("code/math_*.py", "codegen/math/*.py"),
    ("capture/aten_*.py", "frontend/torch/aten/*.py"),
    ("`aten_*.py`", "`aten/*.py`"),
    ("`capture/onnx_ops/`", "`frontend/onnx/ops/`"),
    ("tests/onnx -m models", "tests/runtime/onnx -m models"),
    ("`run/pipeline.py`: `Compiled`", "`driver/artifact.py`: `Compiled`"),
    (" run/                       ▼  compile", " driver/                    ▼  compile"),
    (
        "cli ─► session ─► run ─► capture | plan ─► code ─► loops ─► graph ─► core",
        "cli ─► bench ─► session | kernels ─► runtime ─► driver ─► frontend | schedule ─► cost ─► codegen ─► loops ─► graph\n"
        "    ─► target ─► core                                cli ─► verify ─► source ─► core",
    ),
    (
        "PyTorch is imported in `capture/` and\n`run/` alone, LLVM in `code/` and `run/` alone, and `import strop` imports neither.",
        "PyTorch is imported in `frontend/`, `runtime/`,\n`kernels/`, `verify/` and `bench/` alone, LLVM in `target/`, `codegen/`, "
        "`cost/assembly.py` and `runtime/jit.py` alone, and `import strop` imports neither.",
    ),
    (
        "| `run/` | pipeline, JIT, threads, the module that `strop.compile` returns, benchmark, zoo |",
        "| `cost/` | the static cost model: footprints, instruction estimates, simulated assembly |\n"
        "| `driver/` | the pipeline, the artefact that it makes, its cache key |\n"
        "| `runtime/` | JIT, threads, guards, the module that `strop.compile` returns; `onnx/` executes ONNX models |\n"
        "| `bench/` | Strop beside its peers, single operators, the zoo |\n"
        "| `target/` | descriptions of CPUs, their ports, the machine at hand |\n"
        "| `verify/` | code before and after a change, run in processes of its own and compared |",
    ),
]

#: (pattern, replacement) in the code of tests and tools: names of golden files and of modules that are started
TEST_CODE = [
    (r'(?<=["\'])native/', "codegen/"),
    (r'(?<=HOME / ")native(?=")', "codegen"),
    (r'(?<="goldens" / ")native(?=")', "codegen"),
    (r'"native\.guarded"', '"codegen.guarded"'),
    (r'(?<="tests" / )"onnx" / "excluded.txt"', '"frontend" / "onnx" / "excluded.txt"'),
]

#: the text of passes, in golden files, pages, tests and saved results
PASS_TEXTS = [
    (r"\blanes\{", "rfactor{"),
    (r"\balternate\{", "serpentine{"),
    (r"\bplain\{(?=nest)", "reset{"),
    (r'\{"lanes", "vectorise"\}', '{"rfactor", "vectorise"}'),
    (r"\(or instead, after `plain`\)", "(or instead, after `reset`)"),
]

EDITS = [
    # ---- places by path ----
    (
        "src/strop/frontend/torch/export.py",
        "Path(__file__).parent.parent in path.parents",
        "Path(__file__).parents[2] in path.parents",
    ),
    ("src/strop/source/project/store.py", "here = Path(__file__).parent\n", "here = Path(__file__).parents[1]\n"),
    (
        "src/strop/verify/as_graphs.py",
        'Path(__file__).parent.parent / "run" / "verify_child.py"',
        'Path(__file__).parent / "child" / "verify_child.py"',
    ),
    (
        "src/strop/verify/prove.py",
        'Path(__file__).parent.parent / "run" / "prove.py"',
        'Path(__file__).parent / "child" / "prove_child.py"',
    ),
    ("src/strop/verify/child/prove_child.py", 'import_module("prove_guess")', 'import_module("prove_inputs")'),
    ("tests/codegen/test_emit.py", '.parent / "code"', '.parent / "codegen"'),
    (
        "tests/errors/test_wrong_types.py",
        'monkeypatch.setattr(pipeline, "cores", lambda: 1)',
        'monkeypatch.setattr("strop.runtime.thread_count.cores", lambda: 1)',
    ),
    ("tests/codegen/test_emit.py", 'if not path.name.startswith("math"):', 'if path.parent.name != "math":'),
    ("tests/codegen/test_emit.py", 'CODE.glob("*.py")', 'CODE.rglob("*.py")'),
    ("tools/generate_docs.py", '"strop.frontend.aten_"', '"strop.frontend.torch.aten."'),
    ("tools/generate_docs.py", 'f"`aten_{family}.py` ({len(names)})"', 'f"`aten/{family}.py` ({len(names)})"'),
    (
        "Makefile",
        "plan native code loops run session kernels onnx doors bench errors",
        "schedule cost codegen loops driver runtime session kernels frontend bench errors",
    ),
    (
        "pyproject.toml",
        '"tests/source/**" = ["PTH", "SIM115"]',
        '"tests/verify/**" = ["PTH", "SIM115"]\n"tests/source/**" = ["PTH", "SIM115"]',
    ),
    (
        "src/strop/cli/__init__.py",
        "architecture and verify and care",
        "architecture and verify and cache and explain and doctor",
    ),
    (
        "src/strop/loops/lower/__init__.py",
        '"reductions", "rows", "contractions", "windows", "resample", "sampling", "recurrent",\n    "byte_recurrent", "indexing", "together",',
        '"reductions", "row_reductions", "contractions", "windows", "resample", "sampling",\n    "recurrent", "byte_recurrent", "indexing", "concat_pad",',
    ),
    (
        "src/strop/runtime/jit.py",
        '"""LLVM text → machine code in memory, and the host\'s own description."""',
        '"""Object code in memory, whose functions can be called."""',
    ),
    # ---- lines that new names have made too long, where the formatter is told to keep out ----
    (
        "src/strop/frontend/onnx/module.py",
        "types: tuple[int, ...], output_types: tuple[int, ...],\n        real: bool,\n",
        "types: tuple[int, ...],\n        output_types: tuple[int, ...], real: bool,\n",
    ),
    (
        "src/strop/graph/passes/attention.py",
        'P.attention(q, k, v, PatternVar("m"), causal=False), _without_mask),',
        'P.attention(q, k, v, PatternVar("m"), causal=False),\n         _without_mask),',
    ),
    # ---- back doors and upward imports ----
    # the driver compiles for as many threads as it is told; how many there can be, the runtime knows
    ("src/strop/driver/pipeline.py", "    threads = usable_threads(threads, journal)\n", ""),
    (
        "src/strop/runtime/program.py",
        "return compile_graph(graph, options, journal, threads, inspect)",
        "return compile_graph(graph, options, journal, usable_threads(threads, journal), inspect)",
    ),
    (
        "src/strop/runtime/program.py",
        "from strop.runtime.threads import Pool",
        "from strop.runtime.thread_count import usable_threads\nfrom strop.runtime.threads import Pool",
    ),
    (
        "src/strop/bench/ops.py",
        "program = pipeline.compile_graph(graph, options, journal, threads, kept.append)",
        "program = pipeline.compile_graph(graph, options, journal, usable_threads(threads, journal), kept.append)",
    ),
    (
        "src/strop/bench/ops.py",
        "from strop.runtime.program import",
        "from strop.runtime.thread_count import usable_threads\nfrom strop.runtime.program import",
    ),
    (
        "src/strop/driver/cache_key.py",
        "root = Path(strop.__file__).parent",
        "root = Path(__file__).parents[1]",
    ),
    # versions of installed packages: the driver imports neither torch nor llvmlite
    (
        "src/strop/driver/cache_key.py",
        "versions = (llvmlite.__version__, torch.__version__, platform.python_version())",
        'versions = (version("llvmlite"), version("torch"), platform.python_version())',
    ),
    (
        "src/strop/driver/cache_key.py",
        "from pathlib import Path\n",
        "from importlib.metadata import version\nfrom pathlib import Path\n",
    ),
    # what runs ONNX bodies says what it can do by its class, instead of being assigned into the front end
    (
        "src/strop/frontend/onnx/subgraphs.py",
        '''class Runner:
    """How parts are run: as they are, unless a `Maker` compiles them."""

    make: Callable[[{part}], Callable[..., Any]] = staticmethod(lambda part: part)
    #: the parameters of what `make` made have changed
    renew: Callable[[Any], None] = staticmethod(lambda runner: None)
    #: many rounds of what `make` made: how many there were, the last states and what was yielded; None: one by one
    repeat: Callable[[Any, Rounds], tuple[int, list[Tensor]] | None] = staticmethod(lambda runner, rounds: None)
''',
        '''class Runner:
    """What a `Maker` makes of a part, where that can do more than be called."""

    def refresh(self) -> None:
        """The parameters of the part have changed."""
        raise NotImplementedError

    def repeat(self, loop: Rounds) -> tuple[int, list[Tensor]] | None:
        """Many rounds: how many there were, the last states and what was yielded; None: they are run one by one."""
        raise NotImplementedError


def repeat(body: object, loop: Rounds) -> tuple[int, list[Tensor]] | None:
    """All rounds at once, where the body can do that; None where they have to be run one by one."""
    return body.repeat(loop) if isinstance(body, Runner) else None


def _refresh(body: object) -> None:
    if isinstance(body, Runner):
        body.refresh()


def _as_it_is(part: {part}) -> Callable[..., Any]:
    return part
''',
    ),
    (
        "src/strop/frontend/onnx/subgraphs.py",
        "            Runner.renew(self.runner)\n",
        "            _refresh(self.runner)\n",
    ),
    ("src/strop/frontend/onnx/subgraphs.py", "by.make if by else Runner.make", "by.make if by else _as_it_is"),
    ("src/strop/frontend/onnx/subgraphs.py", "at_once = Runner.repeat(", "at_once = repeat("),
    ("src/strop/runtime/onnx/staged.py", "found = Runner.repeat(", "found = repeat("),
    ("src/strop/runtime/onnx/staged.py", "Rounds, Runner", "Rounds, repeat"),
    (
        "src/strop/runtime/onnx/model.py",
        """

def _repeated(runner: Any, loop: Rounds) -> tuple[int, list[Tensor]] | None:
    return repeat(runner, loop) if isinstance(runner, CompiledOnnx) else None


def _renewed(runner: Any) -> None:
    if isinstance(runner, CompiledOnnx):
        runner.refresh()


Runner.renew = _renewed
Runner.repeat = _repeated
""",
        "",
    ),
    (
        "src/strop/runtime/onnx/model.py",
        "class CompiledOnnx(CompiledModule):",
        "class CompiledOnnx(CompiledModule, Runner):",
    ),
    (
        "src/strop/runtime/onnx/model.py",
        """    def __call__(self,""",
        """    def repeat(self, loop: Rounds) -> tuple[int, list[Tensor]] | None:
        return repeat(self, loop)

    def __call__(self,""",
    ),
]

CONTRACTS = """\
[tool.importlinter]
root_package = "strop"
include_external_packages = true
exclude_type_checking_imports = true

# every package has its place: a new one without a layer fails here
[[tool.importlinter.contracts]]
name = "Layers import downwards only"
type = "layers"
containers = ["strop"]
exhaustive = true
exhaustive_ignores = ["__main__"]
layers = [
    "cli | onnx_backend",
    "bench",
    "session | kernels | verify",
    "runtime",
    "driver",
    "frontend | schedule",
    "cost",
    "codegen",
    "loops",
    "graph",
    "target | source",
    "core",
]

[[tool.importlinter.contracts]]
name = "Front ends know the graph only"
type = "forbidden"
source_modules = ["strop.frontend"]
forbidden_modules = ["strop.target", "strop.loops", "strop.codegen", "strop.cost", "strop.schedule", "strop.driver", "strop.runtime"]

[[tool.importlinter.contracts]]
name = "The front end of PyTorch does not know that of ONNX"
type = "forbidden"
source_modules = ["strop.frontend.torch"]
forbidden_modules = ["strop.frontend.onnx"]

[[tool.importlinter.contracts]]
name = "The executor of ONNX models is a client of the runtime: only `strop.compile` starts it"
type = "forbidden"
source_modules = [
    "strop.runtime.diagnose", "strop.runtime.dispatch", "strop.runtime.guards", "strop.runtime.half_precision",
    "strop.runtime.hot_swap", "strop.runtime.jit", "strop.runtime.measure", "strop.runtime.native_loop",
    "strop.runtime.outputs", "strop.runtime.packed", "strop.runtime.profile", "strop.runtime.program",
    "strop.runtime.recompute", "strop.runtime.reference", "strop.runtime.release", "strop.runtime.shallow_clone",
    "strop.runtime.specializations", "strop.runtime.state", "strop.runtime.threads",
]
forbidden_modules = ["strop.runtime.onnx", "strop.runtime.compile_model", "strop.runtime.module", "strop.runtime.dynamo"]

[[tool.importlinter.contracts]]
name = "The source half knows only the core"
type = "forbidden"
source_modules = ["strop.source", "strop.verify"]
forbidden_modules = [
    "strop.target", "strop.graph", "strop.frontend", "strop.loops", "strop.codegen", "strop.cost", "strop.schedule",
    "strop.driver", "strop.runtime", "strop.session", "strop.kernels", "strop.bench",
]

[[tool.importlinter.contracts]]
name = "The source half in layers"
type = "layers"
containers = ["strop.source"]
exhaustive = true
layers = [
    "scan_project",
    "scan",
    "advice",
    "hybridize | report",
    "interpret | fix",
    "adopt",
    "project | apis",
    "rules",
    "facts",
]
# a project's settings may name rules of its own, which are read to know their names
ignore_imports = ["strop.source.project.settings -> strop.source.adopt.report"]

[[tool.importlinter.contracts]]
name = "What runs in the user's process imports nothing of Strop"
type = "forbidden"
source_modules = ["strop.verify.child"]
forbidden_modules = ["strop.core", "strop.source"]

[[tool.importlinter.contracts]]
name = "PyTorch is used in front ends, runtime, kernels, verification and benchmarks only"
type = "forbidden"
source_modules = [
    "strop.core", "strop.target", "strop.graph", "strop.loops", "strop.codegen", "strop.cost", "strop.schedule",
    "strop.driver", "strop.session", "strop.cli", "strop.source", "strop.onnx_backend",
]
forbidden_modules = ["torch", "tensorflow"]
allow_indirect_imports = true

[[tool.importlinter.contracts]]
name = "LLVM is used by the target, codegen, the cost model and the JIT only"
type = "forbidden"
source_modules = [
    "strop.core", "strop.target.description", "strop.target.ports", "strop.graph", "strop.loops", "strop.schedule",
    "strop.cost.model", "strop.cost.footprint", "strop.cost.instruction_estimate", "strop.cost.instructions",
    "strop.cost.simulate", "strop.driver", "strop.frontend", "strop.runtime.onnx", "strop.runtime.program",
    "strop.session", "strop.cli", "strop.kernels", "strop.source", "strop.verify",
]
forbidden_modules = ["llvmlite"]
allow_indirect_imports = true
"""
