# A library with hints everywhere that nobody calls here.
#
# attention_weights: tensor ~primitive computes -> to_graph
# Pooler.pool: tensor ~primitive computes -> to_graph
# masked_fill: tensor ~primitive computes -> to_graph
# describe: tensor ~primitive effects ~computes -> no (side_effects)
from __future__ import annotations

from typing import Optional, Tuple

import tensorflow as tf


def attention_weights(query: tf.Tensor, key: tf.Tensor) -> Tuple[tf.Tensor, tf.Tensor]:
    scores = tf.matmul(query, key, transpose_b=True)
    return tf.nn.softmax(scores), scores


def masked_fill(x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    return tf.where(mask, x, tf.zeros_like(x))


class Pooler:
    def pool(self, x: tf.Tensor, mask: Optional[tf.Tensor] = None) -> tf.Tensor:
        if mask is None:
            return tf.reduce_mean(x, axis=1)
        return tf.reduce_mean(masked_fill(x, mask), axis=1)


def describe(x: tf.Tensor) -> None:
    print(x.shape, x.dtype)
