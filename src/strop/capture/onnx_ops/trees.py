"""Trees, linear models and the preparation of features, as scikit-learn's converter writes them (ai.onnx.ml)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strop.capture.onnx_ops import Unsupported, made, numbers, onnx, real
from strop.capture.onnx_ops.naming import chosen

_ML = "ai.onnx.ml"
_COMPARE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "BRANCH_LEQ": torch.le, "BRANCH_LT": torch.lt, "BRANCH_GTE": torch.ge, "BRANCH_GT": torch.gt,
    "BRANCH_EQ": torch.eq, "BRANCH_NEQ": torch.ne,
}  # fmt: skip
#: a split of which the test holds for 0
_HOLDS = {
    "BRANCH_LEQ": float("inf"), "BRANCH_LT": float("inf"), "BRANCH_GTE": -float("inf"), "BRANCH_GT": -float("inf"),
    "BRANCH_EQ": 0.0, "BRANCH_NEQ": 1.0,
}  # fmt: skip
#: cells of the table of leaves and targets
LARGEST_TABLE = 2**26
#: how many nodes may lead to one, on average
SHARED = 4
#: trees that must be done for the others to go on without them
LEAST_ARRIVED = 16


@dataclass(frozen=True)
class Forest:
    """The nodes of all trees in one row: the two below a node are neighbours, and a leaf leads to itself."""

    features: list[int]
    splits: list[float]
    modes: list[str]
    below: list[int]  # where a node leads if its test holds; if not, to the next one
    tracks: list[int]
    origins: list[int]  # which node of the file it is
    places: dict[tuple[int, int], int]
    depths: list[int]  # of the trees, whose roots come first, the deepest first

    @classmethod
    def of(
        cls, trees: Sequence[int], ids: Sequence[int], features: Sequence[int], values: Sequence[float],
        modes: Sequence[str], yes: Sequence[int], no: Sequence[int], tracks: Sequence[int],
    ) -> Forest:  # fmt: skip
        lengths = {len(part) for part in (trees, ids, features, values, modes, yes, no)}
        if len(lengths) != 1 or not trees:
            raise Unsupported("nodes of which the attributes tell differently many")
        places = {key: i for i, key in enumerate(zip(trees, ids))}
        unknown = next((mode for mode in modes if mode not in _COMPARE and mode != "LEAF"), None)
        if unknown is not None:
            raise Unsupported(f"nodes of the mode `{unknown}`")

        def child(i: int, of: Sequence[int]) -> int:
            found = places.get((trees[i], of[i]))
            if found is None:
                raise Unsupported(f"tree {trees[i]} has no node {of[i]}")
            return found

        inner = {i for i, mode in enumerate(modes) if mode != "LEAF"}
        under = {i: (child(i, yes), child(i, no)) for i in inner}
        children = {i for pair in under.values() for i in pair}
        groups = [[i for i in group if i in inner] or group for group in _groups(trees)]
        roots = [next((i for i in group if i not in children), -1) for group in groups]
        if -1 in roots:
            raise Unsupported("a tree without a root")
        return cls.grown(features, values, modes, tracks, roots, under, places)

    @classmethod
    def grown(
        cls, features: Sequence[int], values: Sequence[float], modes: Sequence[str], tracks: Sequence[int],
        roots: Sequence[int], under: dict[int, tuple[int, int]], places: dict[tuple[int, int], int],
    ) -> Forest:  # fmt: skip
        """From nodes by number; `under` are the two that each test leads to, if it holds and if not."""
        depths = _depths(roots, under)
        order, below = _in_pairs(sorted(roots, key=lambda root: -depths[root]), under)
        return cls([features[i] for i in order], [values[i] for i in order], [modes[i] for i in order], below,
                   [tracks[i] if tracks else 0 for i in order], order, places,
                   sorted((depths[root] for root in roots), reverse=True))  # fmt: skip

    def leaves(self, x: Tensor) -> Tensor:
        """The leaf that each row reaches in each tree.

        A step is three reads: what the node is (one number where feature and child fit it), its split, the feature.
        Leaves test a column of zeros that is put behind the features, and always find that it holds.
        """
        used = sorted(set(self.modes) - {"LEAF"}) or ["BRANCH_LEQ"]
        columns = x.shape[1] + 1
        leaf = [mode == "LEAF" for mode in self.modes]
        splits = [_HOLDS[used[0]] if end else value for end, value in zip(leaf, self.splits)]
        features = [columns - 1 if end else f for end, f in zip(leaf, self.features)]
        if not all(0 <= f < columns for f in features):
            raise Unsupported(f"a feature that {columns - 1} columns don't have")
        numbers = [used.index(m) if m != "LEAF" else 0 for m in self.modes]
        read = _fields({"feature": features, "below": self.below, "mode": numbers, "track": self.tracks})
        split_of = _table(splits, x.dtype)
        with_zero = torch.cat([x, torch.zeros_like(x[:, :1])], 1).reshape(-1, 1)
        first = made(torch.arange, 0, x.shape[0] * columns, columns, dtype=torch.int32).unsqueeze(1)
        at = made(torch.arange, len(self.depths), dtype=torch.int32).unsqueeze(0).expand(x.shape[0], -1)
        arrived: list[Tensor] = []
        for level in range(self.depths[0]):
            walking = sum(depth > level for depth in self.depths)
            if walking <= at.shape[1] - LEAST_ARRIVED:
                arrived.append(at[:, walking:])
                at = at[:, :walking]
            node, split = read(at), _at(split_of, at)
            value = _at(with_zero, first + node["feature"])
            holds = _COMPARE[used[0]](value, split)
            for number, mode in enumerate(used[1:], 1):
                holds = torch.where(node["mode"] == number, _COMPARE[mode](value, split), holds)
            if any(self.tracks):
                holds = torch.logical_or(holds, torch.logical_and(torch.isnan(value), node["track"] != 0))
            at = torch.where(holds, node["below"], node["below"] + 1)
        return torch.cat([at, *reversed(arrived)], 1) if arrived else at

    def given(self, x: Tensor, table: Tensor) -> Tensor:
        """What the leaf that each row reaches in each tree gives to each target."""
        return torch.nn.functional.embedding(self.leaves(x), table)

    def table(self, trees: Sequence[int], ids: Sequence[int], targets: Sequence[int], weights: Sequence[float],
              width: int, dtype: str, fill: float = 0.0, rows: int = 0) -> Tensor:  # fmt: skip
        """What each node gives to each target, of the file's `rows` nodes (as many as have places)."""
        if not len(trees) == len(ids) == len(targets) == len(weights) or any(not 0 <= t < width for t in targets):
            raise Unsupported(f"weights that do not fit {width} targets")
        if len(self.modes) * width > LARGEST_TABLE:
            raise Unsupported(f"{len(self.modes)} nodes for {width} targets")
        found = [self.places.get(key, -1) for key in zip(trees, ids)]
        if -1 in found:
            raise Unsupported("a weight of a node that no tree has")
        made_table = np.full((rows or len(self.places), width), fill)
        cells = np.array(found, np.int64), np.array(targets, np.int64)
        if fill:
            made_table[cells] = weights
        else:
            np.add.at(made_table, cells, weights)
        return made(torch.from_numpy, made_table[self.origins].astype(dtype))


