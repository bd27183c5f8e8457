# It calls itself through functools.partial.
# halved: tensor recursive computes -> no (recursive)
from functools import partial

import tensorflow as tf


def halved(x):
    again = partial(halved, x / 2.0)
    return again() if x > 1.0 else x


halved(tf.constant(5.0))
