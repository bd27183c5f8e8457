# A cache of our own around an expensive function of Python values, and one around tensors.
#
# memoize.wrapper: ~tensor ~primitive effects ~computes -> no
# mel_matrix: ~primitive computes -> no
# apply_mel: tensor effects computes -> no (side_effects)
import functools

import numpy as np
import tensorflow as tf


def memoize(fn):
    cache = {}

    @functools.wraps(fn)
    def wrapper(*args):
        if args not in cache:
            cache[args] = fn(*args)
        return cache[args]

    return wrapper


@memoize
def mel_matrix(bins, mels):
    return tf.constant(np.linspace(0, 1, bins * mels, dtype=np.float32).reshape(bins, mels))


def apply_mel(spectrum):
    return tf.matmul(spectrum, mel_matrix(4, 2))


apply_mel(tf.ones([3, 4]))
