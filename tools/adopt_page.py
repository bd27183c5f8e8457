"""docs/adopt.md: the architecture language, its grammar, and tables of rules, checks and operations from the code."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

EXAMPLE = """import torch
from torch import nn


class Mlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate = nn.Linear(config.hidden_size, config.inner_size, bias=False)
        self.up = nn.Linear(config.hidden_size, config.inner_size, bias=False)
        self.down = nn.Linear(config.inner_size, config.hidden_size, bias=False)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))
"""

GRAMMAR = """file      = head , { header } , { block } ;
head      = "rule" , name , code ;                       (* small letters and hyphens; STR700 to STR799 *)
header    = "family" , word        | "title" , text      | "message" , text
          | "safety" , ( "exact" | "close" , number | "training" | "eval" )
          | "gain" , number        | "strop-gain" , number
          | "target" , { "cpu" | "cuda" } | "default" , ( "on" | "off" )
          | "order" , number       | "requires" , { requirement }  | "through" , { operation | "nothing" } ;
block     = '\"\"\"' , documentation , '\"\"\"'
          | "pattern:" , { layer | line }                (* several patterns are alternatives *)
          | "where:" , { guard }                         (* no match without these *)
          | "refuse unless:" , { guard }                 (* no edit without these: the reason is told *)
          | "assume unless:" , { guard }                 (* without these the edit rests on what they say *)
          | "use:" , { use }
          | "use with strop:" , { use }                  (* where the program may import Strop *)
          | "define:" , { "replace" , name , "with" , template | "add" , name , "=" , template | "remove" , name }
          | "state:" , { key , "=" , key , { "+" , key } }
          | "import:" , { import statement } ;
layer     = "layer" , name , ":" , class , { "|" , class } , [ "(" , keyword , { "," , keyword } , ")" ] ;
line      = [ name , "=" ] , term ;                      (* lines that no other line uses are the results *)
term      = single , { "|" , single } ;
single    = number | text | "None" | "True" | "False" | "_" | name | "(" , term , ")"
          | ( operation | name of a layer ) , [ "?" | "*" ] , "(" , [ argument , { "," , argument } ] , ")" ;
