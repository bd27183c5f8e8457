# TensorFlow is imported where it is needed.
# f: tensor computes -> to_graph
def f(x):
    import tensorflow as tf
    return tf.sigmoid(x)
if True:
    import tensorflow as tf
    f(tf.ones([1]))
