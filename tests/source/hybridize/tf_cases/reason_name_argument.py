# Names of operations.
# good: tensor computes -> to_graph
# bad: tensor primitive computes -> no (name_argument)
import tensorflow as tf
def good(x):
    return tf.add(x, 1.0, name="plus")
def bad(x, i):
    return tf.add(x, 1.0, name=i)
good(tf.ones([1]))
try:
    bad(tf.ones([1]), [3])
except Exception:
    pass
