"""Decision trees as tables that native code walks (`walk_trees`), whatever their tests are.

Every test becomes rank(x[column]) < limit, in whole numbers that are ordered as the floats are: `≤` takes the number
above, `>` and `≥` exchange what they lead to, `=` has a least rank too. A missing value (NaN) ranks above every limit
and fails; where it is to pass, the node looks at a second copy of the features, in which NaN is -∞. Tests of membership
are columns of their own, 0 where they hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strop.frontend.onnx.ops import Unsupported, made, tracing
from strop.frontend.torch.aten.trees import ranks, walked

#: mode → (what it leads to is exchanged, how far its limit is from the split's rank)
MODES = {
    "BRANCH_LEQ": (False, 1), "BRANCH_LT": (False, 0), "BRANCH_GT": (True, 1), "BRANCH_GTE": (True, 0),
    "BRANCH_EQ": (False, 1), "BRANCH_NEQ": (True, 1), "BRANCH_MEMBER": (False, 0),
}  # fmt: skip
EQUALITIES = ("BRANCH_EQ", "BRANCH_NEQ")
LEAF = "LEAF"
#: cells of the table of leaves and targets
LARGEST_TABLE = 2**26
#: how many nodes may lead to one, on average
SHARED = 4


@dataclass(frozen=True)
class Branch:
    """What a node of a file asks; `members` of BRANCH_MEMBER."""

    feature: int = 0
    split: float = 0.0
    mode: str = LEAF
    track: bool = False  # whether a missing value passes
    members: tuple[float, ...] = ()

    @property
    def swapped(self) -> bool:
        """Whether passing leads to the second of what the file names."""
        if self.mode == LEAF or (self.split != self.split and self.mode != "BRANCH_NEQ"):
            return False
        return MODES[self.mode][0]

    @property
    def lets_missing_pass(self) -> bool:
        """A missing value is unequal to everything, and neither above nor below."""
        return self.mode != "BRANCH_NEQ" and self.track != self.swapped

    @property
    def own_column(self) -> bool:
        """Whether no limits of the feature itself say the same: for sets, and where next to nothing else passes."""
        if self.mode == "BRANCH_MEMBER" or not self.lets_missing_pass:
            return self.mode == "BRANCH_MEMBER"
        none = self.split != self.split or (self.split == float("-inf") and not MODES[self.mode][1])
        return none or self.mode in EQUALITIES

    @property
    def values(self) -> tuple[float, ...]:
        """The values that pass, of a test that has a column of its own."""
        if self.mode == "BRANCH_MEMBER":
            return self.members
        return (self.split,) if self.mode in EQUALITIES else ()


@dataclass(frozen=True)
class Forest:
    """Nodes in the order of the tables: the roots, then tree by tree; the two below a node are neighbours."""

    tests: Sequence[Branch]  # of the file's nodes
    order: list[int]  # which node of the file each is
    below: list[int]  # the place of the first of the two below it, or its own
    owners: list[int]  # which tree it is of
    trees: int
    steps: int  # of the longest way

    @classmethod
    def grown(cls, tests: Sequence[Branch], roots: Sequence[int], under: dict[int, tuple[int, int]]) -> Forest:
        """`under` are the two nodes that each test leads to, if it holds and if not."""
        unknown = next((test.mode for test in tests if test.mode not in MODES and test.mode != LEAF), None)
        if unknown is not None:
            raise Unsupported(f"nodes of the mode `{unknown}`")
        steps = _deepest(roots, under)
        order, below, owners = list(roots), [0] * len(roots), list(range(len(roots)))
        most = (2 * len(under) + len(roots)) * SHARED
        for tree in range(len(roots)):
            ways = [tree]
            for place in ways:
                pair = under.get(order[place])
                if pair is None:
                    below[place] = place
                    continue
                if len(order) > most:
                    raise Unsupported("nodes that too many others lead to")
                passed, failed = reversed(pair) if tests[order[place]].swapped else pair
                below[place] = len(order)
                ways += (len(order), len(order) + 1)
                order += (failed, passed)
                below += (0, 0)
                owners += (tree, tree)
        return cls(tests, order, below, owners, len(roots), steps)

    def leaves(self, x: Tensor) -> Tensor:
        """The place of the leaf that each row reaches in each tree."""
        asked = [i for i in dict.fromkeys(self.order) if self.tests[i].mode != LEAF]
        used = {i: self.tests[i] for i in asked}
        if not all(0 <= test.feature < x.shape[1] for test in used.values()):
            raise Unsupported(f"a feature that {x.shape[1]} columns don't have")
        columns, places = _columns(x, used)
        nodes, bits = self._nodes(used, places, columns.shape[1], "int64" if x.dtype == torch.float64 else "int32")
        walk = torch.ops.strop.walk_trees if tracing() else walked
        found: Tensor = walk(columns, made(torch.from_numpy, nodes), self.trees, self.steps, bits,
                             nodes.shape[1] > 2 + (bits == 0))  # fmt: skip
        return found

    def _nodes(self, used: dict[int, Branch], places: dict[int, int], columns: int, dtype: str) -> tuple[Any, int]:
        """The table, and how many bits of its words are features (0 where words are too short for both)."""
        lowest = int(np.iinfo(dtype).min)
        sign = np.array(lowest, dtype)  # numbers are kept as if they had none
        exact = [i for i, test in used.items() if test.mode in EQUALITIES and not test.own_column]
        limits = dict(zip(used, _limits(list(used.values()), dtype)))
        origin = self.order
        limit = np.array([limits.get(i, lowest) for i in origin], dtype)
        feature, below = np.array([places.get(i, 0) for i in origin], np.int64), np.array(self.below, np.int64)
        bits = max(1, (columns - 1).bit_length())
        if bits + int(below.max()).bit_length() >= np.iinfo(dtype).bits:
            bits = 0
        fields = [limit ^ sign, (below << bits) + feature] if bits else [limit ^ sign, feature, below]
        if exact:
            least = {i: max(limits[i] - 1, lowest) for i in exact}
            fields.append(np.array([least.get(i, lowest) for i in origin], dtype) ^ sign)
        return np.stack([field.astype(dtype) for field in fields], 1), bits

    def totals(self, x: Tensor, cells: Sequence[tuple[int, int, float]], width: int, how: str = "sum") -> Tensor:
        """What the leaves that a row reaches give to each of `width` targets, together.

        `cells` are (node of the file, target, weight).
        """
        if any(not 0 <= target < width for _, target, _ in cells):
            raise Unsupported(f"weights that do not fit {width} targets")
        only = self._targets(cells, width) if how == "sum" and width > 1 else None
        if only is not None:
            return self._one_each(x, cells, only, width)
        table = self._table(cells, width, _name(x), {"amin": float("inf"), "amax": float("-inf")}.get(how, 0.0))
        given = torch.nn.functional.embedding(self.leaves(x), table)
        total: Tensor = getattr(given, how)(1)
        return total

    def _one_each(self, x: Tensor, cells: Sequence[tuple[int, int, float]], only: list[int], width: int) -> Tensor:
        """Trees that give to one target each, as many to each: sorted by target, they are rows of a table."""
        table = self._table([(node, 0, weight) for node, _, weight in cells], 1, _name(x), 0.0)
        given = torch.nn.functional.embedding(self.leaves(x), table).squeeze(-1)
        sorted_trees = sorted(range(self.trees), key=lambda tree: only[tree])
        if sorted_trees != list(range(self.trees)):
            given = given[:, made(torch.tensor, sorted_trees)]
        return given.reshape(x.shape[0], width, -1).sum(2)

    def _targets(self, cells: Sequence[tuple[int, int, float]], width: int) -> list[int] | None:
        """The target of each tree; None where a tree has several, or targets have differently many trees."""
        of_node: dict[int, int] = {}
        for node, target, _ in cells:
            if of_node.setdefault(node, target) != target:
                return None
        found: dict[int, int] = {}
        for node, tree in zip(self.order, self.owners):
            if node in of_node and found.setdefault(tree, of_node[node]) != of_node[node]:
                return None
        trees = [found.get(tree, -1) for tree in range(self.trees)]
        counts = {trees.count(target) for target in range(width)}
        return trees if -1 not in trees and len(counts) == 1 else None

    def _table(self, cells: Sequence[tuple[int, int, float]], width: int, dtype: str, fill: float) -> Tensor:
        if len(self.order) * width > LARGEST_TABLE:
            raise Unsupported(f"{len(self.order)} nodes for {width} targets")
        rows = np.full((len(self.tests), width), fill)
        nodes, targets = (np.array([cell[k] for cell in cells], np.int64) for k in (0, 1))
        weights = [cell[2] for cell in cells]
        if fill:
            rows[nodes, targets] = weights
        else:
            np.add.at(rows, (nodes, targets), weights)
        return made(torch.from_numpy, rows[self.order].astype(dtype))


def _columns(x: Tensor, used: dict[int, Branch]) -> tuple[Tensor, dict[int, int]]:
    """What the tests look at, and which column each does."""
    plain, passing, own = list[int](), list[int](), list[int]()
    for i, test in used.items():
        (own if test.own_column else passing if test.lets_missing_pass else plain).append(i)
    parts: list[Tensor] = []
    places: dict[int, int] = {}
    if plain or not used:
        parts.append(x)
        places.update((i, used[i].feature) for i in plain)
    if passing:
        places.update((i, x.shape[1] * len(parts) + used[i].feature) for i in passing)
        parts.append(torch.where(torch.isnan(x), float("-inf"), x))
    first = x.shape[1] * len(parts)
    asked: dict[Any, int] = {}
    for i in own:
        test = used[i]
        places[i] = first + asked.setdefault((test.feature, test.values, test.lets_missing_pass), len(asked))
    if asked:
        parts.append(_members(x, list(asked)))
    return (torch.cat(parts, 1) if len(parts) > 1 else parts[0]), places


def _members(x: Tensor, asked: list[tuple[int, tuple[float, ...], bool]]) -> Tensor:
    """0 where the feature is one of the values (or missing, if that passes), else 1."""
    longest = max((len(values) for _, values, _ in asked), default=0)
    padded = [[*values, *[float("nan")] * (max(longest, 1) - len(values))] for _, values, _ in asked]
    looked_at = x[:, made(torch.tensor, [feature for feature, _, _ in asked])]
    held = (looked_at.unsqueeze(2) == made(torch.tensor, padded, dtype=x.dtype)).any(2)
    if any(missing for _, _, missing in asked):
        passing = made(torch.tensor, [missing for _, _, missing in asked])
        held = torch.logical_or(held, torch.logical_and(torch.isnan(looked_at), passing))
    return torch.logical_not(held).to(x.dtype)


def _limits(tests: Sequence[Branch], dtype: str) -> list[int]:
    """The smallest rank that is too large for each; the smallest number there is where none passes."""
    kind, lowest = "float64" if dtype == "int64" else "float32", np.iinfo(dtype).min
    with np.errstate(over="ignore"):
        splits = np.array([0.5 if test.own_column else test.split for test in tests]).astype(kind)
    below = np.array([0 if test.own_column else MODES[test.mode][1] for test in tests], dtype)
    limits: list[int] = np.where(np.isnan(splits), lowest, ranks(splits) + below).tolist()
    return limits


def _deepest(roots: Sequence[int], under: dict[int, tuple[int, int]]) -> int:
    """How many tests the longest way down has."""
    level, depth = set(roots) & under.keys(), 0
    while level:
        depth += 1
        if depth > len(under):
            raise Unsupported("a tree with a circle")
        level = {child for i in level for child in under[i] if child in under}
    return depth


def _name(x: Tensor) -> str:
    return "float64" if x.dtype == torch.float64 else "float32"
