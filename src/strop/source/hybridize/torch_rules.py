"""The rules for PyTorch: what `torch.compile` cannot hold in one graph, what makes it compile again, what it changes.

Each text is the rule's page in `strop explain`. Names in `BREAKS` are those that `torch_breaks.toml` uses.
"""

from __future__ import annotations

from strop.source.rules import declare

TO_GRAPH = declare(
    "STR150",
    "compile",
    """The function can run as one graph under `torch.compile`.

    Nothing in it, or in what it calls, ends a graph: Dynamo captures it whole, and the compiler sees every operation
    at once. It is the outermost such function: what it calls is compiled with it. A model that a script makes is
    compiled there; a model of a library, by its `forward`. It is proposed only where the estimate of what it contains
    (element-wise operations and norms, which fuse, beside products and convolutions, which do not) is 1.15 times or
    more, and never for what runs once, has five operations or fewer, is traced, scripted or exported, or is a test.

    Instead of:  net = Net()
    Write:       net = Net()
                 net.compile()
    or:          @torch.compile
                 def forward(self, x): …
    """,
)
COMPILED = declare(
    "STR151",
    "compiled-already",
    """The function is compiled already, and nothing in it ends its graph.

    There is nothing to do.
    """,
)
COVERED = declare(
    "STR152",
    "compiled-with-caller",
    """The function is compiled as a part of what calls it.

    Dynamo follows calls: a function that runs inside a compiled one needs no `torch.compile` of its own. Compile the
    outermost function that holds together as one graph.
    """,
)
NO_COMPUTATION = declare(
    "STR153",
    "nothing-to-compile",
    """The function computes nothing with tensors.

    A graph would be empty, and the checks that guard it cost more than the call.
    """,
)
UNDETERMINED = declare(
    "STR154",
    "cannot-be-determined",
    """It cannot be determined whether the function holds together as one graph.

    It calls a library that the analysis has no model for, or something that is passed in, or it was too large to
    follow. `strop verify` runs it and counts.
    """,
)
CHANNELS_LAST = declare(
    "STR180",
    "channels-last",
    """A network of convolutions runs in the layout that PyTorch stores images in by default.

    The kernels of 2-d convolutions on CPUs work on images with the channels last; in the default layout each of them
    converts its input and its result. One line where the model is made stores its weights that way, and the activations
    follow. `x.view(…)` of an image in such a model becomes `x.reshape(…)`, which copies where a view is not possible.
    Training steps of twelve networks became 1.0 to 1.45 times as fast on one thread, and ten networks that are only run
    1.02 (a U-Net of diffusers) to 1.99 (SqueezeNet). What is compiled chooses its layouts by itself.

    Instead of:  net = Net()
    Write:       net = Net()
                 net.to(memory_format=torch.channels_last)
    """,
)
MEMORY_GIVEN_BACK = declare(
    "STR181",
    "memory-given-back",
    """A script trains a network of convolutions with batch normalisation, and gives its memory back at every step.

    glibc's `malloc` returns memory to the system when a large block is freed, or when more than twice the largest block
    so far is free at the end of the heap. The activations of the next step are then new pages: the kernel clears each
    of them, and the program stops at each of them for a page fault. Three variables of the environment make `malloc`
    keep what it has. glibc reads them when the program starts, so this is a command line and no edit. Results do not
    change.

    It is told only when asked for, by `--select STR181`. Training steps of seven networks on one thread of a Zen 5
    became 0.99 to 1.56 times as fast, with a median of 1.10, which is below what is told by default: VGG-11 with batch
    norms 1.56, MobileNetV2 1.23 (measured once), a ResNet for CIFAR 1.21, a U-Net 1.10, EfficientNet-B0 1.10 and 1.05,
    DenseNet-121 1.05 and 1.07, ResNet-18 1.06 and 0.99. Transformers gained 1 to 3%. In inference it depends on the
    run: a MobileNetV3 gained a quarter in one and nothing in another.

    What it saves are page faults, and the source does not show how many there are. VGG-11 has 120,000 of them at each
    step, for gradients of its classifier that are 400 MB large. ResNet-18 has 3,000 with a batch of four pictures and
    900 with 32, EfficientNet-B0 3,000 with four and 30,000 with 16 larger ones. `time python train.py` tells: the share
    of system time (`sys`) is about what can be saved, a third for VGG-11, 7% for ResNet-18.

    It costs memory where a program needs much of it once: what was allocated stays with the process until it ends, and
    up to 64 MB more. Leave it out where other processes need that memory, and where another allocator (jemalloc,
    tcmalloc) is preloaded. With worker processes that load data, each has the same setting.

    Instead of:  python train.py
    Run:         export MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=10737418240
                 MALLOC_TOP_PAD_=67108864 python train.py
    """,
)
RECOMPILES_EVERY_CALL = declare(
    "STR170",
    "recompiles-every-call",
    """The function changes Python state that its own guards read.

    Dynamo checks every global, attribute and container that a graph was made with. A counter or a list that each call
    changes fails that check each time: after eight compilations (`recompile_limit`) PyTorch gives up and runs the
    function eagerly. Numbers that are plain arguments do not suffer from this.

    Instead of:  self.calls += 1            in `forward`
    Write:       self.calls.add_(1)         with `self.register_buffer("calls", torch.zeros((), dtype=torch.long))`
    or count where the function is called.
    """,
)
RECOMPILES_PER_VALUE = declare(
    "STR171",
    "recompiles-per-value",
    """An argument makes a new graph for every new value.

    Text, the length of a list, a number that decides how often a loop runs: each new value is a new graph, up to
    `recompile_limit`, which is eight. Numbers that are compared for equality make one for each answer. Those that only
    take part in arithmetic, or are compared by size, cost one or two more compilations, the first times that they
    change. A tensor never costs one.

    Instead of:  step(x, 0.1 * epoch)
    Write:       step(x, torch.tensor(0.1 * epoch))
    """,
)
COMPILED_IN_LOOP = declare(
    "STR172",
    "compiled-in-a-loop",
    """`torch.compile` is called again and again.

    Each call makes a new wrapper, and a function or module that is new each time is compiled each time. Compile once,
    outside of the loop or of the function that is called often.

    Instead of:  for batch in loader: out = torch.compile(model)(batch)
    Write:       model = torch.compile(model)
                 for batch in loader: out = model(batch)
    """,
)
VARYING_SHAPES = declare(
    "STR173",
    "varying-shapes",
    """Callers pass tensors of different shapes.

    The first other size costs one more compilation, with that size left open; another number of dimensions or another
    dtype costs one each. `torch.compile(dynamic=True)` leaves sizes open from the start.
    """,
)
OTHER_RANDOM_NUMBERS = declare(
    "STR175",
    "other-random-numbers",
    """NumPy's random numbers come from another stream when compiled.

    Dynamo runs `numpy.random` as PyTorch operations: other numbers than in eager mode, and NumPy's own state does not
    advance. Nothing says so when it happens. Use `torch.rand` and the like.
    """,
)
CACHE_BYPASSED = declare(
    "STR176",
    "cache-bypassed",
    """A cached function runs anew inside a graph.

    Dynamo looks through `functools.lru_cache` at the function behind it: what that function changes happens at every
    call, and the cache is neither read nor filled. Call it outside, and pass the result.
    """,
)
WAITS = declare(
    "STR179",
    "waits-every-step",
    """A loop that trains or evaluates takes a value out of a tensor at every step.

    A GPU works through a queue of kernels. `.item()`, `.tolist()`, `.numpy()`, `float(loss)` and an `if` on a tensor
    wait until the queue is empty, and it stays empty while Python prepares the next step: the loop is as slow as both
    together. On a CPU it costs next to nothing. Every hundredth step, or after the loop, it does no harm.

    Instead of:  total += loss.item()
    Write:       total += loss.detach()     and `total.item()` after the loop
    """,
)

