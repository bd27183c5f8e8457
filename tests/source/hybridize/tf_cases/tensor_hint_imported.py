# The hint is an imported name.
#
# f: tensor ~primitive computes -> to_graph
import tensorflow as tf
from tensorflow import Tensor


def f(x: Tensor):
    return tf.exp(x)