def _depths(roots: Sequence[int], under: dict[int, tuple[int, int]]) -> dict[int, int]:
    """How many tests the longest way down from each root has."""
    found = {}
    for root in roots:
        level, depth = {root} & under.keys(), 0
        while level:
            depth += 1
            if depth > len(under):
                raise Unsupported("a tree with a circle")
            level = {child for i in level for child in under[i] if child in under}
        found[root] = depth
    return found


def _in_pairs(roots: Sequence[int], under: dict[int, tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Nodes level by level, the two under a node side by side, and where each leads to."""
    order, below = list(roots), list[int]()
    while len(below) < len(order):
        if len(order) > (2 * len(under) + len(roots)) * SHARED:
            raise Unsupported("nodes that too many others lead to")
        pair = under.get(order[len(below)])
        below.append(len(below) if pair is None else len(order))
        order += pair or ()
    return order, below


def _fields(fields: dict[str, list[int]]) -> Callable[[Tensor], dict[str, Tensor]]:
    """How to read several numbers of a node: all from one table where its 31 bits hold them."""
    widths = {name: max(values).bit_length() for name, values in fields.items()}
    if sum(widths.values()) > 31:
        tables = {name: _table(values, torch.int32) for name, values in fields.items()}
        return lambda at: {name: _at(table, at) for name, table in tables.items()}
    shifts = {name: sum(list(widths.values())[:i]) for i, name in enumerate(fields)}
    nodes = [sum(v << shifts[n] for n, v in zip(fields, node)) for node in zip(*fields.values())]
    together = _table(nodes, torch.int32)

    def read(at: Tensor) -> dict[str, Tensor]:
        whole = _at(together, at)
        return {name: (whole >> shifts[name]) & ((1 << width) - 1) for name, width in widths.items()}

    return read


def _table(values: Sequence[float], dtype: torch.dtype) -> Tensor:
    return made(torch.tensor, list(values), dtype=dtype).unsqueeze(1)


def _at(table: Tensor, positions: Tensor) -> Tensor:
    return torch.nn.functional.embedding(positions, table).squeeze(-1)


def _groups(trees: Sequence[int]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for i, tree in enumerate(trees):
        groups.setdefault(tree, []).append(i)
    return list(groups.values())


def _name(x: Tensor) -> str:
    return "float64" if x.dtype == torch.float64 else "float32"


def _numbers(listed: Sequence[float], tensor: Tensor | None) -> list[float]:
    return numbers_in(tensor) if tensor is not None else list(listed)


def numbers_in(attribute: Tensor) -> list[Any]:
    return numbers(attribute) or []


@onnx("TreeEnsembleRegressor", domain=_ML, since=1)
def tree_ensemble_regressor(
    x: Tensor, *, nodes_treeids: Sequence[int], nodes_nodeids: Sequence[int], nodes_featureids: Sequence[int],
    nodes_modes: Sequence[str], nodes_truenodeids: Sequence[int], nodes_falsenodeids: Sequence[int],
    target_treeids: Sequence[int], target_nodeids: Sequence[int], target_ids: Sequence[int],
    nodes_values: Sequence[float] = (), nodes_values_as_tensor: Tensor | None = None,
    target_weights: Sequence[float] = (), target_weights_as_tensor: Tensor | None = None,
    base_values: Sequence[float] = (), base_values_as_tensor: Tensor | None = None, n_targets: int = 1,
    aggregate_function: str = "SUM", post_transform: str = "NONE", nodes_hitrates: Sequence[float] = (),
    nodes_hitrates_as_tensor: Tensor | None = None, nodes_missing_value_tracks_true: Sequence[int] = (),
) -> Tensor:  # fmt: skip
    x = x if x.is_floating_point() else x.to(torch.float32)
    forest = Forest.of(nodes_treeids, nodes_nodeids, nodes_featureids, _numbers(nodes_values, nodes_values_as_tensor),
                       nodes_modes, nodes_truenodeids, nodes_falsenodeids, nodes_missing_value_tracks_true)  # fmt: skip
    fill = {"MIN": float("inf"), "MAX": float("-inf")}.get(aggregate_function, 0.0)
    table = forest.table(target_treeids, target_nodeids, target_ids,
                         _numbers(target_weights, target_weights_as_tensor), n_targets, _name(x), fill)  # fmt: skip
    reached = forest.given(x, table)
    name = {"SUM": "sum", "AVERAGE": "mean", "MIN": "amin", "MAX": "amax"}.get(aggregate_function)
    if name is None:
        raise Unsupported(f"the aggregation `{aggregate_function}`")
    scores = getattr(reached, name)(1)
    base = _numbers(base_values, base_values_as_tensor)
    if base:
        scores = scores + made(torch.tensor, base, dtype=x.dtype)
    return _transformed(scores, post_transform).to(torch.float32)


@onnx("TreeEnsembleClassifier", domain=_ML, since=1)
def tree_ensemble_classifier(
    x: Tensor, *, nodes_treeids: Sequence[int], nodes_nodeids: Sequence[int], nodes_featureids: Sequence[int],
    nodes_modes: Sequence[str], nodes_truenodeids: Sequence[int], nodes_falsenodeids: Sequence[int],
    class_treeids: Sequence[int], class_nodeids: Sequence[int], class_ids: Sequence[int],
    nodes_values: Sequence[float] = (), nodes_values_as_tensor: Tensor | None = None,
    class_weights: Sequence[float] = (), class_weights_as_tensor: Tensor | None = None,
    base_values: Sequence[float] = (), base_values_as_tensor: Tensor | None = None,
    classlabels_int64s: Sequence[int] = (), classlabels_strings: Sequence[str] = (), post_transform: str = "NONE",
    nodes_hitrates: Sequence[float] = (), nodes_hitrates_as_tensor: Tensor | None = None,
    nodes_missing_value_tracks_true: Sequence[int] = (),
) -> tuple[Any, Tensor]:  # fmt: skip
    """Labels and scores. Two classes of which the trees know one: its score decides, and the other gets the rest."""
    x = x if x.is_floating_point() else x.to(torch.float32)
    forest = Forest.of(nodes_treeids, nodes_nodeids, nodes_featureids, _numbers(nodes_values, nodes_values_as_tensor),
                       nodes_modes, nodes_truenodeids, nodes_falsenodeids, nodes_missing_value_tracks_true)  # fmt: skip
    labels: list[Any] = [*classlabels_int64s] or [*classlabels_strings]
    weights, base = _numbers(class_weights, class_weights_as_tensor), _numbers(base_values, base_values_as_tensor)
    table = forest.table(class_treeids, class_nodeids, class_ids, weights, max(len(labels), 1), _name(x))
    scores = forest.given(x, table).sum(1)
    only = set(class_ids)
    if len(labels) == 2 and len(only) == 1 and len(base) < 2:
        score = scores[:, next(iter(only))] + (base[0] if base else 0.0)
        which, scores = _of_one(score, all(w >= 0 for w in weights), post_transform)
        return _named(which, labels), scores.to(torch.float32)
    if base:
        scores = scores + made(torch.tensor, base, dtype=x.dtype)
    return _named(scores.argmax(1), labels), _transformed(scores, post_transform).to(torch.float32)


def _of_one(score: Tensor, positive: bool, transform: str) -> tuple[Tensor, Tensor]:
    """The class and both scores; scores that are all positive are probabilities."""
    if transform == "LOGISTIC":
        probability = torch.sigmoid(score)
        return (score > 0).to(torch.int64), torch.stack([1 - probability, probability], 1)
    if transform != "NONE":
        raise Unsupported(f"the post-transformation `{transform}` of one class's score")
    rest = 1 - score if positive else -score
    return (score > (0.5 if positive else 0.0)).to(torch.int64), torch.stack([rest, score], 1)


def _transformed(scores: Tensor, transform: str) -> Tensor:
    if transform == "NONE":
        return scores
    if transform == "SOFTMAX":
        return torch.softmax(scores, 1)
    if transform == "SOFTMAX_ZERO":
        held = torch.where(scores == 0, 0.0, torch.exp(scores - scores.amax(1, keepdim=True)))
        return held / held.sum(1, keepdim=True)
    if transform == "LOGISTIC":
        return torch.sigmoid(scores)
    raise Unsupported(f"the post-transformation `{transform}`")


def _named(positions: Tensor, labels: Sequence[Any]) -> Any:
    """Labels for positions among them."""
    if labels and isinstance(labels[0], str):
        return chosen(positions, labels)
    return made(torch.tensor, list(labels) or [0])[positions]


# ---- linear models ----


def _linear(x: Tensor, coefficients: Sequence[float], intercepts: Sequence[float], rows: int) -> Tensor:
    x = x if x.is_floating_point() else x.to(torch.float32)
    x = x.unsqueeze(0) if x.dim() == 1 else x
    if len(coefficients) < rows * x.shape[1]:  # more are never read
        raise Unsupported(f"{len(coefficients)} coefficients for {rows} results of {x.shape[1]} features")
    weight = made(torch.tensor, list(coefficients)[: rows * x.shape[1]], dtype=x.dtype).reshape(rows, -1)
    scores = x @ weight.t()
    return scores + made(torch.tensor, list(intercepts), dtype=x.dtype) if intercepts else scores


@onnx("LinearRegressor", domain=_ML, since=1)
def linear_regressor(
    x: Tensor, *, coefficients: Sequence[float], intercepts: Sequence[float] = (), targets: int = 1,
    post_transform: str = "NONE",
) -> Tensor:  # fmt: skip
    return _transformed(_linear(x, coefficients, intercepts, targets), post_transform).to(torch.float32)


@onnx("LinearClassifier", domain=_ML, since=1)
def linear_classifier(
    x: Tensor, *, coefficients: Sequence[float], intercepts: Sequence[float] = (), classlabels_ints: Sequence[int] = (),
    classlabels_strings: Sequence[str] = (), multi_class: int = 0, post_transform: str = "NONE",
) -> tuple[Any, Tensor]:  # fmt: skip
    labels: list[Any] = [*classlabels_ints] or [*classlabels_strings]
    rows = len(intercepts) or len(labels) or 1
    scores = _linear(x, coefficients, intercepts, rows)
    if rows == 1 and len(labels) == 2:
        which, both = _of_one(scores[:, 0], False, post_transform)
        return _named(which, labels), both.to(torch.float32)
    return _named(scores.argmax(1), labels), _transformed(scores, post_transform).to(torch.float32)


# ---- features ----


@onnx("Scaler", domain=_ML, since=1)
def scaler(x: Tensor, *, offset: Sequence[float] = (), scale: Sequence[float] = ()) -> Tensor:
    x = x.to(torch.float32)
    x = x - made(torch.tensor, list(offset), dtype=x.dtype) if offset else x
    return x * made(torch.tensor, list(scale), dtype=x.dtype) if scale else x


@onnx("Normalizer", domain=_ML, since=1)
def normalizer(x: Tensor, *, norm: str = "MAX") -> Tensor:
    x = x.to(torch.float32)
    axis = x.dim() - 1
    size = {"MAX": lambda: x.abs().amax(axis, True), "L1": lambda: x.abs().sum(axis, True),
            "L2": lambda: x.square().sum(axis, True).sqrt()}.get(norm)  # fmt: skip
    if size is None:
        raise Unsupported(f"the norm `{norm}`")
    found = size()
    return torch.where(found == 0, x, x / found)


@onnx("Imputer", domain=_ML, since=1)
def imputer(
    x: Tensor, *, imputed_value_floats: Sequence[float] = (), imputed_value_int64s: Sequence[int] = (),
    replaced_value_float: float = 0.0, replaced_value_int64: int = 0,
) -> Tensor:  # fmt: skip
    values: Sequence[float] = imputed_value_floats or imputed_value_int64s
    missing = replaced_value_float if x.is_floating_point() else replaced_value_int64
    replaced = torch.isnan(x) if missing != missing else x == missing
    return torch.where(replaced, made(torch.tensor, list(values), dtype=x.dtype), x)


@onnx("OneHotEncoder", domain=_ML, since=1)
def one_hot_encoder(
    x: Any, *, cats_int64s: Sequence[int] = (), cats_strings: Sequence[str] = (), zeros: int = 1
) -> Tensor:
    """Without `zeros`, a value that is no category is an error."""
    if isinstance(x, Tensor):
        found = x.unsqueeze(-1) == made(torch.tensor, list(cats_int64s)).to(x.dtype)
        if not zeros and not bool(real(found, "the categories").any(-1).all()):
            raise Unsupported("a value that is none of the categories")
        return found.to(torch.float32)
    texts = np.asarray(x, dtype=object)
    codes = torch.tensor([cats_strings.index(t) if t in cats_strings else -1 for t in map(str, texts.reshape(-1))])
    if not zeros and bool((codes < 0).any()):
        raise Unsupported("a text that is none of the categories")
    made_rows = (codes.unsqueeze(-1) == torch.arange(len(cats_strings))).to(torch.float32)
    return made_rows.reshape(*texts.shape, len(cats_strings))
