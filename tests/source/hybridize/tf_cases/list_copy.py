# Copies may be written.
# grown: tensor computes -> to_graph
# grown_in_place: tensor effects computes -> no (side_effects)
import copy
import tensorflow as tf
def grown(xs):
    ys = list(xs)
    ys.append(tf.zeros([1]))
    zs = xs + [tf.ones([1])]
    zs.reverse()
    ws = copy.copy(xs)
    ws.pop()
    return tf.add_n(ys) + tf.add_n(zs)
def grown_in_place(xs):
    xs += [tf.zeros([1])]
    return tf.add_n(xs)
grown([tf.ones([1])])
grown_in_place([tf.ones([1])])
