# An optional tensor by its hint.
#
# f: tensor computes -> to_graph
import tensorflow as tf
from typing import Optional
def f(x: tf.Tensor, mask: Optional[tf.Tensor] = None):
    if mask is not None:
        x = x * mask
    return tf.reduce_sum(x)
