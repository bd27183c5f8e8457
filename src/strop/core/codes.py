"""Every problem code with its title and one paragraph: what it means, why it happens, what to do.

STR0xx the call, extensions   STR10x–STR12x capture   STR2xx graph   STR3xx nests and passes   STR4xx code and run
STR5xx cache   STR6xx checks.   The rules of the source half (STR13x–STR19x, STR7xx) explain themselves, in
`source/rules.py`.
"""

from __future__ import annotations

from typing import NamedTuple


class Explanation(NamedTuple):
    title: str
    text: str


CODES: dict[str, Explanation] = {
    "STR001": Explanation(
        "wrong argument",
        "A function or command was called with an argument of a type or value that it cannot use. The message names "
        "the argument and what was expected. `strop.compile` takes an `nn.Module`, a tuple of example inputs and, "
        "if the model needs them, a dict of keyword arguments.",
    ),
    "STR002": Explanation(
        "the model was not found",
        "MODEL is written `package.module:factory` or `path/to/file.py:factory`. Either the text has no colon, or "
        "the module could not be imported, or it has no function of that name. Check that the package is importable "
        "from where you are (`python -c 'import package.module'`) and that the spelling agrees.",
    ),
    "STR003": Explanation(
        "the factory returned something else",
        "A factory takes no arguments and returns `(module, inputs)` or `(module, inputs, kwargs)`: an `nn.Module`, "
        "a tuple of example inputs and a dict of keyword arguments. A single tensor is accepted in place of the "
        "tuple.",
    ),
    "STR004": Explanation(
        "something is not installed",
        "The command needs a package that is not installed here. `pip install strop[bench]` brings ONNX Runtime, "
        "OpenVINO and what the benchmark needs; `strop doctor` shows what was found.",
    ),
    "STR005": Explanation(
        "a setting cannot be read",
        "An option or a `STROP_…` environment variable has a value of the wrong form: a number was expected, or a "
        "size such as `500MB`, or `0`/`1` for a switch. The message names the variable and the value.",
    ),
    "STR006": Explanation(
        "a file changed meanwhile",
        "Between reading a file and writing its new text somebody else changed it. It was left as it is; files that "
        "were written before it are whole. Run the command again.",
    ),
    "STR007": Explanation(
        "the project's settings cannot be read",
        "`[tool.strop]` in pyproject.toml holds a setting that does not exist or a value of the wrong kind, or the "
        "file is not valid TOML. The message names it; docs/scan.md lists the settings.",
    ),
    "STR008": Explanation(
        "nothing to compare with",
        "`--baseline` names a file that is missing or was not written by `--write-baseline`, or `--changed-since` a "
        "revision that git does not know, or the folder is in no git repository. Write the baseline first, or fetch "
        "the revision (CI checkouts are often shallow: `fetch-depth: 0`).",
    ),
    "STR010": Explanation(
        "a rule file cannot be read",
        "A file of rules for kernels to adopt (`--rules DIR`, `rules` in [tool.strop]) has an error: the message shows "
        "the line with a caret below the character where reading stopped. docs/adopt.md has the grammar; `strop "
        "explain` lists the codes that are taken.",
    ),
    "STR011": Explanation(
        "an extension cannot be registered",
        "What was given to `strop.extend`, or a class that derives from `Pass`, cannot be used: its name is taken (by "
        "Strop or by another package), an argument is of the wrong kind, a description of a machine holds numbers that "
        "cannot be true, or its source cannot be read and no `version` was given: cached code would not notice when it "
        "changes. Nothing was registered.",
    ),
    "STR012": Explanation(
        "an extension failed",
        "Code that a script or a package has registered with Strop raised an exception, or answered with what cannot "
        "be used: a pass that breaks the graph, a rule that makes another type, a lowering that does not write "
        "its result. The message names the extension and its place; the original exception is the cause of this one. "
        "Session, module and cache are as they were. Mend the extension, take it out (`strop.extend.unregister`), or "
        "leave all packages' extensions out with STROP_EXTENSIONS=0.",
    ),
    "STR013": Explanation(
        "the extensions of a package are left out",
        "An installed package declares an entry point `strop.extensions` that could not be loaded: importing it or "
        "calling it failed, or it registers a name that is taken. Nothing of it is registered; everything else works. "
        "The message names the package and the reason. Mend or remove the package, or set STROP_EXTENSIONS=0.",
    ),
    "STR014": Explanation(
        "an operation was cancelled",
        "`Session.cancel()` was called while the session planned, compiled, measured or checked. The session, its "
        "module and its history are as they were before the operation; do it again when you like.",
    ),
    "STR020": Explanation(
        "the studio cannot answer a message",
        "A message over the WebSocket of the studio is not a request, names an unknown command, lacks an argument "
        "or has one of another kind, is too long, or comes too fast. The page of the studio sends none of these; "
        "programs that speak to it find the form in `studio/messages.py`. Nothing was changed.",
    ),
    "STR021": Explanation(
        "a command of the studio failed",
        "Something in Strop raised an exception that is no answer to the request: a bug. The terminal in which the "
        "studio runs has the traceback. The studio goes on.",
    ),
    "STR101": Explanation(
        "the model cannot be exported",
        "`torch.export` could not turn the model into one graph, most often because Python code branches on the "
        "value of a tensor or calls into a library that cannot be traced. The message holds torch's reason, and the "
        "line of the model where torch tells it. Rewrite what is named there, or pass `partial=True`: then Dynamo "
        "splits the model around it and Strop compiles the pieces.",
    ),
    "STR102": Explanation(
        "example inputs are missing",
        "`strop.compile(model, args)` needs example inputs, since shapes and dtypes decide the code. Pass a tuple "
        "with one entry per positional argument of `forward`; their values do not matter.",
    ),
    "STR103": Explanation(
        "unsupported device or kind of tensor",
        "Strop generates CPU code on dense tensors whose changes it can see. A parameter or an input lives on another "
        "device (move it with `.to('cpu')`), has no values (a meta tensor: make it on the CPU), is sparse "
        "(`.to_dense()`), was made under `torch.inference_mode` (make the model outside of it, or compile "
        "`copy.deepcopy(model)`), or is of a class of its own. The message names it and what to do.",
    ),
    "STR104": Explanation(
        "unsupported dtype",
        "A tensor has an element type that neither generated code nor a library node handles in this place. "
        "float32, float64, int32, int64 and bool compile natively; float16, bfloat16 and small integers run through "
        "library nodes.",
    ),
    "STR105": Explanation(
        "the arguments do not fit the compiled model",
        "A compiled module was called with another number of arguments, other keyword names or other types than the "
        "example inputs had. Compile again with inputs of the new kind, or call the original module. An ONNX model "
        "takes inputs of the element types, ranks and fixed extents that its file declares, and no others.",
    ),
    "STR106": Explanation(
        "a shape depends on data",
        "The size of a tensor is known only after the program ran (`nonzero`, boolean masks, `unique`). Strop "
        "compiles one variant per shape and needs the shape beforehand. Use `torch.where` with a mask, or "
        "`partial=True`.",
    ),
    "STR107": Explanation(
        "an operator without a name in the operator set",
        "Capture met an ATen operator for which there is neither a normalisation nor a library call. This is a gap "
        "in Strop: please report it with the operator's name. `partial=True` keeps that operator in eager mode.",
    ),
    "STR108": Explanation(
        "there is nothing to compile",
        "Every output of the model is one of its inputs or a view of one, so no code is needed. `strop.compile` "
        "returns a module that hands the inputs on; a Session has no nests to show.",
    ),
    "STR109": Explanation(
        "the model itself fails on the example inputs",
        "Capture failed, and so does the model in eager mode with the same inputs: most often a shape or a dtype that "
        "its layers do not take, or an exception of its own. The message holds what eager mode raised. Pass inputs "
        "with which `model(*args, **kwargs)` runs.",
    ),
    "STR121": Explanation(
        "the ONNX file cannot be read",
        "The file is not what it says to be: it is truncated or damaged, a tensor's data does not fit its shape, nodes "
        "depend on one another in a circle, or a node reads a value that nothing makes. The message names the node or "
        "the tensor. `python -m onnx.checker` on the file tells more; export the model again.",
    ),
    "STR122": Explanation(
        "external data was refused",
        "A tensor of an ONNX model keeps its bytes in another file. That file must lie in the model's own folder or "
        "below it, links resolved, and be as long as the model says; anything else would let a model read files that "
        "are none of its business.",
    ),
    "STR123": Explanation(
        "an ONNX operator is not covered",
        "The model uses an operator, an opset or a form of an operator that Strop has no function for. The message "
        "names the node. docs/onnx.md lists what is covered; converting the model to a newer opset may help.",
    ),
    "STR124": Explanation(
        "a node of the ONNX model fails",
        "An operator cannot be computed on the inputs that it gets: shapes that do not fit, an axis that is not there, "
        "a wrong element type. The message names the node and the reason. Check the shapes that were given with the "
        "model's inputs.",
    ),
    "STR201": Explanation(
        "the graph broke its own rules",
        "A verifier between two steps (`check=True`, `STROP_CHECK=1`) found a node whose inputs, attributes or type "
        "contradict the operator set. The message names the step that produced it. This is a bug in Strop, not in "
        "your model.",
    ),
    "STR202": Explanation(
        "unknown operator or attribute",
        "A node names an operator that `graph/operators.py` does not document, or carries an attribute that this "
        "operator does not have.",
    ),
    "STR203": Explanation(
        "a symbolic extent has no fixed answer",
        "A shape holds a symbol, which stands for every number between its bounds, and something was asked that is "
        "true for some of these numbers only: whether a slice stays inside, whether an extent divides another, or "
        "which number it is. The message names the question and the symbol with its bounds. Give the symbol bounds "
        "that decide the question (`low` above 0 where an extent of 0 is another case), or put a number in its place.",
    ),
    "STR301": Explanation(
        "a pass was refused",
        "A scheduling step does not apply where it was asked to: a loop that does not exist, a factor of zero, a "
        "reordering that a dependence forbids. The message is the reason that the pass's own check gave.",
    ),
    "STR302": Explanation(
        "the text of a pass cannot be read",
        "A pass is written `name{field=value field=value}`, for example `split{nest=conv1 loop=ow by=6}`. The name "
        "is unknown, a field is missing or misspelt, or the text is not closed.",
    ),
    "STR303": Explanation(
        "a nest broke its own rules",
        "A verifier between two steps found a nest whose reads, writes or loops contradict each other. The message "
        "names the nest and the step. This is a bug in Strop, not in your model.",
    ),
    "STR304": Explanation(
        "no such nest, loop or buffer",
        "A name was used that the program does not contain. `session.nests` prints every nest with its loops.",
    ),
    "STR305": Explanation(
        "no lowering",
        "An operator cannot be expanded into loops in this form. The compiler normally runs it as a library node; "
        "this problem is raised only where a lowering was demanded.",
    ),
    "STR306": Explanation(
        "a saved session cannot be used",
        "The file is not a session that this version of Strop has written, or it belongs to another model: passes by "
        "hand name the nodes and nests of one captured graph. Nothing in the file is executed; the session that was "
        "asked to read it is left as it was.",
    ),
    "STR307": Explanation(
        "symbolic extents cannot be planned",
        "The program has dimensions that are symbols with bounds. Such a program is checked, lowered and printed, but "
        "layouts, schedules and code generation need numbers: each compiled program serves one set of shapes. The "
        "message names the symbols. Give each a number with `graph.bind({'n': 8})` and compile the graph that it "
        "returns, once per set of shapes.",
    ),
    "STR308": Explanation(
        "a training step does not fit its memory budget",
        "`memory` is a number of bytes that forward may keep for backward; parameters and inputs do not count. "
        "Random draws (dropout) are never computed again, so what they made has to be kept, whatever the budget. The "
        "message says how little the step can keep.",
    ),
    "STR401": Explanation(
        "LLVM refused the code",
        "The generated LLVM IR did not parse or verify. The message holds LLVM's own words and the nest concerned. "
        "This is a bug in Strop: please report it with the output of `strop compile --json`.",
    ),
    "STR402": Explanation(
        "unknown target",
        "The CPU named is not among the descriptions that Strop ships, nor in a folder that STROP_TARGETS lists; or "
        "code for it does not run on this machine. `strop targets` lists the known ones, `strop doctor` prints the "
        "name of this machine's. A description of your own may be given as a file: `--target mine.toml`.",
    ),
    "STR403": Explanation(
        "a runtime symbol is missing",
        "Generated code needs a function of the runtime (threads, memory) that could not be found in this process. "
        "`strop doctor` shows which OpenMP runtime torch has loaded.",
    ),
    "STR404": Explanation(
        "the library call failed",
        "An operator that runs through its ATen kernel raised an error. The message holds torch's own words; the "
        "same call in eager mode fails alike.",
    ),
    "STR405": Explanation(
        "a parameter was released",
        "The model was compiled with `release=True`: parameters that native code reads in packed form only were given "
        "up, and something needs one of them after all: the original module (gradients, autocast, a call that cannot "
        "be served natively), another shape that packs it in another way, `state_dict`, `refresh()`, `.to()`, a copy, "
        "`torch.save`. Compile without `release=True`, call it for all shapes that share their packed weights, or "
        "give the module new weights with `load_state_dict(…, assign=True)`.",
    ),
    "STR406": Explanation(
        "the optimizer cannot be fused",
        "`strop.fuse_optimizer` takes `torch.optim.Adam`, `AdamW` and `SGD` themselves. Classes derived from them may "
        "compute something else, an optimizer whose `step` was replaced would lose the replacement, and one that is "
        "fused already has its settings. The message says which of these it is. What a fused optimizer cannot update "
        "natively, such as float64 parameters, is no error: PyTorch's own step updates it, and `optimizer.journal` "
        "says so.",
    ),
    "STR407": Explanation(
        "a description of a CPU is wrong",
        "A TOML file that describes a CPU lacks a number, has one that no machine has, or says something that Strop "
        "does not know. The message names the line. docs/targets.md explains every entry; `strop targets show NAME` "
        'prints a description that works, and `like = "NAME"` in a file takes from it what the file does not say.',
    ),
    "STR408": Explanation(
        "the model cannot be put into a file",
        "`strop compile MODEL -o model.strop` writes programs that run without PyTorch. What only PyTorch can do is "
        "refused: operators that run through ATen kernels (the message names them; docs/library-nodes.md says why), "
        "models that write to their own buffers or inputs, results that are inputs themselves, random numbers.",
    ),
    "STR501": Explanation(
        "a cache entry is damaged",
        "An entry on disk did not match its checksum (a full disk, a killed process, a bad medium). It was deleted "
        "and the model is compiled afresh; nothing needs to be done unless it happens often.",
    ),
    "STR502": Explanation(
        "the cache cannot be written",
        "The cache directory does not exist and cannot be made, is read-only, is full, or may be written by other "
        "users (cached code is executed, so it must not). Compilation goes on without it. Set STROP_CACHE to a "
        "directory of your own, or STROP_CACHE=off for silence.",
    ),
    "STR503": Explanation(
        "not a cache key",
        "Cache keys are hexadecimal digests of what the code depends on. This is a bug in the caller.",
    ),
    "STR504": Explanation(
        "not a compiled program",
        "Bytes that should hold a compiled program do not: they are something else, are damaged, are in a format of "
        "another version of Strop, or hold values that contradict each other (a tensor outside of its memory, a slot "
        "that does not exist). Nothing of them was executed. The message names the first fault. Compile the model "
        "again; an entry of the cache with such a fault is deleted by itself. While a model is compiled, the code "
        "means that an operator has an attribute which is no number, string, tuple or None.",
    ),
    "STR505": Explanation(
        "the tuning database cannot be used",
        "The SQLite file that `strop tune` writes (STROP_TUNING, or `tuning.sqlite` beside the cache) is damaged or no "
        "such file, was written by a newer Strop, or could not be written: the disk is full, the file is read-only, or "
        "another process kept it locked for a minute. What was committed before is still in it. A compilation goes on "
        "without tuned schedules and says so; tuning stops. `strop tuned export` and `strop tuned import` carry "
        "records from one file to another.",
    ),
    "STR506": Explanation(
        "tasks cannot be run",
        "Work that is spread over processes or over a Ray cluster could not be done: the cluster was not found at the "
        "address, Ray is not installed (`pip install strop[scale]`), or a task ended its process several times. The "
        "message says which. What other tasks have finished is kept; the same command goes on from there.",
    ),
    "STR507": Explanation(
        "not a model file",
        "The file is something else, is damaged, was written by another version of Strop, or holds values that "
        "contradict each other (a weight outside of the file, a slot that does not exist). Nothing of it was executed. "
        "The message names the first fault. Compile the model again.",
    ),
    "STR508": Explanation(
        "this machine cannot run the model file",
        "A model file holds code for one or several CPUs, each with the features (instruction sets) that it may use. "
        "This machine lacks some of every one of them, or is of another architecture. Compile the model for this CPU "
        "too: `--target` may be given several times, and the best one is chosen when the file is loaded.",
    ),
    "STR601": Explanation(
        "the outputs differ from eager",
        "A comparison of compiled and eager outputs exceeded the tolerance. The message names the output and the "
        "error relative to its scale. Please report it with the model; eager mode keeps working.",
    ),
    "STR602": Explanation(
        "the graphs do not do what eager mode does",
        "`strop verify` ran the code twice, eagerly and as graphs, and saw another result, other printed text, other "
        "test outcomes, or a failure on one side only. The report names the first difference. Revert the edit, or "
        "silence its finding with `# strop: ignore[…]`.",
    ),
    "STR603": Explanation(
        "the code to verify did not run",
        "`strop verify` starts the project's own code in child processes. It raised an error by itself, ran into the "
        "time limit (`--timeout`) or into the memory cap (`--memory`), or the package that it needs is not installed "
        "for that Python (`--python` names another one).",
    ),
}
