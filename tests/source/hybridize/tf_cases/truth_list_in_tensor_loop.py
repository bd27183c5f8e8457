# A list that is filled in a loop over tf.range.
#
# f: tensor computes -> unsafe
import tensorflow as tf


def f(x):
    out = []
    for i in tf.range(3):
        out.append(x * tf.cast(i, tf.float32))
    return tf.stack(out)


f(tf.constant([1.0]))
