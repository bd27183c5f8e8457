# A hint that names a container of tensors.
#
# total: tensor ~primitive computes -> to_graph
from typing import Dict, List

import tensorflow as tf


def total(xs: List[tf.Tensor], named: Dict[str, tf.Tensor]) -> tf.Tensor:
    return tf.add_n(xs) + named["bias"]