argument  = term | keyword ;
keyword   = name , "=" , term ;
guard     = [ "not" ] , check , "(" , [ name | number | text , { "," , … } ] , ")" ;
use       = [ name , { "," , name } ] , "=>" , template ;
template  = Python text with "$x" | "$x.attribute" | "$x:argument" | "$x:function" | "$x:lowest"
          | "[[" optional "]]" | "[[$x:" … "]]" | "[[!$x:" … "]]"
          | "+(" , arguments , ")"                       (* the result is a call: give it these, too *)
          | "loop(" , statement , { ";" , statement } , ")" ;      (* in the place of the loop around it *)"""


def parts(table: Callable[[tuple[str, ...], list[tuple[str, ...]]], str]) -> list[str]:
    from strop.source.adopt import rulebook, show
    from strop.source.adopt.guards import GUARDS
    from strop.source.adopt.operations import GROUPS, KINDS
    from strop.source.adopt.rulebook import HOME

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mlp.py"
        file.write_text(EXAMPLE)
        shown = show.file(str(file), "Mlp")
    rules = [
        (
            rule.code,
            f"`{rule.name}`",
            rule.family,
            rule.title,
            rule.safety + (f" {rule.tolerance:g}" if rule.tolerance else ""),
            " / ".join(f"{gain:g}×" for gain in (rule.gain, rule.strop_gain) if gain is not None),
            "edits" if rule.use or rule.strop_use else "reports",
            "with Strop"
            if rule.needs_strop
            else "cuda"
            if "cpu" not in rule.targets
            else "on"
            if rule.default
            else "off",
        )
        for rule in sorted(rulebook.load(), key=lambda rule: rule.code)
    ]
    checks = [(f"`{name}`", (check.__doc__ or "").strip()) for name, check in sorted(GUARDS.items())]
    groups = [(f"`{name}`", ", ".join(f"`{kind}`" for kind in sorted(kinds))) for name, kinds in GROUPS.items()]
    kinds = ", ".join(f"`{kind}`" for kind in sorted(KINDS - GROUPS.keys()))
    return [
        """
        `strop scan` finds where a model's source computes something the slow way: attention written out, norms and
        activations by hand, projections one by one, optimizers that update tensor by tensor. `strop fix` puts the
        faster kernel in its place. What to look for is said by rules, one per file, in a small language that also
        prints what was understood of a model. Looking imports and runs nothing; before an edit is written, both
        versions are run and compared.
        """,
        "## What is written",
        """
        `strop fix --write` runs every file whose kernels it would change in both versions, in a process of its own:
        random weights and inputs, outputs and gradients, in training and in eval mode, in float64 and float32, inputs
        of two shapes where it finds them, and the checkpoint of the one in the other. What is equal is written. What
        differs never is. What could not be run is listed as "not run" with the reason; `--entry FUNCTION` (of the
        file, or `other.py:function`) returns a model and its inputs (or a list of inputs) to run it with, `--python`
        names the Python that has PyTorch and the project's packages, and `--unproven` writes it all the same. A script
        whose program runs when it is imported is not run. `--timeout` bounds each file. Without `--write` the edits are
        shown, with the functions that have to be run first.
        """,
        """
        An edit is `safe`, or `safe-if` with its assumptions, and then only written with `--unsafe`: that no row of
        scores is hidden completely (a softmax of −inf is NaN, the fused kernel gives 0), that nothing hooks a layer
        which would not be called any more, where the program registers hooks, or how many dimensions an argument has.
        Not edited at all is what the source calls by two names and the analysis takes for one value, what would cross
        a write in place or be written to in place later (a kernel keeps other tensors for its gradient), and a layer
        that a hook names.
        """,
        """
        Kernels are PyTorch's own. Strop's compiled ones are faster on a CPU where PyTorch has none (gated activations,
        rotary embeddings, RMSNorm, folded batch norms), but the program then imports `strop`: they are offered with
        `--with-strop`, or `with-strop = true` under `[tool.strop]`, only.
        """,
        """
        `make test-soundness` draws 20,000 random programs (unpacking, comprehensions, views, einsums, writes in place,
        branches, helpers, patterns, records, closures, handlers, aliases, hooks and shared weights, with the formulas
        of the rules hidden among them), applies every edit and runs them before and after; a few hundred are part of
        `make test`. The last run of 20,000 (19 November 2026) edited and ran 10,608 of them in both versions: results,
        gradients and what was written to inputs were equal in all; 505 more raise or overflow as they were. In the run
        before it 6 of 16,000 differed: a tensor and its copy, one of which was written to in between, counted
        as one value.
        """,
        "## What is understood of a model",
        f"```python\n{EXAMPLE}```",
        "`strop show-architecture mlp.py:Mlp` prints",
        f"```text\n{shown}```",
        """
        Constructor and forward are read together, through inheritance and `super()`, helper functions and methods,
        `Sequential`, `ModuleList` and `ModuleDict`, loops over layers, tables of activations and `functools.partial`.
        Spellings are brought to one form: `torch.bmm`, `@` and `.matmul` are `matmul`; `x * x`, `x.pow(2)` and `x **
        2` are `square`; `x / sqrt(y)` is `mul(x, rsqrt(y))`; an `einsum` that is a matrix product is a `matmul`.
        Values of a configuration stay symbols. Where branches leave different values in a variable there is a `phi`,
        where a loop changes one a `loop`. Every operation keeps its line, also inside helpers.
        """,
        "## A rule",
        f"```text\n{(HOME / 'silu.rule').read_text(encoding='utf-8')}```",
        """
        A pattern is written as the printed model is: operations, and names for what they give. A name that no line
        defines is a metavariable; where it occurs twice, it must be the same value.
        """,
        """
        Sums and products match in any order and grouping, with their constants taken together. `op?(x, …)` may be
        absent, `op*(x, …)` may be there several times (a second `mask` is then bound to `mask_2`). `a | b` is either
        of the two. Attributes that are not mentioned may be anything; `key=None` also matches what is not given.
        Operations named by `through` (casts and copies, if nothing is said) are passed where the pattern names
        something else. A `phi` matches when all of its branches do; if only some do, the place is reported with the
        test and not edited. `layer q: Linear` matches calls of a layer, whose definition can be changed under
        `define:`.
        """,
        """
        Of two matches of one family that overlap, the rule with the smaller `order` wins, then the larger match;
        edits of different families that overlap are applied one after the other. A layer whose definition changes
        must not be used elsewhere: by another method, a subclass, `_init_weights`, weight tying, a plan that names
        it, or in a file that registers hooks. Each refusal is told with its line. At module level, where scripts keep
        their optimizers and loops, only rules that move nothing apply.
        """,
        "## Grammar",
        f"```text\n{GRAMMAR}\n```",
        "## Checks",
        table(("check", "what it wants"), checks),
        "## Names for several operations",
        table(("name", "operations"), groups),
        "`elementwise*(x)` and `steps*(x)` lead through any of their operations to `x`.",
        "## Operations",
        kinds + ".",
        "## Rules of your own",
        """
        `strop scan --rules DIR` (or `rules = ["DIR"]` under `[tool.strop]`) reads every `*.rule` file of the folder
        as well. A mistake ends the scan with the line, a caret and a suggestion. So does a rule whose code or name is
        taken, one that names a module that it does not import, and one whose pattern is found in its own replacement.
        `--target cuda` looks for kernels of CUDA instead. A rule that is off by default runs when `--select` names
        it.
        """,
        "## All rules",
        table(("code", "name", "family", "what", "safety", "gain", "does", "default"), rules),
    ]
