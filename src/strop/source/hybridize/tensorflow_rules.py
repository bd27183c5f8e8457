"""What `strop scan` says about functions of TensorFlow: reasons for a verdict, and verdicts that bring edits."""

from __future__ import annotations

from strop.source.rules import declare

SIDE_EFFECTS = declare(
    "STR130",
    "python-side-effects",
    """The function has Python side effects.

    It writes to globals, captured variables, or objects that existed before the call, prints, or does input or output.
    A `tf.function` does such things only while it is traced, most often once, and never again.

    Instead of:  history.append(loss)      inside the function
    Write:       return loss               and append where it is called
    """,
)
UNKNOWN_EFFECTS = declare(
    "STR131",
    "side-effects-unknown",
    """It cannot be determined whether the function has side effects.

    It calls something that the analysis cannot see: a library without a model, a callable that is passed in, `exec`.
    """,
)
NO_TENSORS = declare(
    "STR132",
    "no-tensor-parameter",
    """No parameter of the function is a tensor.

    A graph function is worth while when tensors flow in: anything else is a constant of the trace, and every new value
    makes another graph.
    """,
)
UNKNOWN_TENSORS = declare(
    "STR133",
    "tensor-parameter-unknown",
    """It cannot be determined whether a parameter is a tensor.

    Nothing in the project calls the function with something known, and there is no type hint. Add a hint such as
    `x: tf.Tensor`, or scan the code that calls it as well.
    """,
)
RECURSIVE = declare(
    "STR134",
    "recursive",
    """The function calls itself, directly or through others.

    Tracing a recursive function does not end unless Python values decide the depth. Use a loop.
    """,
)
UNKNOWN_RECURSION = declare(
    "STR135",
    "recursion-unknown",
    """It cannot be determined whether the function is recursive.

    The analysis gave up on following what it calls.
    """,
)
PRIMITIVE = declare(
    "STR136",
    "primitive-parameter",
    """A parameter takes Python numbers or strings.

    Every new value of a Python argument makes `tf.function` trace the function again. Pass a tensor instead
    (`tf.constant(3)`), or keep the function eager.
    """,
)
NO_COMPUTATION = declare(
    "STR137",
    "no-tensor-computation",
    """The function computes nothing with tensors.

    A graph would contain no operations, and calling a graph function costs more than calling a Python function.
    """,
)
GRAPH_CALLERS = declare(
    "STR143",
    "callers-are-graphs",
    """Everything that calls the function is a graph function already.

    What a graph function calls is traced into its graph. Another `tf.function` inside brings nothing.
    """,
)
OPTIMAL = declare(
    "STR146",
    "already-optimal",
    """The graph function is well as it is.

    It takes tensors, no Python numbers, has no side effects, and has a signature or none can be inferred.
    """,
)
TO_GRAPH = declare(
    "STR147",
    "to-graph",
    """The function can run as a graph.

    It takes tensors, has no Python side effects, no primitive parameters and is not recursive: `@tf.function` keeps its
    results and takes the cost of Python out of every call.
    """,
)
TO_EAGER = declare(
    "STR148",
    "to-eager",
    """The graph function would be better off without `tf.function`.

    It takes no tensors, computes nothing with them, or is traced again for every new value of a Python argument.
    """,
)
ADD_SIGNATURE = declare(
    "STR149",
    "add-signature",
    """A signature would keep the function from being traced again.

    Its callers pass tensors of known dtypes. `input_signature` makes one graph for all of them, and refuses anything
    else with a clear error.
    """,
)
