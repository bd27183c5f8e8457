"""Which algorithm computes an operator, where there is a choice: Winograd's convolution, Winograd's inner product,
Strassen's product, 24-bit weights. Each has a file `choose_*.py` with its numbers and the cycles that it would take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from strop.core.journal import Journal
from strop.core.options import Options
from strop.graph.accuracy import needs
from strop.graph.ir import Graph, Node
from strop.graph.operators import POINTWISE
from strop.graph.parametric import is_parametric
from strop.loops.ir import Nest
from strop.loops.lower import Context, can_lower
from strop.loops.lower.contractions import transposed_without_copies
from strop.loops.lower.int24_weights import Int24Weights
from strop.loops.lower.products import is_product
from strop.loops.lower.recurrent import STATES, PartAlgorithms, projections, recurrent_by
from strop.schedule.choose_int24_weights import Int24Product, choose_int24_row, choose_int24_states
from strop.schedule.choose_strassen import Strassen, choose_strassen
from strop.schedule.choose_winograd import Winograd, choose_winograd
from strop.schedule.choose_winograd_inner_product import WinogradInnerProduct, choose_winograd_inner_product
from strop.schedule.choose_winograd_weight_gradient import WinogradGradient, choose_winograd_gradient
from strop.target.description import Target


@dataclass(frozen=True)
class DirectTransposed:
    """A transposed convolution with its weights as they are, where nothing may be packed."""

    def __call__(self, c: Context) -> Sequence[Nest]:
        return transposed_without_copies(c)

    def __str__(self) -> str:
        return "transposed convolution point by point: its weights are not copied"


@dataclass(frozen=True)
class RecurrentAlgorithm:
    """Parts of a recurrent layer by other algorithms than the direct ones."""

    products: tuple[WinogradInnerProduct | Strassen | None, ...]
    states: Int24Weights | None
    apart: bool = False

    def __call__(self, c: Context) -> Sequence[Nest]:
        return recurrent_by(c, PartAlgorithms(self.products, self.states, self.apart))

    def __str__(self) -> str:
        found = [f"inputs by {one}" for one in dict.fromkeys(self.products) if one is not None]
        found += [f"states by {self.states}"] if self.states is not None else []
        return "; ".join([*found, *(["one direction after the other"] if self.apart else [])])


Algorithm = (
    Winograd | WinogradGradient | Strassen | WinogradInnerProduct | Int24Product | RecurrentAlgorithm | DirectTransposed
)
#: what algorithms, and what is inside of some, are called in the text of passes
KINDS: dict[str, type[Any]] = {
    "winograd": Winograd,
    "winogradgradient": WinogradGradient,
    "strassen": Strassen,
    "pairs": WinogradInnerProduct,
    "compactproduct": Int24Product,
    "compact": Int24Weights,
    "recurrent": RecurrentAlgorithm,
    "plain": DirectTransposed,
}


def possible_algorithms(node: Node, graph: Graph, target: Target, threads: int, weights: int) -> dict[str, Algorithm]:
    """Every algorithm but the direct one that can compute a node, with its best numbers, whether it pays or not.
    `weights` are those of the graph."""
    if graph.symbols:
        return {}
    found: dict[str, Algorithm | None] = {"winograd": choose_winograd(node, target, threads, weights, always=True)}
    found["winogradgradient"] = choose_winograd_gradient(node, target, threads, always=True)
    if not _at_the_border(node, graph):
        found["pairs"] = choose_winograd_inner_product(node, target, threads, always=True)
        found["strassen"] = choose_strassen(node, target, threads, always=True)
    found["compactproduct"] = choose_int24_row(node, target, threads, weights, always=True)
    if node.op in STATES and can_lower(node):
        none = (None,) * len(projections(node))
        found["recurrent"] = RecurrentAlgorithm(
            none, choose_int24_states(node, target, threads), _apart(node, target, threads)
        )
    if node.op == "conv" and node.attrs["transposed"]:
        found["plain"] = DirectTransposed()
    return {use: one for use, one in found.items() if one is not None}


def _at_the_border(node: Node, graph: Graph) -> bool:
    """Whether a convolution reads or writes a tensor of the caller, whose channels do not lie side by side."""
    if node.op != "conv":
        return False
    return _origin(node.inputs[0])[-1].op == "input" or any(node is _origin(out)[-1] for out in graph.outputs)


def _origin(node: Node) -> list[Node]:
    """A value, what it is computed from point by point, and so on."""
    found = [node]
    while found[-1].op in POINTWISE and len(found[-1].inputs[0].types) == 1 and found[-1].inputs[0].shape == node.shape:
        found.append(found[-1].inputs[0])
    return found


def choose_algorithms(
    graph: Graph, target: Target, threads: int, options: Options, journal: Journal | None = None
) -> dict[Node, Algorithm]:
    """The convolutions and matrix products that are better computed another way than directly."""
    if not options.pack:
        return {node: DirectTransposed() for node in graph.nodes if node.op == "conv" and node.attrs["transposed"]}
    found: dict[Node, Algorithm] = {}
    if graph.symbols:  # cycles are counted for numbers; symbolic graphs are lowered directly
        return found
    weights = weights_of(graph)
    asked = needs(graph) if options.use("winograd") == "checked" else {}
    for node in graph.nodes:
        chosen: Algorithm | None = None
        if options.use("winograd") != "never":
            small = options.use("winograd") == "small"
            chosen = choose_winograd(node, target, threads, weights, small=small) or choose_winograd_gradient(
                node, target, threads
            )
        if chosen is not None and node in asked:
            if journal is not None:
                journal.add("refusal", node.name, f"{chosen}: it is computed directly, as {asked[node].why}")
            chosen = None
        if chosen is None and node.op in STATES:
            chosen = _recurrent(node, target, threads, options)
        if chosen is None and not _at_the_border(node, graph):
            chosen = _product(node, target, threads, options)
        if chosen is None and options.use("compact") == "always":
            chosen = choose_int24_row(node, target, threads, weights)
        if chosen is not None:
            found[node] = chosen
            if journal is not None:
                checked = isinstance(chosen, Winograd) and options.use("winograd") == "checked"
                why = "; nothing that it flows into depends on small elements" if checked else ""
                journal.add("choice", node.name, f"{chosen}{why}")
    return found


def weights_of(graph: Graph) -> int:
    """Bytes of what products and convolutions multiply by."""
    users = [node for node in graph.nodes if is_product(node) or node.op == "conv"]
    return sum(one.type.bytes for one in {node.inputs[1] for node in users} if is_parametric(one))


def _product(node: Node, target: Target, threads: int, options: Options) -> WinogradInnerProduct | Strassen | None:
    chosen: WinogradInnerProduct | Strassen | None = (
        choose_winograd_inner_product(node, target, threads) if options.use("pairs") == "always" else None
    )
    if chosen is None and options.use("strassen") == "always":
        chosen = choose_strassen(node, target, threads)
    return chosen


def _recurrent(node: Node, target: Target, threads: int, options: Options) -> RecurrentAlgorithm | None:
    if not can_lower(node):
        return None
    products = tuple(_product(one, target, threads, options) for one in projections(node))
    states = choose_int24_states(node, target, threads) if options.use("compact") == "always" else None
    apart = _apart(node, target, threads)
    return RecurrentAlgorithm(products, states, apart) if any(products) or states is not None or apart else None


def _apart(node: Node, target: Target, threads: int) -> bool:
    """Whether the directions run one after the other: L2 then holds more of the weights in use, which saves 3 to 15%.

    Several threads run both together, share the blocks of both, and synchronise half as often.
    """
    weights = node.inputs[STATES[node.op] + 2].types[0].bytes
    return bool(node.attrs["bidirectional"]) and threads == 1 and target.l2 // 4 < weights < 4 * target.l2
