"""Trees, linear models and the preparation of features, as scikit-learn's converter writes them (ai.onnx.ml)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strop.frontend.onnx.ops import Unsupported, made, numbers, onnx, real
from strop.frontend.onnx.ops.forest import LEAF, Branch, Forest
from strop.frontend.onnx.ops.naming import chosen

_ML = "ai.onnx.ml"


def _forest(
    trees: Sequence[int], ids: Sequence[int], features: Sequence[int], values: Sequence[float], modes: Sequence[str],
    yes: Sequence[int], no: Sequence[int], tracks: Sequence[int],
) -> tuple[Forest, dict[tuple[int, int], int]]:  # fmt: skip
    """The trees of a file, and where among its nodes each (tree, number) is."""
    lengths = {len(part) for part in (trees, ids, features, values, modes, yes, no)}
    if len(lengths) != 1 or not trees:
        raise Unsupported("nodes of which the attributes tell differently many")
    places = {key: i for i, key in enumerate(zip(trees, ids))}

    def child(i: int, of: Sequence[int]) -> int:
        found = places.get((trees[i], of[i]))
        if found is None:
            raise Unsupported(f"tree {trees[i]} has no node {of[i]}")
        return found

    inner = {i for i, mode in enumerate(modes) if mode != LEAF}
    under = {i: (child(i, yes), child(i, no)) for i in inner}
    children = {i for pair in under.values() for i in pair}
    groups: dict[int, list[int]] = {}
    for i, tree in enumerate(trees):
        groups.setdefault(tree, []).append(i)
    among = [[i for i in group if i in inner] or group for group in groups.values()]
    roots = [next((i for i in group if i not in children), -1) for group in among]
    if -1 in roots:
        raise Unsupported("a tree without a root")
    passing: Sequence[Any] = tracks if len(tracks) == len(modes) else [0] * len(modes)
    asked = zip(features, values, modes, passing)
    tests = [Branch(f, v, m, bool(t)) if m != LEAF else Branch() for f, v, m, t in asked]
    return Forest.grown(tests, roots, under), places


def _cells(
    places: dict[tuple[int, int], int], trees: Sequence[int], ids: Sequence[int], targets: Sequence[int],
    weights: Sequence[float],
) -> list[tuple[int, int, float]]:  # fmt: skip
    """What nodes give: (node, target, weight)."""
    if not len(trees) == len(ids) == len(targets) == len(weights):
        raise Unsupported("weights of which the attributes tell differently many")
    found = [places.get(key, -1) for key in zip(trees, ids)]
    if -1 in found:
        raise Unsupported("a weight of a node that no tree has")
    return list(zip(found, targets, weights))


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
    name = {"SUM": "sum", "AVERAGE": "sum", "MIN": "amin", "MAX": "amax"}.get(aggregate_function)
    if name is None:
        raise Unsupported(f"the aggregation `{aggregate_function}`")
    forest, places = _forest(
        nodes_treeids, nodes_nodeids, nodes_featureids, _numbers(nodes_values, nodes_values_as_tensor), nodes_modes,
        nodes_truenodeids, nodes_falsenodeids, nodes_missing_value_tracks_true,
    )  # fmt: skip
    cells = _cells(places, target_treeids, target_nodeids, target_ids,
                   _numbers(target_weights, target_weights_as_tensor))  # fmt: skip
    scores = forest.totals(x, cells, n_targets, name)
    if aggregate_function == "AVERAGE":
        scores = scores / forest.trees
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
    forest, places = _forest(
        nodes_treeids, nodes_nodeids, nodes_featureids, _numbers(nodes_values, nodes_values_as_tensor), nodes_modes,
        nodes_truenodeids, nodes_falsenodeids, nodes_missing_value_tracks_true,
    )  # fmt: skip
    labels: list[Any] = [*classlabels_int64s] or [*classlabels_strings]
    weights, base = _numbers(class_weights, class_weights_as_tensor), _numbers(base_values, base_values_as_tensor)
    cells = _cells(places, class_treeids, class_nodeids, class_ids, weights)
    scores = forest.totals(x, cells, max(len(labels), 1))
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
