# Hints under `from __future__ import annotations`, optional.
#
# f: tensor ~primitive computes -> to_graph
from __future__ import annotations

from typing import Optional

import tensorflow as tf


def f(x: tf.Tensor, mask: Optional[tf.Tensor] = None):
    if mask is not None:
        x = x * mask
    return tf.reduce_sum(x)
