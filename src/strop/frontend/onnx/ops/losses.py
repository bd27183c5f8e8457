"""Losses."""

from __future__ import annotations

import torch
from torch import Tensor

from strop.frontend.onnx.ops import OnnxCall, onnx


@onnx("NegativeLogLikelihoodLoss")
def negative_log_likelihood_loss(
    x: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    target = target.to(torch.int64)
    ignored = None if ignore_index is None else target == ignore_index
    places = target if ignored is None else torch.where(ignored, torch.zeros_like(target), target)
    loss = -torch.gather(x, 1, places.unsqueeze(1)).squeeze(1)
    scale = torch.ones_like(loss) if weight is None else weight[places]
    if ignored is not None:
        scale = torch.where(ignored, torch.zeros_like(scale), scale)
    loss = loss * scale
    if reduction == "none":
        return loss
    total = loss.sum()
    return total if reduction == "sum" else total / scale.sum()


@onnx("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(
    scores: Tensor, labels: Tensor, weights: Tensor | None = None, *, ignore_index: int | None = None,
    reduction: str = "mean", node: OnnxCall,
) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
    logs = torch.log_softmax(scores, 1)
    loss = negative_log_likelihood_loss(logs, labels, weights, ignore_index=ignore_index, reduction=reduction)
    return (loss, logs) if node.wants(1) else loss
