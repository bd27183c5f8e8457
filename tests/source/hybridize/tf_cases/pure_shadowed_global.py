# A local of the same name as a global.
#
# f: tensor computes -> to_graph
import tensorflow as tf

history = []
count = 0


def f(x):
    history = []
    history.append(x)
    count = 1
    return history[0] * float(count)


f(tf.constant([1.0]))
