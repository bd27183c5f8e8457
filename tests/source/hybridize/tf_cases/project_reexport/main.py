# Names that a package's __init__ hands out under another name.
#
# step: tensor computes -> to_graph
import tensorflow as tf
import pack
from pack import net as make


def step(x):
    return make()(x) * pack.SCALE


step(tf.ones([2]))
