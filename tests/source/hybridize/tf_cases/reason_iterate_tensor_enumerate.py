# Through enumerate and zip.
#
# f: tensor computes -> no (iterates_tensor)
# g: tensor computes -> no (iterates_tensor)
import tensorflow as tf


def f(xs):
    out = []
    for i, x in enumerate(xs):
        out.append(x * float(i))
    return tf.stack(out)


def g(xs, ys):
    out = []
    for x, y in zip(xs, ys):
        out.append(x * y)
    return tf.stack(out)


f(tf.constant([1.0, 2.0, 3.0]))
g(tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]))
