# Newer syntax.
# pick: tensor primitive computes -> no (primitive_parameter)
# big: tensor computes -> to_graph
import tensorflow as tf
def pick(x, how):
    match how:
        case "mean":
            return tf.reduce_mean(x)
        case "sum" | "total":
            return tf.reduce_sum(x)
    return x
def big(x):
    if (rank := len(x.shape)) > 1:
        return tf.reduce_sum(x, axis=rank - 1)
    return x + 0.0
pick(tf.ones([2]), "mean")
pick(tf.ones([2]), "sum")
big(tf.ones([2, 2]))
