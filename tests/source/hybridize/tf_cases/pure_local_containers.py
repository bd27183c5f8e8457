# Lists and dicts made inside may change.
#
# f: tensor computes -> to_graph
import tensorflow as tf
def f(x):
    a, (b, c) = x, (x, x)
    d = {"k": a}
    d["m"] = b
    l = [c]
    l.extend([a, b])
    l[0] = d["k"]
    return tf.add_n(l)
f(tf.constant(2.0))
