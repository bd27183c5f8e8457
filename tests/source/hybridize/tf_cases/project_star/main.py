# Star imports, with and without __all__, and an import of a module that is called through it.
#
# use: tensor computes -> to_graph
import tensorflow as tf

import library
from library import *  # noqa: F403


def use(x):
    return double(x) + library.hidden(x)  # noqa: F405


use(tf.constant(1.0))
