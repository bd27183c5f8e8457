# Functions given to `filter` and `reduce` of a dataset.
# keep: tensor computes -> ~
# plus: tensor computes -> ~
import tensorflow as tf
def keep(x):
    return x > 2
def plus(total, x):
    return total + x
ds = tf.data.Dataset.range(6).filter(keep)
ds.reduce(tf.constant(0, tf.int64), plus)
