"""Classical machine learning (ai.onnx.ml) and the optimisers of the training preview."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strop.frontend.onnx.ops import Unsupported, onnx, real
from strop.frontend.onnx.ops.forest import Branch, Forest
from strop.frontend.onnx.ops.trees import numbers_in

_ML = "ai.onnx.ml"
_TRAINING = "ai.onnx.preview.training"


@onnx("Binarizer", domain=_ML, since=1)
def binarizer(x: Tensor, *, threshold: float = 0.0) -> Tensor:
    return (x > threshold).to(x.dtype)


@onnx("LabelEncoder", domain=_ML, since=2)
def label_encoder(
    x: Any, *, default_float: float = 0.0, default_int64: int = -1, default_string: str = "_Unused",
    default_tensor: Any = None, keys_floats: Sequence[float] = (), keys_int64s: Sequence[int] = (),
    keys_strings: Sequence[str] = (), keys_tensor: Any = None, values_floats: Sequence[float] = (),
    values_int64s: Sequence[int] = (), values_strings: Sequence[str] = (), values_tensor: Any = None,
) -> Any:  # fmt: skip
    """A look-up table: texts in the interpreter, numbers as a comparison with every key."""
    keys = _listed(keys_tensor) or list(keys_floats or keys_int64s or keys_strings)
    values = _listed(values_tensor) or list(values_floats or values_int64s or values_strings)
    if values_tensor is not None:
        default = _listed(default_tensor)[0] if default_tensor is not None else 0
    else:
        default = default_float if values_floats else default_int64 if values_int64s else default_string
    texts = isinstance(default, str)
    if isinstance(x, Tensor) and not texts:
        kind = values_tensor.dtype if isinstance(values_tensor, Tensor) else _kind(values_floats)
        result = torch.full(x.shape, default, dtype=kind)
        for key, value in zip(keys, values):
            matched = torch.isnan(x) if isinstance(key, float) and key != key else x == key
            result = torch.where(matched, torch.full((), value, dtype=kind), result)
        return result
    table = dict(zip(keys, values))
    items = real(x, "the labels").reshape(-1).tolist() if isinstance(x, Tensor) else [str(t) for t in x.reshape(-1)]
    found = [table.get(item, default) for item in items]
    if texts:
        result_texts = np.empty(len(found), dtype=object)
        result_texts[:] = found
        return result_texts.reshape(tuple(x.shape))
    kind = values_tensor.dtype if isinstance(values_tensor, Tensor) else _kind(values_floats)
    return torch.tensor(found, dtype=kind).reshape(tuple(x.shape))


@onnx("CategoryMapper", domain=_ML, since=1)
def category_mapper(
    x: Any, *, cats_int64s: Sequence[int], cats_strings: Sequence[str], default_int64: int = -1,
    default_string: str = "_Unused",
) -> Any:  # fmt: skip
    """Numbers for texts, or texts for numbers."""
    if isinstance(x, Tensor):
        return label_encoder(x, keys_int64s=cats_int64s, values_strings=cats_strings, default_string=default_string)
    return label_encoder(x, keys_strings=cats_strings, values_int64s=cats_int64s, default_int64=default_int64)


def _kind(values_floats: Sequence[float]) -> torch.dtype:
    return torch.float32 if values_floats else torch.int64


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value.reshape(-1).tolist())


_MODES = (
    "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER",
)  # fmt: skip
_TOTALS = ("sum", "sum", "amin", "amax")  # the first is divided by the number of trees


@onnx("TreeEnsemble", domain=_ML, since=5)
def tree_ensemble(
    x: Tensor, *, leaf_targetids: Sequence[int], leaf_weights: Tensor, nodes_falseleafs: Sequence[int],
    nodes_falsenodeids: Sequence[int], nodes_featureids: Sequence[int], nodes_modes: Tensor, nodes_splits: Tensor,
    nodes_trueleafs: Sequence[int], nodes_truenodeids: Sequence[int], tree_roots: Sequence[int],
    aggregate_function: int = 1, membership_values: Tensor | None = None, n_targets: int = 1,
    nodes_hitrates: Tensor | None = None, nodes_missing_value_tracks_true: Sequence[int] = (), post_transform: int = 0,
) -> Tensor:  # fmt: skip
    """Leaves are counted behind the nodes."""
    if post_transform:
        raise Unsupported(f"the post-transformation {post_transform}")
    modes, count = numbers_in(nodes_modes), len(nodes_featureids)
    if not all(0 <= mode < len(_MODES) for mode in modes) or not 0 <= aggregate_function < len(_TOTALS):
        raise Unsupported(f"the modes {sorted(set(modes))} with the aggregation {aggregate_function}")
    yes = [t + count if leaf else t for t, leaf in zip(nodes_truenodeids, nodes_trueleafs)]
    no = [t + count if leaf else t for t, leaf in zip(nodes_falsenodeids, nodes_falseleafs)]
    sets = _sets(membership_values)
    members = [tuple(next(sets, ())) if _MODES[mode] == "BRANCH_MEMBER" else () for mode in modes]
    tracks = list(nodes_missing_value_tracks_true) or [0] * count
    tests = [
        Branch(feature, split, _MODES[mode], bool(track), own)
        for feature, split, mode, track, own in zip(nodes_featureids, numbers_in(nodes_splits), modes, tracks, members)
    ]
    leaves = len(leaf_targetids)
    if len(tests) != len(yes) or any(not 0 <= child < count + leaves for child in (*yes, *no)):
        raise Unsupported("nodes that lead to none")
    starts = [_root(r, yes, no, nodes_trueleafs, nodes_falseleafs) for r in tree_roots]
    forest = Forest.grown([*tests, *[Branch()] * leaves], starts, dict(enumerate(zip(yes, no))))
    cells = list(zip(range(count, count + leaves), leaf_targetids, numbers_in(leaf_weights)))
    scores = forest.totals(x, cells, n_targets, _TOTALS[aggregate_function])
    return scores / len(tree_roots) if aggregate_function == 0 else scores


def _root(root: int, yes: list[int], no: list[int], true_leaf: Sequence[int], false_leaf: Sequence[int]) -> int:
    """A tree may be a single leaf, told by a root of which both sides lead to it."""
    alone = true_leaf[root] and false_leaf[root] and yes[root] == no[root]
    return yes[root] if alone else root


def _sets(members: Tensor | None) -> Iterator[list[float]]:
    """Lists of numbers, each ended by a NaN."""
    current: list[float] = []
    for value in numbers_in(members) if members is not None else ():
        if value != value:
            yield current
            current = []
        else:
            current.append(value)


# ---- optimisers: (rate, step, parameters…, gradients…, states…) → (parameters…, states…) ----


def _groups(data: Sequence[Tensor], parts: int) -> tuple[Tensor, Tensor, list[tuple[Tensor, ...]]]:
    rate, step, *rest = data
    count = len(rest) // parts
    return rate, step, [tuple(rest[count * k + i] for k in range(parts)) for i in range(count)]


@onnx("Adagrad", domain=_TRAINING, since=1)
def adagrad(
    *data: Tensor, decay_factor: float = 0.0, epsilon: float = 0.0, norm_coefficient: float = 0.0
) -> tuple[Tensor, ...]:
    rate, step, groups = _groups(data, 3)
    rate = rate / (1 + step * decay_factor)
    made_x, made_h = [], []
    for x, g, h in groups:
        gradient = norm_coefficient * x + g
        squares = h + gradient * gradient
        made_x.append(x - rate * gradient / (torch.sqrt(squares) + epsilon))
        made_h.append(squares)
    return (*made_x, *made_h)


@onnx("Adam", domain=_TRAINING, since=1)
def adam(
    *data: Tensor, alpha: float = 0.9, beta: float = 0.999, epsilon: float = 0.0, norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> tuple[Tensor, ...]:  # fmt: skip
    rate, step, groups = _groups(data, 4)
    later = step.to(rate.dtype)
    corrected = rate * torch.sqrt(1 - torch.pow(beta, later)) / (1 - torch.pow(alpha, later))
    rate = torch.where(step > 0, corrected, rate)
    made_x, made_v, made_h = [], [], []
    for x, g, v, h in groups:
        gradient = norm_coefficient * x + g
        momentum = alpha * v + (1 - alpha) * gradient
        squares = beta * h + (1 - beta) * gradient * gradient
        fresh = x - rate * momentum / (torch.sqrt(squares) + epsilon)
        made_x.append((1 - norm_coefficient_post) * fresh)
        made_v.append(momentum)
        made_h.append(squares)
    return (*made_x, *made_v, *made_h)


@onnx("Momentum", domain=_TRAINING, since=1)
def momentum(*data: Tensor, alpha: float, beta: float, mode: str, norm_coefficient: float) -> tuple[Tensor, ...]:
    rate, step, groups = _groups(data, 3)
    share = torch.where(step > 0, beta, 1.0).to(rate.dtype)
    made_x, made_v = [], []
    for x, g, v in groups:
        gradient = norm_coefficient * x + g
        velocity = alpha * v + share * gradient
        made_x.append(x - rate * (velocity if mode == "standard" else gradient + alpha * velocity))
        made_v.append(velocity)
    return (*made_x, *made_v)