#: rules for graph breaks: name → code
BREAKS = {
    "data-dependent-branch": declare(
        "STR155",
        "data-dependent-branch",
        """Python asks for the truth of a tensor.

        `if`, `while`, `and`, `or`, `not` and conditional expressions need a Python bool; the value of a tensor is
        known only when the graph has run. The graph ends there, and a second one begins.

        Instead of:  if x.sum() > 0: y = x * 2
                     else: y = -x
        Write:       y = torch.where(x.sum() > 0, x * 2, -x)
        `torch.cond` does the same for larger branches; a plain `assert` of a tensor is allowed, if its message is a
        constant.
        """,
    ),
    "tensor-to-python": declare(
        "STR156",
        "tensor-to-python",
        """A number is taken out of a tensor.

        `.item()`, `.tolist()`, `int()`, `float()` and `math.…` wait for the value and leave the graph. (With
        `fullgraph=True`, or `torch._dynamo.config.capture_scalar_outputs`, PyTorch keeps most of these as symbols, as
        long as no branch needs the value.)

        Instead of:  x / x.max().item()
        Write:       x / x.max().detach()
        """,
    ),
    "dynamic-shape": declare(
        "STR157",
        "dynamic-shape",
        """The shape of a result depends on data.

        `nonzero`, `unique`, `masked_select`, `x[mask]` and `torch.where(mask)` give as many elements as the data has.
        The graph ends there unless `fullgraph=True` or `capture_dynamic_output_shape_ops` is set.

        Instead of:  x[x > 0].sum()
        Write:       torch.where(x > 0, x, 0).sum()
        """,
    ),
    "print-or-log": declare(
        "STR158",
        "print-or-log",
        """Something is printed or logged.

        Output cannot be part of a graph. Print what the function returns, where it is called; or write `if not
        torch.compiler.is_compiling(): print(…)`.
        """,
    ),
    "untraceable-call": declare(
        "STR159",
        "untraceable-call",
        """A function is called that Dynamo cannot follow.

        It is written in C, belongs to a library that works on other data than tensors, or is one of those that
        PyTorch skips. Call it before or after the compiled function, or make it an operator with
        `torch.library.custom_op`.
        """,
    ),
    "data-dependent-operator": declare(
        "STR160",
        "data-dependent-operator",
        """An operator looks at values and answers with a Python value.

        `torch.equal`, `torch.allclose` and `is_nonzero` give a bool, which needs the data.

        Instead of:  if torch.equal(a, b): …
        Write:       torch.where((a == b).all(), …, …)
        """,
    ),
    "autograd-inside": declare(
        "STR161",
        "autograd-inside",
        """Gradients are computed inside the function.

        Dynamo captures the forward computation and lets autograd make the backward one. `backward()` and
        `torch.autograd.grad` inside end the graph. Compile the forward part (the model, or the loss), and leave
        `backward()` to the training step; or use `torch.func.grad`.
        """,
    ),
    "clock-or-random": declare(
        "STR162",
        "clock-or-random",
        """The clock or the state of a random number generator of Python is read.

        Dynamo does not trace `time`, `datetime` and most of `random`. Measure outside; draw random numbers with
        `torch.rand`.
        """,
    ),
    "module-made-inside": declare(
        "STR163",
        "module-made-inside",
        """A module or parameter is made, moved or hooked inside the function.

        Parameters are made once, in `__init__`. Inside a graph they would be new at every call, and Dynamo refuses to
        make them.
        """,
    ),
    "generator": declare(
        "STR164",
        "generator",
        """The function is a generator or a coroutine.

        Dynamo follows generators that a compiled function uses up; it does not compile one by itself. Return a list
        or a stacked tensor.
        """,
    ),
    "text-of-tensor": declare(
        "STR165",
        "text-of-tensor",
        """A tensor becomes text.

        `str(x)`, `repr(x)` and f-strings need values. Shapes, dtypes and devices may be formatted.
        """,
    ),
    "context-manager": declare(
        "STR166",
        "context-manager",
        """A context manager is entered that Dynamo does not know.

        `torch.no_grad()`, `autocast`, `contextlib.nullcontext` and context managers of your own are fine; locks,
        files and some of `contextlib` are not.
        """,
    ),
    "training-loop": declare(
        "STR167",
        "training-loop",
        """The function drives training: it steps an optimiser or walks a `DataLoader`.

        These end graphs by design. Compile the model, or a function from batch to loss, and leave the loop as it is.
        """,
    ),
    "recurrent-module": declare(
        "STR168",
        "recurrent-module",
        """`nn.LSTM`, `nn.GRU` or `nn.RNN` is called.

        Dynamo leaves them out of graphs, unless `torch._dynamo.config.allow_rnn` is set; their kernels are large, so
        little is lost. Compile what comes before and after.
        """,
    ),
    "asked-for-break": declare(
        "STR169",
        "asked-for-break",
        """The code asks for a graph break.

        `torch._dynamo.graph_break()` or a function under `@torch.compiler.disable` is called.
        """,
    ),
    "input-output": declare(
        "STR174",
        "input-output",
        """Files, processes or the environment are used.

        Input and output cannot be part of a graph. Read before, write after.
        """,
    ),
    "tensor-state": declare(
        "STR177",
        "tensor-state",
        """The state of a tensor is changed in a way that a graph cannot express.

        `requires_grad_()`, assignments to `.requires_grad` or `.data`, `resize_`, `set_` and the like change the
        tensor object and not its values. Do so outside.
        """,
    ),
    "python-object": declare(
        "STR178",
        "python-object",
        """A class is defined, or an attribute of a class or function is set, inside the function.

        Dynamo makes no classes, and sets no attributes of classes and functions. Define the class at module level, and
        count in an attribute of an object.
        """,
    ),
}
