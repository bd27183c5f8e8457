"""Products of matrices."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from strop.frontend.onnx.ops import byte_products, onnx, scaled


@onnx("Gemm")
def gemm(
    a: Tensor, b: Tensor, c: Tensor | None = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0,
    transB: int = 0,
) -> Tensor:  # fmt: skip
    """alpha·A·B + beta·C; the exporters' form, transB with a row as C, is `linear`."""
    if alpha == 1 and beta == 1 and not transA and (c is None or c.dim() == 1):
        columns = 0 if transB else 1
        on_bytes = partial(byte_products.matmul, columns=columns)
        exact = scaled.product(lambda x, y: x @ (y.t() if transB else y), on_bytes, a, b, columns, -1, c)
        if exact is not None:
            return exact
    if transA:
        a = a.t()
    if transB and alpha == 1 and a.is_floating_point() and (c is None or (beta == 1 and c.shape == (b.shape[0],))):
        return torch.nn.functional.linear(a, b, c)
    product = a @ (b.t() if transB else b)
    if alpha != 1:
        product = product * alpha if product.is_floating_point() else (product * alpha).to(product.dtype)
    if c is None or beta == 0:
        return product
    return product + (c if beta == 1 else (c * beta).to(c.dtype))


@onnx("MatMul")
def matmul(a: Tensor, b: Tensor) -> Tensor:
    exact = scaled.product(torch.matmul, byte_products.matmul, a, b, -1, -1) if b.dim() > 1 else None
    return torch.matmul(a, b) if exact is None else exact
